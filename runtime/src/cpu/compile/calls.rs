//! Calls and casts as steps of lanes.

use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::scalar::Scalar;

use super::{Compiler, Place};
use crate::cpu::pass::{Binary, Lane, Op, Src, Unary};
use crate::cpu::primitive::{binary, inverse_of_power, unary, wide};
use crate::loops::Constant;

impl Compiler<'_> {
    pub(super) fn cast(&mut self, from: DType, to: DType, a: Src, place: Place) -> Src {
        let (from_lane, to_lane) = (Lane::of(from), Lane::of(to));
        if from_lane == to_lane {
            let holds = match (from.category(), to.category()) {
                (Category::Float, _) => to == DType::F32 || to == from,
                _ => from.int_range().zip(to.int_range()).is_some_and(|(f, t)| f.0 >= t.0 && f.1 <= t.1),
            };
            return if holds { a } else { self.narrow(to, a, place) };
        }
        let dst = self.register();
        self.push(place, Op::Cast { dst, from: from_lane, to, a });
        Src::Reg(dst)
    }

    pub(super) fn narrow(&mut self, dtype: DType, a: Src, place: Place) -> Src {
        if wide(dtype) == dtype {
            return a;
        }
        let dst = self.register();
        self.push(place, Op::Narrow { dst, dtype, a });
        Src::Reg(dst)
    }

    /// The inverse of a constant power of two: products with it have the bits of quotients.
    fn inverse(&mut self, lane: Lane, src: Src) -> Option<Src> {
        let Src::Slot(slot) = src else { return None };
        let (_, bits) = *self.constants.iter().find(|(_, known)| **known == slot)?.0;
        let (value, dtype) = match lane {
            Lane::F32 => (f32::from_bits(bits as u32).into(), DType::F32),
            Lane::F64 => (f64::from_bits(bits), DType::F64),
            _ => return None,
        };
        let inverse = inverse_of_power(value, dtype)?;
        Some(self.constant(dtype, Constant(inverse.to_bits() as i64)))
    }

    pub(super) fn call(
        &mut self,
        fun: Scalar,
        dtype: DType,
        args: Vec<Src>,
        site: Option<crate::loops::SiteId>,
        place: Place,
        mask: Option<Src>,
    ) -> Src {
        let lane = Lane::of(dtype);
        if let ([a], Some(primitive)) = (args.as_slice(), unary(fun, dtype)) {
            let value = self.unary(lane, primitive, *a, place);
            let rounds = matches!(primitive, Unary::Sqrt | Unary::Reciprocal);
            let wraps = dtype.is_int() && matches!(primitive, Unary::Neg | Unary::Abs | Unary::Not);
            return if rounds || wraps { self.narrow(dtype, value, place) } else { value };
        }
        if let ([a, b], Some(primitive)) = (args.as_slice(), binary(fun, dtype)) {
            let value = match (primitive, self.inverse(lane, *b)) {
                (Binary::Div, Some(inverse)) => self.binary(lane, Binary::Mul, *a, inverse, place),
                _ => self.binary(lane, primitive, *a, *b, place),
            };
            let exact = primitive.is_test() || matches!(primitive, Binary::Maximum | Binary::Minimum);
            return if exact { value } else { self.narrow(dtype, value, place) };
        }
        let dst = self.register();
        self.push(place, Op::Table { dst, fun, dtype, args, site, mask });
        Src::Reg(dst)
    }
}
