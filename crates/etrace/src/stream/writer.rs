//! Messages to bytes.

use super::frame::{MAX_MESSAGE, RECORD};
use super::{Config, Content, Encapsulation, Message};
use crate::bits::Writer as Bits;
use crate::data;
use crate::packet::{self, NoPayload, Packet, Short};

/// Writer of messages, each with the fewest bytes.
#[derive(Clone, Debug)]
pub struct Writer {
    config: Config,
    /// Number of messages between alignment sequences; 0 for none.
    every: u32,
    /// Number of messages since the last alignment sequence.
    since: u32,
}

impl Writer {
    /// Creates a writer that aligns only on request.
    pub fn new(config: Config) -> Self {
        Self { config, every: 0, since: 0 }
    }

    /// Adds an alignment sequence at the beginning and after every `every` messages.
    #[must_use]
    pub fn with_alignment(self, every: u32) -> Self {
        Self { every, since: every, ..self }
    }

    /// Returns the settings of the writer.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Appends an instruction trace packet.
    ///
    /// # Errors
    /// Fails if there is no such packet or if it is too long for the encapsulation. Nothing is appended then.
    #[inline]
    pub fn instruction(
        &mut self,
        source: u16,
        timestamp: Option<u64>,
        packet: &Packet,
        out: &mut Vec<u8>,
    ) -> Result<(), NoPayload> {
        if !self.is_alignment_due() && self.quick(source, 0, timestamp, packet, out) {
            self.since = self.since.saturating_add(1);
            return Ok(());
        }
        let content = Content::Instruction(*packet);
        self.message(&Message { source, flow: 0, timestamp, content }, out)
    }

    /// Appends a data trace packet.
    ///
    /// # Errors
    /// Fails like [`Writer::instruction`], and if the encapsulation cannot mark data trace.
    pub fn data(
        &mut self,
        source: u16,
        timestamp: Option<u64>,
        packet: &data::Packet,
        out: &mut Vec<u8>,
    ) -> Result<(), NoPayload> {
        let content = Content::Data(*packet);
        self.message(&Message { source, flow: 0, timestamp, content }, out)
    }

    /// Appends a message: a packet, idle or alignment.
    ///
    /// # Errors
    /// Fails like [`Writer::instruction`], and for content that only a parser reports.
    pub fn message(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), NoPayload> {
        let (before, since) = (out.len(), self.since);
        if self.is_alignment_due() {
            self.alignment(out);
        }
        if let Content::Instruction(packet) = &message.content
            && self.quick(message.source, message.flow, message.timestamp, packet, out)
        {
            self.since = self.since.saturating_add(1);
            return Ok(());
        }
        let flow = (message.flow & 3) << 5;
        let standard = matches!(self.config.encapsulation, Encapsulation::Standard { .. });
        let written = match &message.content {
            Content::Instruction(packet) => {
                let params = &self.config.params;
                self.payload(message, false, |bits| packet::emit_into(packet, params, bits), out)
            }
            Content::Data(packet) => {
                let params = &self.config.params;
                let emit = |bits: &mut Bits| {
                    data::emit_into(packet, params, bits);
                    Ok(())
                };
                self.payload(message, true, emit, out)
            }
            Content::Idle if standard => {
                out.push(flow);
                Ok(())
            }
            Content::Alignment if standard => {
                out.push(flow | 0x80);
                Ok(())
            }
            _ => Err(NoPayload("not a message that can be written")),
        };
        if written.is_err() {
            out.truncate(before);
            self.since = since;
        } else {
            self.since = self.since.saturating_add(1);
        }
        written
    }

    /// Appends null packets that show any reader where packets begin, if the encapsulation has them.
    pub fn alignment(&mut self, out: &mut Vec<u8>) {
        let nulls = self.config.encapsulation.nulls() as usize;
        if nulls > 0 {
            out.resize(out.len() + nulls - 1, 0);
            out.push(0x80);
        }
        self.since = 0;
    }

    #[inline]
    fn is_alignment_due(&self) -> bool {
        self.every > 0 && self.since >= self.every
    }

    /// Appends a message on the fast path. Returns `false` if the general path is needed.
    #[inline]
    fn quick(
        &self,
        source: u16,
        flow: u8,
        timestamp: Option<u64>,
        packet: &Packet,
        out: &mut Vec<u8>,
    ) -> bool {
        let Encapsulation::Standard { source_bits, type_bits, .. } = self.config.encapsulation else {
            return false;
        };
        if timestamp.is_some() || source_bits > 16 {
            return false;
        }
        let source = u64::from(source) & ((1 << source_bits) - 1);
        let width = u32::from(source_bits) + u32::from(type_bits);
        let Some(short) = Short::of(packet, &self.config.params, source, width) else { return false };
        let apart = usize::from(source_bits / 8);
        let (payload, len) = short.bytes(apart + 1);
        let length = len - apart;
        if length > 31 {
            return false;
        }
        let mut bytes = [0; 17];
        bytes[0] = (flow & 3) << 5 | length as u8;
        bytes[1..].copy_from_slice(&payload);
        // A fixed-size copy is quicker; the excess is cut off afterwards.
        let end = out.len() + 1 + len;
        out.extend_from_slice(&bytes);
        out.truncate(end);
        true
    }

    fn payload(
        &self,
        message: &Message,
        is_data: bool,
        emit: impl FnOnce(&mut Bits) -> Result<(), NoPayload>,
        out: &mut Vec<u8>,
    ) -> Result<(), NoPayload> {
        let mut bits = Bits::default();
        // Bytes between the header and those that its length counts.
        let mut apart = 0;
        let header = match self.config.encapsulation {
            Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } => {
                bits.put(message.source.into(), source_bits.into());
                apart += usize::from(source_bits / 8);
                let extend = message.timestamp.map_or(0, |timestamp| {
                    bits.put(timestamp, 8 * u32::from(timestamp_bytes));
                    apart += usize::from(timestamp_bytes);
                    0x80
                });
                if is_data && type_bits == 0 {
                    return Err(NoPayload("data trace without type bits"));
                }
                bits.put(is_data.into(), type_bits.into());
                (message.flow & 3) << 5 | extend
            }
            Encapsulation::Smi => {
                let tag = message.timestamp.map_or(0, |timestamp| {
                    bits.put(timestamp, 16);
                    apart += 2;
                    0x80
                });
                tag | if is_data { 3 << 5 } else { 2 << 5 }
            }
            Encapsulation::Pulp => {
                bits.put(message.timestamp.unwrap_or_default(), 64);
                apart += 8;
                (message.flow & 3) << 5 | 0x80
            }
        };
        emit(&mut bits)?;
        let len = packet::finish(&mut bits, &self.config.params, apart + 1);
        let Some(length) = u8::try_from(len - apart).ok().filter(|&length| length < 32) else {
            return Err(NoPayload("a payload of more than 31 bytes"));
        };
        let mut bytes = [0; MAX_MESSAGE];
        bytes[0] = header | length;
        bits.copy_to(&mut bytes[1..1 + len]);
        if self.config.encapsulation == Encapsulation::Pulp {
            out.extend(bytes[..RECORD].iter().rev());
        } else {
            out.extend_from_slice(&bytes[..1 + len]);
        }
        Ok(())
    }
}
