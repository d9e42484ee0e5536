//! Fuzzing of readers. Each body is a plain function, for `cargo test` and for a fuzzer.

#[path = "it/support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use support::{CAPTURE, CORE, Folder, SNAPSHOT, SOURCE, TRACE};
use tracewright_core::{Context, Security};
use tracewright_image::Moment;
use tracewright_input::compressed::{Compression, Unpacked};
use tracewright_input::debuginfod::{Debuginfod, Kind};
use tracewright_input::{Capture, Protocol, RawSource, ini, perf};
use tracewright_profile::branch_list;
use tracewright_testkit::hostile::damage_bytes;
use tracewright_testkit::perf::{BpfProgram, Form, JitDump, Recording, Who, etm4, who};
use tracewright_testkit::{Rng, captures};

/// Reads any bytes as an ini file. Entries are in order and made of the input.
pub fn ini_file(bytes: &[u8]) {
    let mut problems = Vec::new();
    let sections = ini::parse(Path::new("fuzz.ini"), bytes, &mut problems);
    let lines = bytes.split(|&byte| byte == b'\n').count();
    let mut last = 0;
    for section in &sections {
        assert!(last < section.line, "sections out of order");
        last = section.line;
        for entry in &section.entries {
            assert!(last < entry.line, "entries out of order");
            assert!(!entry.key.is_empty() && entry.key == entry.key.trim());
            last = entry.line;
            let _ = ini::number(&entry.value);
        }
    }
    assert!(last as usize <= lines);
    for problem in &problems {
        assert!(problem.line.is_none_or(|line| line >= 1 && line as usize <= lines), "{problem}");
    }
}

/// Reads any bytes as the four files of a snapshot, separated by zero bytes. Opening never fails, and the
/// result is consistent.
pub fn snapshot_folder(bytes: &[u8]) {
    let mut folder = Folder::snapshot();
    for (name, part) in
        ["cpu_0.ini", "etm_0.ini", "trace.ini", "snapshot.ini"].iter().zip(bytes.split(|&b| b == 0))
    {
        folder = folder.with(name, part);
    }
    let snapshot = folder.open();
    for device in &snapshot.devices {
        for dump in &device.dumps {
            assert!(dump.length > 0 && dump.address.checked_add(dump.length - 1) == Some(dump.last()));
            let size = std::fs::metadata(&dump.path).map_or(0, |metadata| metadata.len());
            assert!(dump.offset.checked_add(dump.length).is_some_and(|end| end <= size));
        }
    }
    for source in snapshot.buffers.iter().flat_map(|buffer| &buffer.sources) {
        assert!(snapshot.devices[source.device].class.name() == "trace_source");
        assert!(source.core.is_none_or(|core| snapshot.devices[core].class.name() == "core"));
    }
    assert!(snapshot.problems.len() <= 1001);
}

/// Reads any text as the description of a capture. Opening never panics, and the result is consistent.
pub fn capture_folder(bytes: &[u8]) {
    let folder =
        Folder::new().with("capture.toml", bytes).with("trace.bin", [1, 2, 3]).with("rom.bin", [0; 4]);
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let problems = match Capture::open(folder.path()) {
        Err(problem) => vec![problem],
        Ok(capture) => {
            for source in &capture.sources {
                if let Protocol::Etrace(source) = &source.protocol {
                    assert_eq!(source.config.params.check(), Ok(()));
                }
            }
            for buffer in &capture.buffers {
                assert!(buffer.path.is_file());
                assert!(buffer.sources.iter().all(|&source| source < capture.sources.len()));
            }
            let _ = capture.image(&[]);
            capture.problems
        }
    };
    assert!(problems.len() <= 1001);
    for problem in &problems {
        assert!(problem.line.is_none_or(|line| line >= 1 && line as usize <= lines), "{problem}");
    }
}

/// Reads any text as mappings. The snapshot is read all the same, and mappings are valid.
pub fn mappings_file(bytes: &[u8]) {
    let folder = Folder::snapshot().with("mappings.toml", bytes);
    let capture = Capture::open(folder.path()).unwrap_or_else(|problem| panic!("{problem}"));
    let mappings = capture.processes.iter().flat_map(|process| &process.mappings);
    assert!(mappings.into_iter().all(|mapping| mapping.start < mapping.end));
    assert_eq!(capture.buffers.len(), 1);
    let _ = capture.image(&[]);
}

