//! Round trips of our own log: complete, cut off or damaged.

use crate::support::{Record, Told};
use tracewright_core::{Block, Class, Ended, Flow, Isa, Role};
use tracewright_hart::log::own::{Error, Header, Reader, Writer};
use tracewright_hart::log::{Kind, detect};
use tracewright_hart::{Access, Privilege, Trap};
use tracewright_isa::riscv::{AccessKind, Xlen};
use tracewright_testkit::Rng;

/// Sorts the reports of each block, which may come in any order: instructions, accesses, cycles.
fn sorted(Record(mut all): Record) -> Vec<Told> {
    let kind = |told: &Told| match told {
        Told::Instruction(_) => 1,
        Told::Access(_) => 2,
        Told::Cycle(_) => 3,
        _ => 0,
    };
    all.split_mut(|told| kind(told) == 0).for_each(|of_block| of_block.sort_by_key(kind));
    all
}

fn random_block(rng: &mut Rng, longest: u64) -> Block {
    let count = 1 + rng.below(longest) as u32;
    let start = rng.sized(64);
    let flows =
        [Flow::Next, Flow::Direct, Flow::Indirect, Flow::Isb, Flow::Wait, Flow::TransactionStart, Flow::Pair];
    let roles = [Role::Jump, Role::Call, Role::Return, Role::ExceptionReturn, Role::LoopEnd, Role::Swap];
    Block {
        start,
        end: start.wrapping_add(u64::from(count) * 4),
        count,
        isa: *rng.pick(&[Isa::Rv64, Isa::Rv32, Isa::A64, Isa::A32, Isa::T32]),
        last_len: *rng.pick(&[2, 4]),
        class: Class { flow: *rng.pick(&flows), role: *rng.pick(&roles), conditional: rng.one_in(2) },
        ended: *rng.pick(&[Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut]),
    }
}

fn random_access(rng: &mut Rng, index: u32) -> Access {
    let size = *rng.pick(&[1, 2, 4, 8, 8, 8, 0, 16]);
    Access {
        index,
        kind: *rng.pick(&[AccessKind::Load, AccessKind::Store, AccessKind::Amo]),
        size,
        address: rng.sized(64),
        value: rng.sized(64),
    }
}

/// Makes something like a run of a program: some blocks again and again in some order, with other reports in between.
fn random_run(rng: &mut Rng, length: u64) -> Vec<Told> {
    let longest = if rng.one_in(8) { 10_000 } else { 20 };
    let odd_bits = rng.one_in(4);
    let program: Vec<_> = (0..1 + rng.below(12))
        .map(|_| {
            let block = random_block(rng, longest);
            let bits: Vec<_> = (0..block.count)
                .map(|_| {
                    let bits = rng.next_u64() as u32;
                    if bits & 3 == 3 || odd_bits { bits } else { bits & 0xffff }
                })
                .collect();
            let accesses: Vec<_> = (0..block.count)
                .flat_map(|index| if rng.one_in(3) { Some(random_access(rng, index)) } else { None })
                .collect();
            (block, bits, accesses)
        })
        .collect();
    let mut run = Vec::new();
    let mut at = 0;
    let mut cycle = 0_u64;
    for step in 0..length {
        at = match rng.below(8) {
            0 => rng.below(program.len() as u64) as usize,
            1..4 => at,
            _ => (at + 1) % program.len(),
        };
        let (block, bits, accesses) = &program[at];
        let mut block = *block;
        if rng.one_in(10) {
            block.ended = Ended::Cut;
        }
        run.extend(bits.iter().map(|&bits| Told::Instruction(bits)));
        for access in accesses {
            let mut access = *access;
            match rng.below(8) {
                0 => access.address = rng.next_u64(),
                1 => access.value = rng.sized(64),
                2 => access.value = access.value.wrapping_add(step),
                3 => continue,
                4 => {}
                _ => access.address = access.address.wrapping_add(8 * step),
            }
            run.push(Told::Access(access));
        }
        if !rng.one_in(10) {
            for _ in 0..block.count {
                cycle = cycle.wrapping_add(if rng.one_in(20) { rng.sized(64) } else { 1 });
                run.push(Told::Cycle(cycle));
            }
        }
        run.push(Told::Block(block));
        match rng.below(20) {
            0 => run.push(Told::Trap(Trap {
                pc: rng.sized(64),
                cause: rng.sized(64),
                interrupt: rng.one_in(2),
                value: rng.sized(64),
                next: rng.sized(64),
                served: rng.one_in(2),
            })),
            1 => {
                let all = [Privilege::User, Privilege::Supervisor, Privilege::Machine];
                run.push(Told::Privilege(*rng.pick(&all)));
            }
            2 => run.push(Told::Context(rng.sized(64))),
            3 => run.push(Told::Lost),
            4 => run.push(Told::Code(rng.sized(64), rng.next_u64().to_le_bytes())),
            _ => {}
        }
    }
    run
}

