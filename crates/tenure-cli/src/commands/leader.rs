//! `tenure leader`: who leads.

use std::time::Duration;

use tenure::View;

use super::observe::{json, line};
use super::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::ask::AskSettings;

/// Prints who leads and ends.
pub(super) async fn run(settings: AskSettings) -> Result<Exit, Failure> {
    let AskSettings { cluster, election, wait, json: as_json, ledger } = settings;
    let node = open::asker(&cluster, &ledger)?;
    let mut notices = node.notices();
    let handle = node.election_named(election.clone());
    let ask = async {
        match wait {
            None => handle.leader(patience(&cluster.config)).await,
            Some(wait) => {
                let leads = async {
                    let mut observer = handle.observe();
                    loop {
                        let change = observer.next().await;
                        match change.as_ref().and_then(|change| change.view()) {
                            Some(view @ View::Leader(_)) => return view.clone(),
                            _ if change.is_none() => std::future::pending().await,
                            _ => {}
                        }
                    }
                };
                match tokio::time::timeout(wait, leads).await {
                    Ok(view) => view,
                    Err(_) => handle.leader(patience(&cluster.config)).await,
                }
            }
        }
    };
    let view = tokio::select! {
        biased;
        view = ask => view,
        failure = open::mismatch(&mut notices, &ledger) => return Err(failure),
    };
    let text = if as_json { json(&election, &view).to_string() } else { line(&view) };
    output::print(&format!("{text}\n"))?;
    Ok(match view {
        View::Leader(_) => Exit::Done,
        View::Vacant => Exit::Vacant,
        View::Unknown { .. } => Exit::Unknown,
    })
}

/// How long to ask before it is unknown: several questions to each grantor.
pub(super) fn patience(config: &tenure::nerio::Config) -> Duration {
    config.round_trip * 20 + Duration::from_secs(1)
}
