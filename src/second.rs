//! A second solver: any program that reads SMT-LIB on its standard input and answers on its
//! standard output, such as `cvc5 --incremental`.
//!
//! It is started at the first question and kept; one that is late, dies or says what is no
//! answer is ended, and its question is open.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rtv_proofs::{Opinion, SecondSolver};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lines that wait to be heard, and the bytes of one.
const MAX_LINES: usize = 64;
const MAX_LINE: u64 = 1 << 16;

/// What it is asked to say after each answer.
const MARK: &str = "rtv-next";

/// A command, and the process of it that runs.
pub struct Second {
    command: Vec<String>,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Second {
    /// `words` are the program and its arguments, between blanks.
    pub fn new(words: &str) -> Second {
        Second { command: words.split_whitespace().map(str::to_string).collect(), running: None }
    }

    fn start(&self) -> Option<Running> {
        let (program, args) = self.command.split_first()?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        // What nobody reads is not read.
        let (sender, lines) = mpsc::sync_channel(MAX_LINES);
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(line) = line(&mut output) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Some(Running { child, input, lines })
    }

    /// Whether it knows what has an answer and what has none.
    pub fn answers(&mut self) -> bool {
        let ask = |second: &mut Second, truth: &str| {
            second.refutes(&format!("(set-logic ALL)\n(assert {truth})\n(check-sat)\n"))
        };
        ask(self, "false") == Opinion::Agrees && ask(self, "true") == Opinion::Disagrees
    }

    /// What the program says to a question, up to the mark.
    fn asked(&mut self, text: &str) -> Option<String> {
        if self.running.is_none() {
            self.running = self.start();
        }
        let running = self.running.as_mut()?;
        // Values are not asked for: after `unsat` there are none.
        let commands = text.lines().filter(|line| !line.starts_with("(get-value"));
        let mut question = String::from("(reset)\n");
        commands.for_each(|line| question.extend([line, "\n"]));
        question.push_str(&format!("(echo \"{MARK}\")\n"));
        running.input.write_all(question.as_bytes()).ok()?;
        running.input.flush().ok()?;
        let (until, mut answer) = (Instant::now() + PATIENCE, None);
        for _ in 0..MAX_LINES {
            let line = running.lines.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
            match line.trim().trim_matches('"') {
                MARK => return answer,
                line => answer = answer.or_else(|| Some(line.to_string())),
            }
        }
        None
    }
}

/// A whole line of bounded length.
fn line(from: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut bytes).ok()?;
    bytes.pop().filter(|end| *end == b'\n')?;
    String::from_utf8(bytes).ok()
}

impl SecondSolver for Second {
    fn refutes(&mut self, text: &str) -> Opinion {
        let said = self.asked(text);
        match said.as_deref() {
            Some("unsat") => Opinion::Agrees,
            Some("sat") => Opinion::Disagrees,
            Some("unknown") => Opinion::Unknown,
            _ => {
                // What else it has to say would be taken for the next answer.
                self.running = None;
                Opinion::Unknown
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of the shell that answers every question so.
    fn saying(answer: &str) -> Second {
        let script = format!(
            "while read line; do case $line in '(check-sat)') echo {answer};; '(echo'*) echo {MARK};; esac; done"
        );
        Second { command: vec!["/bin/sh".into(), "-c".into(), script], running: None }
    }

    const QUESTION: &str = "(set-logic ALL)\n(assert false)\n(check-sat)\n(get-value (x))\n";

    #[test]
    fn its_answers_are_opinions() {
        for (said, opinion) in
            [("unsat", Opinion::Agrees), ("sat", Opinion::Disagrees), ("unknown", Opinion::Unknown)]
        {
            let mut second = saying(said);
            assert_eq!([second.refutes(QUESTION), second.refutes(QUESTION)], [opinion; 2], "{said}");
        }
    }

    #[test]
    fn one_that_says_anything_is_no_solver() {
        for command in ["yes", "cat", "false", "/no/such/solver"] {
            assert!(!Second::new(command).answers(), "{command}");
        }
        assert!(!saying("unsat").answers());
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let mut absent = Second::new("/no/such/solver --at-all");
        assert_eq!(absent.refutes(QUESTION), Opinion::Unknown);
        assert_eq!(Second::new("").refutes(QUESTION), Opinion::Unknown);
        let mut dying =
            Second { command: vec!["/bin/sh".into(), "-c".into(), "exit 3".into()], running: None };
        assert_eq!([dying.refutes(QUESTION), dying.refutes(QUESTION)], [Opinion::Unknown; 2]);
        assert_eq!(saying("(error)").refutes(QUESTION), Opinion::Unknown);
    }
}
