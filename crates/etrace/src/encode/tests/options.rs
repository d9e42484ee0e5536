use tracewright_isa::riscv::IType;

use super::run::{Run, START, TRAP, check, config};
use crate::encode::{Config, Encoder, Quirks, Resync, ResyncMode};
use crate::ingress::CType;
use crate::{Options, Params};

fn with(options: Options) -> Config {
    let params = Params {
        bpred_size: 6,
        cache_size: 6,
        return_stack_size: 2,
        f0s_width: 1,
        sijump: true,
        ..config().params
    };
    let resync = Resync { mode: ResyncMode::Off, ..Resync::default() };
    Config { params, options: Options { full_address: true, ..options }, resync, ..config() }
}

#[test]
fn differences_of_addresses() {
    let config = Config { options: Options::default(), ..config() };
    let run = Run::new().plain(2).jump(0x2000).plain(1).jump(0x1000).plain(3);
    check(&config, &run, &[START, "Address +0x1000", "Address -0x1000", "Address +0x8"]);
}

#[test]
fn differences_of_narrow_addresses_have_their_sign() {
    let params = Params { iaddress_width: 16, ..config().params };
    let config = Config { params, options: Options::default(), ..config() };
    check(&config, &Run::new().plain(2).jump(0xf000).plain(1), &[START, "Address -0x2000"]);
}

#[test]
fn implicit_exceptions_leave_out_the_handler() {
    let config = with(Options { implicit_exception: true, ..Options::default() });
    let run = Run::new().plain(1).exception(2, 0x8000).plain(1).jump(0x2000).exception(2, 0x8000).plain(1);
    check(
        &config,
        &run,
        &[
            START,
            "Exception cause 2, tval 0x77, handler not sent, M",
            "Address 0x8004",
            "Exception cause 2, tval 0x77, at 0x2000, M",
            "Start 0x8000, M",
        ],
    );
}

#[test]
fn pairs_are_inferable() {
    let run = Run::new().plain(1).pair().jump(0x2000).plain(1).jump(0x3000).plain(1);
    check(&with(Options { sijump: true, ..Options::default() }), &run, &[START, "Address 0x3000"]);
    check(&with(Options::default()), &run, &[START, "Address 0x2000", "Address 0x3000"]);
}

#[test]
fn returns_are_implicit_when_the_stack_tells_them() {
    let config = with(Options { implicit_return: true, ..Options::default() });
    let run = Run::new().plain(1).call(0x2000).plain(2).ret(0x1008).plain(2);
    check(&config, &run, &[START, "Address 0x100c, returns 0"]);
    // Without a call there is no return address.
    let run = Run::new().plain(1).ret(0x2000).plain(2);
    check(&config, &run, &[START, "Address 0x2000", "Address 0x2004"]);
}

#[test]
fn returns_elsewhere_are_told_with_the_depth() {
    let config = with(Options { implicit_return: true, ..Options::default() });
    let run = Run::new().plain(1).call(0x2000).plain(1).call(0x3000).plain(1);
    let run = run.ret(0x4000).plain(1).ret(0x1008).plain(2);
    check(&config, &run, &[START, "Address 0x4000, returns 2", "Address 0x100c, returns 0"]);
}

#[test]
fn the_oldest_call_is_forgotten() {
    let config = with(Options { implicit_return: true, ..Options::default() });
    let mut run = Run::new();
    for depth in 0..5 {
        run = run.call(0x2000 + 0x100 * depth);
    }
    for depth in (0..5).rev() {
        run = run.ret(if depth == 0 { 0x1004 } else { 0x2004 + 0x100 * (depth - 1) });
    }
    check(&config, &run.plain(1), &[START, "Address 0x1004"]);
}

#[test]
fn the_depth_is_told_where_a_decoder_could_stop_too_early() {
    let config = with(Options { implicit_return: true, ..Options::default() });
    // Right after a return, with calls left.
    let run = Run::new().call(0x2000).call(0x3000).ret(0x2004).plain(1).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Address 0x2004, returns 1", TRAP]);
    // Right after the outermost one.
    let run = Run::new().call(0x2000).ret(0x1004).plain(1).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Address 0x1004", TRAP]);
    // Later after a return.
    let run = Run::new().call(0x2000).ret(0x1004).plain(2).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Address 0x1008, returns 0", TRAP]);
    // With a call or a branch since.
    let run = Run::new().call(0x2000).ret(0x1004).call(0x2000).plain(2).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Address 0x2004", TRAP]);
    let run = Run::new().call(0x2000).ret(0x1004).branches("N").plain(2).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Branches N, 0x100c", TRAP]);
}

