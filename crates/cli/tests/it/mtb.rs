//! MTB: a program whose every step is known, its packets as the reference manual describes them, and the verbs on the memory that they
//! are in. QEMU, where it is there, executes the same steps.

use std::fs;

use serde_json::Value;
use tracewright_core::{Block, Class, Element, Ended, Exception, Isa, TraceOn};
use tracewright_coresight::mtb::encode::Encoder;
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Program};

use crate::run::{Ran, command, ran, run, values};

/// Where the file is loaded, with its vectors behind the headers.
const BASE: u32 = 0x1_0000;
const VECTORS: u32 = BASE + 0x80;
const MAIN: u32 = BASE + 0xc0;
const COUNT: u32 = MAIN + 0x14;
const TICK: u32 = MAIN + 0x20;
const TURNS: u32 = 12;
/// Value that a handler returns with.
const EXC_RETURN: u32 = 0xffff_fff8;

/// Calls `count` twelve times, which branches by the lowest bit of its argument. `tick` handles SysTick.
#[rustfmt::skip]
const CODE: [u16; 18] = [
    0x2400 | TURNS as u16,  // main: movs r4, #12
    0x0020,                 // 02: movs r0, r4
    0xf000, 0xf806,         // 04: bl count
    0x3c01,                 // 08: subs r4, #1
    0xd1fa,                 // 0a: bne 02
    0x2701, 0x2000, 0xdf00, // 0c: movs r7, #1; movs r0, #0; svc #0
    0xe7fe,                 // 12: b .
    0x0841,                 // 14: count: lsrs r1, r0, #1
    0xd201,                 // 16: bcs 1c
    0x3201, 0x4770,         // 18: adds r2, #1; bx lr
    0x3301, 0x4770,         // 1c: adds r3, #1; bx lr
    0x3501, 0x4770,         // 20: tick: adds r5, #1; bx lr
];

/// An ELF file with the vectors, the code and its functions.
fn elf() -> Vec<u8> {
    let half =
        |file: &mut Vec<u8>, values: &[u16]| file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let word =
        |file: &mut Vec<u8>, values: &[u32]| file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let loaded = TICK + 4 - BASE;
    let names = b"\0main\0count\0tick\0.text\0";
    let (symbols, strings) = (loaded, loaded + 4 * 16);
    let sections = (strings + names.len() as u32).next_multiple_of(4);
    half(&mut file, &[2, 40]);
    word(&mut file, &[1, MAIN | 1, 52, sections, 0x0500_0000]);
    half(&mut file, &[52, 32, 1, 40, 4, 3]);
    word(&mut file, &[1, 0, BASE, BASE, loaded, loaded, 5, 0x1000]);
    file.resize((VECTORS - BASE) as usize, 0);
    let vectors: Vec<u32> = (0..16).map(|number| if number == 15 { TICK | 1 } else { 0 }).collect();
    word(&mut file, &vectors);
    half(&mut file, &CODE);
    word(&mut file, &[0; 4]);
    for (name, start, size) in [(1, MAIN, COUNT - MAIN), (6, COUNT, TICK - COUNT), (12, TICK, 4)] {
        word(&mut file, &[name, start | 1, size]);
        // A global function in the first section.
        half(&mut file, &[0x12, 1]);
    }
    file.extend(names);
    file.resize(sections as usize, 0);
    word(&mut file, &[0; 10]);
    word(&mut file, &[17, 1, 6, MAIN, MAIN - BASE, TICK + 4 - MAIN, 0, 0, 2, 0]);
    word(&mut file, &[0, 2, 0, 0, symbols, 4 * 16, 3, 1, 4, 16]);
    word(&mut file, &[0, 3, 0, 0, strings, names.len() as u32, 0, 0, 1, 0]);
    file
}

/// What a run did.
#[derive(Default)]
struct Log {
    /// Address of each instruction.
    steps: Vec<u32>,
    /// Packets, each with the number of steps before it.
    packets: Vec<([u32; 2], usize)>,
    elements: Vec<Element>,
    /// First instruction of the current block.
    start: Option<u32>,
}

