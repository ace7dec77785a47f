//! Troubles that an operator must mend, kept for later questions; the log has each notice once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::OwnEvent;
use tenure_core::{NodeName, Time};

use crate::notice::{KeyTrouble, Notice};

/// Shortest time for which a trouble lasts after the last datagram that showed it.
const LATELY: Duration = Duration::from_secs(60);
/// Maximum number of strangers whose troubles are kept, because their datagrams can be forged.
/// Members have places of their own.
const STRANGERS_MAX: usize = 4;

#[derive(Debug)]
pub(crate) struct LastingTroubles {
    /// Time for which a trouble lasts after its last datagram.
    lately: Duration,
    /// The troubles, by kind and by the address of the sender.
    heard: BTreeMap<(Kind, SocketAddr), Trouble>,
    /// Notice that this node receives at another address than the members list names.
    elsewhere: Option<Notice>,
    /// Notice that this node never grants again: it is no member any more, or has an old memory.
    ended: Option<Notice>,
    /// Notice that the leaders of this node have no spare member.
    no_spare: Option<Notice>,
    /// Notice that the network has outgrown the lease of this node.
    outgrown: Option<Notice>,
    /// Notices about nodes with empty directories that wait to be let in, by the names of these
    /// nodes.
    awaited: BTreeMap<NodeName, Notice>,
}

#[derive(Debug)]
struct Trouble {
    at: Time,
    notice: Notice,
    is_member: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Configuration,
    Key,
    Rights,
    Exchanged,
    ForAnother,
    Moved,
    Twice,
}

impl LastingTroubles {
    /// Keeps troubles for at least `delta_max`: the pause between two datagrams of a leader may be
    /// as long as the longest lease.
    pub(crate) fn new(delta_max: Duration) -> Self {
        Self {
            lately: LATELY.max(delta_max),
            heard: BTreeMap::new(),
            elsewhere: None,
            ended: None,
            no_spare: None,
            outgrown: None,
            awaited: BTreeMap::new(),
        }
    }

    pub(crate) fn take(&mut self, now: Time, notice: &Notice) {
        let (kind, address, is_member) = match notice {
            Notice::ListensElsewhere { .. } => return self.elsewhere = Some(notice.clone()),
            Notice::Protocol { event: OwnEvent::Removed { .. } | OwnEvent::Replaced, .. } => {
                return self.ended = Some(notice.clone());
            }
            Notice::Protocol { event: OwnEvent::NoSpare { .. }, .. } => {
                return self.no_spare = Some(notice.clone());
            }
            Notice::Protocol { event: OwnEvent::SpareAgain, .. } => return self.no_spare = None,
            Notice::Protocol { event: OwnEvent::LeaseOutgrown { .. }, .. } => {
                return self.outgrown = Some(notice.clone());
            }
            Notice::Protocol { event: OwnEvent::LeaseSuffices { .. }, .. } => {
                return self.outgrown = None;
            }
            Notice::Protocol { event: OwnEvent::Awaited { name, .. }, .. } => {
                return drop(self.awaited.insert(name.clone(), notice.clone()));
            }
            Notice::Protocol { event: OwnEvent::AwaitedNoMore { name }, .. } => {
                return drop(self.awaited.remove(name));
            }
            Notice::Protocol { event: OwnEvent::Entered { .. }, .. } => {
                return self.awaited.clear();
            }
            Notice::Mismatch { address, is_member, .. } => {
                (Kind::Configuration, *address, *is_member)
            }
            Notice::Key { address, is_member, why: KeyTrouble::Rights { .. }, .. } => {
                (Kind::Rights, *address, *is_member)
            }
            Notice::Key { address, is_member, .. } => (Kind::Key, *address, *is_member),
            Notice::Exchanged { address, .. } => (Kind::Exchanged, *address, true),
            Notice::ForAnother { address, .. } => (Kind::ForAnother, *address, false),
            Notice::Moved { address, .. } => (Kind::Moved, *address, false),
            Notice::MemberTwice { addresses: [one, _], .. } => (Kind::Twice, *one, true),
            _ => return,
        };
        self.heard.insert((kind, address), Trouble { at: now, notice: notice.clone(), is_member });
        let strangers = || self.heard.iter().filter(|(_, heard)| !heard.is_member);
        if strangers().count() > STRANGERS_MAX
            && let Some(oldest) = strangers().min_by_key(|(_, heard)| heard.at).map(|(key, _)| *key)
        {
            self.heard.remove(&oldest);
        }
    }

