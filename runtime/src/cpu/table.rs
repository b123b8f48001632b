//! Functions of the scalar table that are no primitive step.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Scalar, Value};

use crate::loops::SiteId;

use super::block::{Block, Machine};
use super::check::masked;
use super::lanes::{lanes_mut, lanes_of, map1, rounded, vectors};
use super::math::{double, single};
use super::pass::{BLOCK, Lane, Src};

#[inline(always)]
pub(super) unsafe fn map1_done(dst: *mut u8, a: Block, count: usize, f: impl Fn(f32) -> f32) -> bool {
    // SAFETY: the caller's.
    unsafe { map1::<f32, f32>(dst, a, count, f) };
    true
}

/// A function of the scalar table: those of floats to floats are the backend's own.
pub(super) unsafe fn table(
    m: &mut Machine,
    dst: u32,
    fun: Scalar,
    dtype: DType,
    args: &[Src],
    (site, mask): (Option<SiteId>, Option<Src>),
    lanes: usize,
) {
    let blocks: Vec<Block> = args.iter().map(|arg| m.source(*arg)).collect();
    let uniform = blocks.iter().all(|block| block.uniform);
    let count = if uniform { 1 } else { lanes };
    // These round within to their dtype, which the functions of f32 do not know.
    let inner =
        dtype.bits() == 16 && matches!(fun, Scalar::FloorDivide | Scalar::TruncDivide | Scalar::Nextafter);
    // The results of tests are narrower than their arguments.
    let takes = dtype.is_float() && !inner && !fun.row().is_test();
    // SAFETY: the caller's.
    let done = takes && unsafe { elementary(m.own(dst), fun, dtype, &blocks, count) };
    if !done {
        // SAFETY: the caller's.
        unsafe { lane_by_lane(m, dst, fun, dtype, &blocks, count, (site, mask, lanes)) };
    }
    m.set(dst, uniform);
}

vectors! {
    /// Returns whether the function is one of floats to floats.
    pub unsafe fn elementary(dst: *mut u8, fun: Scalar, dtype: DType, args: &[Block], count: usize) -> bool {
        macro_rules! of {
            ($t:ty, $math:ident) => {{
                // SAFETY: the caller's.
                let xs = unsafe { lanes_mut::<$t>(dst, count) };
                // SAFETY: the caller's.
                let fill = |xs: &mut [$t], a: Block| unsafe {
                    if a.uniform {
                        xs.fill(*a.pointer.cast::<$t>());
                    } else {
                        xs.copy_from_slice(lanes_of::<$t>(a.pointer, count));
                    }
                };
                match args {
                    [a] => {
                        fill(xs, *a);
                        $math::unary(fun, xs)
                    }
                    [a, b] => {
                        fill(xs, *a);
                        let mut spread = [0.0; BLOCK];
                        let ys = if b.uniform {
                            fill(&mut spread[..count], *b);
                            &spread[..count]
                        } else {
                            // SAFETY: the caller's.
                            unsafe { lanes_of::<$t>(b.pointer, count) }
                        };
                        $math::binary(fun, xs, ys)
                    }
                    _ => false,
                }
            }};
        }
        // The most frequent ones take their argument from where it is.
        if let ([a], DType::F32) = (args, dtype) {
            // SAFETY: the caller's.
            unsafe {
                match fun {
                    Scalar::Exp => return map1_done(dst, *a, count, single::exp),
                    Scalar::Log => return map1_done(dst, *a, count, single::log),
                    Scalar::Tanh => return map1_done(dst, *a, count, single::tanh),
                    Scalar::Sigmoid => return map1_done(dst, *a, count, single::sigmoid),
                    Scalar::Erf => return map1_done(dst, *a, count, single::erf),
                    _ => {}
                }
            }
        }
        if Lane::of(dtype) == Lane::F64 {
            return of!(f64, double);
        }
        let done = of!(f32, single);
        if done && dtype != DType::F32 {
            // SAFETY: the caller's.
            unsafe { lanes_mut::<f32>(dst, count) }.iter_mut().for_each(|x| *x = rounded(*x, dtype));
        }
        done
    }
}

