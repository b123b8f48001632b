//! Scalars that depend on nothing.

use super::{Desk, Hand};
use crate::derived::{Fault, Place};
use rtv_semantics::derivation::{Head, Used, Why};
use rtv_semantics::program::Mode;
use rtv_semantics::term::{Form, Lit};

/// The place of what `x` is multiplied by.
fn factor(hand: &Hand<'_>) -> usize {
    hand.at(&[1])
}

#[test]
fn a_scalar_of_literals_is_one() {
    let desk = Desk::new();
    let mut hand = desk.hand("scaled");
    let of = factor(&hand);
    let literal = hand.built(Head::Constant { of }, Vec::new());
    let line = hand.line(of, literal, Why::Constant);
    let whole = hand.built(Head::Source(Vec::new()), vec![hand.at(&[0]), literal]);
    hand.line(hand.root, whole, Why::Parts(vec![None, Some(Used { line, forward: true })]));
    for mode in [Mode::Exact, Mode::Reassoc, Mode::Real] {
        let term = hand.accepted(mode);
        let Form::Call(_, args) = term.form() else { panic!("a product") };
        assert!(matches!(args[1].form(), Form::Lit(Lit::Decimal(text)) if **text == *"1.5"), "{:?}", args[1]);
    }
    // It is no other term.
    hand.derivation.lines[line].right = hand.at(&[0]);
    hand.refused(Mode::Exact, Place::Line(line), Fault::NotTheConstant);
}

#[test]
fn what_rounds_or_is_computed_from_values_is_no_constant() {
    let desk = Desk::new();
    let mut hand = desk.hand("a_third");
    let of = factor(&hand);
    let count = hand.built(Head::Constant { of }, Vec::new());
    for mode in [Mode::Exact, Mode::Real] {
        hand.refused(mode, Place::Term(count), Fault::Constant);
    }
    for other in [hand.at(&[0]), hand.root] {
        hand.derivation.terms[count].head = Head::Constant { of: other };
        hand.refused(Mode::Exact, Place::Term(count), Fault::Constant);
    }
    hand.derivation.terms[count].head = Head::Constant { of: count };
    hand.refused(Mode::Exact, Place::Term(count), Fault::NotBefore("term", count));
}
