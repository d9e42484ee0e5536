//! PTM and ETMv3, as their benchmarks see them.

use std::convert::Infallible;

use tracewright_core::Element;
use tracewright_core::TraceId;
use tracewright_core::stream::{Grammar, Resync};
use tracewright_coresight::{etm3, ptm};
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::Image;

/// A protocol, as benchmarks see it.
pub trait Older: Grammar + Clone + 'static {
    /// Its name in OpenCSD's driver.
    const NAME: &'static str;
    /// Where OpenCSD's packet stage resumes after an error.
    const RESYNC: Resync;
    type Decoder<'i>;

    fn id(&self) -> TraceId;
    /// ETMCR, ETMIDR and ETMCCER.
    fn registers(&self) -> [u32; 3];
    /// Whether OpenCSD has a range for each instruction.
    const SINGLE: bool;
    fn kind(packet: &Self::Packet) -> &'static str;
    /// Something of a packet that a sink uses.
    fn value(packet: &Self::Packet) -> u64;
    /// Classes and values as documented in `engines/opencsd.c`.
    fn digest(packet: &Self::Packet, take: impl FnMut(u8, u64));
    /// Parameters with or without cycle counts.
    fn with_cycles(cycles: bool) -> Self;
    /// Traces a run of a program.
    fn encode(&self, run: impl FnOnce(&mut dyn FnMut(&Element, &mut Vec<u8>)) -> Vec<u8>) -> Vec<u8>;
    fn decoder<'i>(&self, image: &'i Image) -> Self::Decoder<'i>;
    fn decode(
        decoder: &mut Self::Decoder<'_>,
        offset: u64,
        packet: &Self::Packet,
        sink: &mut impl ElementSink,
    );
    fn row(decoder: &mut Self::Decoder<'_>, offset: u64, row: Self::Run, sink: &mut impl ElementSink);
    fn finish(decoder: &mut Self::Decoder<'_>, offset: u64, sink: &mut impl ElementSink);
    fn graph<'d, 'i>(decoder: &'d mut Self::Decoder<'i>) -> &'d Graph<'i>;
}

impl Older for ptm::Params {
    const NAME: &'static str = "ptm";
    const RESYNC: Resync = Resync::NextAsync;
    const SINGLE: bool = false;
    type Decoder<'i> = ptm::decode::Decoder<'i>;

    fn id(&self) -> TraceId {
        self.id()
    }

    fn registers(&self) -> [u32; 3] {
        let of = self.registers();
        [of.etmcr, of.etmidr, of.etmccer]
    }

    fn kind(packet: &ptm::packet::Packet) -> &'static str {
        packet.kind().opencsd_name()
    }

    #[inline(always)]
    fn value(packet: &ptm::packet::Packet) -> u64 {
        use ptm::packet::Packet;
        match packet {
            Packet::Atoms(atoms) => atoms.bits.into(),
            Packet::CycleAtom { taken, cycles } => u64::from(*taken) + u64::from(*cycles),
            Packet::Branch(branch) => branch.address.value.into(),
            Packet::Timestamp(timestamp) => timestamp.value,
            _ => 0,
        }
    }

    fn digest(packet: &ptm::packet::Packet, mut take: impl FnMut(u8, u64)) {
        use ptm::packet::Packet;
        let cycles = match packet {
            Packet::Branch(branch) => {
                take(2, branch.address.value.into());
                branch.exception.iter().for_each(|exception| take(5, exception.number.into()));
                branch.cycles
            }
            Packet::ISync(sync) => {
                take(2, sync.address.into());
                sync.cycles
            }
            Packet::WaypointUpdate(address) => {
                take(2, address.value.into());
                None
            }
            Packet::Atoms(atoms) => {
                take(1, u64::from(atoms.count) << 32 | u64::from(atoms.bits));
                None
            }
            Packet::CycleAtom { taken, cycles } => {
                take(1, 1 << 32 | u64::from(*taken));
                Some(*cycles)
            }
            Packet::Timestamp(timestamp) => {
                take(3, timestamp.value);
                timestamp.cycles
            }
            _ => None,
        };
        cycles.iter().for_each(|&cycles| take(4, cycles.into()));
    }

    fn with_cycles(cycles: bool) -> Self {
        let etmcr = u32::from(cycles) << 12;
        Self::new(&ptm::Registers { etmcr, etmtraceidr: 0x10, ..Default::default() })
            .expect("valid registers")
    }

    fn encode(&self, run: impl FnOnce(&mut dyn FnMut(&Element, &mut Vec<u8>)) -> Vec<u8>) -> Vec<u8> {
        let mut encoder = ptm::encode::Encoder::new(self.clone(), Default::default());
        run(&mut |element, bytes| encoder.element(element, bytes).expect("can be told"))
    }

    fn decoder<'i>(&self, image: &'i Image) -> Self::Decoder<'i> {
        ptm::decode::Decoder::new(self, image, ptm::decode::Options::default()).expect("can be decoded")
    }

    #[inline(always)]
    fn decode(
        decoder: &mut Self::Decoder<'_>,
        offset: u64,
        packet: &ptm::packet::Packet,
        sink: &mut impl ElementSink,
    ) {
        decoder.packet(offset, packet, sink);
    }

    fn row(_: &mut Self::Decoder<'_>, _: u64, row: Infallible, _: &mut impl ElementSink) {
        match row {}
    }

    fn finish(decoder: &mut Self::Decoder<'_>, offset: u64, sink: &mut impl ElementSink) {
        decoder.finish(offset, sink);
    }

    fn graph<'d, 'i>(decoder: &'d mut Self::Decoder<'i>) -> &'d Graph<'i> {
        decoder.graph_mut()
    }
}