/// Reads any bytes as a perf recording. It is rejected, or the result is consistent.
pub fn recording(bytes: &[u8]) {
    let folder = Folder::new().with("perf.data", bytes);
    let path = folder.path().join("perf.data");
    let Ok(capture) = perf::open(&path, &[folder.path().to_owned()]) else { return };
    check_recording(&path, &capture, bytes);
    // The same with encoders that the user describes.
    for given in ["ntrace,isa=rv64,src_bits=2", "etrace,isa=rv64,encapsulation=smi"] {
        let given = [given.parse().unwrap()];
        if let Ok(capture) = perf::open_with(&path, &[], &given)
            && capture.recorded.as_ref().is_some_and(|recorded| recorded.is_riscv())
        {
            check_recording(&path, &capture, bytes);
        }
    }
}

fn check_recording(path: &Path, capture: &Capture, bytes: &[u8]) {
    for buffer in &capture.buffers {
        assert!(buffer.sources.iter().all(|&source| source < capture.sources.len()));
        let mut last = 0;
        for piece in buffer.pieces.as_ref().expect("parts of a file") {
            assert!(piece.len > 0 && last <= piece.offset, "pieces out of order");
            last = piece.offset.saturating_add(piece.len);
            let (at, len) =
                piece.packed.map_or((piece.offset, piece.len), |packed| (packed.offset, packed.len));
            assert!(at.checked_add(len).is_some_and(|end| end <= bytes.len() as u64), "beyond the file");
            if let Some(packed) = piece.packed {
                let _ = perf::unpacked(path, None, packed);
            }
        }
    }
    for process in &capture.processes {
        assert!(process.mappings.iter().all(|mapping| mapping.start < mapping.end));
    }
    assert!(capture.problems.len() <= 1001);
    check_mappings(capture);
}

/// Asks for all code of a recording.
fn check_mappings(capture: &Capture) {
    let (image, _) = capture.image(&[]);
    let mappings =
        capture.processes.iter().flat_map(|process| process.mappings.iter().map(move |m| (process.pid, m)));
    for (pid, mapping) in mappings.take(100) {
        let (security, context_id) = (Security::NonSecure, Some(pid));
        let context = Context { level: 0, security, is_64bit: true, vmid: None, context_id };
        let space = image.space(&context, &Moment::LAST);
        let _ = (image.region(mapping.start, space), image.absent(mapping.start, space));
        let len = image.read(mapping.start, space).len() as u64;
        assert!(mapping.start.checked_add(len).is_some());
        let (names, line) =
            (image.symbols().frames(mapping.start, space), image.symbols().source(mapping.start, space));
        assert!(names.first().is_none_or(|frame| frame.line == line));
    }
    let kernel =
        Context { level: 1, security: Security::NonSecure, is_64bit: true, vmid: None, context_id: None };
    for time in [0, 6, 8, u64::MAX] {
        let space = image.space(&kernel, &Moment { time, thread: None });
        for address in [0xffff_8000_0000_0000_u64, 0xffff_8000_0000_0100, 0xffff_8000_7000_0000] {
            let _ = (image.read(address, space), image.symbols().symbol(address, space));
        }
    }
}

/// Reads any bytes as the code that a process of a recording made at run time.
pub fn jit_dump(bytes: &[u8]) {
    let mut made = Recording::new();
    made.monotonic().units(1, &[etm4(0, 0x40, 0x10)]).comm(who(1, 0), "one", false);
    made.mmap2(who(1, 1), 0x7000, 0x1000, 0, "/tmp/jit-1.dump").mmap2(who(1, 2), 0x1000, 0x1000, 0, "//anon");
    made.aux(who(1, 5), 0, 16, 0).aux(who(1, 10), 16, 16, 0).trace(0, 0, &[0; 32]);
    let folder = Folder::new().with("perf.data", made.write(Form::File)).with("jit-1.dump", bytes);
    let capture =
        perf::open(&folder.path().join("perf.data"), &[]).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(capture.problems.len() <= 3, "{:?}", capture.problems);
    check_mappings(&capture);
}

/// Reads any bytes as the names of code that a process of a recording made at run time.
pub fn map_names(bytes: &[u8]) {
    let mut made = Recording::new();
    made.units(1, &[etm4(0, 0x40, 0x10)]).mmap2(who(1, 2), 0x1000, 0x1000, 0, "//anon");
    let folder = Folder::new().with("perf.data", made.write(Form::File)).with("perf-1.map", bytes);
    let capture =
        perf::open(&folder.path().join("perf.data"), &[]).unwrap_or_else(|problem| panic!("{problem}"));
    check_mappings(&capture);
}

