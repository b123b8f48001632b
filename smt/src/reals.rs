//! Scalar functions over the extended reals.
//!
//! A function that is written out for finite arguments only is, at infinite ones, an
//! uninterpreted function of the arguments: that is weaker than its meaning, and true
//! whatever its limits are.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Class, Meaning, Scalar};

use crate::encode::{Data, Enc, Encoder};
use crate::extended::Ext;
use crate::key::unsupported;
use crate::poly::number;
use crate::query::{Id, Op, Sort};
use crate::solver::Reason;

/// Exponents that are written out as products.
const MAX_EXPONENT: i64 = 16;

impl Encoder {
    pub fn real(&mut self, ext: Ext) -> Enc {
        debug_assert_eq!(self.mode, Mode::Real);
        let Ext { bot, pinf, ninf, val } = ext;
        Enc { bot, ..self.sure(Data::Real { pinf, ninf, val }) }
    }

    /// A function of floats; undefined arguments are absorbed by the caller too.
    pub fn real_call(&mut self, fun: Scalar, args: &[Ext]) -> Result<Enc, Reason> {
        let meaning = fun.row().meaning;
        if let Some(holds) = self.real_test(meaning, args) {
            return Ok(self.sure(Data::Bool(holds)));
        }
        let result = match *args {
            [x] => self.real_unary(fun, meaning, x),
            [x, y] => self.real_binary(fun, meaning, x, y),
            _ => return Err(unsupported(format!("`{fun}` of {} values", args.len()))),
        };
        Ok(self.real(result))
    }

    fn real_test(&mut self, meaning: Meaning, args: &[Ext]) -> Option<Id> {
        let q = &mut self.q;
        Some(match (meaning, args) {
            (Meaning::Eq, &[x, y]) => q.same(x, y),
            (Meaning::Ne, &[x, y]) => {
                let same = q.same(x, y);
                q.not(same)
            }
            (Meaning::Le, &[x, y]) => q.at_most(x, y),
            (Meaning::Ge, &[x, y]) => q.at_most(y, x),
            (Meaning::Lt, &[x, y]) => {
                let ge = q.at_most(y, x);
                q.not(ge)
            }
            (Meaning::Gt, &[x, y]) => {
                let le = q.at_most(x, y);
                q.not(le)
            }
            (Meaning::Class(Class::Nan), _) => q.bool(false),
            (Meaning::Class(Class::Inf), &[x]) => q.is_inf(x),
            (Meaning::Class(Class::Finite), &[x]) => {
                let inf = q.is_inf(x);
                q.not(inf)
            }
            (Meaning::Class(Class::SignBit), &[x]) => q.is_negative(x),
            _ => return None,
        })
    }

    fn real_unary(&mut self, fun: Scalar, meaning: Meaning, x: Ext) -> Ext {
        match meaning {
            Meaning::Neg => self.q.ext_neg(x),
            Meaning::Abs => self.q.ext_abs(x),
            Meaning::Sign => {
                let (positive, negative) = (self.q.is_positive(x), self.q.is_negative(x));
                let (minus_one, zero, one) = (self.q.ratio(-1, 1), self.q.ratio(0, 1), self.q.ratio(1, 1));
                let rest = self.q.ite(negative, minus_one, zero);
                let val = self.q.ite(positive, one, rest);
                let sign = self.q.finite(val);
                self.q.absorb(x, sign)
            }
            Meaning::Reciprocal => self.inverse_of(x),
            Meaning::Exp => self.real_exp(x),
            Meaning::Log => self.real_log(x),
            Meaning::Sqrt => self.real_sqrt(x),
            Meaning::Rsqrt => {
                let root = self.real_sqrt(x);
                self.inverse_of(root)
            }
            Meaning::Sigmoid => {
                let (minus_x, one) = (self.q.ext_neg(x), self.number(1));
                let e = self.real_exp(minus_x);
                let below = self.q.ext_add(one, e);
                // The divisor is positive.
                Ext { bot: x.bot, ..self.inverse_of(below) }
            }
            Meaning::Expm1 => {
                let (e, one) = (self.real_exp(x), self.number(1));
                self.q.ext_sub(e, one)
            }
            Meaning::Log1p => {
                let one = self.number(1);
                let shifted = self.q.ext_add(one, x);
                self.real_log(shifted)
            }
            Meaning::Exp2 => {
                // 2^x = exp(x log 2); the factor is positive, so infinities stay.
                let base = self.log_of(2);
                let val = self.q.product(x.val, base);
                self.real_exp(Ext { val, ..x })
            }
            Meaning::Log2 | Meaning::Log10 => {
                let base = self.log_of(if meaning == Meaning::Log2 { 2 } else { 10 });
                let (log, inverse) = (self.real_log(x), self.q.inverse(base));
                Ext { val: self.q.product(log.val, inverse), ..log }
            }
            Meaning::Floor | Meaning::Ceil | Meaning::Trunc | Meaning::Round => {
                let whole = self.whole(meaning, x.val);
                // Infinities stay as they are.
                Ext { val: whole, ..x }
            }
            _ => self.guarded(fun, &[x], |encoder| encoder.finite_unary(fun, meaning, x.val)),
        }
    }

