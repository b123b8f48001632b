//! `rtv opt FILE [FN]`: programs made cheaper by proved rules.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rtv_egraph::{Ended, Limits, Optimized};
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Choice, has_rank_variables};
use rtv_proofs::{Checker, Module, Stage, derived, program, subject};
use rtv_runtime::io::{UNWRITABLE, placeless, reason};
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::program::{Function, Mode};
use rtv_semantics::size::Sym;
use serde::Serialize;

use super::effort::Effort;
use super::run::no_such_function;
use crate::optimize::{self, By, Failed, Improved, Request, RuleBook, Sizes, Step};
use crate::project::Project;
use crate::report::{Reporter, counted};

/// `--size` does not say the size of an axis of the program.
const BAD_SIZE: Code = Code(830);
/// No sizes at which a program can be priced.
const NO_PRICE: Code = Code(831);
/// What came out is not what went in: a fault of rtv, or of a rule.
const NOT_EQUAL: Code = Code(798);

/// Rules that were not applied, of which is told.
const REFUSALS: usize = 3;

#[derive(Args)]
pub struct Opt {
    /// The source file
    file: PathBuf,
    /// The name of the function; without one, every function of the file
    function: Option<String>,
    /// What the result is equal up to at most: the mode in which each rule that may be used holds
    #[arg(long, value_enum, default_value_t = Upto::Real)]
    upto: Upto,
    /// NAME=VALUE: the size at which an open one is priced, 256 or less if not told
    #[arg(long = "size", value_name = "NAME=VALUE")]
    sizes: Vec<String>,
    /// Axes that a rank variable stands for
    #[arg(long, default_value_t = 1)]
    rank: usize,
    /// Files and folders whose rules are used, as far as the ledger of their project calls them
    /// proved; without any, the rules that come with rtv
    #[arg(long, value_name = "PATH")]
    rules: Vec<PathBuf>,
    #[arg(long, value_enum, default_value_t = Emit::Rtl)]
    emit: Emit,
    /// Write the certificate of the result, for `rtv verify-cert`
    #[arg(long, value_name = "FILE", requires = "function")]
    certificate: Option<PathBuf>,
    /// Terms in the graph, after which no rule is applied any more
    #[arg(long, default_value_t = Limits::default().nodes)]
    nodes: usize,
    /// Seconds after which no rule is applied any more
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    #[command(flatten)]
    effort: Effort,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Upto {
    /// Bit for bit
    Exact,
    /// But for the order of sums, and the signs of zeros
    Reassoc,
    /// As real numbers, of finite inputs
    Real,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Emit {
    /// A source file, the steps as comments
    Rtl,
    /// The function alone
    Core,
    /// One object with program, costs and steps
    Json,
    /// The operations and what they are computed from, for Graphviz
    Dot,
}

impl Upto {
    fn mode(self) -> Mode {
        match self {
            Upto::Exact => Mode::Exact,
            Upto::Reassoc => Mode::Reassoc,
            Upto::Real => Mode::Real,
        }
    }
}

/// What a function is optimized for, of what is open in it and no size.
#[derive(Serialize)]
struct Taken {
    dtypes: BTreeMap<String, &'static str>,
    /// Axes of each rank variable, where there is one.
    rank: Option<usize>,
}

impl Taken {
    fn text(&self) -> Option<String> {
        let dtypes = self.dtypes.iter().map(|(name, dtype)| format!("{name} = {dtype}"));
        let axes = self.rank.map(|rank| match rank {
            1 => "1 axis for each rank variable".to_string(),
            rank => format!("{rank} axes for each rank variable"),
        });
        let taken: Vec<String> = dtypes.chain(axes).collect();
        (!taken.is_empty()).then(|| format!("for {}", taken.join(", ")))
    }
}

/// A result, for programs.
#[derive(Serialize)]
struct Row<'a> {
    function: &'a str,
    #[serde(flatten)]
    taken: &'a Taken,
    upto: &'static str,
    sizes: BTreeMap<String, i64>,
    before: f64,
    after: f64,
    ended: &'static str,
    terms: usize,
    rules: usize,
    compared: u64,
    steps: Vec<StepRow<'a>>,
    /// Proved rules that say what cannot be used here, and why.
    unusable: BTreeMap<&'a str, &'static str>,
    program: String,
}

/// A function that is not looked at, for programs.
#[derive(Serialize)]
struct LeftRow<'a> {
    function: &'a str,
    left_as_it_is: String,
}

