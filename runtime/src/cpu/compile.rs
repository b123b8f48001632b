//! From a kernel of loop nests to passes.

mod calls;
mod fold;

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use crate::backend::Floats;
use crate::loops::{
    Arena, ArrayId, Atom, Axis, Constant, ExprId, Kernel, Lin, Member, Nests, Node, Role, Shape,
};

use super::contract::contract;
use super::pass::{
    Accumulator, Address, Binary, Buffer, Check, Extent, Into, Lane, Nest, Op, Pass, Slot, Src, Unary,
};
use super::primitive::{binary, wide};
use super::registers;
use super::strip;

/// The passes of a kernel of rows or columns, and how many products are contracted.
/// `stored` are the arrays that other kernels or the caller read.
pub fn compile(nests: &Nests, kernel: &Kernel, stored: &BTreeSet<ArrayId>, floats: Floats) -> (Nest, usize) {
    let mut compiler = Compiler::new(nests, kernel, stored);
    match kernel.shape {
        Shape::Columns => compiler.columns(),
        Shape::Fold => compiler.fold(),
        Shape::Rows | Shape::Product | Shape::Whole => compiler.rows(),
    }
    let mut nest = compiler.finish();
    let contracted = if floats == Floats::Fast { contract(&mut nest) } else { 0 };
    registers::merge_dims(&mut nest);
    if kernel.shape == Shape::Fold {
        // A step reads what the one before wrote: nothing else may be written there.
        registers::allocate(&mut nest);
        return (nest, contracted);
    }
    nest.in_place = registers::in_place(&nest);
    registers::direct(&mut nest, &nests.result.arrays());
    registers::tile(&mut nest);
    nest.batched = registers::batch(&nest);
    registers::allocate(&mut nest);
    strip::prepare(nests, &mut nest);
    (nest, contracted)
}

/// Which code is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Once a row, before the pass.
    Before(usize),
    Lanes(usize),
}

/// Where the value of a definition of the same kernel is.
#[derive(Clone, Copy)]
enum Home {
    Slot(Slot),
    /// In a register of a pass, later in a buffer.
    Lanes {
        pass: usize,
        src: Src,
        buffer: Buffer,
    },
}

/// What an expression is worth under a mask, in one piece of code.
type Known = FxHashMap<(ExprId, Option<Src>), Src>;

struct Compiler<'a> {
    nests: &'a Nests,
    kernel: &'a Kernel,
    stored: &'a BTreeSet<ArrayId>,
    /// `None` is a dimension with one index that stands for no axis.
    dims: Vec<Option<Axis>>,
    extents: Vec<Extent>,
    outer: usize,
    lane: usize,
    /// The axes that are run through within a row.
    inner: BTreeSet<Axis>,
    passes: Vec<Pass>,
    after: Vec<Op>,
    slots: Vec<u64>,
    constants: FxHashMap<(Lane, u64), Slot>,
    hoisted: FxHashMap<ExprId, Slot>,
    homes: FxHashMap<ArrayId, Home>,
    /// Values of the code that is being written.
    known: FxHashMap<(usize, bool), Known>,
    next_register: u32,
    rows: Vec<Lane>,
    varying: FxHashMap<ExprId, bool>,
    /// Whether each row has a lane, so that what lanes need may be computed before them.
    never_empty: bool,
}

impl<'a> Compiler<'a> {
    fn new(nests: &'a Nests, kernel: &'a Kernel, stored: &'a BTreeSet<ArrayId>) -> Compiler<'a> {
        let mut dims: Vec<Option<Axis>> = kernel.axes.iter().copied().map(Some).collect();
        let mut outer = kernel.outer;
        let mut extents: Vec<Extent> =
            kernel.axes.iter().map(|axis| Extent::Constant(nests.arena.axis_extent(*axis))).collect();
        let reduces = kernel.members.iter().any(|member| matches!(member.role, Role::Reduce { .. }));
        let across = matches!(kernel.shape, Shape::Columns | Shape::Fold);
        if kernel.shape == Shape::Fold && outer == 0 {
            // One number: a row of one lane.
            dims.insert(0, None);
            extents.insert(0, Extent::Constant(1));
            outer = 1;
        }
        if across || (outer == dims.len() && outer > 0 && !reduces) {
            outer -= 1;
        }
        if dims.is_empty() || outer == dims.len() {
            dims.push(None);
            extents.push(Extent::Constant(1));
        }
        let lane = if across { outer } else { dims.len() - 1 };
        let inner: BTreeSet<Axis> = dims[outer..].iter().flatten().copied().collect();
        let never_empty = kernel.axes.iter().all(|axis| nests.arena.axis_extent(*axis) > 0)
            && kernel.members.iter().all(|member| match &member.role {
                Role::Reduce { extents, .. } => extents.iter().all(|lin| lin.as_constant().is_some()),
                Role::Full | Role::Row => true,
            });
        Compiler {
            nests,
            kernel,
            stored,
            dims,
            extents,
            outer,
            lane,
            inner,
            passes: Vec::new(),
            after: Vec::new(),
            slots: Vec::new(),
            constants: FxHashMap::default(),
            hoisted: FxHashMap::default(),
            homes: FxHashMap::default(),
            known: FxHashMap::default(),
            next_register: 0,
            rows: Vec::new(),
            varying: FxHashMap::default(),
            never_empty,
        }
    }

    fn arena(&self) -> &'a Arena {
        &self.nests.arena
    }

