//! `tenure verify`: a leader's own word that it leads.

use serde_json::json;
use tenure::{View, clock};

use super::observe::{json as state, line};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::AskSettings;
use crate::output::{self, millis};
use crate::protocol::Asks;
use crate::settings::Context;

/// Asks who leads, and the leader whether it does.
pub(super) async fn run(settings: AskSettings, context: Context) -> Result<Exit, Failure> {
    let AskSettings { protocol, backend, election, wait } = settings;
    let asker = backend.asker(&election, Asks::Once, &context.origins).await?;
    let (handle, failure) = (asker.election(&election), asker.permanent_failure());
    let patience = wait.unwrap_or_else(|| backend.patience());
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
            line(&view, unknown.then_some(protocol.unknown))
        };
        output::print(&format!("{told}\n"))?;
        if !unknown {
            return Ok(Exit::Vacant);
        }
        return asker.why_unknown(&election).await.map_or(Ok(Exit::Unknown), Err);
    };
    let verified = asker.leaders()?.verify(&election, leader, patience).await?;
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
