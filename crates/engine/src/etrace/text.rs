//! E-Trace messages as text and as members of JSON objects.

use std::fmt::Write as _;

use tracewright_etrace::Options;
use tracewright_etrace::packet::{Address, BranchMap, Context, Packet, QualStatus, Support};
use tracewright_etrace::stream::{Content, Message};

use tracewright_isa::riscv::privilege_name;

use crate::line::Line;
use crate::syntax::{Kind, Role};

/// All kinds of messages, in the order of the specification.
pub const KINDS: &[Kind] = &[
    Kind::new("Start (3.0)", Role::Sync),
    Kind::new("Exception (3.1)", Role::Sync),
    Kind::new("Interrupt (3.1)", Role::Sync),
    Kind::new("Context (3.2)", Role::Plain),
    Kind::new("Support (3.3)", Role::Plain),
    Kind::new("Address (2)", Role::Plain),
    Kind::new("Branches (1)", Role::Plain),
    Kind::new("Branches, address (1)", Role::Plain),
    Kind::new("Branch count (0.0)", Role::Plain),
    Kind::new("Branch count, address (0.0)", Role::Plain),
    Kind::new("Jump target (0.1)", Role::Plain),
    Kind::new("Data", Role::Plain),
    Kind::new("Other type", Role::Plain),
    Kind::new("Idle", Role::Plain),
    Kind::new("Alignment", Role::Plain),
    Kind::new("Malformed", Role::Malformed),
    Kind::new("Incomplete", Role::Incomplete),
    Kind::new("Not synchronised", Role::Skipped),
];

/// Returns the kind of a message.
#[inline]
pub fn kind(message: &Message) -> usize {
    match &message.content {
        Content::Instruction(packet) => match packet {
            Packet::Start(_) => 0,
            Packet::Trap(trap) if trap.interrupt => 2,
            Packet::Trap(_) => 1,
            Packet::Context(_) => 3,
            Packet::Support(_) => 4,
            Packet::Address(_) => 5,
            Packet::Branches(_, None) => 6,
            Packet::Branches(_, Some(_)) => 7,
            Packet::BranchCount(count) if count.address.is_none() => 8,
            Packet::BranchCount(_) => 9,
            Packet::JumpTarget { .. } => 10,
        },
        Content::Data(_) => 11,
        Content::Other { .. } => 12,
        Content::Idle => 13,
        Content::Alignment => 14,
        Content::Malformed(_) => 15,
        Content::Incomplete => 16,
        Content::NotSync { .. } => 17,
    }
}

/// Writes the contents of a message as text.
pub fn words(line: &mut Line, message: &Message, options: &Options) -> std::fmt::Result {
    match &message.content {
        Content::Instruction(packet) => write!(line, "{}: {}", packet.name(), packet.details(options))?,
        Content::Data(packet) => write!(line, "Data: {packet}")?,
        Content::Other { kind } => write!(line, "Other: type {kind}")?,
        Content::Malformed(why) => write!(line, "Malformed: {why}")?,
        Content::NotSync { len } => write!(line, "Not synchronised: {len} bytes passed over")?,
        Content::Idle | Content::Alignment | Content::Incomplete => {
            line.text(KINDS[kind(message)].name);
        }
    }
    if let Some(time) = message.timestamp {
        write!(line, ", timestamp {time:#x}")?;
    }
    if message.flow != 0 {
        write!(line, ", flow {}", message.flow)?;
    }
    Ok(())
}

