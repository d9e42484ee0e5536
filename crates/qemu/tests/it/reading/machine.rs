//! Runs random code translation by translation as QEMU would, and makes the log and the expected reports.

use std::collections::HashMap;

use tracewright_core::{Class, Ended, Flow, Isa};
use tracewright_hart::{Access, Trap};
use tracewright_isa::riscv::AccessKind;
use tracewright_isa::{ItState, decode};
use tracewright_qemu::format::{Header, LogData, Off, Record, Target, TranslationRecord, Word, access};
use tracewright_testkit::Rng;

use super::code::{Code, Instruction, Kind};
use super::expected::{Expected, Step, Told};
use super::writer::{CHUNK, Records, Words};

/// A run of some threads.
pub struct Ran {
    pub header: Header,
    pub records: Records,
    pub threads: Vec<Words>,
    /// Expected reports of each thread.
    pub told: Vec<Vec<Told>>,
}

/// A translation.
#[derive(Clone, Debug)]
struct Translation {
    number: u32,
    instructions: Vec<(u64, Instruction, Class)>,
    /// Address after it. The IT block there follows.
    end: u64,
    it: ItState,
}

struct Machine {
    rng: Rng,
    code: Code,
    isas: Vec<Isa>,
    header: Header,
    records: Records,
    translations: HashMap<(u64, Isa, ItState), Vec<Translation>>,
    count: u32,
    /// Addresses of signal handlers.
    handlers: Vec<(u64, Isa)>,
}

/// A place: address, instruction set, IT block.
type Place = (u64, Isa, ItState);

/// Runs some threads.
pub fn run(seed: u64) -> Ran {
    let mut rng = Rng::new(seed);
    let (target, isas) = match seed % 3 {
        0 => (Target::Aarch64, vec![Isa::A64]),
        1 => (Target::Arm, vec![Isa::A32, Isa::T32]),
        _ => (Target::Riscv64, vec![Isa::Rv64]),
    };
    let data = match rng.one_in(2) {
        false => LogData::Nothing,
        true if rng.one_in(2) => LogData::Values,
        true => LogData::Addresses,
    };
    let header = Header { chunk_size: CHUNK as u32, data, pid: 100, ..Header::new(target) };
    let mut machine = Machine {
        code: Code::new(Rng::new(rng.next_u64())),
        isas,
        header,
        records: Records::default(),
        translations: HashMap::new(),
        count: 0,
        handlers: Vec::new(),
        rng,
    };
    machine.records.add(&Record::Command(b"/bin/program\0argument\0"));
    for signal in 0..2 {
        let (address, isa, _) = machine.entry();
        machine.handlers.push((address, isa));
        // Bit 0 marks T32.
        let address = address | u64::from(isa == Isa::T32);
        machine.records.add(&Record::Handler { signal: 10 + signal, address });
    }
    let count = 1 + machine.rng.below(3) as u32;
    let mut threads = Vec::new();
    let mut told = Vec::new();
    for index in 0..count {
        machine.records.add(&Record::Thread { index, tid: 100 + index });
        let mut words = Words::default();
        told.push(machine.thread(100 + index, &mut words));
        threads.push(words);
    }
    Ran { header, records: machine.records, threads, told }
}

impl Machine {
    fn entry(&mut self) -> Place {
        let isa = *self.rng.pick(&self.isas);
        (Code::entry(isa, &mut self.rng), isa, ItState::default())
    }

    /// Runs a thread.
    fn thread(&mut self, tid: u32, words: &mut Words) -> Vec<Told> {
        let mut expected = Expected::default();
        expected.told = vec![Told::Privilege(tracewright_hart::Privilege::User), Told::Context(tid.into())];
        let mut place = self.entry();
        let mut from = 0;
        let mut rounds = *self.rng.pick(&[3_u32, 50, 1500]);
        // The target of a trap is known once it runs.
        while rounds > 0 || !expected.is_running() {
            rounds = rounds.saturating_sub(1);
            if self.rng.one_in(100) && expected.is_running() {
                // Recording stops, and begins elsewhere, within a translation.
                expected.stop();
                if self.rng.one_in(2) {
                    words.word(Word::Off(*self.rng.pick(&[Off::Stop, Off::Limit])));
                }
                place = self.entry();
                let translation = self.translation(place);
                from = self.rng.below(translation.instructions.len() as u64) as usize;
                words.word(Word::From(from as u32));
                expected.told.push(Told::Lost);
                // No other translation may take its place now.
                place = self.go(&translation, place, from, words, &mut expected);
                from = 0;
                continue;
            }
            let translation = self.translation(place);
            place = self.go(&translation, place, from, words, &mut expected);
        }
        expected.stop();
        words.word(Word::Off(Off::Exit));
        expected.told
    }

