/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AccessKind {
    /// It loads.
    Load,
    /// It stores.
    Store,
    /// It loads and stores, atomically.
    Amo,
}
