//! Whether who answers at a socket is who was named beside `--control`.

use serde_json::Value;

use crate::failure::{Failure, clipped};
use crate::settings::Ledger;

/// The settings that name a runner or a node, and where its status has the same.
const NAMES: [(&str, &str); 5] = [
    ("election", "election"),
    ("name", "node"),
    ("protocol", "protocol"),
    ("cluster", "cluster"),
    ("namespace", "namespace"),
];

/// Refuses a `status` that differs from what was given in `ledger`. What nobody gave may be
/// anything.
pub(super) fn check(status: &Value, ledger: &Ledger) -> Result<(), Failure> {
    let given = ledger.given(&NAMES.map(|(setting, _)| setting));
    let differs = |(setting, value): &&(&str, String)| {
        let field = NAMES.iter().find(|(name, _)| name == setting).map_or("", |(_, field)| field);
        status[field].as_str() != Some(value)
    };
    let others: Vec<_> = given.iter().filter(differs).collect();
    if others.is_empty() {
        return Ok(());
    }
    let told: Vec<_> =
        others.iter().map(|(setting, value)| format!("{setting} {}", clipped(value))).collect();
    let what = format!(
        "the control socket is of {}, and not of one with {}",
        who(status),
        told.join(", ")
    );
    let fix = "give the --control of the one that is meant, or name the one that answers";
    let names: Vec<_> =
        ["control"].into_iter().chain(others.iter().map(|(setting, _)| *setting)).collect();
    Err(ledger.explain(Failure::usage(what, fix), &names))
}

/// In words: what it is, and all that names it.
fn who(status: &Value) -> String {
    let text = |field: &str| status[field].as_str().map(clipped);
    let kind = match (text("node"), text("id")) {
        (Some(node), _) => format!("node {node}"),
        (None, Some(id)) => format!("runner {id}"),
        (None, None) => "somebody without a name".to_owned(),
    };
    let names = ["election", "protocol", "cluster", "namespace"].into_iter();
    let names = names.filter_map(|field| {
        let value = text(field).filter(|value| !value.is_empty())?;
        Some(format!(", {field} {value}"))
    });
    kind + &names.collect::<String>()
}
