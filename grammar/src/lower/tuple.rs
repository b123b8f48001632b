//! The closed list of index functions, on extents and index tuples.
//!
//! Each works on lists of sizes; a group (a rank variable taken as one axis) is
//! one entry, and a function that would have to count or split its axes refuses.

use super::value::{Extents, Value};
use super::{Lower, Result, fail};
use crate::ast::{self, Ident};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::term::Term;

/// Names of the index functions, the closed list of the language.
pub(crate) const INDEX_FUNCTIONS: [&str; 18] = [
    "pick",
    "drop",
    "reduced",
    "merge",
    "insert",
    "replace",
    "permute",
    "unpermute",
    "swap",
    "broadcast",
    "expanded",
    "linear",
    "unravel",
    "inside",
    "infer",
    "numel",
    "rank",
    "unit_axes",
];

/// A static choice of axes, not yet counted from a particular rank.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Axes {
    All,
    List(Vec<i64>),
}

impl Lower<'_> {
    /// Whether a call of this name is an index function here: `permute` and
    /// `broadcast` are also operators, told apart by their first argument.
    pub(super) fn is_index_call(&self, name: &str, args: &[Value]) -> bool {
        let on_tuple = |v: Option<&Value>| matches!(v, Some(Value::Tuple(_)));
        INDEX_FUNCTIONS.contains(&name)
            && match name {
                "unravel" => on_tuple(args.get(1)) || matches!(args.get(1), Some(Value::List(_))),
                "inside" => on_tuple(args.first()) || on_tuple(args.get(1)),
                "infer" | "numel" | "rank" => !matches!(args.first(), Some(Value::Term(_))),
                "expanded" => true,
                _ => on_tuple(args.first()),
            }
    }

    pub(super) fn index_call(&mut self, name: &Ident, args: &[Value], span: Span) -> Result<Value> {
        let count = args.len();
        let (least, most) = match name.name.as_str() {
            "numel" | "rank" => (1, 1),
            "reduced" => (2, 3),
            "merge" | "insert" | "replace" | "swap" => (3, 3),
            _ => (2, 2),
        };
        if count < least || count > most {
            return fail(105, span, format!("`{}` takes {most} arguments, {count} given", name.name));
        }
        self.index_function(&name.name, args, span)
    }

    fn index_function(&mut self, name: &str, args: &[Value], span: Span) -> Result<Value> {
        let items = |items: Vec<Size>, like: &Extents| Ok(Value::Tuple(like.like(items)));
        match name {
            "numel" => {
                let shape = self.extents(&args[0], span)?;
                if shape.index {
                    return fail(201, span, "`numel` takes a shape, found an index tuple");
                }
                self.countable(&shape.items, span)?;
                Ok(Value::size(self.as_number(&Size::product(&shape.items))))
            }
            "rank" => {
                let s = self.extents(&args[0], span)?;
                self.known_rank(&s, span)?;
                Ok(Value::size(Size::from(s.items.len() as i64)))
            }
            "pick" => {
                let s = self.extents(&args[0], span)?;
                let dims = self.axes_of(&args[1], &s.items, 0, span)?;
                items(dims.iter().map(|&d| s.items[d].clone()).collect(), &s)
            }
            "drop" => {
                let s = self.extents(&args[0], span)?;
                let dims = self.axes_of(&args[1], &s.items, 0, span)?;
                items(without(&s.items, &dims), &s)
            }
            "reduced" => self.reduced(args, span),
            "merge" => self.merge(args, span),
            "insert" => {
                let s = self.extents(&args[0], span)?;
                let at = self.axes_of(&args[1], &s.items, 1, span)?;
                let [at] = at[..] else { return fail(201, span, "`insert` takes one axis") };
                let mut list = s.items.clone();
                list.insert(at, self.entry(&args[2], span)?);
                items(list, &s)
            }
            "replace" => {
                let s = self.extents(&args[0], span)?;
                let dims = self.places_of(&args[1], &s.items, 0, span)?;
                let mut list = s.items.clone();
                for (k, &d) in dims.iter().enumerate() {
                    let entry = self.component(&args[2], k, dims.len(), span)?;
                    self.as_many(&list[d], &entry, span)?;
                    list[d] = entry;
                }
                items(list, &s)
            }
            "permute" | "unpermute" => self.permuted(name, args, span),
            "swap" => {
                let s = self.extents(&args[0], span)?;
                let a = self.axes_of(&args[1], &s.items, 0, span)?;
                let b = self.axes_of(&args[2], &s.items, 0, span)?;
                let mut list = s.items.clone();
                if let ([a], [b]) = (&a[..], &b[..]) {
                    list.swap(*a, *b);
                }
                items(list, &s)
            }
            "broadcast" => {
                let (a, b) = (self.extents(&args[0], span)?, self.extents(&args[1], span)?);
                if a.index {
                    return Ok(Value::Tuple(a.like(self.broadcast_index(&a.items, &b.items, span)?)));
                }
                Ok(Value::Tuple(Extents::shape(self.broadcast_shapes(&a.items, &b.items, span)?)))
            }
            "expanded" => self.expanded(args, span),
            "linear" => {
                let (i, s) = (self.extents(&args[0], span)?, self.extents(&args[1], span)?);
                self.same_length(&i.items, &s.items, span)?;
                self.aligned(&i.items, &s.items, span)?;
                self.countable(&s.items, span)?;
                let number = i.items.iter().zip(&s.items).fold(Size::zero(), |acc, (i, n)| &(&acc * n) + i);
                Ok(Value::size(number))
            }
            "unravel" => {
                // The row-major number of a group's index is that index: a number here.
                let n = match &args[0] {
                    Value::Size(n, _) => n.clone(),
                    other => self.entry(other, span)?,
                };
                let s = self.extents(&args[1], span)?;
                self.countable(&s.items, span)?;
                Ok(Value::Tuple(Extents { items: self.unravel(&n, &s.items), kept: Vec::new(), index: true }))
            }
            "inside" => self.inside(args, span),
            "infer" => self.infer(args, span),
            "unit_axes" => self.unit_axes(args, span),
            other => fail(101, span, format!("`{other}` is not an index function")),
        }
    }

    /// A list of sizes out of a value that can be one.
    pub(super) fn extents(&self, value: &Value, span: Span) -> Result<Extents> {
        match value {
            Value::Tuple(e) => Ok(e.clone()),
            Value::List(list) => {
                let entry = |v: &Value| match v {
                    Value::Size(s, _) => Ok(s.clone()),
                    other => self.integer(other, span),
                };
                Ok(Extents::shape(list.iter().map(entry).collect::<Result<_>>()?))
            }
            Value::Size(s, _) => Ok(Extents::shape(vec![s.clone()])),
            Value::Poison => Err(super::Stop::Poisoned),
            other => fail(201, span, format!("expected a list of sizes, found {}", other.describe())),
        }
    }

    pub(super) fn integer(&self, value: &Value, span: Span) -> Result<Size> {
        match value {
            Value::Size(s, _) => {
                self.one_axis(s, span)?;
                Ok(s.clone())
            }
            Value::Bool(b) => Ok(Size::from(*b as i64)),
            Value::Poison => Err(super::Stop::Poisoned),
            Value::DType(d) => {
                Err(Diagnostic::error(Code(201), span, format!("expected a size, found the dtype `{d}`"))
                    .help("a size is declared without a class: `[N]`; `[T: int]` declares a dtype")
                    .into())
            }
            other => fail(201, span, format!("expected a size, found {}", other.describe())),
        }
    }

    /// One component for axis `k` of `count`: of a tuple, or one integer for all.
    fn component(&mut self, value: &Value, k: usize, count: usize, span: Span) -> Result<Size> {
        match value {
            Value::Size(_, _) | Value::Term(_) => self.entry(value, span),
            _ => {
                let list = self.extents(value, span)?;
                if list.items.len() != count {
                    let found = list.items.len();
                    return fail(205, span, format!("{count} axes are named, {found} entries given"));
                }
                Ok(list.items[k].clone())
            }
        }
    }

    pub(super) fn same_length(&self, a: &[Size], b: &[Size], span: Span) -> Result<()> {
        if a.len() == b.len() {
            return Ok(());
        }
        fail(205, span, format!("index tuples of {} and {} entries do not match", a.len(), b.len()))
    }

    /// A static choice of axes as a value of kind `axis` or `axes`.
    pub(super) fn axes(&self, value: &Value, span: Span) -> Result<Axes> {
        let one = |v: &Value| match v {
            Value::Size(s, _) => match s.as_i64() {
                Some(k) => Ok(k),
                None => fail(206, span, format!("axis `{s}` is not known here")),
            },
            other => fail(201, span, format!("expected an axis, found {}", other.describe())),
        };
        match value {
            Value::All | Value::None => Ok(Axes::All),
            Value::List(list) => Ok(Axes::List(list.iter().map(one).collect::<Result<_>>()?)),
            Value::Tuple(e) => {
                let list = e.items.iter().map(|s| one(&Value::size(s.clone()))).collect::<Result<_>>()?;
                Ok(Axes::List(list))
            }
            Value::Poison => Err(super::Stop::Poisoned),
            other => Ok(Axes::List(vec![one(other)?])),
        }
    }

    /// Positions in `items` named by `dims`, in axis order; `extra` is 1 where a
    /// new axis may stand behind the last one. At rank 0, axes 0 and -1 are legal
    /// and name nothing.
    pub(super) fn axes_of(
        &self,
        dims: &Value,
        items: &[Size],
        extra: usize,
        span: Span,
    ) -> Result<Vec<usize>> {
        let mut positions = self.places_of(dims, items, extra, span)?;
        positions.sort_unstable();
        Ok(positions)
    }

    /// As [`Self::axes_of`], in the order given.
    fn places_of(&self, dims: &Value, items: &[Size], extra: usize, span: Span) -> Result<Vec<usize>> {
        let list = match self.axes(dims, span)? {
            Axes::All => return Ok((0..items.len()).collect()),
            Axes::List(list) => list,
        };
        let mut positions = Vec::new();
        for axis in list {
            if let Some(position) = self.position(axis, items, extra, span)? {
                if positions.contains(&position) {
                    return fail(209, span, format!("axis {axis} is named twice"));
                }
                positions.push(position);
            }
        }
        Ok(positions)
    }

    /// The entry that an axis number names.
    pub(super) fn position(
        &self,
        axis: i64,
        items: &[Size],
        extra: usize,
        span: Span,
    ) -> Result<Option<usize>> {
        let groups: Vec<usize> = (0..items.len()).filter(|&k| self.is_group_entry(&items[k])).collect();
        let count = (items.len() + extra) as i64;
        let position = if axis < 0 { axis + count } else { axis };
        let known = match (groups.first(), groups.last()) {
            (Some(&first), Some(&last)) => {
                if axis >= 0 {
                    position < first as i64 || (extra == 1 && position == first as i64)
                } else {
                    position - extra as i64 > last as i64 || (extra == 1 && position == last as i64 + 1)
                }
            }
            _ => true,
        };
        if !known {
            let entry = &items[groups[0]];
            let group = rtv_semantics::types::extent_text(self.group_of(entry).unwrap_or(entry));
            return fail(
                211,
                span,
                format!("axis {axis} may lie inside `{group}`, which is any number of axes"),
            );
        }
        if items.is_empty() && extra == 0 && (axis == 0 || axis == -1) {
            return Ok(None);
        }
        if position < 0 || position >= count {
            let (low, high) = (-count, count - 1);
            let range =
                if count == 0 { "a scalar has no axes".into() } else { format!("{low} to {high} are legal") };
            return fail(208, span, format!("axis {axis} is out of range: {range}"));
        }
        Ok(Some(position as usize))
    }

    fn reduced(&mut self, args: &[Value], span: Span) -> Result<Value> {
        let s = self.extents(&args[0], span)?;
        let dims = self.axes_of(&args[1], &s.items, 0, span)?;
        let keep = match args.get(2) {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            Some(other) => return fail(201, span, format!("expected a bool, found {}", other.describe())),
        };
        if !keep {
            return Ok(Value::Tuple(s.like(without(&s.items, &dims))));
        }
        if let Some(&d) = dims.iter().find(|&&d| self.is_many(&s.items[d])) {
            let group = rtv_semantics::types::extent_text(&s.items[d]);
            return fail(211, span, format!("`keepdim` needs the number of axes in `{group}`"));
        }
        let mut items = s.items.clone();
        dims.iter().for_each(|&d| items[d] = Size::one());
        Ok(Value::Tuple(Extents { items, kept: dims, index: s.index }))
    }

    fn merge(&mut self, args: &[Value], span: Span) -> Result<Value> {
        let rest = self.extents(&args[0], span)?.unkept();
        let fill = match &args[1] {
            Value::Size(s, _) => Some(s.clone()),
            _ => None,
        };
        let mut picked = match &args[1] {
            Value::Size(_, _) => Vec::new(),
            other => self.extents(other, span)?.items,
        };
        let count = match (&fill, self.axes(&args[2], span)?) {
            (None, _) => picked.len(),
            (Some(_), Axes::List(list)) => list.len(),
            (Some(_), Axes::All) => return fail(201, span, "`merge` with one integer needs a list of axes"),
        };
        if let Some(value) = fill {
            picked = vec![value; count];
        }
        // Only the number of entries matters to find the places; they are not extents.
        let places = vec![Size::zero(); rest.len() + count];
        let dims = self.axes_of(&args[2], &places, 0, span)?;
        if dims.len() != count {
            return fail(205, span, format!("{} axes are named, {count} entries given", dims.len()));
        }
        let (mut rest, mut picked) = (rest.into_iter(), picked.into_iter());
        let next = |k: usize| if dims.contains(&k) { picked.next() } else { rest.next() };
        let items: Vec<Size> = (0..places.len()).filter_map(next).collect();
        // With the groups in their places, the axes must still be known.
        self.axes_of(&args[2], &items, 0, span)?;
        Ok(Value::Tuple(Extents { items, kept: Vec::new(), index: true }))
    }

    fn permuted(&mut self, name: &str, args: &[Value], span: Span) -> Result<Value> {
        let s = self.extents(&args[0], span)?;
        self.known_rank(&s, span)?;
        let Axes::List(list) = self.axes(&args[1], span)? else {
            return fail(201, span, "`permute` takes a list of axes");
        };
        let mut places = Vec::new();
        for axis in list {
            match self.position(axis, &s.items, 0, span)? {
                Some(p) if !places.contains(&p) => places.push(p),
                Some(_) => return fail(209, span, format!("axis {axis} is named twice")),
                None => return fail(208, span, "a scalar has no axes"),
            }
        }
        if places.len() != s.items.len() {
            let (given, rank) = (places.len(), s.items.len());
            return fail(205, span, format!("a permutation of {rank} axes names all of them, {given} given"));
        }
        let mut items = vec![Size::zero(); places.len()];
        for (k, &p) in places.iter().enumerate() {
            match name {
                "permute" => items[k] = s.items[p].clone(),
                _ => items[p] = s.items[k].clone(),
            }
        }
        Ok(Value::Tuple(s.like(items)))
    }

    /// Row-major digits of `n`: the first needs no remainder, extents of 1 give 0.
    fn unravel(&mut self, n: &Size, extents: &[Size]) -> Vec<Size> {
        let mut items = Vec::new();
        let mut stride = Size::one();
        for (k, extent) in extents.iter().enumerate().rev() {
            let quotient = if stride.is_one() { n.clone() } else { self.quotient(n, &stride) };
            let leading = extents[..k].iter().all(Size::is_one);
            let digit = match (extent.is_one(), leading) {
                (true, _) => Size::zero(),
                (false, true) => quotient,
                (false, false) => &quotient - &(extent * &self.quotient(&quotient, extent)),
            };
            if extent.is_group() {
                self.mark_group_index(&digit, extent);
            }
            items.push(digit);
            stride = &stride * extent;
        }
        items.reverse();
        items
    }

    /// Floor division, simplified by what is known here.
    pub(super) fn quotient(&self, a: &Size, d: &Size) -> Size {
        rtv_semantics::simplify::size(&a.floor_div(d), &self.facts, self.entails)
    }

    /// The other factor of a product: the polynomial one where there is one, which
    /// also holds where the known factor is 0.
    pub(super) fn factor(&self, product: &Size, known: &Size) -> Size {
        product.exact_div(known).unwrap_or_else(|| self.quotient(product, known))
    }

    /// Whether every entry is not negative and below its extent. Of an elaboration about one
    /// axis, what is said of many axes is said of every one.
    fn inside(&mut self, args: &[Value], span: Span) -> Result<Value> {
        let (i, s) = self.paired(args, span)?;
        let within = |pairs: Vec<(&Size, &Size)>| {
            Cond::and(pairs.into_iter().map(|(i, n)| Cond::within(&Size::zero(), i, n)))
        };
        let is_many = |(i, n): &(&Size, &Size)| self.is_group_entry(i) || self.is_group_entry(n);
        let (many, single) = i.iter().zip(&s).partition(|pair| self.is_uniform() && is_many(pair));
        let (many, single) = (within(many), self.condition(within(single), span)?);
        if self.holds(&many) || matches!(single, Value::Bool(false)) {
            return Ok(single);
        }
        let many = self.of_every_axis(&many, span);
        Ok(Value::Term(match single {
            Value::Term(single) => Term::scalar(Scalar::LogicalAnd, vec![single, many], span),
            _ => many,
        }))
    }

    /// Entries and extents that fit each other; a number stands for as many as the other has.
    fn paired(&self, args: &[Value], span: Span) -> Result<(Vec<Size>, Vec<Size>)> {
        let (mut i, mut s) = (self.extents(&args[0], span)?.items, self.extents(&args[1], span)?.items);
        let number = args.iter().position(|arg| matches!(arg, Value::Size(_, _)));
        match number {
            Some(0) => i = vec![i.remove(0); s.len()],
            Some(_) => s = vec![s.remove(0); i.len()],
            None => {}
        }
        self.same_length(&i, &s, span)?;
        // The extents of a rank variable are one number where it is one axis: their product.
        if let Some(many) = i.iter().find(|entry| self.is_opaque(entry) && self.group_of(entry).is_none()) {
            let message = format!("each extent of `{many}` is asked for, which are any number");
            return fail(211, span, message);
        }
        if number.is_none() || !self.is_uniform() {
            self.aligned(&i, &s, span)?;
        }
        Ok((i, s))
    }

    /// A condition on sizes as a value: decided where the facts decide it.
    pub(super) fn condition(&self, cond: Cond, span: Span) -> Result<Value> {
        Ok(match self.decide(&cond) {
            Some(truth) => Value::Bool(truth),
            None => Value::Term(self.cond_term(&cond, span)),
        })
    }

    fn infer(&mut self, args: &[Value], span: Span) -> Result<Value> {
        let (shape, from) = (self.extents(&args[0], span)?, self.extents(&args[1], span)?);
        self.countable(&from.items, span)?;
        self.countable(&shape.items, span)?;
        let total = self.as_number(&Size::product(&from.items));
        let minus_one = Size::from(-1);
        let holes: Vec<usize> = (0..shape.items.len()).filter(|&k| shape.items[k] == minus_one).collect();
        if let Some(bad) = shape
            .items
            .iter()
            .find(|s| **s != minus_one && self.decide(&Cond::le(&Size::zero(), s)) == Some(false))
        {
            return fail(203, span, format!("invalid extent `{bad}`"));
        }
        let mut items = shape.items.clone();
        match holes[..] {
            [] => {}
            [hole] => {
                let known =
                    Size::product(shape.items.iter().enumerate().filter(|(k, _)| *k != hole).map(|(_, s)| s));
                let known = self.as_number(&known);
                if known.is_zero() {
                    return fail(203, span, "-1 is ambiguous: the other extents hold no elements");
                }
                items[hole] = self.quotient(&total, &known);
                if self.decide(&Cond::eq(&(&items[hole] * &known), &total)) == Some(false) {
                    return fail(203, span, format!("{total} elements do not divide into `{known}`"));
                }
            }
            _ => return fail(203, span, "only one extent can be inferred"),
        }
        Ok(Value::Tuple(Extents::shape(items)))
    }

    fn expanded(&mut self, args: &[Value], span: Span) -> Result<Value> {
        let (s, shape) = (self.extents(&args[0], span)?.items, self.extents(&args[1], span)?.items);
        if shape.len() < s.len() {
            return fail(205, span, format!("{} extents are given for {} axes", shape.len(), s.len()));
        }
        let lead = shape.len() - s.len();
        let mut items = Vec::new();
        for (k, want) in shape.iter().enumerate() {
            let have = k.checked_sub(lead).map(|k| &s[k]);
            have.map_or(Ok(()), |have| self.as_many(have, want, span))?;
            items.push(match (have, *want == Size::from(-1)) {
                (Some(have), true) => have.clone(),
                (None, true) => return fail(203, span, "-1 cannot name a new axis"),
                (None, false) => want.clone(),
                (Some(have), false) if self.equal(have, want) => want.clone(),
                (Some(have), false) if have.is_one() && !want.is_group() => want.clone(),
                (Some(have), false) => {
                    return fail(203, span, format!("an axis of `{have}` cannot be expanded to `{want}`"));
                }
            });
        }
        Ok(Value::Tuple(Extents::shape(items)))
    }

    fn unit_axes(&mut self, args: &[Value], span: Span) -> Result<Value> {
        let s = self.extents(&args[0], span)?;
        let dims = self.axes_of(&args[1], &s.items, 0, span)?;
        let mut list = Vec::new();
        for d in dims {
            if self.is_many(&s.items[d]) {
                return fail(211, span, "which axes have extent 1 is not known inside a rank variable");
            }
            match self.decide(&Cond::eq(&s.items[d], &Size::one())) {
                Some(true) => list.push(Value::size(Size::from(d as i64))),
                Some(false) => {}
                None => return fail(206, span, format!("whether `{}` is 1 is not known", s.items[d])),
            }
        }
        Ok(Value::List(list))
    }

    /// `*S`, `*f(..)`, `*(i - lo)` in a shape, index list or binder.
    pub(super) fn splat(&mut self, splat: &ast::Splat) -> Result<Extents> {
        let value = self.expr(&splat.value)?;
        self.extents(&value, splat.span)
    }
}

fn without(items: &[Size], dims: &[usize]) -> Vec<Size> {
    (0..items.len()).filter(|k| !dims.contains(k)).map(|k| items[k].clone()).collect()
}
