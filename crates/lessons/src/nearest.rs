//! "Did you mean": the known name closest to what was typed.

/// The closest of `known` to `given`, when it is close enough to be a slip of the fingers.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|name| {
            let score = strsim::jaro_winkler(&given, &name.to_lowercase());
            // A name typed in full but with more around it, or cut short, is close too.
            let part = given.len() >= 3 && (name.starts_with(&given) || given.starts_with(name));
            (if part { score.max(0.9) } else { score }, name)
        })
        .filter(|(score, _)| *score >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["doctor", "transfer", "train"];
        assert_eq!(nearest("tarnsfer", known).as_deref(), Some("transfer"));
        assert_eq!(nearest("Doc", known).as_deref(), Some("doctor"));
        assert_eq!(nearest("trian", known).as_deref(), Some("train"));
        assert_eq!(nearest("bicycle", known), None);
        assert_eq!(nearest("", known), None);
    }
}
