//! `tenure observe`: who leads, now and whenever that changes.

use serde_json::{Value, json as object};
use tenure::{Change, ElectionName, LeaderView, View, clock};

use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::protocol::{Asks, Protocol};
use crate::settings::Context;
use crate::settings::ask::AskSettings;

/// Prints a line for each change until a signal ends it.
pub(super) async fn run(settings: AskSettings, context: Context) -> Result<Exit, Failure> {
    let AskSettings { protocol, backend, election, .. } = settings;
    let Context { json: as_json, origins } = context;
    let mut signals = Signals::new()?;
    let participant = backend.asker(&election, Asks::On, &origins)?;
    let mut permanent_failure = participant.permanent_failure();
    let mut observer = participant.election(&election).observe();
    loop {
        let change = tokio::select! {
            biased;
            signal = signals.next() => return Ok(Exit::Signal(signal)),
            failure = &mut permanent_failure => return Err(failure),
            change = observer.next() => change,
        };
        if matches!(change, Some(Change::View(View::Unknown { .. }))) {
            // A refusal is heard of first, by a task that may be waiting for its turn.
            tokio::select! {
                biased;
                failure = &mut permanent_failure => return Err(failure),
                () = tokio::task::yield_now() => {}
            }
        }
        let text = match change {
            Some(Change::View(view)) if as_json => json(&election, &view).to_string(),
            Some(Change::View(view)) => line(&view, protocol),
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
pub(super) fn line(view: &View, protocol: &dyn Protocol) -> String {
    match view {
        View::Leader(LeaderView { id, leaving: Some(leaving), .. }) => {
            let left = leaving.since(clock::now());
            format!(
                "vacant: {id} has stepped down, and promised that nobody else leads for {left:.1?} \
                 more"
            )
        }
        View::Leader(leader) => format!("leader {}", of_leader(leader)),
        View::Leaders { followed, others } => {
            let others: Vec<_> = others.iter().map(of_leader).collect();
            format!("leader {}; also leading: {}", of_leader(followed), others.join("; "))
        }
        View::Vacant => "vacant: nobody leads".to_owned(),
        View::Unknown { .. } => format!("unknown: {}", protocol.unknown()),
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
            "why": format!(
                "{id} has stepped down, and promised that nobody else leads for a while"
            ),
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
    // Not every protocol has these.
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
