//! Steps that look at indices: comparisons of them, and checks at which a run can fail.

use rtv_semantics::dtype::DType;

use crate::loops::SiteId;

use super::access::{widen, width};
use super::block::Machine;
use super::lanes::{lanes_mut, lanes_of};
use super::pass::{Address, Binary, Buffer, Check, Lane, Src};

/// What a load reads into which register.
#[derive(Clone, Copy)]
pub(super) struct Loaded {
    pub dst: u32,
    pub buffer: Buffer,
    pub dtype: DType,
}

/// The lanes at which all checks hold are loaded, the others are 0.
#[inline(never)]
pub(super) unsafe fn load_checked(
    m: &mut Machine,
    what: Loaded,
    address: &Address,
    checks: &[Check],
    mask: Option<Src>,
    lanes: usize,
) {
    let (mut first, mut end) = (0i64, lanes as i64);
    for check in checks {
        let (base, factor) = m.address(&check.index);
        let (from, to) = inside(base, factor, check.extent);
        if from > 0 || to < lanes as i64 {
            for lane in (0..lanes as i64).filter(|lane| *lane < from || *lane >= to) {
                if masked(m, mask, lane as usize) {
                    m.fail(lane as usize, check.site, base + factor * lane);
                    break;
                }
            }
        }
        (first, end) = (first.max(from), end.min(to));
    }
    let (base, factor) = m.address(address);
    let lane_width = Lane::of(what.dtype).width();
    let own = m.own(what.dst);
    // SAFETY: the caller's; the lanes that are read were checked.
    unsafe {
        std::ptr::write_bytes(own, 0, lanes * lane_width);
        if first < end {
            let at = base + factor * first;
            let memory = m.buffer(what.buffer).offset(at as isize * width(what.dtype) as isize);
            let into = own.add(first as usize * lane_width);
            widen(into, memory, what.dtype, factor, (end - first) as usize);
        }
    }
    m.set(what.dst, false);
}

/// The lanes at which `base + factor * lane` lies in `0..extent`.
pub(super) fn inside(base: i64, factor: i64, extent: i64) -> (i64, i64) {
    match factor {
        0 if (0..extent).contains(&base) => (0, i64::MAX),
        0 => (0, 0),
        f if f > 0 => {
            let first = if base >= 0 { 0 } else { (-base + f - 1) / f };
            let end = if base >= extent { 0 } else { (extent - base + f - 1) / f };
            (first, end.max(first))
        }
        f => {
            // base - |f| * lane >= 0 and < extent
            let f = -f;
            let first = if base < extent { 0 } else { (base - extent + f) / f };
            let end = if base < 0 { 0 } else { base / f + 1 };
            (first, end.max(first))
        }
    }
}

#[inline(always)]
pub(super) fn masked(m: &Machine, mask: Option<Src>, lane: usize) -> bool {
    mask.is_none_or(|mask| {
        let mask = m.source(mask);
        // SAFETY: a mask is a block of bools.
        unsafe { *mask.pointer.add(if mask.uniform { 0 } else { lane }) != 0 }
    })
}

#[inline(never)]
pub(super) unsafe fn check(
    m: &mut Machine,
    dst: u32,
    index: Src,
    extent: i64,
    site: SiteId,
    mask: Option<Src>,
    lanes: usize,
) {
    let index = m.source(index);
    let uniform = index.uniform;
    let count = if uniform { 1 } else { lanes };
    // SAFETY: the caller's.
    let (own, index) =
        unsafe { (lanes_mut::<i64>(m.own(dst), count), lanes_of::<i64>(index.pointer, count)) };
    let mut good = true;
    for i in 0..count {
        let inside = index[i] as u64 <= (extent - 1).max(0) as u64 && extent > 0;
        own[i] = if inside { index[i] } else { 0 };
        good &= inside;
    }
    if !good {
        for lane in 0..lanes {
            let value = index[if uniform { 0 } else { lane }];
            if !(0..extent).contains(&value) && masked(m, mask, lane) {
                m.fail(lane, site, value);
                break;
            }
        }
    }
    m.set(dst, uniform);
}

#[inline(never)]
pub(super) unsafe fn require(m: &Machine, cond: Src, site: SiteId, mask: Option<Src>, lanes: usize) {
    let cond = m.source(cond);
    for lane in 0..lanes {
        // SAFETY: the caller's.
        let holds = unsafe { *cond.pointer.add(if cond.uniform { 0 } else { lane }) != 0 };
        if !holds && masked(m, mask, lane) {
            m.fail(lane, site, 0);
            break;
        }
    }
}

/// Whether `base + factor * lane` compares to 0 as asked, for each lane; returns whether
/// the first lane stands for all.
pub(super) fn sign(lanes: &mut [u8], fun: Binary, base: i64, factor: i64) -> bool {
    let count = lanes.len() as i64;
    let (first, end, inside) = sign_range(fun, base, factor, count);
    if first >= end || (first == 0 && end == count) {
        lanes[0] = u8::from(inside == (first < end));
        return true;
    }
    lanes.fill(u8::from(!inside));
    lanes[first as usize..end as usize].fill(u8::from(inside));
    false
}

/// How `base + factor * lane` compares to 0 at `count` lanes: those from the first to before
/// the second have the third, the others not.
pub(super) fn sign_range(fun: Binary, base: i64, factor: i64, count: i64) -> (i64, i64, bool) {
    match fun {
        Binary::Ge => at_least_zero(base, factor, count, true),
        Binary::Lt => at_least_zero(base, factor, count, false),
        Binary::Le => at_least_zero(-base, -factor, count, true),
        Binary::Gt => at_least_zero(-base, -factor, count, false),
        _ => {
            let equal = match factor {
                0 if base == 0 => (0, count),
                0 => (0, 0),
                1 | -1 => match base.checked_mul(-factor) {
                    Some(lane) if (0..count).contains(&lane) => (lane, lane + 1),
                    _ => (0, 0),
                },
                f => {
                    let (base, f) = (i128::from(base), i128::from(f));
                    let lane = if base % f == 0 { -base / f } else { -1 };
                    if (0..count.into()).contains(&lane) { (lane as i64, lane as i64 + 1) } else { (0, 0) }
                }
            };
            (equal.0, equal.1, fun == Binary::Eq)
        }
    }
}

/// The lanes at which `base + factor * lane >= 0`, within `0..count`.
pub(super) fn at_least_zero(base: i64, factor: i64, count: i64, inside: bool) -> (i64, i64, bool) {
    let (first, end) = match factor {
        0 => (0, if base >= 0 { count } else { 0 }),
        f if f > 0 => (if base >= 0 { 0 } else { (-base + f - 1) / f }, count),
        f => (0, if base < 0 { 0 } else { base / -f + 1 }),
    };
    let first = first.min(count);
    (first, end.clamp(first, count), inside)
}
