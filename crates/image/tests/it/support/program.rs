//! Small program, compiled by the C compiler of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// Folder that is removed on drop.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tracewright-image-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles and links the program; `None` if there is no compiler.
pub fn compile(folder: &Folder, arguments: &[&str]) -> Option<PathBuf> {
    let folder: &Path = &folder.0;
    fs::write(folder.join("program.c"), SOURCE).unwrap();
    let mut command = Command::new("cc");
    command.current_dir(folder).args(arguments).args(["program.c", "-o", "program"]);
    command.status().ok()?.success().then(|| folder.join("program"))
}
