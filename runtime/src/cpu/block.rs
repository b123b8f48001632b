//! The block interpreter: each step of a pass over a block of lanes, a plain loop that
//! the compiler turns into vectors.
//!
//! The same code is compiled twice, for any machine and for AVX2 with FMA; both give the
//! same bits, since nothing is contracted or reordered.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::loops::Monoid;
use half::{bf16, f16};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Scalar, Value};

use crate::loops::{ArrayId, SiteId};

use super::accumulate;
use super::math::{double, single};
use super::pass::{Address, BLOCK, Binary, Buffer, Check, Lane, Op, Src, Unary};

/// Where a run failed first: kernels run in order, and within one the place counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Failure {
    pub place: u64,
    pub site: SiteId,
    pub value: i64,
}

/// The first failure that any thread met.
#[derive(Default)]
pub struct Failures {
    any: AtomicBool,
    first: Mutex<Option<Failure>>,
}

impl Failures {
    #[cold]
    pub fn report(&self, failure: Failure) {
        let mut first = self.first.lock().unwrap_or_else(|poison| poison.into_inner());
        if first.is_none_or(|known| failure < known) {
            *first = Some(failure);
        }
        self.any.store(true, Ordering::Release);
    }

    pub fn first(&self) -> Option<Failure> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        *self.first.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The arrays of a run, by their number. Kernels write disjoint places from several
/// threads, so these are plain pointers.
#[derive(Clone, Copy)]
pub struct Arrays<'a> {
    pub pointers: &'a [*mut u8],
}

// SAFETY: threads write disjoint elements, and read only what kernels before wrote, or
// what the same thread wrote in the same row.
unsafe impl Send for Arrays<'_> {}
// SAFETY: as above.
unsafe impl Sync for Arrays<'_> {}

impl Arrays<'_> {
    pub fn pointer(&self, array: ArrayId) -> *mut u8 {
        self.pointers[array.0 as usize]
    }
}

/// A register: a block of lanes, or one value for all of them.
#[derive(Clone, Copy)]
pub struct Block {
    pub pointer: *mut u8,
    pub uniform: bool,
}

/// What one thread computes with.
pub struct Machine<'a> {
    pub arrays: Arrays<'a>,
    pub failures: &'a Failures,
    /// `BLOCK` lanes of 8 bytes for each register.
    pub scratch: *mut u8,
    pub registers: Vec<Block>,
    pub slots: Vec<u64>,
    pub rows: Vec<*mut u8>,
    /// The index of each dimension; of the lanes, where the block starts.
    pub index: Vec<i64>,
    pub lane: usize,
    /// The number of the row, for the order of failures.
    pub row: u64,
}

/// A function compiled twice: for AVX2 with FMA, and for any machine.
macro_rules! vectors {
    ($(#[$doc:meta])* $vis:vis unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        #[inline]
        $vis unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            unsafe fn plain($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn avx2($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the caller's.
                unsafe { plain($($arg),*) }
            }

            #[cfg(target_arch = "x86_64")]
            if super::has_avx2() {
                // SAFETY: the features are there; the rest is the caller's.
                return unsafe { avx2($($arg),*) };
            }
            // SAFETY: the caller's.
            unsafe { plain($($arg),*) }
        }
    };
}

/// Runs straight-line code over `lanes` lanes.
///
/// # Safety
/// Addresses lie within their buffers, registers and slots exist: what `compile` gives,
/// with the dimensions in range.
pub unsafe fn run(machine: &mut Machine, code: &[Op], lanes: usize) {
    for op in code {
        // SAFETY: the caller's.
        unsafe { step(machine, op, lanes) }
    }
}

impl Machine<'_> {
    /// The value of an address at the first lane, and what it grows by a lane.
    #[inline(always)]
    pub fn address(&self, address: &Address) -> (i64, i64) {
        let mut sum = address.base;
        for (factor, index) in address.factors.iter().zip(&self.index) {
            sum += factor * index;
        }
        for (slot, factor) in &address.slots {
            sum += factor * self.slots[*slot as usize] as i64;
        }
        (sum, address.factors[self.lane])
    }

    #[inline(always)]
    fn buffer(&self, buffer: Buffer) -> *mut u8 {
        match buffer {
            Buffer::Array(array) => self.arrays.pointer(array),
            Buffer::Row(row) => self.rows[row as usize],
        }
    }

    #[inline(always)]
    pub fn source(&self, src: Src) -> Block {
        match src {
            Src::Reg(reg) => self.registers[reg as usize],
            Src::Slot(slot) => {
                Block { pointer: (&raw const self.slots[slot as usize]).cast_mut().cast(), uniform: true }
            }
        }
    }

    #[inline(always)]
    fn own(&self, reg: u16) -> *mut u8 {
        // SAFETY: scratch has a block for each register.
        unsafe { self.scratch.add(reg as usize * BLOCK * 8) }
    }

    #[inline(always)]
    fn set(&mut self, reg: u16, uniform: bool) {
        self.registers[reg as usize] = Block { pointer: self.own(reg), uniform };
    }

    #[cold]
    fn fail(&self, lane: usize, site: SiteId, value: i64) {
        let place = (self.row << 32) | (self.index[self.lane] as u64 + lane as u64).min(u32::MAX.into());
        self.failures.report(Failure { place, site, value });
    }
}

