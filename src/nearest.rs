//! The name that was probably meant.

/// The candidate closest to `name` by edits, if it is close enough to be a slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match name.chars().count() {
        0..=1 => return None,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let scored = candidates.into_iter().map(|c| (strsim::osa_distance(name, c), c));
    scored.filter(|(edits, _)| *edits <= allowed).min_by_key(|(edits, _)| *edits).map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["softmax", "log_softmax", "sum", "mean"];
        assert_eq!(nearest("sofmtax", names), Some("softmax"));
        assert_eq!(nearest("sun", names), Some("sum"));
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("matmul", names), None);
    }
}
