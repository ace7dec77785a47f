//! `tenure node clear-breach`: makes a process of this machine compare all clocks anew.

use crate::commands::client;
use crate::control::Request;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::node::StatusSettings;
use crate::output;
use crate::settings::Context;

pub(in crate::commands) async fn run(
    settings: StatusSettings,
    context: Context,
) -> Result<Exit, Failure> {
    // Check the process first: another process may have the control socket.
    client::status(&settings.control, &context.origins, &settings.realms).await?;
    let answer = client::ask(&settings.control, &Request::ClearBreach).await?;
    let text = match answer["text"].as_str() {
        Some(text) if !context.json => text.to_owned(),
        _ => answer.to_string(),
    };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
