//! `tenure resign` and `tenure transfer`: telling a runner on this machine what to do.

use serde_json::Value;

use crate::control::{self, Request};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::ask::{TellSettings, TransferSettings};

/// Has the leader on this machine stop its CMD and give the leadership up.
pub(super) async fn resign(settings: TellSettings) -> Result<Exit, Failure> {
    tell(&settings, &Request::Resign, "resigned").await
}

/// Has the leader on this machine stop its CMD and hand over to another candidate.
pub(super) async fn transfer(settings: TransferSettings) -> Result<Exit, Failure> {
    let to = settings.to.to_string();
    let done = format!("handed over to {to}");
    tell(&settings.tell, &Request::Transfer { to }, &done).await
}

async fn tell(settings: &TellSettings, request: &Request, done: &str) -> Result<Exit, Failure> {
    let election = settings.election.as_str();
    let socket = control::find_leader(&settings.runner, election).await?;
    let answer = control::ask(&socket, request).await?;
    let text = if settings.json { answer.to_string() } else { describe(&answer, done) };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

fn describe(answer: &Value, done: &str) -> String {
    let text = |key: &str| answer[key].as_str().unwrap_or("?").to_owned();
    format!("{} {done} ({})", text("id"), text("election"))
}