#[inline(always)]
unsafe fn lanes_of<'a, T>(pointer: *const u8, count: usize) -> &'a [T] {
    // SAFETY: the caller's block has `count` lanes of type T.
    unsafe { std::slice::from_raw_parts(pointer.cast(), count) }
}

#[inline(always)]
unsafe fn lanes_mut<'a, T>(pointer: *mut u8, count: usize) -> &'a mut [T] {
    // SAFETY: the caller's block has `count` lanes of type T.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast(), count) }
}

/// `dst[i] = f(a[i])`. Destination and sources are different blocks.
#[inline(always)]
unsafe fn map1<A: Copy, D>(dst: *mut u8, a: Block, count: usize, f: impl Fn(A) -> D) {
    // SAFETY: the caller's blocks have `count` lanes.
    let (dst, a) = unsafe { (lanes_mut::<D>(dst, count), lanes_of::<A>(a.pointer, count)) };
    for i in 0..count {
        dst[i] = f(a[i]);
    }
}

/// `dst[i] = f(a[i], b[i])`, where a uniform operand has one lane.
#[inline(always)]
unsafe fn map2<A: Copy, D>(dst: *mut u8, a: Block, b: Block, count: usize, f: impl Fn(A, A) -> D) {
    // SAFETY: the caller's blocks have `count` lanes, uniform ones have one.
    unsafe {
        let dst = lanes_mut::<D>(dst, count);
        match (a.uniform && count > 1, b.uniform && count > 1) {
            (false, false) => {
                let (a, b) = (lanes_of::<A>(a.pointer, count), lanes_of::<A>(b.pointer, count));
                for i in 0..count {
                    dst[i] = f(a[i], b[i]);
                }
            }
            (false, true) => {
                let (a, b) = (lanes_of::<A>(a.pointer, count), *b.pointer.cast::<A>());
                for i in 0..count {
                    dst[i] = f(a[i], b);
                }
            }
            (true, false) => {
                let (a, b) = (*a.pointer.cast::<A>(), lanes_of::<A>(b.pointer, count));
                for i in 0..count {
                    dst[i] = f(a, b[i]);
                }
            }
            (true, true) => {
                let value = (*a.pointer.cast::<A>(), *b.pointer.cast::<A>());
                for d in dst {
                    *d = f(value.0, value.1);
                }
            }
        }
    }
}

/// The block as lanes that can all be read: a uniform one is spread into `room`.
#[inline(always)]
unsafe fn spread<T: Copy>(block: Block, room: *mut u8, count: usize) -> *const u8 {
    if !block.uniform || count == 1 {
        return block.pointer;
    }
    // SAFETY: the caller's room has `count` lanes.
    unsafe { lanes_mut::<T>(room, count).fill(*block.pointer.cast::<T>()) };
    room
}

