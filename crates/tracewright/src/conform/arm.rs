//! The cases of ETMv4: a script of what a core executes, for trace units with other registers.

use std::fmt::Write as _;
use std::num::NonZero;

use tracewright_capture::etm::Settings;
use tracewright_capture::options::plain_name;
use tracewright_core::{
    Block, Context, Element, Ended, Exception, Flow, GapReason, Isa, Security, TraceId, TraceOn,
};
use tracewright_etm::Registers;
use tracewright_etm::encode::{Commits, Encoder, Options};
use tracewright_isa::{ItState, decode};

use super::{Case, Error, Kit, files};

/// Where the program is: above 4 GiB in AArch64, so that addresses of all forms occur.
const BASE: [u64; 2] = [0x1_0040_0000, 0x0040_0000];

/// Distances of pieces of code from the first: near (7 and 15 bits of an address), far (32 bits).
const NEAR: u64 = 0x4000;
const FAR: u64 = 0x3_0000;

/// A64 code: a loop with a call, jumps by register, a barrier, and a system call at its end.
const A64: &[u32] = &[
    0xd503_201f, // 0x00 nop
    0xb500_0060, // 0x04 cbnz x0, 0x10
    0xd503_201f, // 0x08 nop
    0xd503_201f, // 0x0c nop
    0x9400_000b, // 0x10 bl 0x3c
    0xd503_3fdf, // 0x14 isb
    0xd61f_0020, // 0x18 br x1
    0xd503_201f, // 0x1c nop
    0x1400_0002, // 0x20 b 0x28
    0xd503_201f, // 0x24 nop
    0xd63f_0040, // 0x28 blr x2
    0xb5ff_fea0, // 0x2c cbnz x0, 0x00
    0xd400_0001, // 0x30 svc #0
    0xd503_201f, // 0x34 nop
    0x1400_0000, // 0x38 b .
    0xb400_0040, // 0x3c cbz x0, 0x44
    0xd503_201f, // 0x40 nop
    0xd65f_03c0, // 0x44 ret
];

/// The same in T32, in half-words.
const T32: &[u16] = &[
    0xbf00, // 0x00 nop
    0xd101, // 0x02 bne 0x08
    0xbf00, // 0x04 nop
    0xbf00, // 0x06 nop
    0xf000, 0xf813, // 0x08 bl 0x32
    0xbf00, // 0x0c nop
    0x4708, // 0x0e bx r1
    0xbf00, // 0x10 nop
    0xe000, // 0x12 b 0x16
    0xbf00, // 0x14 nop
    0x4790, // 0x16 blx r2
    0xd1f2, // 0x18 bne 0x00
    0xdf00, // 0x1a svc 0
];

/// A function in T32, at 0x32.
const T32_LEAF: &[u16] = &[0xd000, 0xbf00, 0x4770];

/// A core that executes a program, and what it tells its trace unit.
struct Core {
    isa: Isa,
    code: Vec<u8>,
    base: u64,
    pc: u64,
    elements: Vec<Element>,
    time: u64,
}

impl Core {
    fn new(isa: Isa) -> Self {
        let base = BASE[usize::from(isa != Isa::A64)];
        let mut code = vec![0; FAR as usize + 0x100];
        let piece: Vec<u8> = match isa {
            Isa::A64 => A64.iter().flat_map(|word| word.to_le_bytes()).collect(),
            _ => {
                let mut piece: Vec<u8> = T32.iter().flat_map(|half| half.to_le_bytes()).collect();
                piece.resize(0x32, 0);
                piece.extend(T32_LEAF.iter().flat_map(|half| half.to_le_bytes()));
                piece
            }
        };
        for at in [0, NEAR, FAR] {
            code[at as usize..at as usize + piece.len()].copy_from_slice(&piece);
        }
        Self { isa, code, base, pc: base, elements: Vec::new(), time: 1000 }
    }

    fn tell(&mut self, element: Element) {
        self.elements.push(element);
    }

