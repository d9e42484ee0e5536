//! Every snapshot in `shared/captures`, compared with facts read by eye and counted by an independent script.

use std::collections::BTreeSet;
use std::fs;

use crate::support::listed;
use tracewright_input::snapshot::{Buffer, Protocol};
use tracewright_input::{MemorySpace, Severity, Snapshot};

/// Folder; numbers of devices, cores among them, and dumps; bytes of the dumps; buffers; problems.
type Row = (&'static str, [usize; 3], u64, &'static [&'static str], &'static [&'static str]);

const SIX_CORES: &str = "ETM_0<cpu_0 ETM_1<cpu_1 ETM_2<cpu_2 ETM_3<cpu_3 ETM_4<cpu_4 ETM_5<cpu_5";

/// All problems are real: memory that was not published with the trace, an empty second session, a debugger
/// that lists cores it did not save.
#[rustfmt::skip]
const TABLE: [Row; 39] = [
    ("coresight/001-ack_test", [2, 1, 125], 387_844, &["ETB_1 source_data 16168 ETE_0_s1<cpu_0"], &[]),
    ("coresight/Snowball", [4, 2, 2], 655_360, &["ETB_0 coresight 8192 PTM_0<cpu_0 PTM_1<cpu_1"], &[]),
    ("coresight/TC2", [11, 5, 5], 1_638_400,
        &["ETB_0 coresight 32768 ETM_0<cpu_0 ETM_1<cpu_1 ETM_2<cpu_2 PTM_0<cpu_3 PTM_1<cpu_4 ITM_0"], &[]),
    ("coresight/a55-test-tpiu", [2, 1, 0], 0, &["DSTREAM_0 dstream_coresight 49152 CSETM_0<Cortex-A55_0"],
        &["device1.ini:450: error: memory dump \"mem_Cortex-A57_0.bin\" cannot be read: skipped"]),
    ("coresight/a57_single_step", [2, 1, 1], 4096, &["CSTMC_TRACE_FIFO coresight 128 CSETM_0<Cortex-A57_0"], &[]),
    ("coresight/armv8_1m_branches", [2, 1, 2], 3212, &["etr_0 source_data 33 etm_0<cpu_0"], &[]),
    ("coresight/bugfix-exact-match", [12, 6, 30], 11_386_584,
        &["etr_0 coresight 1048576 etm_0<cpu_0 etm_1<cpu_1 etm_2<cpu_2 etm_3<cpu_3 etm_4<cpu_4 etm_5<cpu_5"], &[]),
    // The order of the sections, not of the list: OpenCSD says "Using ETB_2 as trace source".
    ("coresight/ete-ite-instr", [3, 1, 4], 431_144,
        &["ETB_2 source_data 53 ETE_0_s2<cpu_0", "ETB_1 source_data 67 ETE_0_s1<cpu_0"], &[]),
    ("coresight/ete-wfet", [3, 1, 2], 658_648,
        &["ETB_1 source_data 155 ETE_0_s1<cpu_0", "ETB_2 source_data 0 ETE_0_s2<cpu_0"],
        &["trace.ini:11: warning: trace \"session2.bin\" is empty: there is nothing to decode"]),
    ("coresight/ete_ip", [2, 1, 8], 578_416, &["ETB_1 source_data 578 ETE_0_s1<cpu_0"], &[]),
    ("coresight/ete_mem", [2, 1, 12], 397_708, &["ETB_1 source_data 1906 ETE_0_s1<cpu_0"], &[]),
    ("coresight/ete_spec_1", [2, 1, 2], 529_792, &["ETB_1 source_data 174 ETE_0_s1<cpu_0"], &[]),
    ("coresight/ete_spec_3", [2, 1, 2], 529_792, &["ETB_1 source_data 167 ETE_0_s1<cpu_0"], &[]),
    ("coresight/event_test", [2, 1, 0], 0, &["ETB_1 source_data 13 ETE_0_s1<cpu_0"], &[
        "cpu_0.ini:14: error: memory dump \"bindir_64/OTHERS_exec\" cannot be read: skipped",
        "cpu_0.ini:19: error: memory dump \"bindir_64/VAL_NON_DET_CODE_exec\" cannot be read: skipped",
    ]),
    ("coresight/feat_cmpbr", [7, 1, 4], 602_868, &[
        "ETB_1 source_data 33 ETE_0_s1<cpu_0", "ETB_2 source_data 48 ETE_0_s2<cpu_0",
        "ETB_3 source_data 28 ETE_0_s3<cpu_0", "ETB_4 source_data 36 ETE_0_s4<cpu_0",
        "ETB_5 source_data 58 ETE_0_s5<cpu_0", "ETB_6 source_data 31 ETE_0_s6<cpu_0",
    ], &[]),
    ("coresight/infrastructure", [13, 6, 6], 1_966_080,
        &["ETB_0 coresight 65536 SIX_CORES", "ETB_1 coresight 1984 STM_12"], &[]),
    ("coresight/init-short-addr", [2, 1, 0], 0, &["CSTMC_TRACE_FIFO source_data 56 CSETM_0<Cortex-A57_0"], &[]),
    ("coresight/itm_only_csformat", [1, 0, 0], 0, &["ETB_1 coresight 288 ITM_0"], &[]),
    ("coresight/juno-ret-stck", [12, 6, 0], 0, &["ETB_0 coresight 65536 SIX_CORES"], &[
        "cpu_0.ini:13: error: memory dump \"kernel_dump.bin\" cannot be read: skipped",
        "cpu_1.ini:13: error: memory dump \"kernel_dump.bin\" cannot be read: skipped",
        "cpu_2.ini:13: error: memory dump \"kernel_dump.bin\" cannot be read: skipped",
        "cpu_3.ini:13: error: memory dump \"kernel_dump.bin\" cannot be read: skipped",
        "cpu_4.ini:13: error: memory dump \"kernel_dump.bin\" cannot be read: skipped",
        "cpu_5.ini:13: error: memory dump \"kernel_dump.bin\" cannot be read: skipped",
    ]),
    ("coresight/juno-uname-002", [12, 6, 24], 8_586_768, &["ETB_0 coresight 102992 SIX_CORES"], &[]),
    ("coresight/juno_r1_1", [13, 6, 6], 1_966_080,
        &["ETB_0 coresight 65536 SIX_CORES", "ETB_1 coresight 1984 STM_12"], &[]),
    ("coresight/maxspec0_commopt1", [2, 1, 3], 396_024, &["ETB_1 source_data 4100 ETE_0_s1<cpu_0"], &[]),
    ("coresight/pauth_lr", [4, 1, 4], 554_368, &[
        "ETB_1 source_data 203 ETE_0_s1<cpu_0", "ETB_2 source_data 221 ETE_0_s2<cpu_0",
        "ETB_3 source_data 198 ETE_0_s3<cpu_0",
    ], &[]),
    ("coresight/q_elem", [3, 1, 2], 543_104,
        &["ETB_2 source_data 729 ETE_0_s2<cpu_0", "ETB_1 source_data 522 ETE_0_s1<cpu_0"], &[]),
    ("coresight/s_9001", [3, 1, 4], 566_476,
        &["ETB_1 source_data 30 ETE_0_s1<cpu_0", "ETB_2 source_data 260 ETE_0_s2<cpu_0"], &[]),
    ("coresight/src_addr", [2, 1, 6], 402_196, &["ETB_1 source_data 3037 ETE_0_s1<cpu_0"], &[]),
    ("coresight/stm-issue-27", [1, 0, 0], 0, &["ETB_0 coresight 768 STM_0"], &[]),
    ("coresight/stm_only", [1, 0, 0], 0, &["ETB_1 coresight 32768 STM_0"], &[]),
    ("coresight/stm_only-2", [1, 0, 0], 0, &["ETB_1 coresight 32768 STM_0"], &[]),
    ("coresight/tc2-ptm-rstk-t32", [6, 1, 9], 417_704, &["PTM_0_2 source_data 27884 PTM_0_2<Cortex-A15_0"], &[
        "trace.ini:16: warning: no device is called \"Cortex-A7_0\" in [core_trace_sources]: the line is not used",
        "trace.ini:17: warning: no device is called \"Cortex-A7_1\" in [core_trace_sources]: the line is not used",
        "trace.ini:18: warning: no device is called \"Cortex-A7_2\" in [core_trace_sources]: the line is not used",
        "trace.ini:20: warning: no device is called \"Cortex-A15_1\" in [core_trace_sources]: the line is not used",
    ]),
    ("coresight/texit-poe2", [2, 1, 6], 1_058_206, &["ETB_1 source_data 30061 ETE_0_s1<cpu_0"], &[]),
    ("coresight/tme_simple", [2, 1, 2], 538_720, &["ETB_1 source_data 97 ETE_0_s1<cpu_0"], &[]),
    ("coresight/tme_test", [2, 1, 2], 479_296, &["ETB_1 source_data 14467 ETE_0_s1<cpu_0"], &[]),
    ("coresight/trace_file_cid_vmid", [2, 1, 8], 373_228, &["ETB_1 source_data 4847 ETE_0_s1<cpu_0"], &[]),
    ("coresight/ts_bit64_set", [2, 1, 4], 452_616, &["ETB_1 source_data 1793 ETE_0_s1<cpu_0"], &[]),
    ("coresight/ts_marker", [2, 1, 2], 556_000, &["ETB_1 source_data 1378 ETE_0_s1<cpu_0"], &[]),
    ("process/branches_trace1", [2, 1, 3], 1_552_586, &["ETB_0 coresight 14016 ETM_0<cpu_0"], &[]),
    ("process/branches_trace2", [2, 1, 3], 1_552_586, &["ETB_0 coresight 14112 ETM_0<cpu_0"], &[]),
    ("process/fib_trace1", [2, 1, 3], 1_552_122, &["ETB_0 coresight 14464 ETM_0<cpu_0"], &[]),
];

/// Returns name, format, size, then each source with its core.
fn shown(snapshot: &Snapshot, buffer: &Buffer) -> String {
    let name = |device: usize| snapshot.devices[device].name.as_str();
    let sources = buffer.sources.iter().map(|source| match source.core {
        Some(core) => format!(" {}<{}", name(source.device), name(core)),
        None => format!(" {}", name(source.device)),
    });
    let sources: String = sources.collect();
    format!("{} {} {}{sources}", buffer.name, buffer.format.in_snapshots().unwrap(), buffer.size)
}

#[test]
fn all_captures() {
    let Some(root) = tracewright_testkit::captures_for("all_captures", "") else { return };
    for (name, [devices, cores, dumps], bytes, buffers, problems) in TABLE {
        let dir = root.join(name);
        let snapshot = Snapshot::open(&dir).expect(name);
        let found_dumps: Vec<_> = snapshot.devices.iter().flat_map(|device| &device.dumps).collect();
        let found_cores = snapshot.devices.iter().filter(|device| device.core_kind().is_some()).count();
        assert_eq!(
            [snapshot.devices.len(), found_cores, found_dumps.len()],
            [devices, cores, dumps],
            "{name}"
        );
        assert_eq!(found_dumps.iter().map(|dump| dump.length).sum::<u64>(), bytes, "{name}");
        let expected: Vec<_> = buffers.iter().map(|text| text.replace("SIX_CORES", SIX_CORES)).collect();
        let found: Vec<_> = snapshot.buffers.iter().map(|buffer| shown(&snapshot, buffer)).collect();
        assert_eq!(found, expected, "{name}");
        let found: Vec<_> = listed(&snapshot.problems, &dir)
            .iter()
            .map(|problem| problem.replace(" (No such file or directory (os error 2))", ""))
            .collect();
        assert_eq!(found, problems, "{name}");
        assert_eq!(snapshot.version, "1.0");
    }
}

#[test]
fn the_table_is_complete() {
    let Some(root) = tracewright_testkit::captures_for("the_table_is_complete", "") else { return };
    let mut found = BTreeSet::new();
    for group in ["coresight", "process"] {
        for entry in fs::read_dir(root.join(group)).expect(group) {
            let entry = entry.expect(group);
            if entry.path().join("snapshot.ini").exists() {
                found.insert(format!("{group}/{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    let known: BTreeSet<_> = TABLE.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(found, known);
}

#[test]
fn details_of_captures() {
    let Some(root) = tracewright_testkit::captures_for("details_of_captures", "") else { return };
    let open = |name: &str| Snapshot::open(&root.join(name)).expect(name);

    let juno = open("coresight/juno_r1_1");
    let ids: Vec<_> = juno.devices.iter().filter_map(|device| device.register("TRCTRACEIDR")).collect();
    assert_eq!(ids, [0x10, 0x11, 0x12, 0x13, 0x14, 0x15]);
    assert_eq!(juno.devices[12].register("STMTCSR"), Some(0x00a0_0005));
    assert_eq!(juno.devices[0].register("PC"), Some(0xffff_ffc0_0008_1000));
    assert_eq!(juno.devices[5].kind, "Cortex-A57");

    let step = open("coresight/a57_single_step");
    let dump = &step.devices[0].dumps[0];
    assert_eq!(
        (dump.address, dump.length, dump.space, dump.line),
        (0xfffe_b448, 4096, MemorySpace::EL2, 447)
    );
    assert_eq!(step.devices[1].protocol(), Some(Protocol::Etm4));

    let tc2 = open("coresight/tc2-ptm-rstk-t32");
    assert!(tc2.devices[0].dumps.iter().all(|dump| dump.space == MemorySpace::S));
    assert_eq!(tc2.devices[4].protocol(), Some(Protocol::Ptm));
    assert!(tc2.problems.iter().all(|problem| problem.severity == Severity::Warning));

    let ack = open("coresight/001-ack_test");
    assert_eq!(ack.description.as_deref(), Some("checker_metadata.ini"));
    assert_eq!(ack.devices[1].register("TRCIDR0"), Some(0x0800_0aa1));

    // Shorter than its file, by 36 bytes.
    let short = open("coresight/feat_cmpbr");
    assert_eq!(short.devices[0].dumps[1].length, 0x2d5b0);
}
