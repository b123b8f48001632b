//! A row in pieces, one for each thread and one more: what the elements of a piece come to is
//! found before the piece after it is run through.

use std::ops::Range;
use std::sync::OnceLock;

use crate::cpu::pool::Pool;

/// Runs through the places of a row in order, by all threads of a pool if there is one.
///
/// `go` takes what is known before some places to what is known behind them, and writes the
/// results there, or not; `join` adds what is known of later places alone. Each piece has a
/// place at least.
pub fn in_pieces<S: Clone + Send + Sync>(
    extent: usize,
    start: S,
    go: &(dyn Fn(Range<usize>, S, bool) -> S + Sync),
    join: &dyn Fn(&mut S, &S),
    pool: Option<&Pool>,
) {
    let Some(pool) = pool else {
        go(0..extent, start, true);
        return;
    };
    // While the first piece is run through, the others learn what they come to; nothing
    // begins behind the last.
    let threads = pool.threads();
    let piece = |at: usize| extent * at / (threads + 1)..extent * (at + 1) / (threads + 1);
    let alone: Vec<OnceLock<S>> = (0..threads).map(|_| OnceLock::new()).collect();
    pool.run(threads, &|at| {
        let _ = alone[at].set(go(piece(at), start.clone(), at == 0));
    });
    let mut before: Vec<S> = Vec::with_capacity(threads);
    for known in alone {
        let known = known.into_inner().expect("invariant: each task ran once");
        let mut sum = before.last().cloned().unwrap_or_else(|| start.clone());
        join(&mut sum, &known);
        before.push(sum);
    }
    pool.run(threads, &|at| {
        go(piece(at + 1), before[at].clone(), true);
    });
}
