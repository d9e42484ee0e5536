//! Snapshots that we write: they read back as written, and OpenCSD opens them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Folder, listed};
use tracewright_input::Packing;
use tracewright_input::snapshot::{DeviceClass, SourceRef};
use tracewright_input::{
    Mapping, MemorySpace, OutputFolder, Process, ProcessThread, Replace, Snapshot, SnapshotWriter,
};
use tracewright_testkit::Rng;

/// Input of the writer, and what a reader must then find.
#[derive(Debug, PartialEq)]
struct Plan {
    description: Option<String>,
    devices: Vec<PlannedDevice>,
    buffers: Vec<PlannedBuffer>,
}

#[derive(Debug, PartialEq)]
struct PlannedDevice {
    name: String,
    class: DeviceClass,
    kind: String,
    registers: Vec<(String, u64)>,
    dumps: Vec<(u64, MemorySpace, Vec<u8>)>,
}

#[derive(Debug, PartialEq)]
struct PlannedBuffer {
    name: String,
    format: Packing,
    bytes: Vec<u8>,
    sources: Vec<SourceRef>,
}

impl Plan {
    fn random(rng: &mut Rng) -> Self {
        let cores = 1 + rng.below(3) as usize;
        let sources = rng.below(5) as usize;
        let mut next_address = rng.sized(62);
        let mut devices = Vec::new();
        for number in 0..cores + sources {
            let is_core = number < cores;
            let (class, kinds) = match is_core {
                true => (DeviceClass::Core, ["Cortex-A53", "ARMv8.3-A", "ARM-AA64", "Cortex-M0+"]),
                false => (DeviceClass::TraceSource, ["ETM4", "ETE", "ETM3.5", "STM"]),
            };
            let mut dumps = Vec::new();
            for _ in 0..if is_core { rng.below(4) } else { 0 } {
                let bytes = some_bytes(rng, 40);
                let space =
                    [MemorySpace::ANY, MemorySpace::EL1N, MemorySpace::S, MemorySpace::R, MemorySpace::ROOT];
                dumps.push((next_address, *rng.pick(&space), bytes));
                next_address += 40 + rng.sized(40);
            }
            let registers = (0..rng.below(6)).map(|n| (name(rng, n as usize), rng.sized(64))).collect();
            let kind = (*rng.pick(&kinds)).to_owned();
            devices.push(PlannedDevice { name: name(rng, number), class, kind, registers, dumps });
        }
        // Every source in one buffer, every buffer with a source.
        let mut buffers: Vec<PlannedBuffer> = Vec::new();
        for device in cores..cores + sources {
            if buffers.is_empty() || rng.one_in(2) {
                let (format, bytes) = (
                    *rng.pick(&[Packing::CoreSight, Packing::Source, Packing::DstreamCoreSight]),
                    some_bytes(rng, 100),
                );
                buffers.push(PlannedBuffer { name: name(rng, device), format, bytes, sources: Vec::new() });
            }
            let core = (!rng.one_in(4)).then(|| rng.below(cores as u64) as usize);
            let buffer = rng.below(buffers.len() as u64) as usize;
            buffers[buffer].sources.push(SourceRef { device, core });
        }
        buffers.retain(|buffer| !buffer.sources.is_empty());
        let description = rng.one_in(2).then(|| name(rng, 0));
        Self { description, devices, buffers }
    }

    fn write(&self, dir: &Path) -> Snapshot {
        let mut writer = SnapshotWriter::create(dir).unwrap();
        if let Some(description) = &self.description {
            writer.describe(description).unwrap();
        }
        for device in &self.devices {
            let registers: Vec<_> =
                device.registers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            let number = match device.class {
                DeviceClass::Core => writer.core(&device.name, &device.kind, &registers).unwrap(),
                _ => writer.source(&device.name, &device.kind, &registers).unwrap(),
            };
            for (address, space, bytes) in &device.dumps {
                writer.dump(number, *address, *space, &bytes[..]).unwrap();
            }
        }
        for buffer in &self.buffers {
            let number = writer.buffer(&buffer.name, buffer.format, &buffer.bytes[..]).unwrap();
            for source in &buffer.sources {
                writer.connect(source.device, number, source.core).unwrap();
            }
        }
        writer.finish().unwrap()
    }

