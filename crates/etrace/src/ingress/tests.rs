use tracewright_core::{Block, Class, Ended, Flow, Isa, Role};
use tracewright_isa::riscv::{IType, Xlen, decode};

use super::csv::{Reader, Retirement};
use super::{CType, Commit, Common, Connector, Entry, Executed, ITypeWidth, Operation, TrapSignals};

fn commit(pc: u64, operation: Operation) -> Commit {
    Commit { valid: true, pc, operation, ..Commit::default() }
}

const PLAIN: Operation = Operation::Other;
const BRANCH: Operation = Operation::Branch { taken: true };
const MACHINE: Common =
    Common { trap: None, privilege: 3, context: 0, ctype: CType::Unreported, time: 0, cycle: 0 };

/// Returns type, address, half-words and size of the last instruction of each entry.
fn short(entries: &[Entry]) -> Vec<(IType, u64, u32, u8)> {
    entries.iter().map(|entry| (entry.itype, entry.iaddr, entry.iretire, entry.ilastsize)).collect()
}

#[test]
fn types_of_operations_are_those_of_instructions() {
    for rd in 0..32 {
        for rs1 in 0..32 {
            let returns = [0x3020_0073, 0x1020_0073];
            let jumps = [0x67 | rd << 7 | rs1 << 15, 0x6f | rd << 7, 0x63 | rs1 << 15, 0x17 | rd << 7, 0x13];
            for bits in jumps.into_iter().chain(returns) {
                let instruction = decode(Xlen::Rv64, bits);
                for taken in [false, true] {
                    let operation = Operation::of(&instruction, taken);
                    assert_eq!(operation.itype(), instruction.itype(taken), "{bits:#x}");
                }
            }
        }
    }
}

#[test]
fn three_bits_tell_uninferable_jumps_only() {
    use IType::*;
    let narrow = |itype| ITypeWidth::Three.narrow(itype);
    assert_eq!([InferableCall, InferableJump, OtherInferableJump].map(narrow), [None; 3]);
    let jumps = [UninferableCall, UninferableJump, CoRoutineSwap, Return, OtherUninferableJump];
    assert_eq!(jumps.map(narrow), [UninferableJump3; 5]);
    let others = [None, Exception, Interrupt, TrapReturn, NotTakenBranch, TakenBranch];
    assert_eq!(others.map(narrow), others);
}

#[test]
fn blocks_are_counted_over_ports_and_cycles() {
    let mut connector = Connector::new(ITypeWidth::Four, 0);
    let compressed = Commit { compressed: true, ..commit(0x1004, PLAIN) };
    assert_eq!(connector.cycle(&[commit(0x1000, PLAIN), compressed], &MACHINE), []);
    let ended =
        connector.cycle(&[commit(0x1006, BRANCH), Commit::default(), commit(0x2000, BRANCH)], &MACHINE);
    assert_eq!(short(ended), [(IType::TakenBranch, 0x1000, 5, 1), (IType::TakenBranch, 0x2000, 2, 1)]);
    assert_eq!(connector.cycle(&[commit(0x3000, PLAIN)], &MACHINE), []);
    assert_eq!(short(connector.finish()), [(IType::None, 0x3000, 2, 1)]);
    assert_eq!(connector.finish(), []);
}

#[test]
fn traps_come_after_what_is_committed() {
    let mut connector = Connector::new(ITypeWidth::Four, 0);
    let trap = TrapSignals { interrupt: false, cause: 5, tval: 6, pc: 0x1004 };
    let trapped = Common { trap: Some(trap), ..MACHINE };
    // In the block that the trap ends.
    let ended = connector.cycle(&[commit(0x1000, PLAIN)], &trapped);
    assert_eq!(short(ended), [(IType::Exception, 0x1000, 2, 1)]);
    assert_eq!((ended[0].cause, ended[0].tval), (5, 6));
    // Alone, with the address of the instruction that did not retire.
    assert_eq!(short(connector.cycle(&[], &trapped)), [(IType::Exception, 0x1004, 0, 0)]);
    // After a block that ended itself.
    let ended = connector.cycle(&[commit(0x1000, BRANCH)], &trapped);
    assert_eq!(short(ended), [(IType::TakenBranch, 0x1000, 2, 1), (IType::Exception, 0x1004, 0, 0)]);
    // In the block of an earlier cycle.
    assert_eq!(connector.cycle(&[commit(0x2000, PLAIN)], &MACHINE), []);
    let interrupt = Common { trap: Some(TrapSignals { interrupt: true, ..trap }), ..MACHINE };
    assert_eq!(short(connector.cycle(&[], &interrupt)), [(IType::Interrupt, 0x2000, 2, 1)]);
}

