use std::env;
use std::path::{Path, PathBuf};

/// A processor that QEMU emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guest {
    /// A64.
    Aarch64,
    /// A32 and T32.
    Arm,
    /// RV64.
    Riscv64,
}

impl Guest {
    /// All processors.
    pub const ALL: [Self; 3] = [Self::Aarch64, Self::Arm, Self::Riscv64];

    /// Names of QEMU and of Debian, and the folder of the cross compiler's libraries in Debian.
    const fn row(self) -> [&'static str; 3] {
        match self {
            Self::Aarch64 => ["aarch64", "arm64", "/usr/aarch64-linux-gnu"],
            Self::Arm => ["arm", "armhf", "/usr/arm-linux-gnueabihf"],
            Self::Riscv64 => ["riscv64", "riscv64", "/usr/riscv64-linux-gnu"],
        }
    }

    /// Returns QEMU's name.
    pub const fn name(self) -> &'static str {
        self.row()[0]
    }

    /// Returns Debian's name.
    pub const fn debian(self) -> &'static str {
        self.row()[1]
    }

    /// Returns the prefix of compiler names.
    pub fn triple(self) -> &'static str {
        self.row()[2].trim_start_matches("/usr/")
    }

    /// Returns the folder of the cross compiler's libraries in Debian.
    pub fn libraries(self) -> &'static Path {
        Path::new(self.row()[2])
    }

    /// Returns the emulator, if it is installed.
    pub fn emulator(self) -> Option<PathBuf> {
        find(&format!("qemu-{}", self.name()))
    }

    /// Returns whether the emulator is installed. If not, reports that `test` is skipped.
    pub fn available(self, test: &str) -> bool {
        let found = self.emulator().is_some();
        if !found {
            crate::skip(test, &format!("no qemu-{} (Debian: qemu-user)", self.name()));
        }
        found
    }

    /// Returns options that make runs alike: the processor (QEMU 7.2's default too, but not that of every version), the
    /// random seed, and the memory layout, which is always the same for 32-bit guests.
    pub(super) const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Aarch64 => &["-cpu", "max", "-seed", "1", "-R", "0x4000000000"],
            Self::Arm => &["-cpu", "max", "-seed", "1"],
            Self::Riscv64 => &["-cpu", "rv64,zba=true,zbb=true,zbs=true", "-seed", "1", "-R", "0x4000000000"],
        }
    }
}

/// Finds a program in the search path.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|path| path.join(name)).find(|path| path.is_file())
}
