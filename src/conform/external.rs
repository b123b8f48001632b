//! A program outside that is asked over its standard input and answers on its standard
//! output, in the words of `rtv_runtime::protocol`.
//!
//! It is started at the first question and kept; one that is late, dies or says what is no
//! answer is ended, and its question is unanswered. The next question starts it anew, until
//! [`MAX_FAILURES`] in a row have no answer.

use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rtv_runtime::io::placeless;
use rtv_runtime::protocol::{MAX_LINE_BYTES, Reply, greeted, greeting};
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::tensor::Tensor;

use super::{Answer, Question, Subject};

/// A program outside does not answer.
pub const UNANSWERED: Code = Code(640);

/// Questions in a row without an answer, after which no more are asked.
const MAX_FAILURES: usize = 3;

/// Bytes that are taken from the program at a time, and how many such parts may wait.
const PART_BYTES: usize = 1 << 16;
const MAX_PARTS: usize = 64;

/// A command, and the process of it that runs.
pub struct External {
    command: Vec<String>,
    name: String,
    /// How long one answer may take.
    patience: Duration,
    running: Option<Running>,
    asked: usize,
    failures: usize,
    why: String,
}

struct Running {
    child: Child,
    /// To the thread that writes: a program that does not read hangs only that.
    messages: Sender<Vec<u8>>,
    parts: Receiver<Vec<u8>>,
    /// What was received and is not read yet.
    rest: Vec<u8>,
}

impl External {
    /// Starts the program: `words` are its name and arguments, between blanks.
    ///
    /// # Errors
    /// When it does not start, or does not answer the greeting.
    pub fn start(words: &str, patience: Duration) -> Result<External, Diagnostic> {
        let command: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        let mut external = External {
            command,
            name: String::new(),
            patience,
            running: None,
            asked: 0,
            failures: 0,
            why: String::new(),
        };
        match external.greet() {
            Ok(running) => external.running = Some(running),
            Err(why) => return Err(placeless(UNANSWERED, format!("`{words}` does not answer: {why}"))),
        }
        Ok(external)
    }

    /// That no more is asked, and why.
    pub fn given_up(&self) -> Option<Diagnostic> {
        let fact =
            || format!("`{}` left {MAX_FAILURES} questions in a row: {}", self.command.join(" "), self.why);
        (self.failures >= MAX_FAILURES).then(|| placeless(UNANSWERED, fact()))
    }

    fn greet(&mut self) -> Result<Running, String> {
        let mut running = Running::start(&self.command)?;
        let until = Instant::now() + self.patience;
        running.send(greeting());
        self.name = greeted(&running.line(until)?)?;
        Ok(running)
    }

    fn ask(&mut self, message: Vec<u8>, number: usize) -> Result<Answer, String> {
        if self.running.is_none() {
            self.running = Some(self.greet()?);
        }
        let until = Instant::now() + self.patience;
        let running = self.running.as_mut().expect("invariant: just started");
        running.send(message);
        let decls = match Reply::parse(&running.line(until)?, number)? {
            Reply::Unsupported(why) => return Ok(Answer::Unsupported(why)),
            Reply::Error { class, message } => return Ok(Answer::Error { class, message }),
            Reply::Outputs(decls) => decls,
        };
        let mut outputs = Vec::new();
        for decl in &decls {
            let bytes = running.bytes(decl.bytes(), until)?;
            let tensor = Tensor::from_le_bytes(decl.dtype, &decl.shape, &bytes);
            outputs.push(tensor.map_err(|why| why.to_string())?);
        }
        Ok(Answer::Outputs(outputs))
    }
}

impl Subject for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&mut self, question: &Question) -> Answer {
        let Question::Call(call) = question else {
            return Answer::Unsupported("a form of the language, not an operator".into());
        };
        if self.failures >= MAX_FAILURES {
            return Answer::Broken("not asked".into());
        }
        self.asked += 1;
        let number = self.asked;
        let answer = call.message(number).and_then(|message| self.ask(message, number));
        match answer {
            Ok(answer) => {
                self.failures = 0;
                answer
            }
            Err(why) => {
                // What else it has to say would be taken for the next answer.
                self.running = None;
                self.failures += 1;
                self.why.clone_from(&why);
                Answer::Broken(why)
            }
        }
    }
}

