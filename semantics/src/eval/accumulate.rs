//! The running result of a reduction by one of the language's own monoids.

use crate::dtype::DType;
use crate::scalar::{Domain, Fault, Scalar, Value};
use crate::term::Monoid;

pub(super) struct Accumulator<'m> {
    op: &'m Monoid,
    dtype: DType,
    domain: Domain,
    total: Total,
}

enum Total {
    /// A float sum or product in `f64`, rounded at the end.
    Wide(f64),
    Empty,
    Some(Value),
}

impl<'m> Accumulator<'m> {
    pub fn new(op: &'m Monoid, dtype: DType, domain: Domain) -> Accumulator<'m> {
        let total = match (op, domain) {
            (Monoid::Sum, Domain::Ieee) if dtype.is_float() => Total::Wide(0.0),
            (Monoid::Prod, Domain::Ieee) if dtype.is_float() => Total::Wide(1.0),
            _ => Total::Empty,
        };
        Accumulator { op, dtype, domain, total }
    }

    pub fn add(&mut self, value: Value) -> Result<(), Fault> {
        self.total = match (&self.total, value) {
            (Total::Wide(x), Value::Float(y)) if *self.op == Monoid::Sum => Total::Wide(x + y),
            (Total::Wide(x), Value::Float(y)) => Total::Wide(x * y),
            (Total::Wide(_), other) => {
                return Err(Fault::Value(format!("`{other}` is no value of {}", self.dtype)));
            }
            (Total::Empty, value) => Total::Some(value),
            (Total::Some(sum), value) => {
                let args = [sum.clone(), value];
                Total::Some(self.scalar().eval(self.domain, self.dtype, &args)?)
            }
        };
        Ok(())
    }

    pub fn finish(self) -> Result<Value, Fault> {
        match self.total {
            Total::Wide(x) => Ok(Value::float(x, self.dtype, self.domain)),
            Total::Some(value) => Ok(value),
            Total::Empty => Ok(self.empty()),
        }
    }

    fn empty(&self) -> Value {
        let (dtype, domain) = (self.dtype, self.domain);
        let limit = |at_most: bool| match dtype.int_range() {
            Some((least, most)) if dtype.is_int() => Value::Int(if at_most { most } else { least }),
            Some(_) => Value::Bool(at_most),
            None if at_most => Value::float(f64::INFINITY, dtype, domain),
            None => Value::float(f64::NEG_INFINITY, dtype, domain),
        };
        match self.op {
            Monoid::Sum => Value::zero(dtype, domain),
            Monoid::Prod => Value::one(dtype, domain),
            Monoid::Any => Value::Bool(false),
            Monoid::All => Value::Bool(true),
            Monoid::Max => limit(false),
            Monoid::Min => limit(true),
            Monoid::Declared(_) => unreachable!("invariant: one of the language's own"),
        }
    }

    fn scalar(&self) -> Scalar {
        self.op.scalar().expect("invariant: one of the language's own")
    }
}
