//! Random profiles.

use tracewright_core::{Class, Flow, Isa, Role};
use tracewright_image::CodeSegment;
use tracewright_profile::{Binary, Code, Place, Profile, Runs};
use tracewright_testkit::Rng;

fn segment(rng: &mut Rng) -> CodeSegment {
    CodeSegment { address: rng.sized(64), offset: rng.sized(40), len: rng.sized(30) }
}

/// Makes a profile of a few binaries, some of which occur in other such profiles.
pub fn random(rng: &mut Rng) -> Profile {
    let mut profile = Profile::default();
    for _ in 0..rng.below(4) {
        let number = rng.below(4) as u8;
        profile.binary(Binary {
            // One build has several names.
            name: format!("/bin/{}{number}", rng.pick(&["x", "y"])),
            build_id: if number < 2 { vec![number; 20] } else { Vec::new() },
            is_elf: number < 3,
            found: (rng.below(2) == 0).then(|| format!("/found/{}", rng.below(5))),
            code: (0..rng.below(3)).map(|_| segment(rng)).collect(),
        });
    }
    let owners = profile.binaries.len() as u64;
    let place = |rng: &mut Rng| {
        let binary = rng.below(owners + 1) as u32;
        let binary = if u64::from(binary) == owners { Place::NOWHERE } else { binary };
        let address = if rng.one_in(20) { rng.next_u64() >> 1 } else { 0x1000 + 4 * rng.below(40) };
        Place { binary, address }
    };
    for _ in 0..rng.below(60) {
        let isa = *rng.pick(&[Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64]);
        let len = 4 * (1 + rng.sized(5) as u32);
        let count =
            if isa.shortest() == 4 { len / 4 } else { len / 4 + rng.below(u64::from(len) / 4) as u32 };
        let flow = *rng.pick(&[Flow::Next, Flow::Direct, Flow::Indirect, Flow::Pair, Flow::Isb, Flow::Wait]);
        let role = *rng.pick(&[Role::Jump, Role::Call, Role::Return]);
        let class = Class { flow, role, conditional: rng.one_in(2) };
        let code = Code { start: place(rng), len, count, isa, last_len: isa.shortest(), class };
        let runs = Runs { taken: rng.sized(30), not_taken: 1 + rng.sized(8), through: rng.below(2) };
        *profile.blocks.entry(code).or_default() += runs;
        profile.funnel.instructions += u64::from(code.count) * runs.all();
        // Most branches went where blocks say that they were taken.
        if runs.taken > 0 && rng.one_in(2) {
            *profile.branches.entry((code.last(), place(rng))).or_default() += runs.taken;
        }
    }
    for _ in 0..rng.below(60) {
        let key = (place(rng), place(rng));
        *profile.branches.entry(key).or_default() += 1 + rng.sized(40);
    }
    profile.funnel.bytes = rng.sized(40);
    profile.funnel.gaps = rng.sized(4);
    profile.funnel.in_output = profile.funnel.instructions;
    profile
}
