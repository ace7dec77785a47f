//! A task for each name. The task looks the name up at the start and when its member falls silent,
//! but not too often.

use std::sync::Arc;
use std::time::Duration;

use tenure::clock;
use tenure_core::nerio::HostPort;
use tenure_core::{NodeName, Time};
use tokio::sync::{Notify, mpsc};

use super::look_up::LookUp;

/// Shortest pause between two look-ups of one name, and the longest pause after several.
const GAP: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// Pause after which look-ups begin with the shortest gap again.
const CALM: Duration = Duration::from_secs(60);
/// Pause between look-ups of a name with several addresses, whose member must be one process.
const SEVERAL: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct LookUpResult {
    pub(super) member: NodeName,
    /// The host of the member that has the name.
    pub(super) host: HostPort,
    /// Addresses of the name, or the reason why there are none.
    pub(super) found: Result<Vec<std::net::SocketAddr>, String>,
}

impl LookUpResult {
    pub(crate) const fn member(&self) -> &NodeName {
        &self.member
    }
}

/// Looks up the name of this host of `member` until the receiver of results is dropped. Looks
/// until the name has addresses. After that, looks each time that `again` reports silence, and
/// every 15 s if there are several addresses.
pub(super) async fn seek(
    member: NodeName,
    host: HostPort,
    mut look_up: LookUp,
    again: Arc<Notify>,
    looked: mpsc::UnboundedSender<LookUpResult>,
) {
    let mut pace = Pace::default();
    let mut before = None;
    loop {
        let found = look_up.ask().await;
        let is_new = before.as_ref() != Some(&found);
        let (is_found, several) = match &found {
            Ok(all) => (true, all.len() > 1),
            Err(_) => (false, false),
        };
        before = Some(found.clone());
        let (member, host) = (member.clone(), host.clone());
        if looked.send(LookUpResult { member, host, found }).is_err() {
            return;
        }
        let gap = pace.next(clock::now(), is_new);
        if is_found {
            let silent = again.notified();
            if several { drop(tokio::time::timeout(SEVERAL, silent).await) } else { silent.await }
        }
        tokio::select! {
            () = tokio::time::sleep(jittered(gap)) => {}
            () = looked.closed() => return,
        }
    }
}

#[derive(Debug, Default)]
struct Pace {
    last: Option<Time>,
    gap: Duration,
}

impl Pace {
    fn next(&mut self, now: Time, is_new: bool) -> Duration {
        let calm = self.last.is_none_or(|last| now.since(last) >= CALM);
        self.last = Some(now);
        self.gap = if is_new || calm { GAP.0 } else { (self.gap * 2).clamp(GAP.0, GAP.1) };
        self.gap
    }
}

/// Between three and five quarters of `gap`, so that nodes that lost one peer do not all ask at
/// once.
fn jittered(gap: Duration) -> Duration {
    // Without a random number, use the middle.
    let draw = tenure::driver::random().map_or(500, |number| (number % 1_000) as u32);
    gap * 3 / 4 + gap / 2 * draw / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn failed_look_ups_slow_down() {
        let mut pace = Pace::default();
        let gaps: Vec<_> = (1..8).map(|n| pace.next(at(n), n == 1).as_secs()).collect();
        assert_eq!(gaps, [1, 2, 4, 8, 10, 10, 10]);
        assert_eq!(pace.next(at(8), true).as_secs(), 1, "something has changed");
        assert_eq!(pace.next(at(9), false).as_secs(), 2);
        assert_eq!(pace.next(at(69), false).as_secs(), 1, "a minute later");
    }

    #[test]
    fn gap_is_drawn_around_middle() {
        for _ in 0..1_000 {
            let gap = jittered(Duration::from_secs(4)).as_millis();
            assert!((3_000..5_000).contains(&gap), "{gap}");
        }
    }

    /// The task looks a missing name up again without a request. The task ends with its node.
    #[tokio::test]
    async fn missing_name_is_asked_again() {
        let (send, mut looked) = mpsc::unbounded_channel();
        let host = "nobody.invalid:7".parse().unwrap();
        let look_up = LookUp::new("nobody.invalid".to_owned(), 7);
        let member = NodeName::new("d").unwrap();
        let task = tokio::spawn(seek(member.clone(), host, look_up, Arc::default(), send));
        for _ in 0..2 {
            let looked = looked.recv().await.unwrap();
            assert!(looked.member == member && looked.found.is_err());
        }
        drop(looked);
        task.await.unwrap();
    }
}
