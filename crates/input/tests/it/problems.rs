//! Every fault of a snapshot: where it is reported, with which message, and what is read in spite of it.

use crate::support::{CORE, Folder, SNAPSHOT, SOURCE, TRACE};
use tracewright_input::snapshot::{DeviceClass, SourceRef};
use tracewright_input::{Severity, Snapshot};

const MISSING: &str = "No such file or directory (os error 2)";

#[test]
fn no_snapshot_ini() {
    let folder = Folder::new();
    let problem = Snapshot::open(folder.path()).unwrap_err();
    assert_eq!(problem.message, "not a trace snapshot folder: it has no snapshot.ini");
    assert_eq!(problem.file, folder.path());
    let problem = Snapshot::open(&folder.path().join("nowhere")).unwrap_err();
    assert_eq!((problem.severity, problem.line), (Severity::Error, None));
}

#[test]
fn a_folder_or_a_giant_is_no_snapshot_ini() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("snapshot.ini")).unwrap();
    let problem = Snapshot::open(folder.path()).unwrap_err();
    assert_eq!(
        problem.message,
        "cannot be read (a folder, not a plain file): expected a trace snapshot folder"
    );

    let folder = Folder::new().with("snapshot.ini", vec![b'\n'; (4 << 20) + 1]);
    let problem = Snapshot::open(folder.path()).unwrap_err();
    assert_eq!(
        problem.message,
        "cannot be read (longer than 4194304 bytes, the most that is read of such a file): expected a trace snapshot folder"
    );
}

#[test]
fn nothing_in_snapshot_ini() {
    let snapshot = Folder::snapshot().with("snapshot.ini", "").check(&[
        "snapshot.ini: error: no version in section \"snapshot\": expected a line like version=1.0; read as if it were there",
        "snapshot.ini: error: no devices: expected a [device_list] with a line like device0=cpu_0.ini for each",
    ]);
    assert!(snapshot.devices.is_empty() && snapshot.buffers.is_empty());
}

#[test]
fn unsupported_version() {
    let folder = Folder::snapshot().with("snapshot.ini", SNAPSHOT.replace("1.0", "2.0"));
    let snapshot = folder
        .check(&["snapshot.ini:2: error: unsupported version \"2.0\": expected 1.0; read as if it were"]);
    assert_eq!((snapshot.version.as_str(), snapshot.devices.len()), ("2.0", 2));
}

#[test]
fn bad_lines_and_repeated_keys() {
    let text =
        format!("early=1\n{}", SNAPSHOT.replace("[device_list]", "version=1.1\nnonsense\n[device_list]"));
    let snapshot = Folder::snapshot().with("snapshot.ini", text).check(&[
        "snapshot.ini:1: error: key \"early\" stands before the first [section]: skipped",
        "snapshot.ini:5: error: expected [section] or key=value, found \"nonsense\": skipped",
        "snapshot.ini:4: error: key \"version\" repeats line 3: skipped",
    ]);
    assert_eq!(snapshot.buffers.len(), 1);
}

#[test]
fn missing_device_file() {
    let snapshot = Folder::snapshot().without("cpu_0.ini").check(&[
        &format!("snapshot.ini:4: error: device file \"cpu_0.ini\" cannot be read ({MISSING}): skipped"),
        "trace.ini:10: warning: no device is called \"cpu_0\" in [core_trace_sources]: the line is not used",
    ]);
    assert_eq!(snapshot.devices.len(), 1);
    assert_eq!(snapshot.buffers[0].sources, [SourceRef { device: 0, core: None }]);
}

#[test]
fn device_without_name_or_class() {
    let snapshot = Folder::snapshot().with("cpu_0.ini", "\n[device]\ntype=Cortex-A53").with("etm_0.ini", "").check(&[
        "cpu_0.ini:2: error: no name in section \"device\": expected a line like name=cpu_0; the device is skipped",
        "cpu_0.ini:2: error: no class in section \"device\": expected a line like class=core or class=trace_source; the device is skipped",
        "etm_0.ini: error: no name in section \"device\": expected a line like name=cpu_0; the device is skipped",
        "etm_0.ini: error: no class in section \"device\": expected a line like class=core or class=trace_source; the device is skipped",
        "trace.ini:10: warning: no device is called \"cpu_0\" in [core_trace_sources]: the line is not used",
        "trace.ini:8: error: no device is called \"ETM_0\" in [source_buffers]: skipped",
        "trace.ini:3: warning: no source of [source_buffers] writes to buffer \"ETB_0\"",
    ]);
    assert!(snapshot.devices.is_empty());
}