    /// Runs up to the end of the block. Its branch is taken or not; a jump by register goes to `to`.
    fn go(&mut self, taken: bool, to: Option<u64>) {
        let (start, mut at, mut count) = (self.pc, self.pc, 0);
        let mut it = ItState::default();
        loop {
            let Some(bytes) = self.code.get(at.wrapping_sub(self.base) as usize..) else { return };
            let Some(found) = decode(self.isa, at, bytes, &mut it) else { return };
            at += u64::from(found.len);
            count += 1;
            if found.class.flow == Flow::Next {
                continue;
            }
            let ended = match found.class.flow {
                Flow::Isb | Flow::Wait => Ended::Through,
                _ if taken => Ended::Taken,
                _ => Ended::NotTaken,
            };
            self.pc = match (ended, found.class.flow) {
                (Ended::Taken, Flow::Direct) => found.target,
                (Ended::Taken, _) => to.unwrap_or(at),
                _ => at,
            };
            let (class, last_len) = (found.class, found.len);
            self.tell(Element::Block(Block { start, end: at, count, isa: self.isa, last_len, class, ended }));
            return;
        }
    }

    /// Runs `count` instructions that no branch ends, and then takes an exception.
    fn trap(&mut self, count: u32, number: u16, handler: u64) {
        if count > 0 {
            let size = u64::from(self.isa.shortest());
            let (start, end) = (self.pc, self.pc + size * u64::from(count));
            let (class, ended) = (tracewright_core::Class::NEXT, Ended::Cut);
            let last_len = self.isa.shortest();
            self.tell(Element::Block(Block { start, end, count, isa: self.isa, last_len, class, ended }));
            self.pc = end;
        }
        let exception = Exception {
            number,
            interrupt: false,
            value: None,
            return_address: Some(self.pc),
            at_target: false,
        };
        self.tell(Element::Exception(exception));
        self.pc = handler;
    }

    /// Switches tracing on where execution is.
    fn on(&mut self, context: Context) {
        self.tell(Element::TraceOn(TraceOn::Normal));
        self.tell(Element::Context(context, self.isa));
    }

    /// Runs the loop once, from its first instruction: the branch at its start, the piece that the jump by register goes to, and whether
    /// the loop goes on.
    fn turn(&mut self, branch: bool, leaf: bool, far: u64, again: bool) {
        let half = u64::from(self.isa != Isa::A64);
        let place = self.base;
        let at = |a64: u64, t32: u64| if half == 0 { a64 } else { t32 };
        self.go(branch, None);
        self.go(true, None); // The call.
        self.leaf(leaf);
        if self.isa == Isa::A64 {
            self.go(false, None); // The barrier.
        }
        self.go(true, Some(place + far + at(0x1c, 0x10)));
        self.go(true, None);
        self.go(true, Some(place + far + at(0x3c, 0x32)));
        self.leaf(!leaf);
        self.go(again, None);
    }

    fn leaf(&mut self, skips: bool) {
        let back = self.elements.iter().rev().find_map(|element| match element {
            Element::Block(block) => Some(block.end),
            _ => None,
        });
        self.go(skips, None);
        self.go(true, back);
    }

    /// Goes to the first instruction of a piece, by tracing anew.
    fn restart(&mut self, context: Context, far: u64) {
        self.pc = self.base + far;
        self.on(context);
    }

    fn tick(&mut self, by: u64) {
        self.time += by;
        let value = self.time;
        self.tell(Element::Timestamp { value, cycles: by.is_multiple_of(3).then_some(by as u32) });
    }
}

