//! Scalar terms in the solver's theory of IEEE floats, for a few questions that are worth
//! its price: every addition is a circuit of bits.
//!
//! Invariant: where every part of a term is covered, the encoding has the bits of the
//! reference evaluator, which computes in f64 and rounds once; a function that is not
//! covered is uninterpreted, which is weaker. A form without an encoding is
//! [`Reason::Unsupported`]. Elements read at indices that are not the same size are taken
//! to be independent, which is weaker, too.

use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Entails;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Domain, Scalar, Value};
use rtv_semantics::size::Size;
use rtv_semantics::term::{Form, Fun, Lit, Term};
use rtv_semantics::types::Type;

use crate::instances::instances;
use crate::key::{base_name, unsupported};
use crate::query::{FpOp, Id, Op, Query, Sort};
use crate::solver::{Answer, Budget, ModelValue, Reason, Solver};
use crate::value::{ModelRead, ValueGoal, ValueModel, above};

/// Deepest term that is encoded; what is larger is hopeless anyway.
const MAX_DEPTH: usize = 60;

/// Whether two scalars have the same bits for all floats, as [`Mode::Exact`] asks; a model
/// gives every parameter one element.
pub(crate) fn prove(
    goal: &ValueGoal,
    engine: &dyn Entails,
    solver: &Solver,
    budget: Budget,
) -> Result<Option<ValueModel>, Reason> {
    debug_assert_eq!(goal.mode, Mode::Exact);
    let Ieee { q, reads, .. } = question(goal, engine)?;
    match solver.check(&q, budget) {
        Answer::Unsat => Ok(None),
        Answer::Unknown(reason) => Err(reason),
        Answer::Sat(values) => Ok(Some(model(&reads, values))),
    }
}

fn question(goal: &ValueGoal, engine: &dyn Entails) -> Result<Ieee, Reason> {
    let mut ieee = Ieee { q: Query::new(), reads: Vec::new(), depth: 0 };
    let (left, right) = (ieee.term(goal.left)?, ieee.term(goal.right)?);
    let same = ieee.q.eq(left, right);
    let differ = ieee.q.not(same);
    ieee.q.assert(differ);
    // What cannot be encoded of the hypotheses is not used.
    let known = instances(goal.hypotheses, &[goal.left, goal.right], &mut above(goal)).into_iter();
    let known = known.filter(|(range, _)| engine.entails(goal.facts, range)).map(|(_, term)| term);
    for hypothesis in goal.hypotheses.iter().cloned().chain(known) {
        if let Ok(holds) = ieee.term(&hypothesis) {
            ieee.q.assert(holds);
        }
    }
    ieee.reads.iter().for_each(|read| ieee.q.watch(read.value));
    Ok(ieee)
}

fn model(reads: &[Read], values: Vec<ModelValue>) -> ValueModel {
    let reads = reads.iter().zip(values).map(|(read, value)| ModelRead {
        var: read.var.clone(),
        index: vec![0.into(); read.index.len()],
        value,
    });
    ValueModel { syms: Vec::new(), reads: reads.collect() }
}

/// An element of a parameter.
struct Read {
    var: String,
    index: Vec<Size>,
    value: Id,
}

struct Ieee {
    q: Query,
    reads: Vec<Read>,
    depth: usize,
}

