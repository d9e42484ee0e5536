//! RISC-V N-Trace sources: `ntrace,isa=rv64,mode=branch`.

use std::any::Any;
use std::sync::Arc;

use tracewright_core::Isa;
use tracewright_ntrace::{Attribute, Params};

use crate::etrace::{isa_name, isa_named, number};
use crate::registry::{Entry, SourceKind, SourceParams, WrongParam};
use crate::ring::{Ring, TooShort};
use crate::source::Protocol;

/// N-Trace source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NtraceSource {
    /// Parameters of the encoder.
    pub params: Params,
    /// Instruction set of its hart.
    pub isa: Isa,
    /// Number in the buffer: that in its messages (SRC), or in frames the trace ID.
    pub id: u16,
    /// Number in its messages, if that is another.
    pub src: Option<u16>,
    /// Registers of the RAM sink, if its memory was dumped as it was.
    pub sram: Option<Sram>,
}

/// Registers of a RAM sink (`trRam...`), of which the file is a dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sram {
    /// Where the next byte would go (`trRamWP`). Its bit 0 tells whether the memory was full, so that newer bytes replaced older ones.
    pub write_pointer: u64,
    /// Address of the first byte (`trRamStart`).
    pub start: u64,
}

impl Sram {
    /// Returns whether newer bytes replaced older ones.
    pub const fn has_wrapped(&self) -> bool {
        self.write_pointer & 1 == 1
    }

    /// Returns where the ring is in a dump of `len` bytes: it is all of it.
    ///
    /// # Errors
    /// Fails if the file does not have all that was written.
    pub const fn ring(&self, len: u64) -> Result<Ring, TooShort> {
        let next = (self.write_pointer & !3).wrapping_sub(self.start);
        let (oldest, written) = if self.has_wrapped() { (next, len) } else { (0, next) };
        match next > len {
            true => Err(TooShort { needed: next, len, by: "ram_wp and ram_start" }),
            // What would go after the last byte goes to the first.
            false if oldest == len => Ok(Ring { start: 0, size: len, oldest: 0, written }),
            false => Ok(Ring { start: 0, size: len, oldest, written }),
        }
    }
}

/// Bit of numbers of sources that are not in the buffer's description.
const FOREIGN: u16 = 1 << 12;

impl NtraceSource {
    /// Returns the number in the buffer of the source whose messages have this number.
    pub fn number(&self, src: u16) -> u16 {
        match self.src {
            _ if self.params.src_bits == 0 => self.id,
            Some(own) if own == src => self.id,
            Some(_) => FOREIGN | src,
            None => src,
        }
    }
}

impl NtraceSource {
    /// Returns the parameters of which the messages tell something.
    pub fn told() -> impl Iterator<Item = &'static Attribute> {
        Params::fields().iter().filter(|field| ["src_bits", "mode", "dialect"].contains(&field.name))
    }
}

impl From<NtraceSource> for Protocol {
    fn from(source: NtraceSource) -> Self {
        Self::Registered(Arc::new(source))
    }
}

/// N-Trace as a kind of sources.
#[derive(Debug)]
pub(crate) struct Ntrace;