#[derive(Serialize)]
struct StepRow<'a> {
    rule: &'a str,
    place: Option<&'a str>,
    direction: &'static str,
}

impl Opt {
    pub fn run(&self, reporter: &mut Reporter) {
        let (project, module, mut found) = Project::file(&self.file);
        if let Some(module) = module {
            found.extend(self.module(&module, reporter));
        }
        found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
    }

    fn module(&self, module: &Module, reporter: &mut Reporter) -> Vec<Diagnostic> {
        let chosen = match self.chosen(module) {
            Ok(chosen) => chosen,
            Err(fault) => return vec![fault],
        };
        let Some(book) = self.book(reporter) else { return Vec::new() };
        // The process ends soon: to free every rule would only take time.
        let (book, mut found) = (ManuallyDrop::new(book), Vec::new());
        let checker = self.effort.checker(Stage::Proofs, self.effort.pool(), Box::new(|_| {}));
        let mut begun = self.emit != Emit::Rtl;
        for at in chosen {
            let (function, said) = program(module, at, self.rank);
            found.extend(said);
            let Some((function, choice)) = function else { continue };
            let taken = self.taken(&module.items[at], &choice);
            let improved = self.function(&function, &taken, &book, &checker, &mut begun, reporter);
            let certified = improved.and_then(|improved| match improved {
                Some(improved) => self.certify(module, at, &choice, &function, &improved, &book),
                None => Ok(()),
            });
            found.extend(certified.err());
        }
        found
    }

    /// The places of the functions that are asked for.
    fn chosen(&self, module: &Module) -> Result<Vec<usize>, Diagnostic> {
        let is_function = |item: &Item| matches!(&item.kind, ItemKind::Def(def) if def.kind == DefKind::Fn);
        let named = module.items.iter().enumerate().filter(|(_, item)| is_function(item));
        let named: Vec<(usize, String)> =
            named.filter_map(|(at, item)| Some((at, subject(item)?.0))).collect();
        match &self.function {
            None => Ok(named.into_iter().map(|(at, _)| at).collect()),
            Some(wanted) => match named.iter().find(|(_, name)| name == wanted) {
                Some((at, _)) => Ok(vec![*at]),
                None => {
                    let names: Vec<&str> = named.iter().map(|(_, name)| name.as_str()).collect();
                    Err(no_such_function(wanted, &names, &self.file))
                }
            },
        }
    }

    /// The rules; nothing where those that are asked for cannot be read.
    fn book(&self, reporter: &mut Reporter) -> Option<RuleBook> {
        if self.rules.is_empty() {
            return Some(RuleBook::shipped());
        }
        let (book, project, faults) = RuleBook::of(&self.rules);
        faults.iter().for_each(|fault| reporter.diagnostic(&project.sources, fault));
        for (stated, standing) in book.not_proved() {
            reporter.text(&format!("# not used: {}  {}  {standing}", stated.name, stated.place));
        }
        (!faults.iter().any(Diagnostic::is_error)).then_some(book)
    }

    fn taken(&self, item: &Item, choice: &Choice) -> Taken {
        let dtypes = choice.dtypes.iter().map(|(name, dtype)| (name.to_string(), dtype.name()));
        Taken { dtypes: dtypes.collect(), rank: has_rank_variables(item).then_some(self.rank) }
    }

