//! Elementary functions against values that nothing of ours computed, and mistakes in their
//! rows of the scalar table, which these values notice.

use std::f64::consts::{LN_2, LN_10, PI};
use std::sync::LazyLock;

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Exact, FloatFn, RealFn, Scalar, Value, ulp_distance};

/// A function at arguments, and its value as it was written down.
struct Point {
    fun: Scalar,
    args: Vec<f64>,
    text: &'static str,
    value: f64,
}

static POINTS: LazyLock<Vec<Point>> = LazyLock::new(|| {
    let lines = include_str!("data/elementary.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(point).collect()
});

fn point(line: &'static str) -> Point {
    let words: Vec<&str> = line.split(' ').collect();
    let (name, rest) = words.split_first().expect("a line has words");
    let (text, args) = rest.split_last().expect("a line has a value");
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{line}: no number"));
    let fun = Scalar::from_name(name).unwrap_or_else(|| panic!("{line}: no function"));
    assert_eq!(args.len(), fun.arity(), "{line}");
    Point { fun, args: args.iter().map(|arg| number(arg)).collect(), text, value: number(text) }
}

impl Point {
    /// Whether the row may give this: in f64 what is within its bound; elsewhere, and where
    /// the value is special, nothing but the value rounded to the dtype.
    fn allows(&self, got: f64, dtype: DType) -> bool {
        let want = Value::round(self.value, dtype);
        let (got, want) = (Value::Float(got), Value::Float(want));
        let special = !self.value.is_finite() || self.value == 0.0;
        got.same(&want) == Some(true)
            || dtype == DType::F64
                && !special
                && ulp_distance(&got, &want, dtype).is_some_and(|ulps| ulps <= bound(self.fun))
    }

    /// Whether the value lies in an enclosure; none where it is too large to be written out.
    fn lies_in(&self, got: &Exact) -> Option<bool> {
        if got.is_bottom() || self.value.is_nan() {
            return Some(got.is_bottom() && self.value.is_nan());
        }
        let (lo, hi) = got.bounds()?;
        let (least, greatest) = self.about()?;
        let less = |x: &Exact, y: &Exact| x.less(y) == Some(true);
        Some(!less(&greatest, &Exact::from_f64(lo)) && !less(&Exact::from_f64(hi), &least))
    }

    /// Between which rationals the value lies: what is written down is rounded.
    fn about(&self) -> Option<(Exact, Exact)> {
        let read = |text| Value::literal(text, DType::F64, Domain::Exact).ok();
        let times = |factor| {
            let args = [read(self.text)?, read(factor)?];
            Scalar::Mul.eval(Domain::Exact, DType::F64, &args).ok()?.as_exact().cloned()
        };
        let (inner, outer) =
            (times("0.9999999999999999999999999999999999")?, times("1.0000000000000000000000000000000001")?);
        Some(if self.value < 0.0 { (outer, inner) } else { (inner, outer) })
    }

    fn is_exact_in(&self, dtype: DType) -> bool {
        self.args.iter().all(|x| x.is_nan() || Value::round(*x, dtype) == *x)
    }

    /// Of numbers alone: of infinities and of zeros with a sign the reals say something else.
    fn is_of_reals(&self) -> bool {
        let plain = |x: &f64| x.is_finite() && (*x != 0.0 || self.args.len() == 1 && x.is_sign_positive());
        self.args.iter().all(plain) && !self.value.is_infinite()
    }
}

/// Units of the last place of f64. Where the table states no bound, these points are far from
/// what makes the function inaccurate.
fn bound(fun: Scalar) -> u64 {
    u64::from(fun.row().ulp.min(16))
}

fn ieee(fun: Scalar, dtype: DType, args: &[f64]) -> f64 {
    let args: Vec<Value> = args.iter().map(|x| Value::Float(*x)).collect();
    let value = fun.eval(Domain::Ieee, dtype, &args).expect("rows of floats are total");
    value.as_float().expect("a float")
}

/// None where it is too large, or not decided.
fn exact(fun: Scalar, args: &[f64]) -> Option<Exact> {
    let args: Vec<Value> = args.iter().map(|x| Value::Exact(Exact::from_f64(*x))).collect();
    fun.eval(Domain::Exact, DType::F64, &args).ok()?.as_exact().cloned()
}

const FLOATS: [DType; 4] = [DType::F64, DType::F32, DType::F16, DType::BF16];

/// The functions of which values are written down.
fn functions() -> Vec<Scalar> {
    Scalar::all().filter(|fun| POINTS.iter().any(|point| point.fun == *fun)).collect()
}

fn points(fun: Scalar) -> impl Iterator<Item = &'static Point> {
    POINTS.iter().filter(move |point| point.fun == fun)
}