#[test]
fn blocks_end_where_circumstances_change() {
    let mut connector = Connector::new(ITypeWidth::Four, 0);
    assert_eq!(connector.cycle(&[commit(0x1000, PLAIN)], &MACHINE), []);
    let user = Common { privilege: 0, ..MACHINE };
    assert_eq!(short(connector.cycle(&[commit(0x1004, PLAIN)], &user)), [(IType::None, 0x1000, 2, 1)]);
    let context = Common { context: 7, ctype: CType::Precise, ..user };
    let ended = connector.cycle(&[commit(0x1008, PLAIN)], &context);
    assert_eq!((short(ended), ended[0].context), (vec![(IType::None, 0x1004, 2, 1)], 0));
    let ended = connector.finish();
    assert_eq!((ended[0].context, ended[0].ctype), (7, CType::Precise));
}

#[test]
fn blocks_end_where_execution_goes_elsewhere_or_they_are_long() {
    let mut connector = Connector::new(ITypeWidth::Three, 4);
    // With three bits an inferable jump has no type, but ends its block.
    let ended = connector.cycle(&[commit(0x1000, Operation::Jal { rd: 0 })], &MACHINE);
    assert_eq!(short(ended), [(IType::None, 0x1000, 2, 1)]);
    let three = [commit(0x2000, PLAIN), commit(0x2004, PLAIN), commit(0x2008, PLAIN)];
    assert_eq!(short(connector.cycle(&three, &MACHINE)), [(IType::None, 0x2000, 4, 1)]);
    assert_eq!(short(connector.cycle(&[commit(0x5000, PLAIN)], &MACHINE)), [(IType::None, 0x2008, 2, 1)]);
}

#[test]
fn pairs_are_found_where_both_retire_back_to_back() {
    let mut connector = Connector::new(ITypeWidth::Four, 0);
    let upper = Operation::UpperImmediate { rd: 6 };
    let jump = |rs1| Operation::Jalr { rd: 0, rs1 };
    let ended = connector.cycle(&[commit(0x1000, upper), commit(0x1004, jump(6))], &MACHINE);
    assert!(ended[0].sijump);
    assert!(!connector.cycle(&[commit(0x1000, upper), commit(0x1004, jump(7))], &MACHINE)[0].sijump);
    // With a trap in between.
    connector.cycle(&[commit(0x1000, upper)], &MACHINE);
    connector.cycle(&[], &Common { trap: Some(TrapSignals::default()), ..MACHINE });
    assert!(!connector.cycle(&[commit(0x1004, jump(6))], &MACHINE)[0].sijump);
}

#[test]
fn notifications_end_a_block() {
    let mut connector = Connector::new(ITypeWidth::Four, 0);
    let noted = Commit { notify: true, ..commit(0x1004, PLAIN) };
    let ended = connector.cycle(&[commit(0x1000, PLAIN), noted, commit(0x1008, PLAIN)], &MACHINE);
    assert_eq!(short(ended), [(IType::None, 0x1000, 4, 1)]);
    assert!(ended[0].notify);
}

#[test]
fn executed_blocks_become_entries() {
    let block = |flow, role, conditional, ended| {
        let class = Class { flow, role, conditional };
        let (start, end, isa) = (0x1000, 0x100e, Isa::Rv64);
        let block = Block { start, end, count: 4, isa, last_len: 2, class, ended };
        let entry = Executed::default().block(&block);
        assert_eq!((entry.iaddr, entry.last(), entry.end(), entry.privilege), (0x1000, 0x100c, 0x100e, 3));
        (entry.itype, entry.sijump)
    };
    let taken = |flow, role| block(flow, role, false, Ended::Taken);
    assert_eq!(block(Flow::Next, Role::Jump, false, Ended::Cut), (IType::None, false));
    assert_eq!(block(Flow::Direct, Role::Jump, true, Ended::Taken), (IType::TakenBranch, false));
    assert_eq!(block(Flow::Direct, Role::Jump, true, Ended::NotTaken), (IType::NotTakenBranch, false));
    assert_eq!(block(Flow::Direct, Role::Jump, true, Ended::Cut), (IType::NotTakenBranch, false));
    assert_eq!(taken(Flow::Direct, Role::Jump), (IType::InferableJump, false));
    assert_eq!(taken(Flow::Direct, Role::Call), (IType::InferableCall, false));
    assert_eq!(taken(Flow::Indirect, Role::Call), (IType::UninferableCall, false));
    assert_eq!(taken(Flow::Pair, Role::Call), (IType::UninferableCall, true));
    assert_eq!(taken(Flow::Indirect, Role::Return), (IType::Return, false));
    assert_eq!(taken(Flow::Indirect, Role::Swap), (IType::CoRoutineSwap, false));
    assert_eq!(taken(Flow::Indirect, Role::ExceptionReturn), (IType::TrapReturn, false));
    assert_eq!(taken(Flow::Indirect, Role::Jump), (IType::UninferableJump, false));
}

