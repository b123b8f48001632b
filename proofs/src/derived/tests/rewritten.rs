//! Sizes that are written otherwise than in a rule.

use super::{Desk, Hand};
use crate::derived::{Fault, Place};
use rtv_semantics::program::Mode;
use rtv_semantics::size::Size;
use rtv_semantics::term::{Form, Term};

/// Applies `[x[i] for i in N, j in 4] => ..` at the source, whose index is written as is said, from what stands for
/// `i` and for `j`.
fn columns<'d>(desk: &'d Desk, index: impl Fn(&Size, &Size) -> Size) -> Hand<'d> {
    let mut source = desk.function("columns", None);
    let Form::Comp(binders, body) = source.body.form() else { panic!("a comprehension") };
    let Form::Read(x, _) = body.form() else { panic!("an element") };
    let span = source.body.span();
    let index = index(&Size::sym(&binders[0].sym), &Size::sym(&binders[1].sym));
    let element = Term::read(x.clone(), vec![Term::size(index, span)], span);
    source.body = Term::comp(binders.clone(), element, span);
    let mut hand = desk.hand_of(source);
    let (n, x) = (hand.size("N"), hand.at(&[0]));
    let mut sides = hand.apply("columns_alike", None, vec![n], vec![x]);
    sides.left = hand.root;
    hand.by_rule(&sides);
    hand
}

#[test]
fn sizes_that_are_equal_for_all_indices_in_range_are_the_same() {
    let desk = Desk::new();
    let of = |by: i64, plus: i64| {
        move |i: &Size, j: &Size| {
            let place = &(&i.scale(&4.into()) + j) + &Size::int(plus);
            place.floor_div(&Size::int(by))
        }
    };
    // `j` is below 4.
    columns(&desk, of(4, 0)).accepted(Mode::Exact);
    columns(&desk, |i, j| i + &j.floor_div(&Size::int(4))).accepted(Mode::Exact);
    // At `j = 3` this is the next element, and that one is another from `i = 1` on.
    for wrong in [columns(&desk, of(4, 1)), columns(&desk, of(5, 0)), columns(&desk, |_, j| j.clone())] {
        wrong.refused(Mode::Exact, Place::Line(0), Fault::Sides);
    }
}

#[test]
fn a_quotient_by_what_may_be_zero_is_not_taken_for_a_number() {
    let desk = Desk::new();
    // Where `i` is zero there is no quotient, and no least or greatest of it and `i`.
    let by_index = |i: &Size, j: &Size| i.minimum(&i.maximum(&j.floor_div(i)));
    columns(&desk, by_index).refused(Mode::Exact, Place::Line(0), Fault::Sides);
}

#[test]
fn a_literal_that_its_dtype_does_not_hold_is_no_converted_size() {
    let desk = Desk::new();
    let wrapped = |function: &str, n: i64| {
        let mut hand = desk.hand(function);
        let (sizes, x) = (vec![hand.size("N"), Size::int(n)], hand.at(&[0]));
        let mut sides = hand.apply("sizes_wrap", None, sizes, vec![x]);
        sides.left = hand.root;
        hand.by_rule(&sides);
        hand
    };
    wrapped("seven", 7).accepted(Mode::Exact);
    // It is an error, and the conversion is 7.
    wrapped("too_large", 263).refused(Mode::Exact, Place::Line(0), Fault::Sides);
    wrapped("seven", 263).refused(Mode::Exact, Place::Line(0), Fault::Sides);
}