/// Executes the script: everything that a trace unit can be told of, some of it many times.
fn script(isa: Isa, has_paths: bool) -> Core {
    let context = |level: u8, id: u32| Context {
        level,
        security: Security::NonSecure,
        is_64bit: isa == Isa::A64,
        vmid: Some(7),
        context_id: Some(id),
    };
    let user = context(0, 42);
    let mut core = Core::new(isa);
    core.on(user);
    let mut bits = 0x9_e377_u32;
    for turn in 0..40 {
        let far = [0, NEAR, FAR, 0, 0, NEAR][turn % 6];
        let again = turn % 8 != 7;
        core.turn(bits & 1 == 1, bits & 2 == 2, far, again);
        bits = bits.rotate_left(3) ^ turn as u32;
        core.tell(Element::Cycles(Some([7, 5, 30, 4, 900, 12][turn % 6])));
        if turn % 5 == 4 {
            core.tick([1, 3, 200, 6, 70_000, 5_000_000_000, 9][turn % 7]);
        }
        if !again {
            match turn / 8 {
                // A system call, and back; then other contexts, and a handler with branches.
                0 => {
                    core.trap(0, 2, core.base + NEAR);
                    core.tell(Element::Context(context(1, 42), isa));
                    core.turn(true, true, 0, false);
                    core.tell(Element::ExceptionReturn);
                    core.restart(user, 0);
                }
                1 => {
                    core.trap(0, 14, core.base + FAR);
                    core.tell(Element::Context(context(2, 99), isa));
                    core.turn(false, true, NEAR, false);
                    core.tell(Element::Event(0b0101));
                    core.restart(context(0, 43), 0);
                }
                2 => {
                    core.tell(Element::Cycles(None));
                    core.tell(Element::Lost(GapReason::Overflow));
                    core.tell(Element::TraceOn(TraceOn::Overflow));
                    core.tell(Element::Context(user, isa));
                    core.pc = core.base + NEAR;
                }
                3 => {
                    core.tell(Element::Lost(GapReason::Discard));
                    core.restart(user, FAR);
                }
                _ => core.restart(user, 0),
            }
        }
    }
    if has_paths {
        for count in [Some(3), Some(9), None] {
            let start = core.pc;
            core.tell(Element::UnknownPath { start: Some(start), next: core.base, isa, count });
            core.pc = core.base;
            core.turn(true, true, 0, true);
        }
        // Far away and back: an address of 64 bits.
        let far = 0x7_0000_0000;
        let start = core.pc;
        core.tell(Element::UnknownPath { start: Some(start), next: far, isa, count: None });
        core.tell(Element::UnknownPath { start: Some(far), next: core.base, isa, count: None });
        core.pc = core.base;
        core.turn(true, true, 0, true);
    }
    core.restart(user, 0);
    for turn in 0..30 {
        // Long loops, for the longest atoms.
        core.turn(true, false, 0, turn < 29);
    }
    core.trap(0, 10, core.base);
    core.tell(Element::End);
    core
}

/// What is executed as CSV, for people who drive a model of a trace unit.
fn table(core: &Core) -> String {
    let mut text = String::from("what,address,end,instructions,outcome,context,number,value\n");
    for element in &core.elements {
        let _ = match *element {
            Element::Block(Block { start, end, count, ended, .. }) => {
                let outcome = match ended {
                    Ended::Taken => "taken",
                    Ended::NotTaken => "not taken",
                    Ended::Through => "through",
                    Ended::Cut => "cut",
                };
                writeln!(text, "block,{start:#x},{end:#x},{count},{outcome},,,")
            }
            Element::Context(Context { level, context_id, vmid, .. }, isa) => {
                let id = |id: Option<u32>| id.map_or(String::new(), |id| id.to_string());
                writeln!(text, "context,,,,{isa:?},EL{level},{},{}", id(context_id), id(vmid))
            }
            Element::Exception(Exception { number, return_address, .. }) => {
                writeln!(text, "exception,{:#x},,,,,{number},", return_address.unwrap_or_default())
            }
            Element::Timestamp { value, cycles } => {
                writeln!(
                    text,
                    "timestamp,,,,,,{},{value}",
                    cycles.map_or(String::new(), |cycles| cycles.to_string())
                )
            }
            Element::Cycles(cycles) => {
                writeln!(
                    text,
                    "cycles,,,,,,,{}",
                    cycles.map_or("unknown".into(), |cycles| cycles.to_string())
                )
            }
            Element::UnknownPath { start, next, count, .. } => {
                let count = count.map_or(String::new(), |count| count.to_string());
                writeln!(text, "unknown path,{:#x},{next:#x},{count},,,,", start.unwrap_or_default())
            }
            Element::Event(events) => writeln!(text, "event,,,,,,,{events:#x}"),
            Element::TraceOn(reason) => writeln!(text, "trace on,,,,{reason:?},,,"),
            Element::Lost(reason) => writeln!(text, "lost,,,,{reason:?},,,"),
            Element::ExceptionReturn => writeln!(text, "exception return,,,,,,,"),
            _ => writeln!(text, "end,,,,,,,"),
        };
    }
    text
}

