//! The `riscv-etrace` crate and this one read each other's packets, wherever `riscv-etrace` can. Exceptions
//! are in `DIFFERENCES.md`.

use std::num::NonZeroU8;

use riscv_etrace::config::Parameters;
use riscv_etrace::packet::payload::{AddressInfo, Branch, InstructionTrace, Payload};
use riscv_etrace::packet::sync::{self, EncoderMode};
use riscv_etrace::packet::unit::{ReferenceDOptions, ReferenceIOptions};
use riscv_etrace::packet::{Builder, encap, ext, smi};
use riscv_etrace::types::{branch, trap};
use tracewright_etrace::packet::{
    self, Address, BranchMap, Context, Packet, PayloadBytes, QualStatus, Support,
};
use tracewright_etrace::stream::{Config, Content, Encapsulation, Message, Parser, Writer};
use tracewright_etrace::{Options, Params, SupportLayout, data};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{self as testkit, any_options, any_packet, any_params, any_support};

const SEEDS: u64 = 1500;
const PACKETS: usize = 40;

/// Returns an encoder that `riscv-etrace` supports: with the reference model's support packets.
fn params(rng: &mut Rng) -> Params {
    Params {
        support: SupportLayout::Reference,
        iret_ext: false,
        address_bytes: false,
        sijump: false,
        ..any_params(rng)
    }
}

/// Returns options that `riscv-etrace` supports.
fn options(rng: &mut Rng, params: &Params) -> Options {
    Options { implicit_exception: false, sijump: false, ..any_options(rng, params) }
}

/// Converts parameters to theirs.
pub fn parameters(params: &Params) -> Parameters {
    let width = |width| NonZeroU8::new(width).unwrap();
    Parameters {
        cache_size_p: params.cache_size,
        call_counter_size_p: params.call_counter_size,
        context_width_p: width(params.context_width),
        time_width_p: width(params.time_width),
        ecause_width_p: width(params.ecause_width),
        f0s_width_p: params.f0s_width,
        iaddress_lsb_p: params.iaddress_lsb,
        iaddress_width_p: width(params.iaddress_width),
        nocontext_p: params.nocontext,
        notime_p: params.notime,
        privilege_width_p: width(params.privilege_width),
        return_stack_size_p: params.return_stack_size,
        sijump_p: params.sijump,
    }
}

fn builder(params: &Params) -> Builder {
    Builder::new().with_params(&parameters(params))
}

/// Converts a packet to theirs.
fn theirs(packet: &Packet, params: &Params) -> InstructionTrace {
    match packet {
        Packet::Start(start) => {
            sync::Start { branch: !start.taken, ctx: context(&start.context, params), address: start.address }
                .into()
        }
        Packet::Trap(trap) => sync::Trap {
            branch: !trap.taken,
            ctx: context(&trap.context, params),
            thaddr: trap.thaddr,
            address: trap.address.unwrap(),
            info: trap::Info { ecause: trap.ecause as u16, tval: trap.tval },
        }
        .into(),
        Packet::Context(told) => context(told, params).into(),
        Packet::Support(told) => support(told).into(),
        Packet::Address(told) => address(told, params).into(),
        Packet::Branches(map, told) => {
            Branch { branch_map: branches(*map), address: told.as_ref().map(|told| address(told, params)) }
                .into()
        }
        Packet::BranchCount(count) => {
            let told = count.address.as_ref().map(|told| address(told, params));
            let kind = match (told, count.failed) {
                (None, _) => ext::BranchKind::NoAddr,
                (Some(told), false) => ext::BranchKind::Addr(told),
                (Some(told), true) => ext::BranchKind::AddrFail(told),
            };
            ext::BranchCount { branch_count: (count.count - 31) as u32, kind }.into()
        }
        Packet::JumpTarget { index, branches: map, returns } => ext::JumpTargetIndex {
            index: *index as usize,
            branch_map: branches(*map),
            irdepth: irdepth(*returns, params),
        }
        .into(),
    }
}

fn context(told: &Context, params: &Params) -> sync::Context {
    sync::Context {
        privilege: told.privilege.try_into().unwrap(),
        time: (!params.notime).then_some(told.time),
        context: told.context,
    }
}

