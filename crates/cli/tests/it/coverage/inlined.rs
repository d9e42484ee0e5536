//! Functions that are inlined: whose code, lines and calls theirs are.

use super::*;

const HEADER: &str = "\
#pragma once
#include <vector>
template <typename T> inline T square(T x) { return x * x; }
struct Shape { virtual ~Shape() {} virtual long area() const = 0; };
struct Box : Shape { long side; Box(long it) : side(it) {} long area() const override { return square(side); } };
inline long total(const std::vector<long>& of) {
    long sum = 0;
    for (long one : of) { if (one & 1) sum += square(one); else sum -= one; }
    return sum;
}
";
const MAIN: &str = "\
#include \"shapes.h\"
#include <algorithm>
long other(int number);
int main(int count, char**) {
    std::vector<long> all;
    for (int i = 0; i < 100; i++) all.push_back((i * 37) % 101);
    std::sort(all.begin(), all.end(), [](long a, long b) { return a > b; });
    Shape* shape = new Box(count);
    long sum = total(all) + shape->area() + other(count);
    delete shape;
    return sum == 0;
}
";
const OTHER: &str = "\
#include \"shapes.h\"
long other(int number) {
    std::vector<long> all(10, number);
    auto add = [&](long one) { return square(one) + number; };
    long sum = 0;
    for (auto one : all) sum += add(one);
    return sum + total(all);
}
";

/// A C++ program of several units, with templates, lambdas and functions that are inlined: each instruction with a line is in one file and
/// one function, those that addr2line tells. A file has the instructions of its functions, and `annotate` says how many of a function's are
/// others'.
#[test]
fn inlined_code_is_of_the_function_that_the_source_tells() {
    let name = "inlined_code_is_of_the_function_that_the_source_tells";
    if !has_programs(name, &["riscv64-linux-gnu-g++", "riscv64-linux-gnu-objdump", "llvm-addr2line-19"]) {
        return;
    }
    let folder = Scratch::new("inlined");
    for (name, source) in [("shapes.h", HEADER), ("main.cpp", MAIN), ("other.cpp", OTHER)] {
        folder.write(name, source.as_bytes());
    }
    other(folder.path(), "riscv64-linux-gnu-g++ -O2 -g -static -o app main.cpp other.cpp");
    let capture = recorded(&folder, &folder.join("app"), "");
    let there = code_of(&folder.join("app"), folder.path());
    let instructions = |is_wanted: &dyn Fn(&str) -> bool| -> u64 {
        let wanted = there.iter().filter(|((_, file), _)| is_wanted(file));
        wanted.map(|(_, (all, _))| all.len() as u64).sum()
    };
    let ours = json(&capture);
    let mut counted = (0, 0);
    for file in rows(&ours, "files").iter().filter(|file| file["has_lines"] == true) {
        let path = string(file, "file");
        let own = path.rsplit('/').next().unwrap();
        let mut sum = (0, 0);
        for function in rows(file, "functions_list") {
            let (ran, all) = part(function, "instructions");
            sum = (sum.0 + ran, sum.1 + all);
        }
        assert_eq!(sum, part(file, "instructions"), "{path}");
        assert_eq!(sum.1, instructions(&|file| file == own), "{path}");
        counted = (counted.0 + sum.0, counted.1 + sum.1);
    }
    assert_eq!(counted, part(&ours["source_files"], "instructions"));
    let with_lines = instructions(&|file| !file.is_empty());
    assert!(counted.1 > 100 && counted.1 == with_lines, "{counted:?} {with_lines}");
    let main = there[&("main".to_owned(), "main.cpp".to_owned())].0.len();
    let annotated = run!("annotate {capture} main --json").ends(0).json();
    let own = rows(&annotated["functions"][0], "code").iter().filter(|row| row["inlined"].is_null()).count();
    let of_main = functions(&ours).filter(|row| row["function"] == "main");
    let of_main: u64 = of_main.map(|row| part(row, "instructions").1).sum();
    assert_eq!((own, of_main), (main, main as u64));
}

/// What two of the programs begin with.
const SQ: &str = "\
#include <stdio.h>
struct Sq {
    double v;
    long n;
    explicit Sq(double x) : v(x * x), n(3) { if (x > 100) n = (long)x; }
    double get() const { return v + n; }
};
int risky(int x) {
    if (x % 7 == 3) return -x;
    return x * 2;
}
";