unsafe fn step(m: &mut Machine, op: &Op, lanes: usize) {
    // SAFETY, for all of it: the caller's blocks and addresses.
    unsafe {
        match op {
            Op::Index { dst, address } => {
                let (base, factor) = m.address(address);
                let count = if factor == 0 { 1 } else { lanes };
                let block = lanes_mut::<i64>(m.own(*dst), count);
                for (i, value) in block.iter_mut().enumerate() {
                    *value = base + factor * i as i64;
                }
                m.set(*dst, factor == 0);
            }
            Op::Load { dst, buffer, dtype, address, checks, mask } => {
                if checks.is_empty() {
                    let (base, factor) = m.address(address);
                    load(m, *dst, *buffer, *dtype, base, factor, lanes);
                } else {
                    load_checked(m, op_parts(*dst, *buffer, *dtype), address, checks, *mask, lanes);
                }
            }
            Op::Gather { dst, buffer, dtype, index } => {
                let index = m.source(*index);
                let count = if index.uniform { 1 } else { lanes };
                let index_lanes = lanes_of::<i64>(index.pointer, count);
                gather(m.own(*dst), m.buffer(*buffer), *dtype, index_lanes);
                m.set(*dst, index.uniform);
            }
            Op::Store { buffer, dtype, address, src } => {
                let (base, factor) = m.address(address);
                store(m, *buffer, *dtype, base, factor, m.source(*src), lanes);
            }
            Op::Check { dst, index, extent, site, mask } => {
                check(m, *dst, *index, *extent, *site, *mask, lanes);
            }
            Op::Require { cond, site, mask } => require(m, *cond, *site, *mask, lanes),
            Op::Unary { dst, lane, fun, a } => {
                let a = m.source(*a);
                let count = if a.uniform { 1 } else { lanes };
                unary(m.own(*dst), *lane, *fun, a, count);
                m.set(*dst, a.uniform);
            }
            Op::Binary { dst, lane, fun, a, b } => {
                let (a, b) = (m.source(*a), m.source(*b));
                let uniform = a.uniform && b.uniform;
                let count = if uniform { 1 } else { lanes };
                binary(m.own(*dst), *lane, *fun, a, b, count);
                m.set(*dst, uniform);
            }
            Op::Select { dst, lane, cond, a, b } => {
                let (cond, a, b) = (m.source(*cond), m.source(*a), m.source(*b));
                if cond.uniform {
                    // The block that is chosen, whole: a register keeps it until the end.
                    let chosen = if *cond.pointer != 0 { a } else { b };
                    let count = if chosen.uniform { 1 } else { lanes };
                    std::ptr::copy_nonoverlapping(chosen.pointer, m.own(*dst), count * lane.width());
                    m.set(*dst, chosen.uniform);
                } else {
                    select(m.own(*dst), *lane, cond, a, b, lanes);
                    m.set(*dst, false);
                }
            }
            Op::Cast { dst, from, to, a } => {
                let a = m.source(*a);
                let count = if a.uniform { 1 } else { lanes };
                cast(m.own(*dst), *from, *to, a, count);
                m.set(*dst, a.uniform);
            }
            Op::Narrow { dst, dtype, a } => {
                let a = m.source(*a);
                let count = if a.uniform { 1 } else { lanes };
                narrow(m.own(*dst), *dtype, a, count);
                m.set(*dst, a.uniform);
            }
            Op::Table { dst, fun, dtype, args, site, mask } => {
                table(m, *dst, *fun, *dtype, args, *site, *mask, lanes);
            }
            Op::Save { slot, lane, src } => {
                let value = m.source(*src);
                let mut bits = 0u64;
                std::ptr::copy_nonoverlapping(value.pointer, (&raw mut bits).cast(), lane.width());
                m.slots[*slot as usize] = bits;
            }
        }
    }
}

/// What a load reads into which register.
#[derive(Clone, Copy)]
struct Loaded {
    dst: u16,
    buffer: Buffer,
    dtype: DType,
}

fn op_parts(dst: u16, buffer: Buffer, dtype: DType) -> Loaded {
    Loaded { dst, buffer, dtype }
}

/// Bytes of an element in memory.
#[inline(always)]
pub fn width(dtype: DType) -> usize {
    (dtype.bits() as usize).div_ceil(8)
}

/// Whether the lanes are the bytes in memory.
#[inline(always)]
fn is_plain(dtype: DType) -> bool {
    matches!(dtype, DType::Bool | DType::I32 | DType::I64 | DType::F32 | DType::F64)
}

#[inline(always)]
unsafe fn load(
    m: &mut Machine,
    dst: u16,
    buffer: Buffer,
    dtype: DType,
    base: i64,
    factor: i64,
    lanes: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let memory = m.buffer(buffer).wrapping_offset(base as isize * width(dtype) as isize);
        if is_plain(dtype) && (factor == 1 || factor == 0) {
            // Read where it is.
            m.registers[dst as usize] = Block { pointer: memory, uniform: factor == 0 };
            return;
        }
        let count = if factor == 0 { 1 } else { lanes };
        widen(m.own(dst), memory, dtype, factor, count);
        m.set(dst, factor == 0);
    }
}

