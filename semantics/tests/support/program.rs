//! Random well-typed core terms, from a list of choices that proptest can shrink.

use num_bigint::BigInt;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, Env};
use rtv_semantics::scalar::{Domain, Scalar, Value};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::Fresh;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Binder, ErrorClass, Instance, Lit, Monoid, Require, Term, Var};
use rtv_semantics::types::Type;
use std::sync::Arc;

const DTYPES: [DType; 3] = [DType::F32, DType::I64, DType::Bool];

pub fn span() -> Span {
    Span::default()
}

/// A term over sizes `N`, `M` and variables `x: f32[N, M]`, `y: i64[M]`, `z: f32[]`.
pub struct Program {
    pub term: Term,
    pub sizes: [Sym; 2],
    pub vars: Vec<(Var, Type)>,
    pub fresh: Fresh,
}

impl Program {
    pub fn new(choices: Vec<u16>) -> Program {
        let sizes = [(1, "N"), (2, "M")].map(|(id, name)| Sym::new(id, SymKind::Size, name));
        let [n, m] = sizes.each_ref().map(Size::sym);
        let types = [
            ("x", Type::tensor(DType::F32, vec![n, m.clone()])),
            ("y", Type::tensor(DType::I64, vec![m])),
            ("z", Type::scalar(DType::F32)),
        ];
        let vars: Vec<(Var, Type)> =
            (3..).zip(types).map(|(id, (name, ty))| (Var { id, name: name.into() }, ty)).collect();
        let fresh = Fresh::new(10);
        let mut source = Source { choices, at: 0, fresh, sizes: sizes.clone() };
        let scope = Scope { index: Vec::new(), vars: vars.clone() };
        let shape = source.shape();
        let dtype = source.dtype();
        let term = source.tensor(&shape, dtype, &scope, 4);
        Program { term, sizes, vars, fresh: source.fresh }
    }

    /// Inputs of the given sizes, values from a short list.
    pub fn env(&self, sizes: [i64; 2], seed: usize) -> Env {
        let floats = [0.0, 1.5, -2.0, -0.0, f64::NAN, 3.0, f64::INFINITY];
        let mut env = Env::new();
        for (sym, value) in self.sizes.iter().zip(sizes) {
            env = env.with_size(sym, value);
        }
        for (k, (var, ty)) in self.vars.iter().enumerate() {
            let ty = ty.as_tensor().expect("tensors");
            let value = |s: &Sym| env.sizes.get(s).map(|v| i128::from(*v));
            let shape: Vec<usize> =
                ty.shape.iter().map(|p| p.eval(&value).expect("bound") as usize).collect();
            let count = shape.iter().product::<usize>();
            let values = (0..count).map(|e| {
                let pick = (seed + 3 * k + 5 * e) % 7;
                match ty.dtype {
                    DType::F32 => Value::float(floats[pick], DType::F32, Domain::Ieee),
                    _ => Value::Int(pick as i64 - 2),
                }
            });
            let tensor = Tensor::new(ty.dtype, &shape, values.collect()).expect("fits");
            env.vars.insert(var.clone(), Datum::Tensor(tensor));
        }
        env
    }
}

#[derive(Clone)]
struct Scope {
    index: Vec<(Sym, Size)>,
    vars: Vec<(Var, Type)>,
}

impl Scope {
    fn with(&self, binders: &[Binder]) -> Scope {
        let mut inner = self.clone();
        inner.index.extend(binders.iter().map(|b| (b.sym.clone(), b.extent.clone())));
        inner
    }

    fn with_var(&self, var: &Var, ty: &Type) -> Scope {
        let mut inner = self.clone();
        inner.vars.push((var.clone(), ty.clone()));
        inner
    }
}

struct Source {
    choices: Vec<u16>,
    at: usize,
    fresh: Fresh,
    sizes: [Sym; 2],
}

impl Source {
    /// Below `n`; 0 when the choices have run out.
    fn pick(&mut self, n: usize) -> usize {
        let choice = self.choices.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(choice) % n
    }

    fn dtype(&mut self) -> DType {
        DTYPES[self.pick(3)]
    }

    fn extent(&mut self) -> Size {
        let [n, m] = self.sizes.each_ref().map(Size::sym);
        match self.pick(6) {
            0 | 1 => n,
            2 | 3 => m,
            4 => Size::from(1),
            _ => &m + &Size::from(1),
        }
    }

    fn shape(&mut self) -> Vec<Size> {
        (0..self.pick(3)).map(|_| self.extent()).collect()
    }