impl Older for etm3::Params {
    const NAME: &'static str = "etm3";
    const RESYNC: Resync = Resync::NextByte;
    const SINGLE: bool = true;
    type Decoder<'i> = etm3::decode::Decoder<'i>;

    fn id(&self) -> TraceId {
        self.id()
    }

    fn registers(&self) -> [u32; 3] {
        let of = self.registers();
        [of.etmcr, of.etmidr, of.etmccer]
    }

    fn kind(packet: &etm3::packet::Packet) -> &'static str {
        packet.kind().opencsd_name()
    }

    #[inline(always)]
    fn value(packet: &etm3::packet::Packet) -> u64 {
        use etm3::packet::Packet;
        match packet {
            Packet::Atoms(atoms) => u64::from(atoms.bits) + u64::from(atoms.cycles),
            Packet::Branch(branch) => branch.address.value.into(),
            Packet::Timestamp(timestamp) => timestamp.value,
            _ => 0,
        }
    }

    fn digest(packet: &etm3::packet::Packet, mut take: impl FnMut(u8, u64)) {
        use etm3::packet::Packet;
        match packet {
            Packet::Branch(branch) => {
                take(2, branch.address.value.into());
                branch.exception.iter().for_each(|exception| take(5, exception.number.into()));
            }
            Packet::ISync(sync) => take(2, sync.address.unwrap_or(0).into()),
            Packet::Atoms(atoms) => take(1, u64::from(atoms.count) << 32 | u64::from(atoms.bits)),
            Packet::Timestamp(timestamp) => take(3, timestamp.value),
            Packet::CycleCount(cycles) => take(4, (*cycles).into()),
            _ => {}
        }
    }

    fn with_cycles(cycles: bool) -> Self {
        let etmcr = u32::from(cycles) << 12;
        Self::new(&etm3::Registers { etmcr, etmtraceidr: 0x10, ..Default::default() })
            .expect("valid registers")
    }

    fn encode(&self, run: impl FnOnce(&mut dyn FnMut(&Element, &mut Vec<u8>)) -> Vec<u8>) -> Vec<u8> {
        let mut encoder =
            etm3::encode::Encoder::new(self.registers(), Default::default()).expect("can be told");
        run(&mut |element, bytes| encoder.element(element, bytes).expect("can be told"))
    }

    fn decoder<'i>(&self, image: &'i Image) -> Self::Decoder<'i> {
        etm3::decode::Decoder::new(self, image, etm3::decode::Options::default())
    }

    #[inline(always)]
    fn decode(
        decoder: &mut Self::Decoder<'_>,
        offset: u64,
        packet: &etm3::packet::Packet,
        sink: &mut impl ElementSink,
    ) {
        decoder.packet(offset, packet, sink);
    }

    #[inline(always)]
    fn row(
        decoder: &mut Self::Decoder<'_>,
        offset: u64,
        row: etm3::packet::Headers,
        sink: &mut impl ElementSink,
    ) {
        decoder.headers(offset, row, sink);
    }

    fn finish(decoder: &mut Self::Decoder<'_>, offset: u64, sink: &mut impl ElementSink) {
        decoder.finish(offset, sink);
    }

    fn graph<'d, 'i>(decoder: &'d mut Self::Decoder<'i>) -> &'d Graph<'i> {
        decoder.graph_mut()
    }
}
