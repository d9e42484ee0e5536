//! Runs a RISC-V Linux program: `linux [--root FOLDER] [--writable] [--here] PROGRAM [ARGUMENT...]`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::exit;

use tracewright_hart::linux::{Linux, Mount, Options, Streams};
use tracewright_hart::{Hart, Stop};

fn main() {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let mut options = Options { streams: Streams::inherit(), ..Options::default() };
    while let Some(option) = arguments.next_if(|argument| argument.as_encoded_bytes().starts_with(b"--")) {
        match option.to_str() {
            Some("--root") => options.root = arguments.next().map(PathBuf::from),
            Some("--writable") => options.writable = true,
            Some("--here") => {
                // The folder we are in, under its own name, to read and write.
                let here = std::env::current_dir().unwrap_or_else(|_| ".".into());
                options.mounts.push(Mount { at: here.clone(), host: here.clone(), writable: true });
                options.folder = Some(here);
            }
            _ => fail("options: --root FOLDER, --writable, --here"),
        }
    }
    options.arguments = arguments.collect();
    let Some(program) = options.arguments.first().cloned() else { fail("which program?") };
    let (core, linux) = match Linux::load(program.as_ref(), options) {
        Ok(loaded) => loaded,
        Err(error) => fail(&error.to_string()),
    };
    let mut hart = Hart::new(core, linux);
    let stop = hart.run(u64::MAX, &mut ());
    for warning in hart.machine.warnings() {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    match stop {
        Stop::Exit { status } => exit(status),
        Stop::Limit => exit(0),
        Stop::Fault(why) => fail(&why),
    }
}

fn fail(why: &str) -> ! {
    let _ = writeln!(io::stderr(), "{why}");
    exit(125)
}