impl Log {
    fn step(&mut self, address: u32) {
        self.steps.push(address);
        self.start.get_or_insert(address);
    }

    fn packet(&mut self, source: u32, target: u32) {
        // Tracing starts with the first one.
        self.packets.push(([source, target | u32::from(self.packets.is_empty())], self.steps.len()));
    }

    /// Ends a block with its last step.
    fn block(&mut self, ended: Ended) {
        if let (Some(start), Some(&last)) = (self.start.take(), self.steps.last()) {
            let last_len = if last == MAIN + 4 { 4 } else { 2 };
            let (start, end) = (start.into(), u64::from(last) + u64::from(last_len));
            let (isa, class) = (Isa::T32, Class::NEXT);
            self.elements.push(Element::Block(Block { start, end, count: 1, isa, last_len, class, ended }));
        }
    }

    fn branch(&mut self, source: u32, target: u32) {
        self.step(source);
        self.packet(source, target);
        self.block(Ended::Taken);
    }

    /// SysTick, after which the program goes on at `back`.
    fn tick(&mut self, back: u32) {
        self.block(Ended::Cut);
        self.packet(back | 1, TICK);
        let return_address = Some(back.into());
        let exception =
            Exception { number: 15, interrupt: false, value: None, return_address, at_target: false };
        self.elements.push(Element::Exception(exception));
        self.step(TICK);
        self.branch(TICK + 2, EXC_RETURN);
        self.packet(EXC_RETURN | 1, back);
        self.elements.push(Element::ExceptionReturn);
    }

    /// Runs the program, with interrupts or without.
    fn new(ticks: bool) -> Self {
        let mut log = Self { elements: vec![Element::TraceOn(TraceOn::Normal)], ..Self::default() };
        log.step(MAIN);
        for turn in (1..=TURNS).rev() {
            log.step(MAIN + 2);
            if ticks && turn == 2 {
                log.tick(MAIN + 4);
            }
            log.branch(MAIN + 4, COUNT);
            log.step(COUNT);
            let is_odd = turn % 2 == 1;
            match is_odd {
                true => log.branch(COUNT + 2, COUNT + 8),
                false => log.step(COUNT + 2),
            }
            let at = if is_odd { COUNT + 8 } else { COUNT + 4 };
            log.step(at);
            log.branch(at + 2, MAIN + 8);
            if ticks && turn == 4 {
                log.tick(MAIN + 8);
            }
            log.step(MAIN + 8);
            match turn {
                1 => log.step(MAIN + 0xa),
                _ => log.branch(MAIN + 0xa, MAIN + 2),
            }
        }
        for address in [MAIN + 0xc, MAIN + 0xe, MAIN + 0x10] {
            log.step(address);
        }
        log.block(Ended::Cut);
        log
    }

    fn bytes(&self) -> Vec<u8> {
        self.packets.iter().flat_map(|(words, _)| words.map(u32::to_le_bytes).concat()).collect()
    }

    /// The memory of `size` bytes, with the ring at `start`, and both registers.
    fn memory(&self, ring: Ring) -> (Vec<u8>, String) {
        let mut memory = vec![0; ring.memory];
        let bytes = self.bytes();
        for (number, packet) in bytes.chunks(8).enumerate() {
            let at = ring.start + 8 * number % ring.size;
            memory[at..at + 8].copy_from_slice(packet);
        }
        let wrapped = if bytes.len() >= ring.size { 4 } else { 0 };
        let position = (ring.start + bytes.len() % ring.size) | wrapped;
        let master = 0x8000_0000 | (ring.size.trailing_zeros() - 4);
        (memory, format!("MTB_POSITION={position:#x},MTB_MASTER={master:#x},VTOR={VECTORS:#x}"))
    }

    /// The steps that a ring of `packets` packets tells: from the source of the oldest to that of the newest.
    fn told(&self, packets: usize) -> &[u32] {
        let oldest = self.packets.len().saturating_sub(packets);
        let first = self.packets[oldest].1;
        &self.steps[first - 1..self.packets.last().unwrap().1]
    }
}