#[test]
fn circumstances_hold_from_when_they_are_told() {
    let mut executed = Executed::new(ITypeWidth::Four, CType::Imprecise);
    executed.privilege(1);
    executed.context(2);
    executed.time(3);
    executed.cycle(4);
    let trap = executed.trap(0x1000, 5, true, 6);
    let expected = Entry {
        itype: IType::Interrupt,
        cause: 5,
        tval: 6,
        privilege: 1,
        iaddr: 0x1000,
        context: 2,
        ctype: CType::Imprecise,
        time: 3,
        cycle: 4,
        ..Entry::NOTHING
    };
    assert_eq!(trap, expected);
}

const HEADER: &str = "itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0\n";

#[test]
fn text_of_single_instructions_and_of_blocks() {
    let text = format!("{HEADER}5,0,0,3,80000000,0,0,1,1\n\n1,2,ff,1,1006,7,2,0,1\n");
    let reader = Reader::new(text.as_bytes(), Retirement::Instruction).unwrap();
    let entries: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(short(&entries), [(IType::TakenBranch, 0x8000_0000, 2, 1), (IType::Exception, 0x1006, 0, 1)]);
    let trap = entries[1];
    assert_eq!(
        (trap.cause, trap.tval, trap.privilege, trap.context, trap.ctype),
        (2, 0xff, 1, 7, CType::Precise)
    );
    assert_eq!((trap.cycle, trap.time), (3, 0));
    // As a block, it would be shorter than its last instruction.
    let error = Reader::new(text.as_bytes(), Retirement::Block).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "\"1\" is no iretire (line 2)");
    let text = format!("{HEADER}5,0,0,3,80000000,0,0,7,1\n");
    let entry = Reader::new(text.as_bytes(), Retirement::Block).unwrap().next().unwrap().unwrap();
    assert_eq!((entry.iretire, entry.last()), (7, 0x8000_000a));
}

#[test]
fn text_that_is_wrong_is_told_with_its_line() {
    let error = |text: &str| match Reader::new(text.as_bytes(), Retirement::Instruction) {
        Ok(mut reader) => reader.find_map(Result::err).unwrap().to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(error(""), "expected the names of columns (line 1)");
    assert_eq!(error("itype_0,what\n"), "unknown column \"what\" (line 1)");
    assert_eq!(error("itype_8\n"), "unknown column \"itype_8\" (line 1)");
    assert_eq!(error("itype_0,itype_0\n"), "column \"itype_0\" is there twice (line 1)");
    assert_eq!(error(&HEADER.replace(",iaddr_0", "")), "no column \"iaddr_0\" (line 1)");
    assert_eq!(error(&HEADER.replace('\n', ",itype_1\n")), "no column \"iaddr_1\" (line 1)");
    let row = |row: &str| error(&format!("{HEADER}0,0,0,3,1000,0,0,1,1\n{row}\n"));
    assert_eq!(row("0,0,0,3,1000,0,0,1"), "expected 9 values, found 8 (line 3)");
    assert_eq!(row("0,0,0,3,1000,0,0,1,1,1"), "expected 9 values, found 10 (line 3)");
    assert_eq!(row("7,0,0,3,1000,0,0,1,1"), "\"7\" is no itype (line 3)");
    assert_eq!(row("0,0,0,2,1000,0,0,1,1"), "\"2\" is no priv (line 3)");
    assert_eq!(row("0,0,0,3,10g0,0,0,1,1"), "\"10g0\" is no iaddr (line 3)");
    assert_eq!(row("0,0,,3,1000,0,0,1,1"), "\"\" is no tval (line 3)");
    assert_eq!(row("0,0,0,3,1000,0,4,1,1"), "\"4\" is no ctype (line 3)");
    assert_eq!(row("0,0,0,3,1000,0,0,2,1"), "\"2\" is no iretire (line 3)");
    let long = "1".repeat(99);
    assert!(row(&format!("0,{long},0,3,1000,0,0,1,1")).starts_with("\"1111"));
}

#[test]
fn reading_goes_on_after_a_line_that_is_wrong() {
    let text = format!("{HEADER}x\n0,0,0,3,1000,0,0,1,1\n");
    let read: Vec<_> = Reader::new(text.as_bytes(), Retirement::Instruction).unwrap().collect();
    assert!(read[0].is_err() && read[1].is_ok() && read.len() == 2);
}
