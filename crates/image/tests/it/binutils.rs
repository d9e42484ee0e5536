//! Symbols, lines and inlined functions compared with GNU binutils, at every address of code.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{self, ANY, program};
use tracewright_image::{Frame, Image, RegionRef, SourceLine};
use tracewright_testkit::{Scratch, captures, skip};

/// Returns the linked ELF files of the captures.
fn files() -> Vec<PathBuf> {
    let Some(captures) = captures() else { return Vec::new() };
    let mut files =
        vec![captures.join("riscv/ntrace/t1/test.elf"), captures.join("perf/simpleperf/etm_test_loop")];
    for folder in ["process/elf", "riscv/elf"] {
        let entries = fs::read_dir(captures.join(folder)).into_iter().flatten();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")));
    files.sort();
    files
}

/// Returns the output of a program, or `None` if it is not installed.
fn output(program: &str, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn load(file: &Path) -> Image {
    support::load(fs::read(file).unwrap(), None)
}

/// Returns every second address of code.
fn addresses(image: &Image) -> impl Iterator<Item = u64> {
    let code = image.regions().filter(RegionRef::executable);
    let is_code =
        |region: RegionRef<'_>, address| region.section(address).is_some_and(|section| section.executable);
    code.flat_map(move |region| region.range().step_by(2).filter(move |&address| is_code(region, address)))
}

/// A line of `readelf -Ws`.
struct Listed<'a> {
    value: u64,
    size: u64,
    function: bool,
    defined: bool,
    name: &'a str,
}

fn listed(line: &str) -> Option<Listed<'_>> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [number, value, size, kind, _, _, section, name, ..] = words[..] else { return None };
    number.strip_suffix(':')?.parse::<u32>().ok()?;
    let size = match size.strip_prefix("0x") {
        Some(size) => u64::from_str_radix(size, 16).ok()?,
        None => size.parse().ok()?,
    };
    Some(Listed {
        value: u64::from_str_radix(value, 16).ok()?,
        size,
        function: kind == "FUNC" || kind == "IFUNC",
        defined: section.parse::<u32>().is_ok(),
        name: name.split('@').next()?,
    })
}

/// Returns readelf's list for the file inside a file (`.gnu_debugdata`), if there is one. Returns `None` if
/// no tool here unpacks it.
fn inner_symbols(file: &Path) -> Option<String> {
    let sections = output("readelf", &["-WS", file.to_str().unwrap()], "")?;
    let Some((_, section)) = sections.split_once(" .gnu_debugdata ") else { return Some(String::new()) };
    let words: Vec<_> = section.split_whitespace().take(4).collect();
    let number = |word: usize| usize::from_str_radix(words[word], 16).unwrap();
    let folder = Scratch::new("image");
    let (packed, inner) = (folder.path().join("inner.xz"), folder.path().join("inner"));
    fs::write(&packed, &fs::read(file).unwrap()[number(2)..][..number(3)]).unwrap();
    output("xz", &["-dk", packed.to_str().unwrap()], "")?;
    output("readelf", &["-WsC", inner.to_str().unwrap()], "")
}

#[test]
fn symbols_are_those_readelf_lists() {
    let test = "symbols_are_those_readelf_lists";
    let mut functions = 0;
    for file in files() {
        let Some(text) = output("readelf", &["-Ws", file.to_str().unwrap()], "") else {
            return skip(test, "no readelf");
        };
        let Some(inner) = inner_symbols(&file) else { return skip(test, "no xz") };
        let text = text + &inner;
        let image = load(&file);
        let symbols = image.symbols();
        let all: Vec<_> = text.lines().filter_map(listed).filter(|symbol| symbol.defined).collect();
        // At the start of each function: the function, or another name of it.
        let mut covered = HashSet::new();
        let names: HashSet<_> = all.iter().map(|symbol| (symbol.value, symbol.name)).collect();
        // Some linkers write sizes below zero.
        let has_size = |size: u64| (1..1 << 32).contains(&size);
        let sized = all.iter().filter(|symbol| symbol.function && has_size(symbol.size));
        let sizes: HashSet<_> =
            sized.clone().map(|symbol| (symbol.value, symbol.name, symbol.size)).collect();
        for listed in sized {
            let found = symbols.symbol(listed.value, ANY).unwrap_or_else(|| panic!("no {}", listed.name));
            assert!(sizes.contains(&(found.start, found.name, found.size)), "{}: {found:?}", file.display());
            assert_eq!(found.start, listed.value);
            covered.extend((listed.value..listed.value + listed.size).step_by(2));
            functions += 1;
        }
        // Nowhere a symbol that is not listed, or none where one is.
        for address in addresses(&image) {
            match symbols.symbol(address, ANY) {
                Some(found) if found.name.ends_with("@plt") => {}
                Some(found) => assert!(names.contains(&(found.start, found.name)), "{address:#x} {found:?}"),
                None => assert!(!covered.contains(&address), "{}: nothing at {address:#x}", file.display()),
            }
        }
    }
    if functions == 0 {
        skip(test, "no captures");
    }
}