    /// Returns the plan that a snapshot on disk implements.
    fn of(snapshot: &Snapshot) -> Self {
        let devices = snapshot.devices.iter().map(|device| PlannedDevice {
            name: device.name.clone(),
            class: device.class.clone(),
            kind: device.kind.clone(),
            registers: device.registers.iter().map(|r| (r.name.clone(), r.value.unwrap())).collect(),
            dumps: device
                .dumps
                .iter()
                .map(|dump| {
                    let bytes = fs::read(&dump.path).unwrap();
                    assert_eq!((dump.offset, dump.length), (0, bytes.len() as u64));
                    (dump.address, dump.space, bytes)
                })
                .collect(),
        });
        let buffers = snapshot.buffers.iter().map(|buffer| PlannedBuffer {
            name: buffer.name.clone(),
            format: buffer.format,
            bytes: fs::read(&buffer.path).unwrap(),
            sources: buffer.sources.clone(),
        });
        Self {
            description: snapshot.description.clone(),
            devices: devices.collect(),
            buffers: buffers.collect(),
        }
    }
}

/// Returns a name that is unique by its number.
fn name(rng: &mut Rng, number: usize) -> String {
    let before = ["cpu_", "x,y ", "it's ", "é ", "a.b/c\\", "dump", "-", "$0:"];
    let after = ["", " 1", "_s1", "]", ")", "\"x", "\u{1f980}"];
    format!("{}{number}{}", rng.pick(&before), rng.pick(&after))
}

fn some_bytes(rng: &mut Rng, most: u64) -> Vec<u8> {
    let length = 1 + rng.below(most) as usize;
    rng.bytes(length)
}

#[test]
fn what_is_written_reads_back() {
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        let folder = Folder::new();
        let plan = Plan::random(&mut rng);
        let written = plan.write(folder.path());
        let read = folder.check(&[]);
        assert_eq!(Plan::of(&read), plan);
        assert_eq!(read, written);
    }
}

/// Writes cores that share memory, a streamed buffer, and mappings.
#[test]
fn memory_is_shared_and_trace_streamed() {
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path()).unwrap();
    let cores = ["a", "b"].map(|name| writer.core(name, "Cortex-A53", &[]).unwrap());
    let memory = writer.memory(&[1, 2, 3, 4, 5, 6][..]).unwrap();
    for core in cores {
        writer.see(core, memory, (0, 2), 0x1000, MemorySpace::ANY).unwrap();
        writer.see(core, memory, (2, 4), 0x2000, MemorySpace::ANY).unwrap();
    }
    let (buffer, path, mut file) = writer.open_buffer("ETB_0", Packing::CoreSight).unwrap();
    let source = writer.source("ETM_0", "ETM4", &[]).unwrap();
    writer.connect(source, buffer, Some(cores[0])).unwrap();
    std::io::Write::write_all(&mut file, &[7; 32]).unwrap();
    let mapping = |path: Option<&str>, build_id: Option<&str>| Mapping {
        start: 0x1000,
        end: 0x1002,
        offset: 0x40,
        path: path.map(Into::into),
        build_id: build_id.map(Into::into),
    };
    let mappings = vec![mapping(Some("/a \"b\"\\é"), Some("12ab")), mapping(None, None)];
    let thread = |tid, name: &str| ProcessThread { tid, name: name.into() };
    let threads = vec![thread(7, ""), thread(8, "wor\"ker")];
    let process = Process { pid: 7, command: "a\nb".into(), threads, mappings };
    writer.process(process.clone());
    let written = writer.finish().unwrap();
    assert_eq!(
        (written.buffers[0].size, written.buffers[0].path.as_path()),
        (32, folder.path().join("buffer_0.bin").as_path())
    );
    assert!(!path.exists(), "it was written beside its place");
    let read = folder.check(&[]);
    assert_eq!(read.processes, [process]);
    let dumps = |core: usize| {
        let dump =
            |dump: &tracewright_input::Dump| (dump.path.clone(), dump.address, dump.offset, dump.length);
        read.devices[core].dumps.iter().map(dump).collect::<Vec<_>>()
    };
    let memory = folder.path().join("memory_0.bin");
    assert_eq!(dumps(0), [(memory.clone(), 0x1000, 0, 2), (memory, 0x2000, 2, 4)]);
    assert_eq!(dumps(0), dumps(1));
    // Without processes the file is removed.
    let mut writer = SnapshotWriter::create(folder.path()).unwrap();
    writer.core("a", "Cortex-A53", &[]).unwrap();
    writer.finish().unwrap();
    assert!(!folder.path().join("mappings.toml").exists());
}