#[derive(Clone, Copy)]
struct Ring {
    memory: usize,
    start: usize,
    size: usize,
}

/// A ring that was written one and a half times, in a memory of its own and within a larger one; and one that did not get full.
const RINGS: [Ring; 3] = [
    Ring { memory: 256, start: 0, size: 256 },
    Ring { memory: 4096, start: 0x700, size: 256 },
    Ring { memory: 1024, start: 0, size: 1024 },
];

/// Files of a run in a ring, and the arguments that name them.
fn files(place: &Scratch, log: &Log, ring: Ring) -> String {
    let (memory, registers) = log.memory(ring);
    let (file, program) = (place.join("mtb.bin"), place.join("program.elf"));
    fs::write(&file, memory).unwrap();
    fs::write(&program, elf()).unwrap();
    format!("{file} --source mtb,{registers} --image {program}")
}

/// The arguments without the program.
fn raw(files: &str) -> &str {
    files.split(" --image").next().unwrap()
}

/// The instructions of a listing, or its packets.
fn rows(ran: &Ran) -> impl Iterator<Item = Value> {
    values(&ran.out).filter(|value| value["kind"] == "instruction" || value["to"].is_string())
}

fn addresses(ran: &Ran) -> Vec<u64> {
    let number = |row: Value| u64::from_str_radix(&row["address"].as_str().unwrap()[2..], 16).unwrap();
    rows(ran).map(number).collect()
}

fn offsets(ran: &Ran) -> Vec<u64> {
    rows(ran).map(|row| row["offset"].as_u64().unwrap()).collect()
}

#[test]
fn the_log_is_what_qemu_executes() {
    if !Guest::Arm.available("the_log_is_what_qemu_executes") {
        return;
    }
    let place = Scratch::new("mtb-qemu");
    let program = place.write("program.elf", &elf());
    let ran: Vec<_> = Program::new(Guest::Arm, program.as_ref(), &[]).program_counters().unwrap().collect();
    let expected: Vec<u64> = Log::new(false).steps.into_iter().map(u64::from).collect();
    assert_eq!(ran, expected);
}

#[test]
fn the_encoder_writes_the_packets_of_the_manual() {
    for ticks in [false, true] {
        let log = Log::new(ticks);
        let (mut encoder, mut bytes) = (Encoder::new(), Vec::new());
        for element in &log.elements {
            encoder.element(element, &mut bytes).unwrap();
        }
        assert_eq!(bytes, log.bytes());
    }
}

/// What is decoded is what ran, from the source of the oldest packet to that of the newest. Offsets go around the ring.
#[test]
fn instructions_are_those_of_the_log() {
    for (ring, ticks) in RINGS.into_iter().flat_map(|ring| [(ring, false), (ring, true)]) {
        let log = Log::new(ticks);
        let place = Scratch::new("mtb-instructions");
        let files = files(&place, &log, ring);
        let decoded = run!("decode {files} --instructions --json").ends(0);
        let told = log.told(ring.size / 8);
        assert_eq!(addresses(&decoded), told.iter().copied().map(u64::from).collect::<Vec<_>>());
        let oldest = log.packets.len().saturating_sub(ring.size / 8);
        let expected: Vec<_> =
            (oldest..log.packets.len()).map(|number| (ring.start + 8 * number % ring.size) as u64).collect();
        assert_eq!(offsets(&run!("packets {} --json", raw(&files)).ends(0)), expected);
        // Each packet that is no return to the program tells a block or an exception, at its own offset.
        let mut seen = offsets(&decoded);
        seen.dedup();
        assert!(seen.iter().all(|offset| expected.contains(offset)));
        assert_eq!((seen[0], seen.last()), (expected[0], expected.last()));
        // A part of the file, wherever the ring begins.
        let (from, to) = (ring.start + 0x10, ring.start + 0x30);
        let part = run!("decode {files} --instructions --json --from {from} --to {to}").ends(0);
        let is_inside = |offset: &u64| (from as u64..to as u64).contains(offset);
        let all = offsets(&decoded);
        assert_eq!(offsets(&part), all.into_iter().filter(is_inside).collect::<Vec<_>>());
        let last = run!("decode {files} --instructions --json --last 5").ends(0);
        assert_eq!(
            addresses(&last),
            told[told.len() - 5..].iter().map(|&at| at.into()).collect::<Vec<u64>>()
        );
    }
}