/// As the reference evaluator does it.
pub(super) unsafe fn lane_by_lane(
    m: &Machine,
    dst: u32,
    fun: Scalar,
    dtype: DType,
    blocks: &[Block],
    count: usize,
    (site, mask, lanes): (Option<SiteId>, Option<Src>, usize),
) {
    let (lane, own) = (Lane::of(dtype), m.own(dst));
    let result = if fun.row().is_test() { Lane::Bool } else { lane };
    for i in 0..count {
        // SAFETY: the caller's.
        let arg = |block: &Block| unsafe { get(lane, block.pointer, if block.uniform { 0 } else { i }) };
        let values: Vec<Value> = blocks.iter().map(|block| arg(block).value(dtype)).collect();
        let value = fun.eval(Domain::Ieee, dtype, &values);
        if value.is_err()
            && let Some(site) = site
        {
            let asked =
                if count == 1 { (0..lanes).any(|lane| masked(m, mask, lane)) } else { masked(m, mask, i) };
            if asked {
                m.fail(i, site, 0);
            }
        }
        // SAFETY: the caller's.
        unsafe { put(result, dtype, own, i, value.map_or(Scalar1::Int(0), |value| Scalar1::of(&value))) };
    }
}

/// One value of any lane.
#[derive(Clone, Copy)]
pub(super) enum Scalar1 {
    Float(f64),
    Int(i64),
}

impl Scalar1 {
    fn float(self) -> f64 {
        match self {
            Scalar1::Float(x) => x,
            Scalar1::Int(i) => i as f64,
        }
    }

    fn value(self, dtype: DType) -> Value {
        match self {
            Scalar1::Float(x) => Value::Float(x),
            Scalar1::Int(i) if dtype == DType::Bool => Value::Bool(i != 0),
            Scalar1::Int(i) => Value::Int(i),
        }
    }

    fn of(value: &Value) -> Scalar1 {
        match value {
            Value::Float(x) => Scalar1::Float(*x),
            Value::Int(i) => Scalar1::Int(*i),
            Value::Bool(truth) => Scalar1::Int(i64::from(*truth)),
            Value::Exact(_) | Value::Field(_) => unreachable!("invariant: the IEEE domain"),
        }
    }
}

pub(super) unsafe fn get(lane: Lane, pointer: *const u8, at: usize) -> Scalar1 {
    // SAFETY: the caller's.
    unsafe {
        match lane {
            Lane::F32 => Scalar1::Float((*pointer.cast::<f32>().add(at)).into()),
            Lane::F64 => Scalar1::Float(*pointer.cast::<f64>().add(at)),
            Lane::I32 => Scalar1::Int((*pointer.cast::<i32>().add(at)).into()),
            Lane::I64 => Scalar1::Int(*pointer.cast::<i64>().add(at)),
            Lane::Bool => Scalar1::Int((*pointer.add(at)).into()),
        }
    }
}

pub(super) unsafe fn put(lane: Lane, dtype: DType, pointer: *mut u8, at: usize, value: Scalar1) {
    // SAFETY: the caller's.
    unsafe {
        match (lane, value) {
            (Lane::F32, value) => *pointer.cast::<f32>().add(at) = Value::round(value.float(), dtype) as f32,
            (Lane::F64, value) => *pointer.cast::<f64>().add(at) = value.float(),
            (Lane::I32, Scalar1::Int(i)) => *pointer.cast::<i32>().add(at) = i as i32,
            (Lane::I64, Scalar1::Int(i)) => *pointer.cast::<i64>().add(at) = i,
            (Lane::Bool, Scalar1::Int(i)) => *pointer.add(at) = i as u8,
            (_, Scalar1::Float(_)) => unreachable!("invariant: a float in lanes of integers"),
        }
    }
}
