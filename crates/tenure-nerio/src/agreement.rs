//! Members that run with another configuration, as far as their datagrams say.
//!
//! A member answers a question for another epoch with its own epoch, and counts as differing if its
//! epoch is of another cluster. A member of an earlier version does not show its epoch. Such a
//! member counts as differing if its datagrams are for an epoch 0 that this node does not know.
//!
//! Two different member lists are no difference by themselves: a node that is no member learns the
//! epoch of the members from them. A member differs if its document does not fit this node's
//! settings, or if it stays in a cluster of its own.
//!
//! If the differing members leave no quorum of the members list, the node reports that. Until a
//! quorum has confirmed the list, the list may be old. The node then reports only a list whose
//! members all differ.
//!
//! A single datagram proves little, because every host can send one. A member counts as differing
//! after two differing datagrams, some time apart, without an agreeing datagram in between.
//! Datagrams of strangers cause notices after the same time, and change nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure::driver::Repeats;
use tenure_core::nerio::{MemberSet, Membership};
use tenure_core::{NodeName, Obstacle, Time, Waiting};

use crate::log;
use crate::notice::Notice;

/// Minimum time between two differing datagrams of a sender before the sender counts as differing.
const LASTING: Duration = Duration::from_secs(1);
/// For this time after a member has shown its epoch, the epoch ids in its datagrams do not make the
/// member count as differing.
const SHOWN: Duration = Duration::from_secs(10);
/// Maximum number of senders in another epoch 0 that are remembered.
const ELSEWHERE_MAX: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Agreement {
    /// Members with another configuration.
    differing: BTreeMap<NodeName, Difference>,
    /// Members that have shown their epoch, and when they last did.
    shown: BTreeMap<NodeName, Time>,
    /// Addresses that send datagrams for another epoch 0, or show such an epoch as their own.
    elsewhere: BTreeMap<SocketAddr, Period>,
    hopeless: bool,
}

#[derive(Debug)]
struct Difference {
    period: Period,
    why: Option<String>,
}

/// Times of the first and of the last datagram that differs.
#[derive(Debug)]
struct Period {
    first: Time,
    last: Time,
}

impl Period {
    const fn new(now: Time) -> Self {
        Self { first: now, last: now }
    }

    fn is_lasting(&self) -> bool {
        self.last.since(self.first) >= LASTING
    }
}

/// The sender of a datagram of another configuration.
pub(crate) struct OtherSender {
    pub(crate) name: NodeName,
    pub(crate) address: SocketAddr,
    /// Whether the sender is proved to be the node with its name.
    pub(crate) proved: bool,
    pub(crate) digest: u64,
    /// Whether the sender is in a cluster of its own.
    pub(crate) apart: bool,
    /// The difference, if this node has read the sender's document.
    pub(crate) why: Option<String>,
}

impl Agreement {
    /// Notes a datagram of this configuration from the node `member`.
    pub(crate) fn agrees(&mut self, member: &NodeName, repeats: &mut Repeats) {
        if self.differing.remove(member).is_some() {
            log::mismatch_is_over(repeats, member);
        }
    }

    /// Forgets members that are not in this membership, because the node has entered another epoch.
    pub(crate) fn switch(&mut self, membership: &Membership) {
        self.differing.retain(|name, _| membership.position(name).is_some());
        self.shown.retain(|name, _| membership.position(name).is_some());
    }

    /// Returns a notice when the members that differ begin to leave no quorum, and when a quorum is
    /// possible again. An unconfirmed list may be old, and a single member on it may be enough to
    /// learn the others. So all members of an unconfirmed list must differ.
    pub(crate) fn weigh(&mut self, membership: &Membership, is_confirmed: bool) -> Option<Notice> {
        let differing = self.lasting(membership);
        let is_hopeless = if is_confirmed {
            !membership.quorums().is_possible(differing)
        } else {
            differing == membership.everyone()
        };
        if is_hopeless == self.hopeless {
            return None;
        }
        self.hopeless = is_hopeless;
        self.disagreement(membership).or(Some(Notice::QuorumMayAgree))
    }

    /// Notes the epoch that the node `member` shows.
    pub(crate) fn shows(&mut self, now: Time, member: &NodeName, membership: &Membership) {
        if membership.position(member).is_some() {
            self.shown.insert(member.clone(), now);
        }
    }

    /// Whether the node `member` has shown its epoch lately.
    pub(crate) fn has_shown(&self, now: Time, member: &NodeName) -> bool {
        self.shown.get(member).is_some_and(|at| now.since(*at) < SHOWN)
    }