#[test]
fn memory_that_is_not_there_is_refused() {
    check_error(
        |w| {
            let memory = w.memory(&[1, 2][..])?;
            w.see(0, memory, (1, 2), 0x1000, MemorySpace::ANY)
        },
        "memory_0.bin: error: has no 0x2 bytes at offset 0x1",
    );
    check_error(|w| w.see(0, 5, (0, 1), 0, MemorySpace::ANY), ": error: no file with memory has number 5");
    check_error(
        |w| {
            let memory = w.memory(&[1, 2][..])?;
            w.see(9, memory, (0, 1), 0, MemorySpace::ANY)
        },
        ": error: no device has number 9",
    );
}

#[test]
fn an_old_snapshot_is_replaced() {
    let folder = Folder::snapshot().with("checksums.toml", "format = 1\n");
    let claimed = OutputFolder::claim(folder.path(), Replace::Anything).unwrap();
    let writer = SnapshotWriter::within(claimed).unwrap();
    assert!(Snapshot::open(folder.path()).is_err(), "half written, yet it opens");
    drop(writer);
}

/// Performs an operation that must fail on a writer that has a core (0), a source (1) and a buffer (0).
fn check_error(
    wrong: impl FnOnce(&mut SnapshotWriter) -> Result<(), tracewright_input::Problem>,
    expected: &str,
) {
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path()).unwrap();
    writer.core("cpu_0", "Cortex-A53", &[]).unwrap();
    writer.source("ETM_0", "ETM4", &[]).unwrap();
    writer.buffer("ETB_0", Packing::CoreSight, &[0; 16][..]).unwrap();
    writer.connect(1, 0, Some(0)).unwrap();
    let result = wrong(&mut writer).and_then(|()| writer.finish().map(drop));
    let found = listed(&[result.unwrap_err()], &folder.path().with_extension("part"));
    assert_eq!(found, [expected]);
}

#[test]
fn what_an_ini_file_cannot_hold_is_refused() {
    let mut names =
        ["", " x", "x ", "a;b", "a#b", "a\nb", "a\rb", "\"x\"", "''", "a=b", "[x", "a(b"].into_iter();
    assert!(names.all(|name| {
        let folder = Folder::new();
        let mut writer = SnapshotWriter::create(folder.path()).unwrap();
        writer.core(name, "Cortex-A53", &[]).is_err()
            && writer.core("cpu", "Cortex-A53", &[(name, 1)]).is_err()
    }));
    check_error(|w| w.describe("a;b"), ": error: description \"a;b\" cannot be written to an ini file");
    check_error(
        |w| w.source("a=b", "ETM4", &[]).map(drop),
        ": error: device name \"a=b\" cannot be the key of an ini file",
    );
}

