//! The start of one that takes part, for a time.

use std::time::Duration;

use tenure::{Time, clock};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{Participant, Protocol, Started};

/// The time to start in, however short the one that was given is.
const STARTING: Duration = Duration::from_secs(1);

/// The pause before another start.
const AGAIN: Duration = Duration::from_millis(250);

/// Starts one. Where that takes an answer of a service, none is no end before `until`: the service
/// may come yet, and why there is none is told meanwhile. Fails with [`Exit::Unknown`] only when
/// the time is over.
pub(super) async fn within<'a>(
    until: Time,
    protocol: &dyn Protocol,
    once: impl Fn() -> Started<'a>,
    mut tell: impl FnMut(&Failure),
) -> Result<Box<dyn Participant>, Failure> {
    let left = || until.since(clock::now());
    let mut silent = None;
    loop {
        match tokio::time::timeout(left().max(STARTING), once()).await {
            Ok(Err(failure)) if failure.exit == Exit::Unknown => {
                tell(&failure);
                silent = Some(failure);
            }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::protocol::{ALL, at_once};

    /// A service answers nobody at the first two starts, and refuses the third.
    async fn starts(span: Duration) -> (Exit, u32, u32) {
        let (tries, mut told) = (Cell::new(0), 0);
        let once = || -> Started<'_> {
            tries.set(tries.get() + 1);
            let exit = if tries.get() > 2 { Exit::Refused } else { Exit::Unknown };
            at_once(Err(Failure::new(exit, "no", "wait")))
        };
        let until = clock::now().after(span);
        let started = within(until, ALL[0], once, |_| told += 1).await;
        (started.err().unwrap().exit, tries.get(), told)
    }

    #[tokio::test]
    async fn silent_services_are_asked_again() {
        assert_eq!(starts(Duration::from_secs(60)).await, (Exit::Refused, 3, 2));
        assert_eq!(starts(Duration::ZERO).await, (Exit::Unknown, 1, 1));
    }
}
