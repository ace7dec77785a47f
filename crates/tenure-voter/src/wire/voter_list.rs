//! The setting `voter-list`.

use tenure_core::voter::Listed;

use super::Unread;

/// Reads `[{"voterId": "…", "voterUrl": "…"}, …]`.
///
/// ```
/// use tenure_voter::wire::read_voter_list;
///
/// let list = r#"[{"voterId": "west", "voterUrl": "https://west.example"}]"#;
/// assert_eq!(read_voter_list(list)?[0].id.as_str(), "west");
/// # Ok::<(), tenure_voter::wire::Unread>(())
/// ```
///
/// # Errors
///
/// When the list has another form, such as the sample in the protocol's source.
pub fn read_voter_list(list: &str) -> Result<Vec<Listed>, Unread> {
    let wrong = |error: serde_json::Error| {
        Unread::new(format!(
            "the voter list must look like [{{\"voterId\": \"west\", \"voterUrl\": \
             \"https://west.example\"}}, …]: {error}"
        ))
    };
    serde_json::from_str(list).map_err(wrong)
}