/// Names as compilers write them.
pub const MAP: &str = "1000 20 first a.js:1\n1020 10 second\n0x1800 0x1000 third\n1000 8 again\n";

/// Lets a debuginfod server answer with any bytes. What comes is an error, or the file that was asked for.
pub fn server_answer(bytes: &[u8]) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = Folder::new();
    let client =
        Debuginfod::new([url]).cache(folder.path().join("cache")).timeout(Duration::from_millis(200));
    let client = client.most_bytes(1 << 20);
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(bytes);
        });
        let fetched = client.fetch(&[0xab; 8], Kind::DebugInfo);
        server.join().unwrap();
        if let Ok(path) = fetched {
            let came = std::fs::read(path).unwrap();
            assert!(bytes.ends_with(&came) && came.starts_with(b"\x7fELF"));
        }
    });
}

/// Answer of a server that has the file.
pub fn good_answer() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2_u16, 183].map(u16::to_le_bytes).concat());
    file.extend(1_u32.to_le_bytes());
    file.extend([0_u64, 64, 0].map(u64::to_le_bytes).concat());
    file.extend(0_u32.to_le_bytes());
    file.extend([64_u16, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
    file.extend([4_u32, 4].map(u32::to_le_bytes).concat());
    file.extend([120_u64, 0, 0, 24, 24, 4].map(u64::to_le_bytes).concat());
    file.extend([4_u32, 8, 3].map(u32::to_le_bytes).concat());
    file.extend(b"GNU\0");
    file.extend([0xab; 8]);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nServer: any\r\n\r\n", file.len());
    [head.as_bytes(), &file].concat()
}

#[test]
fn damaged_answers() {
    let mut rng = Rng::new(25);
    let good = good_answer();
    server_answer(&good);
    for _ in 0..200 {
        server_answer(&damaged_bytes(&mut rng, &good));
        map_names(&damaged(&mut rng, MAP));
    }
}

/// Returns a good jitdump file with every kind of record.
pub fn good_dump() -> Vec<u8> {
    let mut dump = JitDump::new(1, 183, 0, false);
    dump.lines(3, 0x1000, &[(0x1000, 1, "a.js"), (0x1008, 2, ""), (0x1010, 1, "b.js")]);
    dump.load(3, 0x1000, 1, "first", &[0xd5; 32]).load(4, 0x1020, 2, "second", &[0xd6; 16]);
    dump.load(7, 0x1000, 3, "third", &[0xd7; 16]).moved(8, 0x1000, 0x1080, 16, 3).close(9);
    dump.bytes()
}

#[test]
fn damaged_dumps() {
    let mut rng = Rng::new(24);
    let good = good_dump();
    jit_dump(&good);
    for _ in 0..1000 {
        jit_dump(&damaged_bytes(&mut rng, &good));
    }
}

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    perf::unpacked_zstd(bytes).map_err(|error| error.to_string())
}

/// Reads any bytes as a recording that has a branch list instead of trace. A valid list reads the same after
/// it was written, and lies within its file.
pub fn recorded_branches(bytes: &[u8]) {
    let folder = Folder::new().with("perf.data", bytes);
    let Some(list) = perf::branch_list(&folder.path().join("perf.data")) else { return };
    assert!(!list.is_empty() && list.len() <= bytes.len());
    match branch_list::read(list.as_slice(), unpacked) {
        Ok(list) => {
            let again = branch_list::read(&branch_list::write(&list), |_| Err("not compressed"));
            assert_eq!(again, Ok(list));
        }
        Err(why) => assert!((1..200).contains(&why.to_string().len()), "{why}"),
    }
}