    fn finish(self) -> Nest {
        Nest {
            dims: self.extents,
            outer: self.outer,
            lane: self.lane,
            passes: self.passes,
            after: self.after,
            slots: self.slots,
            registers: 0,
            rows: self.rows,
            in_place: Vec::new(),
            tiled: None,
            batched: None,
        }
    }

    fn columns(&mut self) {
        let member = self.kernel.members[0].clone();
        let Role::Reduce { op, .. } = member.role else { unreachable!("invariant: columns are reduced") };
        self.passes.push(Pass::default());
        let src = self.emit(member.body, Place::Lanes(0), None);
        let address = self.own_address(&member);
        let dtype = self.arena().dtype(member.body);
        let into = Into::Array { array: member.array, address };
        self.passes[0].accumulators.push(Accumulator { op, dtype, src, into });
    }

    fn rows(&mut self) {
        let order = self.schedule();
        let passes = order.iter().map(|(pass, _)| *pass).max().unwrap_or(0) + 1;
        self.passes = vec![Pass::default(); passes];
        for pass in 0..passes {
            // What a row needs once comes first, so that the lanes find it in slots.
            for (_, member) in order.iter().filter(|(at, member)| *at == pass && member.role == Role::Row) {
                self.row_member(member, pass);
            }
            for (_, member) in order.iter().filter(|(at, member)| *at == pass && member.role != Role::Row) {
                self.lane_member(member, pass);
            }
        }
        // A last pass without lanes is what is done after the one before it.
        let last =
            self.passes.last().is_some_and(|pass| pass.code.is_empty() && pass.accumulators.is_empty());
        if last && passes > 1 {
            self.after = self.passes.pop().expect("invariant: several passes").before;
        }
        self.store_reduced();
    }

    /// The pass of each member: after the reductions it needs, with what it reads at the
    /// same index.
    fn schedule(&self) -> Vec<(usize, Member)> {
        let mut pass_of: BTreeMap<ArrayId, (usize, bool)> = BTreeMap::new();
        let mut order = Vec::new();
        for member in &self.kernel.members {
            let mut pass = 0;
            for array in self.nests.loads(member.body) {
                if let Some((at, lanes)) = pass_of.get(&array) {
                    pass = pass.max(if *lanes { *at } else { at + 1 });
                }
            }
            // A value of a row is ready before the lanes of its pass: no pass later.
            pass_of.insert(member.array, (pass, !matches!(member.role, Role::Reduce { .. })));
            order.push((pass, member.clone()));
        }
        order
    }

    fn row_member(&mut self, member: &Member, pass: usize) {
        let place = Place::Before(pass);
        let src = self.emit(member.body, place, None);
        let lane = Lane::of(self.arena().dtype(member.body));
        let slot = self.saved(src, lane, place);
        self.homes.insert(member.array, Home::Slot(slot));
        if self.stored.contains(&member.array) {
            let store = self.store(member, Src::Slot(slot));
            self.push(place, store);
        }
    }

