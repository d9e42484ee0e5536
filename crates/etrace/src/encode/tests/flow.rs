use tracewright_isa::riscv::IType;

use super::run::{Run, START, TRAP, check, config, packets};
use crate::encode::{Config, Resync, ResyncMode};
use crate::ingress::{CType, Entry};
use crate::packet::Packet;

#[test]
fn the_first_and_the_last_instruction_are_told() {
    check(&config(), &Run::new().plain(5), &[START, "Address 0x1010"]);
    check(&config(), &Run::new().plain(1), &[START]);
}

#[test]
fn jumps_are_told_by_their_target() {
    let run = Run::new().plain(2).jump(0x2000).plain(2).one(IType::TrapReturn, 0x3000).plain(3);
    check(&config(), &run, &[START, "Address 0x2000", "Address 0x3000", "Address 0x3008"]);
    // Inferable jumps are not reported.
    let run = Run::new().call(0x2000).one(IType::InferableJump, 0x3000).plain(2);
    check(&config(), &run, &[START, "Address 0x3004"]);
}

#[test]
fn branches_come_with_the_next_address() {
    let run = Run::new().plain(1).branches("TTN").put(3, IType::UninferableJump, 0x2000).plain(2);
    check(&config(), &run, &[START, "Branches TTN, 0x2000", "Address 0x2004"]);
}

#[test]
fn a_full_branch_map_is_told_alone() {
    let outcomes = "TN".repeat(20);
    let run = Run::new().plain(1).branches(&outcomes).plain(1);
    let expected = [START, "Branches TNTNTNTNTNTNTNTNTNTNTNTNTNTNTNT", "Branches NTNTNTNTN, 0x1054"];
    check(&config(), &run, &expected);
}

#[test]
fn the_branch_at_a_start_is_told_there() {
    let run = Run::new().branches("TN").plain(1);
    check(&config(), &run, &["Start 0x1000, M, a branch that is taken", "Branches N, 0x1004"]);
}

#[test]
fn a_trap_is_told_with_its_handler() {
    let run = Run::new().plain(3).exception(2, 0x8000).plain(2);
    check(&config(), &run, &[START, "Address 0x1008", TRAP, "Address 0x8004"]);
    let run = Run::new().plain(3).branches("N").interrupt(7, 0x8000).branches("T");
    check(
        &config(),
        &run,
        &[START, "Branches N, 0x100c", "Interrupt cause 7, handler 0x8000, M, a branch that is taken"],
    );
}

#[test]
fn a_trap_at_a_jumps_target_is_told_with_its_address() {
    let run = Run::new().plain(1).jump(0x2000).exception(12, 0x8000).plain(1);
    check(
        &config(),
        &run,
        &[START, "Address 0x1004", "Exception cause 12, tval 0x77, at 0x2000, M", "Start 0x8000, M"],
    );
    // The first instruction can do it too.
    let run = Run::new().exception(1, 0x8000).plain(1);
    check(&config(), &run, &["Exception cause 1, tval 0x77, at 0x1000, M", "Start 0x8000, M"]);
}

#[test]
fn a_trap_on_a_trap() {
    let run = Run::new().plain(1).exception(2, 0x8000).interrupt(7, 0x8004).exception(5, 0x8008).plain(1);
    check(
        &config(),
        &run,
        &[
            START,
            "Exception cause 2, tval 0x77, at 0x8000, M",
            "Interrupt cause 7, at 0x8004, M",
            "Exception cause 5, tval 0x77, handler 0x8008, M",
        ],
    );
    // The first one is already reported.
    let run = Run::new().plain(1).jump(0x2000).exception(12, 0x8000).exception(2, 0x8004).plain(1);
    check(
        &config(),
        &run,
        &[
            START,
            "Address 0x1004",
            "Exception cause 12, tval 0x77, at 0x2000, M",
            "Exception cause 2, tval 0x77, at 0x8000, M",
            "Start 0x8004, M",
        ],
    );
}

#[test]
fn a_trap_in_the_same_entry_comes_after_what_retired() {
    let apart = Run::new().plain(4).exception(2, 0x8000).plain(1);
    let mut together = Run::new().plain(4).exception(2, 0x8000).plain(1);
    let trap = together.entries.remove(1);
    let retired = together.entries[0];
    together.entries[0] = Entry { iaddr: retired.iaddr, iretire: retired.iretire, ..trap };
    assert_eq!(packets(&config(), &apart), packets(&config(), &together));
}

#[test]
fn a_trap_whose_handler_is_not_traced_is_told() {
    let run = Run::new().plain(2).exception(2, 0x8000);
    check(&config(), &run, &[START, "Address 0x1004", "Exception cause 2, tval 0x77, at 0x1008, M"]);
}

#[test]
fn updiscon_says_that_a_synchronisation_follows_a_target() {
    let run = Run::new().plain(1).jump(0x2000).plain(1).exception(2, 0x8000).plain(1);
    check(&config(), &run, &[START, "Address 0x2000, updiscon", TRAP]);
    // Not if another instruction is in between.
    let run = Run::new().plain(1).jump(0x2000).plain(2).exception(2, 0x8000).plain(1);
    check(&config(), &run, &[START, "Address 0x2000", "Address 0x2004", TRAP]);
}

