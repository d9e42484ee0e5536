//! Every fault of a memory dump, as in `problems.rs`.

use crate::support::{CORE, Folder, SNAPSHOT};

const MISSING: &str = "No such file or directory (os error 2)";

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
        .with("snapshot.ini", SNAPSHOT.replace("[trace]", "device2=cpu_1.ini\n[trace]"))
        .with("cpu_1.ini", CORE.replace("cpu_0", "cpu_1").replace("memory.bin", "trace.bin"));
    let snapshot = folder.check(&[&format!(
        "cpu_1.ini:5: error: 0x1000-0x1003 (any) overlaps 0x1000-0x100f of memory.bin (cpu_0.ini:5) {advice}"
    )]);
    assert!(snapshot.devices[2].dumps.is_empty());
}