    /// Translates the code at a place, or takes an earlier translation.
    fn translation(&mut self, place: Place) -> Translation {
        let (start, isa, mut it) = place;
        let known = self.translations.get(&place).map(Vec::as_slice).unwrap_or_default();
        if !known.is_empty() && !self.rng.one_in(30) {
            return self.rng.pick(known).clone();
        }
        let most = *self.rng.pick(&[1, 3, 512, 512, 512]);
        let mut instructions = Vec::new();
        let mut at = start;
        let mut bytes = Vec::new();
        loop {
            let instruction = self.code.fetch(isa, at);
            let code = instruction.bytes(isa);
            let found = decode(isa, at, &code, &mut it).unwrap();
            assert_eq!(found.len, instruction.len, "{instruction:?}");
            bytes.extend(code);
            instructions.push((at, instruction, found.class));
            at += u64::from(found.len);
            let kind = instruction.kind;
            let ends = found.class.is_branch() || matches!(kind, Kind::Call | Kind::Break | Kind::Undefined);
            // Barriers end translations in QEMU, most of the time.
            let ends = ends || kind == Kind::Barrier && self.rng.one_in(2);
            if ends || instructions.len() >= most || at & 0xfff < 4 {
                break;
            }
        }
        let number = self.count;
        self.count += 1;
        let count = instructions.len() as u32;
        self.records.add(&Record::Translation(TranslationRecord { start, isa, count, code: &bytes }));
        let translation = Translation { number, instructions, end: at, it };
        self.translations.entry(place).or_default().push(translation.clone());
        translation
    }

    /// Runs a translation from an instruction on. Returns where execution continues.
    fn go(
        &mut self,
        translation: &Translation,
        place: Place,
        from: usize,
        words: &mut Words,
        expected: &mut Expected,
    ) -> Place {
        let isa = place.1;
        words.translation(translation.number);
        let mut it = place.2;
        for (index, &(at, instruction, class)) in translation.instructions.iter().enumerate() {
            let before = it;
            decode(isa, at, &instruction.bytes(isa), &mut it);
            if index < from {
                continue;
            }
            if let Some(place) = self.trap(index, at, &instruction, isa, translation, words, expected) {
                return place;
            }
            if self.rng.one_in(100) {
                // It does not retire, and is tried again.
                words.word(Word::Left(index as u32));
                expected.has_begun = true;
                return (at, isa, before);
            }
            self.end_block(at, expected);
            let accesses = self.accesses(index as u32, &instruction, words);
            let mut class = class;
            if let (Kind::PairSecond { .. }, Some(last)) = (instruction.kind, expected.last())
                && last.at + 4 == at
                && last.bits == 0x317
            {
                class.flow = Flow::Pair;
            }
            let (bits, len) = (instruction.bits, instruction.len);
            expected.retire(Step { isa, at, len, bits, class, accesses });
        }
        self.next(translation, isa, words, expected)
    }

    /// Ends the block at a barrier in the middle of a translation, or at the end of the previous one.
    fn end_block(&mut self, at: u64, expected: &mut Expected) {
        if let Some(last) = expected.last()
            && last.class.ends_block()
        {
            assert_eq!(last.at + u64::from(last.len), at);
            expected.end(if last.class.is_branch() { Ended::NotTaken } else { Ended::Through });
        }
    }

    /// Runs an instruction that traps or does not retire.
    #[expect(clippy::too_many_arguments, reason = "all of them are different things")]
    fn trap(
        &mut self,
        index: usize,
        at: u64,
        instruction: &Instruction,
        isa: Isa,
        translation: &Translation,
        words: &mut Words,
        expected: &mut Expected,
    ) -> Option<Place> {
        let riscv = isa == Isa::Rv64;
        let faults = self.rng.one_in(60);
        let (cause, call) = match (instruction.kind, riscv) {
            (Kind::Call, true) => (8, true),
            (Kind::Call, false) => (2, true),
            (Kind::Break, true) => (3, false),
            (Kind::Break, false) => (6, false),
            (Kind::Undefined, true) => (2, false),
            (Kind::Undefined, false) => (3, false),
            (Kind::Load, true) if faults => (13, false),
            (Kind::Store, true) if faults => (15, false),
            (Kind::Load | Kind::Store, false) if faults => (12, false),
            _ => return None,
        };
        self.end_block(at, expected);
        let after = at + u64::from(instruction.len);
        if call && !riscv {
            let (bits, len) = (instruction.bits, instruction.len);
            let class = Class { conditional: isa == Isa::A32 && bits >> 28 < 14, ..Class::NEXT };
            expected.retire(Step { isa, at, len, bits, class, accesses: Vec::new() });
        }
        expected.cut();
        let place = if call && !self.rng.one_in(5) {
            (after, isa, translation.it)
        } else {
            let mut place = self.entry();
            while place.0 == at {
                place = self.entry();
            }
            place
        };
        // Instructions that always trap need no word.
        let is_last = index + 1 == translation.instructions.len();
        if !matches!(instruction.kind, Kind::Call | Kind::Break | Kind::Undefined)
            || self.rng.one_in(2)
            || !is_last
        {
            let retired = if call && !riscv { index + 1 } else { index };
            // That all retired is implied, most of the time.
            if !is_last || retired == index {
                words.word(Word::Left(retired as u32));
            }
        }
        let pc = if call && !riscv { after } else { at };
        let trap = Trap { pc, cause, interrupt: false, value: 0, next: place.0, served: call };
        expected.told.push(Told::Trap(trap));
        Some(place)
    }

