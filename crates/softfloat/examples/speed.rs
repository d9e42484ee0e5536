//! Nanoseconds per operation, with NX clear and set, loop and loads included: `cargo run --release -p
//! tracewright-softfloat --example speed`.
//!
//! `chained`: each operation depends on the one before, in chains of 16. The others are independent.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use tracewright_softfloat::{Flags, Format, Rounding, double, exact, single};
use tracewright_testkit::Rng;

const RNE: Rounding = Rounding::NearestEven;
const OPERANDS: usize = 1024;

fn main() {
    let mut rng = Rng::new(1);
    // From 1/16 to 16, so that chains stay in range for a while.
    let mut number = || {
        let field = 1023 + rng.below(9) - 4;
        field << 52 | rng.next_u64() >> 12
    };
    let doubles: Vec<[u64; 2]> = (0..OPERANDS).map(|_| [number(), number()]).collect();
    let singles: Vec<[u32; 2]> =
        doubles.iter().map(|pair| pair.map(|bits| (f64::from_bits(bits) as f32).to_bits())).collect();
    println!("{:24}{:>10}{:>10}{:>12}{:>12}", "ns", "NX clear", "NX set", "chained", "chained, NX");
    row("double add", &doubles, |a, b, f| double::add(a, b, RNE, f));
    row("double mul", &doubles, |a, b, f| double::mul(a, b, RNE, f));
    row("double div", &doubles, |a, b, f| double::div(a, b, RNE, f));
    row("double sqrt", &doubles, |a, _, f| double::sqrt(a & !Format::DOUBLE.sign_bit(), RNE, f));
    row("double fma", &doubles, |a, b, f| double::fma(b, 0x3ff5_5555_5555_5555, a, RNE, f));
    row("double add, toward zero", &doubles, |a, b, f| double::add(a, b, Rounding::TowardZero, f));
    row("double lt", &doubles, |a, b, f| a ^ u64::from(double::lt(a, b, f)));
    row("double to_i32, to zero", &doubles, |a, b, f| {
        a ^ u64::from(double::to_i32(b, Rounding::TowardZero, f) as u32 & 1)
    });
    row("single add", &singles, |a, b, f| single::add(a, b, RNE, f));
    row("single mul", &singles, |a, b, f| single::mul(a, b, RNE, f));
    row("single div", &singles, |a, b, f| single::div(a, b, RNE, f));
    row("single fma", &singles, |a, b, f| single::fma(b, 0x3faa_aaaa, a, RNE, f));
    println!("in integers:");
    row("double add", &doubles, |a, b, f| exact::add(Format::DOUBLE, a, b, RNE, f));
    row("double mul", &doubles, |a, b, f| exact::mul(Format::DOUBLE, a, b, RNE, f));
    row("double div", &doubles, |a, b, f| exact::div(Format::DOUBLE, a, b, RNE, f));
    row("double sqrt", &doubles, |a, _, f| exact::sqrt(Format::DOUBLE, a & !(1 << 63), RNE, f));
    row("double fma", &doubles, |a, b, f| exact::fma(Format::DOUBLE, b, 0x3ff5_5555_5555_5555, a, RNE, f));
}

fn row<T: Copy>(name: &str, operands: &[[T; 2]], operation: impl Fn(T, T, &mut Flags) -> T) {
    let free = |before| {
        time(|| {
            for &[a, b] in operands {
                let mut flags = black_box(before);
                black_box(operation(black_box(a), black_box(b), &mut flags));
                black_box(flags);
            }
        })
    };
    let chained = |before| {
        time(|| {
            let mut a = operands[0][0];
            for (at, &[_, b]) in operands.iter().enumerate() {
                let mut flags = black_box(before);
                // Starts a new chain now and then, since products leave the range.
                a = black_box(operation(if at % 16 == 0 { operands[at][0] } else { a }, b, &mut flags));
                black_box(flags);
            }
        })
    };
    println!(
        "{name:24}{:>10.2}{:>10.2}{:>12.2}{:>12.2}",
        free(Flags::default()),
        free(Flags::NX),
        chained(Flags::default()),
        chained(Flags::NX)
    );
}

/// Returns the best time of many runs, per operation.
fn time(run: impl Fn()) -> f64 {
    let best = (0..200).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    best.min().unwrap().as_secs_f64() * 1e9 / OPERANDS as f64
}