    fn function(
        &self,
        function: &Function,
        taken: &Taken,
        book: &RuleBook,
        checker: &Checker,
        begun: &mut bool,
        reporter: &mut Reporter,
    ) -> Result<Option<Improved>, Diagnostic> {
        let asked = asked(&self.sizes)?;
        let open = optimize::symbols(function);
        let unknown = |name: &&String| self.function.is_some() && !open.iter().any(|sym| sym.name() == *name);
        if let Some(name) = asked.keys().find(unknown) {
            let fault = placeless(BAD_SIZE, format!("`{}` has no open size `{name}`", function.name));
            let names: Vec<&str> = open.iter().map(|sym| sym.name()).collect();
            return Err(match names.is_empty() {
                true => fault.help("all its sizes are given"),
                false => fault.help(format!("it has {}", names.join(", "))),
            });
        }
        let sizes = optimize::sizes(function, &asked).map_err(|why| {
            let fault = placeless(NO_PRICE, format!("`{}` cannot be priced: {why}", function.name));
            match open.iter().any(|sym| !asked.contains_key(sym.name())) {
                true => fault.help("`--size NAME=VALUE` says at which sizes"),
                false => fault.help("`rtv explain R0831` says what has a price"),
            }
        })?;
        let elsewhere = optimize::elsewhere(function, &asked, &sizes);
        let (started, limit) = (Instant::now(), Duration::from_secs_f64(self.seconds.clamp(0.0, 1e6)));
        let request = Request {
            upto: self.upto.mode(),
            limits: Limits { nodes: self.nodes, ..Limits::default() },
            elsewhere: &elsewhere,
            out_of_time: &|| started.elapsed() >= limit,
            samples: self.effort.samples(),
            seed: self.effort.seed(),
        };
        let proved = &mut book.proved(checker);
        let found = optimize::optimize(function, book, &sizes, &request, checker, proved);
        if matches!(found, Ok(_) | Err(Failed::Unused)) && !std::mem::replace(begun, true) {
            reporter.text("rtl 1.0");
        }
        match found {
            Err(Failed::Unused) => {
                let why = Failed::Unused.to_string();
                if self.emits(reporter) == Emit::Json {
                    let row = LeftRow { function: &function.name, left_as_it_is: why };
                    let object = serde_json::to_string(&row).unwrap_or_default();
                    reporter.row("optimized", &row, Some(&object));
                } else {
                    reporter.text(&format!("\n# {}: left as it is: {why}", function.name));
                }
                Ok(None)
            }
            Err(failed) => Err(not_equal(function, &failed.to_string())),
            Ok(improved) => {
                self.show(&improved, taken, &sizes, &elsewhere, book, reporter);
                Ok(Some(improved))
            }
        }
    }

    /// Writes the certificate, where one is asked for.
    fn certify(
        &self,
        module: &Module,
        at: usize,
        choice: &Choice,
        function: &Function,
        improved: &Improved,
        book: &RuleBook,
    ) -> Result<(), Diagnostic> {
        let Some(path) = &self.certificate else { return Ok(()) };
        let source = derived::Subject {
            name: function.name.to_string(),
            file: self.file.display().to_string(),
            key: module.content_key(at),
        };
        let ranked = has_rank_variables(&module.items[at]).then_some(self.rank);
        let about =
            derived::About { source, dtypes: choice.dtypes.clone(), rank: ranked, mode: improved.mode };
        let certificate =
            derived::Certificate::of(about, book.subjects(), function, &improved.found.derivation)
                .map_err(|fault| not_equal(function, &fault.to_string()))?;
        std::fs::write(path, certificate.write()).map_err(|why| {
            placeless(UNWRITABLE, format!("cannot write `{}`: {}", path.display(), reason(&why)))
        })
    }

    fn emits(&self, reporter: &Reporter) -> Emit {
        if reporter.is_json() { Emit::Json } else { self.emit }
    }