#[test]
fn two_devices_of_one_name() {
    let folder =
        Folder::snapshot().and_device("cpu_1.ini", "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53");
    let snapshot = folder.check(&[
        "snapshot.ini:6: error: the device in \"cpu_1.ini\" is called \"cpu_0\", as that of line 4: skipped",
    ]);
    assert_eq!(snapshot.devices.len(), 2);
}

#[test]
fn one_device_file_twice() {
    let folder =
        Folder::snapshot().with("snapshot.ini", SNAPSHOT.replace("[trace]", "device2=./cpu_0.ini\n[trace]"));
    let snapshot =
        folder.check(&["snapshot.ini:6: error: device file \"./cpu_0.ini\" repeats line 4: skipped"]);
    assert_eq!(snapshot.devices.len(), 2);
}

#[test]
fn unknown_class_and_types() {
    let folder = Folder::snapshot()
        .with("snapshot.ini", SNAPSHOT.replace("[trace]", "device2=x.ini\ndevice3=y.ini\n[trace]"))
        .with("x.ini", "[device]\nname=x\nclass=teapot\ntype=X")
        .with("y.ini", "[device]\nname=y\nclass=core")
        .with("cpu_0.ini", CORE.replace("Cortex-A53", "Z80"))
        .with("etm_0.ini", SOURCE.replace("ETM4", "ETM9.1"));
    let snapshot = folder.check(&[
        "cpu_0.ini:4: warning: unknown core type \"Z80\": expected a name like Cortex-A53 or a pattern like ARMv8-A",
        "etm_0.ini:4: warning: unknown trace source type \"ETM9.1\": expected ETM4, ETE, ETM3, PTM1, PFT1, STM, ITM or MTB",
        "x.ini:3: warning: unknown class \"teapot\": expected core or trace_source; the device is not used",
        "y.ini:3: warning: unknown core type \"\": expected a name like Cortex-A53 or a pattern like ARMv8-A",
    ]);
    assert_eq!((snapshot.devices[0].core_kind(), snapshot.devices[1].protocol()), (None, None));
    assert_eq!(snapshot.devices[2].class, DeviceClass::Other("teapot".into()));
    assert_eq!(snapshot.buffers[0].sources.len(), 1);
}

#[test]
fn bad_and_repeated_registers() {
    let text = format!("{SOURCE}trctraceidr=0x11\nTRCCONFIGR=banana\n");
    let snapshot = Folder::snapshot().with("etm_0.ini", text).check(&[
        "etm_0.ini:7: error: register \"trctraceidr\" repeats line 6: skipped",
        "etm_0.ini:8: warning: \"TRCCONFIGR\" is \"banana\": expected a number of 64 bits like 0x1000 or 4096: kept as text only",
    ]);
    let source = &snapshot.devices[1];
    assert_eq!((source.register("TRCTRACEIDR"), source.register("TRCCONFIGR")), (Some(0x10), None));
    assert_eq!(source.registers[1].text, "banana");
}

#[test]
fn trace_without_metadata() {
    let folder = Folder::snapshot().with("snapshot.ini", SNAPSHOT.replace("metadata=trace.ini", ""));
    folder.check(&["snapshot.ini:6: error: no metadata in section \"trace\": expected a line like metadata=trace.ini; no trace"]);
    let problem =
        format!("snapshot.ini:7: error: trace metadata \"trace.ini\" cannot be read ({MISSING}): no trace");
    assert_eq!(Folder::snapshot().without("trace.ini").check(&[&problem]).devices.len(), 2);
    Folder::snapshot().with("trace.ini", "").check(&[
        "trace.ini: error: no buffers in section \"trace_buffers\": expected a line like buffers=buffer0; no trace",
    ]);
}

#[test]
fn buffers_without_section_or_keys() {
    let trace = TRACE.replace("buffers=buffer0", "buffers=buffer0,buffer1,buffer2")
        + "[buffer1]\nname=B\n[buffer1]\nfile=x\n";
    let snapshot = Folder::snapshot().with("trace.ini", trace).check(&[
        "trace.ini:11: error: no file in section \"buffer1\": expected a line like file=trace.bin; the buffer is skipped",
        "trace.ini:11: error: no format in section \"buffer1\": expected a line like format=coresight; the buffer is skipped",
        "trace.ini:13: error: section \"buffer1\" repeats line 11: skipped",
        "trace.ini:2: error: there is no section \"buffer2\": the buffer is skipped",
    ]);
    assert_eq!(snapshot.buffers.len(), 1);
}

