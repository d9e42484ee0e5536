//! Exception bytes after a branch address, and the exceptions of A and R profile.

/// The bytes that follow the address of an exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExceptionBytes {
    /// Number of the exception: see [`name`]. M profile has nine bits of it.
    pub number: u16,
    /// Whether the core is in non-secure state now.
    pub non_secure: bool,
    /// Whether the core is in Hyp mode now.
    pub hyp: bool,
    /// Whether the last instruction before the exception did not run after all.
    pub cancel: bool,
    /// Whether the other instruction set of its kind runs: ThumbEE, if the state is Thumb.
    pub alternative: bool,
    /// Position in an instruction of several loads or stores at which it is resumed (M profile, ETMv3 only).
    pub resume: Option<u8>,
    /// Whether there is a byte for the upper bits of the number and for Hyp mode. It may be there without need.
    pub second: bool,
}

/// Most exception bytes.
pub const MOST_BYTES: usize = 3;

impl ExceptionBytes {
    /// Reads the exception bytes at the start of `bytes`. Returns them with their number, or `None` if there are too few.
    pub fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let &first = bytes.first()?;
        let mut found = Self {
            number: u16::from(first >> 1 & 0xf),
            non_secure: first & 1 != 0,
            cancel: first & 0x20 != 0,
            alternative: first & 0x40 != 0,
            ..Self::default()
        };
        let (mut len, mut byte) = (1, first);
        while byte & 0x80 != 0 && len < MOST_BYTES {
            byte = *bytes.get(len)?;
            len += 1;
            if byte & 0x40 == 0 {
                found.number |= u16::from(byte & 0x1f) << 4;
                found.hyp = byte & 0x20 != 0;
                found.second = true;
            } else {
                found.resume = Some(byte & 0xf);
            }
        }
        Some((found, len))
    }

    /// Appends the bytes.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let bit = |set: bool, bit: u8| u8::from(set) << bit;
        let second = self.second || self.hyp || self.number > 0xf;
        let first = bit(self.non_secure, 0) | (self.number as u8 & 0xf) << 1 | bit(self.cancel, 5);
        bytes.push(first | bit(self.alternative, 6) | bit(second || self.resume.is_some(), 7));
        if second {
            let high = (self.number >> 4) as u8 & 0x1f;
            bytes.push(high | bit(self.hyp, 5) | bit(self.resume.is_some(), 7));
        }
        if let Some(resume) = self.resume {
            bytes.push(0x40 | resume & 0xf);
        }
    }
}

/// Returns the number of an exception of A profile that has this number in ETMv4.
pub const fn of_etmv4(number: u16) -> u16 {
    match number {
        // Reset, debug halt, call, trap, system error.
        0 => 8,
        1 => 1,
        2 => 0xa,
        3 => 9,
        4 => 4,
        // Instruction and data fault; alignment and what debugging needs are faults, too.
        6 | 0xb => 0xb,
        7 | 0xa | 0xc => 0xc,
        0xe | 0xf => number,
        _ => 0xd,
    }
}

/// Returns the address of an exception's handler, with the table of handlers at 0. Debug state has none, and is told with 0.
pub const fn vector(number: u16) -> u32 {
    match number {
        9 => 4,
        2 | 0xa => 8,
        0xb => 0xc,
        4 | 0xc => 0x10,
        3 => 0x14,
        0xe => 0x18,
        0xf => 0x1c,
        _ => 0,
    }
}

/// Returns the name of an exception of A or R profile.
pub const fn name(number: u16) -> &'static str {
    match number {
        0 => "No exception",
        1 => "Debug halt",
        2 => "SMC",
        3 => "Hyp",
        4 => "Asynchronous data abort",
        5 => "Jazelle or ThumbEE",
        8 => "PE reset",
        9 => "Undefined instruction",
        0xa => "SVC",
        0xb => "Prefetch abort",
        0xc => "Data fault",
        0xd => "Generic",
        0xe => "IRQ",
        0xf => "FIQ",
        _ => "Reserved",
    }
}

/// Returns the name of an exception of M profile with the architecture's number, that of its vector.
pub fn m_profile(number: u16) -> String {
    match number {
        0 => "Unknown exception".into(),
        1 => "Reset".into(),
        2 => "NMI".into(),
        3 => "HardFault".into(),
        4 => "MemManage".into(),
        5 => "BusFault".into(),
        6 => "UsageFault".into(),
        7 => "SecureFault".into(),
        11 => "SVC".into(),
        12 => "DebugMonitor".into(),
        14 => "PendSV".into(),
        15 => "SysTick".into(),
        16.. => format!("IRQ{}", number - 16),
        _ => "Reserved".into(),
    }
}

/// Returns the name of an exception of A or R profile, as OpenCSD prints it.
pub const fn opencsd_name(number: u16) -> &'static str {
    match number {
        0 => "No Exception",
        1 => "Debug Halt",
        2 => "SMC",
        3 => "Hyp",
        4 => "Async Data Abort",
        5 => "Jazelle",
        8 => "PE Reset",
        9 => "Undefined Instr",
        0xa => "SVC",
        0xb => "Prefetch Abort",
        0xc => "Data Fault",
        0xd => "Generic",
        0xe => "IRQ",
        0xf => "FIQ",
        6 | 7 => "Reserved",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        for (bytes, expected) in [
            (&[0x02][..], ExceptionBytes { number: 1, ..ExceptionBytes::default() }),
            (&[0x1d], ExceptionBytes { number: 0xe, non_secure: true, ..ExceptionBytes::default() }),
            (
                &[0x87, 0x20],
                ExceptionBytes {
                    number: 3,
                    non_secure: true,
                    hyp: true,
                    second: true,
                    ..ExceptionBytes::default()
                },
            ),
            (
                &[0xb4, 0x81, 0x45],
                ExceptionBytes {
                    number: 0x1a,
                    cancel: true,
                    resume: Some(5),
                    second: true,
                    ..ExceptionBytes::default()
                },
            ),
        ] {
            assert_eq!(ExceptionBytes::read(bytes), Some((expected, bytes.len())));
            let mut again = Vec::new();
            expected.write(&mut again);
            assert_eq!(again, bytes);
            for len in 0..bytes.len() {
                assert_eq!(ExceptionBytes::read(&bytes[..len]), None);
            }
        }
    }
}
