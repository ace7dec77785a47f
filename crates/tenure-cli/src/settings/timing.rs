//! Contradicting times, in the words of the flags.

use tenure_core::{TimingError, TooShort};

/// The settings of an error, and the remedy.
#[must_use]
pub fn contributors(error: &TimingError) -> (&'static [&'static str], String) {
    let names: &[_] = match error {
        TimingError::Drift { .. } => &["drift"],
        TimingError::Lease { .. } => &["lease"],
        TimingError::KillMargin { .. } => &["kill-margin", "grace"],
        TimingError::TooShort(short) => return (of_room(short), room(short)),
    };
    (names, format!("change --{}", names.join(", or --")))
}

fn of_room(short: &TooShort) -> &'static [&'static str] {
    match short.beside.count {
        0 => &["lease", "grace", "kill-margin", "drift"],
        _ => &["lease", "grace", "kill-margin", "round-trip", "drift"],
    }
}

fn room(short: &TooShort) -> String {
    match short.enough {
        Some(enough) => format!("give --lease {enough:?} or more, or a shorter --grace"),
        None => "give a shorter --grace: no lease is long enough".to_owned(),
    }
}
