//! Files checked side by side, and reported in order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use rtv_proofs::{Checker, ClaimResult, Module};
use rtv_semantics::diag::Diagnostic;

use crate::cli::STACK_BYTES;

/// What a worker says about a file.
pub enum Event {
    /// The item of this name is begun.
    Started(String),
    Finished(Box<ClaimResult>),
    Found(Vec<Diagnostic>),
}

/// An event of the file of this number; `None` when the file is done.
type Message = (usize, Option<Event>);

/// Checks every module, each by one of `jobs` workers with a checker of its own. `report`
/// sees the events file by file, those of the first unfinished file at once. A fault of
/// the solver ends the check of all files.
pub fn check(
    modules: &[Module],
    checker: &(dyn Fn() -> Checker + Sync),
    jobs: usize,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    report: &mut dyn FnMut(Event),
) {
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, messages) = mpsc::channel::<Message>();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next, stopped) = (sender.clone(), &next, &stopped);
            let work = move || worker(modules, &checker(), wanted, next, stopped, &sender);
            let started = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            started.expect("invariant: the system can start a thread");
        }
        drop(sender);
        let mut held: Vec<Vec<Event>> = modules.iter().map(|_| Vec::new()).collect();
        let mut done = vec![false; modules.len()];
        let mut current = 0;
        for (file, event) in messages {
            match event {
                Some(event) if file == current => report(event),
                Some(event) => held[file].push(event),
                None => done[file] = true,
            }
            while done.get(current) == Some(&true) {
                current += 1;
                if let Some(events) = held.get_mut(current) {
                    events.drain(..).for_each(&mut *report);
                }
            }
        }
    });
}

/// Takes files until there are none or the solver is not to be believed.
fn worker(
    modules: &[Module],
    checker: &Checker,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    next: &AtomicUsize,
    stopped: &AtomicBool,
    sender: &Sender<Message>,
) {
    // The receiver outlives every worker, so that no message is lost.
    let say = |file: usize, event: Option<Event>| {
        let _ = sender.send((file, event));
    };
    while !stopped.load(Ordering::Relaxed) {
        let file = next.fetch_add(1, Ordering::Relaxed);
        let Some(module) = modules.get(file) else { return };
        let begun = |name: &str| {
            let wanted = wanted(name);
            if wanted {
                say(file, Some(Event::Started(name.to_string())));
            }
            wanted
        };
        let outcome = checker.check(module, &begun, &mut |claim| {
            say(file, Some(Event::Finished(Box::new(claim.clone()))));
        });
        let mut found = outcome.diagnostics;
        if let Some(fault) = outcome.fault {
            // One report of it is enough.
            found.extend((!stopped.swap(true, Ordering::Relaxed)).then(|| fault.diagnostic()));
        }
        say(file, Some(Event::Found(found)));
        say(file, None);
    }
}
