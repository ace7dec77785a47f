//! The start of a participant, within a limited time.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::{Time, clock};
use tokio::sync::watch;

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::protocol::{Participant, Protocol, StartedParticipant};

/// The shortest time for a start, even under a shorter limit.
const STARTING: Duration = Duration::from_secs(1);

/// The pause between two attempts.
const AGAIN: Duration = Duration::from_millis(250);

/// The command reports a start that lasts longer.
const LASTS: Duration = Duration::from_secs(2);

/// The number of remembered reasons; further reasons are reported again.
const REASONS_MAX: usize = 32;

/// The reason for which a start has no answer of the service yet.
pub(super) type Silence = watch::Receiver<Option<Failure>>;

/// Starts a participant that needs an answer of its service. Until `until` a silent service is no
/// failure, and the command reports the reasons. Fails with [`Exit::Unknown`] only when the time is
/// over.
pub(super) async fn within<'a>(
    until: Time,
    protocol: &Protocol,
    silence: Silence,
    once: impl Fn() -> StartedParticipant<'a>,
    mut tell: impl FnMut(&Failure),
) -> Result<Box<dyn Participant>, Failure> {
    let left = || until.since(clock::now());
    let mut silent = None;
    loop {
        let start = aloud(once(), silence.clone(), &mut tell);
        match tokio::time::timeout(left().max(STARTING), start).await {
            Ok(Err(failure)) if failure.exit == Exit::Unknown => {
                tell(&failure);
                silent = Some(failure);
            }
            Ok(started) => return started,
            Err(_) => silent = silence.borrow().clone().or(silent),
        }
        if left().is_zero() {
            let fix = "check that the service or the members answer, or give a longer --wait";
            let unknown = || Failure::new(Exit::Unknown, protocol.unknown, fix);
            return Err(silent.unwrap_or_else(unknown));
        }
        tokio::time::sleep(AGAIN.min(left())).await;
    }
}

/// Awaits a start. After [`LASTS`], reports why the service has not answered.
pub(super) async fn aloud(
    mut start: StartedParticipant<'_>,
    mut silence: Silence,
    mut tell: impl FnMut(&Failure),
) -> Result<Box<dyn Participant>, Failure> {
    let mut long = Box::pin(tokio::time::sleep(LASTS));
    let mut lasts = false;
    loop {
        tokio::select! {
            biased;
            started = &mut start => return started,
            () = &mut long, if !lasts => lasts = true,
            Ok(()) = silence.changed(), if lasts => {}
        }
        let why = silence.borrow_and_update().clone();
        why.iter().for_each(&mut tell);
    }
}

/// Warns of each reason once, with `ends` before the remedy.
pub(super) fn warns(ends: &'static str) -> impl FnMut(&Failure) {
    let mut told = BTreeSet::new();
    move |Failure { what, fix, .. }: &Failure| {
        let text = format!("{what}{ends}: {fix}");
        if told.len() >= REASONS_MAX {
            told.clear();
        }
        if told.insert(text.clone()) {
            failure::warn(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::protocol::{ALL, at_once};

    /// A service that ignores two starts, and refuses the third.
    async fn starts(span: Duration) -> (Exit, u32, u32) {
        let tries = Cell::new(0);
        let mut told = 0;
        let once = || -> StartedParticipant<'_> {
            tries.set(tries.get() + 1);
            let exit = if tries.get() > 2 { Exit::Refused } else { Exit::Unknown };
            at_once(Err(Failure::new(exit, "no", "wait")))
        };
        let until = clock::now().after(span);
        let silence = watch::channel(None).1;
        let started = within(until, ALL[0], silence, once, |_| told += 1).await;
        (started.err().unwrap().exit, tries.get(), told)
    }

    #[tokio::test]
    async fn silent_services_are_asked_again() {
        assert_eq!(starts(Duration::from_secs(60)).await, (Exit::Refused, 3, 2));
        assert_eq!(starts(Duration::ZERO).await, (Exit::Unknown, 1, 1));
    }

    /// A start that ran out of time keeps its last reason.
    #[tokio::test]
    async fn short_times_end_with_the_reason() {
        let (tell, silence) = watch::channel(None);
        tell.send_replace(Some(Failure::new(Exit::Unknown, "nobody listens", "begin it")));
        let once = || -> StartedParticipant<'_> { Box::pin(std::future::pending()) };
        let ended = within(clock::now(), ALL[0], silence, once, |_| ()).await;
        assert_eq!(ended.err().unwrap().what, "nobody listens");
    }
}