    fn lane_member(&mut self, member: &Member, pass: usize) {
        let place = Place::Lanes(pass);
        let src = self.emit(member.body, place, None);
        let dtype = self.arena().dtype(member.body);
        match &member.role {
            Role::Reduce { op, extents } => {
                let slot = self.slot(0);
                for (at, extent) in extents.iter().enumerate() {
                    if extent.as_constant().is_none() {
                        let address = self.affine(extent, Place::Before(pass), None);
                        let address = address.expect("invariant: what is done once a row has slots");
                        self.extents[self.kernel.outer + at] = Extent::Ragged(address);
                    }
                }
                let into = Into::Slot(slot);
                self.passes[pass].accumulators.push(Accumulator { op: *op, dtype, src, into });
                self.homes.insert(member.array, Home::Slot(slot));
            }
            Role::Full | Role::Row => {
                let stored = self.stored.contains(&member.array);
                let later = self.kernel.members.iter().any(|other| {
                    other.array != member.array && self.nests.loads(other.body).contains(&member.array)
                });
                let buffer = if stored {
                    Buffer::Array(member.array)
                } else if later {
                    self.rows.push(Lane::of(dtype));
                    Buffer::Row(self.rows.len() as u32 - 1)
                } else {
                    // Computed for its checks alone.
                    return;
                };
                self.homes.insert(member.array, Home::Lanes { pass, src, buffer });
                let store = match buffer {
                    Buffer::Array(_) => self.store(member, src),
                    Buffer::Row(_) => {
                        Op::Store { buffer, dtype: wide(dtype), address: self.row_address(), src }
                    }
                };
                self.push(place, store);
            }
        }
    }

    /// Reduced values that are arrays, too, are stored before the next pass.
    fn store_reduced(&mut self) {
        for member in &self.kernel.members {
            if !matches!(member.role, Role::Reduce { .. }) || !self.stored.contains(&member.array) {
                continue;
            }
            let Some(Home::Slot(slot)) = self.homes.get(&member.array).copied() else { continue };
            let store = self.store(member, Src::Slot(slot));
            self.after.push(store);
        }
    }

    fn store(&mut self, member: &Member, src: Src) -> Op {
        let dtype = self.arena().dtype(member.body);
        Op::Store { buffer: Buffer::Array(member.array), dtype, address: self.own_address(member), src }
    }

    /// The place of an element of the member's own array.
    fn own_address(&self, member: &Member) -> Address {
        let mut address = self.nowhere();
        for (axis, stride) in member.axes.iter().zip(self.nests.decl(member.array).strides()) {
            if let Some(at) = axis.and_then(|axis| self.dim(axis)) {
                address.factors[at] += stride;
            }
        }
        address
    }

    /// The place in a row: row-major in the inner dimensions.
    fn row_address(&self) -> Address {
        let mut address = self.nowhere();
        let mut stride = 1;
        for at in (self.outer..self.dims.len()).rev() {
            address.factors[at] = stride;
            if let Extent::Constant(extent) = self.extents[at] {
                stride *= extent;
            }
        }
        address
    }

    fn nowhere(&self) -> Address {
        Address { base: 0, factors: vec![0; self.dims.len()], slots: Vec::new() }
    }

    fn dim(&self, axis: Axis) -> Option<usize> {
        self.dims.iter().position(|dim| *dim == Some(axis))
    }

    fn push(&mut self, place: Place, op: Op) {
        match place {
            Place::Before(pass) => self.passes[pass].before.push(op),
            Place::Lanes(pass) => self.passes[pass].code.push(op),
        }
    }

    fn register(&mut self) -> u32 {
        self.next_register += 1;
        self.next_register - 1
    }

    fn slot(&mut self, value: u64) -> Slot {
        self.slots.push(value);
        self.slots.len() as Slot - 1
    }

    fn saved(&mut self, src: Src, lane: Lane, place: Place) -> Slot {
        if let Src::Slot(slot) = src {
            return slot;
        }
        let slot = self.slot(0);
        self.push(place, Op::Save { slot, lane, src });
        slot
    }

    fn constant(&mut self, dtype: DType, constant: Constant) -> Src {
        let lane = Lane::of(dtype);
        let bits = match lane {
            Lane::F32 => u64::from((constant.float() as f32).to_bits()),
            Lane::F64 | Lane::I64 => constant.0 as u64,
            Lane::I32 => u64::from(constant.0 as i32 as u32),
            Lane::Bool => constant.0 as u64,
        };
        if let Some(slot) = self.constants.get(&(lane, bits)) {
            return Src::Slot(*slot);
        }
        let slot = self.slot(bits);
        self.constants.insert((lane, bits), slot);
        Src::Slot(slot)
    }

