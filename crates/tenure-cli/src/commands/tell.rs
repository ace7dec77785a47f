//! `tenure resign` and `tenure transfer`: telling a runner on this machine what to do.

use std::time::Duration;

use serde_json::Value;

use crate::control::{self, Request};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::ask::{TellSettings, TransferSettings};

/// Has the leader on this machine stop its CMD and give the leadership up.
pub(super) async fn resign(settings: TellSettings) -> Result<Exit, Failure> {
    let socket = find(&settings).await?;
    let answer = control::ask(&socket, &Request::Resign).await?;
    say(&settings, &answer, "resigned", "")
}

/// Has the leader on this machine stop its CMD and hand over to another candidate.
pub(super) async fn transfer(settings: TransferSettings) -> Result<Exit, Failure> {
    let TransferSettings { tell, to, wait } = settings;
    let socket = find(&tell).await?;
    let request = Request::Transfer { to: to.to_string(), wait: wait.is_some() };
    let answer = match wait {
        Some(wait) => control::ask_for(&socket, &request, wait).await?.ok_or_else(|| {
            let what = format!("{to} cannot lead {} yet after {wait:?}", tell.election);
            let fix = "what was asked for still goes on: wait longer, and ask tenure leader";
            Failure::new(Exit::Unknown, what, fix)
        })?,
        None => control::ask(&socket, &request).await?,
    };
    if answer["unchanged"] == true {
        return say(&tell, &answer, "leads already", "");
    }
    match answer["held_ms"].as_u64() {
        Some(held) => {
            let held = Duration::from_millis(held);
            let when = format!(" in {held:?}, as a verification promised");
            say(&tell, &answer, &format!("hands over to {to}"), &when)
        }
        None if answer["seen"] == true => say(&tell, &answer, &format!("handed over to {to}"), ""),
        None => {
            let when = format!("; {to} has not been seen to lead");
            say(&tell, &answer, &format!("gave way to {to}"), &when)?;
            Ok(if wait.is_some() { Exit::Unknown } else { Exit::Done })
        }
    }
}

async fn find(settings: &TellSettings) -> Result<std::path::PathBuf, Failure> {
    control::find_leader(settings).await
}

fn say(settings: &TellSettings, answer: &Value, done: &str, when: &str) -> Result<Exit, Failure> {
    let text = if settings.json { answer.to_string() } else { describe(answer, done, when) };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

fn describe(answer: &Value, done: &str, when: &str) -> String {
    let text = |key: &str| answer[key].as_str().unwrap_or("?").to_owned();
    format!("{} {done} ({}){when}", text("id"), text("election"))
}