vectors! {
    /// Elements of memory, `factor` apart, as lanes.
    pub unsafe fn widen(dst: *mut u8, memory: *const u8, dtype: DType, factor: i64, count: usize) {
        macro_rules! each {
            ($from:ty, $to:ty, $f:expr) => {{
                // SAFETY: the caller's.
                let (dst, from) = unsafe { (lanes_mut::<$to>(dst, count), memory.cast::<$from>()) };
                let convert: fn($from) -> $to = $f;
                if factor == 1 {
                    // SAFETY: the caller's.
                    let from = unsafe { std::slice::from_raw_parts(from, count) };
                    for i in 0..count {
                        dst[i] = convert(from[i]);
                    }
                } else {
                    for (i, d) in dst.iter_mut().enumerate() {
                        // SAFETY: the caller's.
                        *d = convert(unsafe { *from.offset(i as isize * factor as isize) });
                    }
                }
            }};
        }
        match dtype {
            DType::Bool => each!(u8, u8, |x| x),
            DType::U8 => each!(u8, i32, i32::from),
            DType::I8 => each!(i8, i32, i32::from),
            DType::I16 => each!(i16, i32, i32::from),
            DType::I32 => each!(i32, i32, |x| x),
            DType::I64 => each!(i64, i64, |x| x),
            DType::F16 => each!(f16, f32, f16::to_f32),
            DType::BF16 => each!(u16, f32, |x| f32::from_bits(u32::from(x) << 16)),
            DType::F32 => each!(f32, f32, |x| x),
            DType::F64 => each!(f64, f64, |x| x),
        }
    }
}

