//! Bits per instruction of the sample programs: the tables of the README.
//!
//! `cargo run --release -p tracewright-delta --example bits`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    match tables() {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

fn tables() -> Result<(), String> {
    for model in table::models() {
        println!("\n{}\n{}", model.title(), model.head());
        let mut all = table::Row::default();
        for program in table::programs() {
            let row = model.row(&program)?;
            println!("{}", row.line(&program.name));
            add(&mut all, &row);
        }
        println!("{}", all.line("**all**"));
    }
    Ok(())
}

fn add(sum: &mut table::Row, row: &table::Row) {
    sum.instructions += row.instructions;
    sum.cycles += row.cycles;
    sum.bytes.resize(row.bytes.len(), 0);
    sum.bytes.iter_mut().zip(&row.bytes).for_each(|(sum, bytes)| *sum += bytes);
}
