//! What compilers and binary optimisers read.

use std::collections::HashSet;

use tracewright_profile::export::gcov::Version;
use tracewright_profile::export::samples::{Discriminators, Samples};
use tracewright_profile::export::{self, ranges};
use tracewright_profile::{Binary, Profile, Program, branch_list};

use super::Format;
use crate::output::{Error, remark};

/// A profile in one of the formats for compilers.
pub fn write(format: Format, profile: &Profile, program: &Program) -> Result<Vec<u8>, Error> {
    // The binary, where there can be only one.
    let one = || largest(profile);
    let samples = |discriminators| {
        let samples = Samples::new(profile, program, discriminators);
        if samples.functions.is_empty() {
            return Err(without_lines());
        }
        Ok(samples)
    };
    Ok(match format {
        Format::Autofdo => export::autofdo::write(profile, program).into_bytes(),
        Format::BranchList => branch_list::write(&branch_list::of_profile(profile)),
        Format::Bolt => export::bolt::write(profile, program, one()?).into_bytes(),
        Format::BoltSimpleperf => export::bolt::simpleperf(profile, program, one()?).into_bytes(),
        Format::Fdata => export::fdata::write(profile, program, one()?).into_bytes(),
        Format::Profgen => export::profgen::write(profile, program, one()?).into_bytes(),
        Format::Propeller => clusters(profile, program, one()?)?.into_bytes(),
        Format::SymbolOrder => export::propeller::symbol_order(profile, program, one()?).into_bytes(),
        Format::Llvm => export::llvm::write(&samples(Discriminators::Clang)?).into_bytes(),
        Format::LlvmBinary => export::llvm_binary::write(&samples(Discriminators::Clang)?),
        Format::Gcov => export::gcov::write(&samples(Discriminators::Plain)?, Version::Two),
        Format::Gcov16 => export::gcov::write(&samples(Discriminators::Plain)?, Version::Three),
        Format::Table
        | Format::Csv
        | Format::Tree
        | Format::Folded
        | Format::Flamegraph
        | Format::Pprof
        | Format::Callgrind
        | Format::LlvmContexts
        | Format::Tracewright => return Err(Error::Message("not a format for compilers".into())),
    })
}

/// The basic blocks of one binary that belong together.
fn clusters(profile: &Profile, program: &Program, number: u32) -> Result<String, Error> {
    let name = profile.binaries.get(number as usize).map_or("", Binary::file_name);
    let clusters = export::propeller::clusters(profile, program, number);
    let clusters = clusters.map_err(|error| Error::Message(format!("{name}: {error}")))?;
    if clusters.ambiguous > 0 {
        let left = clusters.ambiguous;
        remark(&format!(
            "functions left out, since others have their name: {left} (-funique-internal-linkage-names)"
        ));
    }
    if clusters.text.is_empty() {
        let message = "nothing that ran of it is in a map of basic blocks: compile it for AArch64 with clang \
            -fbasic-block-address-map (before clang 19: -fbasic-block-sections=labels)";
        return Err(Error::Message(format!("{name}: {message}")));
    }
    Ok(clusters.text)
}

/// The error of formats that are made of source lines.
pub fn without_lines() -> Error {
    let message = "nothing that ran has debug information: compile the program with -g (clang: -gmlt \
        -fdebug-info-for-profiling)";
    Error::Message(message.into())
}

/// The binary of which the most ran; says so where there are others.
fn largest(profile: &Profile) -> Result<u32, Error> {
    let Some(number) = ranges::largest(profile) else {
        let message = "nothing ran of any ELF file, and such a profile is of one (--image, --symfs)";
        return Err(Error::Message(message.into()));
    };
    let ran: HashSet<_> = profile.blocks.keys().map(|code| code.start.binary).collect();
    let is_elf = |number: &&u32| profile.binaries.get(**number as usize).is_some_and(|binary| binary.is_elf);
    let elf_files = ran.iter().filter(is_elf).count();
    if elf_files > 1 {
        let name = &profile.binaries[number as usize].name;
        remark(&format!("{elf_files} binaries ran; this is the profile of {name} (--binary picks another)"));
    }
    Ok(number)
}
