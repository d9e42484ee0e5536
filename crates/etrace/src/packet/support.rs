//! Layouts of support packets, which the specification (2.0) leaves to the implementation, as tables.

use super::{Malformed, QualStatus, Support};
use crate::bits::{Reader, Writer};
use crate::{Options, Params, SupportLayout};

/// A field of a support packet.
struct Field {
    name: &'static str,
    width: u32,
    is: Is,
}

/// Content of a field.
enum Is {
    EncoderMode,
    QualStatus,
    /// Flag, with a function that finds it in the packet.
    Option(fn(&mut Support) -> &mut bool),
    /// Inverse of a flag.
    Not(fn(&mut Support) -> &mut bool),
    /// Attribute of the encoder.
    Attribute(fn(&Params) -> u64),
}

const fn field(name: &'static str, width: u32, is: Is) -> Field {
    Field { name, width, is }
}

const fn option(name: &'static str, place: fn(&mut Support) -> &mut bool) -> Field {
    field(name, 1, Is::Option(place))
}

const IMPLICIT_RETURN: Field = option("implicit_return", |s| &mut s.ioptions.implicit_return);
const IMPLICIT_EXCEPTION: Field = option("implicit_exception", |s| &mut s.ioptions.implicit_exception);
const FULL_ADDRESS: Field = option("full_address", |s| &mut s.ioptions.full_address);
const JUMP_TARGET_CACHE: Field = option("jump_target_cache", |s| &mut s.ioptions.jump_target_cache);
const BRANCH_PREDICTION: Field = option("branch_prediction", |s| &mut s.ioptions.branch_prediction);
const SIJUMP: Field = option("sijump", |s| &mut s.ioptions.sijump);
const NO_ADDRESS: Field = option("no_address", |s| &mut s.doptions.no_address);
const NO_DATA: Field = option("no_data", |s| &mut s.doptions.no_data);
const FULL_DADDRESS: Field = option("full_daddress", |s| &mut s.doptions.full_address);
const FULL_DATA: Field = option("full_data", |s| &mut s.doptions.full_data);
const IENABLE: Field = option("ienable", |s| &mut s.ienable);
const QUAL_STATUS: Field = field("qual_status", 2, Is::QualStatus);
const DENABLE: Field = option("denable", |s| &mut s.denable);
const DLOSS: Field = option("dloss", |s| &mut s.dloss);

const REFERENCE: &[Field] = &[
    IENABLE,
    field("encoder_mode", 1, Is::EncoderMode),
    QUAL_STATUS,
    IMPLICIT_RETURN,
    IMPLICIT_EXCEPTION,
    FULL_ADDRESS,
    JUMP_TARGET_CACHE,
    BRANCH_PREDICTION,
    DENABLE,
    DLOSS,
    NO_ADDRESS,
    NO_DATA,
    FULL_DADDRESS,
    FULL_DATA,
];

/// Layout of PULP's encoder, which has no data trace.
const PULP: &[Field] = &[
    IENABLE,
    field("encoder_mode", 1, Is::EncoderMode),
    QUAL_STATUS,
    JUMP_TARGET_CACHE,
    BRANCH_PREDICTION,
    IMPLICIT_RETURN,
    SIJUMP,
    IMPLICIT_EXCEPTION,
    FULL_ADDRESS,
    field("delta_address", 1, Is::Not(|s| &mut s.ioptions.full_address)),
];

const STANDARD: &[Field] = &[
    IENABLE,
    field("encoder_mode", 2, Is::EncoderMode),
    QUAL_STATUS,
    SIJUMP,
    IMPLICIT_RETURN,
    BRANCH_PREDICTION,
    JUMP_TARGET_CACHE,
    IMPLICIT_EXCEPTION,
    FULL_ADDRESS,
    option("resync_disabled", |s| &mut s.resync_disabled),
    field("iret_ext", 1, Is::Attribute(|params| params.iret_ext.into())),
    field("time_width", 3, Is::Attribute(|params| u64::from(params.time_bits()) / 16)),
    field("f0s_width", 2, Is::Attribute(|params| params.f0s_width.into())),
    field("return_stack_size", 3, Is::Attribute(|params| params.return_stack_size.into())),
    field("call_counter_size", 4, Is::Attribute(|params| params.call_counter_size.into())),
    field("bpred_size", 3, Is::Attribute(|params| params.bpred_size.into())),
    field("cache_size", 3, Is::Attribute(|params| params.cache_size.into())),
    DENABLE,
    DLOSS,
    field("mmacas_ext", 1, Is::Attribute(|params| params.mmacas_ext.into())),
    NO_ADDRESS,
    NO_DATA,
    FULL_DADDRESS,
    FULL_DATA,
];

fn fields(layout: SupportLayout) -> &'static [Field] {
    match layout {
        SupportLayout::Reference => REFERENCE,
        SupportLayout::Pulp => PULP,
        SupportLayout::Standard => STANDARD,
    }
}

/// Reads the part after format and subformat.
pub(super) fn read(reader: &mut Reader, params: &Params, options: &Options) -> Result<Support, Malformed> {
    let mut support = Support::default();
    // An option without a bit in the layout keeps its value.
    support.ioptions.sijump = options.sijump;
    for field in fields(params.support) {
        let value = reader.take(field.width);
        match field.is {
            Is::EncoderMode if value != 0 => return Err(Malformed::Field(field.name)),
            // No other field says that addresses are differences.
            Is::EncoderMode | Is::Not(_) => {}
            Is::QualStatus => support.qual_status = QualStatus::new(value),
            Is::Option(place) => *place(&mut support) = value != 0,
            Is::Attribute(attribute) if value != attribute(params) => {
                return Err(Malformed::Params(field.name));
            }
            Is::Attribute(_) => {}
        }
    }
    Ok(support)
}

/// Writes the part after format and subformat.
pub(super) fn write(writer: &mut Writer, support: &Support, params: &Params) {
    let mut support = *support;
    for field in fields(params.support) {
        let value = match field.is {
            Is::EncoderMode => support.encoder_mode.into(),
            Is::QualStatus => support.qual_status as u64,
            Is::Option(place) => (*place(&mut support)).into(),
            Is::Not(place) => (!*place(&mut support)).into(),
            Is::Attribute(attribute) => attribute(params),
        };
        writer.put(value, field.width);
    }
}

impl QualStatus {
    /// Returns the status that these two bits encode.
    const fn new(bits: u64) -> Self {
        [Self::NoChange, Self::EndedRep, Self::TraceLost, Self::EndedNtr][bits as usize & 3]
    }
}
