//! What people see on a terminal: Python's `pty` is one, of any width.

use std::process::Command;

use crate::run::{Ran, ran, recorded, root, run};
use tracewright_testkit::{Scratch, has_programs};

/// Runs a command on a terminal with so many columns, and prints what the terminal got.
const TERMINAL: &str = "\
import fcntl, os, pty, struct, subprocess, sys, termios, threading
terminal, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
def own():
    os.setsid()
    fcntl.ioctl(side, termios.TIOCSCTTY, 0)
child = subprocess.Popen(sys.argv[2:], stdin=side, stdout=side, stderr=side, preexec_fn=own)
# This side stays open, and the mark comes after all that the command wrote: nothing is lost when it ends.
def mark():
    child.wait()
    os.write(side, b'\\0')
threading.Thread(target=mark).start()
shown = b''
while not shown.endswith(b'\\0'):
    shown += os.read(terminal, 65536)
sys.stdout.buffer.write(shown[:-1].replace(b'\\r\\n', b'\\n'))
sys.exit(child.wait())
";

/// Runs the command on a terminal, with these variables (`NAME=value`) in the environment.
fn shown(columns: usize, environment: &[&str], line: &str) -> Ran {
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, &columns.to_string(), env!("CARGO_BIN_EXE_tracewright")]);
    command.args(line.split_whitespace()).current_dir(root()).env("TERM", "xterm");
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "PAGER", "TRACEWRIGHT_PAGER", "LESS", "COLUMNS"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().filter_map(|one| one.split_once('=')));
    ran(&mut command)
}

const PLAIN: &[&str] = &["NO_COLOR=1", "PAGER=cat"];

fn has_terminal(test: &str) -> bool {
    has_programs(test, &["python3"])
}

fn longest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn tables_use_the_width() {
    if !has_terminal("tables_use_the_width") {
        return;
    }
    let folder = Scratch::new("terminal");
    let long = "a_function_whose_name_is_so_long_that_it_does_not_fit_beside_the_numbers_of_a_table_of_any_kind_at_all";
    let source = format!(
        "#include <stdio.h>\n__attribute__((noinline)) void {long}(int i) {{ printf(\"%d\\n\", i); }}\n\
         int main() {{ for (int i = 0; i < 20; i++) {long}(i); }}\n"
    );
    let source = folder.write("long.c", source.as_bytes());
    let Some(program) = crate::run::compiled("tables_use_the_width", &source, "") else { return };
    let capture = recorded(&folder, &program, "");
    let verbs = [
        format!("profile {capture} --top 100 --function {long}"),
        format!("coverage {capture} --function {long}"),
        format!("diff {capture} {capture} --function {long}"),
        format!("decode {capture} --to 0x2000"),
        format!("annotate {capture} {long}"),
        format!("packets {capture} --to 0x100"),
        format!("info {capture}"),
    ];
    for verb in &verbs {
        let [narrow, usual, wide] = [40, 80, 120].map(|columns| shown(columns, PLAIN, verb).out);
        // Messages have paths, which are not broken.
        let text = |shown: &str| -> String {
            let lines = shown.lines().filter(|line| !line.contains('/') && !line.starts_with("tracewright:"));
            lines.fold(String::new(), |text, line| text + line + "\n")
        };
        assert!(longest(&text(&usual)) <= 80, "{verb}: {usual}");
        assert!(longest(&text(&wide)) <= 120, "{verb}: {wide}");
        assert!(narrow.lines().count() >= usual.lines().count(), "{verb}: {narrow}");
        // In a pipe it is as on a terminal of 80 columns.
        let piped = run!("{verb}").out;
        assert!(usual.contains(piped.lines().last().unwrap()), "{verb}: {piped}");
    }
    // A name is cut in the middle, as little as need be.
    let name = |columns| {
        let table = shown(columns, PLAIN, &verbs[0]).out;
        let row = table.lines().find(|line| line.ends_with("_at_all")).unwrap_or_else(|| panic!("{table}"));
        assert_eq!(row.chars().count(), columns, "{table}");
        row.split_whitespace().last().unwrap().to_owned()
    };
    let (usual, wide) = (name(80), name(120));
    assert!(usual.starts_with("a_function_") && usual.contains('…') && wide.len() > usual.len());
}

/// A message is one line in a pipe, and as many as it takes on a terminal.
#[test]
fn messages_wrap() {
    if !has_terminal("messages_wrap") {
        return;
    }
    let line = "stats samples/two-cores --id 0x99";
    let message = "tracewright: no source has trace ID 0x99; there are 0x10, 0x11\n";
    assert_eq!(run!("{line}").ends(2).err, message);
    assert_eq!(shown(80, PLAIN, line).ends(2).out, message);
    let narrow = shown(40, PLAIN, line).ends(2).out;
    assert_eq!(narrow, "tracewright: no source has trace ID\n  0x99; there are 0x10, 0x11\n");
}