    /// Whether the value changes within a row.
    fn varies(&mut self, id: ExprId) -> bool {
        let (arena, inner) = (self.arena(), &self.inner);
        let changes = |id| arena.own_axes(id).iter().any(|axis| inner.contains(axis));
        arena.somewhere(id, &mut self.varying, &changes)
    }

    /// The value of an expression where the mask holds (everywhere, without one).
    fn emit(&mut self, id: ExprId, place: Place, mask: Option<Src>) -> Src {
        if let Node::Constant(dtype, constant) = self.arena().node(id) {
            return self.constant(*dtype, *constant);
        }
        if let Node::Load { array, .. } = self.arena().node(id)
            && let Some(home) = self.homes.get(array).copied()
        {
            return self.at_home(id, home, place);
        }
        let mask = if self.arena().can_fail(id) { mask } else { None };
        if let Place::Lanes(pass) = place
            && self.can_hoist(id, mask)
        {
            return Src::Slot(self.hoist(id, pass, mask));
        }
        let code = self.code(place);
        if let Some(src) = self.known.get(&code).and_then(|known| known.get(&(id, mask))) {
            return *src;
        }
        let src = self.emit_new(id, place, mask);
        self.known.entry(code).or_default().insert((id, mask), src);
        src
    }

    fn code(&self, place: Place) -> (usize, bool) {
        match place {
            Place::Before(pass) => (pass, false),
            Place::Lanes(pass) => (pass, true),
        }
    }

    fn can_hoist(&mut self, id: ExprId, mask: Option<Src>) -> bool {
        if self.inner.is_empty() {
            // A row is one lane: what it reads of the kernel is not there before it.
            return false;
        }
        let safe = !self.arena().can_fail(id) || (self.never_empty && !matches!(mask, Some(Src::Reg(_))));
        safe && !self.varies(id)
    }

    fn hoist(&mut self, id: ExprId, pass: usize, mask: Option<Src>) -> Slot {
        if mask.is_none()
            && let Some(slot) = self.hoisted.get(&id)
        {
            return *slot;
        }
        let place = Place::Before(pass);
        let src = self.emit(id, place, mask);
        let slot = self.saved(src, Lane::of(self.arena().dtype(id)), place);
        if mask.is_none() {
            self.hoisted.insert(id, slot);
        }
        slot
    }

    /// A definition of the same kernel: its slot, its register, or what it stored.
    fn at_home(&mut self, id: ExprId, home: Home, place: Place) -> Src {
        match home {
            Home::Slot(slot) => Src::Slot(slot),
            Home::Lanes { pass, src, .. } if place == Place::Lanes(pass) => src,
            Home::Lanes { buffer, .. } => {
                let code = self.code(place);
                if let Some(src) = self.known.get(&code).and_then(|known| known.get(&(id, None))) {
                    return *src;
                }
                let Node::Load { array, dtype, .. } = self.arena().node(id).clone() else {
                    unreachable!("invariant: a load")
                };
                let (address, dtype) = match buffer {
                    Buffer::Row(_) => (self.row_address(), wide(dtype)),
                    Buffer::Array(_) => {
                        let members = &self.kernel.members;
                        let member = members.iter().find(|member| member.array == array);
                        (self.own_address(member.expect("invariant: a member")), dtype)
                    }
                };
                let dst = self.register();
                self.push(place, Op::Load { dst, buffer, dtype, address, checks: Vec::new(), mask: None });
                self.known.entry(code).or_default().insert((id, None), Src::Reg(dst));
                Src::Reg(dst)
            }
        }
    }