fn written<const ACCESSES: bool, const INSTRUCTIONS: bool, const CYCLES: bool>(run: &[Told]) -> Vec<u8> {
    let mut writer = Writer::<_, ACCESSES, INSTRUCTIONS, CYCLES>::new(Vec::new(), Xlen::Rv64).unwrap();
    run.iter().for_each(|told| told.tell(&mut writer));
    writer.finish().unwrap()
}

/// Reads a log. Returns its reports, and how reading ended.
fn read(log: &[u8]) -> (Vec<Told>, Result<(), Error>) {
    let mut all = Record::default();
    let result = Reader::new(log).and_then(|mut reader| {
        let result = reader.read(&mut all);
        // An error persists.
        assert_eq!(reader.read(&mut all).is_ok(), result.is_ok());
        result
    });
    (sorted(all), result)
}

/// Returns the reports that a reader gives for a log with these contents.
fn expected(run: &[Told], accesses: bool, instructions: bool, cycles: bool) -> Vec<Told> {
    let mut all = Record::default();
    for told in run {
        match told {
            Told::Access(_) if !accesses => {}
            Told::Instruction(_) if !instructions => {}
            Told::Cycle(_) if !cycles => {}
            _ => told.tell(&mut all),
        }
    }
    sorted(all)
}

#[test]
fn round_trips() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let length = rng.below(300);
        let run = random_run(&mut rng, length);
        let logs = [
            (written::<true, true, true>(&run), true, true, true),
            (written::<true, true, false>(&run), true, true, false),
            (written::<true, false, false>(&run), true, false, false),
            (written::<false, true, true>(&run), false, true, true),
            (written::<false, false, true>(&run), false, false, true),
            (written::<false, false, false>(&run), false, false, false),
        ];
        for (log, accesses, instructions, cycles) in logs {
            assert_eq!(detect(&log), Some(Kind::Own));
            let header = Reader::new(&log[..]).unwrap().header();
            assert_eq!(header, Header { xlen: Xlen::Rv64, accesses, instructions, cycles });
            let (told, result) = read(&log);
            result.unwrap();
            assert!(told == expected(&run, accesses, instructions, cycles), "{seed} {header:?}");
        }
    }
}

/// Version 2 is the same without code, version 1 without contexts and losses, too.
#[test]
fn earlier_versions_are_read() {
    let mut rng = Rng::new(1);
    let mut run = random_run(&mut rng, 300);
    assert!(run.iter().any(|told| matches!(told, Told::Code(..))));
    run.retain(|told| !matches!(told, Told::Code(..)));
    let mut log = written::<true, true, true>(&run);
    assert_eq!(log[8], 3);
    log[8] = 2;
    let (told, result) = read(&log);
    result.unwrap();
    assert!(told == expected(&run, true, true, true));
    run.retain(|told| !matches!(told, Told::Context(_) | Told::Lost));
    let mut log = written::<true, true, true>(&run);
    log[8] = 1;
    let (told, result) = read(&log);
    result.unwrap();
    assert!(told == expected(&run, true, true, true));
    log[8] = 4;
    assert!(matches!(read(&log).1, Err(Error::Version(4))));
}

