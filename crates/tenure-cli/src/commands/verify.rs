//! `tenure verify`: a leader's own word that it leads (Nerio, section 10.5).

use serde_json::json;
use tenure::nerio::VerifyError;
use tenure::{View, clock};

use super::observe::{json as state, line, millis};
use super::open::{self, Asks, Participant, nerio};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::ask::VerifySettings;
use crate::settings::{Protocol, With};

/// Asks the grantors who leads, and the leader whether it does.
pub(super) async fn run(settings: VerifySettings) -> Result<Exit, Failure> {
    let VerifySettings { cluster, election, wait, json: as_json, ledger } = settings;
    let asker = nerio::asker(&cluster, Asks::Once, &ledger)?;
    let (node, troubles) = (&asker.node, asker.troubles());
    let handle = node.election_named(election.clone());
    let patience = wait.unwrap_or_else(|| open::patience(&With::Nerio(cluster)));
    let view = tokio::select! {
        biased;
        view = handle.leader(patience) => view,
        failure = troubles => return Err(failure),
    };
    let Some(leader) = view.leader().filter(|leader| leader.leaving.is_none()) else {
        let told = if as_json {
            state(&election, &view).to_string()
        } else {
            line(&view, Protocol::Nerio)
        };
        output::print(&format!("{told}\n"))?;
        if !matches!(view, View::Unknown { .. }) {
            return Ok(Exit::Vacant);
        }
        return asker.silent(&election).await.map_or(Ok(Exit::Unknown), Err);
    };
    let Some(address) = leader.address else {
        let what = format!("the grantors name {} as the leader, without an address", leader.id);
        return Err(Failure::new(Exit::Bug, what, "report it"));
    };
    match node.verify(&election, address, patience).await {
        Ok(verified) => {
            let left = verified.until.since(clock::now());
            let fence = verified.fence.map(tenure::Fence::number);
            let text = if as_json {
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
        Err(error @ VerifyError::DoesNotLead { .. }) => {
            let fix = "ask again: it has given up since the nodes were asked";
            Err(Failure::new(Exit::Refused, error.to_string(), fix))
        }
        Err(error) => {
            let what = format!("{} at {address}: {error}", leader.id);
            Err(Failure::new(Exit::Unreachable, what, "look at the leader and the way to it"))
        }
    }
}