#[test]
fn calls_are_only_counted_without_a_stack() {
    let mut config = with(Options { implicit_return: true, ..Options::default() });
    config.params = Params { return_stack_size: 0, call_counter_size: 3, ..config.params };
    let run = Run::new().plain(1).call(0x2000).plain(2).ret(0x4000).plain(2).ret(0x5000).plain(1);
    // The depth comes from the counter, but targets of returns are checked; hardware that only counts cannot
    // do that.
    check(&config, &run, &[START, "Address 0x4000, returns 1", "Address 0x5000"]);
    config.quirks.trusts_returns = true;
    check(&config, &run, &[START, "Address 0x5000"]);
}

#[test]
fn the_draft_counts_returns() {
    let mut config = with(Options { implicit_return: true, ..Options::default() });
    config.params.iret_ext = true;
    let run =
        Run::new().call(0x2000).call(0x3000).ret(0x2004).ret(0x1004).plain(2).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Address 0x1008, returns 2", TRAP]);
    // A failed return is not counted; a branch restarts the count.
    let run = Run::new().call(0x2000).call(0x3000).ret(0x2004).ret(0x5000).plain(1);
    let run = run.call(0x2000).ret(0x5008).branches("T").plain(1);
    check(&config, &run, &[START, "Address 0x5000, returns 1", "Branches T, 0x5008"]);
    // A return without a call after an implicit one.
    let run = Run::new().call(0x2000).ret(0x1004).ret(0x6000).plain(1);
    check(&config, &run, &[START, "Address 0x6000, returns 1"]);
}

#[test]
fn the_draft_tells_after_255_returns() {
    let mut config = with(Options { implicit_return: true, ..Options::default() });
    config.params = Params { iret_ext: true, return_stack_size: 9, ..config.params };
    let mut run = Run::new();
    for round in 0..300 {
        run = run.call(0x2000).ret(0x1004 + 4 * round);
    }
    check(&config, &run.plain(1), &[START, "Address 0x13fc, returns 255", "Address 0x14b0, returns 45"]);
}

#[test]
fn branches_that_are_foretold_are_counted() {
    let config = with(Options { branch_prediction: true, ..Options::default() });
    // The predictor first expects branches not to be taken; then it learns.
    let run = Run::new().plain(1).branches(&"T".repeat(40)).branches("N").plain(1);
    check(&config, &run, &[START, "Branches TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT", "Branches TTTTTTTTTN, 0x1008"]);
}

#[test]
fn counts_have_an_address_where_one_is_told() {
    let config = with(Options { branch_prediction: true, ..Options::default() });
    let run = Run::new().plain(1).branches(&"N".repeat(33)).jump(0x2000).plain(1);
    check(&config, &run, &[START, "Branch Count 33 foretold, 0x2000"]);
    // The branch at the address is one of them, or it is the mispredicted one.
    let run = Run::new().plain(1).branches(&"N".repeat(33)).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Branch Count 33 foretold, 0x1084", TRAP]);
    let run = Run::new().plain(1).branches(&"N".repeat(33)).branches("T").exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Branch Count 33 foretold, 0x1088, a branch that was not", TRAP]);
    // The fewest that are counted: thirty-one, or thirty-two.
    let run = Run::new().plain(1).branches(&"N".repeat(31)).jump(0x2000).plain(1);
    check(&config, &run, &[START, "Branch Count 31 foretold, 0x2000"]);
    let quirk = Config { quirks: Quirks { counts_from_32: true, ..Quirks::default() }, ..config };
    check(&quirk, &run, &[START, "Branches NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN, 0x2000"]);
}

#[test]
fn a_branch_at_a_synchronisation_trains_the_predictor_after_its_reset() {
    let config = with(Options { branch_prediction: true, ..Options::default() });
    // Taken twice there, so the predictor expects a third time.
    let run = Run::new().branches("TT").branches(&"T".repeat(31)).jump(0x2000).plain(1);
    check(&config, &run, &["Start 0x1000, M, a branch that is taken", "Branch Count 32 foretold, 0x2000"]);
}

