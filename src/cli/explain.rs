//! `rtv explain CODE`: the page of an error code. `rtv explain ID`: what is known of one
//! claim, and how. `rtv explain CERTIFICATE`: an optimization, step by step.

mod optimization;
mod story;

use std::path::PathBuf;

use clap::Args;
use rtv_runtime::io::placeless;
use rtv_semantics::diag::Code;

use super::claim::Claim;
use super::effort::Effort;
use crate::report::Reporter;

/// No page has this code.
const UNKNOWN_CODE: Code = Code(812);

/// Code and Markdown text of every page in `semantics/errors/`, sorted by code.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

#[derive(Args)]
pub struct Explain {
    /// A code such as R0203; a claim: the first digits of its id, or its name; or the file of a
    /// certificate of an optimization; without one, the list of codes
    #[arg(value_name = "CODE|CLAIM|CERTIFICATE")]
    about: Option<String>,
    /// Files and folders the claim is in; without any, the project or the current folder
    files: Vec<PathBuf>,
    #[command(flatten)]
    effort: Effort,
}

impl Explain {
    pub fn run(&self, reporter: &mut Reporter) {
        let Some(asked) = &self.about else {
            for (code, page) in PAGES {
                reporter.result(&format!("{code}  {}", title(code, page)));
            }
            return;
        };
        match optimization::certificate(asked) {
            Ok(Some(certificate)) => return optimization::tell(&certificate, &self.effort, reporter),
            Ok(None) => {}
            Err(fault) => return reporter.fault(&fault),
        }
        match page(asked) {
            Some(text) => reporter.result(text.trim_end()),
            None if is_code(asked) => reporter.fault(&unknown(asked)),
            None => self.claim(asked, reporter),
        }
    }

    fn claim(&self, asked: &str, reporter: &mut Reporter) {
        let Some(claim) = Claim::find(asked, &self.files, reporter) else { return };
        let Some((result, counts)) = claim.decide(&self.effort, reporter) else { return };
        story::lines(&claim, &result, &counts).iter().for_each(|line| reporter.result(line));
    }
}

/// Whether it is written like a code.
fn is_code(asked: &str) -> bool {
    let digits = asked.strip_prefix(['R', 'r']).unwrap_or(asked);
    // Four digits may be those of an id.
    let code = digits.len() < asked.len() || digits.len() < 4;
    code && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The page of `R0203`, however it is written: `r0203`, `R203`, `203`.
fn page(asked: &str) -> Option<&'static str> {
    let digits = asked.strip_prefix(['R', 'r']).unwrap_or(asked);
    let plain = digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u16 = digits.parse().ok().filter(|_| plain)?;
    let code = Code(number).to_string();
    PAGES.iter().find(|(name, _)| *name == code).map(|(_, text)| *text)
}

/// The rest of the page's first line: `# R0203: title`.
fn title<'a>(code: &str, page: &'a str) -> &'a str {
    let line = page.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    line.strip_prefix(code).unwrap_or(line).trim_start_matches([':', ' '])
}

fn unknown(asked: &str) -> rtv_semantics::diag::Diagnostic {
    let shown: String = asked.chars().take(40).flat_map(char::escape_debug).collect();
    let family = PAGES.iter().filter(|(code, _)| {
        let (code, asked) = (code.as_bytes(), asked.as_bytes());
        asked.len() >= 3 && code[..3].eq_ignore_ascii_case(&asked[..3])
    });
    let family: Vec<&str> = family.map(|(code, _)| *code).collect();
    let help = match family.as_slice() {
        [] => "`rtv explain` without a code lists all of them".to_string(),
        codes => format!("codes of this family: {}", codes.join(", ")),
    };
    placeless(UNKNOWN_CODE, format!("`{shown}` is not an error code")).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_found_by_its_code_and_has_a_title() {
        for (code, text) in PAGES {
            assert_eq!(page(code), Some(*text));
            assert_eq!(page(&code.to_lowercase()), Some(*text));
            assert!(text.starts_with(&format!("# {code}: ")), "{code} starts with its title");
            assert!(!title(code, text).is_empty());
        }
    }

    #[test]
    fn what_is_no_code_has_no_page() {
        for asked in ["", "R", "R9999", "R00203", "x", "-1", "R+203", "\u{1b}[2J", "é"] {
            assert_eq!(page(asked), None, "{asked}");
            assert!(!unknown(asked).message.contains('\u{1b}'));
        }
    }
}