/// The compiler inlines all functions of this.
const INLINED: &str = "\
int main(int argc, char **argv) {
    long sum = 0;
    for (int i = 0; i < 200; i++) sum += risky(i * argc);
    double d = 0;
    for (int i = 0; i < 150; i++) { Sq s(i * argc); d += s.get(); }
    auto twice = [&](int v) {
        return v * 2 + argc;
    };
    for (int i = 0; i < 30; i++) sum ^= twice((int)sum + i);
    printf(\"%ld %g\\n\", sum, d);
    return 0;
}
";

/// Functions are those of the source, for `--function` as for rows: what is inlined is found by name, and nothing else is.
#[test]
fn functions_that_are_inlined_are_found_by_name() {
    let name = "functions_that_are_inlined_are_found_by_name";
    if !has_programs(name, &["riscv64-linux-gnu-g++"]) {
        return;
    }
    let folder = Scratch::new("inlined");
    folder.write("cxx.cpp", [SQ, INLINED].concat().as_bytes());
    other(folder.path(), "riscv64-linux-gnu-g++ -O2 -g -static -o app cxx.cpp");
    let capture = recorded(&folder, &folder.join("app"), "");
    let of_file = json(&format!("{capture} --file cxx.cpp"));
    let mut executed = 0;
    for (asked, row) in [
        ("risky", "risky(int)"),
        ("_Z5riskyi", "risky(int)"),
        ("risky(int)", "risky(int)"),
        ("Sq::Sq", "Sq::Sq(double)"),
        ("Sq::get", "Sq::get() const"),
        ("operator()", "operator()"),
        ("main", "main"),
    ] {
        let part = json(&format!("{capture} --function {asked}"));
        let expected: Vec<_> = functions(&of_file).filter(|function| function["function"] == row).collect();
        assert_eq!(functions(&part).collect::<Vec<_>>(), expected, "{asked}");
        assert!(expected.len() == 1 && expected[0]["has_run"] == true, "{asked}: {expected:?}");
        assert_eq!(rows(&part, "files").len(), 1, "{asked}");
        if !["_Z5riskyi", "risky(int)"].contains(&asked) {
            executed += number(&part["funnel"], "in_output");
        }
    }
    assert_eq!(of_file["funnel"]["in_output"], executed);

    run!("coverage {capture} --function mian").ends(2).says("there is main");
    // The copy of its own never ran; of the other there is none.
    for (function, own) in [("risky", "never ran on its own"), ("Sq::Sq", "has no code of its own")] {
        let inlined = run!("annotate {capture} {function} --no-inline").ends(1);
        inlined.says(format!("{function} {own}: it ran inlined into main;"));
    }
    run!("annotate {capture} mian").ends(2).says("do you mean main?");
}

/// A function that is inlined into a function of a header is called as often as that is, by all units together.
#[test]
fn calls_of_inlined_functions_are_those_of_all_units() {
    let name = "calls_of_inlined_functions_are_those_of_all_units";
    if !has_programs(name, &["riscv64-linux-gnu-gcc"]) {
        return;
    }
    let folder = Scratch::new("inlined");
    let header = "static inline __attribute__((always_inline)) int one(int x) { return x * 3 + 1; }\n\
        static __attribute__((noinline)) int twice(int x) { return one(x) ^ 5; }\n";
    let unit = |function: &str, times: u32| {
        format!(
            "#include \"h.h\"\nint {function}(int x) {{ for (int i = 0; i < {times}; i++) x = twice(x); return x; }}\n"
        )
    };
    let main =
        "int a(int); int b(int);\nint main(int count, char** all) { return a(count) + b(count) == 1; }\n";
    for (name, source) in [("h.h", header), ("a.c", &unit("a", 10)), ("b.c", &unit("b", 7)), ("main.c", main)]
    {
        folder.write(name, source.as_bytes());
    }
    other(folder.path(), "riscv64-linux-gnu-gcc -O2 -g -static -o app a.c b.c main.c");
    let ours = json(&recorded(&folder, &folder.join("app"), ""));
    let file = rows(&ours, "files").iter().find(|file| string(file, "file").ends_with("/h.h")).unwrap();
    let calls: Vec<_> = rows(file, "functions_list")
        .iter()
        .map(|function| (&function["function"], &function["calls"]))
        .collect();
    assert_eq!(calls, [(&"one".into(), &17.into()), (&"twice".into(), &17.into())]);
}