/// The lanes at which all checks hold are loaded, the others are 0.
#[inline(never)]
unsafe fn load_checked(
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
fn inside(base: i64, factor: i64, extent: i64) -> (i64, i64) {
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
fn masked(m: &Machine, mask: Option<Src>, lane: usize) -> bool {
    mask.is_none_or(|mask| {
        let mask = m.source(mask);
        // SAFETY: a mask is a block of bools.
        unsafe { *mask.pointer.add(if mask.uniform { 0 } else { lane }) != 0 }
    })
}

vectors! {
    unsafe fn gather(dst: *mut u8, memory: *const u8, dtype: DType, index: &[i64]) {
        macro_rules! each {
            ($from:ty, $to:ty, $f:expr) => {{
                // SAFETY: the caller's: each index lies within the array.
                let dst = unsafe { lanes_mut::<$to>(dst, index.len()) };
                let from = memory.cast::<$from>();
                for (d, i) in dst.iter_mut().zip(index) {
                    // SAFETY: as above.
                    *d = $f(unsafe { *from.offset(*i as isize) });
                }
            }};
        }
        match dtype {
            DType::Bool => each!(u8, u8, |x| x),
            DType::U8 => each!(u8, i32, i32::from),
            DType::I8 => each!(i8, i32, i32::from),
            DType::I16 => each!(i16, i32, i32::from),
            DType::I32 => each!(i32, i32, |x| x),
            DType::I64 => each!(i64, i64, |x| x),
            DType::F16 => each!(f16, f32, f16::to_f32),
            DType::BF16 => each!(bf16, f32, bf16::to_f32),
            DType::F32 => each!(f32, f32, |x| x),
            DType::F64 => each!(f64, f64, |x| x),
        }
    }
}

unsafe fn store(m: &Machine, buffer: Buffer, dtype: DType, base: i64, factor: i64, src: Block, lanes: usize) {
    let memory = m.buffer(buffer).wrapping_offset(base as isize * width(dtype) as isize);
    // SAFETY: the caller's.
    unsafe { store_at(memory, dtype, factor, src, lanes) }
}

vectors! {
    unsafe fn store_at(memory: *mut u8, dtype: DType, factor: i64, src: Block, lanes: usize) {
        macro_rules! each {
            ($from:ty, $to:ty, $f:expr) => {{
                let convert: fn($from) -> $to = $f;
                let into = memory.cast::<$to>();
                // SAFETY: the caller's.
                unsafe {
                    if src.uniform {
                        let value = convert(*src.pointer.cast::<$from>());
                        if factor == 1 {
                            std::slice::from_raw_parts_mut(into, lanes).fill(value);
                        } else {
                            // A value of the row is one element.
                            let count = if factor == 0 { 1 } else { lanes };
                            for i in 0..count {
                                *into.offset(i as isize * factor as isize) = value;
                            }
                        }
                    } else if factor == 1 {
                        let (into, from) =
                            (std::slice::from_raw_parts_mut(into, lanes), lanes_of::<$from>(src.pointer, lanes));
                        for i in 0..lanes {
                            into[i] = convert(from[i]);
                        }
                    } else {
                        let from = lanes_of::<$from>(src.pointer, lanes);
                        for i in 0..lanes {
                            *into.offset(i as isize * factor as isize) = convert(from[i]);
                        }
                    }
                }
            }};
        }
        match dtype {
            DType::Bool => each!(u8, u8, |x| x),
            DType::U8 => each!(i32, u8, |x| x as u8),
            DType::I8 => each!(i32, i8, |x| x as i8),
            DType::I16 => each!(i32, i16, |x| x as i16),
            DType::I32 => each!(i32, i32, |x| x),
            DType::I64 => each!(i64, i64, |x| x),
            DType::F16 => each!(f32, f16, f16::from_f32),
            DType::BF16 => each!(f32, u16, bf16_bits),
            DType::F32 => each!(f32, f32, |x| x),
            DType::F64 => each!(f64, f64, |x| x),
        }
    }
}

/// To nearest, ties to even.
#[inline(always)]
fn bf16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if x.is_nan() { 0x7fc0 } else { rounded as u16 }
}

#[inline(never)]
unsafe fn check(
    m: &mut Machine,
    dst: u16,
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
unsafe fn require(m: &Machine, cond: Src, site: SiteId, mask: Option<Src>, lanes: usize) {
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

vectors! {
    unsafe fn unary(dst: *mut u8, lane: Lane, fun: Unary, a: Block, count: usize) {
        macro_rules! float {
            ($t:ty) => {
                match fun {
                    Unary::Neg => map1::<$t, $t>(dst, a, count, |x| -x),
                    Unary::Abs => map1::<$t, $t>(dst, a, count, <$t>::abs),
                    Unary::Sqrt => map1::<$t, $t>(dst, a, count, <$t>::sqrt),
                    Unary::Reciprocal => map1::<$t, $t>(dst, a, count, |x| 1.0 / x),
                    Unary::Floor => map1::<$t, $t>(dst, a, count, <$t>::floor),
                    Unary::Ceil => map1::<$t, $t>(dst, a, count, <$t>::ceil),
                    Unary::Round => map1::<$t, $t>(dst, a, count, <$t>::round_ties_even),
                    Unary::Trunc => map1::<$t, $t>(dst, a, count, <$t>::trunc),
                    Unary::Isnan => map1::<$t, u8>(dst, a, count, |x| u8::from(x.is_nan())),
                    Unary::Isinf => map1::<$t, u8>(dst, a, count, |x| u8::from(x.is_infinite())),
                    Unary::Isfinite => map1::<$t, u8>(dst, a, count, |x| u8::from(x.is_finite())),
                    Unary::Not => unreachable!("invariant: floats have no complement"),
                }
            };
        }
        macro_rules! int {
            ($t:ty) => {
                match fun {
                    Unary::Neg => map1::<$t, $t>(dst, a, count, <$t>::wrapping_neg),
                    Unary::Abs => map1::<$t, $t>(dst, a, count, <$t>::wrapping_abs),
                    Unary::Not => map1::<$t, $t>(dst, a, count, |x| !x),
                    _ => unreachable!("invariant: a function of floats"),
                }
            };
        }
        // SAFETY: the caller's.
        unsafe {
            match lane {
                Lane::F32 => float!(f32),
                Lane::F64 => float!(f64),
                Lane::I32 => int!(i32),
                Lane::I64 => int!(i64),
                Lane::Bool => map1::<u8, u8>(dst, a, count, |x| x ^ 1),
            }
        }
    }
}

vectors! {
    unsafe fn binary(dst: *mut u8, lane: Lane, fun: Binary, a: Block, b: Block, count: usize) {
        macro_rules! test {
            ($t:ty) => {
                match fun {
                    Binary::Eq => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x == y)),
                    Binary::Ne => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x != y)),
                    Binary::Lt => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x < y)),
                    Binary::Le => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x <= y)),
                    Binary::Gt => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x > y)),
                    Binary::Ge => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x >= y)),
                    _ => unreachable!("invariant: no function of these lanes"),
                }
            };
        }
        macro_rules! float {
            ($t:ty) => {
                match fun {
                    Binary::Add => map2::<$t, $t>(dst, a, b, count, |x, y| x + y),
                    Binary::Sub => map2::<$t, $t>(dst, a, b, count, |x, y| x - y),
                    Binary::Mul => map2::<$t, $t>(dst, a, b, count, |x, y| x * y),
                    Binary::Div => map2::<$t, $t>(dst, a, b, count, |x, y| x / y),
                    // NaN if either is; between zeros of two signs the first.
                    Binary::Maximum => {
                        map2::<$t, $t>(dst, a, b, count, |x, y| if x.is_nan() | (x >= y) { x } else { y })
                    }
                    Binary::Minimum => {
                        map2::<$t, $t>(dst, a, b, count, |x, y| if x.is_nan() | (x <= y) { x } else { y })
                    }
                    _ => test!($t),
                }
            };
        }
        macro_rules! int {
            ($t:ty) => {
                match fun {
                    Binary::Add => map2::<$t, $t>(dst, a, b, count, <$t>::wrapping_add),
                    Binary::Sub => map2::<$t, $t>(dst, a, b, count, <$t>::wrapping_sub),
                    Binary::Mul => map2::<$t, $t>(dst, a, b, count, <$t>::wrapping_mul),
                    Binary::Maximum => map2::<$t, $t>(dst, a, b, count, |x, y| if x >= y { x } else { y }),
                    Binary::Minimum => map2::<$t, $t>(dst, a, b, count, |x, y| if x <= y { x } else { y }),
                    Binary::And => map2::<$t, $t>(dst, a, b, count, |x, y| x & y),
                    Binary::Or => map2::<$t, $t>(dst, a, b, count, |x, y| x | y),
                    Binary::Xor => map2::<$t, $t>(dst, a, b, count, |x, y| x ^ y),
                    Binary::FloorDiv => map2::<$t, $t>(dst, a, b, count, |x, y| match y {
                        0 => 0,
                        y => x
                            .wrapping_div_euclid(y)
                            .wrapping_sub(<$t>::from(y < 0 && x.wrapping_rem_euclid(y) != 0)),
                    }),
                    _ => test!($t),
                }
            };
        }
        // SAFETY: the caller's.
        unsafe {
            match lane {
                Lane::F32 => float!(f32),
                Lane::F64 => float!(f64),
                Lane::I32 => int!(i32),
                Lane::I64 => int!(i64),
                Lane::Bool => match fun {
                    Binary::And => map2::<u8, u8>(dst, a, b, count, |x, y| x & y),
                    Binary::Or => map2::<u8, u8>(dst, a, b, count, |x, y| x | y),
                    Binary::Xor => map2::<u8, u8>(dst, a, b, count, |x, y| x ^ y),
                    _ => test!(u8),
                },
            }
        }
    }
}

