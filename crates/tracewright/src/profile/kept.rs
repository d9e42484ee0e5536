//! Profiles that were kept in files, with the programs that are here.

use std::path::Path;

use tracewright_image::{Builder, Image};
use tracewright_input::file::first_bytes;
use tracewright_input::{ImageFile, build_id, map_file};
use tracewright_profile::{Binary, Profile, Program, store};

use super::{MissingProgram, ProgramError, ProgramSearch, attribute};
use crate::error::Error;

/// A profile from a file, and the programs of it that were found.
#[derive(Debug)]
pub struct KeptProfile {
    /// The profile.
    pub profile: Profile,
    /// Names and lines of the programs that were found.
    pub program: Program,
    /// Binaries of the profile that were not found.
    pub missing: Vec<MissingProgram>,
    /// Programs given by name that are no binaries of the profile, with their build IDs.
    pub unused: Vec<(ImageFile, Option<String>)>,
}

impl KeptProfile {
    /// Returns whether a file is one that keeps a profile.
    pub fn is_in(path: &Path) -> bool {
        first_bytes::<{ store::MAGIC.len() }>(path).is_some_and(|start| store::is_profile(&start))
    }

    /// Reads the profile in a file, without any programs.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is damaged.
    pub fn read(path: &Path) -> Result<Profile, Error> {
        let bytes = map_file(path)?;
        store::read(bytes.as_slice()).map_err(|damage| Error::Profile(path.into(), damage))
    }

    /// Reads the profile in a file, and looks for its programs: by build ID where they have one.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does. Programs that are not found are in [`missing`](Self::missing).
    pub fn open(path: &Path, search: &ProgramSearch) -> Result<Self, Error> {
        let mut profile = Self::read(path)?;
        let mut builder = Image::builder();
        let mut missing = Vec::new();
        let id = |path: &Path| build_id(path).ok().flatten();
        let named: Vec<_> = search.images.iter().map(|file| (file, id(&file.path))).collect();
        for (number, binary) in (0..).zip(&profile.binaries) {
            builder.number(0);
            if let Err(why) = add(&mut builder, binary, number, search, &named) {
                missing.push(MissingProgram { name: binary.name.clone(), why });
            }
        }
        let is_used = |file: &ImageFile, id: Option<&str>| {
            profile.binaries.iter().any(|binary| is_of(binary, file, id))
        };
        let unused = named.into_iter().filter(|(file, id)| !is_used(file, id.as_deref()));
        let unused = unused.map(|(file, id)| (file.clone(), id)).collect();
        let program = Program::new(&profile, &builder.build());
        // Of what filters have left out, nothing is known any more but how much it was.
        if profile.instructions() == profile.funnel.instructions {
            attribute(&mut profile, &program);
        }
        Ok(Self { profile, program, missing, unused })
    }
}

/// Returns whether a file given by name is a binary of a profile: by build ID; without any, by the name of the file.
fn is_of(binary: &Binary, file: &ImageFile, id: Option<&str>) -> bool {
    if binary.build_id.is_empty() || id.is_none() {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        return binary.build_id.is_empty() && name == binary.file_name();
    }
    id == Some(&binary.build_id_hex())
}

/// Adds a binary, in a memory space of its own.
fn add(
    builder: &mut Builder,
    binary: &Binary,
    number: u32,
    search: &ProgramSearch,
    named: &[(&ImageFile, Option<String>)],
) -> Result<(), ProgramError> {
    let space = Image::space_of(number);
    let file = named.iter().find(|(file, id)| is_of(binary, file, id.as_deref())).map(|(file, _)| *file);
    let map = |path: &Path| map_file(path).map_err(|problem| ProgramError::Unreadable(problem.to_string()));
    let unusable = |error: tracewright_image::Error| ProgramError::Unusable(error.reason.to_string());
    // Its name is that of the profile: where nothing else tells, it is known by that.
    if !binary.is_elf {
        let at = file.and_then(|file| Some((&file.path, file.at?)));
        let (path, at) = at.ok_or(ProgramError::NoAddress)?;
        return builder.raw(&binary.name, map(path)?, at, space).map_err(unusable);
    }
    let (bytes, debug) = match file {
        Some(file) => (map(&file.path)?, None),
        None => {
            let find = |path: &str, asks| search.find(path, &binary.build_id, asks);
            // Where it ran, where it was when the profile was made, and only then on servers.
            let found = match (find(&binary.name, false), &binary.found) {
                (Err(_), Some(path)) => find(path, false).or_else(|_| find(&binary.name, true)),
                (Err(_), None) => find(&binary.name, true),
                (found, _) => found,
            };
            let found = found.map_err(ProgramError::NotFound)?;
            (found.bytes, found.debug)
        }
    };
    builder.elf(&binary.name, bytes, None, space).map_err(unusable)?;
    debug.into_iter().for_each(|debug| builder.debug(debug));
    Ok(())
}
