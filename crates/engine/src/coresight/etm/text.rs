//! ETMv4 and ETE packets as text and as members of JSON objects.

use std::fmt::Write as _;

use tracewright_core::Exception;
use tracewright_etm::packet::{
    self, Address, AddressForm, ConditionalInstruction, ConditionalResult, Context, InstructionSet, Packet,
    ReturnAddress, TraceInfo,
};
use tracewright_etm::{CoreProfile, Params};

use crate::line::Line;

/// Writes the contents of a packet as text.
pub fn words(packet: &Packet, params: &Params, line: &mut Line) {
    line.text(packet.kind().name()).text(": ");
    let before = line.bytes().len();
    match packet {
        Packet::Atom(atoms) => atoms.iter().for_each(|taken| {
            line.text(if taken { "E" } else { "N" });
        }),
        Packet::Address(Address {
            value,
            form: AddressForm::Short7 | AddressForm::Short15 | AddressForm::Long32 | AddressForm::Long64,
            ..
        }) => {
            line.hex(*value, 0);
        }
        _ => {
            let _ = write!(line, "{}", packet.details(params));
        }
    }
    if line.bytes().len() == before {
        line.truncate(before - 2);
    }
}

/// Returns the name of an exception.
pub fn exception(params: &Params, exception: &Exception) -> String {
    let (number, profile) = (exception.number, params.profile());
    let packet = packet::Exception { number, return_address: ReturnAddress::None, fault_pending: false };
    match packet.irq(profile) {
        Some(irq) => format!("IRQ{irq}"),
        None => packet.name(profile).to_owned(),
    }
}