vectors! {
    unsafe fn select(dst: *mut u8, lane: Lane, cond: Block, a: Block, b: Block, count: usize) {
        macro_rules! each {
            ($t:ty) => {{
                // SAFETY: the caller's.
                unsafe {
                    let (dst, cond) = (lanes_mut::<$t>(dst, count), lanes_of::<u8>(cond.pointer, count));
                    match (a.uniform && count > 1, b.uniform && count > 1) {
                        (false, false) => {
                            let (a, b) = (lanes_of::<$t>(a.pointer, count), lanes_of::<$t>(b.pointer, count));
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a[i] } else { b[i] };
                            }
                        }
                        (false, true) => {
                            let (a, b) = (lanes_of::<$t>(a.pointer, count), *b.pointer.cast::<$t>());
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a[i] } else { b };
                            }
                        }
                        (true, false) => {
                            let (a, b) = (*a.pointer.cast::<$t>(), lanes_of::<$t>(b.pointer, count));
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a } else { b[i] };
                            }
                        }
                        (true, true) => {
                            let (a, b) = (*a.pointer.cast::<$t>(), *b.pointer.cast::<$t>());
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a } else { b };
                            }
                        }
                    }
                }
            }};
        }
        match lane.width() {
            1 => each!(u8),
            4 => each!(u32),
            _ => each!(u64),
        }
    }
}