#[test]
fn every_verb_reads_the_ring() {
    let log = Log::new(true);
    let ring = RINGS[1];
    let place = Scratch::new("mtb-verbs");
    let files = files(&place, &log, ring);
    let raw = raw(&files);
    let told = log.told(ring.size / 8);
    let _ = run!("info {raw}")
        .ends(0)
        .prints("source source0 (ID 0x00): MTB")
        .prints("ring                256 bytes");
    let _ = run!("stats {raw}").ends(0).prints("32 packets, 256 bytes");
    let _ = run!("packets {raw}").ends(0).prints("Exception Return: 0x000100e2 to 0xfffffff8");
    let _ = run!("decode {files}").ends(0).prints("exception SysTick, returns to 0x100c8 main+0x8");
    let _ = run!("decode {files} --elements").ends(0).prints("exception return");
    let _ = run!("decode {files} --calls").ends(0).prints("> tick (handler)");
    let no_image = run!("decode {raw} --no-image").ends(0);
    let _ = no_image.prints("0x100d4");
    let _ = run!("isr {files}").ends(0).prints("SysTick");
    let profile = run!("profile {files} --json").ends(0).json();
    let of = |function: &str| {
        let rows = profile["functions"].as_array().unwrap();
        rows.iter().find(|row| row["function"] == function).unwrap()["instructions"].as_u64().unwrap()
            as usize
    };
    let count = |range: std::ops::Range<u32>| told.iter().filter(|step| range.contains(step)).count();
    assert_eq!(
        [of("main"), of("count"), of("tick")],
        [count(MAIN..COUNT), count(COUNT..TICK), count(TICK..TICK + 4)]
    );
    // All but the first instruction and those after the loop.
    let _ = run!("coverage {files}").ends(0).prints("main");
    let timeline = place.join("timeline.json");
    let _ = run!("timeline {files} -o {timeline}").ends(0);
    assert!(fs::read_to_string(timeline).unwrap().contains("tick"));
}

