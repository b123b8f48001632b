//! Layout: a document says where lines may break, rendering breaks the outermost groups
//! that do not fit.

use std::borrow::Cow;

/// Columns of a line.
const WIDTH: usize = 100;
/// Columns of one level.
const INDENT: usize = 2;

#[derive(Debug)]
pub(crate) enum Doc {
    Text(Cow<'static, str>),
    /// A blank, or a line break where its group is broken.
    Line,
    /// Nothing, or a line break where its group is broken.
    SoftLine,
    /// Always a line break.
    HardLine,
    /// Text only where its group is broken.
    IfBroken(&'static str),
    Concat(Vec<Doc>),
    /// Lines inside are one level deeper.
    Nest(Box<Doc>),
    /// Broken as a whole: all its lines or none, unless nested in groups of their own.
    Group(Box<Doc>),
    /// A group that is flat only where the whole rest of its line is flat too: it breaks
    /// rather than the groups after it.
    First(Box<Doc>),
    /// A group that is broken even where it fits.
    Broken(Box<Doc>),
}

impl Doc {
    pub(crate) fn text(text: impl Into<Cow<'static, str>>) -> Doc {
        Doc::Text(text.into())
    }

    pub(crate) fn nest(docs: Vec<Doc>) -> Doc {
        Doc::Nest(Box::new(Doc::Concat(docs)))
    }

    pub(crate) fn group(docs: Vec<Doc>) -> Doc {
        Doc::Group(Box::new(Doc::Concat(docs)))
    }

    pub(crate) fn first(docs: Vec<Doc>) -> Doc {
        Doc::First(Box::new(Doc::Concat(docs)))
    }

    pub(crate) fn broken(docs: Vec<Doc>) -> Doc {
        Doc::Broken(Box::new(Doc::Concat(docs)))
    }

    /// The parts with `, ` or a comma and a line break between them.
    pub(crate) fn commas(parts: Vec<Doc>) -> Doc {
        let mut docs = Vec::with_capacity(parts.len() * 3);
        for part in parts {
            if !docs.is_empty() {
                docs.extend([Doc::text(","), Doc::Line]);
            }
            docs.push(part);
        }
        Doc::Concat(docs)
    }

    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        let mut column = 0;
        let mut work = vec![Step { level: 0, broken: true, doc: self }];
        while let Some(Step { level, broken, doc }) = work.pop() {
            match doc {
                Doc::Text(text) => push_text(&mut out, &mut column, level, text),
                Doc::IfBroken(text) if broken => push_text(&mut out, &mut column, level, text),
                Doc::IfBroken(_) => {}
                Doc::Line if !broken => push_text(&mut out, &mut column, level, " "),
                Doc::SoftLine if !broken => {}
                Doc::Line | Doc::SoftLine | Doc::HardLine => {
                    out.push('\n');
                    column = 0;
                }
                Doc::Concat(docs) => work.extend(docs.iter().rev().map(|doc| Step { level, broken, doc })),
                Doc::Nest(doc) => work.push(Step { level: level + 1, broken, doc }),
                Doc::Broken(doc) => work.push(Step { level, broken: true, doc }),
                Doc::Group(inside) | Doc::First(inside) if !broken => {
                    work.push(Step { level, broken, doc: inside });
                }
                Doc::Group(inside) | Doc::First(inside) => {
                    let start = if column == 0 { level * INDENT } else { column };
                    let flat = Step { level, broken: false, doc: inside };
                    let rest_flat = matches!(doc, Doc::First(_));
                    let broken = !fits(WIDTH.saturating_sub(start), flat, &work, rest_flat);
                    let doc = inside;
                    work.push(Step { level, broken, doc });
                }
            }
        }
        out
    }
}

#[derive(Clone, Copy)]
struct Step<'a> {
    level: usize,
    broken: bool,
    doc: &'a Doc,
}

/// Indentation is written with the first text of a line, so that empty lines stay empty.
fn push_text(out: &mut String, column: &mut usize, level: usize, text: &str) {
    if *column == 0 {
        *column = level * INDENT;
        out.extend(std::iter::repeat_n(' ', *column));
    }
    out.push_str(text);
    *column += text.chars().count();
}

/// Whether `first` without breaks fits in `room` together with what follows it, up to where
/// that can break; with `rest_flat`, up to where that must break.
fn fits(mut room: usize, first: Step<'_>, rest: &[Step<'_>], rest_flat: bool) -> bool {
    let mut work = vec![first];
    let mut later = rest.iter().rev();
    loop {
        let Some(step) = work.pop().or_else(|| later.next().copied()) else { return true };
        let needed = match step.doc {
            Doc::Text(text) => text.chars().count(),
            Doc::Line | Doc::SoftLine if step.broken => return true,
            Doc::Line => 1,
            Doc::SoftLine => 0,
            Doc::HardLine => return step.broken,
            Doc::IfBroken(text) if step.broken => text.len(),
            Doc::IfBroken(_) => 0,
            Doc::Concat(docs) => {
                work.extend(docs.iter().rev().map(|doc| Step { doc, ..step }));
                0
            }
            Doc::Nest(doc) => {
                work.push(Step { doc, ..step });
                0
            }
            Doc::Group(doc) | Doc::First(doc) => {
                work.push(Step { doc, broken: step.broken && !rest_flat, ..step });
                0
            }
            Doc::Broken(_) if !step.broken || rest_flat => return false,
            Doc::Broken(doc) => {
                work.push(Step { doc, ..step });
                0
            }
        };
        match room.checked_sub(needed) {
            Some(left) => room = left,
            None => return false,
        }
    }
}
