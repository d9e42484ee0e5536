//! Rules of snapshot folders, one by one. Faults are in `problems.rs`.

use crate::support::{CORE, Folder, SNAPSHOT, SOURCE, TRACE};
use tracewright_input::Packing;
use tracewright_input::snapshot::{DeviceClass, Protocol, SourceRef};
use tracewright_input::{CoreKind, MemorySpace};

#[test]
fn a_small_snapshot() {
    let folder = Folder::snapshot();
    let snapshot = folder.check(&[]);
    assert_eq!(snapshot.dir, folder.path());
    assert_eq!((snapshot.version.as_str(), &snapshot.description), ("1.0", &None));
    let [core, source] = &snapshot.devices[..] else { panic!("{:?}", snapshot.devices) };

    assert_eq!(
        (core.name.as_str(), &core.class, core.kind.as_str()),
        ("cpu_0", &DeviceClass::Core, "Cortex-A53")
    );
    assert_eq!(core.file, folder.path().join("cpu_0.ini"));
    assert_eq!(core.core_kind(), CoreKind::of("ARMv8-A"));
    assert_eq!(core.protocol(), None);
    let dump = &core.dumps[0];
    assert_eq!((dump.address, dump.length, dump.offset, dump.line), (0x1000, 16, 0, 5));
    assert_eq!((dump.last(), dump.space), (0x100f, MemorySpace::ANY));
    assert_eq!(dump.path, folder.path().join("memory.bin"));

    assert_eq!((source.name.as_str(), &source.class), ("ETM_0", &DeviceClass::TraceSource));
    assert_eq!((source.protocol(), source.core_kind()), (Some(Protocol::Etm4), None));

    let [buffer] = &snapshot.buffers[..] else { panic!("{:?}", snapshot.buffers) };
    assert_eq!((buffer.name.as_str(), buffer.size, buffer.format), ("ETB_0", 4, Packing::CoreSight));
    assert_eq!(buffer.path, folder.path().join("trace.bin"));
    assert_eq!(buffer.sources, [SourceRef { device: 1, core: Some(0) }]);
}

#[test]
fn carriage_returns_comments_and_quotes_change_nothing() {
    let plain = Folder::snapshot();
    let dressed =
        |text: &str| format!("; DS-5 snapshot\n{text}").replace('\n', "\r\n").replace(".bin", ".bin # x");
    let quoted = |text: &str| {
        text.replace("file=memory.bin", "file=\"memory.bin\"").replace("name=ETB_0", "name='ETB_0'")
    };
    let folder = Folder::snapshot()
        .with("snapshot.ini", dressed(SNAPSHOT))
        .with("cpu_0.ini", quoted(&dressed(CORE)))
        .with("etm_0.ini", dressed(SOURCE))
        .with("trace.ini", quoted(&dressed(TRACE)));
    let (plain, dressed) = (plain.check(&[]), folder.check(&[]));
    assert_eq!(dressed.devices[0].dumps[0].length, plain.devices[0].dumps[0].length);
    assert_eq!(dressed.devices[1].registers[0].text, "0x10");
    assert_eq!(dressed.buffers[0].name, "ETB_0");
    assert_eq!(dressed.buffers[0].sources, plain.buffers[0].sources);
}

#[test]
fn description_and_unknown_sections() {
    let text =
        SNAPSHOT.replace("[device_list]", "description=my board\n[clusters]\nCluster 0=cpu_0\n[device_list]");
    let snapshot = Folder::snapshot().with("snapshot.ini", text.replace("1.0", "1")).check(&[]);
    assert_eq!((snapshot.version.as_str(), snapshot.description.as_deref()), ("1", Some("my board")));
}

#[test]
fn device_list_keys_mean_nothing_and_order_is_kept() {
    let text =
        "[snapshot]\nversion=1.0\n[device_list]\nx=etm_0.ini\nx=cpu_0.ini\n[trace]\nmetadata=trace.ini";
    let snapshot = Folder::snapshot().with("snapshot.ini", text).check(&[]);
    let names: Vec<_> = snapshot.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["ETM_0", "cpu_0"]);
    assert_eq!(snapshot.buffers[0].sources, [SourceRef { device: 0, core: Some(1) }]);
}

#[test]
fn a_snapshot_without_trace() {
    let text = SNAPSHOT.replace("[trace]\nmetadata=trace.ini", "");
    let snapshot = Folder::snapshot().with("snapshot.ini", text).check(&[]);
    assert_eq!((snapshot.devices.len(), snapshot.buffers.len()), (2, 0));
}

#[test]
fn registers_lose_their_parentheses_and_keep_their_text() {
    let text = format!(
        "{CORE}[regs]\nPC(size:64)=0xFFFFFFC000081000\nSP (size:64) = 0\nV0=0x10000000000000000\nMode=\"SVC\"\nR8=010\n"
    );
    let snapshot = Folder::snapshot().with("cpu_0.ini", text).check(&[]);
    let core = &snapshot.devices[0];
    let found: Vec<_> =
        core.registers.iter().map(|r| (r.name.as_str(), r.value, r.text.as_str(), r.line)).collect();
    assert_eq!(
        found,
        [
            ("PC", Some(0xffff_ffc0_0008_1000), "0xFFFFFFC000081000", 9),
            ("SP", Some(0), "0", 10),
            ("V0", None, "0x10000000000000000", 11),
            ("Mode", None, "SVC", 12),
            ("R8", Some(8), "010", 13),
        ]
    );
    assert_eq!(
        (core.register("pc"), core.register("V0"), core.register("X9")),
        (Some(0xffff_ffc0_0008_1000), None, None)
    );
}