/// A case: name, purpose, options by name, what else is set, and whether the program is T32.
#[derive(Clone, Copy)]
struct Spec {
    name: &'static str,
    about: &'static str,
    options: &'static [&'static str],
    set: fn(&mut Registers, &mut Options),
    isa: Isa,
}

const fn case(
    name: &'static str,
    about: &'static str,
    options: &'static [&'static str],
    set: fn(&mut Registers, &mut Options),
) -> Spec {
    Spec { name, about, options, set, isa: Isa::A64 }
}

const fn t32(spec: Spec) -> Spec {
    Spec { isa: Isa::T32, ..spec }
}

/// Options that all cases have, unless they say otherwise.
const OFF: [&str; 5] =
    ["return_stack=off", "context_id=off", "branch_broadcast=off", "timestamps=off", "sync=0"];

/// TRCCONFIGR.CCI, TRCCONFIGR.VMID, TRCCONFIGR.QE.
const CYCLES: u32 = 1 << 4;
const VMID: u32 = 1 << 7;
const Q: u32 = 3 << 13;
/// TRCIDR0.COMMOPT, TRCIDR0.QSUPP.
const COMMOPT: u32 = 1 << 29;
const QSUPP: u32 = 3 << 15;

/// Makes the trace unit speculate.
fn speculate(registers: &mut Registers, options: &mut Options, depth: u32, commits: Commits) {
    registers.trcidr0 &= !COMMOPT;
    registers.trcidr8 = depth;
    options.commits = commits;
}

const SPECS: &[Spec] = &[
    case("plain", "nothing is on", &[], |_, _| {}),
    t32(case("plain-t32", "nothing is on, T32", &[], |_, _| {})),
    case("sync", "a synchronisation after 64 bytes", &["sync=64"], |_, _| {}),
    case(
        "return-stack",
        "returns that a stack of calls gives have no address",
        &["return_stack=on"],
        |_, _| {},
    ),
    case("broadcast", "each taken branch has an address", &["branch_broadcast=on"], |_, _| {}),
    t32(case("broadcast-t32", "each taken branch has an address, T32", &["branch_broadcast=on"], |_, _| {})),
    case("contexts", "context IDs and virtual machine IDs", &["context_id=on"], |registers, _| {
        registers.trcconfigr |= VMID;
    }),
    t32(case("contexts-t32", "context IDs, T32", &["context_id=on"], |_, _| {})),
    case("times", "timestamps", &["timestamps=on"], |_, _| {}),
    case("cycles", "cycle counts that commit nothing", &[], |registers, _| registers.trcconfigr |= CYCLES),
    case("cycles-commit", "cycle counts that commit", &[], |registers, options| {
        registers.trcconfigr |= CYCLES;
        speculate(registers, options, 20, Commits::AtMaxSpec);
    }),
    case(
        "all",
        "all options, and a synchronisation after 128 bytes",
        &["return_stack=on", "context_id=on", "timestamps=on", "sync=128"],
        |registers, _| registers.trcconfigr |= CYCLES | VMID,
    ),
    case("version-4-0", "ETMv4.0", &["version=4.0", "return_stack=on", "context_id=on"], |registers, _| {
        registers.trcconfigr |= VMID;
    }),
    case("version-4-6", "ETMv4.6", &["version=4.6", "return_stack=on", "context_id=on"], |_, _| {}),
    case("commits", "elements are committed by packets", &[], |registers, options| {
        speculate(registers, options, 12, Commits::Random(5));
    }),
    case(
        "implicit-commits",
        "elements are committed where there are too many",
        &["sync=128"],
        |registers, options| {
            speculate(registers, options, 6, Commits::Implicit);
        },
    ),
    case("mispredicts", "elements are cancelled and corrected", &[], |registers, options| {
        speculate(registers, options, 16, Commits::Random(9));
        options.mispredict = Some(3);
    }),
    case(
        "mispredicts-deep",
        "many elements are cancelled, synchronisation within",
        &["sync=128"],
        |registers, options| {
            speculate(registers, options, 60, Commits::AtMaxSpec);
            options.mispredict = Some(11);
        },
    ),
    case("unknown-paths", "Q packets", &[], |registers, _| {
        registers.trcconfigr |= Q;
        registers.trcidr0 |= QSUPP;
    }),
];

