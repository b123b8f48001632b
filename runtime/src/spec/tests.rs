//! The argument syntax of `rtv run`: literals, files and generators.

use super::*;

fn setting(dtype: Option<DType>) -> Setting {
    Setting { dtype, domain: Domain::Ieee, stream: Stream { seed: 0, number: 1 } }
}

fn value(text: &str) -> Tensor {
    let argument = Argument::parse(&format!("x={text}")).expect(text);
    argument.tensor(&setting(None)).expect(text)
}

fn refused(text: &str) -> Diagnostic {
    match Argument::parse(text).and_then(|argument| argument.tensor(&setting(None))) {
        Ok(tensor) => panic!("{text} gave {tensor:?}"),
        Err(why) => why,
    }
}

fn same(left: &Tensor, right: &Tensor) -> bool {
    left.same(right) == Some(true)
}

#[test]
fn literals_have_the_shape_and_dtype_they_show() {
    let cases = [
        ("[[1.0, 2.0]]", DType::F32, &[1, 2][..]),
        ("3", DType::I64, &[]),
        ("-2.5e-3", DType::F32, &[]),
        ("[inf, -inf, nan, pi]", DType::F32, &[4]),
        ("[1, 2.5]", DType::F32, &[2]),
        ("[[true], [false],]", DType::Bool, &[2, 1]),
        ("[]", DType::F32, &[0]),
        ("[[], []]", DType::F32, &[2, 0]),
        ("[1, 2, 3]@u8", DType::U8, &[3]),
        ("0.1@f16", DType::F16, &[]),
    ];
    for (text, dtype, shape) in cases {
        let tensor = value(text);
        assert_eq!((tensor.dtype, tensor.shape()), (dtype, shape), "{text}");
    }
}

#[test]
fn a_parameters_dtype_decides_unless_the_text_does() {
    let argument = Argument::parse("x=[1, 2]").expect("valid");
    let tensor = argument.tensor(&setting(Some(DType::F64))).expect("valid");
    assert!(same(&tensor, &Tensor::from_f64(DType::F64, &[2], &[1.0, 2.0]).expect("valid")));
    let argument = Argument::parse("x=[1, 2]@i8").expect("valid");
    let tensor = argument.tensor(&setting(Some(DType::F64))).expect("valid");
    assert_eq!(tensor.dtype, DType::I8);
}

#[test]
fn generators_follow_their_rule() {
    let ints =
        |dtype, shape: &[usize], values: &[i64]| Tensor::from_i64(dtype, shape, values).expect("valid");
    assert!(same(&value("arange(3)"), &ints(DType::I64, &[3], &[0, 1, 2])));
    assert!(same(&value("arange(5, 0, -2)"), &ints(DType::I64, &[3], &[5, 3, 1])));
    assert!(same(&value("arange(3, 0)"), &ints(DType::I64, &[0], &[])));
    assert!(same(&value("full([2, 1], -7)"), &ints(DType::I64, &[2, 1], &[-7, -7])));
    assert!(same(&value("ones(2)@i8"), &ints(DType::I8, &[2], &[1, 1])));
    assert_eq!(value("zeros(2, 3)").shape(), [2, 3]);
    assert_eq!(value("zeros([2, 3])").shape(), [2, 3]);
    assert_eq!(value("ones()").shape(), [0usize; 0]);
    assert_eq!(value("full([2], true)").dtype, DType::Bool);
    let draws = value("randint(-1, 2, [100]):3");
    let draws: Vec<i64> = draws.values().filter_map(|v| v.as_int()).collect();
    assert!(draws.len() == 100 && draws.iter().all(|x| (-1..2).contains(x)));
}

#[test]
fn random_arguments_depend_on_seed_and_stream() {
    assert!(same(&value("randn(2, 3):7"), &value("randn([2, 3]):7")));
    assert!(!same(&value("randn(2, 3):7"), &value("randn(2, 3):8")));
    let argument = Argument::parse("x=uniform(8)").expect("valid");
    let draw = |number| {
        let stream = Stream { seed: 0, number };
        argument.tensor(&Setting { stream, ..setting(None) }).expect("valid")
    };
    assert!(same(&draw(1), &draw(1)) && !same(&draw(1), &draw(2)));
}

/// Fixes the bits that `language.md` promises.
#[test]
fn the_first_draws_of_seed_7_never_change() {
    let shown = |text: &str| {
        value(text).values().filter_map(|v| v.as_float()).map(|x| format!("{x:.7}")).collect::<Vec<_>>()
    };
    assert_eq!(shown("uniform(3):7"), FIRST_UNIFORM);
    assert_eq!(shown("randn(3):7"), FIRST_NORMAL);
}

const FIRST_UNIFORM: [&str; 3] = ["0.7501522", "0.0856578", "0.7952840"];
const FIRST_NORMAL: [&str; 3] = ["0.6510652", "0.3886802", "0.6532465"];

#[test]
fn files_are_told_by_their_ending() {
    let source = |text: &str| Argument::parse(text).expect(text).source;
    let file =
        |path: &str, key: Option<&str>| Source::File { path: path.into(), key: key.map(str::to_string) };
    assert_eq!(source("x=data.npy"), file("data.npy", None));
    assert_eq!(source("x=3.npy@f16"), file("3.npy", None));
    assert_eq!(source("x=a/b.npz:key"), file("a/b.npz", Some("key")));
    assert_eq!(source("x=w.safetensors:layer.0.npy"), file("w.safetensors", Some("layer.0.npy")));
    assert_eq!(source("x=a=b.npy"), file("a=b.npy", None));
}

#[test]
fn what_is_no_argument_is_a_coded_error() {
    let cases = [
        "x",
        "=3",
        "a b=3",
        "x=",
        "x=[1",
        "x=[1]]",
        "x=[[1], [2, 3]]",
        "x=[[1], 2]",
        "x=[1, [2]]",
        "x=1 2",
        "x=\"mean\"",
        "x=\"mean",
        "x=foo",
        "x=300@u8",
        "x=1.5@i64",
        "x=true@f32",
        "x=randn(-1)",
        "x=randn(2):x",
        "x=zeros(2):3",
        "x=randn(2.5)",
        "x=random(2)",
        "x=randint(3, 3, [2])",
        "x=randint(0, 3)",
        "x=arange(0, 5, 0)",
        "x=randn(2)@i64",
        "x=randn(99999999999)",
        "x=zeros(4294967296, 4294967296, 4294967296)",
        "x=arange(-9223372036854775808, 9223372036854775807)",
        "x=data.npx",
        "x=3@f23",
        "x=\u{1b}[2J",
    ];
    for text in cases {
        let why = refused(text);
        assert_eq!(why.code, BAD_ARGUMENT, "{text}: {}", why.message);
        assert!(!why.message.contains('\u{1b}'));
    }
    let deep = format!("x={}", "[".repeat(100_000));
    assert_eq!(refused(&deep).code, BAD_ARGUMENT);
    assert_eq!(refused("x=missing.npy").code, io::UNREADABLE);
}

#[test]
fn the_exact_domain_sees_decimals_as_written() {
    let argument = Argument::parse("x=0.1").expect("valid");
    let exact = Setting { domain: Domain::Exact, ..setting(Some(DType::F32)) };
    let tensor = argument.tensor(&exact).expect("valid");
    let tenth = Value::literal("0.1", DType::F32, Domain::Exact).expect("valid");
    assert_eq!(tensor.values().next().and_then(|v| v.same(&tenth)), Some(true));
}
