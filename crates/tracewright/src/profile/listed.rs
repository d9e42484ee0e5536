//! Profiles of simpleperf's branch lists: what ran is followed through the programs.

use std::path::Path;

use tracewright_core::Isa;
use tracewright_image::{Image, Place};
use tracewright_input::file::first_bytes;
use tracewright_input::perf::{self, Found};
use tracewright_input::{ImageFile, map_file};
use tracewright_profile::branch_list::{self, Expanded, Listed, ListedKind};
use tracewright_profile::{Binary, Profile, Program};

use super::{MissingProgram, ProgramError, ProgramSearch, attribute};
use crate::error::Error;

/// A profile of a branch list, and the programs that were found.
#[derive(Debug)]
pub struct ListedProfile {
    /// The profile.
    pub profile: Profile,
    /// Names and lines of the programs that were found.
    pub program: Program,
    /// Programs of the list whose code was not found.
    pub missing: Vec<MissingProgram>,
    /// Number of programs whose branches were followed.
    pub found: usize,
    /// Number of programs in the list.
    pub programs: usize,
    /// Branches that were followed, and those that could not be.
    pub branches: Expanded,
}

impl ListedProfile {
    /// Returns whether a file is a branch list, or a recording of simpleperf that has one instead of trace.
    pub fn is_in(path: &Path) -> bool {
        let is_list = first_bytes::<26>(path).is_some_and(|head| branch_list::is_branch_list(&head));
        is_list || perf::branch_list(path).is_some()
    }

    /// Reads the branch list in a file, looks for its programs, and follows the branches through them.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is damaged. Programs that are not found are in [`missing`](Self::missing).
    pub fn open(path: &Path, search: &ProgramSearch) -> Result<Self, Error> {
        let bytes = match perf::branch_list(path) {
            Some(bytes) => bytes,
            None => map_file(path)?,
        };
        let list = branch_list::read(bytes.as_slice(), perf::unpacked_zstd)
            .map_err(|error| Error::BranchList(path.into(), error))?;
        let mut builder = Image::builder();
        let (mut missing, mut found) = (Vec::new(), Vec::new());
        let mut miss = |listed: &Listed, why| missing.push(MissingProgram { name: listed.path.clone(), why });
        for (listed, number) in list.binaries.iter().zip(0..) {
            builder.number(0);
            let (Found { path, bytes, debug }, isa) = match program(search, listed) {
                Ok(program) => program,
                Err(why) => {
                    builder.absent(&listed.path, &why.to_string());
                    miss(listed, why);
                    continue;
                }
            };
            let name = path.display().to_string();
            if let Err(error) = builder.elf(&name, bytes, Place::AsLinked, Image::space_of(number)) {
                builder.absent(&listed.path, "not a program");
                miss(listed, ProgramError::Unusable(error.to_string()));
                continue;
            }
            builder.ran_as(&listed.path);
            debug.into_iter().for_each(|debug| builder.debug(debug));
            found.push((listed, number, isa));
        }
        let image = builder.build();
        found.retain(|(listed, number, _)| {
            let is_placed = listed.kernel_start.is_none() || text_start(&image, *number).is_some();
            if !is_placed {
                miss(listed, ProgramError::NoText);
            }
            is_placed
        });
        let (mut profile, mut branches) = (Profile::default(), Expanded::default());
        for &(listed, number, isa) in &found {
            let Some(file) = image.files().nth(number as usize) else { continue };
            let binary = profile.binary(Binary::of(&file));
            let moved = listed.kernel_start.zip(text_start(&image, number));
            let moved = moved.map(|(start, linked)| listed.moved(linked.wrapping_sub(start)));
            let listed = moved.as_ref().unwrap_or(listed);
            branches.add(&mut profile, binary, listed, (&image, Image::space_of(number), isa));
        }
        profile.funnel.instructions = profile.instructions();
        let program = Program::new(&profile, &image);
        attribute(&mut profile, &program);
        let (found, programs) = (found.len(), list.binaries.len());
        Ok(Self { profile, program, missing, found, programs, branches })
    }

    /// Returns whether the branches of all programs were followed.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.branches.lost == 0
    }
}

/// Returns where the code of a kernel was linked to begin: what simpleperf tells the place of.
fn text_start(image: &Image, number: u32) -> Option<u64> {
    let file = image.files().nth(number as usize)?;
    let mut regions = image.regions().filter(|region| region.name() == file.name());
    regions.find_map(|region| region.section_named(".text")).map(|section| section.range.start)
}

/// Finds a program, and tells its instruction set.
fn program(search: &ProgramSearch, listed: &Listed) -> Result<(Found, Isa), ProgramError> {
    let is_kernel = listed.kind == ListedKind::Kernel;
    let is_it = |image: &&ImageFile| {
        let name = image.path.file_name();
        // Where it ran, the kernel is no file.
        let is_vmlinux = || name.is_some_and(|name| name.to_string_lossy().starts_with("vmlinux"));
        name == Path::new(&listed.path).file_name() || is_kernel && is_vmlinux()
    };
    let found = match search.images.iter().find(is_it) {
        Some(image) => {
            let bytes = map_file(&image.path).map_err(|problem| ProgramError::Unreadable(problem.message))?;
            Found { path: image.path.clone(), bytes, debug: None }
        }
        None => search.find(&listed.path, &listed.build_id, true).map_err(ProgramError::NotFound)?,
    };
    let head = found.bytes.as_slice();
    let isa = match (head.get(18..20), head.get(4)) {
        (Some([183, 0]), _) => Isa::A64,
        (Some([243, 0]), Some(1)) => Isa::Rv32,
        (Some([243, 0]), _) => Isa::Rv64,
        _ => return Err(ProgramError::Processor(found.path)),
    };
    Ok((found, isa))
}
