//! Properties of random programs and their executions.

use std::collections::BTreeMap;

use tracewright_core::{Block, Element, Ended, Flow, Role};
use tracewright_testkit::program::{Executor, Happenings, Program, generate};
use tracewright_testkit::{Rng, lister, traced};

fn word(program: &Program, address: u64) -> u32 {
    let segment = program
        .segments
        .iter()
        .rfind(|segment| (segment.address..segment.address + segment.bytes.len() as u64).contains(&address));
    let segment = segment.unwrap_or_else(|| panic!("{address:#x} is not in the program"));
    let at = (address - segment.address) as usize;
    u32::from_le_bytes(segment.bytes[at..at + 4].try_into().unwrap())
}

/// Classifies an A64 instruction and returns its target: the Arm manual's encodings of what these programs contain.
fn classify(word: u32, address: u64) -> (Flow, Role, bool, Option<u64>) {
    let signed = |value: u32, bits: u32| i64::from(((value << (32 - bits)) as i32) >> (32 - bits)) * 4;
    let target = |offset| Some(address.wrapping_add_signed(offset));
    match word {
        _ if word & 0xff00_0010 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 => {
            (Flow::Direct, Role::Jump, true, target(signed(word >> 5, 19)))
        }
        _ if word & 0x7e00_0000 == 0x3600_0000 => {
            (Flow::Direct, Role::Jump, true, target(signed(word >> 5, 14)))
        }
        _ if word & 0xfc00_0000 == 0x1400_0000 => (Flow::Direct, Role::Jump, false, target(signed(word, 26))),
        _ if word & 0xfc00_0000 == 0x9400_0000 => (Flow::Direct, Role::Call, false, target(signed(word, 26))),
        _ if word & 0xffff_fc1f == 0xd61f_0000 => (Flow::Indirect, Role::Jump, false, None),
        _ if word & 0xffff_fc1f == 0xd63f_0000 => (Flow::Indirect, Role::Call, false, None),
        0xd65f_03c0 => (Flow::Indirect, Role::Return, false, None),
        0xd69f_03e0 => (Flow::Indirect, Role::ExceptionReturn, false, None),
        0xd503_3fdf => (Flow::Isb, Role::Jump, false, None),
        0xd503_205f | 0xd503_207f => (Flow::Wait, Role::Jump, false, None),
        _ => (Flow::Next, Role::Jump, false, None),
    }
}

fn check_block(program: &Program, block: &Block) -> Option<u64> {
    assert_eq!(block.end - block.start, 4 * u64::from(block.count));
    assert!(block.count > 0 && block.last_len == 4);
    for address in (block.start..block.last()).step_by(4) {
        assert_eq!(classify(word(program, address), address).0, Flow::Next, "{address:#x}");
    }
    let (flow, role, conditional, target) = classify(word(program, block.last()), block.last());
    let class = block.class;
    assert_eq!((class.flow, class.role, class.conditional), (flow, role, conditional), "{block:x?}");
    match block.ended {
        Ended::Taken => {
            assert!(class.is_branch());
            target
        }
        Ended::NotTaken => {
            assert!(conditional);
            Some(block.end)
        }
        Ended::Through => {
            assert!(class.ends_block() && !class.is_branch());
            Some(block.end)
        }
        Ended::Cut => {
            assert_eq!(flow, Flow::Next);
            Some(block.end)
        }
    }
}