    fn show(
        &self,
        improved: &Improved,
        taken: &Taken,
        sizes: &Sizes,
        elsewhere: &[Sizes],
        book: &RuleBook,
        reporter: &mut Reporter,
    ) {
        let text = optimize::text(&improved.function, sizes).unwrap_or_else(|| {
            format!("# the result of `{}` cannot be written in the language", improved.function.name)
        });
        match self.emits(reporter) {
            Emit::Rtl => {
                let mut about = self.about(improved, sizes, elsewhere, book);
                about.splice(1..1, taken.text());
                reporter.text("");
                about.iter().for_each(|line| reporter.text(&format!("# {line}")));
                reporter.text(text.trim_end());
            }
            Emit::Core => reporter.text(&text),
            Emit::Json => {
                let row = self.row(improved, taken, sizes, text);
                let object = serde_json::to_string(&row).unwrap_or_default();
                reporter.row("optimized", &row, Some(&object));
            }
            Emit::Dot => reporter.text(&optimize::dot(&improved.function)),
        }
    }

    /// What was done, in lines.
    fn about(&self, improved: &Improved, sizes: &Sizes, elsewhere: &[Sizes], book: &RuleBook) -> Vec<String> {
        let Improved { function, mode, found, steps, compared, apart, left_out } = improved;
        let at = sizes_text(sizes);
        let mut lines = Vec::new();
        if steps.is_empty() {
            lines.push(format!("{}: no rule makes it cheaper{at}", function.name));
            lines.extend(nearest(found));
        } else {
            let cost = match 100.0 * (found.after - found.before) / found.before {
                percent if percent > -1e-6 => "as cheap, of fewer operations".to_string(),
                percent if percent > -0.05 => format!("cost {percent:+.6} %"),
                percent => format!("cost {percent:+.1} %"),
            };
            lines.push(format!("{}: {cost}{at}, equal up to {mode}", function.name));
            for (number, step) in steps.iter().enumerate() {
                lines.push(format!("{:>3} {}", number + 1, step_text(step, found, book)));
            }
            lines.extend(at_other_sizes(found, sizes, elsewhere));
            lines.push(format!("the derivation was checked; {}", beside(*compared, *apart)));
        }
        if found.ended != Ended::Saturated {
            lines.push(format!("the search ended at its limit of {}", ended(found.ended)));
        }
        for (rule, why) in left_out {
            lines.push(format!("left out: {rule}: {why}"));
        }
        lines
    }

    fn row<'a>(&self, improved: &'a Improved, taken: &'a Taken, sizes: &Sizes, program: String) -> Row<'a> {
        let Improved { function, mode, found, steps, compared, .. } = improved;
        let step = |step: &'a Step| {
            let direction = if step.forward { "left to right" } else { "right to left" };
            match &step.by {
                By::Rule(rule) => {
                    let rule = &found.rules[*rule];
                    StepRow { rule: &rule.name, place: Some(&rule.place), direction }
                }
                By::Definition(name) => StepRow { rule: name, place: None, direction },
                By::Constant(_) | By::Rounded(_) => StepRow { rule: "constant", place: None, direction },
            }
        };
        Row {
            function: &function.name,
            taken,
            upto: mode.name(),
            sizes: sizes.iter().map(|(sym, n)| (sym.name().to_string(), *n)).collect(),
            before: found.before,
            after: found.after,
            ended: ended(found.ended),
            terms: found.nodes,
            rules: found.rules.len(),
            compared: *compared,
            steps: steps.iter().map(step).collect(),
            unusable: found
                .unusable
                .iter()
                .map(|(rule, why)| (&*found.rules[*rule].name, why.text()))
                .collect(),
            program,
        }
    }
}

fn asked(texts: &[String]) -> Result<BTreeMap<String, i64>, Diagnostic> {
    let size = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.trim().to_string(), value.trim().parse::<u32>().ok()?.into()))
    };
    let fault = |text: &String| {
        placeless(BAD_SIZE, format!("`{text}` does not say a size")).help("for example `--size N=1024`")
    };
    texts.iter().map(|text| size(text).ok_or_else(|| fault(text))).collect()
}