/// A float as an integer: truncated; NaN and what is out of range is the least i32 (for
/// i64 the least i64), as `rtv_semantics::scalar::cast` fixes it.
#[inline(always)]
fn truncated(x: f64, to: DType) -> i64 {
    let inside = match to {
        DType::I64 => (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x),
        _ => (-2_147_483_649.0 < x) && (x < 2_147_483_648.0),
    };
    match (inside, to) {
        (true, _) => x as i64,
        (false, DType::I64) => i64::MIN,
        (false, _) => i32::MIN.into(),
    }
}

#[inline(always)]
fn wrapped(x: i32, dtype: DType) -> i32 {
    match dtype {
        DType::U8 => i32::from(x as u8),
        DType::I8 => i32::from(x as i8),
        DType::I16 => i32::from(x as i16),
        _ => x,
    }
}

#[inline(always)]
fn rounded(x: f32, dtype: DType) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(x).to_f32(),
        DType::BF16 => f32::from_bits(u32::from(bf16_bits(x)) << 16),
        _ => x,
    }
}

vectors! {
    unsafe fn cast(dst: *mut u8, from: Lane, to: DType, a: Block, count: usize) {
        // SAFETY, for all of it: the caller's.
        unsafe {
            match (from, Lane::of(to)) {
                (Lane::F32, Lane::F64) => map1::<f32, f64>(dst, a, count, f64::from),
                (Lane::F64, Lane::F32) if to == DType::F32 => map1::<f64, f32>(dst, a, count, |x| x as f32),
                (Lane::F64, Lane::F32) => map1::<f64, f32>(dst, a, count, |x| rounded(x as f32, to)),
                (Lane::F32, Lane::I32) => {
                    map1::<f32, i32>(dst, a, count, |x| wrapped(truncated(x.into(), to) as i32, to))
                }
                (Lane::F64, Lane::I32) => {
                    map1::<f64, i32>(dst, a, count, |x| wrapped(truncated(x, to) as i32, to))
                }
                (Lane::F32, Lane::I64) => map1::<f32, i64>(dst, a, count, |x| truncated(x.into(), to)),
                (Lane::F64, Lane::I64) => map1::<f64, i64>(dst, a, count, |x| truncated(x, to)),
                (Lane::F32, Lane::Bool) => map1::<f32, u8>(dst, a, count, |x| u8::from(x != 0.0)),
                (Lane::F64, Lane::Bool) => map1::<f64, u8>(dst, a, count, |x| u8::from(x != 0.0)),
                (Lane::I32, Lane::F32) => map1::<i32, f32>(dst, a, count, |x| rounded(x as f32, to)),
                (Lane::I32, Lane::F64) => map1::<i32, f64>(dst, a, count, f64::from),
                (Lane::I32, Lane::I64) => map1::<i32, i64>(dst, a, count, i64::from),
                (Lane::I32, Lane::Bool) => map1::<i32, u8>(dst, a, count, |x| u8::from(x != 0)),
                (Lane::I64, Lane::F32) => map1::<i64, f32>(dst, a, count, |x| rounded(x as f32, to)),
                (Lane::I64, Lane::F64) => map1::<i64, f64>(dst, a, count, |x| x as f64),
                (Lane::I64, Lane::I32) => map1::<i64, i32>(dst, a, count, |x| wrapped(x as i32, to)),
                (Lane::I64, Lane::Bool) => map1::<i64, u8>(dst, a, count, |x| u8::from(x != 0)),
                (Lane::Bool, Lane::F32) => map1::<u8, f32>(dst, a, count, f32::from),
                (Lane::Bool, Lane::F64) => map1::<u8, f64>(dst, a, count, f64::from),
                (Lane::Bool, Lane::I32) => map1::<u8, i32>(dst, a, count, i32::from),
                (Lane::Bool, Lane::I64) => map1::<u8, i64>(dst, a, count, i64::from),
                (from, to) => unreachable!("invariant: lanes {from:?} to {to:?} need no conversion"),
            }
        }
    }
}