/// The same text, packed by gzip, xz and zstd.
pub const PACKED: [&[u8]; 3] = [
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\xcf\x48\x2c\x51\x28\x4a\xcc\xd3\x51\x48\xcc\x4b\x51\x28\x87\xf2\x14\x12\xd3\x13\x33\xf3\xac\xe0\x7c\xae\x72\xaa\x2a\x03\x00\x11\x01\xdf\xaa\x75\x00\x00\x00",
    b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x1c\x00\x00\x00\x10\xcf\x58\xcc\xe0\x00\x74\x00\x20\x5d\x00\x3b\x9a\x08\x48\x69\xea\x6b\x91\xd5\x74\x0a\xc0\x6c\xda\x80\x52\x2a\x9a\x27\x4b\x00\x96\x5d\xb2\x91\x21\x0b\xe5\x84\x0e\x29\x00\x00\x1a\xd7\xc2\x71\x39\x51\xc4\x26\x00\x01\x3c\x75\x67\x49\x1a\x73\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a",
    b"\x28\xb5\x2f\xfd\x04\x68\x15\x01\x00\xb0\x77\x68\x61\x74\x20\x72\x61\x6e\x2c\x20\x61\x6e\x64\x20\x20\x61\x67\x61\x69\x6e\x3a\x0a\x03\x00\xab\x14\x12\x33\xb5\x11\xc4\x54\x02\x6f\xfa\x83\xbf",
];

/// Unpacks any bytes as if they were a compressed file. Whether in small pieces or in large ones makes no difference.
pub fn compressed_file(bytes: &[u8]) {
    let read = |piece: usize| -> Result<Vec<u8>, String> {
        let mut reader = Unpacked::new(bytes).map_err(|error| error.to_string())?;
        let (mut all, mut chunk) = (Vec::new(), vec![0; piece]);
        while all.len() < 1 << 20 {
            match reader.read(&mut chunk).map_err(|error| error.to_string())? {
                0 => break,
                len => all.extend_from_slice(&chunk[..len]),
            }
        }
        Ok(all)
    };
    let (whole, pieces) = (read(1 << 16), read(1 << 10));
    match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => {
            let len = whole.len().min(pieces.len());
            assert_eq!(whole[..len], pieces[..len]);
            assert!(Compression::of(bytes).is_some() || whole[..] == bytes[..len]);
        }
        (Err(one), Err(other)) => assert!((1..300).contains(&one.len()), "{one} {other}"),
        // Damage beyond what was read.
        (Ok(all), Err(_)) | (Err(_), Ok(all)) => assert!(all.len() >= 1 << 20),
    }
}

#[test]
fn damaged_compressed_files() {
    for packed in PACKED {
        compressed_file(packed);
        let mut all = Vec::new();
        Unpacked::new(packed).unwrap().read_to_end(&mut all).unwrap();
        assert_eq!(all, "what ran, and what ran again: what ran\n".repeat(3).as_bytes());
    }
    let mut rng = Rng::new(19);
    for _ in 0..3000 {
        let packed = PACKED[rng.below(3) as usize];
        let mut bytes = packed.to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(4) {
                0 => bytes.truncate(at.max(6)),
                1 => bytes.insert(at, rng.below(256) as u8),
                _ => bytes[at] = rng.below(256) as u8,
            }
        }
        compressed_file(&bytes);
    }
}

/// Parses any text as a `--source`. It is rejected with a message, or a decoder accepts its parameters. Files
/// that it names are not opened; [`parameters_file`] covers them.
pub fn raw_source(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains("params") {
        check_source(&text);
    }
}

/// Reads any bytes as a file of E-Trace parameters (`.scf`).
pub fn parameters_file(bytes: &[u8]) {
    let folder = Folder::new().with("any.scf", bytes);
    let path = folder.path().join("any.scf");
    check_source(&format!("etrace,isa=rv64,encapsulation=smi,params={}", path.display()));
}

fn check_source(text: &str) {
    match text.parse::<RawSource>() {
        Ok(RawSource::Etrace(source)) => assert_eq!(source.config.params.check(), Ok(())),
        Ok(RawSource::Etm(_) | RawSource::Registered(_)) => {}
        Err(why) => {
            let len = why.to_string().len();
            assert!(len > 0 && len < 2_000 + 8 * text.len(), "{why}");
        }
    }
}

/// Returns good text with some bytes changed, lost or doubled, and lines inserted.
fn damaged(rng: &mut Rng, text: &str) -> Vec<u8> {
    let snippets: [&[u8]; 12] = [
        b"\n",
        b"[",
        b"]",
        b"=",
        b"\"",
        b";",
        b"\r\n",
        b"\xff",
        b"\n[dump9]\nfile=memory.bin\naddress=0xfff8\nlength=9",
        b"\nspace=EL1N",
        b"0xffffffffffffffff",
        b"\n[buffer0]\n",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.below(6) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(3) {
            0 => drop(bytes.splice(at..at, rng.pick(&snippets).iter().copied())),
            1 => drop(bytes.drain(at..bytes.len().min(at + rng.below(8) as usize))),
            _ if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
            _ => {}
        }
    }
    bytes
}