#[test]
fn two_buffers_of_one_name() {
    let trace = TRACE.replace("buffers=buffer0", "buffers=buffer0,buffer1")
        + "[buffer1]\nname=ETB_0\nfile=x\nformat=y\n";
    let folder = Folder::snapshot().with("trace.ini", trace);
    folder.check(&["trace.ini:12: error: another buffer is called \"ETB_0\" already: the buffer is skipped"]);
}

#[test]
fn unknown_buffer_format() {
    let folder = Folder::snapshot().with("trace.ini", TRACE.replace("=coresight", "=etb"));
    let snapshot = folder.check(&[
        "trace.ini:6: error: unknown format \"etb\": expected coresight or source_data or dstream_coresight; the buffer is skipped",
    ]);
    assert!(snapshot.buffers.is_empty());
}

#[test]
fn missing_or_empty_buffer_file() {
    let problem =
        format!("trace.ini:5: error: trace \"trace.bin\" cannot be read ({MISSING}): the buffer is skipped");
    assert!(Folder::snapshot().without("trace.bin").check(&[&problem]).buffers.is_empty());

    let folder = Folder::snapshot().with("trace.bin", "");
    let snapshot =
        folder.check(&["trace.ini:5: warning: trace \"trace.bin\" is empty: there is nothing to decode"]);
    assert_eq!(snapshot.buffers[0].size, 0);
}

#[test]
fn sources_that_do_not_exist() {
    let trace = TRACE.replace("ETM_0=ETB_0", "ETM_9=ETB_0\ncpu_0=ETB_0\nETM_0=ETB_9\nETM_0=ETB_0");
    let snapshot = Folder::snapshot().with("trace.ini", trace).check(&[
        "trace.ini:11: error: key \"ETM_0\" repeats line 10: skipped",
        "trace.ini:8: error: no device is called \"ETM_9\" in [source_buffers]: skipped",
        "trace.ini:9: error: \"cpu_0\" has class \"core\", not trace_source in [source_buffers]: skipped",
        "trace.ini:10: error: no buffer is called \"ETB_9\": source \"ETM_0\" is skipped",
        "trace.ini:3: warning: no source of [source_buffers] writes to buffer \"ETB_0\"",
    ]);
    assert!(snapshot.buffers[0].sources.is_empty());
}

#[test]
fn cores_that_do_not_exist() {
    let folder =
        Folder::snapshot().and_device("cpu_1.ini", "[device]\nname=cpu_1\nclass=core\ntype=Cortex-A53").with(
            "trace.ini",
            TRACE.to_owned() + "cpu_9=ETM_0\nETM_0=ETM_0\ncpu_0=ETM_9\ncpu_1=ETM_0\ncpu_0=ETM_0\n",
        );
    let snapshot = folder.check(&[
        "trace.ini:11: warning: no device is called \"cpu_9\" in [core_trace_sources]: the line is not used",
        "trace.ini:12: warning: \"ETM_0\" has class \"trace_source\", not core in [core_trace_sources]: the line is not used",
        "trace.ini:13: warning: no device is called \"ETM_9\" in [core_trace_sources]: the line is not used",
        "trace.ini:14: warning: source \"ETM_0\" traces core \"cpu_0\" already: the line is not used",
    ]);
    assert_eq!(snapshot.buffers[0].sources, [SourceRef { device: 1, core: Some(0) }]);
}

#[test]
fn latin_1_is_read_with_a_warning() {
    let folder = Folder::snapshot().with("cpu_0.ini", [CORE.as_bytes(), b"[regs]\nna\xefve=1\n"].concat());
    let snapshot = folder.check(&[
        "cpu_0.ini:9: warning: not UTF-8: what cannot be read becomes U+FFFD; save the file as UTF-8",
    ]);
    assert_eq!(snapshot.devices[0].register("na\u{fffd}ve"), Some(1));
}

/// Returns a core with the dump section `dump`, in lines from 5 on.
fn core_with(dump: &str) -> Folder {
    let head = CORE.split("[dump1]").next().unwrap_or_default();
    Folder::snapshot().with("cpu_0.ini", format!("{head}{dump}"))
}

#[test]
fn missing_dump_file() {
    let folder = Folder::snapshot().without("memory.bin");
    let problem =
        format!("cpu_0.ini:6: error: memory dump \"memory.bin\" cannot be read ({MISSING}): skipped");
    assert!(folder.check(&[&problem]).devices[0].dumps.is_empty());

    let folder = core_with("[dump1]\nfile=.\naddress=0");
    folder.check(&["cpu_0.ini:6: error: memory dump \".\" cannot be read (not a plain file): skipped"]);
}

