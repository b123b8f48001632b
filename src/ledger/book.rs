//! One ledger file: what was found of the claims of one source file, a line each.
//!
//! A line has eleven fields between tabs: name, kind, verdict, mode, contracts,
//! certificate, float facets, version of rtv, version of the solver, content key, note.
//! Lines are sorted by name, so that two versions compare line by line; `-` stands for
//! nothing.

use std::collections::BTreeMap;

use rtv_proofs::{Cause, Certificate, Contract, Facets, Finding, Record, Verdict};
use rtv_semantics::diag::Code;
use rtv_semantics::program::ClaimKind;
use rtv_smt::Z3_VERSION;

use super::stored::mode;

/// First words of a ledger file; another form has another number.
const HEADER: &str = "# rtv ledger 1";
/// The verdict on a function that claims nothing about its calls.
const NO_CLAIM: &str = "none";
const NOTHING: &str = "-";

/// Name and kind of a claim.
pub type Subject = (String, &'static str);

/// The lines of a file, by claim.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Book(BTreeMap<Subject, Line>);

/// What is written of one claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    pub key: String,
    tool: String,
    solver: String,
    verdict: Option<Verdict>,
    mode: &'static str,
    contracts: BTreeMap<Contract, (Verdict, String)>,
    code: Option<Code>,
    certificate: Option<String>,
    facets: Option<String>,
    note: String,
}

impl Book {
    pub fn get(&self, subject: &Subject) -> Option<&Line> {
        self.0.get(subject)
    }

    pub fn lines(&self) -> impl Iterator<Item = (&Subject, &Line)> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes a line in place of the one that was there; one that says the same stays, with
    /// the versions that it names.
    pub fn set(&mut self, subject: Subject, line: Line) {
        let mut line = line;
        // What a longer look at the floats found is not forgotten.
        let looked = |line: &Line| line.facets.as_ref().and_then(|text| text.parse::<Facets>().ok());
        if let Some(old) = self.0.get(&subject).filter(|old| old.key == line.key)
            && let (Some(before), Some(now)) = (looked(old), looked(&line))
            && before.inputs > now.inputs
        {
            line.facets = old.facets.clone();
        }
        let same = |old: &Line| {
            let (tool, solver) = (old.tool.clone(), old.solver.clone());
            let note = old.note.clone();
            *old == Line { tool, solver, note, ..line.clone() }
        };
        if !self.0.get(&subject).is_some_and(same) {
            self.0.insert(subject, line);
        }
    }

    /// Whether there is a line of the claim as it is now.
    pub fn is_current(&self, subject: &Subject, key: &str) -> bool {
        self.0.get(subject).is_some_and(|line| line.key == key)
    }

    /// Whether the line of a claim has the hash of this certificate.
    pub fn is_certified(&self, subject: &Subject, text: &str) -> bool {
        let hash = self.0.get(subject).and_then(|line| line.certificate.as_ref());
        hash.is_some_and(|hash| *hash == Certificate::hash(text))
    }

    /// Keeps the lines of these claims only.
    pub fn retain(&mut self, keep: impl Fn(&Subject) -> bool) {
        self.0.retain(|subject, _| keep(subject));
    }

    /// The text of the ledger of a source file, by the path it has below the ledger.
    pub fn text(&self, source: &str) -> String {
        let mut text = format!("{HEADER} of {source}\n");
        for ((name, kind), line) in &self.0 {
            text.push_str(&line.text(name, kind));
            text.push('\n');
        }
        text
    }

    /// Reads a text; the numbers of lines that cannot be read, of which the first is that of
    /// an unknown form.
    pub fn read(text: &str) -> (Book, Vec<usize>) {
        let mut lines = text.lines();
        if !lines.next().is_some_and(|first| first.starts_with(&format!("{HEADER} "))) {
            return (Book::default(), vec![1]);
        }
        let (mut book, mut wrong) = (Book::default(), Vec::new());
        for (number, line) in lines.enumerate() {
            match Line::read(line) {
                Some((subject, line)) if !book.0.contains_key(&subject) => {
                    book.0.insert(subject, line);
                }
                _ => wrong.push(number + 2),
            }
        }
        (book, wrong)
    }
}