/// Expects stubs in the order of their relocations, as linkers write them.
#[test]
fn stubs_are_those_of_the_relocations() {
    let test = "stubs_are_those_of_the_relocations";
    let mut stubs = 0;
    for file in
        files().iter().filter(|file| file.parent().is_some_and(|folder| folder.ends_with("process/elf")))
    {
        let Some(text) = output("readelf", &["-Wr", file.to_str().unwrap()], "") else {
            return skip(test, "no readelf");
        };
        let image = load(file);
        let relocations = text.lines().filter(|line| line.contains("R_AARCH64_JUMP_SLOT"));
        let mut last = 0;
        for name in relocations.filter_map(|line| line.split_whitespace().nth(4)?.split('@').next()) {
            let stub =
                image.symbols().resolve(&format!("{name}@plt")).unwrap_or_else(|| panic!("no {name}@plt"));
            assert_eq!(stub.end - stub.start, 16);
            assert!(last == 0 || stub.start == last, "{name}@plt in {}", file.display());
            last = stub.end;
            stubs += 1;
        }
    }
    if stubs == 0 {
        skip(test, "no captures");
    }
}

/// Function, file name and line, the innermost frame first.
type Frames = Vec<(String, Option<(String, u32)>)>;

/// Returns the answers of `addr2line` for all `addresses`.
fn addr2line(file: &Path, addresses: &[u64]) -> Option<HashMap<u64, Frames>> {
    let input: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let text = output("addr2line", &["-afiC", "-e", file.to_str().unwrap()], &input)?;
    let mut all: HashMap<u64, Frames> = HashMap::new();
    let mut lines = text.lines().peekable();
    while let Some(address) = lines.next() {
        let address = u64::from_str_radix(address.strip_prefix("0x").unwrap(), 16).unwrap();
        while let Some(function) = lines.next_if(|line| !line.starts_with("0x")) {
            let place = lines.next().unwrap();
            let place = place.split(" (discriminator").next().unwrap();
            let (file, line) = place.rsplit_once(':').unwrap();
            let place = line.parse().ok().filter(|_| file != "??").map(|line| (file_name(file), line));
            all.entry(address).or_default().push((function.to_owned(), place));
        }
    }
    Some(all)
}

fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

/// Asks both about `addresses`. Returns how many have a line, how many are in an inlined function, and the
/// differences.
fn compare(file: &Path, image: &Image, addresses: &[u64]) -> Option<(usize, usize, Vec<String>)> {
    let expected = addr2line(file, addresses)?;
    let (mut known, mut inlined, mut differ) = (0, 0, Vec::new());
    for &address in addresses {
        let mut expected = expected[&address].clone();
        // addr2line has no line 0: it prints no line at all.
        let place =
            |line: SourceLine<'_>| Some((file_name(line.file), line.line)).filter(|(_, line)| *line > 0);
        expected.iter_mut().for_each(|frame| frame.1 = frame.1.take().filter(|(_, line)| *line > 0));
        let line = image.symbols().source(address, ANY).and_then(place);
        if line != expected[0].1 {
            differ.push(format!("{address:#x}: {line:?}, not {:?}", expected[0].1));
        }
        known += usize::from(line.is_some());
        let frames = image.symbols().frames(address, ANY);
        let name = |frame: &Frame<'_>| frame.function.unwrap_or("??").to_owned();
        let frames: Frames = frames.iter().map(|frame| (name(frame), frame.line.and_then(place))).collect();
        if expected.len() > 1 || frames.len() > 1 {
            inlined += 1;
            if frames != expected {
                differ.push(format!("{address:#x}: {frames:?}, not {expected:?}"));
            }
        }
    }
    Some((known, inlined, differ))
}