fn support(told: &Support) -> sync::Support {
    let (i, d) = (told.ioptions, told.doptions);
    sync::Support {
        ienable: told.ienable,
        encoder_mode: EncoderMode::BranchTrace,
        qual_status: match told.qual_status {
            QualStatus::NoChange => sync::QualStatus::NoChange,
            QualStatus::EndedRep => sync::QualStatus::EndedRep,
            QualStatus::TraceLost => sync::QualStatus::TraceLost,
            QualStatus::EndedNtr => sync::QualStatus::EndedNtr,
        },
        ioptions: ReferenceIOptions {
            implicit_return: i.implicit_return,
            implicit_exception: i.implicit_exception,
            full_address: i.full_address,
            jump_target_cache: i.jump_target_cache,
            branch_prediction: i.branch_prediction,
        },
        denable: told.denable,
        dloss: told.dloss,
        doptions: ReferenceDOptions {
            no_address: d.no_address,
            no_data: d.no_data,
            full_address: d.full_address,
            full_data: d.full_data,
        },
    }
}

/// Its addresses are signed, whether they are differences or not.
fn address(told: &Address, params: &Params) -> AddressInfo {
    let unused = 64 - params.iaddress_width;
    AddressInfo {
        address: (told.value << unused) as i64 >> unused,
        notify: told.notify,
        updiscon: told.updiscon,
        irdepth: irdepth(told.returns, params),
    }
}

/// It treats a field without bits as absent.
fn irdepth(returns: Option<u32>, params: &Params) -> Option<usize> {
    returns.filter(|_| params.returns_bits() > 0).map(|returns| returns as usize)
}

fn branches(map: BranchMap) -> branch::Map {
    let mut branches = branch::Map::default();
    (0..map.count()).for_each(|i| branches.push_branch_taken(map.bits() >> i & 1 == 0).unwrap());
    branches
}

/// Calls `check` with packets of encoders and options that it supports.
fn each(mut check: impl FnMut(&Params, &Options, &Packet)) {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let params = params(&mut rng);
        let options = options(&mut rng, &params);
        for _ in 0..PACKETS {
            check(&params, &options, &any_packet(&mut rng, &params, &options));
        }
        check(&params, &options, &Packet::Support(any_support(&mut rng, &params, options)));
    }
}

#[test]
fn it_reads_our_payloads() {
    let mut read = 0;
    each(|params, _, packet| {
        // It takes format 0 without subformat for branch counts.
        if matches!(packet, Packet::JumpTarget { .. }) && params.f0s_width == 0 {
            return;
        }
        let mut bytes = PayloadBytes::default();
        packet::emit(packet, params, &mut bytes).unwrap();
        let decoded = builder(params).decoder(&bytes).decode_payload();
        assert_eq!(decoded, Ok(theirs(packet, params)), "{packet:?} {bytes:02x?} {params:?}");
        read += 1;
    });
    assert!(read > 60_000, "{read}");
}

#[test]
fn we_read_its_payloads() {
    let (mut read, mut same) = (0, 0);
    each(|params, options, packet| {
        // It does not write the subformat of format 0.
        let is_format_0 = matches!(packet, Packet::BranchCount(_) | Packet::JumpTarget { .. });
        if is_format_0 && params.f0s_width > 0 {
            return;
        }
        // It leaves out data options while data is not traced.
        let packet = match *packet {
            Packet::Support(support) if !support.denable => {
                Packet::Support(Support { dloss: false, doptions: data::Options::default(), ..support })
            }
            packet => packet,
        };
        let mut buffer = [0; 64];
        let mut encoder = builder(params).encoder(&mut buffer);
        encoder.encode(&theirs(&packet, params)).unwrap();
        let len = 64 - encoder.uncommitted();
        let bytes = &buffer[..len];
        let expected = without_returns(packet, params);
        assert_eq!(packet::parse(bytes, params, options), Ok(expected), "{bytes:02x?} {params:?}");
        let params = Params { irdepth_ones: false, ..params.clone() };
        same += u32::from(packet::is_canonical(bytes, &expected, &params));
        read += 1;
    });
    assert!(read > 50_000 && same == read, "{same} of {read} are as we write them");
}

/// Returns what it writes where a field has no bits.
fn without_returns(mut packet: Packet, params: &Params) -> Packet {
    if params.returns_bits() == 0 {
        match &mut packet {
            Packet::Address(address) | Packet::Branches(_, Some(address)) => address.returns = None,
            Packet::BranchCount(count) => {
                if let Some(address) = &mut count.address {
                    address.returns = None;
                }
            }
            Packet::JumpTarget { returns, .. } => *returns = None,
            _ => {}
        }
    }
    packet
}

