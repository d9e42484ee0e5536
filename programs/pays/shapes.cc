// C++ whose debug information is not simple: members defined elsewhere than they are declared, templates, lambdas, virtual calls and
// exceptions, and much of the standard library inlined.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {
struct Shape {
    virtual ~Shape() = default;
    virtual long area(int by) const = 0;
    long twice() const;
};

struct Square : Shape {
    long side;
    explicit Square(long side) : side(side) {}
    long area(int by) const override;
};

struct Circle : Shape {
    long radius;
    explicit Circle(long radius) : radius(radius) {}
    long area(int by) const override { return 3 * radius * radius * by; }
};

long Square::area(int by) const
{
    return by > 2 ? side * side * by : side * side;
}

long Shape::twice() const { return area(1) + area(3); }
}

template <class T> static T total(const std::vector<T> &all)
{
    T sum{};
    for (const auto &one : all)
        sum += one > 10 ? one : T(1);
    return sum;
}

int main(int argc, char **)
{
    std::vector<std::unique_ptr<shapes::Shape>> all;
    for (int i = 0; i < 300; i++) {
        if (i % 7)
            all.push_back(std::make_unique<shapes::Square>(i));
        else
            all.push_back(std::make_unique<shapes::Circle>(i));
    }
    std::vector<long> areas;
    std::map<std::string, long> by_name;
    for (auto &shape : all) {
        areas.push_back(shape->twice());
        by_name[std::to_string(areas.back() % 17)] += areas.back();
    }
    std::sort(areas.begin(), areas.end(), [argc](long a, long b) { return argc > 1 ? a < b : a > b; });
    try {
        if (areas.size() > 5)
            throw areas.size();
    } catch (size_t count) {
        std::printf("%zu\n", count);
    }
    std::vector<double> doubles(areas.begin(), areas.end());
    std::printf("%ld %zu %f\n", total(areas), by_name.size(), total(doubles));
}
