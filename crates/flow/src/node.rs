use tracewright_core::{Block, Class, Ended, Isa, MemorySpace};

/// A node of the [`Graph`](crate::Graph): a block of the program, from an address that execution reached to the next
/// instruction that ends a block.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    start: u64,
    /// Target of a direct branch or pair.
    pub(crate) target: u64,
    /// Number of bytes, number of instructions, and process of the space, from the lowest bit on.
    packed: u64,
    /// Node at the target, or [`NodeId::NONE`] before its first use.
    pub(crate) taken: NodeId,
    /// Node after this one, or [`NodeId::NONE`] before its first use.
    pub(crate) next: NodeId,
    class: Class,
    last_len: u8,
    isa: Isa,
    pub(crate) target_isa: Isa,
    stop: Stop,
    /// Memory space without its process.
    levels: u8,
}

/// Widths of the fields of `packed` in bits.
const LEN: u32 = 20;
const COUNT: u32 = 20;

/// The number of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// The reason why a node ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stop {
    /// An instruction ends the block.
    Class,
    /// No image has the code after it.
    NoCode,
    /// There is no branch in more bytes than code has without one.
    Endless,
    /// The bytes after it are not an instruction.
    NotCode,
}

impl NodeId {
    /// No node.
    pub const NONE: Self = Self(u32::MAX);
    /// Marks an indirect branch in a table of links.
    pub(crate) const INDIRECT: Self = Self(u32::MAX - 1);

    /// Returns the index in tables that have one entry per node.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns whether this is a node.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// The result of a scan, for a node.
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
    /// Returns the result if no end is within reach.
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

    /// Returns the length in bytes.
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

    /// Returns the block of the node, with how it ended.
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

    /// Returns how the block ends if its last instruction is taken or not.
    #[inline(always)]
    pub fn ended(&self, taken: bool) -> Ended {
        match (self.class.is_branch(), taken) {
            (true, true) => Ended::Taken,
            (true, false) => Ended::NotTaken,
            (false, _) => Ended::Through,
        }
    }

    /// Returns the address of the first instruction.
    #[inline(always)]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Returns the address after the last instruction.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.start.wrapping_add(u64::from(self.len()))
    }

    /// Returns the address of the last instruction.
    #[inline(always)]
    pub fn last(&self) -> u64 {
        self.end().wrapping_sub(u64::from(self.last_len))
    }

    /// Returns the number of instructions, which is 0 if no image has the first one.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        (self.packed >> LEN) as u32 & ((1 << COUNT) - 1)
    }

    /// Returns what the last instruction can do to the flow of execution.
    #[inline(always)]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Returns why the node ends here.
    #[inline(always)]
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// Returns the instruction set.
    #[inline(always)]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Returns the memory space of the code.
    #[inline(always)]
    pub fn space(&self) -> MemorySpace {
        MemorySpace::from_bits(self.levels).of_process((self.packed >> (LEN + COUNT)) as u32)
    }

    /// Returns the target of the direct branch at its end.
    pub fn direct_target(&self) -> Option<(u64, Isa)> {
        (self.class.flow == tracewright_core::Flow::Direct).then_some((self.target, self.target_isa))
    }
}

const _: () = assert!(size_of::<Node>() == 40, "nodes are read at random: keep them small");
