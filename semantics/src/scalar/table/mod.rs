//! The rows, by family, and their index.

mod arithmetic;
mod elementary;
mod logic;

use super::{Accepts, FloatFn, IntFn, Meaning, RealFn, Row, Scalar};

const FAMILIES: [&[Row]; 3] = [&arithmetic::ROWS, &elementary::ROWS, &logic::ROWS];

const COUNT: usize = FAMILIES[0].len() + FAMILIES[1].len() + FAMILIES[2].len();

/// The row of each function, at its discriminant.
pub(super) static TABLE: [&Row; COUNT] = index();

/// Fails to compile where a function has no row or two.
const fn index() -> [&'static Row; COUNT] {
    let mut table = [&BASE; COUNT];
    let mut seen = [false; COUNT];
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut at = 0;
        while at < FAMILIES[family].len() {
            let row = &FAMILIES[family][at];
            assert!(!seen[row.fun as usize]);
            seen[row.fun as usize] = true;
            table[row.fun as usize] = row;
            at += 1;
        }
        family += 1;
    }
    table
}

/// What a row is where it says nothing else.
const BASE: Row = Row {
    fun: Scalar::Add,
    name: "",
    arity: 1,
    accepts: Accepts::Float,
    float: FloatFn::None,
    int: IntFn::None,
    real: RealFn::None,
    meaning: Meaning::Uninterpreted,
    derivative: &[],
    facts: &[],
    unpinned: "",
    ulp: 0,
    doc: "",
};