#[test]
fn colours_are_for_terminals() {
    if !has_terminal("colours_are_for_terminals") {
        return;
    }
    let line = "profile samples/hello --image samples/hello/hello.elf";
    let has_colours = |ran: Ran| ran.ends(0).out.contains("\x1b[1m");
    let pager = "PAGER=cat";
    assert!(has_colours(shown(80, &[pager], line)));
    assert!(shown(80, &[pager], line).out.contains("           37\x1b[31m  74.0\x1b[0m"));
    assert!(!has_colours(shown(80, &[pager, "NO_COLOR=1"], line)));
    assert!(!has_colours(shown(80, &[pager, "TERM=dumb"], line)));
    assert!(!has_colours(shown(80, &[pager], &format!("{line} --color never"))));
    assert!(has_colours(shown(80, &[pager, "NO_COLOR=1"], &format!("{line} --color always"))));
    assert!(!has_colours(run!("{line}")));
    assert!(has_colours(run!("{line} --color always")));
    let forced = ran(crate::run::command(format_args!("{line}")).env("CLICOLOR_FORCE", "1"));
    assert!(has_colours(forced));
    // An error is red; in a pipe it is plain.
    let wrong = "info samples/nothing";
    shown(80, &[], wrong).ends(2).prints("\x1b[1;31mtracewright: \x1b[0m");
    assert!(!run!("{wrong}").ends(2).err.contains('\x1b'));
}

#[test]
fn long_listings_go_to_the_pager() {
    if !has_terminal("long_listings_go_to_the_pager") {
        return;
    }
    let mark = &["NO_COLOR=1", "PAGER=false", "TRACEWRIGHT_PAGER=sed s/^/paged:/"][..];
    let image = "--image samples/hello/hello.elf";
    for verb in ["decode samples/hello", "packets samples/hello", "annotate samples/hello main"] {
        let image = if verb.starts_with("packets") { "" } else { image };
        let piped = run!("{verb} {image}");
        let shown_lines = shown(80, mark, &format!("{verb} {image}")).ends(0).out;
        let (paged, said): (Vec<_>, Vec<_>) =
            shown_lines.lines().partition(|line| line.starts_with("paged:"));
        let paged: Vec<_> = paged.iter().filter_map(|line| line.strip_prefix("paged:")).collect();
        assert_eq!(paged, piped.out.lines().collect::<Vec<_>>(), "{verb}");
        assert_eq!(said, piped.err.lines().collect::<Vec<_>>(), "{verb}");
        // What is said once it runs waits for its end.
        let last = piped.err.lines().last().unwrap_or("paged:");
        assert!(shown_lines.lines().last().unwrap().starts_with(last), "{shown_lines}");
        let plain = shown(80, mark, &format!("{verb} {image} --no-pager")).ends(0).out;
        assert!(!plain.contains("paged:") && plain.contains(piped.out.lines().nth(2).unwrap()));
        // Somebody has seen enough.
        let left = shown(80, &["NO_COLOR=1", "PAGER=head -n 1"], &format!("{verb} {image}"));
        left.ends(0).prints(piped.out.lines().next().unwrap());
        // A pager that is not there swallows nothing.
        let none =
            shown(80, &["NO_COLOR=1", "PAGER=no-such-pager -x # a comment"], &format!("{verb} {image}"));
        let shown_lines = none.ends(0).prints("no-such-pager: not found").out;
        assert!(shown_lines.contains(&piped.out), "{shown_lines}");
    }
    let tables = shown(80, mark, &format!("profile samples/hello {image}")).ends(0);
    assert!(!tables.out.contains("paged:"));
    if has_programs("long_listings_go_to_the_pager", &["less"]) {
        let less = shown(80, &["NO_COLOR=1"], &format!("decode samples/hello {image} --to 0x30")).ends(0);
        less.prints("main+0x0").prints("instructions in");
    }
}

/// A long recording tells how far it is on a terminal. In a pipe, and with -q, it does not.
#[test]
fn long_recordings_tell_how_far_they_are() {
    const NAME: &str = "long_recordings_tell_how_far_they_are";
    if !has_terminal(NAME) || !has_programs(NAME, &["timeout"]) {
        return;
    }
    let folder = Scratch::new("terminal-progress");
    let mut elf = std::fs::read(root().join("programs/bin/args.elf")).unwrap();
    // A jump to itself in the place of the first instruction; `.text` is at this offset, and `_start` first in it.
    elf[0x120..0x124].copy_from_slice(&0x6f_u32.to_le_bytes());
    let (endless, run) = (folder.write("endless.elf", &elf), folder.join("run"));
    // Ctrl-C ends it.
    let recorded = |wrapper: &[&str], options: &str| {
        let binary = env!("CARGO_BIN_EXE_tracewright");
        let line = format!(
            "timeout --foreground -s INT 2 {binary} record {options} --force -o {run} {}",
            endless.display()
        );
        let words: Vec<_> =
            wrapper.iter().copied().chain(line.split(' ').filter(|word| !word.is_empty())).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("TERM", "xterm");
        let ran = ran(&mut command);
        ran.out + &ran.err
    };
    let terminal = ["python3", "-c", TERMINAL, "80", "/usr/bin/env"];
    let told = recorded(&terminal, "");
    let is_line = |part: &str| {
        part.contains(" M instructions, ") && part.contains(" MIPS, ") && part.contains(" MiB of trace")
    };
    assert!(told.split(['\r', '\n']).any(is_line), "{told}");
    for (wrapper, options) in [(&terminal[..], "-q"), (&[], "")] {
        let told = recorded(wrapper, options);
        assert!(told.contains("stopped by a signal") && !told.contains(" MIPS"), "{told}");
    }
}
