//! The latest events, in a ring that all subscribers read at their own pace.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tenure::{ElectionName, clock};
use tokio::sync::watch;

use crate::ring::Ring;
use crate::watch::lock;

/// The largest number of events that are kept for subscribers that come back.
const RING_MAX: usize = 1_024;
/// The largest size of the data of all kept events, in bytes.
const RING_BYTES: usize = 4 * 1_024 * 1_024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    View,
    Here,
    Member,
    Gap,
}

impl Kind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Here => "here",
            Self::Member => "member",
            Self::Gap => "gap",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    /// The election that the event is about; `None` for members.
    pub(crate) election: Option<ElectionName>,
    pub(crate) data: Arc<str>,
}

impl AsRef<str> for Event {
    fn as_ref(&self) -> &str {
        &self.data
    }
}

#[derive(Debug)]
pub(crate) struct Events {
    ring: Mutex<Ring<Event>>,
    /// The id of the first event of this process.
    first: u64,
    /// The id of the next event.
    next: watch::Sender<u64>,
}

/// The events after an id.
pub(crate) enum Since {
    Events(Vec<Event>),
    /// Number of events that the subscriber missed; `None` if this process does not know it.
    Missed(Option<u64>),
}

impl Default for Events {
    fn default() -> Self {
        // Ids begin with the time in microseconds. A process sends less than one event in each
        // microsecond, so the ids of an earlier process are lower.
        let millis = Duration::from_nanos(clock::wall().as_nanos()).as_millis();
        let first = u64::try_from(millis).unwrap_or(0).saturating_mul(1_000);
        let ring = Mutex::new(Ring::new(RING_MAX, RING_BYTES));
        Self { ring, first, next: watch::Sender::new(first) }
    }
}

impl Events {
    pub(crate) fn put(&self, kind: Kind, election: &ElectionName, data: &impl Serialize) {
        self.push(kind, Some(election.clone()), data);
    }

    pub(crate) fn put_member(&self, data: &impl Serialize) {
        self.push(Kind::Member, None, data);
    }

    fn push(&self, kind: Kind, election: Option<ElectionName>, data: &impl Serialize) {
        let Ok(data) = serde_json::to_string(data) else { return };
        let mut ring = lock(&self.ring);
        let id = *self.next.borrow();
        // The ring drops an event that is too long at once. Every subscriber then sees a gap.
        ring.push(Event { id, kind, election, data: data.into() });
        self.next.send_replace(id + 1);
    }

    /// A receiver of the next event's id, which changes with each event.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.next.subscribe()
    }

    /// The events from the id `from` on.
    pub(crate) fn since(&self, from: u64) -> Since {
        let ring = lock(&self.ring);
        let next = *self.next.borrow();
        let oldest = ring.entries().front().map_or(next, |event| event.id);
        if from < self.first || from > next {
            return Since::Missed(None);
        }
        if from < oldest {
            return Since::Missed(Some(oldest - from));
        }
        let skipped = usize::try_from(from - oldest).unwrap_or(usize::MAX);
        Since::Events(ring.entries().iter().skip(skipped).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_forgets_and_counts() {
        let events = Events::default();
        let name: ElectionName = "e".parse().unwrap();
        for _ in 0..RING_MAX + 3 {
            events.put(Kind::View, &name, &"x");
        }
        let first = events.first;
        let told = |from| match events.since(from) {
            Since::Events(events) => Ok(events.len()),
            Since::Missed(missed) => Err(missed),
        };
        assert_eq!(told(first), Err(Some(3)));
        assert_eq!(told(first + 3), Ok(RING_MAX));
        assert_eq!(told(first + 3 + RING_MAX as u64), Ok(0));
        assert_eq!(told(first - 1), Err(None), "an id of an earlier process");
        assert_eq!(told(u64::MAX), Err(None), "an id of nobody");
    }

    #[test]
    fn ring_is_bounded_by_bytes() {
        let events = Events::default();
        let name: ElectionName = "e".parse().unwrap();
        let kept = || lock(&events.ring).entries().len();
        let long = "x".repeat(RING_BYTES / 4);
        (0..8).for_each(|_| events.put(Kind::View, &name, &long));
        assert_eq!(kept(), 3, "each is longer than a fourth of the bytes");
        events.put(Kind::View, &name, &"x".repeat(RING_BYTES));
        assert_eq!(kept(), 0);
        let next = events.first + 8;
        assert!(matches!(events.since(next), Since::Missed(Some(1))));
        events.put(Kind::View, &name, &"x");
        assert!(matches!(events.since(next + 1), Since::Events(events) if events.len() == 1));
    }
}
