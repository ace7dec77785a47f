//! `tenure leader`: who leads.

use tenure::View;

use super::observe::{json, line};
use super::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::ask::AskSettings;

/// Prints who leads and ends.
pub(super) async fn run(settings: AskSettings) -> Result<Exit, Failure> {
    let AskSettings { with, election, wait, json: as_json, ledger } = settings;
    let participant = open::asker(&with, &election, &ledger)?;
    let hopeless = participant.hopeless(&ledger);
    let handle = participant.election(&election);
    let ask = async {
        match wait {
            None => handle.leader(open::patience(&with)).await,
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
                    Err(_) => handle.leader(open::patience(&with)).await,
                }
            }
        }
    };
    let view = tokio::select! {
        biased;
        view = ask => view,
        failure = hopeless => return Err(failure),
    };
    let text =
        if as_json { json(&election, &view).to_string() } else { line(&view, with.protocol()) };
    output::print(&format!("{text}\n"))?;
    match view {
        View::Leader(_) => Ok(Exit::Done),
        View::Vacant => Ok(Exit::Vacant),
        View::Unknown { .. } => participant.silent().map_or(Ok(Exit::Unknown), Err),
    }
}
