//! The other side of the pool: a process that answers questions until nobody asks.
//!
//! Invariants: the first line out is the greeting, then one line for each line in, in
//! order; a question that does not read ends the process, and so does the end of the
//! input, even while the solver is at work.

use std::io::{self, BufRead, Write};
use std::process;
use std::sync::mpsc;
use std::thread;

use crate::solver::Backend;
use crate::wire;
use crate::z3_backend::Z3;

/// Answers the questions on standard input. Questions are worked on where this is
/// called: the caller sees to a stack that is large enough.
///
/// # Errors
/// When the other side cannot be read or written, or sends no question.
pub fn serve() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", wire::greeting(z3::full_version()))?;
    out.flush()?;
    let (sender, questions) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        // Nobody is left to answer when the input ends; the system takes back the rest.
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        process::exit(0);
    })?;
    for line in questions {
        let answer = if let Some((query, budget)) = wire::read_question(&line) {
            Z3.check(&query, budget)
        } else if let Some((query, budget)) = wire::read_there(&line) {
            Z3.check_there(&query, budget)
        } else if let Some((text, budget)) = wire::read_text(&line) {
            Z3.check_text(&text, budget)
        } else {
            return Err(io::Error::other("this is no question"));
        };
        writeln!(out, "{}", wire::answer(&line, &answer))?;
        out.flush()?;
    }
    Ok(())
}
