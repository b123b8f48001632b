//! A program as a graph for Graphviz: an operation a node, an edge for each operand.

use std::collections::BTreeMap;
use std::fmt::Write;

use rtv_semantics::derivation::parts;
use rtv_semantics::program::{Function, Input};
use rtv_semantics::term::{Form, Fun, Term, Var};

/// The text of the graph. The body has a `let` for each operation.
pub fn dot(function: &Function) -> String {
    let mut text = format!("digraph {:?} {{\n", function.name);
    let mut nodes: BTreeMap<Var, usize> = BTreeMap::new();
    for param in &function.params {
        if let Input::Value(var, ty) = &param.input {
            node(&mut text, nodes.len(), &format!("{}: {ty}", param.name), "box");
            nodes.insert(var.clone(), nodes.len());
        }
    }
    let mut rest = &function.body;
    while let Form::Let(var, value, body) = rest.form() {
        let at = nodes.len();
        node(&mut text, at, &format!("{}: {}", label(value), value.ty()), "ellipse");
        edges(&mut text, at, &parts(value), &nodes);
        nodes.insert(var.clone(), at);
        rest = body;
    }
    node(&mut text, nodes.len(), "result", "box");
    edges(&mut text, nodes.len(), std::slice::from_ref(rest), &nodes);
    text.push('}');
    text
}

fn node(text: &mut String, at: usize, label: &str, shape: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  n{at} [label={label:?}, shape={shape}]");
}

fn edges(text: &mut String, to: usize, operands: &[Term], nodes: &BTreeMap<Var, usize>) {
    for operand in operands {
        if let Form::Var(var) = operand.form()
            && let Some(from) = nodes.get(var)
        {
            let _ = writeln!(text, "  n{from} -> n{to}");
        }
    }
}

fn label(value: &Term) -> String {
    match value.form() {
        Form::Call(Fun::Op(instance), _) => instance.name.to_string(),
        Form::Call(Fun::Item(k), _) => format!("component {k}"),
        Form::Tuple(_) => "tuple".to_string(),
        _ => "body".to_string(),
    }
}
