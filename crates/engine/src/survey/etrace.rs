//! Messages of E-Trace: the description of a source with which most of them make sense.

use tracewright_etrace::Params;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Content, EtraceSink, Message, Parser};
use tracewright_input::RawSource;

use super::Fit;

/// Encapsulations of E-Trace that are tried. Messages of several harts cannot be told without knowing more of them.
pub const ENCAPSULATIONS: [&str; 4] = [
    "standard,source_bits=0,timestamp_bytes=0,type_bits=0",
    "standard,source_bits=0,timestamp_bytes=0,type_bits=1",
    "smi",
    "pulp",
];
/// Encoders that are tried in each encapsulation: one with nothing optional, that of `record`, and those of the reference flow and of its C
/// codec.
const ENCODERS: [&str; 9] = [
    "",
    ",nocontext=false,ecause_width=6,bpred_size=7,cache_size=7,call_counter_size=4,return_stack_size=5,sijump_p=true,iret_ext=true,\
     support=standard",
    ",nocontext=false",
    ",nocontext=false,call_counter_size=7",
    ",nocontext=false,iaddress_lsb=0,call_counter_size=9",
    ",nocontext=false,notime=false,time_width=1,return_stack_size=7,sijump_p=true",
    ",nocontext=false,call_counter_size=7,f0s_width=0,bpred_size=7",
    ",nocontext=false,call_counter_size=7,f0s_width=0,cache_size=7",
    ",nocontext=false,call_counter_size=7,f0s_width=1,bpred_size=7,cache_size=7",
];

/// Returns the description of an E-Trace source with which messages at the start of a file make most sense, if they do with any.
pub fn etrace(start: &[u8], bytes: u64) -> Option<Fit> {
    let mut best: Option<(u64, u64, String)> = None;
    for (encapsulation, encoder) in ENCAPSULATIONS.iter().flat_map(|of| ENCODERS.map(|encoder| (of, encoder)))
    {
        for isa in ["rv64", "rv32"] {
            let description = format!("etrace,isa={isa},encapsulation={encapsulation}{encoder}");
            let Ok(RawSource::Etrace(source)) = description.parse() else { continue };
            let messages = Messages::of(source.config, start);
            if messages.make_sense(start.len()) && best.as_ref().is_none_or(|best| messages.doubts() < best.0)
            {
                best = Some((messages.doubts(), messages.syncs, description));
            }
        }
    }
    let (_, syncs, description) = best?;
    Some(Fit::unframed("E-Trace", description, syncs, bytes))
}

/// Messages of E-Trace, read as a description says, and what speaks against it.
#[derive(Debug, Default)]
struct Messages {
    /// The encoder, as described.
    params: Params,
    all: u64,
    /// Bytes of messages.
    covered: usize,
    malformed: u64,
    skipped: u64,
    syncs: u64,
    /// Addresses in synchronisation packets that no processor has, and causes of traps that no processor tells.
    odd: u64,
    /// Other addresses that no processor has; options that the encoder reports and cannot have; flow indicators, which few encoders set: in
    /// another encapsulation these bits are a type.
    unusual: u64,
}

/// Bits of an address that programs use, without the sign.
const ADDRESS_BITS: u32 = 47;
/// Causes of traps from here on are for custom use, or reserved.
const CAUSES: u64 = 24;
/// Machine mode.
const MACHINE: u8 = 3;

impl Messages {
    fn of(config: Config, start: &[u8]) -> Self {
        let mut messages = Self { params: config.params.clone(), ..Self::default() };
        // The end of `start` may cut a message.
        Parser::new(config).feed(start, &mut messages);
        messages
    }

    /// Returns whether the description may be right. Encoders with other parameters write some payloads that make no sense with these.
    fn make_sense(&self, bytes: usize) -> bool {
        // Memory is full of zeros, which are no messages.
        let is_covered = self.covered >= bytes / 4 * 3;
        is_covered
            && self.syncs > 0
            && self.skipped == 0
            && self.malformed <= self.all / 20
            && self.odd <= self.syncs / 2
    }

    /// Returns how much speaks against it.
    fn doubts(&self) -> u64 {
        self.malformed + self.odd + self.unusual
    }

    fn sync(&mut self, address: u64, privilege: u8, is_odd: bool) {
        self.syncs += 1;
        // Kernels have the highest addresses of 64 bits; in machine mode they are addresses of 32 bits.
        self.unusual += u64::from(privilege == MACHINE && address >> 31 == u64::MAX >> 31);
        let sign = (address as i64) >> ADDRESS_BITS;
        // The low half is 0 where an unknown context is, which mostly is 0.
        let is_odd = is_odd || address as u32 == 0 || address & 1 == 1 || (sign != 0 && sign != -1);
        self.odd += u64::from(is_odd);
    }
}

impl EtraceSink for Messages {
    fn message(&mut self, _: u64, bytes: &[u8], message: &Message) {
        self.all += 1;
        self.covered += bytes.len();
        self.unusual += u64::from(message.flow != 0);
        match message.content {
            Content::Malformed(_) | Content::Other { .. } => self.malformed += 1,
            Content::Instruction(Packet::Address(address) | Packet::Branches(_, Some(address))) => {
                self.unusual += address.value & 1;
            }
            Content::NotSync { .. } => self.skipped += 1,
            Content::Instruction(Packet::Support(support)) => {
                let (options, params) = (support.ioptions, &self.params);
                let is_beyond = options.branch_prediction && params.bpred_size == 0
                    || options.jump_target_cache && params.cache_size == 0
                    || options.implicit_return && params.returns_bits() == 0;
                self.unusual += u64::from(is_beyond);
            }
            Content::Instruction(Packet::Start(start)) => {
                self.sync(start.address, start.context.privilege, false);
            }
            Content::Instruction(Packet::Trap(trap)) => {
                if let Some(address) = trap.address {
                    self.sync(address, trap.context.privilege, trap.ecause >= CAUSES);
                }
            }
            _ => {}
        }
    }
}
