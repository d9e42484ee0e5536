//! Random ETMv4 and ETE configurations, packets and streams that are valid by construction.

use tracewright_etm::packet::{
    Address, AddressForm, Atoms, ConditionalInstruction, ConditionalResult, Context, CycleCount, Emitter,
    Exception, InstructionSet, KeyedResult, Packet, PacketBytes, Q, ReturnAddress, Security, Timestamp,
    TraceInfo, TraceState,
};
use tracewright_etm::{Architecture, CoreProfile, Params, Protocol, Registers};

use crate::Rng;

/// Returns random register values that a trace unit could have.
pub fn registers(rng: &mut Rng) -> Registers {
    let protocol = if rng.one_in(2) { Protocol::Etm4 } else { Protocol::Ete };
    let minor = rng.below(if protocol == Protocol::Etm4 { 7 } else { 4 }) as u32;
    let vmid_size =
        *rng.pick(if minor == 0 && protocol == Protocol::Etm4 { &[0, 1][..] } else { &[0, 1, 2, 4] });
    let context_id_size = *rng.pick(&[0, 4]);
    let cycle_size = rng.below(9) as u32;
    let mut trcconfigr = rng.next_u64() as u32;
    let mut trcidr0 = rng.next_u64() as u32;
    // Data trace implies loads and stores as P0 elements.
    if rng.one_in(2) {
        trcconfigr |= 0b11 << 1 | 1 << 16;
        trcidr0 |= 0b11 << 1 | 0b11 << 3;
    } else {
        trcconfigr &= !(0b11 << 1 | 0b11 << 16);
    }
    Registers {
        protocol,
        profile: *rng.pick(&[CoreProfile::A, CoreProfile::R, CoreProfile::M]),
        architecture: *rng.pick(&[Architecture::V7, Architecture::V8]),
        trcconfigr,
        trctraceidr: 1 + rng.below(0x6f) as u32,
        trcidr0,
        trcidr1: 0x4100_f003 | 0x400 | minor << 4,
        trcidr2: 0x8 | context_id_size << 5 | vmid_size << 10 | cycle_size << 25,
        trcidr8: *rng.pick(&[0, 0, 1, 4, 15, 16, 32, 78, 128]),
        trcdevarch: 0x4770_5a13 | minor << 16,
    }
}

/// Generator of random packets, each valid after those before it.
#[derive(Debug)]
pub struct Generator {
    /// Random source.
    pub rng: Rng,
    /// Configuration.
    pub params: Params,
    emitter: Emitter,
}

impl Generator {
    /// Creates a generator for one configuration.
    pub fn new(params: Params, rng: Rng) -> Self {
        Self { rng, emitter: Emitter::new(params.clone()), params }
    }

    /// Returns a random packet that is valid now, and its bytes. Everything that the configuration has occurs.
    pub fn packet(&mut self) -> (Packet, PacketBytes) {
        self.packet_if(|_, _| true)
    }

    /// Returns a random packet that is valid now and that `wanted` accepts, given the compression registers before it.
    pub fn packet_if(&mut self, wanted: impl Fn(&Packet, &TraceState) -> bool) -> (Packet, PacketBytes) {
        loop {
            let packet = random_packet(&mut self.rng, self.emitter.trace_state());
            if !wanted(&packet, self.emitter.trace_state()) {
                continue;
            }
            if let Ok(bytes) = self.emitter.emit(&packet) {
                return (packet, bytes);
            }
        }
    }

    /// Returns the given packet and its bytes.
    pub fn say(&mut self, packet: Packet) -> (Packet, PacketBytes) {
        let bytes = self.emitter.emit(&packet).unwrap_or_else(|error| panic!("{packet:?}: {error}"));
        (packet, bytes)
    }

    /// Returns the compression registers.
    pub fn trace_state(&self) -> &TraceState {
        self.emitter.trace_state()
    }

    /// Returns a stream that a reader can start at: A-Sync, Trace Info, then `count` random packets.
    pub fn stream(&mut self, count: usize) -> Vec<(Packet, PacketBytes)> {
        let mut stream = vec![self.say(Packet::Async), self.say(Packet::TraceInfo(TraceInfo::default()))];
        stream.extend((0..count).map(|_| self.packet()));
        stream
    }
}