/// Writes a message's own fields. All text here is ours and needs no escaping. Addresses and other 64-bit values are hexadecimal
/// strings: JSON numbers lose bits above 53.
pub fn fields(line: &mut Line, message: &Message, options: &Options) -> std::fmt::Result {
    if let Some(time) = message.timestamp {
        write!(line, r#","timestamp":"{time:#x}""#)?;
    }
    if message.flow != 0 {
        write!(line, r#","flow":{}"#, message.flow)?;
    }
    match &message.content {
        Content::Instruction(packet) => packet_fields(line, options, packet),
        Content::Data(packet) => write!(line, r#","data":"{packet}""#),
        Content::Other { kind } => write!(line, r#","type":{kind}"#),
        Content::Malformed(why) => write!(line, r#","reason":"{why}""#),
        Content::NotSync { len } => write!(line, r#","bytes":{len}"#),
        _ => Ok(()),
    }
}

fn packet_fields(line: &mut Line, options: &Options, packet: &Packet) -> std::fmt::Result {
    match packet {
        Packet::Start(start) => {
            write!(line, r#","address":"{:#x}","branch_taken":{}"#, start.address, start.taken)?;
            context(line, &start.context)
        }
        Packet::Trap(trap) => {
            let (ecause, interrupt, thaddr) = (trap.ecause, trap.interrupt, trap.thaddr);
            write!(line, r#","ecause":{ecause},"interrupt":{interrupt},"thaddr":{thaddr}"#)?;
            if let Some(address) = trap.address {
                write!(line, r#","address":"{address:#x}""#)?;
            }
            if let Some(tval) = trap.tval {
                write!(line, r#","tval":"{tval:#x}""#)?;
            }
            write!(line, r#","branch_taken":{}"#, trap.taken)?;
            context(line, &trap.context)
        }
        Packet::Context(told) => context(line, told),
        Packet::Support(told) => support(line, told),
        Packet::Address(told) => address(line, options, told),
        Packet::Branches(map, told) => {
            branches(line, *map)?;
            told.as_ref().map_or(Ok(()), |told| address(line, options, told))
        }
        Packet::BranchCount(count) => {
            write!(line, r#","branches":{},"failed":{}"#, count.count, count.failed)?;
            count.address.as_ref().map_or(Ok(()), |told| address(line, options, told))
        }
        Packet::JumpTarget { index, branches: map, returns } => {
            write!(line, r#","index":{index}"#)?;
            branches(line, *map)?;
            self::returns(line, *returns)
        }
    }
}

fn branches(line: &mut Line, map: BranchMap) -> std::fmt::Result {
    write!(line, r#","outcomes":"{map:?}""#)
}

fn returns(line: &mut Line, returns: Option<u32>) -> std::fmt::Result {
    returns.map_or(Ok(()), |returns| write!(line, r#","returns":{returns}"#))
}

fn address(line: &mut Line, options: &Options, address: &Address) -> std::fmt::Result {
    if options.full_address {
        write!(line, r#","address":"{:#x}""#, address.value)?;
    } else {
        // No real trace has differences of 53 bits and more, but damaged bytes may.
        write!(line, r#","difference":"{}""#, address.value as i64)?;
    }
    write!(line, r#","notify":{},"updiscon":{}"#, address.notify, address.updiscon)?;
    returns(line, address.returns)
}

fn context(line: &mut Line, context: &Context) -> std::fmt::Result {
    let Context { privilege, time, context } = context;
    let privilege = privilege_name(*privilege);
    write!(line, r#","privilege":"{privilege}","context_id":{context},"time":"{time:#x}""#)
}

fn support(line: &mut Line, support: &Support) -> std::fmt::Result {
    let status = match support.qual_status {
        QualStatus::NoChange => "no_change",
        QualStatus::EndedRep => "ended_rep",
        QualStatus::TraceLost => "trace_lost",
        QualStatus::EndedNtr => "ended_ntr",
    };
    let (ienable, mode) = (support.ienable, support.encoder_mode);
    write!(line, r#","ienable":{ienable},"encoder_mode":{mode},"qual_status":"{status}""#)?;
    for (name, on) in support.ioptions.names() {
        write!(line, r#","{name}":{on}"#)?;
    }
    let resync_disabled = support.resync_disabled;
    write!(
        line,
        r#","resync_disabled":{resync_disabled},"denable":{},"dloss":{}"#,
        support.denable, support.dloss
    )?;
    support.doptions.names().try_for_each(|(name, on)| write!(line, r#","{name}":{on}"#))
}