/// More blocks, instructions and accesses than the dictionary takes: it starts again, and nothing is lost.
#[test]
fn a_full_dictionary() {
    let mut rng = Rng::new(5);
    let mut blocks: Vec<_> = (0..300_000).map(|_| random_block(&mut rng, 4)).collect();
    blocks.extend_from_within(..1000);
    let run: Vec<_> = blocks.into_iter().map(Told::Block).collect();
    let (told, result) = read(&written::<false, false, false>(&run));
    result.unwrap();
    assert!(told == run);

    let mut run = Vec::new();
    for _ in 0..800 {
        let block = random_block(&mut rng, 4000);
        for index in 0..block.count {
            run.push(Told::Instruction(rng.next_u64() as u32 | 3));
            run.push(Told::Access(random_access(&mut rng, index)));
        }
        run.push(Told::Block(block));
    }
    let (told, result) = read(&written::<true, true, true>(&run));
    result.unwrap();
    assert!(told == expected(&run, true, true, true));
}

/// Wherever a log is cut off, all complete chunks are read, and the offset of the next is reported.
#[test]
fn cut_off() {
    let run = random_run(&mut Rng::new(3), 9000);
    let log = written::<true, true, true>(&run);
    let all = expected(&run, true, true, true);
    assert!(log.len() > 200_000, "{}", log.len());
    let mut rng = Rng::new(4);
    let mut most = 0;
    for _ in 0..60 {
        let len = rng.below(log.len() as u64) as usize;
        let (told, result) = read(&log[..len]);
        assert!(told == all[..told.len()], "{len}");
        match result {
            Err(Error::NotALog) => assert!(len < 12),
            Err(Error::Truncated { offset }) => {
                assert!(offset as usize <= len && len - (offset as usize) < 1 << 18);
            }
            other => panic!("{len}: {other:?}"),
        }
        most = most.max(told.len());
    }
    assert!(most > all.len() / 2);
}

#[test]
fn damaged() {
    let run = random_run(&mut Rng::new(3), 9000);
    let log = written::<true, true, true>(&run);
    let all = expected(&run, true, true, true);
    let mut rng = Rng::new(6);
    for _ in 0..60 {
        let mut bad = log.clone();
        let at = rng.below(log.len() as u64) as usize;
        bad[at] ^= 1 << rng.below(8);
        let (told, result) = read(&bad);
        assert!(told == all[..told.len()], "{at}");
        match result {
            Err(Error::Damaged { offset, .. } | Error::Truncated { offset }) => {
                assert!(offset as usize <= at, "{at} {offset}");
            }
            Err(Error::NotALog | Error::Version(_) | Error::Contents(_)) => assert!(at < 12),
            other => panic!("{at}: {other:?}"),
        }
    }
}

#[test]
fn a_loop_takes_next_to_nothing() {
    let block =
        Block { class: Class { conditional: true, ..Class::NEXT }, ..random_block(&mut Rng::new(1), 5) };
    let mut run = Vec::new();
    for step in 0..100_000_u64 {
        let address = 0x1000 + 8 * step;
        run.push(Told::Access(Access { index: 0, kind: AccessKind::Load, size: 8, address, value: 0 }));
        run.push(Told::Block(block));
    }
    let len = written::<false, false, false>(&run).len();
    assert!(len < 1200, "{len}");
    let len = written::<true, false, false>(&run).len();
    assert!(len < 105_000, "{len}");
}

#[test]
fn an_error_of_the_file_is_told_at_the_end() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("full"))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let run = random_run(&mut Rng::new(3), 3000);
    let mut writer = Writer::<_, true, true, true>::new(Full(70_000), Xlen::Rv32).unwrap();
    run.iter().for_each(|told| told.tell(&mut writer));
    assert_eq!(writer.finish().err().unwrap().to_string(), "full");
}