fn random_packet(rng: &mut Rng, state: &TraceState) -> Packet {
    match rng.below(44) {
        0 => Packet::Async,
        1 => Packet::Discard,
        2 => Packet::Overflow,
        3 => Packet::TraceInfo(trace_info(rng)),
        4 | 5 => {
            let bytes = 1 + rng.below(9) as u8;
            // Changing only the bits that the bytes can hold keeps the packet valid.
            let bits = if bytes == 9 { 64 } else { 7 * u32::from(bytes) };
            let value = state.timestamp() ^ rng.sized(bits);
            let cycles = rng.one_in(2).then(|| rng.sized(20) as u32);
            Packet::Timestamp(Timestamp { value, bytes, cycles })
        }
        6 => Packet::TraceOn,
        7 => Packet::FunctionReturn,
        8 | 9 => Packet::Exception(Exception {
            number: rng.sized(10) as u16,
            return_address: *rng.pick(&[ReturnAddress::Follows, ReturnAddress::FollowsAtTarget]),
            fault_pending: rng.one_in(4),
        }),
        10 => Packet::PeReset,
        11 => Packet::TransactionFailure,
        12 => Packet::ExceptionReturn,
        13 => Packet::Instrumentation { el: rng.below(4) as u8, value: rng.sized(64) },
        14 => Packet::TransactionStart,
        15 => Packet::TransactionCommit,
        16..=18 => {
            let format = 1 + rng.below(3) as u8;
            let commit = rng.one_in(2).then(|| rng.sized([32, 7, 3][usize::from(format) - 1]) as i64);
            let above = rng.sized([20, 4, 2][usize::from(format) - 1]) as u32;
            let cycles = (format != 1 || !rng.one_in(4)).then(|| state.cycle_threshold().wrapping_add(above));
            Packet::CycleCount(CycleCount { format, commit, cycles })
        }
        19 => Packet::NumberedDataSync(rng.below(8) as u8),
        20 => Packet::UnnumberedDataSync(rng.below(5) as u8),
        21 => Packet::Commit(rng.sized(32) as u32),
        22 => Packet::CancelF1 { count: rng.sized(32) as u32, mispredict: rng.one_in(2) },
        23 => Packet::Mispredict(resolved_atoms(rng)),
        24 => Packet::CancelF2(resolved_atoms(rng)),
        25 => Packet::CancelF3 { atom: rng.one_in(2), count: 2 + rng.below(4) as u8 },
        26 => Packet::ConditionalInstruction(match rng.below(3) {
            0 => ConditionalInstruction::F1 { key: rng.sized(32) as u32 },
            1 => ConditionalInstruction::F2(rng.below(3) as u8),
            _ => ConditionalInstruction::F3 { increments: rng.below(64) as u8, same_key: rng.one_in(2) },
        }),
        27 => Packet::ConditionalFlush,
        28 => Packet::ConditionalResult(match rng.below(4) {
            0 => {
                let first = keyed_result(rng);
                let second = rng.one_in(2).then(|| keyed_result(rng));
                ConditionalResult::F1(first, second)
            }
            1 => ConditionalResult::F2 { increment: 1 + rng.below(2) as u8, token: rng.below(3) as u8 },
            2 => ConditionalResult::F3 { tokens: rng.below(1 << 12) as u16 },
            _ => ConditionalResult::F4 { token: rng.below(3) as u8 },
        }),
        29 => Packet::Ignore,
        30 => Packet::Event(1 + rng.below(15) as u8),
        31 => Packet::ContextSame,
        32 | 33 => Packet::Context(context(rng)),
        34 => {
            let form = *rng.pick(&[AddressForm::Long32, AddressForm::Long64]);
            Packet::AddressContext(address(rng, state, form), context(rng))
        }
        35 => Packet::TimestampMarker,
        36..=38 => Packet::Address(any_address(rng, state)),
        39 => Packet::Q(Q {
            address: (!rng.one_in(3)).then(|| any_address(rng, state)),
            count: (!rng.one_in(3)).then(|| rng.sized(32) as u32),
        }),
        40 => Packet::SourceAddress(any_address(rng, state)),
        _ => Packet::Atom(atoms(rng)),
    }
}

fn trace_info(rng: &mut Rng) -> TraceInfo {
    let mut info = TraceInfo { plctl: rng.below(32) as u8, ..TraceInfo::default() };
    let plctl = info.plctl;
    let mut section = |bit, bits| if plctl & bit != 0 { rng.sized(bits) as u32 } else { 0 };
    info.info = section(TraceInfo::INFO, 7);
    info.key = section(TraceInfo::KEY, 32);
    info.spec = section(TraceInfo::SPEC, 8);
    info.cyct = section(TraceInfo::CYCT, 12);
    info.wndw = section(TraceInfo::WNDW, 32);
    info
}

/// Returns any atoms that have a packet.
fn atoms(rng: &mut Rng) -> Atoms {
    loop {
        let count = 1 + rng.below(24) as u8;
        let mask = (1u32 << count) - 1;
        let bits = *rng.pick(&[mask, mask >> 1, rng.clone().next_u64() as u32 & mask]);
        let atoms = Atoms { bits, count };
        rng.next_u64();
        if atoms.header().is_some() {
            return atoms;
        }
    }
}

fn resolved_atoms(rng: &mut Rng) -> Atoms {
    *rng.pick(&[Atoms::NONE, Atoms::one(true), Atoms { bits: 0b11, count: 2 }, Atoms::one(false)])
}

fn keyed_result(rng: &mut Rng) -> KeyedResult {
    KeyedResult { key: rng.sized(32) as u32, result: rng.below(16) as u8, ci: rng.one_in(2) }
}

fn context(rng: &mut Rng) -> Context {
    let security = *rng.pick(&[Security::Secure, Security::NonSecure, Security::Root, Security::Realm]);
    let mut context = Context::new(rng.below(4) as u8, !rng.one_in(4), security);
    if rng.one_in(2) {
        context = context.with_vmid(rng.sized(32) as u32);
    }
    if rng.one_in(2) {
        context = context.with_context_id(rng.sized(32) as u32);
    }
    context
}

fn any_address(rng: &mut Rng, state: &TraceState) -> Address {
    use AddressForm::{Exact0, Exact1, Exact2, Long32, Long64, Short7, Short15};
    let form = *rng.pick(&[Exact0, Exact1, Exact2, Short7, Short15, Long32, Long64]);
    address(rng, state, form)
}

fn address(rng: &mut Rng, state: &TraceState, form: AddressForm) -> Address {
    if let Some(entry) = form.exact_entry() {
        let (value, is) = state.history(entry.into());
        return Address { value, is, form };
    }
    let is = if rng.one_in(2) { InstructionSet::Is0 } else { InstructionSet::Is1 };
    let bits = form.bits(is);
    let mask = if bits == 64 { !0 } else { (1 << bits) - 1 };
    let value = state.history(0).0 & !mask | rng.sized(bits);
    Address { value: value & (!0 << is.alignment_bits()), is, form }
}
