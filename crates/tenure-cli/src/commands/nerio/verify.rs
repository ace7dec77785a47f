//! `tenure verify`: asks the leader itself for a promise.

use serde_json::json;
use tenure::{View, clock};

use crate::commands::observe::{json as state, line};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::ask::VerifySettings;
use crate::output::{self, millis};
use crate::protocol::nerio::PROTOCOL;
use crate::protocol::{AskMode, Backend, Participant};
use crate::settings::Context;

/// Asks the members for the leader, and the leader for its promise.
pub(in crate::commands) async fn run(
    settings: VerifySettings,
    context: Context,
) -> Result<Exit, Failure> {
    let VerifySettings { grantors, election, wait } = settings;
    let asker = grantors.ask(AskMode::Once, &context.origins)?;
    let handle = asker.election(&election);
    let failure = asker.permanent_failure();
    let patience = wait.unwrap_or_else(|| grantors.patience());
    let view = tokio::select! {
        biased;
        view = handle.leader(patience) => view,
        failure = failure => return Err(failure),
    };
    let Some(leader) = view.leader().filter(|leader| leader.leaving.is_none()) else {
        let unknown = matches!(view, View::Unknown { .. });
        let told = if context.json {
            state(&election, &view).to_string()
        } else {
            line(&view, unknown.then_some(PROTOCOL.unknown))
        };
        output::print(&format!("{told}\n"))?;
        if !unknown {
            return Ok(Exit::Vacant);
        }
        return asker.why_unknown(&election).await.map_or(Ok(Exit::Unknown), Err);
    };
    let verified = asker.verify(&election, leader, patience).await?;
    let left = verified.until.since(clock::now());
    let fence = verified.fence.map(tenure::Fence::number);
    let text = if context.json {
        json!({
            "election": election.as_str(),
            "state": "verified",
            "id": verified.leader.as_str(),
            "fence": fence,
            "remaining_ms": millis(left),
        })
        .to_string()
    } else {
        let fence = fence.map_or_else(String::new, |fence| format!(", fence {fence}"));
        format!("verified {}{fence}, for {left:.1?} at least", verified.leader)
    };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