/// Compares all lines of a file. Returns how many addresses have one, and how many are in an inlined
/// function.
fn compare_lines(file: &Path) -> Option<(usize, usize)> {
    let image = load(file);
    let (known, inlined, differ) = compare(file, &image, &addresses(&image).collect::<Vec<_>>())?;
    assert!(
        differ.is_empty(),
        "{}: {} of {known} differ:\n{}",
        file.display(),
        differ.len(),
        differ.join("\n")
    );
    Some((known, inlined))
}

#[test]
fn lines_of_captures_are_those_addr2line_tells() {
    let test = "lines_of_captures_are_those_addr2line_tells";
    let mut known = 0;
    for file in files() {
        let image = load(&file);
        if image.regions().any(|region| region.has_lines()) {
            let Some((lines, _)) = compare_lines(&file) else { return skip(test, "no addr2line") };
            known += lines;
        }
    }
    if known == 0 {
        skip(test, "no captures");
    }
}

#[test]
fn lines_of_compiled_programs_are_those_addr2line_tells() {
    let test = "lines_of_compiled_programs_are_those_addr2line_tells";
    let folder = Scratch::new("image");
    for version in 2..=5 {
        for level in ["-O0", "-O2"] {
            let arguments = [&format!("-gdwarf-{version}"), "-gstrict-dwarf", level, "-ffunction-sections"];
            let Some(file) = program::compile(&folder, &arguments) else {
                return skip(test, "no C compiler");
            };
            let Some((known, inlined)) = compare_lines(&file) else { return skip(test, "no addr2line") };
            assert!(known > 50, "DWARF {version} {level}: {known} lines");
            assert!(level == "-O0" || inlined > 10, "DWARF {version}: {inlined} inlined");
        }
    }
}

/// Compresses debug information in every way that tools know, and expects the same answers as without, ours and
/// addr2line's.
#[test]
fn compressed_lines_are_the_same() {
    let test = "compressed_lines_are_the_same";
    let folder = Scratch::new("image");
    let Some(plain) = program::compile(&folder, &["-g", "-O2"]) else { return skip(test, "no C compiler") };
    let image = load(&plain);
    let asked: Vec<_> = addresses(&image).collect();
    let ways =
        [("objcopy", "zlib"), ("objcopy", "zlib-gnu"), ("objcopy", "zstd"), ("llvm-objcopy-19", "zstd")];
    for (tool, way) in ways {
        let packed = folder.path().join(format!("{tool}-{way}"));
        let option = format!("--compress-debug-sections={way}");
        let arguments = [&option, plain.to_str().unwrap(), packed.to_str().unwrap()];
        if output(tool, &arguments, "").is_none() {
            return skip(test, &format!("no {tool}"));
        }
        let sections = output("readelf", &["-WS", packed.to_str().unwrap()], "").unwrap();
        let mark = if way == "zlib-gnu" { ".zdebug_info" } else { " C  " };
        assert!(sections.contains(mark), "{tool} {way}: not compressed");
        let compressed = load(&packed);
        for &address in &asked {
            let frames = |image: &'_ Image| format!("{:?}", image.symbols().frames(address, ANY));
            assert_eq!(frames(&compressed), frames(&image), "{tool} {way} {address:#x}");
        }
        assert_eq!(compressed.damaged_lines().count(), 0);
        // binutils 2.40 find no lines where some sections are compressed in the old way and small ones are not.
        if way == "zlib-gnu" {
            continue;
        }
        let (known, inlined) = compare_lines(&packed).expect("addr2line of the same package");
        assert!(known > 50 && inlined > 10, "{tool} {way}: {known} lines, {inlined} inlined");
    }
}

/// Reads this very test: a large Rust program with functions inlined ten deep. Binutils have bugs with those,
/// so some answers may differ.
#[test]
fn lines_of_this_test_are_those_addr2line_tells() {
    let test = "lines_of_this_test_are_those_addr2line_tells";
    let file = std::env::current_exe().unwrap();
    if !cfg!(target_os = "linux") {
        return skip(test, "no ELF file");
    }
    let image = load(&file);
    // Addresses between functions belong to none.
    let asked =
        addresses(&image).step_by(311).filter(|&address| image.symbols().symbol(address, ANY).is_some());
    let asked: Vec<_> = asked.collect();
    let Some((known, inlined, differ)) = compare(&file, &image, &asked) else {
        return skip(test, "no addr2line");
    };
    assert!(known > asked.len() / 2 && inlined > asked.len() / 4, "{known}, {inlined} of {}", asked.len());
    assert!(differ.len() * 100 <= known, "{} of {known} differ:\n{}", differ.len(), differ.join("\n"));
}