impl Line {
    /// Whether it names a certificate.
    pub fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    pub fn is_proved(&self) -> bool {
        // A test is run, not proved.
        self.verdict == Some(Verdict::Proved) && !self.contracts.is_empty()
    }

    /// The mode of the claim.
    pub fn mode(&self) -> &'static str {
        self.mode
    }

    /// Whether floats of ordinary numbers are known to make NaNs of one side alone.
    pub fn is_fragile(&self) -> bool {
        let facets = self.facets.as_ref().and_then(|text| text.parse::<Facets>().ok());
        facets.is_some_and(|facets| facets.apart.contains_key(&Cause::Undefined))
    }

    /// The verdict, in a word.
    pub fn verdict_word(&self) -> &'static str {
        self.verdict.map_or(NO_CLAIM, Verdict::name)
    }

    /// What it says, by the name of what is said: the verdict, the method of each contract, and
    /// the name of the certificate.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        let code = self.code.map_or(String::new(), |code| format!(" {code}"));
        let verdict = format!("{}{code}", self.verdict_word());
        let mut said = vec![("verdict", verdict)];
        said.extend(self.contracts.iter().map(|(contract, (verdict, method))| {
            (contract.name(), format!("{} {method}", verdict.name()).trim_end().to_string())
        }));
        said.extend(self.certificate.iter().map(|name| ("certificate", name.clone())));
        said
    }

    /// What is found today of a claim, or of a function that makes none.
    pub fn of(key: String, record: Option<&Record>) -> Line {
        let contract =
            |(contract, found): (&Contract, &Finding)| (*contract, (found.verdict, plain(&found.method)));
        Line {
            key,
            tool: env!("CARGO_PKG_VERSION").into(),
            solver: Z3_VERSION.trim_end_matches('.').into(),
            verdict: record.map(|record| record.verdict),
            mode: record.map_or("", |record| record.mode),
            contracts: record.iter().flat_map(|record| record.contracts.iter().map(contract)).collect(),
            code: record.and_then(|record| record.code),
            certificate: record.and_then(|record| record.certificate.clone()),
            facets: record.and_then(|record| record.facets.clone()),
            note: record.map_or(String::new(), |record| plain(&record.note)),
        }
    }

    /// What it says of a claim; nothing of a function that makes none.
    pub fn record(&self, (name, kind): &Subject) -> Option<Record> {
        let finding = |(contract, (verdict, method)): (&Contract, &(Verdict, String))| {
            let method = method.clone().into();
            (*contract, Finding { verdict: *verdict, method, reason: None })
        };
        Some(Record {
            name: name.clone(),
            kind: ClaimKind::from_name(kind)?,
            verdict: self.verdict?,
            mode: self.mode,
            contracts: self.contracts.iter().map(finding).collect(),
            note: self.note.clone(),
            code: self.code,
            samples: 0,
            certificate: self.certificate.clone(),
            checked: None,
            facets: self.facets.clone(),
            witness: None,
        })
    }

    fn text(&self, name: &str, kind: &str) -> String {
        let contract = |(contract, (verdict, method)): (&Contract, &(Verdict, String))| {
            format!("{} {} {method}", contract.name(), verdict.name()).trim_end().to_string()
        };
        let contracts = self.contracts.iter().map(contract).collect::<Vec<_>>().join("; ");
        let verdict = self.verdict.map_or(NO_CLAIM, Verdict::name);
        let code = self.code.map_or(String::new(), |code| code.to_string());
        let verdict = format!("{verdict} {code}");
        let fields = [
            name,
            kind,
            verdict.trim_end(),
            self.mode,
            &contracts,
            self.certificate.as_deref().unwrap_or_default(),
            self.facets.as_deref().unwrap_or_default(),
            &self.tool,
            &self.solver,
            &self.key,
            &self.note,
        ];
        fields.map(|field| if field.is_empty() { NOTHING } else { field }).join("\t")
    }

    fn read(text: &str) -> Option<(Subject, Line)> {
        let fields: Vec<&str> = text.split('\t').map(|f| if f == NOTHING { "" } else { f }).collect();
        let [name, kind, verdict, named, contracts, certificate, facets, tool, solver, key, note] =
            fields[..]
        else {
            return None;
        };
        let (verdict, code) = verdict.split_once(' ').unwrap_or((verdict, ""));
        let contract = |text: &str| {
            let mut words = text.splitn(3, ' ');
            let contract = Contract::from_name(words.next()?)?;
            let verdict = Verdict::from_name(words.next()?)?;
            Some((contract, (verdict, words.next().unwrap_or_default().to_string())))
        };
        let contracts = contracts.split("; ").filter(|text| !text.is_empty()).map(contract);
        let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let line = Line {
            key: key.into(),
            tool: tool.into(),
            solver: solver.into(),
            verdict: match verdict {
                NO_CLAIM => None,
                verdict => Some(Verdict::from_name(verdict)?),
            },
            mode: mode(named)?,
            contracts: contracts.collect::<Option<_>>()?,
            code: match code.strip_prefix('R') {
                None if code.is_empty() => None,
                digits => Some(Code(digits?.parse().ok()?)),
            },
            certificate: some(certificate),
            facets: some(facets),
            note: note.into(),
        };
        let kind = ClaimKind::from_name(kind)?.name();
        // Nothing in a line is left unread.
        (line.text(name, kind) == text).then(|| ((name.into(), kind), line))
    }
}

