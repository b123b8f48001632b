//! Standard output and standard error, of which a reader may have gone away.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use super::Color;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Out,
    Err,
}

/// One of the two, buffered by line for people and by block for programs.
pub struct Stream {
    writer: BufWriter<Box<dyn Write + Send>>,
    terminal: bool,
    colored: bool,
    failed: Option<io::Error>,
}

impl Stream {
    pub fn new(target: Target, color: Color) -> Stream {
        let (writer, terminal): (Box<dyn Write + Send>, bool) = match target {
            Target::Out => (Box::new(io::stdout()), io::stdout().is_terminal()),
            Target::Err => (Box::new(io::stderr()), io::stderr().is_terminal()),
        };
        let colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        Stream { writer: BufWriter::new(writer), terminal, colored, failed: None }
    }

    pub fn colored(&self) -> bool {
        self.colored
    }

    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes without waiting for the end of a line.
    pub fn at_once(&mut self, text: &str) {
        self.text(text);
        if self.failed.is_none() {
            self.failed = self.writer.flush().err();
        }
    }

    pub fn line(&mut self, text: &str) {
        self.text(text);
        self.text("\n");
    }

    /// Writes until the first failure, and nothing after it.
    pub fn text(&mut self, text: &str) {
        if self.failed.is_some() {
            return;
        }
        let mut written = self.writer.write_all(text.as_bytes());
        if self.terminal && text.ends_with('\n') {
            written = written.and_then(|()| self.writer.flush());
        }
        self.failed = written.err();
    }

    /// Writes what is buffered. A failure is returned, unless it is only that nobody
    /// reads on.
    pub fn finish(&mut self) -> Option<String> {
        if self.failed.is_none() {
            self.failed = self.writer.flush().err();
        }
        let why = self.failed.as_ref()?;
        (why.kind() != ErrorKind::BrokenPipe).then(|| rtv_runtime::io::reason(why))
    }
}
