//! Going through terms and lines.

use super::applied::Applied;
use super::nodes::Nodes;
use super::told::{By, Told};
use super::values::{Known, Look};
use super::{Fault, Place, Refused, Rules, symbols};
use crate::recheck::{Leaves, Sizes};
use rtv_semantics::constant::{constant, is_literal};
use rtv_semantics::defined::definedness;
use rtv_semantics::derivation::{
    Built, Derivation, Head, Line, Used, Why, definition, in_lets, operator_form, with_constants_rounded,
};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Function, Input, Mode};
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::{Form, Term, Var};
use rtv_semantics::unfold::Limits;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Terms, applications and lines that are looked at.
const MAX_TERMS: usize = 200_000;
const MAX_APPLICATIONS: usize = 50_000;
const MAX_LINES: usize = 200_000;

/// The path to a term itself.
const WHOLE: Vec<usize> = Vec::new();

/// A derivation and what was found of it so far.
pub struct Check<'c, 's> {
    pub source: &'c Function,
    pub upto: Mode,
    pub derivation: &'c Derivation,
    pub rules: &'c mut dyn Rules,
    pub symbols: BTreeSet<Sym>,
    pub nodes: Nodes,
    pub fresh: Fresh,
    /// The node of each term that was built.
    pub terms: Vec<usize>,
    /// The applications that were looked at, with the nodes of their sides.
    pub applied: FxHashMap<usize, ([usize; 2], Applied)>,
    leaves: &'c mut Leaves<'s>,
    sizes: Sizes,
    /// The operator form of the source.
    root: usize,
    /// Bodies of operators, by the node that calls.
    bodies: FxHashMap<usize, usize>,
    /// Of heads, whether they fail nowhere; of nodes, the same.
    safe_heads: FxHashMap<usize, bool>,
    safe: FxHashMap<usize, bool>,
    known: FxHashMap<usize, Known>,
    /// Of pairs of heads, whether they are the same but for sizes that are written otherwise.
    pub heads_alike: FxHashMap<[usize; 2], bool>,
}

impl<'c, 's> Check<'c, 's> {
    /// Nothing is looked at yet but the source.
    pub fn of(
        source: &'c Function,
        upto: Mode,
        derivation: &'c Derivation,
        rules: &'c mut dyn Rules,
        leaves: &'c mut Leaves<'s>,
    ) -> Result<Check<'c, 's>, Refused> {
        let Derivation { terms, applications, lines, rounded: _ } = derivation;
        let whole = |fault| Refused { at: Place::Whole, fault };
        for (what, count, most) in [
            ("terms", terms.len(), MAX_TERMS),
            ("applications", applications.len(), MAX_APPLICATIONS),
            ("lines", lines.len(), MAX_LINES),
        ] {
            if count > most {
                return Err(whole(Fault::TooMany(what)));
            }
        }
        if matches!(upto, Mode::Close { .. }) {
            return Err(whole(Fault::Mode(upto)));
        }
        let symbols: BTreeSet<Sym> = symbols(source).into_iter().collect();
        let mut check = Check {
            source,
            upto,
            derivation,
            rules,
            fresh: above_all(source, &symbols),
            symbols,
            nodes: Nodes::default(),
            terms: Vec::new(),
            applied: FxHashMap::default(),
            leaves,
            sizes: Sizes::default(),
            root: 0,
            bodies: FxHashMap::default(),
            safe_heads: FxHashMap::default(),
            safe: FxHashMap::default(),
            known: FxHashMap::default(),
            heads_alike: FxHashMap::default(),
        };
        let form = operator_form(&source.body, &mut check.fresh);
        if form.dropped && !check.fails_nowhere(&source.body, &[]) {
            return Err(whole(Fault::Drops(format!("`{}`", source.name))));
        }
        check.root = check.nodes.enter(&form.term, &FxHashMap::default()).map_err(whole)?;
        Ok(check)
    }

    /// The term that the source became, and the same with constants as they are rounded, if that is asked.
    pub fn became(mut self) -> Result<(Term, Option<Term>), Refused> {
        let last = self.through()?;
        let term = self.nodes.term(last, &mut self.fresh);
        let rounded = self.derivation.rounded.then(|| self.rounded(&term).0);
        Ok((term, rounded))
    }

    /// The steps of a derivation that is accepted.
    pub fn told(mut self) -> Result<Vec<Told>, Refused> {
        let last = self.through()?;
        let steps = self.derivation.rewriting();
        let mut told: Vec<Told> = steps.into_iter().map(|used| self.step(used)).collect();
        if self.derivation.rounded {
            let term = self.nodes.term(last, &mut self.fresh);
            let rounded = |[before, after]: [Term; 2]| Told { by: By::Rounded, forward: true, before, after };
            told.extend(self.rounded(&term).1.into_iter().map(rounded));
        }
        Ok(told)
    }

