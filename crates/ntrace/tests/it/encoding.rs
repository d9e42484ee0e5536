//! Messages that the encoder chooses.

use tracewright_core::{Block, Class, Ended, Flow, Isa, Role};
use tracewright_ntrace::encode::{Config, Encoder, Resync, SyncMode, Timestamps};
use tracewright_ntrace::packet::{Packet, Process};
use tracewright_ntrace::{Dialect, ImplicitReturn, Mode, Params};

use crate::support::emitted;

const BRANCH: Class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
const CALL: Class = Class { flow: Flow::Direct, role: Role::Call, conditional: false };
const JUMP: Class = Class { flow: Flow::Indirect, role: Role::Jump, conditional: false };
const RETURN: Class = Class { flow: Flow::Indirect, role: Role::Return, conditional: false };

fn block(start: u64, end: u64, class: Class, ended: Ended) -> Block {
    Block { start, end, count: 2, isa: Isa::Rv64, last_len: 2, class, ended }
}

fn taken(start: u64, end: u64, class: Class) -> Block {
    block(start, end, class, Ended::Taken)
}

fn cut(start: u64, end: u64) -> Block {
    block(start, end, Class::NEXT, Ended::Cut)
}

fn config() -> Config {
    Config::new(Params::default(), Isa::Rv64)
}

fn branches() -> Config {
    Config::new(Params { mode: Mode::Branch, ..Params::default() }, Isa::Rv64)
}

/// What happens to an encoder.
enum Step {
    Block(Block),
    Trap(u64, bool),
    Privilege(u8),
    Context(u64),
    Time(u64),
    Sync(u8),
    Lose,
    Stop(u8),
}

use Step::{Context, Lose, Privilege, Stop, Sync, Time, Trap};

/// Messages as text, each with its timestamp.
fn text(config: Config, steps: &[Step]) -> Vec<String> {
    let mut encoder = Encoder::new(config);
    let mut lines = Vec::new();
    for step in steps {
        let mut out = |packet: &Packet, timestamp: Option<u64>| {
            lines.push(match timestamp {
                Some(time) => format!("{packet} at {time:#x}"),
                None => packet.to_string(),
            });
        };
        match *step {
            Step::Block(block) => encoder.block(&block, &mut out),
            Trap(pc, is_interrupt) => encoder.trap(pc, is_interrupt, &mut out),
            Privilege(privilege) => encoder.privilege(privilege, false),
            Context(scontext) => encoder.context(Some(scontext), None),
            Time(time) => encoder.time(time),
            Sync(reason) => encoder.sync(reason),
            Lose => encoder.lose(&mut out),
            Stop(event) => encoder.stop(event, &mut out),
        }
    }
    lines
}

/// The specification's code A, to the byte.
#[test]
fn code_a() {
    let first = [taken(0x100, 0x106, BRANCH), cut(0x200, 0x202)];
    let not = block(0x100, 0x106, BRANCH, Ended::NotTaken);
    let second = [not, taken(0x106, 0x10e, BRANCH), cut(0x300, 0x304)];
    let none = [not, block(0x106, 0x10e, BRANCH, Ended::NotTaken), cut(0x10e, 0x114)];
    let bytes = |config: Config, blocks: &[Block]| {
        let mut encoder = Encoder::new(Config { first_sync: 3, ..config });
        let mut bytes: Vec<u8> = Vec::new();
        let mut out = |packet: &Packet, time: Option<u64>| {
            bytes.extend(&emitted(packet, 0, time, &Params::default())[..]);
        };
        blocks.iter().for_each(|block| encoder.block(block, &mut out));
        encoder.stop(0, &mut out);
        assert_eq!(bytes[..4], [0x24, 0x0d, 0x00, 0x0b]);
        bytes[4..].to_vec()
    };
    assert_eq!(bytes(branches(), &first), [0x0c, 0x0f, 0x84, 0x00, 0x07]);
    assert_eq!(bytes(config(), &first), [0x84, 0x40, 0x11, 0x0f]);
    assert_eq!(bytes(branches(), &second), [0x0c, 0x1f, 0x84, 0x00, 0x0b]);
    assert_eq!(bytes(config(), &second), [0x84, 0x40, 0x25, 0x17]);
    assert_eq!(bytes(branches(), &none), [0x84, 0x00, 0x2b]);
    assert_eq!(bytes(config(), &none), [0x84, 0x40, 0x29, 0x13]);
}

