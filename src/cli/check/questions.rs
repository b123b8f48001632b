//! What is asked of the solver: counted, and written out as SMT-LIB where that is wanted.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rtv_runtime::io::{UNWRITABLE, placeless, reason};
use rtv_semantics::diag::{Diagnostic, Span};
use rtv_smt::{Answer, Asked, Observer};

use crate::project::SourceMap;
use crate::report::Counts;

/// The questions of a run.
pub struct Questions {
    sources: Arc<SourceMap>,
    /// Where their texts go.
    folder: Option<PathBuf>,
    counts: Mutex<Counts>,
    /// Why a text could not be written, the first time.
    failed: Mutex<Option<Diagnostic>>,
}

/// The questions that one checker asks, each about the claim it is at.
pub struct Asker {
    questions: Arc<Questions>,
    about: Mutex<About>,
}

/// A claim and how many questions were asked about it.
#[derive(Default)]
struct About {
    /// Its name and id, for the names of files.
    stem: String,
    /// Where it is and what it says, as comments.
    header: String,
    asked: u32,
}

impl Questions {
    /// Creates the folder.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn new(sources: Arc<SourceMap>, folder: Option<PathBuf>) -> Result<Questions, Diagnostic> {
        if let Some(folder) = &folder {
            fs::create_dir_all(folder).map_err(|why| unwritable(folder, &why))?;
        }
        Ok(Questions { sources, folder, counts: Mutex::default(), failed: Mutex::default() })
    }

    /// For one checker: whom to tell which claim it is at, and the observer of its solver.
    pub fn asking(self: Arc<Self>) -> (Arc<Asker>, Observer) {
        let asker = Arc::new(Asker { questions: self, about: Mutex::default() });
        let observing = asker.clone();
        (asker, Box::new(move |asked| observing.observe(asked)))
    }

    pub fn counts(&self) -> Counts {
        locked(&self.counts).clone()
    }

    pub fn failure(&self) -> Option<Diagnostic> {
        locked(&self.failed).clone()
    }
}

impl Asker {
    /// What is asked from now on is asked about this claim.
    pub fn about(&self, name: &str, id: &str, span: Span) {
        if self.questions.folder.is_none() {
            return;
        }
        let sources = &self.questions.sources;
        let place = sources.place(span).map(|place| format!("{}:{}", place.file, place.line));
        let text = sources.text(span).unwrap_or_default();
        let lines = text.lines().map(|line| format!("; {line}\n"));
        let header = format!("; {name}, {}\n{}", place.unwrap_or_default(), lines.collect::<String>());
        let stem = format!("{name}-{}", &id[..8]);
        *locked(&self.about) = About { stem, header, asked: 0 };
    }

    fn observe(&self, asked: Asked<'_>) {
        locked(&self.questions.counts).count(asked.answer, asked.taken);
        let Some(folder) = &self.questions.folder else { return };
        let mut about = locked(&self.about);
        about.asked += 1;
        let path = folder.join(format!("{}-{:03}.smt2", about.stem, about.asked));
        let answer = match asked.answer {
            Answer::Sat(_) => "sat".to_string(),
            Answer::Unsat => "unsat".to_string(),
            Answer::Unknown(why) => format!("unknown, {why}"),
        };
        let text = format!(
            "{}; {answer} in {:.1} ms; rlimit {}, timeout {} ms\n{}",
            about.header,
            asked.taken.as_secs_f64() * 1e3,
            asked.budget.rlimit,
            asked.budget.timeout_ms,
            asked.query.to_smtlib()
        );
        if let Err(why) = fs::write(&path, text) {
            locked(&self.questions.failed).get_or_insert_with(|| unwritable(&path, &why));
        }
    }
}

fn unwritable(path: &std::path::Path, why: &io::Error) -> Diagnostic {
    placeless(UNWRITABLE, format!("cannot write `{}`: {}", path.display(), reason(why)))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