#[test]
fn random_bytes_as_ini() {
    let mut rng = Rng::new(2);
    for _ in 0..5000 {
        let length = rng.sized(10) as usize;
        let bytes = rng.bytes(length);
        ini_file(&bytes);
        // Few different bytes make many lines, sections and keys.
        let few: Vec<u8> = bytes.iter().map(|byte| b"\n\n[]=a b;\"\xe9"[*byte as usize % 11]).collect();
        ini_file(&few);
    }
}

#[test]
fn damaged_captures() {
    let mut rng = Rng::new(7);
    for round in 0..1500 {
        let bytes = if round % 10 == 0 { rng.bytes(200) } else { damaged(&mut rng, CAPTURE) };
        capture_folder(&bytes);
        // Whole lines lost, doubled and moved give valid TOML with wrong content.
        let mut lines: Vec<&str> = CAPTURE.lines().collect();
        for _ in 0..1 + rng.below(3) {
            let line = lines.remove(rng.below(lines.len() as u64) as usize);
            if rng.below(2) == 0 {
                lines.insert(rng.below(lines.len() as u64) as usize, line);
            }
        }
        capture_folder(lines.join("\n").as_bytes());
    }
}

#[test]
fn damaged_mappings() {
    let mut rng = Rng::new(9);
    let good = "format = 1\n[[process]]\npid = 1\ncommand = \"x\"\n[[process.mapping]]\nstart = 0x1000\nend = 0x2000\n\
                offset = 0\npath = \"memory.bin\"\nbuild_id = \"12ab\"\n";
    for round in 0..1000 {
        let bytes = if round % 10 == 0 { rng.bytes(200) } else { damaged(&mut rng, good) };
        mappings_file(&bytes);
    }
}

/// Returns a recording with every kind of record.
pub fn good_recording(form: Form) -> Vec<u8> {
    let mut recording = Recording::new();
    recording.machine("aarch64").build_ids(&[("/bin/one", &[0xaa; 20]), ("[kernel.kallsyms]", &[2; 8])]);
    recording.units(2, &[etm4(0, 0x40, 0x10), etm4(1, 0x40, 0x12)]);
    recording.kernel_mmap(0xffff_8000_0000_0000, 0x1000, 0, "[kernel.kallsyms]_text");
    recording.kernel_mmap(0xffff_0000_0000_0000, 0x1000, 0, "/x.ko");
    recording.comm(who(1, 0), "one", false).mmap2(who(1, 0), 0x1000, 0x1000, 0, "/bin/one");
    recording.hardware_id(who(1, 0), 0x21).hardware_id(Who { cpu: 1, ..who(1, 0) }, 1 << 56 | 0x22);
    recording
        .aux(who(1, 5), 0, 16, 1)
        .aux(who(1, 6), 16, 12, 0x100)
        .aux(who(1, 7), 28, 20, 2)
        .trace(0, 0, &[1; 48]);
    recording.fork(who(2, 8), 1).comm(who(2, 9), "two", true);
    recording.mmap2_id(who(2, 10), 0x1800, 0x1000, 0x100, "/perf.data", &[3; 20]).exit(who(2, 11));
    let kernel = 0xffff_8000_0000_0000;
    let functions =
        vec![(kernel + 0x7000_0000, [7; 8], vec![1; 16]), (kernel + 0x7000_0100, [8; 8], vec![2; 8])];
    recording.bpf_programs(&[BpfProgram { id: 3, name: "probe", functions }]);
    recording.ksymbol(3, kernel + 0x7000_0000, 16, 1, false, "bpf_prog_0707070707070707_probe");
    recording.bpf_event(3, 1, 3, [7; 8]).ksymbol(4, kernel + 0x100, 0x100, 2, false, "page");
    recording.text_poke(5, kernel + 0x110, &[], &[3; 8]).text_poke(6, kernel, &[4; 4], &[5; 4]);
    recording.text_poke(7, kernel + 2, &[5; 4], &[6; 4]).ksymbol(8, kernel + 0x100, 0x100, 2, true, "page");
    recording
        .thread_trace(2, 0, &[7; 16])
        .aux(Who { cpu: 9, ..who(2, 12) }, 0, 16, 0)
        .itrace_start(who(2, 13));
    recording.write(form)
}