#[test]
fn executions_follow_the_program() {
    let mut kinds = BTreeMap::new();
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let size = 100 << rng.below(8);
        let program = generate(&mut rng, size);
        let happenings = Happenings {
            exceptions: 30,
            timestamps: 20,
            gaps: if seed % 2 == 0 { 300 } else { 0 },
            ..Happenings::default()
        };
        let elements = Executor::new(&program, rng, happenings).elements(20_000);
        // Where the next block must start, and whether a branch or an exception leads there.
        let mut next = Some(program.entry());
        let (mut after_cut, mut arrived) = (false, false);
        let mut instructions = 0;
        for element in &elements {
            match element {
                Element::Block(block) => {
                    assert!(!after_cut, "only an exception follows a block that was cut");
                    assert!(next.is_none_or(|next| next == block.start), "{next:x?} {block:x?}");
                    next = check_block(&program, block);
                    instructions += block.count;
                    after_cut = block.ended == Ended::Cut;
                    arrived = block.ended == Ended::Taken;
                    let kind = format!("{:?} {:?} {:?}", block.class.flow, block.class.role, block.ended);
                    *kinds.entry(kind).or_insert(0) += 1;
                }
                Element::Exception(exception) => {
                    let address = exception.return_address.unwrap();
                    assert!(next.is_none_or(|next| next == address));
                    assert_eq!(exception.at_target, arrived, "{exception:x?}");
                    (next, after_cut, arrived) = (None, false, true);
                }
                Element::TraceOn(_) if seed % 2 == 0 => (next, arrived) = (None, false),
                _ => {}
            }
        }
        assert_eq!(elements.last(), Some(&Element::End));
        // What runs in gaps counts too.
        assert!(seed % 2 == 0 || instructions >= 20_000, "{instructions}");
    }
    assert!(kinds.len() == 10 && kinds.values().all(|count| *count > 100), "{kinds:?}");
}

#[test]
fn the_same_seed_gives_the_same_run_in_any_pieces() {
    let program = generate(&mut Rng::new(7), 1000);
    let executor = Executor::new(&program, Rng::new(8), Happenings::default());
    let all = executor.clone().elements(5000);
    let mut pieces = Vec::new();
    let mut again = executor.clone();
    for _ in 0..5 {
        again.run(1000, |element| pieces.push(*element));
    }
    // Each piece runs on to a branch, so the pieces are longer together.
    assert_eq!(all[..all.len() - 1], pieces[..all.len() - 1]);
}

#[test]
fn listings_are_read() {
    let text = "\
Idx:12; ID:10; OCSD_GEN_TRC_ELEM_NO_SYNC( [init-decoder])
Idx:18; ID:10; OCSD_GEN_TRC_ELEM_TRACE_ON( [begin or filter])
Idx:19; ID:10; OCSD_GEN_TRC_ELEM_PE_CONTEXT((ISA=A64) EL0N; 64-bit; VMID=0x3; CTXTID=0x1000; )
Idx:30; ID:10; OCSD_GEN_TRC_ELEM_INSTR_RANGE(exec range=0x400000:[0x40000c] num_i(3) last_sz(4) (ISA=A64) N BR   <cond>)
Idx:30; ID:11; OCSD_GEN_TRC_ELEM_INSTR_RANGE(exec range=0x400000:[0x400004] num_i(1) last_sz(4) (ISA=A64) E iBR A64:ret )
Idx:36; ID:10; OCSD_GEN_TRC_ELEM_EXCEPTION(pref ret addr:0x40000c [addr also prev br tgt]; excep num (0x0e) )
Idx:36; ID:10; OCSD_GEN_TRC_ELEM_SOMETHING( new )
";
    let lines: Vec<_> = lister::lines(text).collect();
    assert_eq!((lines.len(), lines[4].id, lines[4].index), (7, 0x11, 30));
    let told: Vec<_> = lines.iter().map(|line| format!("{:x?}", line.element)).collect();
    assert!(told[3].contains("start: 400000, end: 40000c, count: 3"), "{}", told[3]);
    assert!(told[3].contains("conditional: true }, ended: NotTaken"), "{}", told[3]);
    let exception = "number: e, interrupt: false, value: None, return_address: Some(40000c), at_target: true";
    assert!(told[5].contains(exception), "{}", told[5]);
    assert_eq!(lister::elements(text, 0x11).unwrap().len(), 1);
    assert_eq!(lister::elements(text, 0x10), Err("SOMETHING( new )".into()));
}

#[test]
fn contexts_that_repeat_are_no_news() {
    let program = generate(&mut Rng::new(1), 500);
    let happenings = Happenings { exceptions: 10, gaps: 50, ..Happenings::default() };
    let elements = Executor::new(&program, Rng::new(1), happenings).elements(5000);
    let registers = tracewright_etm::Registers::default();
    let once = traced(&registers, elements.iter().copied());
    assert!(once.len() < elements.len());
    assert_eq!(traced(&registers, once.iter().copied()), once);
}
