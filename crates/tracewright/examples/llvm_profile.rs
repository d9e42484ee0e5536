//! Makes a profile for LLVM from a recording of perf: `llvm-profgen --unsymbolized-profile=FILE --binary=APP` turns it into one for
//! clang. (`export::llvm` writes clang's own format, for programs with debug information.)
//!
//!     cargo run -p tracewright --example llvm_profile -- samples/perf/perf.data samples/hello > app.prof

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use tracewright::{OpenOptions, ProgramProfile, export};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: llvm_profile RECORDING [FOLDER WITH PROGRAMS]...")?;
    let options = args.fold(OpenOptions::new(), OpenOptions::symbol_folder);
    let trace = options.open(path)?;
    let outcome = trace.profile()?;
    for problem in trace.problems() {
        eprintln!("{problem}");
    }
    for diagnostic in &outcome.diagnostics {
        eprintln!("{diagnostic}");
    }
    let ProgramProfile { profile, program } = &outcome.value;
    let binary = export::ranges::largest(profile).ok_or("nothing ran of any ELF file")?;
    print!("{}", export::profgen::write(profile, program, binary));
    eprintln!("{} instructions, complete: {}", profile.instructions(), outcome.is_complete());
    Ok(())
}
