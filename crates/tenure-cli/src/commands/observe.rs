//! `tenure observe`: who leads, now and whenever that changes.

use serde_json::{Value, json as object};
use tenure::{Change, ElectionName, LeaderView, View, clock};

use super::open::{self, Asks};
use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Protocol;
use crate::settings::ask::AskSettings;

/// Prints a line for each change until it is told to end.
pub(super) async fn run(settings: AskSettings) -> Result<Exit, Failure> {
    let AskSettings { with, election, json: as_json, ledger, .. } = settings;
    let mut signals = Signals::new()?;
    let participant = open::asker(&with, &election, Asks::On, &ledger)?;
    let mut hopeless = participant.hopeless(&ledger);
    let mut observer = participant.election(&election).observe();
    loop {
        let change = tokio::select! {
            biased;
            signal = signals.next() => return Ok(Exit::Signal(signal)),
            failure = &mut hopeless => return Err(failure),
            change = observer.next() => change,
        };
        if matches!(change, Some(Change::View(View::Unknown { .. }))) {
            // A refusal is heard of first, by a task that may be waiting for its turn.
            tokio::select! {
                biased;
                failure = &mut hopeless => return Err(failure),
                () = tokio::task::yield_now() => {}
            }
        }
        let text = match change {
            Some(Change::View(view)) if as_json => json(&election, &view).to_string(),
            Some(Change::View(view)) => line(&view, with.protocol()),
            Some(Change::Reset) if as_json => {
                object!({"election": election.as_str(), "state": "reset"}).to_string()
            }
            Some(Change::Reset) => "reset: some changes were missed".to_owned(),
            // The library knows more than this command, and nothing is kept back.
            Some(other) if as_json => {
                object!({"election": election.as_str(), "state": format!("{other:?}")}).to_string()
            }
            Some(other) => format!("{other:?}"),
            None => {
                let what = "the node ended by itself";
                return Err(Failure::new(Exit::Bug, what, "report it with the log"));
            }
        };
        output::print(&format!("{text}\n"))?;
    }
}

/// A state on one line for people.
pub(super) fn line(view: &View, protocol: Protocol) -> String {
    match view {
        View::Leader(LeaderView { id, leaving: Some(leaving), .. }) => {
            let left = leaving.since(clock::now());
            format!(
                "vacant: {id} has given up, and promised that nobody else leads for {left:.1?} more"
            )
        }
        View::Leader(leader) => format!("leader {}", of_leader(leader)),
        View::Leaders { followed, others } => {
            let others: Vec<_> = others.iter().map(of_leader).collect();
            format!("leader {}; also leading: {}", of_leader(followed), others.join("; "))
        }
        View::Vacant => "vacant: nobody leads".to_owned(),
        View::Unknown { .. } => match protocol {
            Protocol::Nerio => {
                "unknown: no quorum of grantors answers, or their answers do not agree".to_owned()
            }
            Protocol::Etcd => "unknown: etcd does not answer, or has no quorum".to_owned(),
        },
    }
}

fn of_leader(leader: &LeaderView) -> String {
    let LeaderView { id, value, fence, until, heard, .. } = leader;
    let mut text = id.to_string();
    if !value.as_bytes().is_empty() {
        text += &format!(" ({value})");
    }
    if let Some(fence) = fence {
        text += &format!(", fence {fence}");
    }
    if let Some(until) = until {
        text += &format!(", for {:.1?} unless it renews", until.since(clock::now()));
    }
    if let Some(heard) = heard {
        text += &format!(", heard {:.1?} ago", clock::now().since(*heard));
    }
    text
}

/// A state as an object for programs. Durations in milliseconds, rounded down.
pub(super) fn json(election: &ElectionName, view: &View) -> Value {
    let election = election.as_str();
    match view {
        View::Leader(LeaderView { id, leaving: Some(leaving), .. }) => object!({
            "election": election,
            "state": "vacant",
            "why": format!("{id} has given up, and promised that nobody else leads for a while"),
            "held_ms": millis(leaving.since(clock::now())),
        }),
        View::Leader(leader) | View::Leaders { followed: leader, .. } => {
            let mut told = object!({"election": election, "state": "leader"});
            add_leader(&mut told, leader);
            if !view.others().is_empty() {
                let others = view.others().iter().map(|other| {
                    let mut told = object!({});
                    add_leader(&mut told, other);
                    told
                });
                told["others"] = others.collect();
            }
            told
        }
        View::Vacant => object!({"election": election, "state": "vacant"}),
        View::Unknown { since } => object!({
            "election": election,
            "state": "unknown",
            "for_ms": millis(clock::now().since(*since)),
        }),
    }
}

fn add_leader(told: &mut Value, leader: &LeaderView) {
    told["id"] = (*leader.id).into();
    told["value"] = leader.value.text().into();
    told["fence"] = leader.fence.map(tenure::Fence::number).into();
    // Not every protocol tells these.
    if let Some(address) = leader.address {
        told["address"] = address.to_string().into();
    }
    if let Some(until) = leader.until {
        told["remaining_ms"] = millis(until.since(clock::now())).into();
    }
    if let Some(heard) = leader.heard {
        told["heard_ms"] = millis(clock::now().since(heard)).into();
    }
}

pub(super) fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
