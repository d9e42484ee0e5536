use std::collections::BTreeSet;
use std::num::NonZero;

use tracewright_core::{Element, Security, TraceOn};
use tracewright_etm::encode::{Commits, Encoder, Options};
use tracewright_etm::packet::{Kind, Packet, Parser};
use tracewright_etm::{Params, Protocol, Registers};

use crate::Rng;
use crate::program::{Executor, Happenings, Program};

/// A random execution under a random trace unit, and its trace.
#[derive(Clone, Debug)]
pub struct Run {
    /// Registers of the trace unit.
    pub registers: Registers,
    /// Options of the encoder.
    pub options: Options,
    /// The execution; ends with [`Element::End`]. See [`traced`](crate::traced) and
    /// [`lister::as_listed`](crate::lister::as_listed) for what decoders return.
    pub executed: Vec<Element>,
    /// The trace.
    pub bytes: Vec<u8>,
    /// Offset in `bytes` of the trace that must be kept. If it is not 0, what was before is not in `executed` and can
    /// be dropped, as if a buffer was overwritten.
    pub start: usize,
}

/// Intended reader of a [`Run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A reader without limits.
    Any,
    /// OpenCSD 1.3.3, which has its limits:
    ///
    /// * It does not commit with cycle counts (TRCIDR0.COMMOPT = 0): what only they commit is missing where trace ends. So there are
    ///   no overflows then, and the end is not compared (see [`Run::cycle_counts_commit`]). There are no source addresses either,
    ///   since at the end of trace it does not count them among what is not committed.
    /// * It empties the return stack where it reads Trace Info, not where that comes in the order of commits. So everything is
    ///   committed there, and where that is impossible, as above, no Trace Info comes.
    /// * It takes elements that the first Trace Info declares uncommitted (SPEC) for ones that it will see. So reading starts only
    ///   where there are none.
    OpenCsd133,
}

impl Run {
    /// Runs `program` for several thousand instructions at most. `id` is the source's ID.
    pub fn random(rng: &mut Rng, program: &Program, id: u8, reader: Reader) -> Self {
        let registers = registers(rng, id);
        let opencsd = reader == Reader::OpenCsd133;
        let counts_commit = cycle_counts_commit(&registers);
        let happenings = Happenings {
            exceptions: *rng.pick(&[0, 5, 20, 200]),
            cycles: *rng.pick(&[2, 10]),
            cycle_threshold: *rng.pick(&[1, 4, 200]),
            timestamps: *rng.pick(&[5, 50]),
            markers: registers.trcidr0 & 1 << 23 != 0,
            events: *rng.pick(&[0, 20]),
            gaps: *rng.pick(&[0, 50, 200]),
            overflows: if opencsd && counts_commit { 0 } else { *rng.pick(&[0, 0, 100]) },
            machines: 2,
            security: *rng.pick(&[Security::Secure, Security::NonSecure]),
        };
        let return_stack = registers.trcconfigr & 1 << 12 != 0;
        let sync_every = *rng.pick(&[0, 40, 150, 1000]);
        let seed = rng.next_u64();
        let options = Options {
            sync_every: NonZero::new(if opencsd && return_stack && counts_commit { 0 } else { sync_every }),
            return_stack: *rng.pick(&[1, 3, 16]),
            cycle_threshold: happenings.cycle_threshold,
            commits: *rng.pick(&[Commits::AtMaxSpec, Commits::Implicit, Commits::Random(seed)]),
            commit_before_sync: (opencsd && return_stack) || rng.one_in(2),
            mispredict: rng.one_in(2).then_some(seed),
            source_addresses: rng.one_in(2).then_some(seed).filter(|_| !(opencsd && counts_commit)),
        };
        let instructions = *rng.pick(&[200, 2000, 5000]);
        let executed = Executor::new(program, Rng::new(rng.next_u64()), happenings).elements(instructions);

        let mut encoder = Encoder::new(&registers, options.clone()).unwrap_or_else(|error| panic!("{error}"));
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for element in &executed {
            starts.push(bytes.len());
            encoder.element(element, &mut bytes).unwrap_or_else(|error| panic!("{element:?}: {error}"));
        }
        let mut run = Self { registers, options, executed, bytes, start: 0 };
        let all_seen = run.registers.trcidr8 == 0 || run.options.commit_before_sync;
        if (all_seen || !opencsd) && rng.one_in(3) {
            run.start_at(*rng.pick(&run.syncs()), &starts);
        }
        run
    }