/// On one line, and without what separates fields.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use rtv_semantics::sample::Sampler;

    use super::*;

    fn line(verdict: Option<Verdict>, note: &str) -> Line {
        let proved = (Verdict::Proved, "normal form".to_string());
        let open = (Verdict::Unknown, String::new());
        Line {
            key: "0123456789abcdef".into(),
            tool: "0.1.0".into(),
            solver: "5.4".into(),
            verdict,
            mode: "exact",
            contracts: [(Contract::Value, proved), (Contract::Error, open)].into(),
            code: (verdict == Some(Verdict::Refuted)).then_some(Code(411)),
            certificate: Some("00ff".into()),
            facets: None,
            note: note.into(),
        }
    }

    fn book() -> Book {
        let verdicts = [Some(Verdict::Proved), Some(Verdict::Refuted), None];
        let named = verdicts.into_iter().zip(["b", "c", "a"]);
        Book(named.map(|(verdict, name)| ((name.to_string(), "rule"), line(verdict, "any rank"))).collect())
    }

    #[test]
    fn a_book_is_read_as_it_was_written() {
        let text = book().text("rules/pad.rtl");
        assert_eq!(Book::read(&text), (book(), Vec::new()));
        let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn what_cannot_be_read_is_told_by_its_line() {
        let text = book().text("a.rtl");
        assert_eq!(Book::read("# rtv ledger 2 of a.rtl\n"), (Book::default(), vec![1]));
        let (read, wrong) = Book::read(&text.replace("\tproved", "\tbelieved"));
        assert_eq!((read.len(), wrong), (2, vec![3]));
        let twice = format!("{text}{}\n", text.lines().last().expect("a line"));
        assert_eq!(Book::read(&twice).1, vec![5]);
        let merging = text.replacen("\n", "\n<<<<<<< ours\n", 1);
        assert_eq!(Book::read(&merging), (book(), vec![2]));
    }

    #[test]
    fn a_line_that_says_the_same_stays() {
        let mut book = book();
        let subject = ("b".to_string(), "rule");
        let later = |verdict| Line { tool: "0.2.0".into(), ..line(verdict, "all sizes") };
        book.set(subject.clone(), later(Some(Verdict::Proved)));
        assert_eq!(book.get(&subject), Some(&line(Some(Verdict::Proved), "any rank")));
        book.set(subject.clone(), later(Some(Verdict::Tested)));
        assert_eq!(book.get(&subject), Some(&later(Some(Verdict::Tested))));
    }

    #[test]
    fn any_text_is_read_and_its_good_lines_are_kept() {
        let (text, mut random) = (book().text("a.rtl").into_bytes(), Sampler::new(3));
        let mut kept = 0;
        for _ in 0..3000 {
            let mut bytes = text.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes.insert(at, *random.pick(b"\t\n -R;#").expect("some byte")),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (read, wrong) = Book::read(&text);
            assert!(read.len() + wrong.len() <= text.lines().count().max(1), "{text:?}");
            assert_eq!(Book::read(&read.text("a.rtl")), (read.clone(), Vec::new()), "{text:?}");
            kept += read.len();
        }
        assert!(kept > 3000, "{kept} lines");
    }
}
