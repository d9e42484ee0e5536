use tracewright_core::{Block, Class, Ended, Isa, MemorySpace};

/// A node of the [`Graph`](crate::Graph): a block of the program, from a place where execution went to the next
/// instruction that ends a block.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    start: u64,
    /// Where a direct branch, or a pair, goes.
    pub(crate) target: u64,
    /// Bytes, instructions, and the process that the space is of: so many bits each, from the lowest on.
    packed: u64,
    /// The node there; [`NodeId::NONE`] until somebody went.
    pub(crate) taken: NodeId,
    /// The node after this one; likewise.
    pub(crate) next: NodeId,
    class: Class,
    last_len: u8,
    isa: Isa,
    pub(crate) target_isa: Isa,
    stop: Stop,
    /// The space, of no process.
    levels: u8,
}

/// Bits of `packed`.
const LEN: u32 = 20;
const COUNT: u32 = 20;

/// The number of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// Why a node ends where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stop {
    /// At an instruction that ends a block.
    Class,
    /// No image knows the code after it.
    NoCode,
    /// So much code without a branch cannot be code.
    Endless,
    /// At what is no instruction.
    NotCode,
}

impl NodeId {
    /// No node.
    pub const NONE: Self = Self(u32::MAX);
    /// Where an indirect branch goes, in a table of links.
    pub(crate) const INDIRECT: Self = Self(u32::MAX - 1);

    /// Its place in tables that have one row for each node.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether there is one.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// What a scan found, to make a node of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub len: u32,
    pub count: u32,
    pub class: Class,
    pub last_len: u8,
    pub target: u64,
    pub target_isa: Isa,
    pub stop: Stop,
}

impl Found {
    /// No end within reach.
    pub fn endless(isa: Isa) -> Self {
        let class = Class::NEXT;
        Self { len: 0, count: 0, class, last_len: 0, target: 0, target_isa: isa, stop: Stop::Endless }
    }
}

impl Node {
    pub(crate) fn new(start: u64, isa: Isa, space: MemorySpace, found: Found) -> Self {
        let Found { len, count, class, last_len, target, target_isa, stop } = found;
        debug_assert!(len >> LEN == 0 && count >> COUNT == 0, "scans end before that");
        let sizes = u64::from(len) | u64::from(count) << LEN;
        Self {
            start,
            target,
            packed: sizes | u64::from(space.process()) << (LEN + COUNT),
            taken: NodeId::NONE,
            next: NodeId::NONE,
            class,
            last_len,
            isa,
            target_isa,
            stop,
            levels: space.bits(),
        }
    }

    /// How many bytes.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.packed as u32 & ((1 << LEN) - 1)
    }

    pub(crate) fn found(&self) -> Found {
        Found {
            len: self.len(),
            count: self.count(),
            class: self.class,
            last_len: self.last_len,
            target: self.target,
            target_isa: self.target_isa,
            stop: self.stop,
        }
    }

    /// The block it stands for, ended like this.
    #[inline(always)]
    pub fn block(&self, ended: Ended) -> Block {
        Block {
            start: self.start,
            end: self.end(),
            count: self.count(),
            isa: self.isa,
            last_len: self.last_len,
            class: self.class,
            ended,
        }
    }

    /// How the block ends if its last instruction is taken, or not.
    #[inline(always)]
    pub fn ended(&self, taken: bool) -> Ended {
        match (self.class.is_branch(), taken) {
            (true, true) => Ended::Taken,
            (true, false) => Ended::NotTaken,
            (false, _) => Ended::Through,
        }
    }

    /// Address of the first instruction.
    #[inline(always)]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Address after the last instruction.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.start.wrapping_add(u64::from(self.len()))
    }

    /// Address of the last instruction.
    #[inline(always)]
    pub fn last(&self) -> u64 {
        self.end().wrapping_sub(u64::from(self.last_len))
    }

    /// How many instructions; 0 where no image knows the first.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        (self.packed >> LEN) as u32 & ((1 << COUNT) - 1)
    }

    /// What the last instruction can do.
    #[inline(always)]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Why it ends here.
    #[inline(always)]
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// The instruction set.
    #[inline(always)]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The memory space its code was read from.
    #[inline(always)]
    pub fn space(&self) -> MemorySpace {
        MemorySpace::from_bits(self.levels).of_process((self.packed >> (LEN + COUNT)) as u32)
    }

    /// Where the direct branch at its end goes.
    pub fn direct_target(&self) -> Option<(u64, Isa)> {
        (self.class.flow == tracewright_core::Flow::Direct).then_some((self.target, self.target_isa))
    }
}

const _: () = assert!(size_of::<Node>() == 40, "nodes are read at random: keep them small");
