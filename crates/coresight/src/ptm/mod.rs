//! PTM: program flow trace 1.0 and 1.1 (Arm IHI 0035).