/// Writes a packet's own fields. All text here is ours and needs no escaping. Addresses, timestamps and other 64-bit values are
/// hexadecimal strings: JSON numbers lose bits above 53.
pub fn fields(line: &mut Line, packet: &Packet, profile: CoreProfile) -> std::fmt::Result {
    match packet {
        Packet::TraceInfo(info) => trace_info(line, info),
        Packet::Timestamp(timestamp) => {
            write!(line, r#","timestamp":"{:#x}""#, timestamp.value)?;
            number(line, "cycles", timestamp.cycles)
        }
        Packet::Exception(exception) => {
            let (number, name) = (exception.number, exception.name(profile));
            match exception.irq(profile) {
                Some(irq) => write!(line, r#","number":{number},"name":"IRQ{irq}""#)?,
                None => write!(line, r#","number":{number},"name":"{name}""#)?,
            }
            let return_address = match exception.return_address {
                ReturnAddress::None => "none",
                ReturnAddress::Follows => "follows",
                ReturnAddress::FollowsAtTarget => "follows, is branch target",
                ReturnAddress::Reserved => "reserved",
            };
            let pending = exception.fault_pending;
            write!(line, r#","return_address_form":"{return_address}","fault_pending":{pending}"#)
        }
        Packet::Instrumentation { el, value } => write!(line, r#","el":{el},"value":"{value:#x}""#),
        Packet::CycleCount(count) => {
            number(line, "cycles", count.cycles)?;
            number(line, "commit", count.commit)
        }
        Packet::NumberedDataSync(value) | Packet::UnnumberedDataSync(value) => {
            write!(line, r#","number":{value}"#)
        }
        Packet::Commit(count) => write!(line, r#","commit":{count}"#),
        Packet::CancelF1 { count, mispredict } => {
            write!(line, r#","cancel":{count},"mispredict":{mispredict}"#)
        }
        Packet::Mispredict(atoms) => write!(line, r#","atoms":"{atoms}","mispredict":true"#),
        Packet::CancelF2(atoms) => write!(line, r#","atoms":"{atoms}","cancel":1,"mispredict":true"#),
        Packet::CancelF3 { atom, count } => {
            let atoms = if *atom { "E" } else { "" };
            write!(line, r#","atoms":"{atoms}","cancel":{count},"mispredict":true"#)
        }
        Packet::ConditionalInstruction(instruction) => match instruction {
            ConditionalInstruction::F1 { key } => write!(line, r#","key":{key}"#),
            ConditionalInstruction::F2(ci) => write!(line, r#","ci":{ci}"#),
            ConditionalInstruction::F3 { increments, same_key } => {
                write!(line, r#","increments":{increments},"same_key":{same_key}"#)
            }
        },
        Packet::ConditionalResult(result) => match result {
            ConditionalResult::F1(first, second) => {
                let mut separator = r#","results":["#;
                for result in [Some(*first), *second].into_iter().flatten() {
                    let (key, value, ci) = (result.key, result.result, result.ci);
                    write!(line, r#"{separator}{{"key":{key},"result":{value},"ci":{ci}}}"#)?;
                    separator = ",";
                }
                line.write_char(']')
            }
            ConditionalResult::F2 { increment, token } => {
                write!(line, r#","increment":{increment},"token":{token}"#)
            }
            ConditionalResult::F3 { tokens } => write!(line, r#","tokens":{tokens}"#),
            ConditionalResult::F4 { token } => write!(line, r#","token":{token}"#),
        },
        Packet::Event(events) => {
            line.text(r#","events":"#).bit_numbers(*events);
            Ok(())
        }
        Packet::Context(context) => self::context(line, context),
        Packet::AddressContext(address, context) => {
            self::address(line, address)?;
            self::context(line, context)
        }
        Packet::Address(address) | Packet::SourceAddress(address) => self::address(line, address),
        Packet::Q(q) => {
            number(line, "instructions", q.count)?;
            q.address.map_or(Ok(()), |address| self::address(line, &address))
        }
        Packet::Atom(atoms) => {
            line.text(r#","atoms":""#);
            for taken in atoms.iter() {
                line.text(if taken { "E" } else { "N" });
            }
            line.text("\"");
            Ok(())
        }
        Packet::NotSync { len } => write!(line, r#","bytes":{len}"#),
        Packet::ReservedForConfig { kind } | Packet::Malformed { kind } | Packet::Incomplete { kind } => {
            write!(line, r#","of":"{}""#, kind.name())
        }
        _ => Ok(()),
    }
}

fn trace_info(line: &mut Line, info: &TraceInfo) -> std::fmt::Result {
    let sections = [
        (TraceInfo::INFO, "info", info.info),
        (TraceInfo::KEY, "key", info.key),
        (TraceInfo::SPEC, "spec", info.spec),
        (TraceInfo::CYCT, "cyct", info.cyct),
        (TraceInfo::WNDW, "wndw", info.wndw),
    ];
    sections
        .iter()
        .try_for_each(|&(bit, name, value)| number(line, name, (info.plctl & bit != 0).then_some(value)))
}

fn number(line: &mut Line, name: &str, value: Option<impl std::fmt::Display>) -> std::fmt::Result {
    value.map_or(Ok(()), |value| write!(line, r#","{name}":{value}"#))
}

fn address(line: &mut Line, address: &Address) -> std::fmt::Result {
    let is = if address.is == InstructionSet::Is0 { 0 } else { 1 };
    let form = match address.form {
        AddressForm::Exact0 => "exact0",
        AddressForm::Exact1 => "exact1",
        AddressForm::Exact2 => "exact2",
        AddressForm::Short7 => "short7",
        AddressForm::Short15 => "short15",
        AddressForm::Long32 => "long32",
        AddressForm::Long64 => "long64",
    };
    line.text(r#","address":""#).hex(address.value, 0).text(r#"","is":"#).decimal(is);
    line.text(r#","form":""#).text(form).text("\"");
    Ok(())
}

fn context(line: &mut Line, context: &Context) -> std::fmt::Result {
    let (el, aarch64, security) = (context.el(), context.is_aarch64(), context.security());
    write!(line, r#","el":{el},"aarch64":{aarch64},"security":"{security}""#)?;
    number(line, "context_id", context.context_id())?;
    number(line, "vmid", context.vmid())
}