    /// Functions written out at finite arguments.
    fn finite_unary(&mut self, fun: Scalar, meaning: Meaning, x: Id) -> Option<Ext> {
        let val = match (meaning, fun) {
            (Meaning::Frac, _) => {
                let whole = self.whole(Meaning::Trunc, x);
                self.q.difference(x, whole)
            }
            (_, Scalar::Tanh) => self.laws.tanh(&mut self.q, x),
            (_, Scalar::Erf) => self.laws.erf(&mut self.q, x),
            (_, Scalar::Erfc) => {
                let (erf, one) = (self.laws.erf(&mut self.q, x), self.q.ratio(1, 1));
                self.q.difference(one, erf)
            }
            (_, Scalar::Sin) => self.laws.sin_cos(&mut self.q, x).0,
            (_, Scalar::Cos) => self.laws.sin_cos(&mut self.q, x).1,
            (_, Scalar::Sinh | Scalar::Cosh) => {
                let minus_x = self.q.negated(x);
                let (up, down) = (self.laws.exp(&mut self.q, x), self.laws.exp(&mut self.q, minus_x));
                let half = self.q.ratio(1, 2);
                let both = match fun {
                    Scalar::Sinh => self.q.difference(up, down),
                    _ => self.q.sum(up, down),
                };
                self.q.product(half, both)
            }
            _ => return None,
        };
        Some(self.q.finite(val))
    }

    fn real_binary(&mut self, fun: Scalar, meaning: Meaning, x: Ext, y: Ext) -> Ext {
        match meaning {
            Meaning::Add => self.q.ext_add(x, y),
            Meaning::Sub => self.q.ext_sub(x, y),
            Meaning::Mul => self.q.ext_mul(x, y),
            Meaning::Div => self.q.ext_div(x, y),
            Meaning::Max => self.q.ext_max(x, y),
            Meaning::Min => self.q.ext_min(x, y),
            Meaning::Pow => self.real_pow(fun, x, y),
            _ => self.guarded(fun, &[x, y], |encoder| encoder.finite_binary(meaning, x, y)),
        }
    }

    /// Functions written out at finite arguments.
    fn finite_binary(&mut self, meaning: Meaning, x: Ext, y: Ext) -> Option<Ext> {
        match meaning {
            Meaning::FloorDiv | Meaning::TruncDiv | Meaning::Remainder | Meaning::Fmod => {
                let floors = matches!(meaning, Meaning::FloorDiv | Meaning::Remainder);
                let quotient = self.q.ext_div(x, y);
                let whole = match floors {
                    true => self.whole(Meaning::Floor, quotient.val),
                    false => {
                        let negative = self.quotient_is_negative(x.val, y.val);
                        self.truncated(quotient.val, negative)
                    }
                };
                let val = if matches!(meaning, Meaning::FloorDiv | Meaning::TruncDiv) {
                    whole
                } else {
                    let taken = self.q.product(y.val, whole);
                    self.q.difference(x.val, taken)
                };
                Some(Ext { bot: quotient.bot, ..self.q.finite(val) })
            }
            Meaning::CopySign => {
                let (size, negative) = (self.q.ext_abs(x), self.q.is_negative(y));
                let minus = self.q.ext_neg(size);
                let no = self.q.bool(false);
                let picked = self.q.pick(negative, minus, size);
                Some(Ext { bot: no, ..picked })
            }
            Meaning::Hypot => {
                let (x2, y2) = (self.q.product(x.val, x.val), self.q.product(y.val, y.val));
                let sum = self.q.sum(x2, y2);
                let root = self.laws.sqrt(&mut self.q, sum);
                Some(self.q.finite(root))
            }
            _ => None,
        }
    }

    fn number(&mut self, n: i64) -> Ext {
        let val = self.q.ratio(n, 1);
        self.q.finite(val)
    }

    fn inverse_of(&mut self, x: Ext) -> Ext {
        let one = self.number(1);
        self.q.ext_div(one, x)
    }

    fn log_of(&mut self, n: i64) -> Id {
        let n = self.q.ratio(n, 1);
        self.laws.log(&mut self.q, n)
    }