/// It reads our streams, in the standard encapsulation and in Siemens' SMI. It expects a timestamp in every
/// message or in none, so these streams have that.
#[test]
fn it_reads_our_streams() {
    let mut read = 0;
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let params = Params { f0s_width: 1, ..params(&mut rng) };
        let options = options(&mut rng, &params);
        let standard = rng.one_in(2);
        let timestamp_bytes = rng.below(9) as u8;
        let (source_bits, type_bits) = (rng.below(17) as u8, rng.below(3) as u8);
        let encapsulation = if standard {
            Encapsulation::Standard { source_bits, timestamp_bytes, type_bits }
        } else {
            Encapsulation::Smi
        };
        let config = Config { params, encapsulation, options, ..Config::default() };
        let mut writer = Writer::new(config.clone());
        let (mut bytes, mut written) = (Vec::new(), Vec::new());
        for _ in 0..PACKETS {
            let content = Content::Instruction(any_packet(&mut rng, &config.params, &options));
            let (source, flow, timestamp) = if standard {
                let source = rng.sized(source_bits.into()) as u16;
                let timestamp = (timestamp_bytes > 0).then(|| rng.sized(8 * u32::from(timestamp_bytes)));
                (source, rng.below(4) as u8, timestamp)
            } else {
                (0, 0, rng.one_in(2).then(|| rng.sized(16)))
            };
            let message = Message { source, flow, timestamp, content };
            if writer.message(&message, &mut bytes).is_ok() {
                written.push(message);
            }
        }
        let mut builder = builder(&config.params);
        if standard {
            builder = builder
                .with_hart_index_width(source_bits)
                .with_timestamp_width(timestamp_bytes)
                .with_trace_type_width(type_bits);
        }
        let mut decoder = builder.decoder(&bytes);
        for message in &written {
            let Content::Instruction(packet) = &message.content else { unreachable!() };
            let payload = if standard {
                let packet = decoder.decode_encap_packet().unwrap().into_normal().unwrap();
                assert_eq!(
                    (packet.src_id(), packet.flow(), packet.timestamp()),
                    (message.source, message.flow, message.timestamp)
                );
                packet.decode_payload().unwrap()
            } else {
                let packet = decoder.decode_smi_packet().unwrap();
                assert_eq!(packet.time_tag().map(u64::from), message.timestamp);
                packet.decode_payload().unwrap()
            };
            assert_eq!(
                payload,
                Payload::InstructionTrace(theirs(packet, &config.params)),
                "seed {seed} {packet:?}"
            );
            read += 1;
        }
        assert_eq!(decoder.bytes_left(), 0);
    }
    assert!(read > 50_000, "{read}");
}

/// We read its streams.
#[test]
fn we_read_its_streams() {
    let mut read = 0;
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let params = Params { f0s_width: 0, cache_size: 0, ..params(&mut rng) };
        let options = options(&mut rng, &params);
        let standard = rng.one_in(2);
        let encapsulation = if standard {
            Encapsulation::Standard { source_bits: 6, timestamp_bytes: 3, type_bits: 2 }
        } else {
            Encapsulation::Smi
        };
        let config = Config { params, encapsulation, options, ..Config::default() };
        let builder = builder(&config.params).with_hart_index_width(if standard { 6 } else { 0 });
        let builder = builder.with_timestamp_width(3).with_trace_type_width(2);
        let mut buffer = vec![0; 64 * PACKETS];
        let mut encoder = builder.encoder(&mut buffer);
        let mut written = Vec::new();
        for _ in 0..PACKETS {
            let packet = any_packet(&mut rng, &config.params, &options);
            let payload = Payload::InstructionTrace(theirs(&packet, &config.params));
            let content = Content::Instruction(without_returns(packet, &config.params));
            let encoded = if standard {
                let (flow, source) = (rng.below(4) as u8, rng.below(64) as u16);
                let timestamp = 1 << 23 | rng.sized(24);
                written.push(Message { source, flow, timestamp: Some(timestamp), content });
                encoder.encode(&encap::Packet::from(
                    encap::Normal::new(flow, source, payload).with_timestamp(timestamp),
                ))
            } else {
                written.push(Message { source: 0, flow: 0, timestamp: None, content });
                encoder.encode(&smi::Packet::new(2, 0, theirs(&packet, &config.params)))
            };
            encoded.unwrap();
        }
        let left = encoder.uncommitted();
        let bytes = &buffer[..buffer.len() - left];
        let told: Vec<_> = testkit::read(Parser::new(config), [bytes]).iter().map(|told| told.2).collect();
        assert_eq!(told, written, "seed {seed}");
        read += told.len();
    }
    assert!(read > 50_000, "{read}");
}
