//! Lines read back as what was written; damaged ones do not read as something else.

use super::*;
use proptest::prelude::*;

use crate::query::Fun;

/// A sort from a number.
fn sort(kind: u8) -> Sort {
    match kind % 6 {
        0 => Sort::Bool,
        1 => Sort::Int,
        2 => Sort::Real,
        3 => Sort::Bits(1 + u32::from(kind)),
        4 => Sort::Float(2 + u32::from(kind) % 3, 11),
        _ => Sort::Opaque(format!("sort {kind}:,%")),
    }
}

/// Adds a node of one kind to a question, with operands chosen by `picks`; what is ill
/// sorted is left out.
fn grow(query: &mut Query, (kind, picks, number): (u8, Vec<u16>, i128)) {
    let nodes: Vec<Id> =
        picks.iter().filter_map(|&p| query.at(usize::from(p) % query.nodes.len().max(1))).collect();
    let funs: Vec<Fun> =
        picks.iter().filter_map(|&p| query.fun_at(usize::from(p) % query.decls.len().max(1))).collect();
    let node = match kind % 10 {
        0 => Node::Bool(number % 2 == 0),
        1 => Node::Int(BigInt::from(number) * BigInt::from(number)),
        2 => Node::Real(BigRational::new(BigInt::from(number), BigInt::from(7 + i64::from(kind)))),
        3 => Node::Bits(BigInt::from(number & 0xff), 8 + u32::from(kind)),
        4 => {
            let domain = picks.iter().take(3).map(|&p| sort(p as u8)).collect();
            let name = format!("f{} |{number}\u{e9}\n%:,", query.decls.len());
            query.declare(&name, domain, sort(kind));
            return;
        }
        5 => match funs.first() {
            Some(fun) => {
                let wanted = query.decls[fun.index()].domain.clone();
                let fits = |sort: &Sort| {
                    (0..query.nodes.len()).filter_map(|k| query.at(k)).find(|id| query.sort(*id) == sort)
                };
                match wanted.iter().map(fits).collect() {
                    Some(args) => Node::Apply(*fun, args),
                    None => return,
                }
            }
            None => return,
        },
        8 => Node::Float((number as f64).to_bits(), 2 + u32::from(kind) % 3, 11),
        9 => Node::Op(Op::FpTo(5, 11), nodes.into_iter().take(1).collect()),
        6 => Node::Op(Op::Extract(u32::from(kind) % 8, 0), nodes.into_iter().take(1).collect()),
        _ => Node::Op(PLAIN[number.unsigned_abs() as usize % PLAIN.len()], nodes),
    };
    query.append(node);
}

fn queries() -> impl Strategy<Value = Query> {
    let node = (any::<u8>(), prop::collection::vec(any::<u16>(), 0..4), any::<i64>().prop_map(i128::from));
    prop::collection::vec(node, 0..60).prop_map(|nodes| {
        let mut query = Query::new();
        nodes.into_iter().for_each(|node| grow(&mut query, node));
        for id in (0..query.nodes.len()).filter_map(|k| query.at(k)).collect::<Vec<_>>() {
            match query.sort(id) {
                Sort::Bool => query.assert(id),
                _ => query.watch(id),
            }
        }
        query
    })
}

fn answers() -> impl Strategy<Value = Answer> {
    let text = ".{0,12}";
    let value = prop_oneof![
        any::<bool>().prop_map(ModelValue::Bool),
        any::<i128>().prop_map(|v| ModelValue::Int(BigInt::from(v) << 70)),
        (any::<i64>(), 1..i64::MAX)
            .prop_map(|(n, d)| ModelValue::Real(BigRational::new(BigInt::from(n), BigInt::from(d)))),
        any::<u64>().prop_map(ModelValue::Bits),
        any::<u64>().prop_map(ModelValue::Float),
        text.prop_map(ModelValue::Other),
    ];
    let reasons = vec![Reason::Timeout, Reason::Rlimit, Reason::Memory, Reason::Crash, Reason::Nonlinear];
    prop_oneof![
        Just(Answer::Unsat),
        prop::collection::vec(value, 0..6).prop_map(Answer::Sat),
        prop::sample::select(reasons).prop_map(Answer::Unknown),
        text.prop_map(|what| Answer::Unknown(Reason::Unsupported(what))),
    ]
}

proptest! {
    #[test]
    fn questions_read_back(query in queries(), number: u64, rlimit: u32, timeout_ms: u32) {
        let budget = Budget { rlimit, timeout_ms };
        let line = question(number, &query, budget);
        prop_assert!(!line.contains('\n'));
        let (read, allowed) = read_question(&line).expect("reads");
        prop_assert_eq!(allowed, budget);
        prop_assert_eq!((&read.nodes, &read.decls), (&query.nodes, &query.decls));
        prop_assert_eq!((&read.asserts, &read.watched), (&query.asserts, &query.watched));
        prop_assert_eq!(read.to_smtlib(), query.to_smtlib());
    }

    #[test]
    fn answers_read_back_for_their_question_only(said in answers(), asked in "[a-z]{0,9}") {
        let line = answer(&asked, &said);
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(read_answer(&asked, &line), Some(said));
        prop_assert_eq!(read_answer(&format!("{asked}x"), &line), None);
    }

    /// A damaged question does not read, or says something else than before.
    #[test]
    fn damage_shows(query in queries(), place: prop::sample::Index, byte in 0x20u8..0x7f) {
        let line = question(7, &query, Budget::PRUNE);
        let at = place.index(line.len());
        let mut bytes = line.clone().into_bytes();
        bytes[at] = byte;
        let damaged = String::from_utf8(bytes).expect("ASCII");
        let _ = read_question(&damaged);
        let _ = read_question(&line[..at]);
        if damaged != line {
            prop_assert_eq!(read_answer(&damaged, &answer(&line, &Answer::Unsat)), None);
        }
    }

    #[test]
    fn no_text_is_taken_for_an_answer(text in ".{0,40}") {
        prop_assert_eq!(read_answer("ask", &text), None);
        prop_assert!(read_question(&text).is_none());
    }
}

#[test]
fn every_operation_has_a_word_of_its_own() {
    let parametric = [Op::Extract(7, 3), Op::SignExt(4), Op::ZeroExt(4), Op::IntToBv(8)];
    for op in PLAIN.into_iter().chain(parametric) {
        assert_eq!(read_op(&op_text(op)), Some(op));
    }
}

#[test]
fn greetings_name_the_version() {
    assert_eq!(greeted(&greeting("Z3 5.4.1.0")), Some("Z3 5.4.1.0"));
    for line in ["", "rtv-solver-3", "rtv-solver-2 5.4.1.0", "hello"] {
        assert_eq!(greeted(line), None);
    }
}
