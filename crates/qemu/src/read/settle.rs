//! Reports what a translation executed, once its successor is known.

use tracewright_core::{Block, Ended, Flow, Isa};
use tracewright_hart::{Access, HartSink};
use tracewright_isa::ItState;
use tracewright_isa::riscv::AccessKind;

use super::code::Run;
use super::definitions::{Definitions, Translation};
use super::thread::Thread;
use super::trapping::{self, Trapping};

/// An address and its instruction set.
type Place = (u64, Isa);

/// Destination of the last instruction of a run.
enum Lead {
    /// To the next instruction: the block has not ended.
    On,
    /// To what came next.
    There(Ended),
    /// Elsewhere, since a signal came in between. The address is that, if known.
    Elsewhere(Ended, Option<u64>),
}

/// How a translation stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// After its last instruction.
    End,
    /// The next instruction did not retire.
    Left,
    /// The next instruction made a system call.
    Call,
    /// The next instruction traps whenever it runs.
    Trap,
}

impl Thread {
    /// Reports what the current translation executed. `next` is what came after it; `None` if nothing did.
    ///
    /// Returns why its block ended, if reporting that was all, and will be whenever `next` comes after it.
    pub(super) fn settle<S: HartSink>(
        &mut self,
        next: Option<Place>,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Option<Ended> {
        let node = self.nodes.get(self.now? as usize)?;
        let translation = definitions.translation(node.translation)?;
        let is_clean = node.is_simple
            && (self.from, self.left, self.signal) == (0, None, false)
            && self.before.is_none()
            && self.it == ItState::default();
        let isa = translation.isa;
        let bits = definitions.instructions(translation);
        let (mut last, mut stop) = match (self.left, translation.trapping) {
            (Some(count), _) if count < translation.count => (count, Stop::Left),
            (_, Some(Trapping::Call)) => (translation.count - 1, Stop::Call),
            (_, Some(_)) => (translation.count - 1, Stop::Trap),
            (_, None) => (translation.count, Stop::End),
        };
        let at = definitions.address(translation, last);
        let asked = bits.get(last as usize).copied().unwrap_or_default();
        // An instruction that did not retire is tried again: nothing happened.
        let is_again = stop == Stop::Left && next == Some((at, isa));
        if stop == Stop::Left && !is_again && Trapping::of(isa, asked) == Some(Trapping::Call) {
            stop = Stop::Call;
        }
        let is_arm_call = stop == Stop::Call && !trapping::is_riscv(isa);
        last += u32::from(is_arm_call);
        self.append(translation, last, definitions, sink);
        let end = definitions.address(translation, last);
        if is_arm_call
            && next == Some((end, isa))
            && self.before.is_some_and(|run| run.block.class.conditional)
        {
            stop = Stop::End;
        }
        let it = self.before.map_or(self.it, |run| run.it);
        self.it = ItState::default();
        self.accesses.clear();
        match stop {
            Stop::End if !translation.is_whole => {
                // Code that could not be read ran, and may have done anything.
                self.close(sink);
                self.gap = true;
            }
            Stop::End => return self.lead(next, it, definitions, sink).filter(|_| is_clean),
            Stop::Left if is_again => {
                if self.before.is_some_and(|run| run.ends_block()) {
                    self.close(sink);
                }
                self.it = it;
            }
            Stop::Call => {
                self.close(sink);
                let pc = if is_arm_call { end } else { at };
                sink.trap(&trapping::call(isa, pc, next.map_or(pc, |(next, _)| next)));
                if next == Some((end, isa)) {
                    self.it = it;
                }
            }
            Stop::Left | Stop::Trap => {
                self.close(sink);
                if let Some((next, _)) = next {
                    sink.trap(&trapping::fault(isa, asked, at, next));
                }
            }
        }
        None
    }

    /// Appends the instructions of a translation up to this index to the pending run. Reports blocks that end on the way.
    fn append<S: HartSink>(
        &mut self,
        translation: &Translation,
        upto: u32,
        definitions: &Definitions,
        sink: &mut S,
    ) {
        let is_whole = self.from == 0 && upto == translation.count && self.it == ItState::default();
        let mut accesses = 0;
        if is_whole {
            let mut first = 0;
            for run in definitions.runs(translation) {
                self.piece(run, first, translation, &mut accesses, definitions, sink);
                first += run.block.count;
            }
            return;
        }
        let (mut at, mut it) = (translation.start, self.it);
        for (index, &bits) in (0..upto).zip(definitions.instructions(translation)) {
            let run = Run::of(translation.isa, at, bits, &mut it);
            at = run.block.end;
            if index >= self.from {
                self.piece(&run, index, translation, &mut accesses, definitions, sink);
            }
        }
        if self.before.is_none() {
            self.it = it;
        }
    }

    /// Appends a run whose first instruction has this index.
    fn piece<S: HartSink>(
        &mut self,
        piece: &Run,
        first: u32,
        translation: &Translation,
        accesses: &mut usize,
        definitions: &Definitions,
        sink: &mut S,
    ) {
        let Block { start, count, isa, .. } = piece.block;
        if self.before.is_some_and(|run| run.ends_block()) {
            self.inner((start, isa), sink);
        }
        let before = self.before.map_or(0, |run| run.block.count);
        if S::INSTRUCTIONS {
            sink.instructions(definitions.bits_at(translation.first_bits + first as usize, count));
        }
        if S::ACCESSES {
            while let Some(access) =
                self.accesses.get(*accesses).filter(|access| access.index < first + count)
            {
                *accesses += 1;
                // What comes before is not recorded.
                if access.index >= first {
                    let kind = if access.is_store { AccessKind::Store } else { AccessKind::Load };
                    sink.access(&Access {
                        index: before + access.index - first,
                        kind,
                        size: access.size,
                        address: access.address,
                        value: access.value,
                    });
                }
            }
        }
        match &mut self.before {
            Some(run) => run.join(piece),
            None => self.before = Some(*piece),
        }
    }

    /// Reports a block that ended within a translation, where another run follows.
    fn inner<S: HartSink>(&mut self, next: Place, sink: &mut S) {
        match self.before.map(|run| lead(&run, next, false)) {
            Some(Lead::There(ended)) => self.tell(ended, sink),
            Some(Lead::On | Lead::Elsewhere(..)) => {
                // QEMU ends translations at branches, so this is no branch for it, or the log is damaged.
                self.tell(Ended::Taken, sink);
                sink.lost();
            }
            None => {}
        }
    }

    /// Reports the block, now that its successor is known, and a signal in between. Returns why the block ended, if
    /// that was all.
    fn lead<S: HartSink>(
        &mut self,
        next: Option<Place>,
        it: ItState,
        definitions: &Definitions,
        sink: &mut S,
    ) -> Option<Ended> {
        let run = self.before?;
        let Some(next) = next else {
            self.close(sink);
            return None;
        };
        let is_signal = self.signal || (is_indirect(&run) && definitions.is_handler(next.0));
        match lead(&run, next, is_signal) {
            Lead::On => {
                self.it = it;
                None
            }
            Lead::There(ended) => {
                self.tell(ended, sink);
                if next.0 == run.block.end && ended != Ended::Taken {
                    self.it = it;
                }
                Some(ended)
            }
            Lead::Elsewhere(ended, place) => {
                self.tell(ended, sink);
                match place {
                    Some(pc) => sink.trap(&trapping::signal(run.block.isa, pc, next.0)),
                    None => self.gap = true,
                }
                None
            }
        }
    }

    /// Reports the block as far as it went.
    pub(super) fn close<S: HartSink>(&mut self, sink: &mut S) {
        if let Some(run) = self.before {
            let class = run.block.class;
            let ended = match (run.ends_block(), class.is_branch()) {
                (true, false) => Ended::Through,
                (true, true) if !class.conditional => Ended::Taken,
                _ => Ended::Cut,
            };
            self.tell(ended, sink);
        }
    }

    fn tell<S: HartSink>(&mut self, ended: Ended, sink: &mut S) {
        if let Some(run) = self.before.take() {
            self.instructions += u64::from(run.block.count);
            sink.block(&run.ended(ended));
        }
    }
}

/// Returns where a run led if `next` came after it. `is_signal` says that a signal came in between in any case.
fn lead(run: &Run, next: Place, is_signal: bool) -> Lead {
    let Block { end, isa, class, .. } = run.block;
    let is_next = !is_signal && next == (end, isa);
    let is_target = !is_signal && next == (run.target, run.target_isa);
    match class.flow {
        Flow::Next if is_next => Lead::On,
        Flow::Next => Lead::Elsewhere(Ended::Cut, Some(end)),
        Flow::Direct | Flow::Indirect | Flow::Pair if class.conditional && is_next => {
            Lead::There(Ended::NotTaken)
        }
        Flow::Direct | Flow::Pair if is_target => Lead::There(Ended::Taken),
        Flow::Indirect if !is_signal => Lead::There(Ended::Taken),
        Flow::Direct | Flow::Indirect | Flow::Pair if class.conditional => Lead::Elsewhere(Ended::Cut, None),
        Flow::Direct | Flow::Pair => Lead::Elsewhere(Ended::Taken, Some(run.target)),
        Flow::Indirect => Lead::Elsewhere(Ended::Taken, None),
        Flow::Isb | Flow::Wait | Flow::TransactionStart if is_next => Lead::There(Ended::Through),
        Flow::Isb | Flow::Wait | Flow::TransactionStart => Lead::Elsewhere(Ended::Through, Some(end)),
    }
}

/// Returns whether only the trace shows where the last instruction leads. If a signal handler comes next, the signal is
/// the likelier cause, and reporting an unknown target is correct in either case.
fn is_indirect(run: &Run) -> bool {
    run.block.class.flow == Flow::Indirect
}
