//! Claims checked side by side, and reported in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rtv_proofs::{ClaimResult, Module, Stage, subject};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::program::ClaimKind;
use rtv_smt::Pool;

use super::questions::Questions;
use crate::cli::STACK_BYTES;
use crate::cli::effort::Effort;
use crate::ledger::{Known, Noted};

/// How often a listener is asked whether to go on while nothing happens.
const TICK: Duration = Duration::from_millis(50);

/// What is to be checked, and how.
pub struct Work {
    pub modules: Vec<Module>,
    /// The claims and definitions to check, by place of their file and place in it, in the
    /// order in which they are reported.
    pub wanted: Vec<(usize, usize)>,
    pub stage: Stage,
    pub effort: Effort,
    pub pool: Arc<Pool>,
    pub questions: Arc<Questions>,
    pub known: Known,
    /// What is found, where it is to be written down.
    pub noted: Option<Noted>,
}

/// What a worker says about an item.
pub enum Event {
    /// The item of this name is begun.
    Started(String),
    Finished(Box<ClaimResult>),
    /// The claim has no verdict, as its types are wrong.
    Untyped(Box<ClaimResult>),
    Found(Vec<Diagnostic>),
}

/// Who hears of it.
pub trait Listener {
    /// At once, whatever the order.
    fn live(&mut self, event: &Event);
    /// Once each, in the order of the items.
    fn told(&mut self, event: Event);
    /// Time passes. Whether to go on.
    fn goes_on(&mut self) -> bool;
}

/// An event of the wanted item of this number; `None` when it is done.
type Message = (usize, Option<Event>);

/// Checks every wanted item, each by one of `jobs` workers with a checker of its own. A
/// fault of the solver ends the check. A listener that does not go on is told what there
/// is; workers still busy then end with the program.
pub fn check(work: &Arc<Work>, jobs: usize, listener: &mut dyn Listener) {
    let shared = Arc::new(Shared { next: AtomicUsize::new(0), stopped: AtomicBool::new(false) });
    let (sender, messages) = mpsc::channel::<Message>();
    for _ in 0..jobs {
        let (work, shared, sender) = (work.clone(), shared.clone(), sender.clone());
        let run = move || worker(&work, &shared, &sender);
        let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
        started.expect("invariant: the system can start a thread");
    }
    drop(sender);
    let mut held: Vec<Vec<Event>> = work.wanted.iter().map(|_| Vec::new()).collect();
    let mut done = vec![false; work.wanted.len()];
    let mut current = 0;
    loop {
        match messages.recv_timeout(TICK) {
            Ok((number, Some(event))) => {
                listener.live(&event);
                if number == current { listener.told(event) } else { held[number].push(event) }
            }
            Ok((number, None)) => done[number] = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while done.get(current) == Some(&true) {
            current += 1;
            if let Some(events) = held.get_mut(current) {
                events.drain(..).for_each(|event| listener.told(event));
            }
        }
        if !listener.goes_on() {
            shared.stopped.store(true, Ordering::Relaxed);
            break;
        }
    }
    held.into_iter().flatten().for_each(|event| listener.told(event));
}

struct Shared {
    /// The next wanted item that nobody has taken.
    next: AtomicUsize,
    stopped: AtomicBool,
}

/// Takes items until there are none, or it is to stop.
fn worker(work: &Work, shared: &Shared, sender: &Sender<Message>) {
    let (asking, observer) = work.questions.clone().asking();
    let checker = work.effort.checker(work.stage, work.pool.clone(), observer);
    while !shared.stopped.load(Ordering::Relaxed) {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some((file, at)) = work.wanted.get(number) else { return };
        let module = &work.modules[*file];
        // Nobody listens any more when the run was interrupted.
        let say = |event: Option<Event>| {
            let _ = sender.send((number, event));
        };
        if let Some((name, kind)) = subject(&module.items[*at]) {
            asking.about(&name, &module.id(*at), module.items[*at].span);
            if kind.is_some() {
                say(Some(Event::Started(name)));
            }
        }
        let outcome = work.known.item(&checker, module, *at);
        work.noted.iter().for_each(|noted| noted.note((*file, *at), &outcome));
        // Whether a function claims something is known when it is checked.
        if let [claim] = outcome.claims.as_slice()
            && claim.kind == ClaimKind::Calls
        {
            say(Some(Event::Started(claim.name.clone())));
        }
        outcome.claims.into_iter().for_each(|claim| say(Some(Event::Finished(Box::new(claim)))));
        outcome.untyped.into_iter().for_each(|claim| say(Some(Event::Untyped(Box::new(claim)))));
        let mut found = outcome.diagnostics;
        if let Some(fault) = outcome.fault {
            // One report of it is enough.
            found.extend((!shared.stopped.swap(true, Ordering::Relaxed)).then(|| fault.diagnostic()));
        }
        if !found.is_empty() {
            say(Some(Event::Found(found)));
        }
        say(None);
    }
}