#[test]
fn dump_without_file_or_address() {
    core_with("[dump1]\nfile=\nlength=1").check(&[
        "cpu_0.ini:5: error: no file in section \"dump1\": expected a line like file=memory.bin; the dump is skipped",
        "cpu_0.ini:5: error: no address in section \"dump1\": expected a line like address=0x80000000; the dump is skipped",
    ]);
}

#[test]
fn dump_with_bad_numbers() {
    let number = "expected a number of 64 bits like 0x1000 or 4096: the dump is skipped";
    core_with("[dump1]\nfile=memory.bin\naddress=0x10zz")
        .check(&[&format!("cpu_0.ini:7: error: \"address\" is \"0x10zz\": {number}")]);
    core_with("[dump1]\nfile=memory.bin\naddress=0\nlength=-1\noffset=x\nspace=EL0").check(&[
        &format!("cpu_0.ini:8: error: \"length\" is \"-1\": {number}"),
        &format!("cpu_0.ini:9: error: \"offset\" is \"x\": {number}"),
    ]);
}

#[test]
fn dump_in_an_unknown_space() {
    let snapshot = core_with("[dump1]\nfile=memory.bin\naddress=0\nspace=EL0\n[dump2]\nfile=memory.bin\naddress=0").check(&[
        "cpu_0.ini:8: error: unknown memory space \"EL0\": expected EL1N, EL2, S, ANY or the like; the dump is skipped",
    ]);
    assert_eq!(snapshot.devices[0].dumps.len(), 1);
}

#[test]
fn dump_beyond_its_file() {
    let snapshot = core_with("[dump1]\nfile=memory.bin\naddress=0\noffset=4\nlength=0x10").check(&[
        "cpu_0.ini:6: warning: length 0x10 is more than \"memory.bin\" has from offset 0x4: read as 0xc",
    ]);
    assert_eq!(snapshot.devices[0].dumps[0].length, 12);

    let snapshot = core_with("[dump1]\nfile=memory.bin\naddress=0\noffset=0x10")
        .check(&["cpu_0.ini:6: error: offset 0x10 is not inside \"memory.bin\" (0x10 bytes): skipped"]);
    assert!(snapshot.devices[0].dumps.is_empty());

    Folder::snapshot()
        .with("memory.bin", "")
        .check(&["cpu_0.ini:6: error: offset 0x0 is not inside \"memory.bin\" (0x0 bytes): skipped"]);
}

#[test]
fn dump_beyond_memory() {
    let snapshot = core_with("[dump1]\nfile=memory.bin\naddress=0xfffffffffffffff1")
        .check(&["cpu_0.ini:5: error: 0x10 bytes at 0xfffffffffffffff1 pass the end of memory: skipped"]);
    assert!(snapshot.devices[0].dumps.is_empty());
}

#[test]
fn dumps_that_overlap_and_differ() {
    // In one device: another file; the same file, shifted; then one that fits between, and one in another space.
    let folder = core_with(
        "[dump1]\nfile=memory.bin\naddress=0x1000\nspace=N\n\
         [dump2]\nfile=trace.bin\naddress=0x100f\n\
         [dump3]\nfile=memory.bin\naddress=0x0ff8\nspace=EL1N\n\
         [dump4]\nfile=trace.bin\naddress=0x1010\n\
         [dump5]\nfile=trace.bin\naddress=0x1000\nspace=S\n",
    );
    let advice = "and differs: skipped; give one of them another space=";
    let snapshot = folder.check(&[
        &format!(
            "cpu_0.ini:9: error: 0x100f-0x1012 (any) overlaps 0x1000-0x100f of memory.bin (cpu_0.ini:5) {advice}"
        ),
        &format!(
            "cpu_0.ini:12: error: 0xff8-0x1007 (EL1N) overlaps 0x1000-0x100f of memory.bin (cpu_0.ini:5) {advice}"
        ),
    ]);
    let lines: Vec<_> = snapshot.devices[0].dumps.iter().map(|dump| dump.line).collect();
    assert_eq!(lines, [5, 16, 19]);

    // Between devices, which share one memory.
    let folder = Folder::snapshot()
        .and_device("cpu_1.ini", CORE.replace("cpu_0", "cpu_1").replace("memory.bin", "trace.bin"));
    let snapshot = folder.check(&[&format!(
        "cpu_1.ini:5: error: 0x1000-0x1003 (any) overlaps 0x1000-0x100f of memory.bin (cpu_0.ini:5) {advice}"
    )]);
    assert!(snapshot.devices[2].dumps.is_empty());
}