    /// Notes a datagram from `address` that is for another epoch 0, or shows another epoch 0. True
    /// if such datagrams have come for some time. A shorter series means little. A stranger with
    /// another list soon learns this node's epoch, and a node with another list soon learns the
    /// epoch of its members.
    pub(crate) fn stays_elsewhere(&mut self, now: Time, address: SocketAddr) -> bool {
        if self.elsewhere.len() == ELSEWHERE_MAX && !self.elsewhere.contains_key(&address) {
            let oldest = self.elsewhere.iter().min_by_key(|(_, period)| period.last);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.elsewhere.remove(&oldest);
            }
        }
        let period = self.elsewhere.entry(address).or_insert(Period::new(now));
        period.last = now;
        period.is_lasting()
    }

    /// Notes a datagram of this configuration from `address`.
    pub(crate) fn fits(&mut self, address: SocketAddr) {
        self.elsewhere.remove(&address);
    }

    pub(crate) fn differs(
        &mut self,
        now: Time,
        sender: OtherSender,
        membership: &Membership,
    ) -> Notice {
        let OtherSender { name: peer, address, proved, digest: theirs, apart, mut why } = sender;
        let is_member = proved && membership.position(&peer).is_some();
        if is_member {
            let begins = || Difference { period: Period::new(now), why: None };
            let difference = self.differing.entry(peer.clone()).or_insert_with(begins);
            difference.period.last = now;
            // An earlier datagram may have given the reason, which holds as long as the difference
            // lasts.
            why = why.or_else(|| difference.why.take());
            difference.why.clone_from(&why);
        }
        let ours = membership.founding();
        // Only members found clusters: an asker from outside may just have another members list.
        let apart = apart && is_member;
        Notice::Mismatch { peer, address, is_member, theirs, ours, apart, why }
    }

    /// Names all members that differ, also members that have differed too briefly to count for the
    /// quorum: each [`Notice::Mismatch`] has named such members, too.
    pub(crate) fn disagreement(&self, membership: &Membership) -> Option<Notice> {
        let is_member = |name: &&NodeName| membership.position(name).is_some();
        let names = self.differing.keys().filter(is_member).cloned();
        let differing = names.collect();
        let members = membership.names().len();
        self.hopeless.then_some(Notice::NoQuorumAgrees { differing, members })
    }

    /// Names the silent members that run with another configuration, because an operator must
    /// change their configuration first.
    pub(crate) fn explain(&self, waiting: Waiting) -> Waiting {
        blame(waiting, |silent| {
            self.differing.keys().find(|member| member.as_str() == silent)?;
            let why = "it runs with another configuration";
            Some(Obstacle::new(silent, "other-configuration", why))
        })
    }

    /// The members that have differed for long enough; other nodes that differ are left out.
    fn lasting(&self, membership: &Membership) -> MemberSet {
        let members = self.differing.iter().filter(|(_, differs)| differs.period.is_lasting());
        members.filter_map(|(member, _)| membership.position(member)).collect()
    }
}