impl SourceKind for Ntrace {
    fn name(&self) -> &'static str {
        "ntrace"
    }

    fn takes(&self) -> &'static str {
        "isa (rv32, rv64), which is needed; id (SRC, or in frames the trace ID; then src is SRC); and how the encoder was set up, as its \
         registers (trTeInst...) name it: src_bits, mode (history, branch), implicit_return (off, counter, low, stack), sequential_jump, \
         all_jumps, extend_addr_msb, ts_width, dialect (standard, spacemit, sifive); for a dump of a RAM sink's memory its registers ram_wp and \
         ram_start. --packing only for frames and pins."
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let mut source =
            NtraceSource { params: Params::default(), isa: Isa::Rv64, id: 0, src: None, sram: None };
        let (mut isa, mut id, mut ram) = (None, None, [None; 2]);
        for (index, (name, value)) in given.iter().enumerate() {
            let wrong = |why: String| WrongParam { name: name.clone(), why };
            if given[..index].iter().any(|(other, _)| other == name) {
                return Err(wrong("it is given twice".into()));
            }
            let small = || {
                let number = number(value).and_then(|number| u16::try_from(number).ok());
                number
                    .filter(|number| *number < FOREIGN)
                    .ok_or_else(|| wrong(format!("{value:?}: expected 0 to 0xfff")))
            };
            match &**name {
                "isa" => {
                    let named = isa_named(value);
                    isa = Some(named.ok_or_else(|| wrong(format!("{value:?}: expected rv32 or rv64")))?);
                }
                "id" => id = Some(small()?),
                "src" => source.src = Some(small()?),
                "ram_wp" | "ram_start" => {
                    let address =
                        number(value).ok_or_else(|| wrong(format!("{value:?}: expected a number")))?;
                    ram[usize::from(name == "ram_start")] = Some(address);
                }
                _ if !Params::fields().iter().any(|field| field.name == name) => {
                    let names: Vec<_> = Params::fields().iter().map(|field| field.name).collect();
                    return Err(wrong(format!(
                        "expected isa, id, src, ram_wp, ram_start or one of {}",
                        names.join(", ")
                    )));
                }
                _ => {
                    source.params.set(name, value).map_err(|error| wrong(format!("{value:?}: {error}")))?;
                }
            }
        }
        let wrong = |name: &str, why: String| WrongParam { name: name.into(), why };
        source.isa = isa.ok_or_else(|| wrong("isa", "it is missing: isa=rv32 or isa=rv64".into()))?;
        source.id = id.or(source.src).unwrap_or(0);
        source.sram = match ram {
            [Some(write_pointer), start] => Some(Sram { write_pointer, start: start.unwrap_or(0) }),
            [None, Some(_)] => {
                return Err(wrong("ram_start", "ram_wp is missing, the register trRamWP".into()));
            }
            [None, None] => None,
        };
        let bits = source.params.src_bits;
        for (name, src) in [("src", source.src), ("id", id.filter(|_| bits > 0 && source.src.is_none()))] {
            if src.is_some_and(|src| src >> bits != 0) {
                return Err(wrong(name, format!("src_bits={bits} has no room for it")));
            }
        }
        Ok(Arc::new(source))
    }
}

impl SourceParams for NtraceSource {
    fn id(&self) -> u16 {
        self.id
    }

    fn is_riscv(&self) -> bool {
        true
    }

    fn names_sources(&self) -> bool {
        true
    }

