//! Sizes and indices: integer polynomials with floor division, minimum and maximum.
//!
//! One algebra serves dimensions (`2*K`), index expressions (`i*D + j`) and static
//! integers. Values are unbounded integers. Invariants: a [`Size`] is in normal
//! form (monomials sorted, no zero coefficient), so equal normal forms are equal
//! for all values; `a % d` is written `a - d*(a // d)`; division is by floor and is
//! undefined at a zero divisor, which evaluation reports.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum SymKind {
    /// A dimension: a natural number.
    Size,
    /// The number of elements of a rank variable `*S`: the axes of the group, seen
    /// as one axis in row-major order. A natural number.
    Group,
    /// An index bound by a comprehension or reduction: a natural number.
    Index,
    /// A static integer parameter of a claim, which may be negative.
    Int,
}

/// A symbolic integer. The id keeps equal names of different scopes apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sym {
    id: u32,
    /// Kind and name.
    rest: Arc<(SymKind, String)>,
}

impl Ord for Sym {
    fn cmp(&self, other: &Sym) -> Ordering {
        self.id.cmp(&other.id).then_with(|| match Arc::ptr_eq(&self.rest, &other.rest) {
            true => Ordering::Equal,
            false => self.rest.cmp(&other.rest),
        })
    }
}

impl PartialOrd for Sym {
    fn partial_cmp(&self, other: &Sym) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Sym {
    pub fn new(id: u32, kind: SymKind, name: impl Into<String>) -> Sym {
        Sym { id, rest: Arc::new((kind, name.into())) }
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn kind(&self) -> SymKind {
        self.rest.0
    }

    pub fn name(&self) -> &str {
        &self.rest.1
    }

    /// Every symbol but a static integer is a natural number.
    pub fn is_natural(&self) -> bool {
        self.kind() != SymKind::Int
    }
}

/// A factor of a monomial.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    Sym(Sym),
    /// Floor division, for a divisor that does not divide symbolically.
    Div(Size, Size),
    Min(Size, Size),
    Max(Size, Size),
}

/// A product of atoms with exponents, sorted by atom; empty is 1.
pub type Monomial = Vec<(Atom, u32)>;

/// A polynomial in normal form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Size(Arc<Vec<(Monomial, BigInt)>>);

/// Why a size has no value under an assignment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SizeFault {
    Unbound(Sym),
    DivisionByZero,
    /// The value or an intermediate one leaves the 127-bit range.
    Overflow,
}

impl Size {
    /// The sum of coefficients times monomials (sorted by atom, powers not zero).
    pub fn from_terms(terms: impl IntoIterator<Item = (Monomial, BigInt)>) -> Size {
        let mut terms: Vec<(Monomial, BigInt)> = terms.into_iter().collect();
        if !terms.is_sorted_by(|(a, _), (b, _)| a < b) {
            terms.sort_by(|(a, _), (b, _)| a.cmp(b));
            terms.dedup_by(|(next, c), (monomial, sum)| {
                let same = next == monomial;
                if same {
                    *sum += std::mem::take(c);
                }
                same
            });
        }
        terms.retain(|(_, c)| !c.is_zero());
        Size(Arc::new(terms))
    }

    pub fn zero() -> Size {
        Size(Arc::new(Vec::new()))
    }

    pub fn one() -> Size {
        Size::int(1)
    }

    pub fn int(value: impl Into<BigInt>) -> Size {
        Size::from_terms([(Vec::new(), value.into())])
    }

    pub fn sym(sym: &Sym) -> Size {
        Size::atom(Atom::Sym(sym.clone()))
    }

    pub fn atom(atom: Atom) -> Size {
        Size(Arc::new(vec![(vec![(atom, 1)], BigInt::one())]))
    }

    /// The terms of the polynomial: monomials sorted, coefficients not zero.
    pub fn terms(&self) -> &[(Monomial, BigInt)] {
        &self.0
    }

