//! Names that mean nothing here: the nearest one that does, other frameworks'
//! spellings, and parts of the language whose meaning is not built yet.

use super::Lower;
use super::shape::ParamKind;
use crate::ast::Ident;
use rtv_semantics::diag::{Code, Diagnostic, Span};

/// What other frameworks call our operators.
const FRAMEWORK_FUNCTIONS: [(&str, &str); 28] = [
    ("concatenate", "concat"),
    ("hstack", "concat"),
    ("tensordot", "einsum"),
    ("power", "pow"),
    ("absolute", "abs"),
    ("negative", "neg"),
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("floordiv", "floor_divide"),
    ("mod", "remainder"),
    ("swapaxes", "transpose"),
    ("expand_dims", "unsqueeze"),
    ("logistic", "sigmoid"),
    ("rms_normalization", "rms_norm"),
    ("reduce_sum", "sum"),
    ("reduce_max", "amax"),
    ("take_along_axis", "gather"),
    ("swish", "silu"),
    ("float", "f32"),
    ("double", "f64"),
    ("half", "f16"),
    ("long", "i64"),
    ("tile", "repeat"),
    ("sdpa", "scaled_dot_product_attention"),
    ("astype", "to"),
    ("cast", "to"),
];

/// What takes a generator after its arguments.
const GENERATOR_FORMS: [(&str, &str); 3] = [
    ("reduce", "reduce(NAME)(e for k in K)"),
    ("scan", "scan(NAME)(e for k in K)"),
    ("fold", "fold(f, init)(e for k in K)"),
];

/// What is written otherwise here than by a call.
const PYTHON_FUNCTIONS: [(&str, &str); 4] = [
    ("len", "write the size, `N`, or `x.shape[0]`"),
    ("print", "delete this line: `rtv replay` shows the value of every step"),
    ("isinstance", "types are declared: `x: f32[N]`"),
    ("enumerate", "write `[.. for i in N]`"),
];

const FRAMEWORK_ARGUMENTS: [(&str, &str); 7] = [
    ("axis", "dim"),
    ("axes", "dim"),
    ("dims", "dim"),
    ("dim", "dims"),
    ("keepdims", "keepdim"),
    ("newshape", "shape"),
    ("a_min", "min"),
];

/// What an element type of another framework is here.
pub(super) fn framework_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "float32" | "float" | "Float" => "write `f32`",
        "float64" | "double" => "write `f64`",
        "float16" | "half" => "write `f16`",
        "bfloat16" => "write `bf16`",
        "int64" | "long" => "write `i64`",
        "int32" => "write `i32`",
        "int" | "integer" => "write `i64` or `i32`",
        "int16" => "write `i16`",
        "int8" => "write `i8`",
        "uint8" => "write `u8`",
        "Tensor" | "tensor" => "write the dtype and the sizes: `f32[N, D]`",
        _ => return None,
    })
}

/// Our name for another framework's argument.
pub(super) fn framework_argument(name: &str) -> Option<&'static str> {
    FRAMEWORK_ARGUMENTS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
}

/// The candidate with the least edit distance, if it is near enough to be meant.
pub(super) fn nearest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Of very short names every other one is near.
    let limit = name.len() / 3;
    candidates
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// A claim about every value of a static parameter.
pub(super) fn static_parameter(name: &str, kind: &ParamKind, span: Span) -> Diagnostic {
    let what = match kind {
        ParamKind::Axis => "axis",
        ParamKind::Axes => "choice of axes",
        ParamKind::Sizes => "list of sizes",
        ParamKind::Bool => "flag",
        ParamKind::Str => "string",
        ParamKind::DType => "dtype",
        _ => "value",
    };
    let message = format!("`{name}` stands for every {what}, which is not supported yet");
    let (message, help) = match kind {
        ParamKind::Bool => {
            (format!("{message}; a tensor is `bool[]`"), format!("for a tensor, write `{name}: bool[]`"))
        }
        _ => (message, "state it for one value".to_string()),
    };
    Diagnostic::error(Code(490), span, message).help(help)
}

impl Lower<'_> {
    pub(super) fn unknown_name(&self, name: &str, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::error(Code(101), span, format!("unknown name `{name}`"));
        match name {
            "True" | "False" => return diagnostic.help(format!("write `{}`", name.to_lowercase())),
            "torch" | "F" | "nn" | "np" | "jnp" | "jax" | "numpy" | "math" | "tf" => {
                return diagnostic.help("names stand without a module: `relu(x)`, `pi`");
            }
            _ => {}
        }
        let known = self.frame.names.iter().map(|(n, _)| n.as_str());
        match nearest(name, known.chain(["inf", "nan", "pi", "none", "all"])) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None if name.chars().next().is_some_and(char::is_uppercase) => {
                diagnostic.help(format!("declare a size variable: `[{name}]` after the name of the item"))
            }
            None => diagnostic.help("define it with `let`, or as a parameter"),
        }
    }

    pub(super) fn unknown_function(&self, name: &Ident) -> Diagnostic {
        let diagnostic = Diagnostic::error(Code(101), name.span, format!("unknown function `{}`", name.name));
        if let Some((_, ours)) = FRAMEWORK_FUNCTIONS.iter().find(|(theirs, _)| *theirs == name.name) {
            return diagnostic.help(format!("it is called `{ours}` here"));
        }
        if let Some((_, help)) = PYTHON_FUNCTIONS.iter().find(|(theirs, _)| *theirs == name.name) {
            return diagnostic.help(*help);
        }
        let known = self.defs.callable();
        match nearest(&name.name, known.iter().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help("`rtv ops` lists the operators"),
        }
    }

    /// Functions of the language whose meaning is not built yet.
    pub(super) fn refused_function(&self, name: &str, span: Span) -> Option<Diagnostic> {
        if let Some((_, form)) = GENERATOR_FORMS.iter().find(|(word, _)| *word == name) {
            let message = format!("`{name}` is written `{form}`");
            return Some(Diagnostic::error(Code(105), span, message));
        }
        let (code, what) = match name {
            "grad" | "vjp" | "jvp" => (590, "derivatives are"),
            "old" | "noalias" | "contiguous" => (390, "storage and aliasing are"),
            "uniform" | "normal" | "randn" | "rand" | "split_key" => (293, "random numbers are"),
            _ if is_in_place(name) && self.defs.overloads(name, false).is_empty() => {
                (390, "in-place operators are")
            }
            _ => return None,
        };
        Some(Diagnostic::error(Code(code), span, format!("`{name}`: {what} not supported yet")))
    }

    pub(super) fn refused_method(&self, name: &Ident) -> Option<Diagnostic> {
        is_in_place(&name.name).then(|| {
            Diagnostic::error(
                Code(390),
                name.span,
                format!("`{}`: in-place operators are not supported yet", name.name),
            )
            .help(format!("write the value: `let y = x.{}(..)`", name.name.trim_end_matches('_')))
        })
    }
}

/// PyTorch's mark of an operator that writes its first argument.
fn is_in_place(name: &str) -> bool {
    name.len() > 1 && name.ends_with('_') && !name.starts_with('_')
}