#[test]
fn traps_and_jumps() {
    let steps = [
        Step::Block(taken(0x100, 0x104, JUMP)),
        Step::Block(cut(0x200, 0x202)),
        Trap(0x202, true),
        Trap(0x300, false),
        Step::Block(taken(0x400, 0x404, BRANCH)),
        Step::Block(taken(0x408, 0x40c, JUMP)),
        Step::Block(cut(0x500, 0x502)),
        Stop(4),
    ];
    assert_eq!(
        text(config(), &steps),
        [
            "ProgTraceSync sync=5 icnt=0x0 faddr=0x80 (trace enabled)",
            "IndirectBranch btype=0 icnt=0x2 uaddr=0x180",
            "IndirectBranch btype=3 icnt=0x1 uaddr=0x80 (interrupt)",
            "IndirectBranch btype=2 icnt=0x0 uaddr=0x380 (exception)",
            "IndirectBranchHist btype=0 icnt=0x4 uaddr=0x80 hist=0x3 (T)",
            "ProgTraceCorrelation evcode=4 cdf=1 icnt=0x1 hist=0x1 (trace off)",
        ]
    );
    let plain = Config { trap_kinds: false, ..config() };
    assert_eq!(
        text(plain, &steps)[2..4],
        [
            "IndirectBranch btype=1 icnt=0x1 uaddr=0x80 (trap)",
            "IndirectBranch btype=1 icnt=0x0 uaddr=0x380 (trap)",
        ]
    );
}

/// A synchronisation replaces the message that is due, or comes alone.
#[test]
fn synchronisation() {
    let steps = |class: Class, reason: u8| {
        [Step::Block(taken(0x100, 0x104, class)), Sync(reason), Step::Block(cut(0x200, 0x202)), Stop(4)]
    };
    assert_eq!(
        text(config(), &steps(JUMP, 6))[1],
        "IndirectBranchSync sync=6 btype=0 icnt=0x2 faddr=0x100 (trace event)"
    );
    assert_eq!(
        text(config(), &steps(BRANCH, 0))[1],
        "IndirectBranchHistSync sync=0 btype=0 icnt=0x2 faddr=0x100 hist=0x3 (external trigger) (T)"
    );
    assert_eq!(
        text(branches(), &steps(BRANCH, 0))[1],
        "DirectBranchSync sync=0 icnt=0x2 faddr=0x100 (external trigger)"
    );
    // After sixteen messages, half-words or cycles.
    for (mode, every) in [(SyncMode::Messages, 17), (SyncMode::HalfWords, 8), (SyncMode::Cycles, 4)] {
        let config = Config { resync: Resync { mode, max: 0 }, ..config() };
        let steps: Vec<_> =
            (1..100).flat_map(|turn| [Step::Block(taken(0x100, 0x104, JUMP)), Time(4 * turn)]).collect();
        let lines = text(config, &steps);
        let syncs = lines.iter().filter(|line| line.contains("sync=2")).count();
        assert_eq!(syncs, 98 / every, "{mode:?}");
    }
}

#[test]
fn returns_to_their_calls_are_left_out() {
    let steps = |back: u64| {
        [
            Step::Block(taken(0x100, 0x104, CALL)),
            Step::Block(taken(0x200, 0x204, RETURN)),
            Step::Block(cut(back, back + 2)),
            Stop(4),
        ]
    };
    let with = |implicit_return| Config::new(Params { implicit_return, ..Params::default() }, Isa::Rv64);
    for (mode, near, far) in [
        (ImplicitReturn::Off, 3, 3),
        (ImplicitReturn::Stack, 2, 3),
        (ImplicitReturn::LowBits(8), 2, 2),
        (ImplicitReturn::Counter, 2, 2),
    ] {
        let lines = [0x104, 0x504].map(|back| text(with(mode), &steps(back)).len());
        assert_eq!(lines, [near, far], "{mode:?}");
    }
    assert_eq!(text(Config { calls: 0, ..with(ImplicitReturn::Stack) }, &steps(0x104)).len(), 3);
}

#[test]
fn what_is_full_is_sent() {
    let linear = (0..4).map(|at| Step::Block(cut(0x100 + 10 * at, 0x10a + 10 * at))).chain([Stop(4)]);
    let counter = Config { icnt_bits: 4, ..config() };
    let lines = text(counter, &linear.collect::<Vec<_>>());
    assert_eq!(
        lines[1..],
        [
            "ResourceFull rcode=0 rdata=0xf (instruction counter)",
            "ProgTraceCorrelation evcode=4 cdf=1 icnt=0x5 hist=0x1 (trace off)",
        ]
    );
    // A loop that runs a hundred times.
    let rounds = || (0..100).map(|_| Step::Block(taken(0x100, 0x104, BRANCH)));
    let all = |config: Config| text(config, &rounds().chain([Stop(4)]).collect::<Vec<_>>());
    let history = all(config());
    assert_eq!(
        history[1],
        format!("ResourceFull rcode=1 rdata={:#x} (history) ({})", u32::MAX, "T".repeat(31))
    );
    assert_eq!(history.len(), 5);
    let repeated = all(Config { repeated_history: true, ..config() });
    assert_eq!(
        repeated[1],
        history[1].replace("rcode=1", "rcode=2").replace(" (history)", " hrepeat=0x3 (repeated history)")
    );
    assert_eq!(repeated.len(), 3);
    let messages = all(Config { repeated_branch: true, ..branches() });
    assert_eq!(messages[1..3], ["DirectBranch icnt=0x2", "RepeatBranch bcnt=0x63"]);
}