    pub fn as_const(&self) -> Option<BigInt> {
        match self.0.as_slice() {
            [] => Some(BigInt::zero()),
            [(m, c)] if m.is_empty() => Some(c.clone()),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        self.as_const()?.to_i64()
    }

    /// The symbol, if the size is exactly one symbol.
    pub fn as_sym(&self) -> Option<&Sym> {
        match self.0.as_slice() {
            [(m, c)] if c.is_one() => match m.as_slice() {
                [(Atom::Sym(s), 1)] => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether this extent stands for the axes of a rank variable.
    pub fn is_group(&self) -> bool {
        self.as_sym().is_some_and(|s| s.kind() == SymKind::Group)
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_one(&self) -> bool {
        self.as_const().is_some_and(|c| c.is_one())
    }

    /// The coefficient of the empty monomial.
    pub fn constant_term(&self) -> BigInt {
        match self.0.first() {
            Some((m, c)) if m.is_empty() => c.clone(),
            _ => BigInt::zero(),
        }
    }

    pub fn scale(&self, by: &BigInt) -> Size {
        match by.is_zero() {
            true => Size::zero(),
            false => Size(Arc::new(self.0.iter().map(|(m, c)| (m.clone(), c * by)).collect())),
        }
    }

    /// Product of many, 1 for none.
    pub fn product<'a>(sizes: impl IntoIterator<Item = &'a Size>) -> Size {
        sizes.into_iter().fold(Size::one(), |acc, s| &acc * s)
    }

    /// Floor division. Coefficients divisible by a constant divisor leave the
    /// quotient; a symbolic divisor is kept (see [`crate::simplify`] for division
    /// under facts), since dividing by it needs it to be nonzero.
    pub fn floor_div(&self, divisor: &Size) -> Size {
        let Some(d) = divisor.as_const().filter(|d| !d.is_zero()) else {
            return Size::atom(Atom::Div(self.clone(), divisor.clone()));
        };
        if d.is_negative() {
            return (-self).floor_div(&Size::int(-d));
        }
        let quotient = Size::from_terms(self.0.iter().map(|(m, c)| (m.clone(), c.div_floor(&d))));
        let rest = Size::from_terms(self.0.iter().map(|(m, c)| (m.clone(), c.mod_floor(&d))));
        if rest.as_const().is_some() {
            return quotient;
        }
        &quotient + &Size::reduced_div(&rest, &d)
    }

    /// `rest // d` where every coefficient lies in `0..d`: cancels the common factor
    /// of the coefficients and `d`, and merges `(x // p) // d` into `x // (p*d)`.
    fn reduced_div(rest: &Size, d: &BigInt) -> Size {
        let constant = rest.constant_term();
        let content = rest.0.iter().filter(|(m, _)| !m.is_empty()).fold(d.clone(), |g, (_, c)| g.gcd(c));
        if !content.is_one() {
            // floor((g*a + r) / (g*e)) = floor((a + floor(r/g)) / e)
            let shrunk = Size::from_terms(rest.0.iter().map(|(m, c)| (m.clone(), c.div_floor(&content))));
            return shrunk.floor_div(&Size::int(d / &content));
        }
        if constant.is_zero()
            && let [(m, c)] = rest.0.as_slice()
            && c.is_one()
            && let [(Atom::Div(x, p), 1)] = m.as_slice()
            && let Some(p) = p.as_const().filter(|p| p.is_positive())
        {
            return x.floor_div(&Size::int(p * d));
        }
        Size::atom(Atom::Div(rest.clone(), Size::int(d.clone())))
    }

    /// `q` with `q * divisor == self` as polynomials, for a divisor of one term.
    pub fn exact_div(&self, divisor: &Size) -> Option<Size> {
        let [(factors, scale)] = divisor.terms() else { return None };
        let mut quotient = Vec::new();
        for (monomial, coefficient) in self.terms() {
            let mut powers: BTreeMap<Atom, u32> = monomial.iter().cloned().collect();
            for (atom, power) in factors {
                let left = powers.get(atom)?.checked_sub(*power)?;
                if left == 0 {
                    powers.remove(atom);
                } else {
                    powers.insert(atom.clone(), left);
                }
            }
            if !coefficient.is_multiple_of(scale) {
                return None;
            }
            quotient.push((powers.into_iter().collect(), coefficient / scale));
        }
        Some(Size::from_terms(quotient))
    }

    /// Remainder of floor division: `a - d*(a // d)`.
    pub fn floor_mod(&self, divisor: &Size) -> Size {
        self - &(divisor * &self.floor_div(divisor))
    }

    /// `ceil(a / d)` for `d >= 1`.
    pub fn ceil_div(&self, divisor: &Size) -> Size {
        (&(self + divisor) - &Size::one()).floor_div(divisor)
    }

    pub fn minimum(&self, other: &Size) -> Size {
        match (self - other).as_const() {
            Some(d) if d.is_positive() => other.clone(),
            Some(_) => self.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Size::atom(Atom::Min(a.clone(), b.clone()))
            }
        }
    }

    pub fn maximum(&self, other: &Size) -> Size {
        match (self - other).as_const() {
            Some(d) if d.is_negative() => other.clone(),
            Some(_) => self.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Size::atom(Atom::Max(a.clone(), b.clone()))
            }
        }
    }

    /// Replaces atoms from the inside out: `f` sees each atom with its arguments
    /// already rewritten and gives the size that takes its place.
    pub fn map_atoms(&self, f: &dyn Fn(&Atom) -> Option<Size>) -> Size {
        let stays = |atom: &Atom| matches!(atom, Atom::Sym(_)) && f(atom).is_none();
        if self.0.iter().flat_map(|(monomial, _)| monomial).all(|(atom, _)| stays(atom)) {
            return self.clone();
        }
        let mut terms = Vec::new();
        for (monomial, coefficient) in self.0.iter() {
            let (mut kept, mut product): (Monomial, Option<Size>) = (Vec::new(), None);
            for (atom, power) in monomial {
                let Some(factor) = rebuild(atom, f).filter(|new| !new.is_atom(atom)) else {
                    kept.push((atom.clone(), *power));
                    continue;
                };
                for _ in 0..*power {
                    product = Some(product.map_or_else(|| factor.clone(), |product| &product * &factor));
                }
            }
            match product {
                None => terms.push((kept, coefficient.clone())),
                Some(product) => {
                    let product = product.0.iter();
                    terms.extend(product.map(|(m, c)| (multiply(&kept, m), c * coefficient)));
                }
            }
        }
        Size::from_terms(terms)
    }

    /// Whether the size is this atom.
    fn is_atom(&self, atom: &Atom) -> bool {
        match self.0.as_slice() {
            [(m, c)] if c.is_one() => matches!(m.as_slice(), [(own, 1)] if own == atom),
            _ => false,
        }
    }

    /// Simultaneous substitution of symbols.
    pub fn subst(&self, f: &dyn Fn(&Sym) -> Option<Size>) -> Size {
        self.map_atoms(&|atom| match atom {
            Atom::Sym(s) => f(s),
            _ => None,
        })
    }

    /// The value under an assignment of all symbols.
    pub fn eval(&self, env: &dyn Fn(&Sym) -> Option<i128>) -> Result<i128, SizeFault> {
        // What is small is computed several times faster.
        match self.small_value(env) {
            Some(value) => Ok(value.into()),
            None => self.large_value(env),
        }
    }

    fn small_value(&self, env: &dyn Fn(&Sym) -> Option<i128>) -> Option<i64> {
        let mut sum: i64 = 0;
        for (monomial, coefficient) in self.0.iter() {
            let mut product = coefficient.to_i64()?;
            for (atom, power) in monomial {
                let Atom::Sym(sym) = atom else { return None };
                let value = i64::try_from(env(sym)?).ok()?;
                for _ in 0..*power {
                    product = product.checked_mul(value)?;
                }
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    fn large_value(&self, env: &dyn Fn(&Sym) -> Option<i128>) -> Result<i128, SizeFault> {
        let mut sum: i128 = 0;
        for (monomial, coefficient) in self.0.iter() {
            let mut product = coefficient.to_i128().ok_or(SizeFault::Overflow)?;
            for (atom, power) in monomial {
                let value = eval_atom(atom, env)?;
                for _ in 0..*power {
                    product = product.checked_mul(value).ok_or(SizeFault::Overflow)?;
                }
            }
            sum = sum.checked_add(product).ok_or(SizeFault::Overflow)?;
        }
        Ok(sum)
    }

    /// Adds the symbols that occur, inside divisions too.
    pub fn collect_syms(&self, into: &mut BTreeSet<Sym>) {
        for (monomial, _) in self.0.iter() {
            for (atom, _) in monomial {
                match atom {
                    Atom::Sym(s) => {
                        into.insert(s.clone());
                    }
                    Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => {
                        a.collect_syms(into);
                        b.collect_syms(into);
                    }
                }
            }
        }
    }

    pub fn syms(&self) -> BTreeSet<Sym> {
        let mut set = BTreeSet::new();
        self.collect_syms(&mut set);
        set
    }

    pub fn mentions(&self, sym: &Sym) -> bool {
        self.has_sym(&|s| s == sym)
    }

    /// Whether a symbol that occurs, inside divisions too, is such a one.
    pub fn has_sym(&self, wanted: &dyn Fn(&Sym) -> bool) -> bool {
        self.0.iter().flat_map(|(monomial, _)| monomial).any(|(atom, _)| match atom {
            Atom::Sym(sym) => wanted(sym),
            Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => a.has_sym(wanted) || b.has_sym(wanted),
        })
    }
}

/// An atom with its arguments rewritten by `f`, then `f` on the atom itself; nothing if it
/// stays as it is.
fn rebuild(atom: &Atom, f: &dyn Fn(&Atom) -> Option<Size>) -> Option<Size> {
    let inner = match atom {
        Atom::Sym(_) => return f(atom),
        Atom::Div(a, b) => a.map_atoms(f).floor_div(&b.map_atoms(f)),
        Atom::Min(a, b) => a.map_atoms(f).minimum(&b.map_atoms(f)),
        Atom::Max(a, b) => a.map_atoms(f).maximum(&b.map_atoms(f)),
    };
    Some(match inner.0.as_slice() {
        [(m, c)] if c.is_one() && m.len() == 1 && m[0].1 == 1 => match f(&m[0].0) {
            Some(size) if !matches!(m[0].0, Atom::Sym(_)) => size,
            _ => inner,
        },
        _ => inner,
    })
}

fn eval_atom(atom: &Atom, env: &dyn Fn(&Sym) -> Option<i128>) -> Result<i128, SizeFault> {
    match atom {
        Atom::Sym(s) => env(s).ok_or_else(|| SizeFault::Unbound(s.clone())),
        Atom::Div(a, b) => match (a.eval(env)?, b.eval(env)?) {
            (_, 0) => Err(SizeFault::DivisionByZero),
            (i128::MIN, -1) => Err(SizeFault::Overflow),
            (a, b) => Ok(Integer::div_floor(&a, &b)),
        },
        Atom::Min(a, b) => Ok(a.eval(env)?.min(b.eval(env)?)),
        Atom::Max(a, b) => Ok(a.eval(env)?.max(b.eval(env)?)),
    }
}

fn multiply(a: &Monomial, b: &Monomial) -> Monomial {
    merged(a, b, |(m, _), (n, _)| m.cmp(n), Clone::clone, |(atom, p), (_, q)| Some((atom.clone(), p + q)))
}

/// Two sorted lists as one; what is in both is combined, or gone.
fn merged<T>(
    a: &[T],
    b: &[T],
    order: impl Fn(&T, &T) -> Ordering,
    second: impl Fn(&T) -> T,
    both: impl Fn(&T, &T) -> Option<T>,
) -> Vec<T>
where
    T: Clone,
{
    let (mut all, mut i, mut k) = (Vec::with_capacity(a.len() + b.len()), 0, 0);
    while i < a.len() && k < b.len() {
        match order(&a[i], &b[k]) {
            Ordering::Less => {
                all.push(a[i].clone());
                i += 1;
            }
            Ordering::Greater => {
                all.push(second(&b[k]));
                k += 1;
            }
            Ordering::Equal => {
                all.extend(both(&a[i], &b[k]));
                (i, k) = (i + 1, k + 1);
            }
        }
    }
    all.extend_from_slice(&a[i..]);
    all.extend(b[k..].iter().map(second));
    all
}

/// The sum of two sizes, of which the second is taken with the sign `sign`.
fn sum(a: &Size, b: &Size, sign: impl Fn(&BigInt) -> BigInt) -> Size {
    let second = |(m, c): &(Monomial, BigInt)| (m.clone(), sign(c));
    let both = |(m, c): &(Monomial, BigInt), (_, d): &(Monomial, BigInt)| {
        let sum = c + sign(d);
        (!sum.is_zero()).then(|| (m.clone(), sum))
    };
    Size(Arc::new(merged(&a.0, &b.0, |(m, _), (n, _)| m.cmp(n), second, both)))
}

impl Add for &Size {
    type Output = Size;
    fn add(self, other: &Size) -> Size {
        sum(self, other, BigInt::clone)
    }
}

impl Neg for &Size {
    type Output = Size;
    fn neg(self) -> Size {
        Size(Arc::new(self.0.iter().map(|(m, c)| (m.clone(), -c)).collect()))
    }
}

impl Sub for &Size {
    type Output = Size;
    fn sub(self, other: &Size) -> Size {
        sum(self, other, |c| -c)
    }
}

impl Mul for &Size {
    type Output = Size;
    fn mul(self, other: &Size) -> Size {
        Size::from_terms(
            self.0.iter().flat_map(|(m, c)| other.0.iter().map(move |(n, d)| (multiply(m, n), c * d))),
        )
    }
}

impl From<i64> for Size {
    fn from(value: i64) -> Size {
        Size::int(value)
    }
}

/// Surface syntax, positive terms first: `N - lo + 1`, `(N + 7) // 8`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<_> = self.0.iter().collect();
        terms.sort_by_key(|(m, c)| (c.is_negative(), m.is_empty()));
        for (k, (monomial, coefficient)) in terms.iter().enumerate() {
            let sign = match (k, coefficient.is_negative()) {
                (0, true) => "-",
                (0, false) => "",
                (_, true) => " - ",
                (_, false) => " + ",
            };
            f.write_str(sign)?;
            let magnitude = coefficient.abs();
            if monomial.is_empty() || !magnitude.is_one() {
                write!(f, "{magnitude}")?;
                if !monomial.is_empty() {
                    f.write_str("*")?;
                }
            }
            let factors: Vec<String> =
                monomial.iter().flat_map(|(a, p)| (0..*p).map(|_| atom_text(a))).collect();
            f.write_str(&factors.join("*"))?;
        }
        if terms.is_empty() { f.write_str("0") } else { Ok(()) }
    }
}

fn atom_text(atom: &Atom) -> String {
    match atom {
        Atom::Sym(s) if s.kind() == SymKind::Group => format!("numel({})", s.name()),
        Atom::Sym(s) => s.name().to_string(),
        Atom::Div(a, b) => format!("({} // {})", operand(a), operand(b)),
        Atom::Min(a, b) => format!("min({a}, {b})"),
        Atom::Max(a, b) => format!("max({a}, {b})"),
    }
}

fn operand(size: &Size) -> String {
    let text = size.to_string();
    match size.terms() {
        [] => text,
        [(m, c)] if m.is_empty() && !c.is_negative() => text,
        [(m, c)] if c.is_one() && m.len() == 1 && m[0].1 == 1 => text,
        _ => format!("({text})"),
    }
}