    fn differs(&self, other: &dyn SourceParams) -> Option<&'static str> {
        let other: &Self = (other as &dyn Any).downcast_ref()?;
        let differs = |name: &str| {
            let field = Params::fields().iter().find(|field| field.name == name);
            field.is_some_and(|field| {
                field.value(&self.params).to_string() != field.value(&other.params).to_string()
            })
        };
        Params::fields().iter().map(|field| field.name).find(|name| differs(name))
    }

    fn title(&self) -> String {
        "N-Trace".into()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.entries().into_iter().skip(1).map(|entry| (entry.name, entry.value)).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |name, value, meaning| Entry { name, value, meaning };
        let src = self.src.map(|src| entry("src", src.to_string(), "number in messages (SRC)"));
        let ram = self.sram.map(|Sram { write_pointer, start }| {
            [
                entry("ram_wp", write_pointer.to_string(), "write pointer of the RAM sink (trRamWP)"),
                entry("ram_start", start.to_string(), "address of its first byte (trRamStart)"),
            ]
        });
        let fields = Params::fields().iter();
        [
            entry("protocol", "ntrace".into(), "RISC-V N-Trace"),
            entry("id", self.id.to_string(), "number in the buffer"),
            entry("isa", isa_name(self.isa).into(), "instruction set"),
        ]
        .into_iter()
        .chain(src)
        .chain(ram.into_iter().flatten())
        .chain(fields.map(|field| entry(field.name, field.value(&self.params).to_string(), field.meaning)))
        .collect()
    }

    fn ring(&self, len: u64) -> Option<Result<Ring, TooShort>> {
        self.sram.map(|sram| sram.ring(len))
    }

    fn isa(&self) -> Option<Isa> {
        Some(self.isa)
    }

    /// The trace does not have them.
    fn of_log(&self) -> fn(u16) -> u16 {
        |_| u16::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NtraceSource, String> {
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let given: Vec<_> = text.split(' ').filter_map(pair).collect();
        let params = Ntrace.params(&given).map_err(|error| error.to_string())?;
        Ok((&*params as &dyn Any).downcast_ref::<NtraceSource>().unwrap().clone())
    }

    #[test]
    fn entries_are_what_is_given() {
        let source = parse("isa=rv32 src_bits=4 id=0x12 src=3 mode=branch implicit_return=stack").unwrap();
        assert_eq!((source.isa, source.id, source.src), (Isa::Rv32, 0x12, Some(3)));
        let facts = source.facts().into_iter().map(|(name, value)| format!("{name}={value}"));
        assert_eq!(parse(&facts.collect::<Vec<_>>().join(" ")), Ok(source));
    }

    #[test]
    fn write_pointers_tell_where_the_oldest_byte_is() {
        let ring = |text: &str, len: u64| {
            let sram = parse(&format!("isa=rv64 {text}")).unwrap().sram.unwrap();
            sram.ring(len).map(|ring| (ring.oldest, ring.written)).map_err(|error| error.needed)
        };
        assert_eq!(ring("ram_wp=0x1010 ram_start=0x1000", 0x40), Ok((0, 0x10)));
        assert_eq!(ring("ram_wp=0x1011 ram_start=0x1000", 0x40), Ok((0x10, 0x40)));
        assert_eq!(ring("ram_wp=1", 0x40), Ok((0, 0x40)));
        assert_eq!(ring("ram_wp=0x41", 0x40), Ok((0, 0x40)));
        assert_eq!(ring("ram_wp=0x44", 0x40), Err(0x44));
        assert_eq!(ring("ram_wp=0x100 ram_start=0x1000", 0x40), Err(0_u64.wrapping_sub(0xf00)));
        assert_eq!(
            parse("isa=rv64 ram_start=4").unwrap_err(),
            "ram_start: ram_wp is missing, the register trRamWP"
        );
        let source = parse("isa=rv64 ram_wp=0x1011 ram_start=0x1000").unwrap();
        let facts = source.facts().into_iter().map(|(name, value)| format!("{name}={value}"));
        assert_eq!(parse(&facts.collect::<Vec<_>>().join(" ")), Ok(source));
    }

    #[test]
    fn messages_have_their_source() {
        let numbers = |text: &str| [0, 3].map(|src| parse(text).unwrap().number(src));
        assert_eq!(numbers("isa=rv64 id=7"), [7, 7]);
        assert_eq!(numbers("isa=rv64 src_bits=2 id=1"), [0, 3]);
        assert_eq!(numbers("isa=rv64 src_bits=2 id=0x10 src=3"), [0x1000, 0x10]);
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error("id=1"), "isa: it is missing: isa=rv32 or isa=rv64");
        assert_eq!(error("isa=z80"), "isa: \"z80\": expected rv32 or rv64");
        assert_eq!(error("isa=rv64 id=4096"), "id: \"4096\": expected 0 to 0xfff");
        assert_eq!(error("isa=rv64 id=4 src_bits=2"), "id: src_bits=2 has no room for it");
        assert_eq!(error("isa=rv64 mode=x"), "mode: \"x\": none of history, branch");
        assert_eq!(error("isa=rv64 isa=rv64"), "isa: it is given twice");
        assert!(
            error("isa=rv64 banana=1")
                .starts_with("banana: expected isa, id, src, ram_wp, ram_start or one of")
        );
    }
}