#[test]
fn elementary_functions_have_their_values() {
    let mut enclosed = 0;
    for point in POINTS.iter() {
        let Point { fun, args, text, .. } = point;
        for dtype in FLOATS.into_iter().filter(|dtype| point.is_exact_in(*dtype)) {
            let got = ieee(*fun, dtype, args);
            assert!(point.allows(got, dtype), "{fun} {args:?} at {dtype}: {got:?}, not {text}");
        }
        let found = exact(*fun, args).filter(|_| point.is_of_reals());
        if let Some(lies) = found.as_ref().and_then(|found| point.lies_in(found)) {
            assert!(lies, "{fun} {args:?}: {text} outside {found:?}");
            enclosed += 1;
        }
    }
    println!("{} values, {enclosed} of them enclosed", POINTS.len());
    assert!(enclosed >= 700, "{enclosed} values are enclosed");
    let elementary =
        |fun: &Scalar| *fun as usize >= Scalar::Exp as usize && *fun as usize <= Scalar::Sigmoid as usize;
    let without: Vec<Scalar> =
        Scalar::all().filter(elementary).filter(|fun| points(*fun).next().is_none()).collect();
    assert!(without.is_empty(), "no value is written down of {without:?}");
}

/// What a row does wrong.
#[derive(Clone, Debug)]
enum Mistake {
    /// It computes another function.
    Other(Scalar),
    /// The result has the wrong sign.
    Negated,
    /// The first argument has.
    Reflected,
    Swapped,
    /// Every result is so many values of the dtype too great.
    Off(DType, u64),
    /// At special arguments it gives this.
    Special(Vec<f64>, f64),
    /// The formula that comes to mind, which cancels, overflows or fails somewhere.
    Textbook(fn(f64, f64) -> f64),
}

/// Mistakes that change nothing at any argument.
fn changes_nothing(fun: Scalar, mistake: &Mistake) -> bool {
    match mistake {
        Mistake::Reflected => matches!(fun, Scalar::Cos | Scalar::Cosh | Scalar::Hypot),
        Mistake::Swapped => fun == Scalar::Hypot,
        _ => false,
    }
}

const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];

fn textbook(fun: Scalar) -> Option<fn(f64, f64) -> f64> {
    Some(match fun {
        Scalar::Exp2 => |x, _| (x * LN_2).exp(),
        Scalar::Expm1 => |x, _| x.exp() - 1.0,
        Scalar::Log10 => |x, _| x.ln() / LN_10,
        Scalar::Log1p => |x, _| (1.0 + x).ln(),
        Scalar::Rsqrt => |x, _| x.powf(-0.5),
        Scalar::Asin => |x, _| (x / (1.0 - x * x).sqrt()).atan(),
        Scalar::Acos => |x, _| ((1.0 - x * x).sqrt() / x).atan(),
        Scalar::Sinh => |x, _| (x.exp() - (-x).exp()) / 2.0,
        Scalar::Cosh => |x, _| (x.exp() + (-x).exp()) / 2.0,
        Scalar::Tanh => |x, _| (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()),
        Scalar::Asinh => |x, _| (x + (x * x + 1.0).sqrt()).ln(),
        Scalar::Acosh => |x, _| (x + (x * x - 1.0).sqrt()).ln(),
        Scalar::Atanh => |x, _| ((1.0 + x) / (1.0 - x)).ln() / 2.0,
        Scalar::Atan2 => |x, y| (x / y).atan(),
        Scalar::Hypot => |x, y| (x * x + y * y).sqrt(),
        Scalar::Erf => |x, _| 1.0 - ieee(Scalar::Erfc, DType::F64, &[x]),
        Scalar::Erfc => |x, _| 1.0 - ieee(Scalar::Erf, DType::F64, &[x]),
        Scalar::Lgamma => |x, _| (x - 0.5) * x.ln() - x + (2.0 * PI).ln() / 2.0,
        Scalar::Sigmoid => |x, _| x.exp() / (1.0 + x.exp()),
        Scalar::Pow => |x, y| (y * x.ln()).exp(),
        _ => return None,
    })
}

/// Those of a row, whichever domain they are made in.
fn confusions(fun: Scalar) -> Vec<Mistake> {
    let numeric = |other: &Scalar| {
        let row = other.row();
        let both = matches!(
            (row.float, row.real),
            (FloatFn::One(_), RealFn::One(_)) | (FloatFn::Two(_), RealFn::Two(_))
        );
        both && *other != fun && other.arity() == fun.arity()
    };
    let mut found: Vec<Mistake> = Scalar::all().filter(numeric).map(Mistake::Other).collect();
    found.extend([Mistake::Negated, Mistake::Reflected]);
    found.extend((fun.arity() == 2).then_some(Mistake::Swapped));
    found
}