#[test]
fn another_privilege_starts_anew() {
    let run = Run::new().plain(2).branches("T").one(IType::TrapReturn, 0x2000).privilege(0).plain(2);
    check(&config(), &run, &[START, "Branches T, 0x1008", "Start 0x2000, U", "Address 0x2004"]);
    // Without branches no packet is needed before.
    let run = Run::new().plain(2).one(IType::TrapReturn, 0x2000).privilege(0).plain(2);
    check(&config(), &run, &[START, "Start 0x2000, U", "Address 0x2004"]);
    // Except if the last address was a jump's target, which a decoder may have passed before.
    let run = Run::new().plain(2).jump(0x3000).plain(2).one(IType::TrapReturn, 0x2000).privilege(0).plain(2);
    check(&config(), &run, &[START, "Address 0x3000", "Address 0x3008", "Start 0x2000, U", "Address 0x2004"]);
}

#[test]
fn contexts_are_told_as_they_ask_for() {
    let run = Run::new().plain(2).branches("T").context(5, CType::Unreported).plain(2);
    check(&config(), &run, &[START, "Branches T, 0x100c"]);
    let run = Run::new().plain(2).branches("T").context(5, CType::Imprecise).branches("TN").plain(2);
    check(&config(), &run, &[START, "Context M, context 0x5", "Branches TTN, 0x1010"]);
    let run = Run::new().plain(2).branches("T").context(5, CType::Precise).plain(2);
    check(&config(), &run, &[START, "Branches T, 0x1008", "Start 0x1008, M, context 0x5", "Address 0x100c"]);
    let run = Run::new().plain(2).context(5, CType::Discontinuity).at(0x2000).plain(2);
    check(
        &config(),
        &run,
        &[
            START,
            "Address 0x1004",
            "Support on, ended, reported, full_address",
            "Start 0x2000, M, context 0x5",
            "Address 0x2004",
        ],
    );
}

#[test]
fn context_packets_that_empty_the_branch_map_lose_branches() {
    let run = Run::new().plain(2).branches("TT").context(5, CType::Imprecise).branches("N").plain(2);
    let shallow = Config { shallow: true, ..config() };
    check(&shallow, &run, &[START, "Context M, context 0x5", "Address 0x1010"]);
}

#[test]
fn a_notification_tells_the_last_instruction() {
    let run = Run::new().plain(2).branches("T").notify().plain(3).plain(1);
    check(&config(), &run, &[START, "Branches T, 0x1010, notify", "Address 0x1014"]);
    // A jump's target is reported anyway.
    let run = Run::new().plain(2).jump(0x2000).notify().plain(1).plain(1);
    check(&config(), &run, &[START, "Address 0x2000", "Address 0x2004"]);
}

fn resync(mode: ResyncMode) -> Config {
    Config { resync: Resync { mode, max: 0, anywhere: false }, ..config() }
}

/// Runs a loop over a jump and a branch, with at most three packets a round.
fn rounds(count: u32) -> Run {
    let mut run = Run::new();
    for _ in 0..count {
        run = run.plain(2).jump(0x2000).plain(1).one(IType::TakenBranch, 0x1000);
    }
    run
}

#[test]
fn synchronisation_by_packets() {
    let packets = packets(&resync(ResyncMode::Packets), &rounds(40));
    let starts: Vec<_> =
        packets.iter().enumerate().filter(|(_, packet)| packet.is_sync()).map(|(at, _)| at).collect();
    // After sixteen packets, and one that reports the branch before.
    assert_eq!(starts, [1, 19, 37]);
}

#[test]
fn synchronisation_by_half_words() {
    check(
        &resync(ResyncMode::HalfWords),
        &rounds(5),
        &[
            START,
            "Address 0x2000",
            "Branches T, 0x1008",
            "Start 0x2000, M",
            "Branches T, 0x2000",
            "Branches T, 0x1008",
            "Start 0x2000, M",
            "Branches T, 0x2000",
            "Branches T, 0x2004",
        ],
    );
}

#[test]
fn synchronisation_by_cycles() {
    let run = Run::new().plain(2).branches("T").plain(1).cycles(20).plain(1);
    let run = run.branches("T").plain(1).branches("N").plain(1);
    let expected = [START, "Branches TT, 0x1010", "Start 0x1010, M", "Branches N, 0x1018"];
    check(&resync(ResyncMode::Cycles), &run, &expected);
}

#[test]
fn synchronisation_does_not_come_after_a_target_that_is_not_told_as_such() {
    let run = Run::new().plain(2).jump(0x2000).put(6, IType::InferableJump, 0x3000).plain(20);
    let expected = [START, "Address 0x2000", "Address 0x2014", "Start 0x3000, M", "Address 0x304c"];
    check(&resync(ResyncMode::HalfWords), &run, &expected);
}

#[test]
fn nothing_is_due_without_resynchronisation() {
    let is_start = |packet: &&Packet| packet.is_sync();
    assert_eq!(packets(&resync(ResyncMode::Off), &rounds(100)).iter().filter(is_start).count(), 1);
}
