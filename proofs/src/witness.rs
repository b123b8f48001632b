//! The input of a refutation as plain data, which is run again before it is believed.

use crate::check::Checker;
use crate::choices::dtype_choices;
use crate::counterexample::Counterexample;
use crate::deadline::Deadline;
use crate::instances::instances;
use crate::module::Module;
use crate::refute::{Drawn, Trial, input_shape, judge};
use crate::verdict::Contract;
use rtv_grammar::lower::{Choice, Ranks};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, Input};
use rtv_semantics::size::{Sym, SymKind};
use rtv_semantics::tensor::Tensor;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An input by the names of the source, and the contract that it refutes.
#[derive(Clone, Debug)]
pub struct Witness {
    pub contract: Contract,
    pub dtypes: Vec<(String, DType)>,
    /// The axes of every rank variable, if there are any.
    pub rank: Option<usize>,
    /// In the order of the claim, as are the tensors.
    pub sizes: Vec<(String, i64)>,
    pub tensors: Vec<(String, Tensor)>,
}

impl From<&Counterexample> for Witness {
    fn from(found: &Counterexample) -> Witness {
        let Counterexample { instance, input, contract, .. } = found;
        let size = |sym: &Sym| Some((sym.name().to_string(), *input.sizes.get(sym)?));
        let tensor = |(_, name, tensor): &(_, Arc<str>, Tensor)| (name.to_string(), tensor.clone());
        Witness {
            contract: *contract,
            dtypes: instance.dtypes.iter().map(|(name, dtype)| (name.to_string(), *dtype)).collect(),
            rank: instance.ranks.first().map(|(_, extents)| extents.len()),
            sizes: instance.syms.iter().filter_map(size).collect(),
            tensors: input.tensors.iter().map(tensor).collect(),
        }
    }
}

impl Witness {
    /// The input for an instance of the claim that it was found for; none where it is not
    /// one of the claim's inputs.
    fn input(&self, claim: &Claim) -> Option<Drawn> {
        let names = claim.syms.iter().map(Sym::name);
        if !names.eq(self.sizes.iter().map(|(name, _)| name.as_str())) {
            return None;
        }
        let sizes: BTreeMap<Sym, i64> =
            claim.syms.iter().cloned().zip(self.sizes.iter().map(|(_, size)| *size)).collect();
        let known = |sym: &Sym| sizes.get(sym).map(|size| i128::from(*size));
        let possible = |(sym, size): (&Sym, &i64)| *size >= 0 || sym.kind() == SymKind::Int;
        if !sizes.iter().all(possible) || !claim.facts.iter().all(|fact| fact.eval(&known) == Some(true)) {
            return None;
        }
        let mut given = self.tensors.iter();
        let mut tensors = Vec::new();
        for param in &claim.params {
            let Input::Value(var, ty) = &param.input else { continue };
            let (name, tensor) = given.next()?;
            let fits = **name == *param.name
                && ty.as_tensor().is_some_and(|ty| ty.dtype == tensor.dtype)
                && input_shape(claim, var, &sizes)? == tensor.shape();
            if !fits {
                return None;
            }
            tensors.push((var.clone(), param.name.clone(), tensor.clone()));
        }
        given.next().is_none().then_some(Drawn { sizes, tensors })
    }
}

impl Checker {
    /// Runs the input on both sides of the claim at a place: the refutation that it still
    /// is, if it is one.
    pub(crate) fn replayed(&self, module: &Module, at: usize, witness: &Witness) -> Option<Counterexample> {
        let item = &module.items[at];
        let dtypes: Vec<(Arc<str>, DType)> =
            witness.dtypes.iter().map(|(name, dtype)| (name.as_str().into(), *dtype)).collect();
        if !dtype_choices(item)?.contains(&dtypes) {
            return None;
        }
        let choice = Choice { dtypes, ranks: witness.rank.map_or(Ranks::Opaque, Ranks::Fixed) };
        let deadline = Deadline::after(self.settings.timeout);
        self.prover.solver().until(deadline.at());
        let trial = deadline.within(|| {
            let laws = BTreeSet::new();
            let claims = instances(item, &module.defs, self.engine(), &laws, &[choice]).ok()?;
            // Of several laws the input refutes one.
            claims.iter().find_map(|claim| match judge(claim, &witness.input(claim)?) {
                Trial::Differs(found) if found.contract == witness.contract => Some(*found),
                _ => None,
            })
        });
        trial.ok()?
    }
}
