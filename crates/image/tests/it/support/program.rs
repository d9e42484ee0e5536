//! Small program, compiled by the C compiler of the machine.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tracewright_testkit::Scratch;

/// Functions inlined into one another, loops, two functions of the same name in two scopes.
const SOURCE: &str = r#"
static volatile int sink;
static inline __attribute__((always_inline)) int square(int x) {
    sink = x;
    return x * x;
}
static inline __attribute__((always_inline)) int sum_of_squares(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += square(i);
        if (sum > 1000)
            sink = square(sum);
    }
    return sum;
}
__attribute__((noinline)) int deep(int n) {
    if (n > 3)
        return sum_of_squares(n) + deep(n - 1);
    return square(n);
}
__attribute__((cold, noinline)) int rare(int n) {
    return n / 3;
}
int main(int argc, char **argv) {
    (void)argv;
    int result = deep(argc) + sum_of_squares(argc + 1);
    if (argc == 77)
        result += rare(argc);
    return result & 1;
}
"#;

/// Compiles and links the program; `None` if there is no compiler.
pub fn compile(folder: &Scratch, arguments: &[&str]) -> Option<PathBuf> {
    let folder = folder.path();
    fs::write(folder.join("program.c"), SOURCE).unwrap();
    let mut command = Command::new("cc");
    command.current_dir(folder).args(arguments).args(["program.c", "-o", "program"]);
    command.status().ok()?.success().then(|| folder.join("program"))
}