/// What running source and result said.
fn beside(compared: u64, apart: Option<f64>) -> String {
    match (compared, apart) {
        (0, None) => "source and result were not run, they are too large".to_string(),
        (0, Some(apart)) => format!("source and result are {apart:.0e} apart on a random input"),
        _ => format!("source and result agree on {compared} random inputs"),
    }
}

fn not_equal(function: &Function, why: &str) -> Diagnostic {
    placeless(NOT_EQUAL, format!("no result for `{}`: {why}", function.name))
        .help("this is a fault of rtv or of a rule, not of the program")
}

fn sizes_text(sizes: &Sizes) -> String {
    let size = |(sym, n): (&Sym, &i64)| format!("{} = {n}", sym.name());
    let all: Vec<String> = sizes.iter().map(size).collect();
    if all.is_empty() { String::new() } else { format!(" at {}", all.join(", ")) }
}

/// Where else the result was priced, and whether it is dearer there.
fn at_other_sizes(found: &Optimized, sizes: &Sizes, elsewhere: &[Sizes]) -> Vec<String> {
    let (mut lines, mut no_dearer) = (Vec::new(), Vec::new());
    for (other, (before, after)) in elsewhere.iter().zip(&found.elsewhere) {
        let apart = other.iter().filter(|(sym, n)| sizes.get(sym) != Some(n));
        let apart: Sizes = apart.map(|(sym, n)| (sym.clone(), *n)).collect();
        let percent = 100.0 * (after - before) / before;
        if percent > 0.05 {
            lines.push(format!("dearer{}: {percent:+.1} %", sizes_text(&apart)));
        } else {
            no_dearer.push(sizes_text(&apart));
        }
    }
    if !no_dearer.is_empty() {
        lines.insert(0, format!("no dearer{}", no_dearer.join(", or")));
    }
    lines
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Saturated => "saturated",
        Ended::Nodes => "terms",
        Ended::Rounds => "rounds",
        Ended::Time => "time",
    }
}

fn step_text(step: &Step, found: &Optimized, book: &RuleBook) -> String {
    match &step.by {
        By::Definition(name) if step.forward => format!("`{name}` by its definition"),
        By::Definition(name) => format!("what `{name}` is by its definition"),
        By::Constant(literal) if step.forward => format!("a constant is {literal}"),
        By::Constant(literal) => format!("{literal} as a constant is computed"),
        By::Rounded(literal) => format!("a constant is rounded to {literal}, bit for bit as it is computed"),
        By::Rule(rule) => {
            let rule = &found.rules[*rule];
            let statement = book.statement(&rule.name).unwrap_or_default();
            let back = if step.forward { "" } else { ", from right to left" };
            format!("{}  {}{back}\n#       {statement}", rule.name, rule.place)
        }
    }
}

/// Rules that stand in the program and were not applied.
fn nearest(found: &Optimized) -> Vec<String> {
    let mut refused: Vec<_> = found.refused.iter().collect();
    refused.sort_by_key(|(rule, (_, times))| (std::cmp::Reverse(*times), **rule));
    let told = refused.into_iter().take(REFUSALS).map(|(rule, (why, _))| {
        let rule = &found.rules[*rule];
        format!("not applied: {}  {}: {why}", rule.name, rule.place)
    });
    let lines: Vec<String> = told.collect();
    if found.rules.is_empty() && found.ended != Ended::Saturated {
        // None was taken up.
        return lines;
    }
    let rules = counted(found.rules.len(), "rule");
    match (lines.is_empty(), found.fired.len()) {
        (false, _) => lines,
        (true, 0) => vec![format!("none of {rules} for its operators stands in it")],
        (true, fired) => {
            vec![format!("{fired} of {rules} for its operators stand in it, and give nothing cheaper")]
        }
    }
}
