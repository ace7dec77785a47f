//! `tenure leader`: who leads.

use std::time::Duration;

use tenure::{ElectionName, Time, View, clock};

use super::observe::{json, line};
use super::table::{self, Asked};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::protocol::{AnyElection, Asks, Backend, Participant, Protocol};
use crate::settings::ask::AskSettings;
use crate::settings::{Context, Origins};

/// How much later than that nobody is known to lead it may be known why: the task that finds out
/// may be waiting for its turn.
const REFUSED: Duration = Duration::from_millis(100);

/// The time to start in, however short `--wait` is.
const STARTING: Duration = Duration::from_secs(1);

/// The pause before another start.
const AGAIN: Duration = Duration::from_millis(250);

/// Prints who leads and ends.
pub(super) async fn run(settings: AskSettings, context: Context) -> Result<Exit, Failure> {
    let AskSettings { protocol, backend, election, wait } = settings;
    let until = wait.map(|wait| clock::now().after(wait));
    let participant = match until {
        Some(until) => start(&*backend, &election, protocol, until, &context.origins).await?,
        None => backend.asker(&election, Asks::Once, &context.origins).await?,
    };
    let left = until.map(|until| until.since(clock::now()));
    let mut parts = backend.parts(&election);
    if parts.len() > 1 {
        let asked = Asked { election: &election, protocol, json: context.json };
        let patience = left.unwrap_or_else(|| backend.patience());
        return table::once(asked, &*participant, patience).await;
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
            let hurried =
                wait.is_some_and(|wait| wait.is_zero()) && participant.trouble().is_none();
            Some(why.unwrap_or_else(|| match hurried {
                true => "--wait 0s gave nobody the time to answer".to_owned(),
                false => protocol.unknown().to_owned(),
            }))
        }
        View::Leader(_) | View::Leaders { .. } => None,
    };
    let text = if context.json {
        let mut told = json(&election, &view);
        if let Some(why) = why {
            told["why"] = why.into();
        }
        told.to_string()
    } else {
        line(&view, why.as_deref())
    };
    output::print(&format!("{text}\n"))?;
    match view {
        View::Leader(leader) if leader.leaving.is_some() => Ok(Exit::Vacant),
        View::Leader(_) | View::Leaders { .. } => Ok(Exit::Done),
        View::Vacant => Ok(Exit::Vacant),
        View::Unknown { .. } => {
            participant.why_unknown(&election).await.map_or(Ok(Exit::Unknown), Err)
        }
    }
}

/// Starts one that asks. Where that takes an answer of a service, none is no end before `until`:
/// the service may come yet.
async fn start(
    backend: &dyn Backend,
    election: &ElectionName,
    protocol: &dyn Protocol,
    until: Time,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let left = || until.since(clock::now());
    let mut silent = None;
    loop {
        let started = backend.asker(election, Asks::Once, origins);
        match tokio::time::timeout(left().max(STARTING), started).await {
            Ok(Err(failure)) if failure.exit == Exit::Unknown => silent = Some(failure),
            Ok(started) => return started,
            Err(_) => {}
        }
        if left().is_zero() {
            let fix = "see that what it asks runs, or give a longer --wait";
            let unknown = || Failure::new(Exit::Unknown, protocol.unknown(), fix);
            return Err(silent.unwrap_or_else(unknown));
        }
        tokio::time::sleep(AGAIN.min(left())).await;
    }
}

/// The first leader there is, or the last that was known when the time is over.
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
    // Over or not, what is known is in `known`.
    let _ = tokio::time::timeout(wait, leads).await;
    known
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tenure::NodeName;

    use super::*;
    use crate::protocol::{ALL, Started};

    /// A service that answers nobody at the first two starts, and refuses the third.
    #[derive(Debug, Default)]
    struct Late(Cell<u32>);

    impl Backend for Late {
        fn grace(&self) -> Duration {
            Duration::ZERO
        }

        fn kill_margin(&self) -> Duration {
            Duration::ZERO
        }

        fn patience(&self) -> Duration {
            Duration::ZERO
        }

        fn candidate<'a>(
            &'a self,
            _: &'a NodeName,
            election: &'a ElectionName,
            origins: &'a Origins,
        ) -> Started<'a> {
            self.asker(election, Asks::On, origins)
        }

        fn asker<'a>(&'a self, _: &'a ElectionName, _: Asks, _: &'a Origins) -> Started<'a> {
            self.0.set(self.0.get() + 1);
            let exit = if self.0.get() > 2 { Exit::Refused } else { Exit::Unknown };
            Box::pin(std::future::ready(Err(Failure::new(exit, "no", "wait"))))
        }
    }

    async fn starts(within: Duration) -> (Exit, u32) {
        let (late, election) = (Late::default(), "billing".parse().unwrap());
        let until = clock::now().after(within);
        let started = start(&late, &election, ALL[0], until, &Origins::default()).await;
        (started.err().unwrap().exit, late.0.get())
    }

    #[tokio::test]
    async fn silent_services_are_asked_again() {
        assert_eq!(starts(Duration::from_secs(60)).await, (Exit::Refused, 3));
        assert_eq!(starts(Duration::ZERO).await, (Exit::Unknown, 1));
    }
}