    fn binders(&mut self, shape: &[Size]) -> Vec<Binder> {
        let binder = |extent: &Size| {
            let id = self.fresh.id();
            let sym = Sym::new(id, SymKind::Index, format!("i{id}"));
            Binder { sym, extent: extent.clone() }
        };
        shape.iter().map(binder).collect()
    }

    fn var(&mut self) -> Var {
        let id = self.fresh.id();
        Var { id, name: format!("v{id}").into() }
    }

    fn tensor(&mut self, shape: &[Size], dtype: DType, scope: &Scope, depth: u32) -> Term {
        let ty = Type::tensor(dtype, shape.to_vec());
        if let Some((v, _)) = scope.vars.iter().find(|(_, t)| *t == ty)
            && (depth == 0 || self.pick(4) == 0)
        {
            return Term::var(v.clone(), ty, span());
        }
        if depth == 0 {
            return self.comp(shape, dtype, scope, 0);
        }
        match self.pick(8) {
            0..=3 => self.comp(shape, dtype, scope, depth),
            4 => {
                let (var, value) = self.bound(scope, depth);
                let inner = scope.with_var(&var, value.ty());
                let body = self.tensor(shape, dtype, &inner, depth - 1);
                Term::let_(var, value, body, span())
            }
            5 => {
                let cond = self.scalar(DType::Bool, scope, depth - 1);
                let then = self.tensor(shape, dtype, scope, depth - 1);
                Term::if_(cond, then, self.tensor(shape, dtype, scope, depth - 1), span())
            }
            6 => {
                let (first, second) = (
                    self.tensor(shape, dtype, scope, depth - 1),
                    self.tensor(shape, dtype, scope, depth - 1),
                );
                let id = self.fresh.id();
                let var = Var { id, name: "pair".into() };
                let pair = Term::tuple(vec![first, second], span());
                let held = Term::var(var.clone(), pair.ty().clone(), span());
                let item = Term::item(self.pick(2), held, span());
                Term::let_(var, pair, item, span())
            }
            _ => self.call(shape, dtype, scope, depth),
        }
    }

    /// A variable and a value for it.
    fn bound(&mut self, scope: &Scope, depth: u32) -> (Var, Term) {
        let (shape, dtype) = (self.shape(), self.dtype());
        let value = self.tensor(&shape, dtype, scope, depth - 1);
        (self.var(), value)
    }

    fn comp(&mut self, shape: &[Size], dtype: DType, scope: &Scope, depth: u32) -> Term {
        let binders = self.binders(shape);
        let body = self.scalar(dtype, &scope.with(&binders), depth.saturating_sub(1));
        Term::comp(binders, body, span())
    }

    fn call(&mut self, shape: &[Size], dtype: DType, scope: &Scope, depth: u32) -> Term {
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for _ in 0..self.pick(3) {
            let (var, arg) = self.bound(scope, depth);
            params.push((var, arg.ty().clone()));
            args.push(arg);
        }
        let inner = Scope { index: scope.index.clone(), vars: params.clone() };
        let body = self.tensor(shape, dtype, &inner, depth - 1);
        let mut requires = Vec::new();
        if self.pick(3) == 1 {
            let cond = self.scalar(DType::Bool, &inner, 1);
            let text = "a condition".to_string();
            requires.push(Require { cond, class: ErrorClass::Requires, text, span: span() });
        }
        let instance =
            Instance { name: "f".into(), statics: Vec::new(), params, requires, body, is_op: true };
        Term::call(Arc::new(instance), args, span())
    }

    /// A size over the indices in scope.
    fn size(&mut self, scope: &Scope) -> Size {
        if scope.index.is_empty() {
            return if self.pick(2) == 0 { Size::from(1) } else { self.extent() };
        }
        let k = self.pick(scope.index.len());
        let (i, extent) = (Size::sym(&scope.index[k].0), scope.index[k].1.clone());
        match self.pick(8) {
            0..=2 => i,
            3 => &(&extent - &i) - &Size::from(1),
            4 => i.floor_div(&Size::from(2)),
            5 => i.minimum(&self.extent()),
            6 => (&i + &Size::from(3)).floor_div(&self.extent()),
            _ => (&i * &self.extent()).floor_mod(&self.extent()),
        }
    }

    fn index(&mut self, extent: &Size, scope: &Scope, depth: u32) -> Term {
        let fitting: Vec<Sym> =
            scope.index.iter().filter(|(_, e)| e == extent).map(|(s, _)| s.clone()).collect();
        match self.pick(8) {
            0 => Term::size(Size::zero(), span()),
            1..=4 if !fitting.is_empty() => {
                let k = self.pick(fitting.len());
                Term::size(Size::sym(&fitting[k]), span())
            }
            7 if depth > 0 => self.scalar(DType::I64, scope, 0),
            _ => Term::size(self.size(scope), span()),
        }
    }

