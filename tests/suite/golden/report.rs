//! The findings of all cases, counted, and held against the written exceptions.

use super::run::Finding;
use rtv::conform::golden::Exception;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    excepted: usize,
    lifted: usize,
    not_covered: usize,
}

/// All findings by overload.
#[derive(Default)]
pub struct Report {
    overloads: BTreeMap<String, Counts>,
    reasons: BTreeMap<String, usize>,
    failures: Vec<String>,
    /// What the exceptions say that is not so.
    pub stale: Vec<String>,
}

impl Report {
    pub fn new(findings: &[(String, String, Finding)], exceptions: &[Exception]) -> Report {
        let mut report = Report::default();
        let mut used = vec![false; exceptions.len()];
        for (id, overload, finding) in findings {
            let exception = exceptions.iter().position(|e| e.matches(id));
            if let Some(k) = exception {
                used[k] = true;
                if !matches!(finding, Finding::Failed(_)) {
                    report.stale.push(format!("{id} is excepted, yet does not fail"));
                }
            }
            report.count(id, overload, finding, exception.map(|k| exceptions[k].reason.as_str()));
        }
        let unused = exceptions.iter().zip(used).filter(|(_, used)| !used);
        report.stale.extend(unused.map(|(e, _)| format!("`{}` matches no case", e.pattern)));
        report
    }

    fn count(&mut self, id: &str, overload: &str, finding: &Finding, excepted: Option<&str>) {
        let counts = self.overloads.entry(overload.into()).or_default();
        match (finding, excepted) {
            (Finding::Passed, _) => counts.passed += 1,
            (Finding::Lifted, _) => counts.lifted += 1,
            (Finding::Failed(_), Some(reason)) => {
                counts.excepted += 1;
                *self.reasons.entry(format!("excepted: {reason}")).or_default() += 1;
            }
            (Finding::Failed(why), None) => {
                counts.failed += 1;
                self.failures.push(format!("{id} ({overload}): {why}"));
            }
            (Finding::NotCovered(reason), _) => {
                counts.not_covered += 1;
                *self.reasons.entry(format!("not covered: {reason}")).or_default() += 1;
            }
        }
    }

    pub fn passed(&self) -> usize {
        self.overloads.values().map(|c| c.passed).sum()
    }

    /// The failures without a written reason.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["passed", "failed", "excepted", "no kernel", "not covered"];
        let [a, b, c, d, e] = header;
        writeln!(f, "{:32} {a:>7} {b:>7} {c:>9} {d:>10} {e:>12}", "overload")?;
        let mut total = Counts::default();
        for (overload, counts) in &self.overloads {
            row(f, overload, counts)?;
            total.passed += counts.passed;
            total.failed += counts.failed;
            total.excepted += counts.excepted;
            total.lifted += counts.lifted;
            total.not_covered += counts.not_covered;
        }
        row(f, "total", &total)?;
        for (reason, count) in &self.reasons {
            writeln!(f, "{count:6}  {reason}")?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, c: &Counts) -> fmt::Result {
    let Counts { passed, failed, excepted, lifted, not_covered } = c;
    writeln!(f, "{name:32} {passed:>7} {failed:>7} {excepted:>9} {lifted:>10} {not_covered:>12}")
}