    /// Returns whether cycle counts commit, and that matters.
    pub fn cycle_counts_commit(&self) -> bool {
        cycle_counts_commit(&self.registers)
    }

    /// Returns the trace that must be kept.
    pub fn trace(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Returns the kinds of packets that occur.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        self.packets().into_iter().map(|(_, packet)| packet.kind()).collect()
    }

    fn packets(&self) -> Vec<(usize, Packet)> {
        let mut packets = Vec::new();
        let mut sink = |offset: u64, _bytes: &[u8], packet: &Packet| {
            assert!(!packet.kind().is_error(), "{packet:?}");
            packets.push((offset as usize, *packet));
        };
        let params = Params::new(&self.registers).unwrap_or_else(|error| panic!("{error}"));
        let mut parser = Parser::new(params);
        parser.feed(&self.bytes, &mut sink);
        parser.finish(&mut sink);
        packets
    }

    fn syncs(&self) -> Vec<usize> {
        self.packets().iter().filter(|(_, packet)| *packet == Packet::Async).map(|&(at, _)| at).collect()
    }

    /// Moves the start to a synchronisation point. `starts` has the offset of each element.
    fn start_at(&mut self, sync: usize, starts: &[usize]) {
        let first = starts.partition_point(|&start| start <= sync) - 1;
        let context = self.executed[..first].iter().rfind(|element| matches!(element, Element::Context(..)));
        // After Trace On the context comes anyway.
        let context = context.copied().filter(|_| matches!(self.executed[first], Element::Block(_)));
        self.executed = context.into_iter().chain(self.executed[first..].iter().copied()).collect();
        // The overflow was reported before.
        if let Element::TraceOn(reason) = &mut self.executed[0] {
            *reason = TraceOn::Normal;
        }
        self.start = sync;
    }
}

fn cycle_counts_commit(registers: &Registers) -> bool {
    registers.trcidr8 > 0 && registers.trcconfigr & 1 << 4 != 0 && registers.trcidr0 & 1 << 29 == 0
}

/// Returns random registers of a trace unit whose instruction trace can be decoded: no data trace, no conditional instructions.
fn registers(rng: &mut Rng, id: u8) -> Registers {
    let protocol = if rng.one_in(4) { Protocol::Ete } else { Protocol::Etm4 };
    let minor = rng.below(if protocol == Protocol::Etm4 { 7 } else { 3 }) as u32;
    let mut on = |bit: u32| (rng.below(2) as u32) << bit;
    // BB, CCI, CID, VMID, TS, RS.
    let trcconfigr = 1 | on(3) & on(3) | on(4) | on(6) | on(7) | on(11) | on(12);
    // TSMARK, COMMOPT; in all TRCBB, TRCCCI, RETSTACK, four events, 64-bit timestamps.
    let has_markers = minor >= if protocol == Protocol::Etm4 { 6 } else { 1 };
    let trcidr0 = 0x0800_0ea1 | (u32::from(has_markers) * on(23)) | on(29);
    // WFXMODE; in all 64-bit addresses, 32-bit context IDs, 20-bit cycle counts.
    let trcidr2 = 0x1000_0088 | on(31);
    let vmid_size = *rng.pick(if minor == 0 { &[1][..] } else { &[1, 2, 4] });
    Registers {
        protocol,
        trcconfigr,
        trctraceidr: id.into(),
        trcidr0,
        trcidr1: 0x4100_f403 | minor << 4,
        trcidr2: trcidr2 | vmid_size << 10,
        trcidr8: *rng.pick(&[0, 0, 0, 1, 3, 16, 78]),
        trcdevarch: 0x4770_5a13 | minor << 16,
        ..Registers::default()
    }
}
