//! A table of all operations: the public function, and its twin in integers.

use tracewright_softfloat::{Flags, Format, Rounding, double, exact, single};
use tracewright_testkit::Rng;

use crate::operands::{integer, operand};

/// Operands for every operation.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub d: [u64; 3],
    pub s: [u32; 3],
    pub integer: u64,
}

impl Record {
    pub fn random(rng: &mut Rng) -> Self {
        let mut three = |format| {
            let a = operand(rng, format, &[]);
            let b = operand(rng, format, &[a]);
            // For fma, also near the product.
            let field = format.exponent(a) + format.exponent(b);
            let field = field.saturating_sub(format.bias() as u64).min(format.exponent_mask());
            let c = operand(rng, format, &[a, b, field << format.fraction_bits]);
            [a, b, c]
        };
        let (d, s) = (three(Format::DOUBLE), three(Format::SINGLE).map(|bits| bits as u32));
        Self { d, s, integer: integer(rng) }
    }
}

pub type Run = fn(&Record, Rounding, &mut Flags) -> u64;

pub struct Operation {
    pub name: &'static str,
    pub run: Run,
    pub twin: Run,
}

macro_rules! arithmetic {
    ($list:ident, $module:ident, $field:ident, $format:expr, $sign:expr,
        [$($name:ident)*], [$($fused:literal $p:literal $c:literal)*]) => {
        $($list.push(Operation {
            name: concat!(stringify!($module), " ", stringify!($name)),
            run: |r, rm, flags| $module::$name(r.$field[0], r.$field[1], rm, flags).into(),
            twin: |r, rm, flags| exact::$name($format, r.$field[0].into(), r.$field[1].into(), rm, flags),
        });)*
        $list.push(Operation {
            name: concat!(stringify!($module), " sqrt"),
            run: |r, rm, flags| $module::sqrt(r.$field[0], rm, flags).into(),
            twin: |r, rm, flags| exact::sqrt($format, r.$field[0].into(), rm, flags),
        });
        $($list.push(Operation {
            name: concat!(stringify!($module), " ", $fused),
            run: |r, rm, flags| {
                let [a, b, c] = r.$field;
                $module::fma(a ^ ($sign * $p), b, c ^ ($sign * $c), rm, flags).into()
            },
            twin: |r, rm, flags| {
                let [a, b, c] = r.$field;
                let (a, c) = (a ^ ($sign * $p), c ^ ($sign * $c));
                exact::fma($format, a.into(), b.into(), c.into(), rm, flags)
            },
        });)*
    };
}

macro_rules! compare {
    ($list:ident, $module:ident, $field:ident, $format:expr, [$($name:ident)*]) => {
        $($list.push(Operation {
            name: concat!(stringify!($module), " ", stringify!($name)),
            run: |r, _, flags| $module::$name(r.$field[0], r.$field[1], flags).into(),
            twin: |r, _, flags| exact::$name($format, r.$field[0].into(), r.$field[1].into(), flags).into(),
        });)*
    };
}

macro_rules! convert {
    ($list:ident, $module:ident, $field:ident, $format:expr,
        [$($to:ident $from:ident $integer:ident $unsigned:ident)*]) => {
        $list.push(Operation {
            name: concat!(stringify!($module), " classify"),
            run: |r, _, _| $module::classify(r.$field[0]).into(),
            twin: |r, _, _| exact::classify($format, r.$field[0].into()).into(),
        });
        $($list.push(Operation {
            name: concat!(stringify!($module), " ", stringify!($to)),
            run: |r, rm, flags| ($module::$to(r.$field[0], rm, flags) as $unsigned).into(),
            twin: |r, rm, flags| {
                let range = i128::from($integer::MIN)..=i128::from($integer::MAX);
                (exact::to_integer($format, r.$field[0].into(), &range, rm, flags) as $unsigned).into()
            },
        });)*
        $($list.push(Operation {
            name: concat!(stringify!($module), " ", stringify!($from)),
            run: |r, rm, flags| $module::$from(r.integer as $integer, rm, flags).into(),
            twin: |r, rm, flags| exact::from_integer($format, (r.integer as $integer).into(), rm, flags),
        });)*
    };
}

macro_rules! all {
    ($list:ident, $module:ident, $field:ident, $format:expr, $sign:expr) => {
        arithmetic!($list, $module, $field, $format, $sign, [add sub mul div],
            ["fmadd" 0 0 "fmsub" 0 1 "fnmsub" 1 0 "fnmadd" 1 1]);
        compare!($list, $module, $field, $format, [min max eq lt le]);
        convert!($list, $module, $field, $format,
            [to_i32 from_i32 i32 u32 to_u32 from_u32 u32 u32 to_i64 from_i64 i64 u64 to_u64 from_u64 u64 u64]);
    };
}

/// Returns all operations in the order of `oracle/hart.c`.
pub fn operations() -> Vec<Operation> {
    let mut list = Vec::new();
    all!(list, single, s, Format::SINGLE, 1 << 31);
    list.push(Operation {
        name: "single to_double",
        run: |r, _, flags| single::to_double(r.s[0], flags),
        twin: |r, rm, flags| exact::to_format(Format::SINGLE, Format::DOUBLE, r.s[0].into(), rm, flags),
    });
    all!(list, double, d, Format::DOUBLE, 1 << 63);
    list.push(Operation {
        name: "double to_single",
        run: |r, rm, flags| double::to_single(r.d[0], rm, flags).into(),
        twin: |r, rm, flags| exact::to_format(Format::DOUBLE, Format::SINGLE, r.d[0], rm, flags),
    });
    list
}