#[test]
fn dumps_have_any_name_a_length_an_offset_and_a_space() {
    let text = "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n\
        [dump]\nfile=memory.bin\naddress=0x1000\nlength=4\n\
        [dump.text]\nfile=memory.bin\naddress=0x2000\nlength=0x8\noffset=0x8\nspace=EL1N\n\
        [dump.text]\nfile=memory.bin\naddress=0x2000\nlength=0\noffset=4\nspace=\"S\"\n\
        [memory]\nfile=nothing.bin\naddress=0";
    let snapshot = Folder::snapshot().with("cpu_0.ini", text).check(&[]);
    let dumps = &snapshot.devices[0].dumps;
    let found: Vec<_> = dumps.iter().map(|d| (d.address, d.length, d.offset, d.space, d.line)).collect();
    assert_eq!(
        found,
        [
            (0x1000, 4, 0, MemorySpace::ANY, 5),
            (0x2000, 8, 8, MemorySpace::EL1N, 9),
            (0x2000, 12, 4, MemorySpace::S, 15),
        ]
    );
}

#[test]
fn the_last_byte_of_memory_can_be_dumped() {
    let text = CORE.replace("0x1000", "0xfffffffffffffff0");
    let snapshot = Folder::snapshot().with("cpu_0.ini", text).check(&[]);
    assert_eq!(snapshot.devices[0].dumps[0].last(), u64::MAX);
}

#[test]
fn what_all_cores_list_is_no_overlap() {
    // The same bytes, with another length and another offset.
    let second = CORE.replace("cpu_0", "cpu_1").replace("0x1000", "0x1004\noffset=4\nlength=8")
        + "[dump2]\nfile=./memory.bin\naddress=0x1000\nspace=EL2\n";
    let text = SNAPSHOT.replace("[trace]", "device2=cpu_1.ini\n[trace]");
    let folder = Folder::snapshot().with("snapshot.ini", text).with("cpu_1.ini", second);
    let snapshot = folder.check(&[]);
    assert_eq!(snapshot.devices[2].dumps.len(), 2);
}

#[test]
fn other_classes_are_kept() {
    let folder =
        Folder::snapshot().and_device("funnel.ini", "[device]\nname=FUNNEL\nclass=funnel\ntype=CSTF");
    let snapshot = folder.check(&[]);
    assert_eq!(snapshot.devices[2].class, DeviceClass::Other("funnel".into()));
    assert_eq!((snapshot.devices[2].core_kind(), snapshot.devices[2].protocol()), (None, None));
}

/// Reads several sessions of one core: a source and a buffer each, with the core named repeatedly.
#[test]
fn buffers_are_in_the_order_of_their_sections() {
    let trace = "[trace_buffers]\nbuffers=buffer1, buffer2,\n\
        [buffer2]\nname=ETB_2\nfile=trace.bin\nformat=source_data\n\
        [unlisted]\nname=ETB_3\nfile=gone.bin\nformat=odd\n\
        [buffer1]\nname=ETB_1\nfile=trace.bin\nformat=dstream_coresight\n\
        [source_buffers]\nETM_0=ETB_1\nETM_1=ETB_2\n\
        [core_trace_sources]\ncpu_0=ETM_0\ncpu_0=ETM_1\n";
    let folder =
        Folder::snapshot().and_device("etm_1.ini", SOURCE.replace("ETM_0", "ETM_1")).with("trace.ini", trace);
    let snapshot = folder.check(&[]);
    let found: Vec<_> =
        snapshot.buffers.iter().map(|b| (b.name.as_str(), b.format, b.sources.as_slice())).collect();
    assert_eq!(
        found,
        [
            ("ETB_2", Packing::Source, &[SourceRef { device: 2, core: Some(0) }][..]),
            ("ETB_1", Packing::DstreamCoreSight, &[SourceRef { device: 1, core: Some(0) }][..]),
        ]
    );
}

#[test]
fn sources_are_in_the_order_of_the_file_and_need_no_core() {
    let folder = Folder::snapshot()
        .and_device(
            "stm.ini",
            "[device]\nname=STM_0\nclass=trace_source\ntype=STM\n[regs]\nSTMTCSR(0x3A0)=0x00A00007",
        )
        .with("trace.ini", TRACE.replace("ETM_0=ETB_0", "STM_0=ETB_0\nETM_0=ETB_0"));
    let snapshot = folder.check(&[]);
    let expected = [SourceRef { device: 2, core: None }, SourceRef { device: 1, core: Some(0) }];
    assert_eq!(snapshot.buffers[0].sources, expected);
}
