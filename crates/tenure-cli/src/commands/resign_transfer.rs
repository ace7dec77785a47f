//! `tenure resign` and `tenure transfer`: requests to a runner on this machine.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tenure::{ElectionName, NodeName, clock};

use super::client;
use crate::control::Request;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::{TellSettings, TransferSettings};
use crate::output;
use crate::settings::Context;

/// Orders the leader on this machine to stop its CMD and resign.
pub(super) async fn resign(settings: TellSettings, context: Context) -> Result<Exit, Failure> {
    let socket = client::find_leader(&settings, &context.origins).await?;
    if settings.all {
        let answer = client::ask(&socket, &Request::ResignAll).await?;
        let roles = answer["roles"].as_array().into_iter().flatten();
        let roles: Vec<String> = roles.map(ToString::to_string).collect();
        let done = match &*roles {
            [] => "led no role, and has joined again".to_owned(),
            [role] => format!("gave back role {role}, and stands for it again"),
            roles => format!("gave back roles {}, and stands for them again", roles.join(", ")),
        };
        return say(&context, &answer, &done, "");
    }
    let answer = client::ask(&socket, &Request::Resign).await?;
    let next = match answer["rank"].as_u64() {
        Some(rank) => format!(
            "; the candidate with the lowest rank leads next. This candidate has the rank {rank}, \
             and can lead again unless you end its runner"
        ),
        None => String::new(),
    };
    say(&context, &answer, "resigned", &next)
}

/// Orders the leader on this machine to stop its CMD and hand over to another candidate.
pub(super) async fn transfer(
    settings: TransferSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let wait = settings.wait;
    let began = clock::now();
    let answer = loop {
        let left = wait.map(|wait| wait.saturating_sub(clock::now().since(began)));
        let refused = match ask(&settings, left, &context).await {
            Err(refused) if refused.exit == Exit::Refused => refused,
            asked => break asked?,
        };
        let ends = left.is_none_or(|left| left <= AGAIN);
        if ends || !client::may_pass(&settings.tell, &refused).await {
            return Err(refused);
        }
        tokio::time::sleep(AGAIN).await;
    };
    let to = settings.to;
    if answer["unchanged"] == true {
        return say(&context, &answer, "leads already", "");
    }
    match answer["held_ms"].as_u64() {
        Some(held) => {
            let held = Duration::from_millis(held);
            let when = format!("; {to} can lead in {held:?}, when a promise to tenure verify ends");
            say(&context, &answer, &format!("hands over to {to}"), &when)
        }
        None if answer["seen"] == true => {
            say(&context, &answer, &format!("handed over to {to}"), "")
        }
        None => {
            let (when, exit) = match answer["leader"].as_str() {
                Some(leader) => {
                    let fence = &answer["fence"];
                    let when =
                        format!(", which was not seen to lead: {leader} leads now, fence {fence}");
                    (when, Exit::Wrong)
                }
                None if wait.is_some() => (
                    format!("; neither {to} nor anybody else has been seen to lead"),
                    Exit::Unknown,
                ),
                None => (format!("; {to} has not been seen to lead"), Exit::Done),
            };
            say(&context, &answer, &format!("gave way to {to}"), &when)?;
            Ok(exit)
        }
    }
}

/// Asks the leading runner once. `left` is the rest of the wait.
async fn ask(
    TransferSettings { tell, to, wait }: &TransferSettings,
    left: Option<Duration>,
    context: &Context,
) -> Result<Value, Failure> {
    let socket = client::find_leader(tell, &context.origins).await?;
    let whole = |left: Duration| left.as_nanos().div_ceil(1_000_000);
    let wait_ms = left.map(|left| u64::try_from(whole(left)).unwrap_or(u64::MAX));
    let request = Request::Transfer { to: to.to_string(), wait_ms };
    let Some(left) = left else { return client::ask(&socket, &request).await };
    match client::ask_for(&socket, &request, left.saturating_add(LATER)).await? {
        Some(answer) => Ok(answer),
        None => Err(not_yet(&socket, to, &tell.election, wait.unwrap_or(left)).await),
    }
}

/// Interval of the requests while a refusal may pass by itself.
const AGAIN: Duration = Duration::from_millis(100);

/// The extra time for a runner to answer after the requested wait.
const LATER: Duration = Duration::from_secs(1);

/// The failure while the hand-over goes on, or while other nodes do not know its end.
async fn not_yet(socket: &Path, to: &NodeName, election: &ElectionName, wait: Duration) -> Failure {
    let why = client::held_up_by(socket).await;
    let what = format!("{to} cannot lead {election} yet after {wait:?}: {why}");
    let fix = "the hand-over still goes on: wait longer, and ask tenure leader";
    Failure::new(Exit::Unknown, what, fix)
}

fn say(context: &Context, answer: &Value, done: &str, when: &str) -> Result<Exit, Failure> {
    let text = if context.json { answer.to_string() } else { describe(answer, done, when) };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

fn describe(answer: &Value, done: &str, when: &str) -> String {
    let text = |key: &str| answer[key].as_str().unwrap_or("?").to_owned();
    format!("{} {done} ({}){when}", text("id"), text("election"))
}
