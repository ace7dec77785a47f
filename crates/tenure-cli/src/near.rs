//! Finds the known word that a user probably meant.

/// The known word of which `word` is most likely a misspelling.
///
/// The limit is one slip for every three letters: `laese` is corrected, and `IP` is not taken for
/// `ID`.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| distance * 3 <= word.len().max(candidate.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_a_slip_and_nothing_else() {
        let known = ["lease", "lease-max", "grace", "ID"];
        assert_eq!(nearest("laese", known), Some("lease"));
        assert_eq!(nearest("lease_max", known), Some("lease-max"));
        assert_eq!(nearest("IP", known), None);
        assert_eq!(nearest("colour", known), None);
    }
}
