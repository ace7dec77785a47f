//! Remedies for times that contradict each other, in terms of the flags.

use tenure_core::TimingError;

/// The remedy, if it is more than a change of one setting.
#[must_use]
pub fn fix(error: &TimingError) -> Option<String> {
    let TimingError::TooShort(short) = error else { return None };
    Some(match short.enough {
        Some(enough) => format!("give --lease {enough:?} or more, or a shorter --grace"),
        None => "give a shorter --grace: no lease is long enough".to_owned(),
    })
}
