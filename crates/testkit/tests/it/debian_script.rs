//! `tests/debian` takes packages from wherever apt is configured to: here from repositories in folders, with several
//! configurations of apt. Nothing is fetched from elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tracewright_testkit::{Scratch, has_programs};

/// A mirror and a configuration of apt that names it.
struct Apt {
    here: Scratch,
}

impl Apt {
    fn new(test: &str) -> Option<Self> {
        if !has_programs(test, &["apt-get", "dpkg-deb"]) {
            return None;
        }
        let apt = Self { here: Scratch::new("debian-script") };
        for folder in ["etc/sources", "etc/none"] {
            fs::create_dir_all(apt.path(folder)).unwrap();
        }
        let etc = apt.path("etc");
        let config = format!(
            "Dir::Etc::sourcelist \"{0}/sources.list\";\nDir::Etc::sourceparts \"{0}/sources\";\n",
            etc.display()
        );
        fs::write(apt.path("apt.conf"), config).unwrap();
        Some(apt)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    /// Adds a release with `libc6` and `hello` (which needs `libc6`) for one architecture.
    fn release(&self, suite: &str, architecture: &str) {
        let mut index = String::new();
        let pool = format!("pool/{suite}");
        fs::create_dir_all(self.path("mirror").join(&pool)).unwrap();
        for (package, depends) in [("libc6", ""), ("hello", "Depends: libc6 (>= 2), dpkg\n")] {
            let control = format!(
                "Package: {package}\nVersion: 1:2\nArchitecture: {architecture}\nMaintainer: nobody <a@b.c>\n\
                 {depends}Description: {package} of {suite}\n"
            );
            let root = self.path("build");
            fs::create_dir_all(root.join("DEBIAN")).unwrap();
            fs::create_dir_all(root.join("usr/bin")).unwrap();
            fs::write(root.join("DEBIAN/control"), &control).unwrap();
            fs::write(root.join("usr/bin").join(package), suite).unwrap();
            let file = format!("{pool}/{package}_2_{architecture}.deb");
            let deb = self.path("mirror").join(&file);
            run(Command::new("dpkg-deb").args(["--root-owner-group", "-b"]).arg(&root).arg(&deb));
            let sum = run(Command::new("sha256sum").arg(&deb));
            let sum = String::from_utf8_lossy(&sum.stdout);
            let (sum, len) = (sum.split(' ').next().unwrap(), fs::metadata(&deb).unwrap().len());
            index += &format!("{control}Filename: {file}\nSize: {len}\nSHA256: {sum}\n\n");
            fs::remove_dir_all(root).unwrap();
        }
        let dist = self.path("mirror/dists").join(suite);
        let name = format!("main/binary-{architecture}/Packages");
        fs::create_dir_all(dist.join(&name).parent().unwrap()).unwrap();
        fs::write(dist.join(&name), &index).unwrap();
        let sum = run(Command::new("sha256sum").arg(dist.join(&name)));
        let sum = String::from_utf8_lossy(&sum.stdout);
        let release = format!(
            "Origin: Debian\nSuite: {suite}\nCodename: {suite}\nArchitectures: {architecture}\nComponents: main\n\
             Date: Sat, 01 Jan 2022 00:00:00 UTC\nSHA256:\n {} {} {name}\n",
            sum.split(' ').next().unwrap(),
            index.len()
        );
        fs::write(dist.join("Release"), release).unwrap();
    }

    fn uri(&self) -> String {
        format!("file:{}", self.path("mirror").display())
    }

    /// Fetches with each of these files as the only source. The program must be that of `suite`.
    fn check(
        &self,
        architecture: &str,
        suite: &str,
        sources: &[(&str, String)],
        then: impl Fn(&str, &Output),
    ) {
        for (name, text) in sources {
            let path = self.path("etc").join(name);
            fs::write(&path, text).unwrap();
            let (output, root) = self.fetch(architecture);
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(fs::read_to_string(root.join("usr/bin/hello")).unwrap(), suite, "{name}");
            then(name, &output);
            fs::remove_file(path).unwrap();
        }
    }

    fn fetch(&self, architecture: &str) -> (Output, PathBuf) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/debian");
        let root = self.path("root");
        let _ = fs::remove_dir_all(&root);
        let mut command = Command::new("bash");
        command.arg(script).arg(architecture).arg(&root).arg("hello");
        (command.env("APT_CONFIG", self.path("apt.conf")).env_remove("SUITE").output().unwrap(), root)
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Both forms of sources, with options, for an architecture that they do not name.
#[test]
fn packages_come_from_the_sources_of_apt() {
    let Some(apt) = Apt::new("packages_come_from_the_sources_of_apt") else { return };
    apt.release("bookworm", "armel");
    let uri = apt.uri();
    let sources = [
        (
            "sources.list",
            format!("# deb {uri} nothing main\ndeb [ arch=amd64 trusted=yes ] {uri} bookworm main\n"),
        ),
        ("sources/one.list", format!("deb [trusted=yes] {uri} bookworm main\ndeb-src {uri} bookworm main\n")),
        (
            "sources/two.sources",
            format!(
                "Types: deb\n# A comment.\nURIs: {uri}\nSuites: bookworm\n bookworm-updates\nComponents: main\n\
                 Architectures: amd64\n i386\nTrusted: yes\n"
            ),
        ),
    ];
    apt.check("armel", "bookworm", &sources, |name, output| {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\nlibc6\n", "{name}");
    });
}

#[test]
fn trixie_of_the_same_mirror_where_the_release_has_not_the_architecture() {
    let test = "trixie_of_the_same_mirror_where_the_release_has_not_the_architecture";
    let Some(apt) = Apt::new(test) else { return };
    apt.release("bookworm", "armel");
    apt.release("trixie", "riscv64");
    let uri = apt.uri();
    let text = format!(
        "Types: deb\nURIs: {uri}\nSuites: bookworm bookworm-updates\nComponents: main\nTrusted: yes\n\n\
         Types: deb\nURIs: {uri}-security\nSuites: bookworm-security\nComponents: main\nTrusted: yes\n"
    );
    let line = format!("deb [trusted=yes] {uri} bookworm main\n");
    apt.check("riscv64", "trixie", &[("sources/a.sources", text), ("sources.list", line)], |_, _| {
        // A missing package is reported.
        let (output, _) = apt.fetch("armhf");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("no repository of apt's configuration has packages for armhf"), "{told}");
    });
}