vectors! {
    unsafe fn narrow(dst: *mut u8, dtype: DType, a: Block, count: usize) {
        // SAFETY, for all of it: the caller's.
        unsafe {
            match dtype {
                DType::F16 => map1::<f32, f32>(dst, a, count, |x| rounded(x, DType::F16)),
                DType::BF16 => map1::<f32, f32>(dst, a, count, |x| rounded(x, DType::BF16)),
                DType::U8 => map1::<i32, i32>(dst, a, count, |x| wrapped(x, DType::U8)),
                DType::I8 => map1::<i32, i32>(dst, a, count, |x| wrapped(x, DType::I8)),
                DType::I16 => map1::<i32, i32>(dst, a, count, |x| wrapped(x, DType::I16)),
                _ => unreachable!("invariant: the dtype is as wide as its lanes"),
            }
        }
    }
}

/// A function of the scalar table: those of floats to floats are the backend's own.
#[allow(clippy::too_many_arguments)]
unsafe fn table(
    m: &mut Machine,
    dst: u16,
    fun: Scalar,
    dtype: DType,
    args: &[Src],
    site: Option<SiteId>,
    mask: Option<Src>,
    lanes: usize,
) {
    let blocks: Vec<Block> = args.iter().map(|arg| m.source(*arg)).collect();
    let uniform = blocks.iter().all(|block| block.uniform);
    let count = if uniform { 1 } else { lanes };
    // These round within to their dtype, which the functions of f32 do not know.
    let inner =
        dtype.bits() == 16 && matches!(fun, Scalar::FloorDivide | Scalar::TruncDivide | Scalar::Nextafter);
    // SAFETY: the caller's.
    let done = dtype.is_float() && !inner && unsafe { elementary(m.own(dst), fun, dtype, &blocks, count) };
    if !done {
        // SAFETY: the caller's.
        unsafe { lane_by_lane(m, dst, fun, dtype, &blocks, count, (site, mask, lanes)) };
    }
    m.set(dst, uniform);
}

vectors! {
    /// Returns whether the function is one of floats to floats.
    unsafe fn elementary(dst: *mut u8, fun: Scalar, dtype: DType, args: &[Block], count: usize) -> bool {
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
unsafe fn lane_by_lane(
    m: &Machine,
    dst: u16,
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
enum Scalar1 {
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

unsafe fn get(lane: Lane, pointer: *const u8, at: usize) -> Scalar1 {
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

unsafe fn put(lane: Lane, dtype: DType, pointer: *mut u8, at: usize, value: Scalar1) {
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

/// The lanes of a value that is reduced, spread out if it is uniform.
///
/// # Safety
/// `room` has a block of lanes.
pub unsafe fn lanes_to_reduce(m: &Machine, src: Src, lane: Lane, room: *mut u8, lanes: usize) -> *const u8 {
    let block = m.source(src);
    // SAFETY: the caller's.
    unsafe {
        match lane.width() {
            1 => spread::<u8>(block, room, lanes),
            4 => spread::<u32>(block, room, lanes),
            _ => spread::<u64>(block, room, lanes),
        }
    }
}

vectors! {
    /// Adds a block of lanes to running values: of the row, or of each lane.
    ///
    /// # Safety
    /// `state` has the running values, `lanes` has `count`.
    pub unsafe fn reduce(op: Monoid, lane: Lane, state: *mut u8, lanes: *const u8, count: usize, along: bool) {
        // SAFETY: the caller's.
        unsafe {
            if along {
                accumulate::along(op, lane, state, lanes, count);
            } else {
                accumulate::across(op, lane, state, lanes, count);
            }
        }
    }
}

/// The bits of a reduced value, rounded or wrapped to its dtype.
pub fn narrowed(bits: u64, dtype: DType) -> u64 {
    match Lane::of(dtype) {
        Lane::F32 => rounded(f32::from_bits(bits as u32), dtype).to_bits().into(),
        Lane::I32 => (wrapped(bits as u32 as i32, dtype) as u32).into(),
        Lane::F64 | Lane::I64 | Lane::Bool => bits,
    }
}

/// Writes reduced lanes to an array; `place` is the first element and the distance
/// between two.
///
/// # Safety
/// The elements lie within the array.
pub unsafe fn store_lanes(
    m: &Machine,
    array: ArrayId,
    dtype: DType,
    place: (i64, i64),
    lanes: *mut u8,
    count: usize,
) {
    let src = Block { pointer: lanes, uniform: false };
    // SAFETY: the caller's.
    unsafe { store(m, Buffer::Array(array), dtype, place.0, place.1, src, count) }
}
