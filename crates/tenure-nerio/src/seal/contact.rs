//! Contacts: nodes that this process addresses of its own accord.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::Time;

const OTHERS_MAX: usize = 64;
/// Silence after which a contact is greeted again: it may have been restarted.
const AGAIN: Duration = Duration::from_millis(50);
/// Silence after which a contact that sends without a key is greeted again.
const NO_KEY_YET: Duration = Duration::from_millis(250);
/// After this many unanswered hellos over at least this span, a node that has shown a key may have
/// been restarted without the key.
const GONE: (u32, Duration) = (3, Duration::from_secs(1));

/// Whether the span since `heard` is so long that the node may have been restarted without a key.
pub(super) fn is_long(now: Time, heard: Time) -> bool {
    now.since(heard) >= GONE.1
}

#[derive(Default)]
pub(super) struct Contact {
    /// Time and number of the last hello to the contact.
    greeted: Option<(Time, u64)>,
    answered: Option<u64>,
    unanswered: Option<(Time, u32)>,
    /// Time of the first datagram to the contact without an answer.
    silent: Option<Time>,
    /// Whether the contact has sent without a key, and has shown no key since.
    unsealed: bool,
    /// Latest datagram, not sealed yet, which waits for a welcome.
    pub(super) waiting: Option<Vec<u8>>,
}

impl Contact {
    /// Whether a hello must go before a datagram at `now`.
    pub(super) fn is_due(&self, now: Time, known: bool) -> bool {
        let again = if self.unsealed { NO_KEY_YET } else { AGAIN };
        let long = |since: Time| now.since(since) >= again;
        let lately = self.greeted.is_some_and(|(at, _)| !long(at));
        !lately && (!known || self.silent.is_some_and(long))
    }

    pub(super) fn greeted(&mut self, now: Time, number: u64) {
        self.greeted = Some((now, number));
        let (since, hellos) = self.unanswered.unwrap_or((now, 0));
        self.unanswered = Some((since, hellos.saturating_add(1)));
    }

    pub(super) fn sent(&mut self, now: Time) {
        self.silent.get_or_insert(now);
    }

    pub(super) fn heard(&mut self) {
        self.silent = None;
        self.unanswered = None;
        self.unsealed = false;
    }

    pub(super) fn heard_unsealed(&mut self) {
        self.silent = None;
        self.unsealed = true;
    }

    /// Whether a node that has shown no key counts as a node without a key. Such a node sends
    /// without a key, or does not answer a hello.
    pub(super) fn has_no_key(&self, now: Time) -> bool {
        self.unsealed || self.unanswered.is_some_and(|(since, _)| now.since(since) >= AGAIN)
    }

    /// Whether a node that has shown a key may have been restarted without one.
    pub(super) fn is_gone(&self, now: Time) -> bool {
        let (hellos, _) = GONE;
        self.unanswered.is_some_and(|(since, sent)| sent >= hellos && is_long(now, since))
    }

    /// Whether a hello was not answered yet, so that a welcome may come.
    pub(super) fn awaits(&self) -> bool {
        self.greeted.is_some_and(|(_, number)| Some(number) > self.answered)
    }

    /// Notes the answer to hello number `number`. Returns whether the answer is new.
    pub(super) fn answer(&mut self, number: u64) -> bool {
        let sent = self.greeted.is_some_and(|(_, last)| number <= last);
        let news = sent && Some(number) > self.answered;
        if news {
            self.answered = Some(number);
        }
        news
    }
}

pub(super) struct Contacts {
    members: BTreeSet<SocketAddr>,
    all: BTreeMap<SocketAddr, Contact>,
}

impl Contacts {
    pub(super) fn new(members: BTreeSet<SocketAddr>) -> Self {
        Self { members, all: BTreeMap::new() }
    }

    /// Sets the addresses that members may have. Returns the addresses that were added or removed.
    pub(super) fn members_are(&mut self, members: BTreeSet<SocketAddr>) -> Vec<SocketAddr> {
        let news: Vec<_> = self.members.symmetric_difference(&members).copied().collect();
        self.all.retain(|address, _| !news.contains(address));
        self.members = members;
        news
    }

    pub(super) fn is_member(&self, address: SocketAddr) -> bool {
        self.members.contains(&address)
    }

    /// The contact at `address`; forgets another contact if there is no room.
    pub(super) fn admit(&mut self, address: SocketAddr) -> &mut Contact {
        if !self.all.contains_key(&address) && self.all.len() >= self.members.len() + OTHERS_MAX {
            let others = self.all.iter().filter(|(other, _)| !self.members.contains(other));
            let oldest = others.min_by_key(|(_, contact)| contact.greeted.map(|(at, _)| at));
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.all.remove(&oldest);
            }
        }
        self.all.entry(address).or_default()
    }

    pub(super) fn get(&mut self, address: SocketAddr) -> Option<&mut Contact> {
        self.all.get_mut(&address)
    }

    pub(super) fn clear(&mut self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.all).into_keys().collect()
    }
}
