//! `tenure leader`: prints the leader.

use std::time::Duration;

use tenure::{ElectionName, View, clock};

use super::observe::{json, line, tenths};
use super::role_table::{self, Question};
use super::starting;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::ask::AskSettings;
use crate::output::{self, millis};
use crate::protocol::{AnyElection, AskMode};
use crate::settings::Context;

/// Time to wait for the reason why the leader is unknown: the task that finds the reason may run
/// late.
const REFUSED: Duration = Duration::from_millis(100);

/// The reason for an unknown leader under `--wait 0s`.
const HURRIED: &str = "--wait 0s left no time for an answer";

pub(super) async fn run(settings: AskSettings, context: Context) -> Result<Exit, Failure> {
    let AskSettings { protocol, backend, election, wait } = settings;
    let asked = clock::now();
    let until = wait.map(|wait| asked.after(wait));
    let once = || backend.asker(&election, AskMode::Once, &context.origins);
    let participant = match until {
        Some(until) => starting::within(until, protocol, backend.silence(), once, |_| ()).await?,
        None => starting::aloud(once(), backend.silence(), starting::warns("")).await?,
    };
    let left = until.map(|until| until.since(clock::now()));
    let mut parts = backend.parts(&election);
    if parts.len() > 1 || backend.has_sides() {
        let asked = Question { election: &election, protocol, json: context.json };
        let patience = left.unwrap_or_else(|| backend.patience());
        return role_table::once(asked, &*participant, patience).await;
    }
    let election = parts.pop().map_or(election, |part| part.election);
    let mut permanent_failure = participant.permanent_failure();
    let unreachable = participant.unreachable();
    let handle = participant.election(&election);
    let ask = async {
        match left {
            None => tokio::select! {
                biased;
                view = handle.leader(backend.patience()) => view,
                () = unreachable => View::Unknown { since: clock::now() },
            },
            Some(left) => leader_within(left, &handle).await,
        }
    };
    let view = tokio::select! {
        biased;
        view = ask => view,
        failure = &mut permanent_failure => return Err(failure),
    };
    let why = match view {
        View::Vacant => participant.why_vacant(&election).await,
        View::Unknown { .. } => {
            if let Ok(failure) = tokio::time::timeout(REFUSED, permanent_failure).await {
                return Err(failure);
            }
            let why = participant.unknown(&election).await;
            let hurried = wait == Some(Duration::ZERO) && participant.trouble().is_none();
            let reason = if hurried { HURRIED } else { protocol.unknown };
            Some(why.unwrap_or_else(|| reason.to_owned()))
        }
        View::Leader(_) | View::Leaders { .. } => None,
    };
    let age = clock::now().since(asked);
    output::print(&format!("{}\n", told(&election, &view, why, age, context.json)))?;
    match view {
        View::Leader(leader) if leader.leaving.is_some() => Ok(Exit::Vacant),
        View::Leader(_) | View::Leaders { .. } => Ok(Exit::Done),
        View::Vacant => Ok(Exit::Vacant),
        View::Unknown { .. } => {
            participant.why_unknown(&election).await.map_or(Ok(Exit::Unknown), Err)
        }
    }
}

/// The text of the answer. If the election is vacant, or its leader has resigned, the text also
/// gives `age`, the time since the question.
fn told(
    election: &ElectionName,
    view: &View,
    why: Option<String>,
    age: Duration,
    as_json: bool,
) -> String {
    let is_vacant = match view {
        View::Leader(leader) => leader.leaving.is_some(),
        View::Vacant => true,
        View::Leaders { .. } | View::Unknown { .. } => false,
    };
    let age = is_vacant.then_some(age);
    if !as_json {
        let age = age.map(|age| format!("; asked {} ago", tenths(age)));
        return line(view, why.as_deref()) + &age.unwrap_or_default();
    }
    let mut told = json(election, view);
    if let Some(why) = why {
        told["why"] = why.into();
    }
    if let Some(age) = age {
        told["asked_ms"] = millis(age).into();
    }
    told.to_string()
}

/// The first leader, or the last known state when the time is over.
async fn leader_within(wait: Duration, election: &AnyElection) -> View {
    let mut known = View::Unknown { since: clock::now() };
    let mut observer = election.observe();
    let leads = async {
        while known.leader().is_none_or(|leader| leader.leaving.is_some()) {
            let Some(change) = observer.next().await else { std::future::pending().await };
            if let Some(view) = change.view() {
                known = view.clone();
            }
        }
    };
    // After a timeout `known` holds the last state.
    let _ = tokio::time::timeout(wait, leads).await;
    known
}
