//! A derivation with all that it is about, to be written down: the certificate of an optimization.

use super::text;
use super::{Fault, symbols};
use crate::certificate;
use rtv_semantics::derivation::{Application, Derivation};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Function, Mode};
use rtv_semantics::size::{Size, Sym};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An item of a file, as it was when its content had this key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subject {
    pub name: String,
    /// As it is found from the current folder.
    pub file: String,
    /// Of everything that it rests on: [`crate::Module::content_key`].
    pub key: String,
}

/// A derivation of a program, the program, and the rules it uses.
#[derive(Clone, PartialEq, Debug)]
pub struct Certificate {
    pub source: Subject,
    /// The choice of dtypes and axes at which the source was elaborated.
    pub dtypes: Vec<(Arc<str>, DType)>,
    pub rank: Option<usize>,
    pub mode: Mode,
    pub rules: Vec<Subject>,
    /// Sizes are of numbered symbols: their places among those of the source.
    pub(super) derivation: Derivation,
}

/// What a derivation is about.
#[derive(Clone, Debug)]
pub struct About {
    pub source: Subject,
    pub dtypes: Vec<(Arc<str>, DType)>,
    pub rank: Option<usize>,
    pub mode: Mode,
}

impl Certificate {
    /// Of a derivation about a function; only the rules that it names are kept.
    ///
    /// # Errors
    /// Where a size is not one of the function, or a rule is not among those given.
    pub fn of(
        about: About,
        rules: impl IntoIterator<Item = Subject>,
        function: &Function,
        derivation: &Derivation,
    ) -> Result<Certificate, Fault> {
        let About { source, dtypes, rank, mode } = about;
        if matches!(mode, Mode::Close { .. }) {
            return Err(Fault::Mode(mode));
        }
        let named: BTreeSet<&str> = derivation.applications.iter().map(|a| &*a.rule).collect();
        let mut rules: Vec<Subject> = rules.into_iter().filter(|rule| named.contains(&*rule.name)).collect();
        rules.sort();
        rules.dedup_by(|a, b| a.name == b.name);
        if let Some(other) = named.iter().find(|name| !rules.iter().any(|rule| rule.name == **name)) {
            return Err(Fault::NotProved((*other).into()));
        }
        let symbols = symbols(function);
        let numbered = |sym: &Sym| {
            let place = symbols.iter().position(|other| other == sym)?;
            Some(Sym::new(place as u32, sym.kind(), sym.name()))
        };
        let derivation = with_symbols(derivation, &numbered)?;
        Ok(Certificate { source, dtypes, rank, mode, rules, derivation })
    }

    /// The derivation, with the sizes of the function.
    ///
    /// # Errors
    /// Where the function has no such size.
    pub fn derivation(&self, function: &Function) -> Result<Derivation, Fault> {
        let symbols = symbols(function);
        let meant = |numbered: &Sym| {
            let sym = symbols.get(numbered.id() as usize)?;
            (sym.kind() == numbered.kind() && sym.name() == numbered.name()).then(|| sym.clone())
        };
        with_symbols(&self.derivation, &meant)
    }

    /// As text, which [`Certificate::read`] reads.
    pub fn write(&self) -> String {
        text::write(self)
    }

    /// The certificate of a text.
    ///
    /// # Errors
    /// The number of the line that cannot be read, or is not as it would be written.
    pub fn read(text: &str) -> Result<Certificate, usize> {
        text::read(text)
    }

    /// Whether a text is meant to be one.
    pub fn begins(text: &str) -> bool {
        text.starts_with(text::NAME)
    }

    /// The name of a text: a hash of it, in hexadecimal.
    pub fn hash(text: &str) -> String {
        certificate::Certificate::hash(text)
    }
}

/// The same derivation about other sizes.
fn with_symbols(derivation: &Derivation, other: &dyn Fn(&Sym) -> Option<Sym>) -> Result<Derivation, Fault> {
    let size = |size: &Size| match size.syms().into_iter().find(|sym| other(sym).is_none()) {
        Some(unknown) => Err(Fault::Symbol(unknown.name().to_string())),
        None => Ok(size.subst(&|sym| other(sym).map(|sym| Size::sym(&sym)))),
    };
    let application = |application: &Application| {
        let sizes = application.sizes.iter().map(size).collect::<Result<_, Fault>>()?;
        Ok(Application { sizes, ..application.clone() })
    };
    let applications = derivation.applications.iter().map(application).collect::<Result<_, Fault>>()?;
    Ok(Derivation { applications, ..derivation.clone() })
}
