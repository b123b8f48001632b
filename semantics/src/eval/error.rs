//! Errors of evaluation: their class, code, the user's place and the calls around.

use crate::diag::{Code, Diagnostic, Span};
use crate::scalar::Fault;
use crate::size::SizeFault;
use crate::term::ErrorClass;

/// The codes of evaluation errors.
pub mod codes {
    use crate::diag::Code;

    /// An index outside its axis.
    pub const INDEX: Code = Code(601);
    /// A precondition does not hold.
    pub const REQUIRES: Code = Code(602);
    /// Integer division by zero.
    pub const ARITHMETIC: Code = Code(603);
    /// A value outside what a function takes.
    pub const VALUE: Code = Code(604);
    /// A negative extent.
    pub const SHAPE: Code = Code(605);
    /// A variable or size without a value.
    pub const UNBOUND: Code = Code(606);
    /// A backend has no way to run what the reference runs.
    pub const BACKEND: Code = Code(641);
    /// More elements at one time than the limit.
    pub const ELEMENTS: Code = Code(720);
    /// More steps than the limit.
    pub const STEPS: Code = Code(721);
    /// Enclosures overlap, so that a comparison has no known outcome.
    pub const UNDECIDED: Code = Code(722);
    /// Nested deeper than the limit.
    pub const DEPTH: Code = Code(723);
    /// A size or an exact number too large to hold.
    pub const NUMBER: Code = Code(724);
}

/// A call that was being evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub name: String,
    /// Where the call stands.
    pub span: Span,
    /// Types of the arguments with concrete sizes: `f32[2, 3], i64[4]`.
    pub args: String,
    /// An operator of the specification, not a function of the user.
    pub is_op: bool,
}

/// Why a term has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvalError {
    /// The observable class; `None` when a limit was reached or nothing was decided,
    /// which says nothing about the program.
    pub class: Option<ErrorClass>,
    pub code: Code,
    pub message: String,
    /// The innermost place in the user's text; operators count as one step.
    pub span: Span,
    /// Calls around the failure, innermost first.
    pub trace: Vec<Frame>,
}

/// Evaluation passes errors through many frames; boxed they cost little there.
pub(super) type Res<T> = Result<T, Box<EvalError>>;

pub(super) fn error<T>(
    class: Option<ErrorClass>,
    code: Code,
    span: Span,
    message: impl Into<String>,
) -> Res<T> {
    let message = message.into();
    Err(Box::new(EvalError { class, code, message, span, trace: Vec::new() }))
}

pub(super) fn from_fault(fault: Fault, span: Span) -> Box<EvalError> {
    let (class, code, message) = match fault {
        Fault::Arithmetic(text) => (Some(ErrorClass::Arithmetic), codes::ARITHMETIC, text),
        Fault::Value(text) => (Some(ErrorClass::Value), codes::VALUE, text),
        Fault::Limit(text) => (None, codes::NUMBER, text),
        Fault::Undecided(text) => (None, codes::UNDECIDED, format!("not decided: {text}")),
    };
    Box::new(EvalError { class, code, message, span, trace: Vec::new() })
}

pub(super) fn from_size_fault<T>(fault: SizeFault, span: Span) -> Res<T> {
    match fault {
        SizeFault::Unbound(sym) => {
            error(None, codes::UNBOUND, span, format!("no value for `{}`", sym.name()))
        }
        SizeFault::DivisionByZero => {
            error(Some(ErrorClass::Arithmetic), codes::ARITHMETIC, span, "size divided by zero")
        }
        SizeFault::Overflow => error(None, codes::NUMBER, span, "a size exceeds 127 bits"),
    }
}

impl EvalError {
    /// The error as seen from outside a call: what happens inside an operator is
    /// reported at the call.
    pub(super) fn through(mut self: Box<Self>, frame: Frame) -> Box<EvalError> {
        if frame.is_op {
            self.span = frame.span;
        }
        self.trace.push(frame);
        self
    }

    /// Whether a limit of the evaluation was reached, so that trying another way of
    /// evaluating is pointless.
    pub(super) fn is_exhaustion(&self) -> bool {
        self.code == codes::STEPS
    }

    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, self.span, self.message.clone());
        // The operator the user wrote is the outermost of those around the failure.
        let ops = self.trace.iter().take_while(|f| f.is_op);
        if let Some(op) = ops.last() {
            diagnostic = diagnostic.here(format!("in `{}({})`", op.name, op.args));
        }
        for call in self.trace.iter().filter(|f| !f.is_op) {
            diagnostic = diagnostic.label(call.span, format!("in `{}({})`", call.name, call.args));
        }
        match help(self.code) {
            Some(text) => diagnostic.help(text),
            None => diagnostic,
        }
    }
}

fn help(code: Code) -> Option<&'static str> {
    match code {
        codes::ELEMENTS => Some("use smaller sizes"),
        codes::STEPS => Some("use smaller sizes"),
        codes::BACKEND => Some("`--backend ref` runs every program"),
        codes::DEPTH => Some("split the expression with `let`"),
        _ => None,
    }
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match self.trace.first() {
            Some(frame) => write!(f, " in `{}({})`", frame.name, frame.args),
            None => Ok(()),
        }
    }
}

impl std::error::Error for EvalError {}