    fn emit_new(&mut self, id: ExprId, place: Place, mask: Option<Src>) -> Src {
        match self.arena().node(id).clone() {
            Node::Constant(dtype, constant) => self.constant(dtype, constant),
            Node::Index(lin) => self.index(&lin, place, mask),
            Node::FloorDiv(a, b) => self.indices(Binary::FloorDiv, &a, &b, place, mask),
            Node::Min(a, b) => self.indices(Binary::Minimum, &a, &b, place, mask),
            Node::Max(a, b) => self.indices(Binary::Maximum, &a, &b, place, mask),
            Node::Product(a, b) => self.indices(Binary::Mul, &a, &b, place, mask),
            Node::Checked { index, extent, site } => {
                let index = self.index(&index, place, mask);
                let dst = self.register();
                self.push(place, Op::Check { dst, index, extent, site, mask });
                Src::Reg(dst)
            }
            Node::Call { fun, dtype: DType::I64, args, .. }
                if self.sign(fun, &args, place, mask).is_some() =>
            {
                let (fun, address) = self.sign(fun, &args, place, mask).expect("invariant: asked above");
                let dst = self.register();
                self.push(place, Op::Sign { dst, fun, address });
                Src::Reg(dst)
            }
            Node::Call { fun, dtype, args, site } => {
                let args = args.iter().map(|arg| self.emit(*arg, place, mask)).collect();
                self.call(fun, dtype, args, site, place, mask)
            }
            Node::Cast { from, to, arg } => {
                let arg = self.emit(arg, place, mask);
                self.cast(from, to, arg, place)
            }
            Node::Load { array, dtype, index } => self.load(array, dtype, &index, place, mask),
            Node::Select { cond, then, otherwise } => {
                let cond = self.emit(cond, place, mask);
                let under =
                    if self.arena().can_fail(then) { Some(self.and(mask, cond, place)) } else { None };
                let a = self.emit(then, place, under);
                let under = if self.arena().can_fail(otherwise) {
                    let not = self.unary(Lane::Bool, Unary::Not, cond, place);
                    Some(self.and(mask, not, place))
                } else {
                    None
                };
                let b = self.emit(otherwise, place, under);
                let (dst, lane) = (self.register(), Lane::of(self.arena().dtype(id)));
                self.push(place, Op::Select { dst, lane, cond, a, b });
                Src::Reg(dst)
            }
            Node::Require { cond, then, site } => {
                let cond = self.emit(cond, place, mask);
                self.push(place, Op::Require { cond, site, mask });
                let under =
                    if self.arena().can_fail(then) { Some(self.and(mask, cond, place)) } else { None };
                self.emit(then, place, under)
            }
            Node::After { first, then } => {
                self.emit(first, place, mask);
                self.emit(then, place, mask)
            }
            Node::Reduce { .. } | Node::Fold { .. } | Node::Whole(_) => {
                unreachable!("invariant: it stands at the top of its definition")
            }
        }
    }

    /// A comparison of integers whose difference runs evenly along the lanes.
    fn sign(
        &mut self,
        fun: Scalar,
        args: &[ExprId],
        place: Place,
        mask: Option<Src>,
    ) -> Option<(Binary, Address)> {
        let fun = binary(fun, DType::I64).filter(|fun| fun.is_test())?;
        let [a, b] = args else { return None };
        let index = |id: &ExprId| matches!(self.arena().node(*id), Node::Index(_));
        if !index(a) && !index(b) {
            return None;
        }
        // Of data only what equals it is asked: a difference may wrap.
        let data = |id: &ExprId| !index(id) && self.arena().as_constant(*id).is_none();
        if (data(a) || data(b)) && !matches!(fun, Binary::Eq | Binary::Ne) {
            return None;
        }
        let (a, b) = (self.arena().as_lin(*a), self.arena().as_lin(*b));
        let address = self.affine(&a.plus(&b, -1).ok()?, place, mask)?;
        Some((fun, address))
    }

    fn and(&mut self, mask: Option<Src>, cond: Src, place: Place) -> Src {
        match mask {
            Some(mask) => self.binary(Lane::Bool, Binary::And, mask, cond, place),
            None => cond,
        }
    }

    fn unary(&mut self, lane: Lane, fun: Unary, a: Src, place: Place) -> Src {
        let dst = self.register();
        self.push(place, Op::Unary { dst, lane, fun, a });
        Src::Reg(dst)
    }

    fn binary(&mut self, lane: Lane, fun: Binary, a: Src, b: Src, place: Place) -> Src {
        let dst = self.register();
        self.push(place, Op::Binary { dst, lane, fun, a, b });
        Src::Reg(dst)
    }

    fn indices(&mut self, fun: Binary, a: &Lin, b: &Lin, place: Place, mask: Option<Src>) -> Src {
        let (a, b) = (self.index(a, place, mask), self.index(b, place, mask));
        self.binary(Lane::I64, fun, a, b, place)
    }