/// Our own folder, a snapshot, a compressed file and a pipe have the same instructions.
#[test]
fn captures_of_all_kinds_have_rings() {
    let log = Log::new(true);
    let place = Scratch::new("mtb-captures");
    let files = files(&place, &log, RINGS[1]);
    let expected: Vec<u64> = log.told(32).iter().map(|&step| step.into()).collect();
    let (_, registers) = log.memory(RINGS[1]);
    let registers: Vec<_> = registers.split(',').collect();
    let toml = registers.join("\n").to_lowercase();
    place.write(
        "capture.toml",
        format!("format = 1\n[[source]]\nname = \"core\"\nprotocol = \"mtb\"\n{toml}\n[[buffer]]\nfile = \"mtb.bin\"\n[[image]]\nfile = \"program.elf\"\n").as_bytes(),
    );
    let folder = place.path().display();
    let program = place.join("program.elf");
    let decode = |capture: String| {
        let ran = run!("decode {capture} --instructions --json").ends(0);
        assert_eq!(addresses(&ran), expected, "{capture}");
    };
    decode(folder.to_string());
    fs::remove_file(place.join("capture.toml")).unwrap();
    for (name, text) in [
        (
            "snapshot.ini",
            "[snapshot]\nversion=1.0\n[device_list]\ndevice0=core.ini\ndevice1=mtb.ini\n[trace]\nmetadata=trace.ini\n",
        ),
        ("core.ini", "[device]\nname=cpu_0\nclass=core\ntype=Cortex-M0+\n"),
        (
            "mtb.ini",
            &format!(
                "[device]\nname=MTB_0\nclass=trace_source\ntype=MTB\n[regs]\n{}\nMTB_FLOW=0\n",
                registers.join("\n")
            ),
        ),
        (
            "trace.ini",
            "[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=SRAM\nfile=mtb.bin\nformat=source_data\n[source_buffers]\nMTB_0=SRAM\n[core_trace_sources]\ncpu_0=MTB_0\n",
        ),
    ] {
        place.write(name, text.as_bytes());
    }
    decode(format!("{folder} --image {program}"));
    // Frames would have a trace ID, and a memory that was cut has no whole ring.
    let trace = fs::read_to_string(place.join("trace.ini")).unwrap();
    fs::write(place.join("trace.ini"), trace.replace("source_data", "coresight")).unwrap();
    let _ = run!("decode {folder}").ends(2).says("MTB_0 is not read from frames");
    fs::write(place.join("trace.ini"), trace).unwrap();
    let memory = fs::read(place.join("mtb.bin")).unwrap();
    fs::write(place.join("mtb.bin"), &memory[..0x700]).unwrap();
    let _ = run!("decode {folder}").ends(2).says("but the file has 0x700 bytes");
    fs::write(place.join("mtb.bin"), memory).unwrap();
    let piped = files.replace(&place.join("mtb.bin"), "-");
    let memory = fs::File::open(place.join("mtb.bin")).unwrap();
    let of_pipe = ran(command(format!("decode {piped} --instructions --json")).stdin(memory)).ends(0);
    assert_eq!(addresses(&of_pipe), expected);
}

/// Registers that do not fit the memory, and memory that has no trace: what is there is shown, and never as if it were all.
#[test]
fn wrong_registers_and_memory_are_told() {
    let log = Log::new(true);
    let place = Scratch::new("mtb-wrong");
    let files = files(&place, &log, RINGS[1]);
    let with = |registers: &str| {
        let (before, after) =
            (files.split(" --source").next().unwrap(), files.split(" --image").nth(1).unwrap());
        format!("{before} --source mtb,{registers} --image {after}")
    };
    let decode = |registers: &str| run!("decode {}", with(registers));
    // Outside of the file; not the end of the trace; a part of the memory that was never written; nothing written.
    let _ = decode("MTB_POSITION=0x2000077c,MTB_MASTER=4").ends(2).says("goes up to byte 0x20000800");
    let _ = decode("MTB_POSITION=0x73c,MTB_MASTER=4,VTOR=0x10080").ends(1).says("1 mismatch");
    let _ = run!("profile {}", with("MTB_POSITION=0x73c,MTB_MASTER=4")).ends(1);
    let _ = decode("MTB_POSITION=0x7c,MTB_MASTER=4").ends(1).says("the trace reports no instruction");
    let _ = run!("packets {}", raw(&with("MTB_POSITION=0x7c,MTB_MASTER=4")))
        .ends(1)
        .says("32 packets report lost trace");
    let _ = decode("MTB_POSITION=0,MTB_MASTER=4").ends(2).says("is empty");
    let _ = decode("MTB_POSITION=0").ends(2).says("mtb_master: it is missing");
    let _ = run!("decode {files} --packing coresight").ends(2).says("MTB is not read from frames");
    // Two bytes beside the packets; another program; a file that was cut, with all of the ring and without.
    let memory = fs::read(place.join("mtb.bin")).unwrap();
    let file = place.join("mtb.bin");
    fs::write(&file, [&memory[2..], &[0; 2]].concat()).unwrap();
    let _ = run!("decode {files}").ends(1).says("the trace reports no instruction");
    fs::write(&file, &memory[..memory.len() - 5]).unwrap();
    let _ = run!("decode {files}").ends(0);
    fs::write(&file, &memory[..RINGS[1].start + RINGS[1].size - 1]).unwrap();
    let _ = run!("decode {files}").ends(2).says("but the file has 0x7ff bytes");
}