/// Moves silent nodes of `waiting` to its obstacles where `why` knows a reason.
pub(crate) fn blame(waiting: Waiting, why: impl Fn(&str) -> Option<Obstacle>) -> Waiting {
    let (mut obstacles, missing) = match waiting {
        Waiting::NoQuorum { missing } => (Vec::new(), missing),
        Waiting::Refused { obstacles, missing } => (obstacles, missing),
        waiting => return waiting,
    };
    let (blamed, missing): (Vec<_>, Vec<_>) = missing
        .into_iter()
        .map(|silent| (why(&silent), silent))
        .partition(|(why, _)| why.is_some());
    obstacles.extend(blamed.into_iter().filter_map(|(why, _)| why));
    let missing = missing.into_iter().map(|(_, silent)| silent).collect();
    if obstacles.is_empty() {
        Waiting::NoQuorum { missing }
    } else {
        Waiting::Refused { obstacles, missing }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::nerio::{Config, members};

    use super::*;

    fn membership() -> Arc<Membership> {
        membership_of("a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103")
    }

    fn membership_of(list: &str) -> Arc<Membership> {
        let config = Config::new("x".parse().unwrap(), members(list).unwrap());
        Arc::clone(config.check().unwrap().membership())
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn differs(agreement: &mut Agreement, millis: u64, port: u16) {
        let members = [(7_101, "a"), (7_102, "b"), (7_103, "c")];
        let member = members.iter().find(|(at, _)| *at == port);
        let peer = NodeName::new(member.map_or("b", |(_, name)| *name)).unwrap();
        let address = ([127, 0, 0, 1], port).into();
        let proved = member.is_some();
        let sender =
            OtherSender { name: peer, address, proved, digest: 1, apart: false, why: None };
        agreement.differs(at(millis), sender, &membership());
    }

    #[test]
    fn single_datagram_changes_nothing() {
        let mut agreement = Agreement::default();
        for port in [7_101, 7_102, 7_103] {
            differs(&mut agreement, 1, port);
            assert_eq!(agreement.weigh(&membership(), true), None);
        }
    }

    #[test]
    fn strangers_never_count() {
        let mut agreement = Agreement::default();
        for millis in (0..10_000).step_by(100) {
            for port in [1, 2, 3] {
                differs(&mut agreement, millis, port);
                assert_eq!(agreement.weigh(&membership(), true), None);
            }
        }
        assert!(agreement.differing.is_empty());
    }

    #[test]
    fn possible_quorum_is_enough() {
        let mut agreement = Agreement::default();
        for millis in (0..10_000).step_by(100) {
            differs(&mut agreement, millis, 7_102);
            assert_eq!(agreement.weigh(&membership(), true), None, "a and c may agree");
        }
        differs(&mut agreement, 10_000, 7_103);
        differs(&mut agreement, 11_000, 7_103);
        let none = agreement.weigh(&membership(), true);
        assert!(matches!(none, Some(Notice::NoQuorumAgrees { .. })), "{none:?}");
        differs(&mut agreement, 12_000, 7_103);
        assert_eq!(agreement.weigh(&membership(), true), None, "said once");
        assert_eq!(agreement.disagreement(&membership()), none, "and again when asked");
        differs(&mut agreement, 12_000, 7_101);
        let all = agreement.disagreement(&membership()).unwrap().to_string();
        let begins = "3 of 3 members run with another configuration (a, b, c), ";
        assert!(all.starts_with(begins), "{all}");
        let mut repeats = Repeats::default();
        let c = NodeName::new("c").unwrap();
        agreement.agrees(&c, &mut repeats);
        assert_eq!(agreement.weigh(&membership(), true), Some(Notice::QuorumMayAgree));
        assert_eq!(agreement.weigh(&membership(), true), None);
    }

    /// The old list has a, b and c. First b and c differ, then a differs, too. Then a names the new
    /// members d and e.
    #[test]
    fn unconfirmed_list_is_no_reason_to_give_up() {
        let mut agreement = Agreement::default();
        for millis in [0, 1_000, 2_000] {
            for port in [7_102, 7_103] {
                differs(&mut agreement, millis, port);
                assert_eq!(agreement.weigh(&membership(), false), None);
            }
        }
        differs(&mut agreement, 2_000, 7_101);
        differs(&mut agreement, 3_000, 7_101);
        let none = agreement.weigh(&membership(), false);
        assert!(matches!(none, Some(Notice::NoQuorumAgrees { .. })), "all differ: {none:?}");
        let next = membership_of("a=127.0.0.1:7101,d=127.0.0.1:7104,e=127.0.0.1:7105");
        agreement.switch(&next);
        assert_eq!(agreement.weigh(&next, false), Some(Notice::QuorumMayAgree));
        assert_eq!(agreement.disagreement(&next), None);
        assert_eq!(agreement.differing.keys().map(NodeName::as_str).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn shown_epoch_outdates() {
        let mut agreement = Agreement::default();
        let [b, stranger] = ["b", "z"].map(|name| NodeName::new(name).unwrap());
        for name in [&b, &stranger] {
            agreement.shows(at(1), name, &membership());
        }
        assert!(agreement.has_shown(at(10_000), &b) && !agreement.has_shown(at(10_001), &b));
        assert!(!agreement.has_shown(at(1), &stranger), "names are bounded by the members");
    }

    #[test]
    fn shorter_list_is_no_difference() {
        let mut agreement = Agreement::default();
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        for millis in (0..10_000).step_by(500) {
            // A datagram for this epoch follows each datagram for another epoch.
            assert!(!agreement.stays_elsewhere(at(millis), address(7)));
            agreement.fits(address(7));
        }
        let lasts = (0..3_000).step_by(500);
        let lasts = lasts.map(|millis| agreement.stays_elsewhere(at(millis), address(8)));
        assert_eq!(lasts.collect::<Vec<_>>(), [false, false, true, true, true, true]);
        for port in 1_000..2_000 {
            assert!(!agreement.stays_elsewhere(at(3_000), address(port)));
        }
        assert!(agreement.elsewhere.len() <= ELSEWHERE_MAX);
    }

    #[test]
    fn reason_is_said_again() {
        let mut agreement = Agreement::default();
        let why = |agreement: &mut Agreement, why: Option<&str>| {
            let (name, why) = (NodeName::new("b").unwrap(), why.map(str::to_owned));
            let address = ([127, 0, 0, 1], 7_102).into();
            let sender = OtherSender { name, address, proved: true, digest: 1, apart: false, why };
            match agreement.differs(at(1), sender, &membership()) {
                Notice::Mismatch { why, .. } => why,
                notice => panic!("{notice}"),
            }
        };
        assert_eq!(why(&mut agreement, None), None);
        assert_eq!(why(&mut agreement, Some("drift")).as_deref(), Some("drift"));
        assert_eq!(why(&mut agreement, None).as_deref(), Some("drift"));
    }

    #[test]
    fn differing_member_is_an_obstacle() {
        let mut agreement = Agreement::default();
        let silent = || Waiting::NoQuorum { missing: vec!["b".into(), "c".into()] };
        assert_eq!(agreement.explain(silent()), silent());
        differs(&mut agreement, 1, 7_103);
        assert_eq!(
            agreement.explain(silent()).to_string(),
            "refused by c: it runs with another configuration; no answer from b"
        );
        let behind = Waiting::Behind { who: "p".into(), leading: true };
        assert_eq!(agreement.explain(behind.clone()), behind);
    }
}