/// All that are made in the function on floats.
fn mistakes(fun: Scalar) -> Vec<Mistake> {
    let mut found = confusions(fun);
    let off = |dtype| Mistake::Off(dtype, if dtype == DType::F64 { bound(fun) + 1 } else { 1 });
    found.extend(FLOATS.into_iter().map(off));
    found.extend(textbook(fun).map(Mistake::Textbook));
    let special: Vec<Vec<f64>> = match fun.arity() {
        1 => SPECIAL.iter().map(|x| vec![*x]).collect(),
        _ => SPECIAL.iter().flat_map(|x| SPECIAL.iter().map(|y| vec![*x, *y])).collect(),
    };
    for args in special {
        let right = ieee(fun, DType::F64, &args);
        let wrong = if right.is_nan() { vec![0.0, args[0]] } else { vec![f64::NAN, -right, right + 1.0] };
        let wrong = wrong.into_iter().filter(|x| Value::Float(*x).same(&Value::Float(right)) != Some(true));
        found.extend(wrong.map(|x| Mistake::Special(args.clone(), x)));
    }
    found
}

/// The arguments that reach the row when the first one's sign is lost, or two are exchanged.
fn disturbed(mistake: &Mistake, args: &[f64]) -> Vec<f64> {
    let mut args = args.to_vec();
    match mistake {
        Mistake::Reflected => args[0] = -args[0],
        Mistake::Swapped => args.swap(0, 1),
        _ => {}
    }
    args
}

/// What the mistaken row computes.
fn mistaken(fun: Scalar, dtype: DType, mistake: &Mistake, args: &[f64]) -> f64 {
    let right = || ieee(fun, dtype, &disturbed(mistake, args));
    match mistake {
        Mistake::Other(other) => ieee(*other, dtype, args),
        Mistake::Negated => -right(),
        Mistake::Reflected | Mistake::Swapped => right(),
        Mistake::Off(at, steps) if *at == dtype => {
            let up = |x, _| ieee(Scalar::Nextafter, dtype, &[x, f64::INFINITY]);
            (0..*steps).fold(right(), up)
        }
        Mistake::Special(at, wrong) if same(at, args) => *wrong,
        Mistake::Off(..) | Mistake::Special(..) => right(),
        Mistake::Textbook(f) => Value::round(f(args[0], args.get(1).copied().unwrap_or(0.0)), dtype),
    }
}

fn same(left: &[f64], right: &[f64]) -> bool {
    left.iter().zip(right).all(|(x, y)| Value::Float(*x).same(&Value::Float(*y)) == Some(true))
}

fn is_noticed(fun: Scalar, mistake: &Mistake) -> bool {
    points(fun).any(|point| {
        let dtypes = FLOATS.into_iter().filter(|dtype| point.is_exact_in(*dtype));
        dtypes.into_iter().any(|dtype| !point.allows(mistaken(fun, dtype, mistake, &point.args), dtype))
    })
}

#[test]
fn a_mistaken_elementary_row_is_noticed() {
    let (mut count, mut wrong) = (0, Vec::new());
    for fun in functions() {
        for mistake in mistakes(fun) {
            let noticed = is_noticed(fun, &mistake);
            count += usize::from(noticed);
            if noticed == changes_nothing(fun, &mistake) {
                wrong.push(format!("{fun}, {mistake:?}: noticed {noticed}"));
            }
        }
    }
    println!("{count} mistaken rows are noticed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 1500, "{count} mistaken rows");
}

/// The same in the exact domain, where a mistake is an enclosure of something else.
#[test]
fn a_mistaken_enclosure_is_noticed() {
    let (mut count, mut wrong) = (0, Vec::new());
    for fun in functions() {
        for mistake in confusions(fun) {
            let noticed = points(fun).filter(|point| point.is_of_reals()).any(|point| {
                let args = disturbed(&mistake, &point.args);
                let found = match &mistake {
                    Mistake::Other(other) => exact(*other, &args),
                    _ => exact(fun, &args),
                };
                let found = match (found, &mistake) {
                    (Some(found), Mistake::Negated) => negated(found),
                    (found, _) => found,
                };
                found.as_ref().and_then(|found| point.lies_in(found)) == Some(false)
            });
            count += usize::from(noticed);
            if noticed == changes_nothing(fun, &mistake) {
                wrong.push(format!("{fun}, {mistake:?}: noticed {noticed}"));
            }
        }
    }
    println!("{count} mistaken enclosures are noticed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 700, "{count} mistaken enclosures");
}

fn negated(value: Exact) -> Option<Exact> {
    let negated = Scalar::Neg.eval(Domain::Exact, DType::F64, &[Value::Exact(value)]);
    negated.ok()?.as_exact().cloned()
}