impl Ieee {
    fn term(&mut self, term: &Term) -> Result<Id, Reason> {
        if self.depth >= MAX_DEPTH {
            return Err(unsupported(format!("floats nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = self.form(term);
        self.depth -= 1;
        result
    }

    fn form(&mut self, term: &Term) -> Result<Id, Reason> {
        match term.form() {
            Form::Lit(lit) => self.literal(lit, term),
            Form::Var(_) => self.read(term, &[]),
            Form::Read(base, index) => self.read(base, index),
            Form::Call(Fun::Scalar(fun), args) if args.iter().all(|a| *a.ty() != Type::Size) => {
                let ids = args.iter().map(|arg| self.term(arg)).collect::<Result<Vec<Id>, Reason>>()?;
                self.call(*fun, args[0].dtype(), &ids)
            }
            Form::Call(Fun::Cast(to), args) => match args.as_slice() {
                [arg] if *arg.ty() != Type::Size => {
                    let id = self.term(arg)?;
                    self.cast(id, arg.dtype(), *to)
                }
                _ => Err(unsupported("a conversion of a size in the theory of floats")),
            },
            Form::If(cond, then, other) => {
                let (cond, then, other) = (self.term(cond)?, self.term(then)?, self.term(other)?);
                Ok(self.q.ite(cond, then, other))
            }
            _ => Err(unsupported("a reduction or a size in the theory of floats")),
        }
    }

    fn literal(&mut self, lit: &Lit, term: &Term) -> Result<Id, Reason> {
        match Value::literal(&lit.text(), term.dtype(), Domain::Ieee) {
            Ok(Value::Bool(value)) => Ok(self.q.bool(value)),
            Ok(Value::Float(value)) => Ok(self.float(value, term.dtype())),
            _ => Err(unsupported("an integer in the theory of floats")),
        }
    }

    fn read(&mut self, base: &Term, index: &[Term]) -> Result<Id, Reason> {
        let var = base_name(base)?;
        let Some(ty) = base.tensor_type() else {
            return Err(unsupported("a value variable that is no tensor"));
        };
        let sort = match ty.dtype.category() {
            Category::Bool => Sort::Bool,
            Category::Float => sort(ty.dtype),
            Category::Int => return Err(unsupported("an integer in the theory of floats")),
        };
        let place = |term: &Term| match term.form() {
            Form::Size(size) => Ok(size.clone()),
            _ => Err(unsupported("an index from the data in the theory of floats")),
        };
        let index = index.iter().map(place).collect::<Result<Vec<Size>, Reason>>()?;
        if let Some(read) = self.reads.iter().find(|read| read.var == var && read.index == index) {
            return Ok(read.value);
        }
        let value = self.q.fresh(&var.to_string(), sort);
        self.reads.push(Read { var, index, value });
        Ok(value)
    }

    fn float(&mut self, value: f64, dtype: DType) -> Id {
        let (exponent, significand) = bits(dtype);
        self.q.float(value, exponent, significand)
    }

    fn fp(&mut self, op: FpOp, args: &[Id]) -> Id {
        self.q.op(Op::Fp(op), args.to_vec())
    }

    fn call(&mut self, fun: Scalar, dtype: DType, args: &[Id]) -> Result<Id, Reason> {
        match dtype.category() {
            Category::Bool => self.logic(fun, args),
            Category::Int => Err(unsupported("an integer in the theory of floats")),
            Category::Float => Ok(match self.test(fun, args) {
                Some(truth) => truth,
                None => self.number(fun, dtype, args),
            }),
        }
    }

    fn logic(&mut self, fun: Scalar, args: &[Id]) -> Result<Id, Reason> {
        let q = &mut self.q;
        Ok(match (fun, args) {
            (Scalar::LogicalAnd | Scalar::BitwiseAnd, &[x, y]) => q.and([x, y]),
            (Scalar::LogicalOr | Scalar::BitwiseOr, &[x, y]) => q.or([x, y]),
            (Scalar::LogicalNot | Scalar::BitwiseNot, &[x]) => q.not(x),
            (Scalar::Eq, &[x, y]) => q.eq(x, y),
            (Scalar::LogicalXor | Scalar::BitwiseXor | Scalar::Ne, &[x, y]) => {
                let same = q.eq(x, y);
                q.not(same)
            }
            _ => return Err(unsupported(format!("`{fun}` of bools in the theory of floats"))),
        })
    }

    fn test(&mut self, fun: Scalar, args: &[Id]) -> Option<Id> {
        Some(match (fun, args) {
            (Scalar::Eq, args) => self.fp(FpOp::Eq, args),
            (Scalar::Lt, args) => self.fp(FpOp::Lt, args),
            (Scalar::Le, args) => self.fp(FpOp::Le, args),
            (Scalar::Gt, &[x, y]) => self.fp(FpOp::Lt, &[y, x]),
            (Scalar::Ge, &[x, y]) => self.fp(FpOp::Le, &[y, x]),
            (Scalar::Ne, args) => {
                let equal = self.fp(FpOp::Eq, args);
                self.q.not(equal)
            }
            (Scalar::Isnan, args) => self.fp(FpOp::IsNan, args),
            (Scalar::Isinf, args) => self.fp(FpOp::IsInf, args),
            (Scalar::Isfinite, args) => {
                let (nan, inf) = (self.fp(FpOp::IsNan, args), self.fp(FpOp::IsInf, args));
                let neither = self.q.or([nan, inf]);
                self.q.not(neither)
            }
            (Scalar::Signbit, args) => self.fp(FpOp::IsNegative, args),
            _ => return None,
        })
    }

    fn number(&mut self, fun: Scalar, dtype: DType, args: &[Id]) -> Id {
        match (fun, args) {
            (Scalar::Add, args) => self.fp(FpOp::Add, args),
            (Scalar::Mul, args) => self.fp(FpOp::Mul, args),
            (Scalar::Div, args) => self.fp(FpOp::Div, args),
            (Scalar::Sqrt, args) => self.fp(FpOp::Sqrt, args),
            (Scalar::Neg, args) => self.fp(FpOp::Neg, args),
            (Scalar::Abs, args) => self.fp(FpOp::Abs, args),
            (Scalar::Floor, args) => self.fp(FpOp::Floor, args),
            (Scalar::Ceil, args) => self.fp(FpOp::Ceil, args),
            (Scalar::Round, args) => self.fp(FpOp::Round, args),
            (Scalar::Trunc, args) => self.fp(FpOp::Trunc, args),
            (Scalar::Sub, &[x, y]) => {
                let minus_y = self.fp(FpOp::Neg, &[y]);
                self.fp(FpOp::Add, &[x, minus_y])
            }
            (Scalar::Reciprocal, &[x]) => {
                let one = self.float(1.0, dtype);
                self.fp(FpOp::Div, &[one, x])
            }
            // Of zeros of two signs the first, as the reference evaluator has it.
            (Scalar::Maximum, &[x, y]) => self.extremum([x, y], [y, x], dtype),
            (Scalar::Minimum, &[x, y]) => self.extremum([x, y], [x, y], dtype),
            _ => self.uninterpreted(fun, dtype, args),
        }
    }

    /// The first of two, unless the second one comes before it: then that. NaN of a NaN.
    fn extremum(&mut self, [x, y]: [Id; 2], first_if: [Id; 2], dtype: DType) -> Id {
        let (no_x, no_y) = (self.fp(FpOp::IsNan, &[x]), self.fp(FpOp::IsNan, &[y]));
        let first = self.fp(FpOp::Le, &first_if);
        let nan = self.float(f64::NAN, dtype);
        let either = self.q.or([no_x, no_y]);
        let chosen = self.q.ite(first, x, y);
        self.q.ite(either, nan, chosen)
    }

    fn uninterpreted(&mut self, fun: Scalar, dtype: DType, args: &[Id]) -> Id {
        let name = format!("{} {dtype}", fun.name());
        let fun = self.q.declare(&name, vec![sort(dtype); args.len()], sort(dtype));
        self.q.apply(fun, args.to_vec())
    }

    /// Narrow floats are reached through f32.
    fn cast(&mut self, id: Id, from: DType, to: DType) -> Result<Id, Reason> {
        match (from.category(), to.category()) {
            (Category::Float, Category::Float) => {
                let by_f32 = from == DType::F64 && matches!(to, DType::F16 | DType::BF16);
                let id = if by_f32 { self.nearest(id, DType::F32) } else { id };
                Ok(if from == to { id } else { self.nearest(id, to) })
            }
            (Category::Bool, Category::Float) => {
                let (one, zero) = (self.float(1.0, to), self.float(0.0, to));
                Ok(self.q.ite(id, one, zero))
            }
            (Category::Bool, Category::Bool) => Ok(id),
            (Category::Float, Category::Bool) => {
                let zero = self.float(0.0, from);
                let equal = self.fp(FpOp::Eq, &[id, zero]);
                Ok(self.q.not(equal))
            }
            _ => Err(unsupported(format!("{to} of {from} in the theory of floats"))),
        }
    }

    fn nearest(&mut self, id: Id, dtype: DType) -> Id {
        let (exponent, significand) = bits(dtype);
        self.q.op(Op::FpTo(exponent, significand), vec![id])
    }
}

fn sort(dtype: DType) -> Sort {
    let (exponent, significand) = bits(dtype);
    Sort::Float(exponent, significand)
}

/// The bits of the exponent and of the significand of a float dtype.
fn bits(dtype: DType) -> (u32, u32) {
    let significand = dtype.precision().expect("invariant: a float dtype");
    (dtype.bits() - significand, significand)
}
