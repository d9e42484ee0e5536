use tracewright_isa::riscv::IType;

use super::{CType, Entry, ITypeWidth, Operation};

/// Connector between a commit stage and a trace encoder: turns the instructions that a hart commits, up to
/// eight a cycle, into entries.
///
/// Each port has a type detector. Their outputs are put in a row, the oldest first, and counted into blocks
/// by a machine with two states. The blocks that end in a cycle come out together. A block ends with any jump
/// or branch, with a trap, or when the circumstances change.
///
/// Trap signals belong to all ports. The trap comes after the newest instruction that is committed in the
/// cycle. If that instruction ends a block itself, or the block has no instruction, the trap is an entry of
/// its own.
#[derive(Clone, Debug)]
pub struct Connector {
    itype_width: ITypeWidth,
    most_half_words: u32,
    /// Part of a block that was committed; `None` if the next instruction begins one.
    block: Option<Entry>,
    /// Previous instruction.
    before: Operation,
    /// Address after the previous instruction, if it retired just before.
    end: u64,
    /// Entries that come out in this cycle.
    ready: [Entry; MAX_READY],
    count: usize,
}

/// Largest number of ports.
pub const MAX_PORTS: usize = 8;
/// For each port, its own block and one that ended before it because of its length or changed circumstances;
/// and the trap.
const MAX_READY: usize = 2 * MAX_PORTS + 1;

/// Signals of a commit port in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Whether there is an instruction.
    pub valid: bool,
    /// Address of the instruction.
    pub pc: u64,
    /// Whether the instruction has two bytes.
    pub compressed: bool,
    /// Kind of the instruction.
    pub operation: Operation,
    /// Whether a notification is requested.
    pub notify: bool,
}

/// Signals of a cycle that all ports share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// Trap that is taken.
    pub trap: Option<TrapSignals>,
    /// Privilege of the committed instructions.
    pub privilege: u8,
    /// Context.
    pub context: u64,
    /// Way to report a change of context.
    pub ctype: CType,
    /// Time.
    pub time: u64,
    /// Cycle.
    pub cycle: u64,
}

/// Signals of a trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapSignals {
    /// Whether the trap is an interrupt.
    pub interrupt: bool,
    /// Cause of the trap.
    pub cause: u64,
    /// Trap value.
    pub tval: u64,
    /// Address of the instruction that did not retire, or that would have been next.
    pub pc: u64,
}

impl Connector {
    /// Creates a connector whose blocks have at most `most_half_words` half-words (0 for any number).
    pub fn new(itype_width: ITypeWidth, most_half_words: u32) -> Self {
        Self {
            itype_width,
            most_half_words: if most_half_words == 0 { u32::MAX } else { most_half_words },
            block: None,
            before: Operation::Other,
            end: 0,
            ready: [Entry::NOTHING; MAX_READY],
            count: 0,
        }
    }

    /// Advances one cycle, with the ports in order of age, the oldest instruction first. Returns the blocks
    /// that end in it.
    ///
    /// # Panics
    /// Panics if there are more than [`MAX_PORTS`] ports.
    pub fn cycle(&mut self, ports: &[Commit], common: &Common) -> &[Entry] {
        assert!(ports.len() <= MAX_PORTS, "a hart has at most {MAX_PORTS} commit ports");
        self.count = 0;
        for commit in ports.iter().filter(|commit| commit.valid) {
            self.commit(commit, common);
        }
        if let Some(trap) = &common.trap {
            self.trap(trap, common);
        }
        &self.ready[..self.count]
    }

    /// Ends the input. Returns the unfinished block.
    pub fn finish(&mut self) -> &[Entry] {
        self.count = 0;
        self.cut();
        &self.ready[..self.count]
    }

    fn commit(&mut self, commit: &Commit, common: &Common) {
        let size = if commit.compressed { 1 } else { 2 };
        let is_next = commit.pc == self.end;
        let (operation, before) = (commit.operation, self.before);
        let sijump = is_next && operation.is_sequentially_inferable(before);
        (self.before, self.end) = (operation, commit.pc.wrapping_add(2 * size));
        if let Some(block) = &self.block {
            let is_same = (block.privilege, block.context) == (common.privilege, common.context);
            if !is_next || !is_same || block.iretire.saturating_add(size as u32) > self.most_half_words {
                self.cut();
            }
        }
        let mut block = match self.block.take() {
            None => Entry { iaddr: commit.pc, ..entry(common) },
            Some(block) => Entry { cycle: common.cycle, ..block },
        };
        block.iretire += size as u32;
        block.ilastsize = if commit.compressed { 0 } else { 1 };
        let itype = operation.itype();
        if itype == IType::None && !commit.notify {
            self.block = Some(block);
            return;
        }
        let itype = self.itype_width.narrow(itype);
        self.put(Entry { itype, sijump, notify: commit.notify, ..block });
    }

    fn trap(&mut self, trap: &TrapSignals, common: &Common) {
        let itype = if trap.interrupt { IType::Interrupt } else { IType::Exception };
        let is_same = |block: &Entry| (block.privilege, block.context) == (common.privilege, common.context);
        if !self.block.as_ref().is_some_and(is_same) {
            self.cut();
        }
        let block = self.block.take().unwrap_or(Entry { iaddr: trap.pc, ..entry(common) });
        self.put(Entry { itype, cause: trap.cause, tval: trap.tval, cycle: common.cycle, ..block });
        // The next committed instruction is the handler's.
        self.before = Operation::Other;
    }

    /// Ends the block without a reason of its own.
    fn cut(&mut self) {
        if let Some(block) = self.block.take() {
            self.put(block);
        }
    }

    fn put(&mut self, entry: Entry) {
        self.ready[self.count] = entry;
        self.count += 1;
    }
}

fn entry(common: &Common) -> Entry {
    Entry {
        privilege: common.privilege,
        context: common.context,
        ctype: common.ctype,
        time: common.time,
        cycle: common.cycle,
        ..Entry::NOTHING
    }
}