const CALLS: &str = "\
static inline long total(const long *all, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
        if (all[i] & 1) sum += risky((int)all[i]);
        else sum -= all[i];
    }
    return sum;
}
static inline long turns(long x, int n) { for (int i = 0; i < n; i++) x = x * 7 + (x >> 3); return x; }
static inline long wrap(long x) { return turns(x, 5) + 1; }
static inline long limit(long x) { return x < 0 ? 0 : x > 1000 ? 1000 : x; }
static inline int lowest(unsigned x) { return x & 1; }
static inline int bits(unsigned x) {
    int n = 0;
    while (x) {
        n += lowest(x);
        x >>= 1;
    }
    return n;
}
static inline void swap(long &a, long &b) { long t = a; a = b; b = t; }
static inline void sort(long *a, int n) {
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (a[j] < a[i]) swap(a[i], a[j]);
}
static inline long gcd(long a, long b) {
    while (b) {
        long t = a % b;
        a = b;
        b = t;
    }
    return a;
}
int main(int argc, char **argv) {
    long sum = 0;
    for (int i = 0; i < 200; i++) sum += risky(i * argc);
    double d = 0;
    for (int i = 0; i < 150; i++) { Sq s(i * argc); d += s.get(); }
    long data[20];
    for (int i = 0; i < 20; i++) data[i] = (i * 37 * argc) % 23;
    for (int k = 0; k < 11; k++) { sum += total(data, 20); data[k] += k; }
    for (int k = 0; k < 13; k++) sum ^= wrap(sum + k);
    for (int k = 0; k < 17; k++) sum += limit(sum * k) + limit(sum - k);
    for (int k = 0; k < 19; k++) sum += bits((unsigned)(sum + k));
    for (int k = 0; k < 3; k++) { sort(data, 20); data[0] += 100 * k; data[5] -= 7 * k; }
    for (int k = 1; k < 23; k++) sum += gcd(sum & 0xffff, k * 12);
    auto twice = [&](int v) { return v * 2 + argc; };
    for (int i = 0; i < 30; i++) sum ^= twice((int)sum + i);
    printf(\"%ld %g\\n\", sum, d);
    return 0;
}
";

/// Inlined functions of this program are called as often as gcov says, which counts where nothing is inlined. Their first instructions
/// are moved out of loops, are in loops of their own, or are at one line with those of another call. The rule was made with this program:
/// the test keeps it, and does not say how often it is right elsewhere (book/src/reference/exports.md does).
#[test]
fn calls_of_inlined_functions_are_those_of_gcov() {
    let tools = ["riscv64-linux-gnu-g++", "riscv64-linux-gnu-gcov", "qemu-riscv64"];
    if !has_programs("calls_of_inlined_functions_are_those_of_gcov", &tools) {
        return;
    }
    let folder = Scratch::new("inlined");
    let path = folder.path();
    let source = [SQ, CALLS].concat();
    folder.write("calls.cpp", source.as_bytes());
    other(path, "riscv64-linux-gnu-g++ -O0 --coverage -static -o counting calls.cpp");
    other(path, "qemu-riscv64 ./counting");
    let told = other(path, "riscv64-linux-gnu-gcov --json-format --stdout counting-calls.gcda").json();
    let file = rows(&told, "files").iter().find(|file| file["file"] == "calls.cpp").unwrap();
    // GCC says neither what a lambda's operator is of, nor the parameters of functions that no other unit sees.
    let calls = |function: &Value, name: &str, count: &str| match string(function, name) {
        lambda if lambda.contains("operator()") => ("operator()".to_owned(), number(function, count)),
        name => (name.split('(').next().unwrap().to_owned(), number(function, count)),
    };
    let told = rows(file, "functions").iter();
    let told: BTreeMap<_, _> =
        told.map(|function| calls(function, "demangled_name", "execution_count")).collect();
    assert!(told.len() == 14 && told["Sq::Sq"] == 150, "{told:?}");
    let line = source.lines().position(|line| line.contains("auto twice")).unwrap() + 1;
    for level in ["-O1", "-O2"] {
        other(path, &format!("riscv64-linux-gnu-g++ {level} -g -static -o plain calls.cpp"));
        let capture = recorded(&folder, &folder.join("plain"), "");
        let ours = json(&format!("{capture} --file calls.cpp"));
        let found = rows(&rows(&ours, "files")[0], "functions_list").iter();
        let found: BTreeMap<_, _> = found.map(|function| calls(function, "function", "calls")).collect();
        assert_eq!(found, told, "{level}");
        let info = run!("coverage {capture} --file calls.cpp --format lcov").good();
        for row in ["FNDA:150,Sq::Sq(double)", "FNDA:30,operator()", &format!("FN:{line},operator()")] {
            assert!(info.lines().any(|line| line == row), "{row}: {info}");
        }
    }
}
