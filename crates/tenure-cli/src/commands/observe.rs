//! `tenure observe`: prints the leader now, and each change.

use std::time::Duration;

use serde_json::{Value, json as object};
use tenure::{Change, ElectionName, LeaderView, View, clock};
use tenure_http::ViewWords;

use super::role_table::{self, Question};
use super::signals::Signals;
use super::starting;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::AskSettings;
use crate::output;
use crate::protocol::{AskMode, Participant, Protocol};
use crate::settings::Context;

/// Time to wait for the first leader before the output reports that the leader is unknown.
const SETTLING: Duration = Duration::from_secs(1);

pub(super) async fn run(settings: AskSettings, context: Context) -> Result<Exit, Failure> {
    let AskSettings { protocol, backend, election, .. } = settings;
    let Context { json: as_json, origins } = context;
    let mut signals = Signals::new()?;
    let mut reader_left = std::pin::pin!(output::reader_left());
    let start = backend.asker(&election, AskMode::On, &origins);
    let participant = tokio::select! {
        biased;
        signal = signals.next() => return Ok(Exit::Signal(signal)),
        () = &mut reader_left => return Ok(Exit::Done),
        participant = starting::aloud(start, backend.silence(), starting::warns("")) => {
            participant?
        }
    };
    if backend.asks_for_all() {
        let asked = Question { election: &election, protocol, json: as_json };
        let patience = backend.patience();
        return role_table::follow(asked, &*participant, &mut signals, reader_left, patience).await;
    }
    let election = backend.parts(&election).pop().map_or(election, |part| part.election);
    let mut permanent_failure = participant.permanent_failure();
    let mut observer = participant.election(&election).observe();
    // The leader is always unknown in the first moment.
    let mut settling = Box::pin(tokio::time::sleep(SETTLING));
    let (mut settled, mut held) = (false, None);
    let mut ahead = None;
    loop {
        let change = match ahead.take() {
            Some(change) => change,
            None => tokio::select! {
                biased;
                signal = signals.next() => return Ok(Exit::Signal(signal)),
                () = &mut reader_left => return Ok(Exit::Done),
                failure = &mut permanent_failure => return Err(failure),
                change = observer.next() => change,
                () = &mut settling, if !settled => {
                    settled = true;
                    match held.take() {
                        Some(change) => Some(change),
                        None => continue,
                    }
                }
            },
        };
        if !settled && matches!(change, Some(Change::View(View::Unknown { .. }))) {
            held = change;
            continue;
        }
        (settled, held) = (true, None);
        // Keep a change that comes while the command asks for the reason.
        let why = tokio::select! {
            biased;
            signal = signals.next() => return Ok(Exit::Signal(signal)),
            () = &mut reader_left => return Ok(Exit::Done),
            failure = &mut permanent_failure => return Err(failure),
            why = why_nobody(&*participant, protocol, &election, change.as_ref()) => why,
            next = observer.next(), if change.is_some() => {
                ahead = Some(next);
                None
            }
        };
        let Some(change) = change else {
            // The participant has ended the observer; the reason follows in a moment.
            let why = tokio::time::timeout(SETTLING, permanent_failure).await;
            return Err(why.unwrap_or_else(|_| ended_by_itself()));
        };
        let text = told(&election, &change, why, as_json);
        if let Some(exit) = print(&mut signals, &format!("{text}\n")).await? {
            return Ok(exit);
        }
    }
}

fn ended_by_itself() -> Failure {
    Failure::new(Exit::Bug, "the node ended by itself", "report this error with the log")
}

/// Prints `text`, and returns the exit code if a signal ends the command while the reader is slow.
pub(super) async fn print(signals: &mut Signals, text: &str) -> Result<Option<Exit>, Failure> {
    tokio::select! {
        biased;
        signal = signals.next() => Ok(Some(Exit::Signal(signal))),
        is_read = output::reaches_aside(text) => Ok((!is_read?).then_some(Exit::Done)),
    }
}

fn told(election: &ElectionName, change: &Change, why: Option<String>, as_json: bool) -> String {
    match change {
        Change::View(view) if as_json => {
            let mut told = json(election, view);
            if let Some(why) = why {
                told["why"] = why.into();
            }
            told.to_string()
        }
        Change::View(view) => line(view, why.as_deref()),
        Change::Reset if as_json => {
            object!({"election": election.as_str(), "state": "reset"}).to_string()
        }
        Change::Reset => "reset: some changes were missed".to_owned(),
        // JSON also has a line for each kind of change that is unknown to this version of the
        // command.
        other if as_json => {
            object!({"election": election.as_str(), "state": format!("{other:?}")}).to_string()
        }
        other => format!("{other:?}"),
    }
}

/// The known reason for an election without a leader, or with an unknown leader.
async fn why_nobody(
    participant: &dyn Participant,
    protocol: &Protocol,
    election: &ElectionName,
    change: Option<&Change>,
) -> Option<String> {
    match change.and_then(Change::view)? {
        View::Vacant => participant.why_vacant(election).await,
        View::Unknown { .. } => {
            // Let the task that reports a refusal run first.
            tokio::task::yield_now().await;
            let why = participant.unknown(election).await.or_else(|| participant.trouble());
            Some(why.unwrap_or_else(|| protocol.unknown.to_owned()))
        }
        View::Leader(_) | View::Leaders { .. } => None,
    }
}

/// A state on one line for people, with the reason `why` if no leader is known.
pub(super) fn line(view: &View, why: Option<&str>) -> String {
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
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
        View::Vacant => format!("vacant: nobody leads{why}"),
        View::Unknown { .. } => format!("unknown{why}"),
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
        text += &format!(", heard {} ago", tenths(clock::now().since(*heard)));
    }
    text
}

/// A span for people, rounded down.
pub(super) fn tenths(span: Duration) -> String {
    let tenths = span.as_millis() / 100;
    format!("{}.{}s", tenths / 10, tenths % 10)
}

/// A state as a JSON object, in the words of answers over HTTP.
pub(super) fn json(election: &ElectionName, view: &View) -> Value {
    let mut told = serde_json::to_value(ViewWords::of(view, clock::now())).unwrap_or_default();
    told["election"] = election.as_str().into();
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_leaders_are_named() {
        let leader = |id: &str| LeaderView::new(id.into(), b"at".as_slice().into());
        // The clock has not reached `heard`, so its age is zero, even on a slow machine.
        let later = clock::now().after(Duration::from_secs(3_600));
        let heard = LeaderView { heard: Some(later), ..leader("b") };
        let view = View::Leaders { followed: leader("a"), others: vec![heard] };
        let told = json(&"billing".parse().unwrap(), &view);
        assert_eq!(told["id"], "a");
        let others = told["others"].as_array().unwrap();
        assert_eq!((others.len(), &others[0]["id"]), (1, &Value::from("b")));
        assert_eq!(others[0]["heard_ms"], 0, "{told}");
        let alone = json(&"billing".parse().unwrap(), &View::Leader(leader("a")));
        assert!(alone.get("others").is_none(), "{alone}");
    }
}
