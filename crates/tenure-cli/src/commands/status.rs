//! `tenure node status`: how a node of this machine does.

use crate::control;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::node::StatusSettings;

/// Prints what the node says of itself.
pub(super) async fn run(settings: StatusSettings) -> Result<Exit, Failure> {
    let answer = control::status(&settings.control, &settings.ledger).await?;
    let text = if settings.json {
        answer.to_string()
    } else {
        let fields = answer.as_object().into_iter().flatten();
        let lines = fields.map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}: {text}"),
            None => format!("{key}: {value}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