/// Returns a recording of RISC-V trace: SpacemiT's layout, or that of the kernel's drafts.
pub fn riscv_recording(form: Form, is_spacemit: bool) -> Vec<u8> {
    let mut recording = Recording::new();
    recording.machine("riscv64").unit_names(&[(12, "rvtrace")]);
    match is_spacemit {
        true => recording.units_of(7, &[12 << 32 | 2, 0, 5, 1, 1, 0, 3, 0, 1, 5, 1, 1, 0, 3, 1]),
        false => recording.units_of(8, &[12]),
    };
    recording.kernel_mmap(0xffff_ffff_8000_0000, 0x1000, 0, "[kernel.kallsyms]_text");
    recording.comm(who(1, 0), "one", false).mmap2(who(1, 0), 0x1000, 0x1000, 0, "/bin/one");
    let message = [0x24, 0xa4, 1, 0, 0, 0, 0, 0, 7, 8, 0xc4, 0xa0, 0x0b, 0xff, 0xff, 0xff];
    recording.aux(who(1, 5), 0, 16, 0x200).aux(who(1, 6), 16, 32, 0).aux(who(1, 7), 48, 16, 0x300);
    recording.trace(0, 0, &[message; 4].concat()).thread_trace(2, 0, &message);
    recording.aux(Who { cpu: 3, ..who(2, 12) }, 0, 16, 0x100).hardware_id(who(1, 0), 0);
    recording.write(form)
}

fn damaged_bytes(rng: &mut Rng, good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    damage_bytes(rng, &mut bytes, good);
    bytes
}

#[test]
fn damaged_recordings() {
    let mut rng = Rng::new(21);
    let forms = [Form::File, Form::Pipe, Form::Compressed, Form::Compressed2, Form::CompressedTrace];
    let mut good: Vec<_> = forms.into_iter().map(good_recording).collect();
    good.extend(forms.iter().flat_map(|form| [false, true].map(|spacemit| riscv_recording(*form, spacemit))));
    good.iter().for_each(|bytes| recording(bytes));
    if let Some(folder) = captures().map(|captures| captures.join("perf")) {
        for name in
            ["simpleperf/perf_etm.data", "simpleperf/perf_header_v0.data", "ricsec_branches_trace1.data"]
        {
            good.push(std::fs::read(folder.join(name)).unwrap());
        }
    }
    for round in 0..2000 {
        let bytes = match round % 20 {
            0 => [&b"PERFILE2"[..], &rng.bytes(400)].concat(),
            _ => {
                let good = rng.pick(&good).clone();
                damaged_bytes(&mut rng, &good)
            }
        };
        recording(&bytes);
    }
}

/// Returns a recording whose trace was decoded when it was made.
pub fn recording_with_branches(list: &[u8]) -> Vec<u8> {
    let mut recording = Recording::new();
    recording.machine("aarch64").comm(who(1, 0), "one", false).feature(133, list.to_vec());
    recording.write(Form::File)
}

/// Smallest branch list: one without binaries.
pub const NO_BRANCHES: &[u8] = b"simpleperf:EtmBranchList\x01\0\0\0\0";

#[test]
fn damaged_recordings_with_branches() {
    let mut rng = Rng::new(22);
    let mut good = vec![recording_with_branches(NO_BRANCHES)];
    if let Some(folder) = captures().map(|captures| captures.join("perf/oracle")) {
        for name in ["perf_etm.bl", "perf_kernel.bl"] {
            good.push(recording_with_branches(&std::fs::read(folder.join(name)).unwrap()));
        }
    }
    for bytes in &good {
        let folder = Folder::new().with("perf.data", bytes);
        let list = perf::branch_list(&folder.path().join("perf.data")).expect("a branch list");
        assert!(branch_list::read(list.as_slice(), unpacked).is_ok());
    }
    for _ in 0..1000 {
        let good = rng.pick(&good).clone();
        recorded_branches(&damaged_bytes(&mut rng, &good));
    }
}

/// Files of a snapshot, in the order in which [`snapshot_folder`] takes them.
pub const GOOD_SNAPSHOT: [&str; 4] = [CORE, SOURCE, TRACE, SNAPSHOT];

/// Description of a capture.
pub const CAPTURE_TEXT: &str = CAPTURE;

