//! What compilers and binary optimisers read.

use tracewright_profile::export::samples::{Discriminators, Samples};
use tracewright_profile::export::{self, ranges};
use tracewright_profile::{Profile, Program, branch_list};

use super::Format;
use crate::output::{Error, report};

/// A profile in one of the formats for compilers; of the binary that `wanted` names a part of the path of.
pub fn write(
    format: Format,
    profile: &Profile,
    program: &Program,
    wanted: Option<&str>,
) -> Result<Vec<u8>, Error> {
    let chosen = wanted.map(|wanted| named(profile, wanted)).transpose()?;
    let only = chosen.map(|number| ranges::only(profile, number));
    let all = only.as_ref().unwrap_or(profile);
    // The binary, where there can be only one.
    let one = || chosen.map_or_else(|| largest(profile), Ok);
    let samples = |discriminators| {
        let samples = Samples::new(all, program, discriminators);
        if samples.functions.is_empty() {
            let message = "nothing that ran has debug information: compile the program with -g (clang: \
                -gmlt -fdebug-info-for-profiling)";
            return Err(Error::Message(message.into()));
        }
        Ok(samples)
    };
    Ok(match format {
        Format::Autofdo => export::autofdo::write(all, program).into_bytes(),
        Format::BranchList => branch_list::write(&branch_list::of_profile(all)),
        Format::Bolt => export::bolt::write(profile, program, one()?).into_bytes(),
        Format::BoltSimpleperf => export::bolt::simpleperf(profile, program, one()?).into_bytes(),
        Format::Fdata => export::fdata::write(profile, program, one()?).into_bytes(),
        Format::Profgen => export::profgen::write(profile, program, one()?).into_bytes(),
        Format::Llvm => export::llvm::write(&samples(Discriminators::Clang)?).into_bytes(),
        Format::LlvmBinary => export::llvm_binary::write(&samples(Discriminators::Clang)?),
        Format::Gcov => export::gcov::write(&samples(Discriminators::Plain)?),
    })
}

/// The binary that is meant.
fn named(profile: &Profile, wanted: &str) -> Result<u32, Error> {
    let ran = || (0..).zip(&profile.binaries).filter(|(_, binary)| binary.is_elf);
    let found: Vec<_> = ran().filter(|(_, binary)| binary.name.contains(wanted)).collect();
    let exact = |(_, binary): &&(u32, &tracewright_profile::Binary)| {
        binary.name == wanted || binary.name.rsplit('/').next() == Some(wanted)
    };
    if let (&[(number, _)], _) | (_, Some(&(number, _))) = (found.as_slice(), found.iter().find(exact)) {
        return Ok(number);
    }
    let (which, names) = match found.is_empty() {
        true => ("no binary", ran().collect()),
        false => ("more than one binary", found),
    };
    let names: Vec<_> = names.iter().map(|(_, binary)| binary.name.as_str()).collect();
    let message = format!("{which} that ran is called {wanted} (--binary); there are {}", names.join(", "));
    Err(Error::Message(message))
}

/// The binary of which the most ran; says so where there are others.
fn largest(profile: &Profile) -> Result<u32, Error> {
    let Some(number) = ranges::largest(profile) else {
        let message = "nothing ran of any ELF file, and such a profile is of one (--image, --symfs)";
        return Err(Error::Message(message.into()));
    };
    let elf_files = profile.binaries.iter().filter(|binary| binary.is_elf).count();
    if elf_files > 1 {
        let name = &profile.binaries[number as usize].name;
        report(&format!("{elf_files} binaries ran; this is the profile of {name} (--binary picks another)"));
    }
    Ok(number)
}