    /// The value of a linear form.
    fn index(&mut self, lin: &Lin, place: Place, mask: Option<Src>) -> Src {
        if let Some(constant) = lin.as_constant() {
            return self.constant(DType::I64, Constant(constant));
        }
        if let Some(address) = self.affine(lin, place, mask) {
            let dst = self.register();
            self.push(place, Op::Index { dst, address });
            return Src::Reg(dst);
        }
        let mut rest = Lin { base: lin.base, terms: Vec::new() };
        let mut parts = Vec::new();
        for (atom, factor) in &lin.terms {
            match atom {
                Atom::Axis(_) => rest.terms.push((*atom, *factor)),
                Atom::Value(value) => {
                    let value = self.emit(*value, place, mask);
                    parts.push(match factor {
                        1 => value,
                        _ => {
                            let factor = self.constant(DType::I64, Constant(*factor));
                            self.binary(Lane::I64, Binary::Mul, value, factor, place)
                        }
                    });
                }
            }
        }
        if rest != Lin::default() {
            parts.push(self.index(&rest, place, mask));
        }
        let sum = parts.into_iter().reduce(|a, b| self.binary(Lane::I64, Binary::Add, a, b, place));
        sum.unwrap_or_else(|| self.constant(DType::I64, Constant(0)))
    }

    /// The linear form as an address, if what it is linear in is known once a row.
    fn affine(&mut self, lin: &Lin, place: Place, mask: Option<Src>) -> Option<Address> {
        let mut address = self.nowhere();
        address.base = lin.base;
        for (atom, factor) in &lin.terms {
            match atom {
                Atom::Axis(axis) => {
                    // An axis that is no dimension has one index.
                    if let Some(at) = self.dim(*axis) {
                        address.factors[at] += factor;
                    }
                }
                Atom::Value(value) => {
                    let slot = self.once(*value, place, mask)?;
                    address.slots.push((slot, *factor));
                }
            }
        }
        Some(address)
    }

    /// The slot of an integer that is the same for the whole row.
    fn once(&mut self, value: ExprId, place: Place, mask: Option<Src>) -> Option<Slot> {
        let mask = if self.arena().can_fail(value) { mask } else { None };
        match place {
            Place::Lanes(pass) => self.can_hoist(value, mask).then(|| self.hoist(value, pass, mask)),
            Place::Before(_) => {
                let src = self.emit(value, place, mask);
                Some(self.saved(src, Lane::I64, place))
            }
        }
    }

    fn load(&mut self, array: ArrayId, dtype: DType, index: &[Lin], place: Place, mask: Option<Src>) -> Src {
        let strides = self.nests.decl(array).strides();
        let dst = self.register();
        let buffer = Buffer::Array(array);
        if let Some((address, checks)) = self.place_of(index, &strides, place, mask) {
            let mask = if checks.is_empty() { None } else { mask };
            self.push(place, Op::Load { dst, buffer, dtype, address, checks, mask });
            return Src::Reg(dst);
        }
        let mut flat = Lin::default();
        for (lin, stride) in index.iter().zip(strides) {
            // What is left out of the sum must still be looked at.
            for value in lin.values().collect::<Vec<_>>() {
                if self.arena().can_fail(value) {
                    self.emit(value, place, mask);
                }
            }
            flat = flat.plus(lin, stride).expect("invariant: offsets lie within the array");
        }
        let index = self.index(&flat, place, mask);
        self.push(place, Op::Gather { dst, buffer, dtype, index });
        Src::Reg(dst)
    }

    /// The place of an element as an address, with the checks that make it one.
    fn place_of(
        &mut self,
        index: &[Lin],
        strides: &[i64],
        place: Place,
        mask: Option<Src>,
    ) -> Option<(Address, Vec<Check>)> {
        let mut flat = Lin::default();
        let mut checks = Vec::new();
        for (lin, stride) in index.iter().zip(strides) {
            let mut plain = Lin { base: lin.base, terms: Vec::new() };
            for (atom, factor) in &lin.terms {
                let term = Lin { base: 0, terms: vec![(*atom, 1)] };
                let inside = match atom {
                    Atom::Value(value) if self.once(*value, place, mask).is_none() => {
                        let Node::Checked { index, extent, site } = self.arena().node(*value).clone() else {
                            return None;
                        };
                        let address = self.affine(&index, place, mask)?;
                        checks.push(Check { index: address, extent, site });
                        index
                    }
                    _ => term,
                };
                plain = plain.plus(&inside, *factor).ok()?;
            }
            flat = flat.plus(&plain, *stride).ok()?;
        }
        Some((self.affine(&flat, place, mask)?, checks))
    }
}
