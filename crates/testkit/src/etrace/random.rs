//! Random encoders and packets that are valid by construction.

use tracewright_etrace::packet::{
    Address, BranchCount, BranchMap, Context, Packet, QualStatus, Start, Support, Trap,
};
use tracewright_etrace::stream::{Config, Encapsulation};
use tracewright_etrace::{Options, Params, SupportLayout, data};

use crate::Rng;

/// Returns the parameters of any encoder.
pub fn any_params(rng: &mut Rng) -> Params {
    let support = *rng.pick(&[SupportLayout::Reference, SupportLayout::Pulp, SupportLayout::Standard]);
    let small = support == SupportLayout::Standard;
    let (bpred_size, cache_size) = (*rng.pick(&[0, 1, 5, 7]), *rng.pick(&[0, 1, 4, 7]));
    let address_bytes = rng.one_in(8);
    let mut params = Params {
        iaddress_width: *rng.pick(&[16, 32, 32, 39, 48, 64, 64, 64]),
        iaddress_lsb: rng.below(3) as u8,
        context_width: *rng.pick(&[1, 8, 13, 32]),
        nocontext: rng.one_in(2),
        time_width: if small { *rng.pick(&[16, 48, 64]) } else { *rng.pick(&[1, 16, 40, 64]) },
        notime: rng.one_in(2),
        privilege_width: 2 + rng.below(2) as u8,
        ecause_width: *rng.pick(&[4, 5, 6, 11]),
        f0s_width: if bpred_size > 0 && cache_size > 0 { 1 + rng.below(2) } else { rng.below(3) } as u8,
        bpred_size,
        cache_size,
        call_counter_size: *rng.pick(&[0, 0, 3, 9]),
        return_stack_size: *rng.pick(&[0, 0, 3, 7]),
        sijump: rng.one_in(2),
        iret_ext: rng.one_in(4),
        irdepth_ones: rng.one_in(4),
        address_bytes,
        support,
        ..Params::default()
    };
    if address_bytes {
        params = Params { call_counter_size: 0, return_stack_size: 0, iret_ext: false, ..params };
    }
    params.check().unwrap();
    params
}

/// Returns any options that such an encoder can have enabled.
pub fn any_options(rng: &mut Rng, params: &Params) -> Options {
    Options {
        implicit_return: rng.one_in(2) && params.returns_bits() > 0,
        implicit_exception: rng.one_in(2),
        full_address: rng.one_in(2),
        jump_target_cache: rng.one_in(2) && params.cache_size > 0,
        branch_prediction: rng.one_in(2) && params.bpred_size > 0,
        // The support packets of the reference model have no bit for it.
        sijump: params.sijump && (rng.one_in(2) || params.support == SupportLayout::Reference),
    }
}

/// Returns the configuration of a stream of such an encoder, in any encapsulation.
pub fn any_config(rng: &mut Rng) -> Config {
    let params = any_params(rng);
    let encapsulation = match rng.below(4) {
        0 => Encapsulation::Smi,
        1 => Encapsulation::Pulp,
        _ => Encapsulation::Standard {
            source_bits: *rng.pick(&[0, 0, 1, 6, 8, 13, 16]),
            timestamp_bytes: rng.below(9) as u8,
            type_bits: *rng.pick(&[0, 0, 1, 2]),
        },
    };
    let options = any_options(rng, &params);
    Config { params, encapsulation, options, data: data::Options::default() }
}

/// Returns any support packet with `options`.
pub fn any_support(rng: &mut Rng, params: &Params, options: Options) -> Support {
    let data = params.support != SupportLayout::Pulp;
    Support {
        ienable: rng.one_in(2),
        encoder_mode: 0,
        qual_status: *rng.pick(&[
            QualStatus::NoChange,
            QualStatus::EndedRep,
            QualStatus::TraceLost,
            QualStatus::EndedNtr,
        ]),
        ioptions: options,
        denable: data && rng.one_in(2),
        dloss: data && rng.one_in(2),
        doptions: data::Options {
            no_address: data && rng.one_in(2),
            no_data: data && rng.one_in(2),
            full_address: data && rng.one_in(2),
            full_data: data && rng.one_in(2),
        },
        resync_disabled: params.support == SupportLayout::Standard && rng.one_in(2),
    }
}

/// Returns any packet that such an encoder can send with these options, except support packets.
pub fn any_packet(rng: &mut Rng, params: &Params, options: &Options) -> Packet {
    loop {
        return match rng.below(12) {
            0 => Packet::Start(Start {
                taken: rng.one_in(2),
                context: context(rng, params),
                address: full_address(rng, params),
            }),
            1 => Packet::Trap(trap(rng, params, options)),
            2 => Packet::Context(context(rng, params)),
            3..=5 => Packet::Address(address(rng, params, options)),
            6 => Packet::Branches(BranchMap::new(map(rng), 31), None),
            7..=9 => Packet::Branches(branches(rng, 1), Some(address(rng, params, options))),
            10 if options.branch_prediction => {
                let failed = rng.one_in(2);
                let address = (!failed || rng.one_in(2)).then(|| address(rng, params, options));
                Packet::BranchCount(BranchCount { count: 31 + rng.sized(32), failed, address })
            }
            11 if options.jump_target_cache => Packet::JumpTarget {
                index: rng.sized(params.cache_size.into()) as u32,
                branches: branches(rng, 0),
                returns: returns(rng, params),
            },
            _ => continue,
        };
    }
}

fn trap(rng: &mut Rng, params: &Params, options: &Options) -> Trap {
    let (interrupt, thaddr) = (rng.one_in(2), rng.one_in(2));
    let sent = !thaddr || !options.implicit_exception;
    Trap {
        taken: rng.one_in(2),
        context: context(rng, params),
        ecause: rng.sized(params.ecause_width.into()),
        interrupt,
        thaddr,
        address: sent.then(|| full_address(rng, params)),
        tval: (!interrupt).then(|| any_bits(rng, params.iaddress_width.into())),
    }
}

fn context(rng: &mut Rng, params: &Params) -> Context {
    let privileges = if params.privilege_width == 2 { &[0, 1, 3][..] } else { &[0, 1, 3, 4, 5, 6] };
    Context {
        privilege: *rng.pick(privileges),
        time: any_bits(rng, params.time_bits()),
        context: any_bits(rng, params.context_bits()),
    }
}

/// Returns a number with few bits set, or few bits clear.
fn any_bits(rng: &mut Rng, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let value = rng.sized(width);
    if rng.one_in(3) { !value & (u64::MAX >> (64 - width)) } else { value }
}

fn full_address(rng: &mut Rng, params: &Params) -> u64 {
    any_bits(rng, params.address_bits()) << params.iaddress_lsb
}

fn map(rng: &mut Rng) -> u32 {
    any_bits(rng, 31) as u32
}

fn branches(rng: &mut Rng, least: u64) -> BranchMap {
    let count = least + rng.below(32 - least);
    BranchMap::new(map(rng), count as u8)
}

fn address(rng: &mut Rng, params: &Params, options: &Options) -> Address {
    let value = full_address(rng, params);
    // A difference has a sign.
    let unused = 64 - u32::from(params.iaddress_width);
    let value = if options.full_address { value } else { ((value << unused) as i64 >> unused) as u64 };
    Address { value, notify: rng.one_in(8), updiscon: rng.one_in(8), returns: returns(rng, params) }
}

fn returns(rng: &mut Rng, params: &Params) -> Option<u32> {
    rng.one_in(6).then(|| rng.sized(params.returns_bits()) as u32)
}
