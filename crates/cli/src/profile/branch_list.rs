//! A branch list of simpleperf (a file, or in a recording) instead of a capture: what ran is followed through the programs.

use std::path::Path;

use tracewright_core::Isa;
use tracewright_image::{Image, Place};
use tracewright_input::file::first_bytes;
use tracewright_input::perf::{self, Found};
use tracewright_input::{ImageFile, map_file};
use tracewright_profile::branch_list::{self, Expanded, Listed, ListedKind};
use tracewright_profile::{Binary, Profile, Program};

use super::Opts;
use super::open::{Counted, no_trace};
use crate::output::{Error, Outcome, remark, report};
use tracewright::profile::{Outside, attribute};
use tracewright::words;

/// Programs that are not here are named up to so many.
const MOST_NAMED: usize = 3;

/// Whether a file is a branch list, or a recording of simpleperf's that has one instead of trace.
pub fn is_one(path: &Path) -> bool {
    let is_list = first_bytes::<26>(path).is_some_and(|head| branch_list::is_branch_list(&head));
    is_list || perf::branch_list(path).is_some()
}

/// What ran, and the programs.
pub fn load(opts: &Opts) -> Result<Counted, Error> {
    no_trace(&opts.capture, &opts.part, "a branch list")?;
    let path = &opts.capture.capture;
    let wrong = |message: String| Error::Message(format!("{}: {message}", path.display()));
    let bytes = match perf::branch_list(path) {
        Some(bytes) => bytes,
        None => map_file(path)?,
    };
    let list =
        branch_list::read(bytes.as_slice(), perf::unpacked_zstd).map_err(|error| wrong(error.to_string()))?;
    let mut builder = Image::builder();
    let mut missing = Vec::new();
    let mut found = Vec::new();
    for (listed, number) in list.binaries.iter().zip(0..) {
        builder.number(0);
        let program = match program(opts, listed) {
            Ok(program) => program,
            Err(why) => {
                missing.push(format!("{}: {why}", listed.path));
                builder.absent(&listed.path, &why);
                continue;
            }
        };
        let (Found { path, bytes, debug }, isa) = program;
        let name = path.display().to_string();
        if let Err(error) = builder.elf(&name, bytes, Place::AsLinked, Image::space_of(number)) {
            missing.push(format!("{}: {error}", listed.path));
            builder.absent(&listed.path, "not a program");
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
            missing
                .push(format!("{}: its file has no .text, so that nobody knows where it was", listed.path));
        }
        is_placed
    });
    let (mut profile, mut expanded) = (Profile::default(), Expanded::default());
    for &(listed, number, isa) in &found {
        let Some(file) = image.files().nth(number as usize) else { continue };
        let binary = profile.binary(Binary::of(&file));
        let moved = listed.kernel_start.zip(text_start(&image, number));
        let moved = moved.map(|(start, linked)| listed.moved(linked.wrapping_sub(start)));
        let listed = moved.as_ref().unwrap_or(listed);
        expanded.add(&mut profile, binary, listed, (&image, Image::space_of(number), isa));
    }
    for why in missing.iter().take(MOST_NAMED) {
        report(&format!("no code of {why}"));
    }
    if let Some(more @ 1..) = missing.len().checked_sub(MOST_NAMED) {
        report(&format!("no code of {more} more of the programs"));
    }
    if found.is_empty() && !missing.is_empty() {
        return Err(wrong(format!(
            "a branch list is followed through its programs, and none of its {} is here: name them with --image, or their \
             folder with --symfs",
            missing.len()
        )));
    }
    let programs = format!("{} of {} programs", found.len(), list.binaries.len());
    let Expanded { followed, lost } = expanded;
    let say = if lost == 0 { remark } else { report };
    let branches = words::count(followed, "branch");
    say(&format!("{branches} of {programs} followed, {lost} could not be"));
    let outcome = if missing.is_empty() && lost == 0 { Outcome::Good } else { Outcome::HadErrors };
    profile.funnel.instructions = profile.instructions();
    let program = Program::new(&profile, &image);
    attribute(&mut profile, &program);
    Ok(Counted { profile, program, outcome, decoded: None, outside: Outside::default() })
}

/// Where the code of a kernel was linked to begin: what simpleperf tells the place of.
fn text_start(image: &Image, number: u32) -> Option<u64> {
    let file = image.files().nth(number as usize)?;
    let mut regions = image.regions().filter(|region| region.name() == file.name());
    regions.find_map(|region| region.section_named(".text")).map(|section| section.range.start)
}

/// A program, and its instructions.
fn program(opts: &Opts, listed: &Listed) -> Result<(Found, Isa), String> {
    let is_kernel = listed.kind == ListedKind::Kernel;
    let is_it = |image: &&ImageFile| {
        let name = image.path.file_name();
        // Where it ran, the kernel is no file.
        let is_vmlinux = || name.is_some_and(|name| name.to_string_lossy().starts_with("vmlinux"));
        name == Path::new(&listed.path).file_name() || is_kernel && is_vmlinux()
    };
    let Found { path, bytes, debug } = match opts.part.program.images.iter().find(is_it) {
        Some(image) => {
            let bytes = map_file(&image.path).map_err(|problem| problem.message)?;
            Found { path: image.path.clone(), bytes, debug: None }
        }
        None => {
            let (capture, debuginfod) = (&opts.capture, opts.capture.debuginfod());
            let (symfs, beside) = (&capture.symfs, &capture.capture);
            perf::find_binary(&listed.path, &listed.build_id, symfs, beside, debuginfod.as_ref())
                .map_err(|error| error.to_string())?
        }
    };
    let head = bytes.as_slice();
    let isa = match (head.get(18..20), head.get(4)) {
        (Some([183, 0]), _) => Isa::A64,
        (Some([243, 0]), Some(1)) => Isa::Rv32,
        (Some([243, 0]), _) => Isa::Rv64,
        _ => return Err(format!("{} is no program for AArch64 or RISC-V", path.display())),
    };
    Ok((Found { path, bytes, debug }, isa))
}
