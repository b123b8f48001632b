//! Which claims `--only` selects.

/// Patterns in order; of those that match a name the last one decides.
pub struct Only<'a> {
    patterns: Vec<(bool, &'a str)>,
}

impl<'a> Only<'a> {
    /// Each text is a name in which `*` stands for anything; `!` in front leaves out.
    pub fn new(texts: &'a [String]) -> Only<'a> {
        let pattern = |text: &'a String| match text.strip_prefix('!') {
            Some(rest) => (false, rest),
            None => (true, text.as_str()),
        };
        Only { patterns: texts.iter().map(pattern).collect() }
    }

    pub fn selects(&self, name: &str) -> bool {
        let last = self.patterns.iter().rev().find(|(_, pattern)| matches(pattern, name));
        match last {
            Some((included, _)) => *included,
            // Nothing matches: what is left when only exclusions, or nothing, are given.
            None => self.patterns.first().is_none_or(|(included, _)| !included),
        }
    }
}

/// Whether `name` is the pattern with something for each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name) in
            [("a", "a"), ("a*", "a"), ("*a", "ba"), ("a*c*e", "abcde"), ("*", ""), ("a**b", "ab")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a", "ab"), ("a*", "ba"), ("*a", "ab"), ("ab*ba", "aba"), ("a*c*e", "aecb"), ("", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_last_match_decides() {
        let texts = |list: &[&str]| list.iter().map(|t| t.to_string()).collect::<Vec<_>>();
        let list = texts(&["sum*", "!sum_bad", "sum_bad_2"]);
        let only = Only::new(&list);
        assert!(only.selects("sum_a") && !only.selects("sum_bad") && only.selects("sum_bad_2"));
        assert!(!only.selects("mean"));
        let list = texts(&["!mean"]);
        assert!(Only::new(&list).selects("sum") && !Only::new(&list).selects("mean"));
        assert!(Only::new(&[]).selects("sum"));
    }
}