    /// `exp(-inf) = 0`, `exp(inf) = inf`.
    fn real_exp(&mut self, x: Ext) -> Ext {
        let (value, zero, no) = (self.laws.exp(&mut self.q, x.val), self.q.ratio(0, 1), self.q.bool(false));
        Ext { bot: x.bot, pinf: x.pinf, ninf: no, val: self.q.ite(x.ninf, zero, value) }
    }

    /// Undefined below zero, `log 0 = -inf`.
    fn real_log(&mut self, x: Ext) -> Ext {
        let (negative, is_zero) = (self.q.is_negative(x), self.q.is_zero(x));
        let val = self.laws.log(&mut self.q, x.val);
        Ext { bot: self.q.or([x.bot, negative]), pinf: x.pinf, ninf: is_zero, val }
    }

    /// Undefined below zero.
    fn real_sqrt(&mut self, x: Ext) -> Ext {
        let negative = self.q.is_negative(x);
        let (val, no) = (self.laws.sqrt(&mut self.q, x.val), self.q.bool(false));
        Ext { bot: self.q.or([x.bot, negative]), pinf: x.pinf, ninf: no, val }
    }

    /// Whole and half powers by products, inverses and roots; at positive bases
    /// `x ** y = exp(y * log x)`; otherwise uninterpreted.
    fn real_pow(&mut self, fun: Scalar, x: Ext, y: Ext) -> Ext {
        let exponent = number(&self.q, y.val).filter(|_| self.q.surely_finite(y));
        if let Some(exponent) = exponent
            && let Some(power) = self.constant_power(x, &exponent)
        {
            return self.q.absorb(y, power);
        }
        let wild = self.uninterpreted(fun.name(), &[x, y], false);
        let zero = self.q.ratio(0, 1);
        let (x_inf, y_inf, above) = (self.q.is_inf(x), self.q.is_inf(y), self.q.lt(zero, x.val));
        let some_inf = self.q.or([x_inf, y_inf]);
        let numbers = self.q.not(some_inf);
        let smooth = self.q.and([numbers, above]);
        let log = self.laws.log(&mut self.q, x.val);
        let scaled = self.q.product(y.val, log);
        let val = self.laws.exp(&mut self.q, scaled);
        let finite = self.q.finite(val);
        let result = self.q.pick(smooth, finite, wild);
        let result = self.q.absorb(x, result);
        self.q.absorb(y, result)
    }

    fn constant_power(&mut self, x: Ext, exponent: &BigRational) -> Option<Ext> {
        let halves =
            (exponent * BigInt::from(2)).to_i64().filter(|_| (exponent * BigInt::from(2)).is_integer())?;
        if halves.abs() > 2 * MAX_EXPONENT {
            return None;
        }
        let one = self.number(1);
        if halves == 0 {
            return Some(self.q.absorb(x, one));
        }
        let (base, n) = if halves % 2 == 0 { (x, halves / 2) } else { (self.real_sqrt(x), halves) };
        let mut power = base;
        for _ in 1..n.abs() {
            power = self.q.ext_mul(power, base);
        }
        Some(if exponent.is_negative() { self.q.ext_div(one, power) } else { power })
    }

    /// A rounding to integers of a finite number, as a real.
    fn whole(&mut self, meaning: Meaning, x: Id) -> Id {
        let real = |encoder: &mut Encoder, int| encoder.q.op(Op::ToReal, vec![int]);
        match meaning {
            Meaning::Floor => {
                let whole = self.laws.floor(&mut self.q, x);
                real(self, whole)
            }
            Meaning::Ceil => {
                let minus_x = self.q.negated(x);
                let whole = self.whole(Meaning::Floor, minus_x);
                self.q.negated(whole)
            }
            Meaning::Trunc => {
                let zero = self.q.ratio(0, 1);
                let negative = self.q.lt(x, zero);
                self.truncated(x, negative)
            }
            _ => {
                // floor(x + 1/2), and one less where that is a tie and odd.
                let half = self.q.ratio(1, 2);
                let shifted = self.q.sum(x, half);
                let up = self.laws.floor(&mut self.q, shifted);
                let up_real = real(self, up);
                let half_up = self.q.product(half, up_real);
                let pair = self.laws.floor(&mut self.q, half_up);
                let pair_real = real(self, pair);
                let (tie, even) = (self.q.eq(up_real, shifted), self.q.eq(pair_real, half_up));
                let (odd, minus_one) = (self.q.not(even), self.q.ratio(-1, 1));
                let (down, lower) = (self.q.and([tie, odd]), self.q.sum(up_real, minus_one));
                self.q.ite(down, lower, up_real)
            }
        }
    }

