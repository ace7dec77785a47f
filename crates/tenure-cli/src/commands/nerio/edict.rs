//! `tenure edict create` and `tenure edict check`.

use serde_json::json;

use super::gate_file;
use crate::commands::client;
use crate::control::Request;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::edict::{CheckSettings, CreateSettings};
use crate::output;
use crate::settings::Context;

/// Asks the runner for an edict, and prints the edict.
pub(in crate::commands) async fn create(
    settings: CreateSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let socket = client::find_leader(&settings.tell, &context.origins).await?;
    let request = Request::Edict { fence: settings.fence.number() };
    let answer = client::ask(&socket, &request).await?;
    let Some(edict) = answer["edict"].as_str() else {
        let what = format!("the runner at {} answers without an edict", socket.display());
        return Err(Failure::new(Exit::Bug, what, "report it"));
    };
    let text = if context.json { answer.to_string() } else { edict.to_owned() };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

/// Admits an edict at the gate, and prints the result. A refusal is a failure.
pub(in crate::commands) async fn check(
    settings: CheckSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let CheckSettings { gate, is_new, edict } = settings;
    let admitted = gate_file::admit(&gate, is_new, &edict.0).await;
    admitted.map_err(|failure| context.origins.explain(failure, &["gate", "new-gate"]))?;
    let text = edict.to_string();
    let line = if context.json {
        json!({"admitted": true, "edict": text}).to_string()
    } else {
        format!("admitted {text}")
    };
    output::print(&format!("{line}\n"))?;
    Ok(Exit::Done)
}
