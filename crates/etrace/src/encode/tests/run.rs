//! Short notation for executions.

use tracewright_isa::riscv::IType;

use crate::encode::{Config, Encoder};
use crate::ingress::{CType, Entry};
use crate::packet::Packet;
use crate::{Options, Params};

/// Execution under construction. Instructions have four bytes.
pub(super) struct Run {
    pub(super) entries: Vec<Entry>,
    now: Entry,
}

impl Run {
    /// Starts at 0x1000 in machine mode.
    pub(super) fn new() -> Self {
        let now = Entry { privilege: 3, iaddr: 0x1000, ilastsize: 1, ..Entry::NOTHING };
        Self { entries: Vec::new(), now }
    }

    /// Adds `count` sequential instructions.
    pub(super) fn plain(self, count: u32) -> Self {
        self.put(count, IType::None, 0)
    }

    /// Adds an instruction of a type, which goes to `to`.
    pub(super) fn one(self, itype: IType, to: u64) -> Self {
        self.put(1, itype, to)
    }

    /// Adds `count` instructions, the last of which is of a type and goes to `to`.
    pub(super) fn put(mut self, count: u32, itype: IType, to: u64) -> Self {
        let entry = Entry { itype, iretire: 2 * count, ..self.now };
        self.entries.push(entry);
        self.now.iaddr = if matches!(itype, IType::None | IType::NotTakenBranch) { entry.end() } else { to };
        (self.now.notify, self.now.sijump) = (false, false);
        self.now.cycle += 1;
        self
    }

    pub(super) fn branches(mut self, outcomes: &str) -> Self {
        for outcome in outcomes.chars() {
            let here = self.now.iaddr;
            self = match outcome {
                // To itself.
                'T' => self.one(IType::TakenBranch, here),
                _ => self.one(IType::NotTakenBranch, 0),
            };
        }
        self
    }

    pub(super) fn jump(self, to: u64) -> Self {
        self.one(IType::UninferableJump, to)
    }

    pub(super) fn call(self, to: u64) -> Self {
        self.one(IType::InferableCall, to)
    }

    pub(super) fn ret(self, to: u64) -> Self {
        self.one(IType::Return, to)
    }

    /// Adds an exception whose handler is at `to`.
    pub(super) fn exception(self, cause: u64, to: u64) -> Self {
        self.trap(IType::Exception, cause, 0x77, to)
    }

    pub(super) fn interrupt(self, cause: u64, to: u64) -> Self {
        self.trap(IType::Interrupt, cause, 0, to)
    }

    fn trap(mut self, itype: IType, cause: u64, tval: u64, to: u64) -> Self {
        self.entries.push(Entry { itype, cause, tval, iretire: 0, ..self.now });
        self.now.iaddr = to;
        self
    }

    pub(super) fn privilege(mut self, privilege: u8) -> Self {
        self.now.privilege = privilege;
        self
    }

    pub(super) fn context(mut self, context: u64, ctype: CType) -> Self {
        (self.now.context, self.now.ctype) = (context, ctype);
        self
    }

    /// Requests a notification for the next entry.
    pub(super) fn notify(mut self) -> Self {
        self.now.notify = true;
        self
    }

    /// Makes the next jump the second of a pair.
    pub(super) fn pair(mut self) -> Self {
        self.now.sijump = true;
        self
    }

    /// Continues at another address without any instruction that leads there.
    pub(super) fn at(mut self, address: u64) -> Self {
        self.now.iaddr = address;
        self
    }

    /// Lets `cycles` cycles pass.
    pub(super) fn cycles(mut self, cycles: u64) -> Self {
        self.now.cycle += cycles;
        self
    }
}

/// Packet at the start of a run.
pub(super) const START: &str = "Start 0x1000, M";
/// Packet of an exception with cause 2 to a handler at 0x8000.
pub(super) const TRAP: &str = "Exception cause 2, tval 0x77, handler 0x8000, M";

/// Returns the settings of an encoder that sends whole addresses and contexts and has no tables.
pub(super) fn config() -> Config {
    Config {
        params: Params { nocontext: false, ..Params::default() },
        options: Options { full_address: true, ..Options::default() },
        ..Config::default()
    }
}

/// Returns the packets that a new encoder emits.
pub(super) fn packets(config: &Config, run: &Run) -> Vec<Packet> {
    encoded(&mut Encoder::new(config.clone()), run)
}

pub(super) fn encoded(encoder: &mut Encoder, run: &Run) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut out = |packet: &Packet| packets.push(*packet);
    run.entries.iter().for_each(|entry| encoder.entry(entry, &mut out));
    encoder.finish(&mut out);
    packets
}

pub(super) fn words(packets: &[Packet], options: &Options) -> Vec<String> {
    packets.iter().map(|packet| format!("{} {}", packet.name(), packet.details(options))).collect()
}

/// Checks the packets of a run, between the support packets at its start and end. A block as one entry and a
/// block cut into single instructions must give the same packets.
#[track_caller]
pub(super) fn check(config: &Config, run: &Run, expected: &[&str]) {
    let told = words(&packets(config, run), &config.options);
    let inner = &told[1..told.len() - 1];
    assert_eq!(inner, expected);
    let mut single = Run::new();
    for entry in &run.entries {
        for part in 0..entry.iretire / 2 {
            let is_last = part + 1 == entry.iretire / 2;
            let itype = if is_last { entry.itype } else { IType::None };
            let (sijump, notify) = (entry.sijump && is_last, entry.notify && is_last);
            let iaddr = entry.iaddr + u64::from(part) * 4;
            single.entries.push(Entry { itype, iaddr, iretire: 2, sijump, notify, ..*entry });
        }
        if entry.iretire == 0 {
            single.entries.push(*entry);
        }
    }
    assert_eq!(words(&packets(config, &single), &config.options), told, "single instructions");
}