    fn scalar(&mut self, dtype: DType, scope: &Scope, depth: u32) -> Term {
        if depth == 0 {
            return self.small(dtype, scope);
        }
        match self.pick(8) {
            0 => self.small(dtype, scope),
            1..=3 => self.function(dtype, scope, depth),
            4 => {
                let shape = self.shape();
                let base = self.tensor(&shape, dtype, scope, depth - 1);
                let index = shape.iter().map(|e| self.index(e, scope, depth - 1)).collect();
                Term::read(base, index, span())
            }
            5 => self.reduce(dtype, scope, depth),
            6 => {
                let cond = self.scalar(DType::Bool, scope, depth - 1);
                let then = self.scalar(dtype, scope, depth - 1);
                Term::if_(cond, then, self.scalar(dtype, scope, depth - 1), span())
            }
            _ => {
                let (var, value) = self.bound(scope, depth);
                let body = self.scalar(dtype, &scope.with_var(&var, value.ty()), depth - 1);
                Term::let_(var, value, body, span())
            }
        }
    }

    fn reduce(&mut self, dtype: DType, scope: &Scope, depth: u32) -> Term {
        let shape = [self.extent(), self.extent()];
        let count = 1 + self.pick(2);
        let binders = self.binders(&shape[..count]);
        let body = self.scalar(dtype, &scope.with(&binders), depth - 1);
        let op = match dtype {
            DType::Bool => [Monoid::Any, Monoid::All][self.pick(2)].clone(),
            _ => [Monoid::Sum, Monoid::Max, Monoid::Prod, Monoid::Min][self.pick(4)].clone(),
        };
        Term::reduce(op, binders, body, span())
    }

    fn function(&mut self, dtype: DType, scope: &Scope, depth: u32) -> Term {
        use Scalar::*;
        let arg = |s: &mut Source, dtype| s.scalar(dtype, scope, depth - 1);
        let (fun, args) = match dtype {
            DType::Bool => match self.pick(4) {
                0 => (LogicalNot, vec![arg(self, dtype)]),
                1 => {
                    let fun = [Lt, Ge, Eq][self.pick(3)];
                    (fun, vec![arg(self, DType::I64), arg(self, DType::I64)])
                }
                _ => {
                    let fun = [LogicalAnd, LogicalOr][self.pick(2)];
                    (fun, vec![arg(self, dtype), arg(self, dtype)])
                }
            },
            _ => {
                let fun = match dtype {
                    DType::F32 => [Add, Mul, Sub, Maximum, Div][self.pick(5)],
                    _ => [Add, Mul, FloorDivide, Minimum, Remainder][self.pick(5)],
                };
                (fun, vec![arg(self, dtype), arg(self, dtype)])
            }
        };
        Term::scalar(fun, args, span())
    }

    fn small(&mut self, dtype: DType, scope: &Scope) -> Term {
        let reads: Vec<(Var, Type)> = scope
            .vars
            .iter()
            .filter(|(_, t)| t.as_tensor().is_some_and(|t| t.dtype == dtype))
            .cloned()
            .collect();
        if !reads.is_empty() && self.pick(3) != 0 {
            let (var, ty) = reads[self.pick(reads.len())].clone();
            let shape = ty.as_tensor().map(|t| t.shape.clone()).unwrap_or_default();
            let base = Term::var(var, ty, span());
            let index = shape.iter().map(|e| self.index(e, scope, 0)).collect();
            return Term::read(base, index, span());
        }
        match dtype {
            DType::Bool => {
                let fun = [Scalar::Lt, Scalar::Le, Scalar::Eq, Scalar::Ge][self.pick(4)];
                let sizes = [self.size(scope), self.size(scope)];
                Term::scalar(fun, sizes.map(|s| Term::size(s, span())).to_vec(), span())
            }
            DType::I64 if self.pick(2) == 0 => {
                Term::cast(dtype, Term::size(self.size(scope), span()), span())
            }
            DType::I64 => {
                let value = BigInt::from(self.pick(4)) - 1;
                Term::lit(Lit::Int(value), dtype, span())
            }
            _ => {
                let texts = ["0.0", "1.5", "-0.0", "-2.25"];
                Term::lit(Lit::Decimal(texts[self.pick(4)].into()), dtype, span())
            }
        }
    }
}
