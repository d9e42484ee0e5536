//! Completions and manual pages have every verb that the help has, and bash completes with them.

use std::fs;
use std::process::Command;

use tracewright_testkit::Scratch;

use crate::run::run;

/// The verbs that the help lists.
pub fn verbs() -> Vec<String> {
    let help = run!("--help").good();
    let list =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names =
        list.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let verbs: Vec<_> = names.filter(|name| *name != "help").map(str::to_owned).collect();
    assert!(verbs.len() > 10, "{help}");
    verbs
}

#[test]
fn every_shell_completes_every_verb() {
    for (shell, first) in [("bash", "_tracewright()"), ("zsh", "#compdef tracewright"), ("fish", "# Print")] {
        let script = run!("completions {shell}").good();
        assert!(script.starts_with(first), "{shell}: {}", script.lines().next().unwrap_or_default());
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
    }
}

#[test]
fn bash_completes_verbs_and_options() {
    let place = Scratch::new("shell");
    let script = place.join("tracewright.bash");
    fs::write(&script, run!("completions bash").good()).unwrap();
    for (words, expected) in [("dec", "decode"), ("profile --forma", "--format"), ("completions f", "fish")] {
        let words: Vec<_> = words.split(' ').collect();
        let (now, before) = (words[words.len() - 1], if words.len() > 1 { words[0] } else { "tracewright" });
        let run = format!(
            ". '{script}'; COMP_WORDS=(tracewright {}); COMP_CWORD={}; _tracewright tracewright '{now}' '{before}'; echo ${{COMPREPLY[*]}}",
            words.join(" "),
            words.len(),
        );
        let output = Command::new("bash").args(["-c", &run]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{output:?}");
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let place = Scratch::new("shell");
    run!("man {}", place.join("")).ends(0);
    let page = |name: &str| fs::read_to_string(place.join(&format!("{name}.1"))).unwrap();
    assert!(page("tracewright").contains("Exit status, the same in all verbs: 0 complete"));
    for verb in verbs() {
        let page = page(&format!("tracewright-{verb}"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains(r"\-\-help"), "{verb}");
    }
}

#[test]
fn manual_pages_need_a_folder() {
    let message = run!("man /nowhere").ends(2).err;
    assert!(message.starts_with("tracewright: /nowhere: cannot write manual pages: "), "{message}");
}

/// The package must have the program of `demo` inside it.
#[test]
fn the_program_of_demo_is_the_one_of_the_repository() {
    let at = |path: &str| fs::read(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(at("src/demo/recursion.elf"), at("../../programs/bin/recursion.elf"));
}
