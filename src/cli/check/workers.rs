//! Files checked side by side, and reported in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use rtv_proofs::{Checker, ClaimResult, Module, Settings};
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

/// Checks every module, each by one of `jobs` workers with a solver of its own. `report`
/// sees the events file by file, those of the first unfinished file at once.
pub fn check(
    modules: &[Module],
    settings: Settings,
    jobs: usize,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    report: &mut dyn FnMut(Event),
) {
    let next = AtomicUsize::new(0);
    let (sender, messages) = mpsc::channel::<Message>();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            let work = move || worker(modules, settings, wanted, next, &sender);
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

/// Takes files until there are none.
fn worker(
    modules: &[Module],
    settings: Settings,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    next: &AtomicUsize,
    sender: &Sender<Message>,
) {
    // The receiver outlives every worker, so that no message is lost.
    let say = |file: usize, event: Option<Event>| {
        let _ = sender.send((file, event));
    };
    let checker = match Checker::start(settings) {
        Ok(checker) => checker,
        Err(fault) => {
            // Without a solver nothing is checked; one report of it is enough.
            if next.swap(modules.len(), Ordering::Relaxed) < modules.len() {
                say(0, Some(Event::Found(vec![fault.diagnostic()])));
                (0..modules.len()).for_each(|file| say(file, None));
            }
            return;
        }
    };
    loop {
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
        say(file, Some(Event::Found(outcome.diagnostics)));
        say(file, None);
    }
}