#[test]
fn contexts_and_times() {
    let steps = [
        Context(7),
        Time(0x10),
        Step::Block(taken(0x100, 0x104, JUMP)),
        Time(0x14),
        Step::Block(cut(0x200, 0x202)),
        Trap(0x202, false),
        Privilege(3),
        Time(0x19),
        Step::Block(cut(0x300, 0x302)),
        Stop(0),
    ];
    let config = Config { contexts: true, timestamps: Timestamps::All, ..config() };
    assert_eq!(
        text(config.clone(), &steps),
        [
            "ProgTraceSync sync=5 icnt=0x0 faddr=0x80 (trace enabled) at 0x10",
            "Ownership process=0xe2 (U) at 0x0",
            "IndirectBranch btype=0 icnt=0x2 uaddr=0x180 at 0x4",
            "IndirectBranch btype=2 icnt=0x1 uaddr=0x80 (exception) at 0x5",
            "Ownership process=0xee (M) at 0x0",
            "ProgTraceCorrelation evcode=0 cdf=1 icnt=0x1 hist=0x1 (debug mode) at 0x0",
        ]
    );
    let syncs = text(Config { timestamps: Timestamps::Syncs, ..config }, &steps);
    assert_eq!(syncs.iter().filter(|line| line.contains(" at ")).count(), 1);
}

/// The context of the hypervisor comes first, but for SiFive's hardware.
#[test]
fn order_of_contexts() {
    for (dialect, formats) in [(Dialect::Standard, [3, 2]), (Dialect::Sifive, [2, 3])] {
        let params = Params { dialect, ..Params::default() };
        let mut encoder = Encoder::new(Config { contexts: true, ..Config::new(params, Isa::Rv64) });
        encoder.context(Some(7), Some(9));
        encoder.privilege(1, true);
        let mut found = Vec::new();
        encoder.block(&cut(0x100, 0x104), &mut |packet, _| {
            if let Packet::Ownership { process } = packet {
                found.push(Process::of(*process));
            }
        });
        let context = |format| if format == 3 { 9 } else { 7 };
        let owner = |format| Process { format, privilege: 1, is_virtual: true, context: context(format) };
        assert_eq!(found, formats.map(owner));
    }
}

/// After debug mode, a loss, or where execution goes on elsewhere, tracing begins again.
#[test]
fn tracing_begins_again() {
    let steps = [
        Step::Block(cut(0x100, 0x104)),
        Stop(0),
        Stop(0),
        Step::Block(cut(0x104, 0x108)),
        Lose,
        Step::Block(cut(0x110, 0x114)),
        Step::Block(cut(0x200, 0x204)),
        Stop(4),
    ];
    let lines = text(config(), &steps);
    let begins: Vec<_> = lines.iter().filter(|line| !line.starts_with("ProgTraceCorr")).collect();
    assert_eq!(
        begins,
        [
            "ProgTraceSync sync=5 icnt=0x0 faddr=0x80 (trace enabled)",
            "ProgTraceSync sync=3 icnt=0x0 faddr=0x82 (exit from debug mode)",
            "Error etype=0 ecode=0xc (buffer full)",
            "ProgTraceSync sync=7 icnt=0x0 faddr=0x88 (restart after a loss)",
            "ProgTraceSync sync=5 icnt=0x0 faddr=0x100 (trace enabled)",
        ]
    );
    assert_eq!(lines.len(), 8);
}

#[test]
fn impossible_encoders() {
    assert_eq!(config().check(), Ok(()));
    assert_eq!(Config { history_branches: 32, ..config() }.check(), Err("history_branches"));
    assert_eq!(Config { icnt_bits: 0, ..config() }.check(), Err("icnt_bits"));
    assert_eq!(Config { calls: 33, ..config() }.check(), Err("calls"));
    assert_eq!(Config { first_sync: 16, ..config() }.check(), Err("first_sync"));
    let params = Params { ts_width: 0, ..Params::default() };
    assert_eq!(Config { params, ..config() }.check(), Err("ts_width"));
}