    fn truncated(&mut self, x: Id, negative: Id) -> Id {
        let (up, down) = (self.whole(Meaning::Ceil, x), self.whole(Meaning::Floor, x));
        self.q.ite(negative, up, down)
    }

    /// Whether `x / y < 0`, without the quotient, which is not linear.
    fn quotient_is_negative(&mut self, x: Id, y: Id) -> Id {
        let zero = self.q.ratio(0, 1);
        let (x_down, x_up) = (self.q.lt(x, zero), self.q.lt(zero, x));
        let (y_down, y_up) = (self.q.lt(y, zero), self.q.lt(zero, y));
        let (down_up, up_down) = (self.q.and([x_down, y_up]), self.q.and([x_up, y_down]));
        self.q.or([down_up, up_down])
    }

    /// `finite` where all arguments are finite; elsewhere, and where it is `None`,
    /// uninterpreted.
    fn guarded(
        &mut self,
        fun: Scalar,
        args: &[Ext],
        finite: impl FnOnce(&mut Encoder) -> Option<Ext>,
    ) -> Ext {
        let sure = args.iter().all(|arg| self.q.surely_finite(*arg));
        let inside = match finite(self) {
            Some(inside) => inside,
            None => {
                let total = matches!(fun, Scalar::Atan | Scalar::Asinh);
                self.uninterpreted(fun.name(), args, total)
            }
        };
        let mut result = inside;
        if !sure {
            let infs: Vec<Id> = args.iter().map(|arg| self.q.is_inf(*arg)).collect();
            let some_inf = self.q.or(infs);
            let outside = self.at_infinity(fun.name(), args);
            result = self.q.pick(some_inf, outside, inside);
        }
        for arg in args {
            result = self.q.absorb(*arg, result);
        }
        result
    }

    /// A function of the finite values; with `total` its values are finite.
    fn uninterpreted(&mut self, name: &str, args: &[Ext], total: bool) -> Ext {
        let sure = args.iter().all(|arg| self.q.surely_finite(*arg));
        if !sure {
            return self.at_infinity(name, args);
        }
        let vals: Vec<Id> = args.iter().map(|arg| arg.val).collect();
        let val = self.component(name, "", &vals, Sort::Real);
        let mut result = self.q.finite(val);
        if !total {
            result.bot = self.component(name, " undefined", &vals, Sort::Bool);
            result.pinf = self.component(name, " is inf", &vals, Sort::Bool);
            result.ninf = self.component(name, " is -inf", &vals, Sort::Bool);
        }
        result
    }

    /// A function of flags and values, where some argument may be infinite.
    fn at_infinity(&mut self, name: &str, args: &[Ext]) -> Ext {
        let mut ids = Vec::new();
        for arg in args {
            let (inf, zero) = (self.q.is_inf(*arg), self.q.ratio(0, 1));
            ids.extend([arg.pinf, arg.ninf, self.q.ite(inf, zero, arg.val)]);
        }
        let name = format!("{name} at infinity");
        Ext {
            bot: self.component(&name, " undefined", &ids, Sort::Bool),
            pinf: self.component(&name, " is inf", &ids, Sort::Bool),
            ninf: self.component(&name, " is -inf", &ids, Sort::Bool),
            val: self.component(&name, "", &ids, Sort::Real),
        }
    }

    pub fn component(&mut self, name: &str, part: &str, args: &[Id], range: Sort) -> Id {
        let domain = args.iter().map(|arg| self.q.sort(*arg).clone()).collect();
        let fun = self.q.declare(&format!("{name}{part}"), domain, range);
        self.q.apply(fun, args.to_vec())
    }

    /// From a real: floats are not rounded; to bool, whether it is not zero; to an
    /// integer, a function of the value.
    pub fn cast_real(&mut self, enc: Enc, to: DType) -> Result<Enc, Reason> {
        let ext = enc.ext().ok_or_else(|| unsupported("a conversion of no number"))?;
        let data = match to.category() {
            Category::Float => return Ok(enc),
            Category::Bool => {
                let is_zero = self.q.is_zero(ext);
                Data::Bool(self.q.not(is_zero))
            }
            Category::Int => {
                let (inf, zero) = (self.q.is_inf(ext), self.q.ratio(0, 1));
                let val = self.q.ite(inf, zero, ext.val);
                let args = [ext.pinf, ext.ninf, val];
                let bits = Sort::Bits(to.bits());
                Data::Bits(self.component("real to ", to.name(), &args, bits))
            }
        };
        Ok(Enc { data, ..enc })
    }
}