    /// A term with constants as they are rounded, and those.
    fn rounded(&mut self, term: &Term) -> (Term, Vec<[Term; 2]>) {
        let body = in_lets(term, &mut self.fresh);
        with_constants_rounded(&body, &mut self.fresh)
    }

    /// Goes through all of it; the node that the source became.
    fn through(&mut self) -> Result<usize, Refused> {
        for (at, built) in self.derivation.terms.iter().enumerate() {
            let node = self
                .built(built)
                .map_err(|(place, fault)| Refused { at: place.unwrap_or(Place::Term(at)), fault })?;
            self.terms.push(node);
        }
        for at in 0..self.derivation.applications.len() {
            self.application(at).map_err(|fault| Refused { at: Place::Application(at), fault })?;
        }
        for (at, line) in self.derivation.lines.iter().enumerate() {
            self.line(at, line).map_err(|fault| Refused { at: Place::Line(at), fault })?;
        }
        let Some(last) = self.derivation.lines.last() else { return Ok(self.root) };
        if self.terms[last.left] != self.root {
            return Err(Refused { at: Place::Whole, fault: Fault::NotTheSource });
        }
        Ok(self.terms[last.right])
    }

    /// The node of a term; a fault may be that of an application.
    fn built(&mut self, Built { head, parts }: &Built) -> Result<usize, (Option<Place>, Fault)> {
        let here = |fault| (None, fault);
        let (from, path) = match head {
            Head::Source(path) => (self.root, path),
            Head::Side { application, right, path } => {
                let there = |fault| (Some(Place::Application(*application)), fault);
                if *application >= self.derivation.applications.len() {
                    return Err(here(Fault::NotBefore("application", *application)));
                }
                (self.application(*application).map_err(there)?[usize::from(*right)], path)
            }
            Head::Body { of, path } => {
                let of = self.term(*of).map_err(here)?;
                (self.body(of).map_err(here)?, path)
            }
            Head::Constant { of } => {
                let of = self.term(*of).map_err(here)?;
                (self.constant(of).map_err(here)?, &WHOLE)
            }
        };
        let like = self.nodes.along(from, path).ok_or(here(Fault::Path))?;
        let parts: Result<Vec<usize>, Fault> = parts.iter().map(|part| self.term(*part)).collect();
        self.nodes.with_head_of(like, parts.map_err(here)?).map_err(here)
    }

    /// A term that was built.
    pub fn node_term(&mut self, at: usize) -> Term {
        self.nodes.term(self.terms[at], &mut self.fresh)
    }

    /// The node of a term that was built.
    pub fn term(&self, at: usize) -> Result<usize, Fault> {
        self.terms.get(at).copied().ok_or(Fault::NotBefore("term", at))
    }

    /// The body of the operator that a node calls.
    fn body(&mut self, of: usize) -> Result<usize, Fault> {
        if let Some(body) = self.bodies.get(&of) {
            return Ok(*body);
        }
        let head = self.nodes.head(of);
        let places: Vec<Var> = head.places.iter().filter_map(var).collect();
        let form = definition(&head.term, &mut self.fresh).ok_or(Fault::Definition)?;
        let given: FxHashMap<Var, usize> =
            places.into_iter().zip(self.nodes.node(of).parts.clone()).collect();
        let used = rtv_semantics::subst::free_vars(&form.term);
        let unused: Vec<usize> =
            given.iter().filter(|(place, _)| !used.contains(*place)).map(|(_, part)| *part).collect();
        let loses = unused.into_iter().any(|part| !self.is_safe(part));
        // A value inside of the body that is not used may fail, too.
        if loses || (form.dropped && !self.is_safe_head(of)) {
            return Err(Fault::Drops("an argument".into()));
        }
        let body = self.nodes.enter(&form.term, &given)?;
        self.bodies.insert(of, body);
        Ok(body)
    }

    /// The literal that a node is equal to.
    fn constant(&mut self, of: usize) -> Result<usize, Fault> {
        let parts = self.nodes.node(of).parts.clone();
        if !parts.into_iter().all(|part| is_literal(&self.nodes.head(part).term)) {
            return Err(Fault::Constant);
        }
        let literal = constant(&self.nodes.term(of, &mut self.fresh)).ok_or(Fault::Constant)?;
        self.nodes.enter(&literal, &FxHashMap::default())
    }