#[test]
fn what_a_reader_would_complain_about_is_refused() {
    check_error(
        |w| w.core("cpu_1", "Z80", &[]).map(drop),
        "device_2.ini:4: warning: unknown core type \"Z80\": expected a name like Cortex-A53 or a pattern like ARMv8-A",
    );
    check_error(
        |w| w.core("ETM_0", "ARMv8-A", &[]).map(drop),
        "snapshot.ini:7: error: the device in \"device_2.ini\" is called \"ETM_0\", as that of line 6: skipped",
    );
    check_error(
        |w| w.core("cpu_1", "ARMv8-A", &[("PC", 0), ("pc", 1)]).map(drop),
        "device_2.ini:8: error: register \"pc\" repeats line 7: skipped",
    );
    check_error(
        |w| w.buffer("ETB_1", Packing::CoreSight, &[][..]).map(drop),
        "trace.ini:11: warning: trace \"buffer_1.bin\" is empty: there is nothing to decode",
    );
    check_error(
        |w| w.buffer("ETB_1", Packing::CoreSight, &[1][..]).map(drop),
        "trace.ini:9: warning: no source of [source_buffers] writes to buffer \"ETB_1\"",
    );
    check_error(
        |w| w.dump(0, 0, MemorySpace::ANY, &[1, 2][..]).and(w.dump(0, 1, MemorySpace::EL2, &[2][..])),
        "device_0.ini:11: error: 0x1-0x1 (EL2) overlaps 0x0-0x1 of dump_0_0.bin (device_0.ini:6) and differs: skipped; \
         give one of them another space=",
    );
    check_error(|w| w.connect(1, 0, None), "trace.ini:11: error: key \"ETM_0\" repeats line 10: skipped");
}

#[test]
fn numbers_of_nothing_are_refused() {
    check_error(|w| w.dump(2, 0, MemorySpace::ANY, &[1][..]), ": error: no device has number 2");
    check_error(|w| w.connect(2, 0, None), ": error: no device has number 2");
    check_error(|w| w.connect(1, 0, Some(2)), ": error: no device has number 2");
    check_error(|w| w.connect(1, 1, None), ": error: no buffer has number 1");
}

/// Compares with Debian's `trc_pkt_lister` (libopencsd-bin).
#[test]
fn opencsd_opens_what_we_write() {
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path()).unwrap();
    writer.describe("written by tracewright").unwrap();
    let core = writer.core("cpu_0", "Cortex-A53", &[("PC", 0x8000_0000)]).unwrap();
    let registers = [
        ("TRCCONFIGR", 0x41),
        ("TRCTRACEIDR", 0x10),
        ("TRCIDR0", 0x2800_0ea1),
        ("TRCIDR1", 0x4100_f402),
        ("TRCIDR2", 0x488),
        ("TRCIDR8", 0),
        ("TRCIDR9", 0),
        ("TRCIDR10", 0),
        ("TRCIDR11", 0),
        ("TRCIDR12", 0),
        ("TRCIDR13", 0),
    ];
    let source = writer.source("ETM_0", "ETM4", &registers).unwrap();
    writer.dump(core, 0x8000_0000, MemorySpace::ANY, &[0; 64][..]).unwrap();
    writer.dump(core, 0x9000_0000, MemorySpace::EL1N, &[0; 32][..]).unwrap();
    // One formatter frame: now ID 0x10; an A-sync and a trace info packet.
    let frame = [0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00, 0x00];
    let buffer = writer.buffer("ETB_0", Packing::CoreSight, &frame[..]).unwrap();
    writer.connect(source, buffer, Some(core)).unwrap();
    writer.finish().unwrap();

    let mut lister = Command::new("trc_pkt_lister");
    // It leaves a log file in its working directory.
    lister.current_dir(folder.path());
    let output = match lister.args(["-decode", "-logstdout", "-ss_dir"]).arg(folder.path()).output() {
        Ok(output) => output,
        Err(error) => {
            let why = format!("no trc_pkt_lister (Debian package libopencsd-bin): {error}");
            return tracewright_testkit::skip("opencsd_opens_what_we_write", &why);
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "Using ETB_0 as trace source",
        "Protocol printer ETMV4I on Trace ID 0x10",
        "FileAcc; Range::0x80000000:8000003f",
        "FileAcc; Range::0x90000000:9000001f",
        "I_ASYNC : Alignment Synchronisation.",
        "I_TRACE_INFO : Trace Info.",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
    }
    assert!(output.status.success() && !text.contains("ERR"), "{text}");
}
