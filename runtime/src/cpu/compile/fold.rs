//! Folds: a pass whose code runs step by step, for some lanes of the result at a time.

use rtv_semantics::dtype::DType;

use crate::loops::{Constant, Node, SiteId};

use super::super::pass::{Buffer, Check, Op, Pass, Src};
use super::{Compiler, Home, Place};

impl Compiler<'_> {
    /// A fold: what it has come to is in the array of its result, at the place of the step
    /// before where all states are kept.
    pub(super) fn fold(&mut self) {
        let member = self.kernel.members[0].clone();
        let Node::Fold { axes, state, step, .. } = self.arena().node(member.body).clone() else {
            unreachable!("invariant: a fold")
        };
        self.passes.push(Pass::default());
        let (place, dtype, dst) = (Place::Lanes(0), self.arena().dtype(step), self.register());
        let (buffer, mut address) = (Buffer::Array(member.array), self.own_address(&member));
        let (mut checks, mut mask) = (Vec::new(), None);
        let kept = axes.iter().find(|(axis, _)| member.axes.contains(&Some(*axis)));
        if let Some((axis, _)) = kept {
            let at = self.dim(*axis).expect("invariant: folds run over dimensions");
            address.base -= address.factors[at];
            // Before the first step there is none, and none is asked for.
            let mut index = self.nowhere();
            (index.base, index.factors[at]) = (-1, 1);
            checks.push(Check { index, extent: self.arena().axis_extent(*axis), site: SiteId(0) });
            mask = Some(self.constant(DType::Bool, Constant(0)));
        }
        self.push(place, Op::Load { dst, buffer, dtype, address, checks, mask });
        self.homes.insert(state, Home::Lanes { pass: 0, src: Src::Reg(dst), buffer });
        let src = self.emit(step, place, None);
        let store = self.store(&member, src);
        self.push(place, store);
    }
}