impl Running {
    fn start(command: &[String]) -> Result<Running, String> {
        let (program, args) = command.split_first().ok_or("there is no command")?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(|why| format!("it does not start: {why}"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (mut input, output) = pipes.expect("invariant: both are piped");
        let (messages, outbox) = mpsc::channel::<Vec<u8>>();
        thread::spawn(move || {
            while let Ok(message) = outbox.recv() {
                if input.write_all(&message).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        });
        let (sender, parts) = mpsc::sync_channel(MAX_PARTS);
        thread::spawn(move || receive(output, |part| sender.send(part).is_ok()));
        Ok(Running { child, messages, parts, rest: Vec::new() })
    }

    /// A program that reads no more is noticed when it does not answer.
    fn send(&self, message: Vec<u8>) {
        let _ = self.messages.send(message);
    }

    /// The next line, without its end.
    fn line(&mut self, until: Instant) -> Result<Vec<u8>, String> {
        let mut looked_at = 0;
        loop {
            if let Some(end) = self.rest[looked_at..].iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.rest.drain(..=looked_at + end).collect();
                line.pop();
                return Ok(line);
            }
            looked_at = self.rest.len();
            if looked_at as u64 > MAX_LINE_BYTES {
                return Err(format!("a line is longer than {MAX_LINE_BYTES} bytes"));
            }
            self.more(until)?;
        }
    }

    fn bytes(&mut self, count: usize, until: Instant) -> Result<Vec<u8>, String> {
        while self.rest.len() < count {
            self.more(until)?;
        }
        Ok(self.rest.drain(..count).collect())
    }

    fn more(&mut self, until: Instant) -> Result<(), String> {
        match self.parts.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(part) => {
                self.rest.extend(part);
                Ok(())
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Err("it takes too long".into()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err("it ended".into()),
        }
    }
}

/// Hands on what the program says, as long as somebody takes it.
fn receive(mut output: ChildStdout, mut hand_on: impl FnMut(Vec<u8>) -> bool) {
    let mut part = vec![0; PART_BYTES];
    while let Ok(count @ 1..) = output.read(&mut part) {
        if !hand_on(part[..count].to_vec()) {
            return;
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
    use rtv_runtime::protocol::Call;
    use rtv_semantics::dtype::DType;

    const PATIENCE: Duration = Duration::from_millis(300);

    /// A program of the shell that greets and then does this with each line.
    fn doing(what: &str) -> External {
        let script = format!(
            "read line; echo '{{\"protocol\":1,\"name\":\"shell\"}}'; n=0; while read line; do n=$((n+1)); {what}; done"
        );
        let mut external = External {
            command: vec!["/bin/sh".into(), "-c".into(), script],
            name: String::new(),
            patience: PATIENCE,
            running: None,
            asked: 0,
            failures: 0,
            why: String::new(),
        };
        external.running = Some(external.greet().expect("it greets"));
        external
    }

    fn question() -> Question {
        Question::Call(Call { operator: "neg".into(), positional: Vec::new(), named: Vec::new() })
    }

    #[test]
    fn answers_are_read() {
        let mut one = doing(r#"printf '{"call":%d,"outputs":[{"dtype":"u8","shape":[2]}]}\nAB' $n"#);
        for _ in 0..3 {
            let Answer::Outputs(outputs) = one.answer(&question()) else { panic!("no outputs") };
            let want = Tensor::from_i64(DType::U8, &[2], &[65, 66]).expect("two elements");
            assert_eq!(outputs[0].same(&want), Some(true));
        }
        assert_eq!(one.name(), "shell");
    }

    #[test]
    fn what_is_no_answer_costs_its_question_and_three_end_the_run() {
        for (what, why) in [
            ("exit 1", "it ended"),
            ("sleep 5", "it takes too long"),
            ("echo garbage", "no JSON object"),
            (r#"echo "{\"call\":99,\"outputs\":[]}""#, "answers call 99"),
            (r#"echo "{\"call\":$n,\"outputs\":[{\"dtype\":\"f32\",\"shape\":[9]}]}""#, "it takes too long"),
            (r#"echo "{\"call\":$n,\"error\":\"odd\"}""#, "no class of errors"),
        ] {
            let mut one = doing(what);
            for _ in 0..3 {
                assert!(one.given_up().is_none());
                let Answer::Broken(said) = one.answer(&question()) else { panic!("an answer") };
                // Its count of lines begins anew with the process.
                assert!(said.contains(why) || said.contains("it answers call"), "{what}: {said}");
            }
            assert!(one.given_up().is_some_and(|d| d.code == UNANSWERED));
        }
    }

    #[test]
    fn one_that_does_not_greet_is_refused() {
        for command in ["yes", "false", "cat", "/no/such/program", ""] {
            let started = External::start(command, PATIENCE);
            assert_eq!(started.err().map(|d| d.code), Some(UNANSWERED), "{command}");
        }
    }

    #[test]
    fn one_that_does_not_read_hangs_nothing() {
        let mut one = doing("sleep 5");
        let big =
            Tensor::full(DType::U8, &[1 << 20], rtv_semantics::scalar::Value::Int(1)).expect("a tensor");
        let positional = vec![rtv_runtime::protocol::Argument::Tensor(big)];
        let question = Question::Call(Call { operator: "neg".into(), positional, named: Vec::new() });
        let started = Instant::now();
        assert!(matches!(one.answer(&question), Answer::Broken(_)));
        assert!(started.elapsed() < Duration::from_secs(3));
    }
}