    /// Ends troubles with `address` after a datagram that fits this configuration and member.
    /// Troubles with the sender's key end only if the datagram was `sealed`: a node whose key is
    /// not accepted may also send unsealed datagrams.
    pub(crate) fn fits(&mut self, address: SocketAddr, sealed: bool) {
        for kind in [Kind::Configuration, Kind::Exchanged] {
            self.heard.remove(&(kind, address));
        }
        if sealed {
            self.heard.remove(&(Kind::Key, address));
        }
    }

    /// Forgets troubles with the keys of others, because this node has other keys now.
    pub(crate) fn keys_changed(&mut self) {
        self.heard.retain(|(kind, _), _| !matches!(kind, Kind::Key | Kind::Rights));
    }

    /// The troubles at `now`. A missing spare member, and a lease that is too short for the
    /// network, are troubles only for a node that `leads`.
    pub(crate) fn now(&mut self, now: Time, leads: bool) -> impl Iterator<Item = Notice> {
        let lately = self.lately;
        self.heard.retain(|_, heard| now.since(heard.at) <= lately);
        let heard = self.heard.values().map(|heard| heard.notice.clone());
        let of_leaders = [&self.no_spare, &self.outgrown].map(|notice| notice.clone());
        let of_leaders = of_leaders.into_iter().flatten().filter(move |_| leads);
        let awaited = self.awaited.values().cloned();
        let of_node = [&self.ended, &self.elsewhere].map(|notice| notice.clone());
        of_node.into_iter().flatten().chain(heard).chain(of_leaders).chain(awaited)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::{Drift, RoundTrips, TooShort};

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn unsealed(port: u16, is_member: bool) -> Notice {
        let address = ([127, 0, 0, 1], port).into();
        Notice::Key { peer: None, address, is_member, why: KeyTrouble::Unsealed }
    }

    #[test]
    fn trouble_lasts_until_mended_or_silent() {
        let mut lasting = LastingTroubles::new(Duration::from_secs(90));
        lasting.take(at(0), &unsealed(1, true));
        lasting.take(at(80), &unsealed(2, true));
        assert_eq!(lasting.now(at(90), false).count(), 2);
        assert_eq!(lasting.now(at(91), false).collect::<Vec<_>>(), [unsealed(2, true)]);
        lasting.fits(([127, 0, 0, 1], 2).into(), false);
        assert_eq!(lasting.now(at(91), false).count(), 1, "it was heard without its key");
        lasting.fits(([127, 0, 0, 1], 2).into(), true);
        assert_eq!(lasting.now(at(91), false).count(), 0);
        lasting.take(at(91), &unsealed(2, true));
        lasting.keys_changed();
        assert_eq!(lasting.now(at(91), false).count(), 0);
    }

    fn of_node(event: OwnEvent) -> Notice {
        Notice::Protocol { election: None, event }
    }

    #[test]
    fn removal_stays_a_trouble() {
        for event in [
            OwnEvent::Removed { epoch: 2, members: Vec::new(), replaced: false },
            OwnEvent::Replaced,
        ] {
            let mut lasting = LastingTroubles::new(Duration::ZERO);
            lasting.take(at(0), &of_node(event.clone()));
            assert_eq!(lasting.now(at(900), false).collect::<Vec<_>>(), [of_node(event)]);
        }
    }

    #[test]
    fn leaders_alone_lack_lease() {
        let mut lasting = LastingTroubles::new(Duration::ZERO);
        let (lease, usable, needed) = (Duration::from_secs(5), Duration::from_secs(3), LATELY);
        let (drift, grace, kill_margin) = (Drift::DEFAULT, Duration::ZERO, Duration::ZERO);
        let beside = RoundTrips { count: 4, round_trip: Duration::from_secs(15) };
        let enough = Some(2 * LATELY);
        let short = TooShort { lease, usable, drift, grace, kill_margin, beside, needed, enough };
        let outgrown = of_node(OwnEvent::LeaseOutgrown { samples: 100, short: Box::new(short) });
        lasting.take(at(0), &outgrown);
        assert_eq!(lasting.now(at(900), false).count(), 0);
        assert_eq!(lasting.now(at(900), true).collect::<Vec<_>>(), [outgrown]);
        let round_trip = Duration::ZERO;
        lasting.take(at(900), &of_node(OwnEvent::LeaseSuffices { samples: 100, round_trip }));
        assert_eq!(lasting.now(at(900), true).count(), 0);
    }

    #[test]
    fn strangers_displace_no_member() {
        let mut lasting = LastingTroubles::new(Duration::ZERO);
        lasting.take(at(0), &unsealed(1, true));
        (2..20_000).for_each(|port| lasting.take(at(1), &unsealed(port, false)));
        let all: Vec<_> = lasting.now(at(2), false).collect();
        assert_eq!((all.len(), &all[0]), (1 + STRANGERS_MAX, &unsealed(1, true)));
    }
}
