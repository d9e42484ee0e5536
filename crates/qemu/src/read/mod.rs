//! The log back into blocks, traps and accesses.