#[test]
fn targets_that_were_told_are_told_by_their_index() {
    let config = with(Options { jump_target_cache: true, ..Options::default() });
    let run = Run::new().plain(1).jump(0x12344).plain(1).jump(0x54320).plain(1);
    let run = run.branches("N").jump(0x12344).plain(2);
    check(
        &config,
        &run,
        &[START, "Address 0x12344", "Address 0x54320", "Jump Target N, cache entry 34", "Address 0x12348"],
    );
    // Not where updiscon must be reported.
    let run = Run::new().plain(1).jump(0x12344).plain(1).jump(0x12344).plain(1).exception(2, 0x8000).plain(1);
    check(&config, &run, &[START, "Address 0x12344", "Address 0x12344, updiscon", TRAP]);
    // After a synchronisation the cache is empty.
    let run = Run::new().plain(1).jump(0x12344).plain(2).exception(2, 0x8000).plain(1).jump(0x12344).plain(2);
    let expected = [START, "Address 0x12344", "Address 0x12348", TRAP, "Address 0x12344", "Address 0x12348"];
    check(&config, &run, &expected);
}

#[test]
fn an_address_is_sent_where_it_is_shorter_than_its_index() {
    let mut config = with(Options { jump_target_cache: true, ..Options::default() });
    config.options.full_address = false;
    let run = Run::new().plain(1).jump(0x12344).jump(0x12344).plain(2);
    check(&config, &run, &[START, "Address +0x11344", "Address +0x0", "Address +0x4"]);
    config.quirks.always_prefers_index = true;
    check(&config, &run, &[START, "Address +0x11344", "Jump Target cache entry 34", "Address +0x4"]);
}

#[test]
fn other_addresses_are_cached_by_a_quirk_only() {
    let mut config = with(Options { jump_target_cache: true, ..Options::default() });
    let run = Run::new().plain(1).notify().plain(1).plain(1).jump(0x1004).plain(2);
    check(&config, &run, &[START, "Address 0x1004, notify", "Address 0x1004", "Address 0x1008"]);
    config.quirks.caches_every_address = true;
    check(&config, &run, &[START, "Address 0x1004, notify", "Jump Target cache entry 2", "Address 0x1008"]);
}

#[test]
fn a_failed_return_keeps_its_call_by_a_quirk_only() {
    let mut config = with(Options { implicit_return: true, ..Options::default() });
    let run = Run::new().call(0x2000).ret(0x3000).plain(1).ret(0x1004).plain(2);
    check(&config, &run, &[START, "Address 0x3000, returns 1", "Address 0x1004", "Address 0x1008"]);
    config.quirks.keeps_failed_returns = true;
    check(&config, &run, &[START, "Address 0x3000, returns 1", "Address 0x1008, returns 0"]);
}

#[test]
fn swaps_are_uninferable_and_leave_the_stack_alone() {
    let config = with(Options { implicit_return: true, ..Options::default() });
    let run = Run::new().call(0x2000).one(IType::CoRoutineSwap, 0x3000).plain(1).ret(0x1004).plain(1);
    check(&config, &run, &[START, "Address 0x3000", "Address 0x1004"]);
}

#[test]
fn values_that_do_not_fit_are_told() {
    let unfit = |params: Params, run: Run| {
        let config = Config { params, ..config() };
        let mut encoder = Encoder::new(config);
        run.entries.iter().for_each(|entry| encoder.entry(entry, &mut |_| {}));
        encoder.finish(&mut |_| {});
        encoder.unfit().map(|unfit| unfit.to_string())
    };
    let params = || config().params;
    let trap = || Run::new().plain(1).exception(11, 0x8002).plain(1);
    assert_eq!(unfit(Params { ecause_width: 4, ..params() }, trap()), None);
    for (params, what) in [
        (Params { ecause_width: 2, ..params() }, "cause 11 does not fit ecause_width=2"),
        (Params { privilege_width: 1, ..params() }, "privilege 3 does not fit privilege_width=1"),
        (Params { iaddress_width: 15, ..params() }, "address 0x8002 does not fit iaddress_width=15"),
        (Params { iaddress_lsb: 2, ..params() }, "address 0x8002 does not fit iaddress_lsb=2"),
    ] {
        assert_eq!(unfit(params, trap()).as_deref(), Some(what));
    }
    // Where no packet carries it, it does not matter.
    assert_eq!(unfit(Params { ecause_width: 2, ..params() }, Run::new().plain(4)), None);
    // Hardware sends the low bits of a context.
    let context = Run::new().context(256, CType::Precise).plain(1);
    assert_eq!(unfit(Params { context_width: 8, nocontext: false, ..params() }, context), None);
}