/// Sources as users write them.
pub const SOURCES: &[&str] = &[
    "etm4,id=0x10,core=Cortex-A53,TRCCONFIGR=0xc1,TRCIDR0=0x28000ea1,TRCIDR1=0x4100f422,TRCIDR2=0x488,TRCIDR8=4",
    "ete,id=0x11,TRCCONFIGR=0x1801,TRCIDR0=0x28800ea1,TRCDEVARCH=0x47735a13,TRCTRACEIDR=17",
    "etrace,isa=rv64,encapsulation=smi,context_width=32,iaddress_width=64,iaddress_lsb=1,return_stack_size=4",
    "etrace,isa=rv32,encapsulation=standard,source_bits=4,timestamp_bytes=2,type_bits=2,id=3,nocontext=1",
    "etrace,isa=rv64,encapsulation=pulp",
    "mtb,MTB_POSITION=0x444,MTB_MASTER=0x80000006,VTOR=0x100",
];

/// File of parameters.
pub const PARAMETERS: &str = "# hart\n[required]\narch_p=1\niaddress_width_p=64\niaddress_lsb_p=1\ncontext_width_p = 32\n\
    return_stack_size_p=0\nbpred_size_p=4\ncache_size_p=7\nprivilege_width_p=2\ntime_width_p=0x10\n";

#[test]
fn damaged_sources() {
    let mut rng = Rng::new(23);
    let (mut read, mut words) = (0, Vec::new());
    for source in SOURCES {
        assert!(source.parse::<RawSource>().is_ok(), "{source}");
        words.extend(source.split([',', '=']));
    }
    for round in 0..3000 {
        let mut text = damaged(&mut rng, SOURCES[round % SOURCES.len()]);
        if round % 3 == 0 {
            text.extend(format!(",{}={}", rng.pick(&words), rng.pick(&words)).as_bytes());
        }
        read += u32::from(String::from_utf8_lossy(&text).parse::<RawSource>().is_ok());
        raw_source(&text);
        parameters_file(&damaged(&mut rng, PARAMETERS));
    }
    assert!(read > 100, "{read}");
}

/// Checks that time and memory are in proportion to the file, whatever its records say of each other.
#[test]
fn large_recordings_are_read_in_time() {
    let mut made = Recording::new();
    made.units(1, &[etm4(0, 0x40, 0x10)]);
    for number in 0..20_000 {
        made.mmap2(who(1, number), 0x1000 * number, u64::MAX, 0, "/bin/one");
        made.fork(who(2 + number as u32, number), 1);
        // Records that each describe all trace, and trace in the smallest parts.
        made.aux(who(1, number), 0, u64::MAX, 2 * (number % 2)).trace(0, 8 * number, &[0; 8]);
    }
    recording(&made.write(Form::File));
    recording(&made.write(Form::Compressed));
    // Kernel code that changes and is looked at all the time, and functions that are written byte by byte.
    let mut made = Recording::new();
    made.units(1, &[etm4(0, 0x40, 0x10)]).ksymbol(0, 0xffff_8000_7000_0000, u32::MAX, 2, false, "page");
    for number in 0..10_000 {
        made.aux(who(1, 2 * number), 8 * number, 8, 0).trace(0, 8 * number, &[0; 8]);
        made.text_poke(2 * number + 1, 0xffff_8000_0000_0000 + number, &[1; 4], &[2; 4]);
        made.text_poke(2 * number + 1, 0xffff_8000_7000_0000 + 2 * number, &[], &[2]);
    }
    recording(&made.write(Form::File));
}

#[test]
fn damaged_snapshots() {
    let mut rng = Rng::new(3);
    for round in 0..1500 {
        let parts = [CORE, SOURCE, TRACE, SNAPSHOT];
        let parts = parts.map(|text| if round % 10 == 0 { rng.bytes(200) } else { damaged(&mut rng, text) });
        snapshot_folder(&parts.join(&0));
    }
}

/// Checks that time is in proportion to the text.
#[test]
fn large_files_are_read_in_time() {
    let mut core = CORE.to_owned();
    let mut trace = "[trace_buffers]\nbuffers=".to_owned();
    for number in 0..20_000 {
        core += &format!("[dump]\nfile=memory.bin\naddress={:#x}\n", number * 8 % 77_777);
        trace += &format!("b{number},");
    }
    for number in 0..20_000 {
        trace += &format!("\n[b{number}]\nname=n{number}");
    }
    snapshot_folder(&[core, SOURCE.to_owned(), trace, SNAPSHOT.to_owned()].map(String::into_bytes).join(&0));
}