    fn accesses(&mut self, index: u32, instruction: &Instruction, words: &mut Words) -> Vec<Access> {
        let is_store = instruction.kind == Kind::Store;
        if self.header.data == LogData::Nothing || !matches!(instruction.kind, Kind::Load | Kind::Store) {
            return Vec::new();
        }
        let size_shift = self.rng.below(5) as u32;
        let (address, low, high) = (self.rng.next_u64(), self.rng.next_u64(), self.rng.next_u64());
        let mut all = vec![access(index, size_shift, is_store), address as u32, (address >> 32) as u32];
        let values = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
        let has_values = self.header.data == LogData::Values;
        if has_values {
            all.extend(&values[..(1 << size_shift as usize >> 2).max(1)]);
        }
        words.words(&all);
        let kind = if is_store { AccessKind::Store } else { AccessKind::Load };
        let of = |size: u8, address: u64, value: u64| {
            let value = if size == 8 { value } else { value & ((1 << (8 * size)) - 1) };
            let value = if has_values { value } else { 0 };
            Access { index: 0, kind, size, address, value }
        };
        match size_shift {
            4 => vec![of(8, address, low), of(8, address.wrapping_add(8), high)],
            shift => vec![of(1 << shift, address, low)],
        }
    }

    /// Returns where the last instruction leads, or a signal handler.
    fn next(
        &mut self,
        translation: &Translation,
        isa: Isa,
        words: &mut Words,
        expected: &mut Expected,
    ) -> Place {
        let &(_, instruction, _) = translation.instructions.last().unwrap();
        let class = expected.last().unwrap().class;
        let after = (translation.end, isa, translation.it);
        let taken = !class.conditional || self.rng.one_in(2);
        let place = match (class.flow, instruction.kind) {
            (Flow::Direct, Kind::Direct { target, .. }) | (Flow::Pair, Kind::PairSecond { target })
                if taken =>
            {
                (target, isa, ItState::default())
            }
            (Flow::Indirect, _) if taken => self.entry(),
            _ => after,
        };
        let goes_on = (place.0, place.1) == (after.0, after.1);
        let ended = match class.flow {
            Flow::Next => None,
            Flow::Direct | Flow::Indirect | Flow::Pair if class.conditional && goes_on => {
                Some(Ended::NotTaken)
            }
            Flow::Direct | Flow::Indirect | Flow::Pair => Some(Ended::Taken),
            _ => Some(Ended::Through),
        };
        if !self.rng.one_in(60) {
            let is_indirect = class.flow == Flow::Indirect && ended == Some(Ended::Taken);
            if is_indirect && self.handlers.contains(&(place.0, place.1)) {
                // It would look like a signal.
                return self.next(translation, isa, words, expected);
            }
            if let Some(ended) = ended {
                expected.end(ended);
            }
            return place;
        }
        // A signal.
        let handler = *self.rng.pick(&self.handlers);
        let known = !class.conditional && class.flow != Flow::Indirect;
        let looks_right = match class.flow {
            Flow::Indirect => handler == (after.0, isa),
            _ => handler == (place.0, place.1) || handler == (after.0, isa) || class.conditional,
        };
        if looks_right || self.rng.one_in(2) {
            words.word(Word::Signal);
        }
        expected.cut();
        if known || class.flow == Flow::Next {
            let cause = if isa == Isa::Rv64 { 0 } else { 0xe };
            let trap = Trap { pc: place.0, cause, interrupt: true, value: 0, next: handler.0, served: false };
            expected.told.push(Told::Trap(trap));
        } else {
            expected.told.push(Told::Lost);
        }
        (handler.0, handler.1, ItState::default())
    }
}