/// Writes the programs, and all cases that the encoder's options allow.
pub fn fill(kit: &mut Kit, given: &[String]) -> Result<(), Error> {
    Settings::new(Isa::A64).with(given)?;
    for name in super::option_names(&Settings::help()) {
        kit.options.entry(name).or_default();
    }
    for (name, isa, has_paths) in
        [("a64", Isa::A64, false), ("t32", Isa::T32, false), ("a64q", Isa::A64, true)]
    {
        let (core, dir) = (script(isa, has_paths), kit.dir.join("runs").join(name));
        files::folder(&dir)?;
        files::write(&dir.join("program.bin"), &core.code)?;
        files::write(&dir.join("retirement.csv"), table(&core).as_bytes())?;
    }
    let name_of = |option: &str| plain_name(option.split('=').next().unwrap_or_default()).to_owned();
    for spec in SPECS {
        let pinned = given
            .iter()
            .find(|of| spec.options.iter().any(|other| name_of(other) == name_of(of) && other != of));
        if let Some(pinned) = pinned {
            kit.left_out.push((spec.name.into(), format!("the encoder has {pinned}")));
            continue;
        }
        let mut options: Vec<String> = spec.options.iter().map(ToString::to_string).collect();
        options.extend(given.iter().filter(|of| !spec.options.contains(&of.as_str())).cloned());
        let base = OFF.iter().filter(|of| !options.iter().any(|other| name_of(other) == name_of(of)));
        let options: Vec<String> = base.map(ToString::to_string).chain(options.iter().cloned()).collect();
        let settings = Settings::new(spec.isa).with(&options)?;
        let mut registers = settings.registers(TraceId::new(0x10).unwrap_or_default());
        let mut encoder = Options { sync_every: NonZero::new(settings.sync), ..Options::default() };
        (spec.set)(&mut registers, &mut encoder);
        let has_paths = registers.trcconfigr & Q != 0;
        let core = script(spec.isa, has_paths);
        let wrong = |error: &dyn std::fmt::Display| Error::Kit(format!("{}: {error}", spec.name));
        let mut unit = Encoder::new(&registers, encoder).map_err(|error| wrong(&error))?;
        let mut bytes = Vec::new();
        for element in &core.elements {
            unit.element(element, &mut bytes).map_err(|error| wrong(&error))?;
        }
        let dir = kit.dir.join("cases").join(spec.name);
        files::folder(&dir)?;
        files::write(&dir.join("trace.bin"), &bytes)?;
        let named =
            registers.named().map(|(name, value)| format!("{name}={value:#x}")).collect::<Vec<_>>().join(",");
        let core_type = if spec.isa == Isa::A64 { "Cortex-A76" } else { "Cortex-A32" };
        let source = format!("etm4,core={core_type},{named}");
        let run = match (spec.isa, has_paths) {
            (Isa::A64, true) => "a64q",
            (Isa::A64, false) => "a64",
            _ => "t32",
        };
        kit.add(Case {
            name: spec.name.into(),
            about: spec.about.into(),
            options,
            run: run.into(),
            also: Some(format!("registers {named}")),
            source: Some((source, core.base)),
            bytes: bytes.len() as u64,
            kinds: std::collections::BTreeMap::new(),
        })?;
    }
    Ok(())
}