    fn line(&mut self, at: usize, line: &Line) -> Result<(), Fault> {
        let (left, right) = (self.term(line.left)?, self.term(line.right)?);
        match &line.why {
            Why::Rule { application, forward } => {
                if *application >= self.derivation.applications.len() {
                    return Err(Fault::NotBefore("application", *application));
                }
                let [from, to] = self.application(*application)?;
                let sides = if *forward { [from, to] } else { [to, from] };
                let are_sides = self.is_written_as(sides[0], left) && self.is_written_as(sides[1], right);
                if are_sides { Ok(()) } else { Err(Fault::Sides) }
            }
            Why::Definition => {
                let body = self.body(left)?;
                if self.is_written_as(body, right) { Ok(()) } else { Err(Fault::NotTheBody) }
            }
            Why::Constant => match self.constant(left)? == right {
                true => Ok(()),
                false => Err(Fault::NotTheConstant),
            },
            Why::Parts(used) => {
                let (a, b) = (self.nodes.node(left), self.nodes.node(right));
                if a.head != b.head || used.len() != a.parts.len() {
                    return Err(Fault::Heads);
                }
                for (k, used) in used.iter().enumerate() {
                    let pair = (a.parts[k], b.parts[k]);
                    let shown = match used {
                        None => pair.0 == pair.1,
                        Some(used) => self.used(at, used)? == pair,
                    };
                    if !shown {
                        return Err(Fault::Part(k));
                    }
                }
                Ok(())
            }
            Why::Chain(steps) => {
                let mut reached = left;
                for (k, used) in steps.iter().enumerate() {
                    let (from, to) = self.used(at, used)?;
                    if from != reached {
                        return Err(Fault::Chain(k));
                    }
                    reached = to;
                }
                if reached == right { Ok(()) } else { Err(Fault::Chain(steps.len())) }
            }
        }
    }

    /// What a line before this one is about, in the direction in which it is used.
    fn used(&self, at: usize, used: &Used) -> Result<(usize, usize), Fault> {
        if used.line >= at {
            return Err(Fault::NotBefore("line", used.line));
        }
        let line = &self.derivation.lines[used.line];
        let (left, right) = (self.terms[line.left], self.terms[line.right]);
        Ok(if used.forward { (left, right) } else { (right, left) })
    }

    /// Whether a condition follows from the preconditions of the source and from more.
    pub fn follows(&mut self, more: &[Cond], goal: &Cond) -> bool {
        let facts = [&self.source.facts, more].concat();
        self.sizes.entails(&facts, goal, self.leaves)
    }

    /// Whether the evaluation of a term ends in no error, where its variables are values.
    pub fn fails_nowhere(&mut self, term: &Term, more: &[Cond]) -> bool {
        let Ok(needs) = definedness(term, &mut self.fresh, Limits::default()) else { return false };
        needs.iter().all(|need| {
            let given = [more, &need.facts()].concat();
            need.need.as_cond().is_some_and(|goal| self.follows(&given, &goal))
        })
    }

    fn is_safe_head(&mut self, at: usize) -> bool {
        let head = self.nodes.node(at).head;
        if let Some(safe) = self.safe_heads.get(&head) {
            return *safe;
        }
        let term = self.nodes.head(at).term.clone();
        let safe = self.fails_nowhere(&term, &[]);
        self.safe_heads.insert(head, safe);
        safe
    }

    /// Whether the evaluation of a node ends in no error.
    pub fn is_safe(&mut self, root: usize) -> bool {
        for at in self.nodes.below(root, |at| self.safe.contains_key(&at)) {
            let parts = self.nodes.node(at).parts.iter().all(|part| self.safe[part]);
            let safe = parts && self.is_safe_head(at);
            self.safe.insert(at, safe);
        }
        self.safe[&root]
    }

    /// What is known of the values of a node over the reals.
    pub fn known(&mut self, root: usize) -> Known {
        for at in self.nodes.below(root, |at| self.known.contains_key(&at)) {
            let head = self.nodes.head(at);
            let parts = &self.nodes.node(at).parts;
            let given = head.places.iter().filter_map(var).zip(parts);
            let given = given.map(|(place, part)| (place, (self.known[part].clone(), *part))).collect();
            let term = head.term.clone();
            let known = Look::new(&self.source.facts, &mut self.sizes, self.leaves).of(&term, given);
            self.known.insert(at, known);
        }
        self.known[&root].clone()
    }

    /// Whether every symbol of a size is one of the source.
    pub fn is_of_source(&self, size: &Size) -> Result<(), Fault> {
        match size.syms().into_iter().find(|sym| !self.symbols.contains(sym)) {
            None => Ok(()),
            Some(other) => Err(Fault::Symbol(other.name().to_string())),
        }
    }
}

fn var(place: &Term) -> Option<Var> {
    match place.form() {
        Form::Var(var) => Some(var.clone()),
        _ => None,
    }
}

/// Ids that the source does not have.
fn above_all(source: &Function, symbols: &BTreeSet<Sym>) -> Fresh {
    let params: Vec<Term> = source
        .params
        .iter()
        .filter_map(|param| match &param.input {
            Input::Value(var, ty) => Some(Term::var(var.clone(), ty.clone(), param.span)),
            Input::Size(_) => None,
        })
        .collect();
    let conditions = source.requires.iter().map(|require| &require.cond);
    let sizes: Vec<Cond> = symbols.iter().map(|sym| Cond::non_neg(Size::sym(sym))).collect();
    Fresh::above(params.iter().chain(conditions).chain([&source.body])).and_above(&sizes)
}
