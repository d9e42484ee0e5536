//! The older trace protocols of Arm CoreSight.
//!
//! | module | protocol | traces |
//! |---|---|---|
//! | [`ptm`] | PTM (program flow trace 1.0 and 1.1) | branches of Cortex-A9, A12, A15, A17 |
//! | [`etm3`] | ETMv3.0 to ETMv3.5 | each instruction and data access of Cortex-M3, M4, R4, A5, A7, A8 |
//! | [`mtb`] | MTB (micro trace buffer) | branches of Cortex-M0+, M23, M33, into RAM |
//! | [`itm`] | ITM with DWT (Armv7-M, Armv8-M) | what software writes, exceptions, samples and watched accesses of Cortex-M |
//! | [`stm`] | STM (STPv2) | what software and hardware write to channels |
//!
//! Each module has the same parts: `Params`, `packet` (bytes to packets and back), `decode` (packets to elements) and
//! `encode` (elements to packets). Packets read and write themselves; nothing here knows files or frames.

pub mod etm3;
pub mod itm;
pub mod mtb;
pub mod ptm;
pub mod shared;
pub mod stm;
