// C++: exceptions through frames, containers, streams.
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Noisy {
    std::string name;
    ~Noisy() { std::cout << "end of " << name << "\n"; }
};

static int deep(int depth) {
    Noisy noisy{"frame " + std::to_string(depth)};
    if (depth == 0) throw std::runtime_error("bottom");
    return deep(depth - 1) + 1;
}

int main() {
    try {
        deep(3);
    } catch (const std::exception &error) {
        std::cout << "caught " << error.what() << "\n";
    }
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < 100; i++) map["key" + std::to_string(i % 7)].push_back(i);
    for (auto &[key, values] : map) std::cout << key << " " << values.size() << " " << values.back() << "\n";
    try {
        std::vector<int>(3).at(5);
    } catch (const std::out_of_range &) {
        std::cout << "out of range\n";
    }
    std::ostringstream text;
    text << std::hex << 255 << " " << 1.5;
    std::cout << text.str() << std::endl;
    return 4;
}
