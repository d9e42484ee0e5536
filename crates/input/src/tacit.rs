//! TACIT sources: `tacit,isa=rv64,mode=predict,entries=512`.

use std::sync::Arc;

use tracewright_core::Isa;
use tracewright_tacit::Params;

use crate::etrace::{isa_name, isa_named, number};
use crate::registry::{Entry, SourceKind, SourceParams, WrongParam};
use crate::source::Protocol;

/// TACIT source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TacitSource {
    /// Parameters of the encoder.
    pub params: Params,
    /// Instruction set of its hart.
    pub isa: Isa,
    /// Number in the buffer; in frames the trace ID.
    pub id: u16,
}

impl From<TacitSource> for Protocol {
    fn from(source: TacitSource) -> Self {
        Self::Registered(Arc::new(source))
    }
}

/// TACIT as a kind of sources.
#[derive(Debug)]
pub(crate) struct Tacit;

impl SourceKind for Tacit {
    fn name(&self) -> &'static str {
        "tacit"
    }

    fn takes(&self) -> &'static str {
        "isa (rv32, rv64), which is needed; id (in frames the trace ID); and how the encoder was set up: mode (target, predict), entries \
         of the predictor, address_bits, asid_bits, form (full, rtl, plain: which fields synchronisation has). --packing only for frames."
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let mut source = TacitSource { params: Params::default(), isa: Isa::Rv64, id: 0 };
        let mut isa = None;
        for (index, (name, value)) in given.iter().enumerate() {
            let wrong = |why: String| WrongParam { name: name.clone(), why };
            if given[..index].iter().any(|(other, _)| other == name) {
                return Err(wrong("it is given twice".into()));
            }
            match &**name {
                "isa" => {
                    let named = isa_named(value);
                    isa = Some(named.ok_or_else(|| wrong(format!("{value:?}: expected rv32 or rv64")))?);
                }
                "id" => {
                    let small = number(value).and_then(|number| u16::try_from(number).ok());
                    let small = small.filter(|number| *number < 0x1000);
                    source.id = small.ok_or_else(|| wrong(format!("{value:?}: expected 0 to 0xfff")))?;
                }
                _ if !Params::fields().iter().any(|field| field.name == name) => {
                    let names: Vec<_> = Params::fields().iter().map(|field| field.name).collect();
                    return Err(wrong(format!("expected isa, id or one of {}", names.join(", "))));
                }
                _ => {
                    source.params.set(name, value).map_err(|error| wrong(format!("{value:?}: {error}")))?;
                }
            }
        }
        let missing = || WrongParam { name: "isa".into(), why: "it is missing: isa=rv32 or isa=rv64".into() };
        source.isa = isa.ok_or_else(missing)?;
        Ok(Arc::new(source))
    }
}

impl SourceParams for TacitSource {
    fn id(&self) -> u16 {
        self.id
    }

    fn is_riscv(&self) -> bool {
        true
    }

    fn isa(&self) -> Option<Isa> {
        Some(self.isa)
    }

    fn needs_synchronisation(&self) -> bool {
        false
    }

    fn title(&self) -> String {
        "TACIT".into()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.entries().into_iter().skip(1).map(|entry| (entry.name, entry.value)).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |name, value, meaning| Entry { name, value, meaning };
        let fields = Params::fields().iter();
        [
            entry("protocol", "tacit".into(), "RISC-V TACIT (L-Trace)"),
            entry("id", self.id.to_string(), "number in the buffer"),
            entry("isa", isa_name(self.isa).into(), "instruction set"),
        ]
        .into_iter()
        .chain(fields.map(|field| entry(field.name, field.value(&self.params).to_string(), field.meaning)))
        .collect()
    }

    fn has_cycles(&self) -> bool {
        true
    }

    /// The trace does not have them.
    fn of_log(&self) -> fn(u16) -> u16 {
        |_| u16::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TacitSource, String> {
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let given: Vec<_> = text.split(' ').filter_map(pair).collect();
        let params = Tacit.params(&given).map_err(|error| error.to_string())?;
        Ok((&*params as &dyn std::any::Any).downcast_ref::<TacitSource>().unwrap().clone())
    }

    #[test]
    fn entries_are_what_is_given() {
        let source = parse("isa=rv32 id=0x12 mode=predict entries=256 address_bits=32 form=plain").unwrap();
        assert_eq!((source.isa, source.id, source.params.entries), (Isa::Rv32, 0x12, 256));
        let facts = source.facts().into_iter().map(|(name, value)| format!("{name}={value}"));
        assert_eq!(parse(&facts.collect::<Vec<_>>().join(" ")), Ok(source));
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error("id=1"), "isa: it is missing: isa=rv32 or isa=rv64");
        assert_eq!(error("isa=rv64 id=4096"), "id: \"4096\": expected 0 to 0xfff");
        assert_eq!(error("isa=rv64 mode=x"), "mode: \"x\": none of target, predict");
        assert_eq!(error("isa=rv64 entries=65"), "entries: \"65\": not a power of two from 64 to 1024");
        assert_eq!(error("isa=rv64 isa=rv64"), "isa: it is given twice");
        assert!(error("isa=rv64 banana=1").starts_with("banana: expected isa, id or one of mode, entries"));
    }
}
