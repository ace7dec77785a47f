//! The reason why a campaign waits or a lease is not renewed, derived from the answers of grantors,
//! and the time to report it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use core::time::Duration;

use super::super::body::{Refusal, Refused};
use super::super::by_member::ByMember;
use super::super::config::Checked;
use super::super::epoch::Membership;
use super::super::quorum::MemberSet;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::{Obstacle, Waiting};

/// The last refusal of a grantor.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Word {
    /// Another candidate holds the grant, and releases it at `leaves` if it leads no more.
    Held { who: NodeName, leading: bool, leaves: Option<Time> },
    /// The grantor waits until all leases have ended.
    Quarantine { until: Time },
    /// The grantor reads the fences of the others; `known` if a member remembers the cluster.
    Recovering { known: bool },
    /// The grantor refuses for another reason.
    Objection { label: &'static str, why: Arc<str> },
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::nerio) struct Hindrances {
    words: ByMember<Word>,
    /// Members that reported another incarnation with the name of this candidate.
    sharing: MemberSet,
    other: Option<SocketAddr>,
}

/// Empty, because hindrances decide only what is reported: the model check in `tenure-sim`, which
/// compares hashes, need not tell them apart.
impl Hash for Hindrances {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The last report of a reason to wait, or not to renew the lease, and its time. The report is kept
/// over a change of epochs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::nerio) struct Reported(Option<Box<(Waiting, Time)>>);

/// Empty, as for [`Hindrances`].
impl Hash for Reported {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Reported {
    /// Notes that the lease was renewed, so that the next reason is reported even if it is the
    /// same.
    pub(in crate::nerio) fn renewed(&mut self) {
        self.0 = None;
    }

    /// Reports `waiting` if the reason has changed, but at most once in `pause`: reasons may change
    /// to and fro.
    pub(super) fn say(&mut self, now: Time, waiting: Waiting, pause: Duration) -> Option<Waiting> {
        if let Some((told, at)) = self.0.as_deref() {
            let same = waiting.is_as(told, pause);
            if same || now.since(*at) < pause {
                return None;
            }
        }
        self.0 = Some((waiting.clone(), now).into());
        Some(waiting)
    }
}

impl Hindrances {
    /// Notes a grant of `member`, and whether it counts.
    pub(in crate::nerio) fn granted(&mut self, member: usize, counts: bool) {
        if counts {
            self.words.remove(member);
        } else {
            let (label, why) = ("faster-clock", FASTER_CLOCK.into());
            self.words.insert(member, Word::Objection { label, why });
        }
        self.sharing = self.sharing.minus(MemberSet::EMPTY.with(member));
    }

    /// Notes the refusal of `member`, received at `now`.
    pub(in crate::nerio) fn refused(
        &mut self,
        now: Time,
        member: usize,
        refused: &Refused,
        config: &Checked,
    ) {
        let this = MemberSet::EMPTY.with(member);
        let shares = refused.name_shared.is_some();
        self.sharing = if shares { self.sharing.or(this) } else { self.sharing.minus(this) };
        self.other = refused.name_shared.or(self.other);
        let word = match &refused.refusal {
            Refusal::Held { holder, .. } => {
                let leaves = holder.leaving.map(|held| now.after(config.drift.stretch(held)));
                // Usually the refusal names the same holder as before: update the entry without
                // allocation.
                if let Some(Word::Held { who, leading, leaves: until }) = self.words.get_mut(member)
                    && *who == holder.who.name
                {
                    (*leading, *until) = (holder.leading, leaves);
                    return;
                }
                Word::Held { who: holder.who.name.clone(), leading: holder.leading, leaves }
            }
            Refusal::Quarantine { remaining } => {
                Word::Quarantine { until: now.after(config.drift.stretch(*remaining)) }
            }
            Refusal::Recovering { known } => Word::Recovering { known: *known },
            objection => {
                let (label, why) = told(objection);
                Word::Objection { label, why }
            }
        };
        self.words.insert(member, word);
    }

    /// The first reason that keeps the candidate from a quorum. The order: a shared name, silent
    /// members, lost memories, refusals that an operator must mend, rivals.
    pub(super) fn waiting(&self, silent: MemberSet, membership: &Membership) -> Option<Waiting> {
        let possible = |excluded: MemberSet| membership.quorums().is_possible(excluded);
        let missing = membership.named(silent);
        if let Some(other) = self.other.filter(|_| !self.sharing.is_empty()) {
            return Some(Waiting::NameInUse { by: membership.named(self.sharing), other });
        }
        if !possible(silent) {
            return Some(Waiting::NoQuorum { missing });
        }
        let heard = self.words.iter().filter(|(member, _)| !silent.contains(*member));
        let with = |is_it: fn(&Word) -> bool| -> MemberSet {
            heard.clone().filter(|(_, word)| is_it(word)).map(|(member, _)| *member).collect()
        };
        let quarantined = with(|word| matches!(word, Word::Quarantine { .. }));
        let recovering = with(|word| matches!(word, Word::Recovering { .. }));
        let is_known = |word: &Word| matches!(word, Word::Recovering { known: true });
        let known = heard.clone().any(|(_, word)| is_known(word));
        let unable = silent.or(quarantined).or(recovering);
        if !possible(unable) {
            return Some(match self.enough_again(unable, quarantined, membership) {
                Some(until) => {
                    Waiting::OldLeases { at: membership.named(quarantined), until, missing }
                }
                None => Waiting::Fences { at: membership.named(recovering), known, missing },
            });
        }
        let objecting = with(|word| matches!(word, Word::Objection { .. }));
        if !possible(unable.or(objecting)) {
            let obstacles = heard.filter_map(|(member, word)| match word {
                Word::Objection { label, why } => {
                    let by = membership.name(*member).clone();
                    Some(Obstacle::new(by, label, why.clone()))
                }
                _ => None,
            });
            return Some(Waiting::Refused { obstacles: obstacles.collect(), missing });
        }
        self.before()
    }

    /// The time at which enough members of `quarantined` grant again for a quorum without the other
    /// members of `unable`.
    fn enough_again(
        &self,
        mut unable: MemberSet,
        quarantined: MemberSet,
        membership: &Membership,
    ) -> Option<Time> {
        let ends = quarantined.iter().filter_map(|member| match self.words.get(member) {
            Some(Word::Quarantine { until }) => Some((*until, member)),
            _ => None,
        });
        let mut ends: Vec<_> = ends.collect();
        ends.sort_unstable();
        ends.into_iter().find_map(|(until, member)| {
            unable = unable.minus(MemberSet::EMPTY.with(member));
            membership.quorums().is_possible(unable).then_some(until)
        })
    }

    /// The reason that names a rival: a holder that leads, or else the holder of most grants.
    fn before(&self) -> Option<Waiting> {
        let held = self.words.values().filter_map(|word| match word {
            Word::Held { who, leading, leaves } => Some((who, *leading, *leaves)),
            _ => None,
        });
        let all_of = |who: &NodeName| {
            let its = held.clone().filter(|(holder, ..)| *holder == who);
            its.fold((false, 0_usize, None), |(leads, count, last), (_, leading, leaves)| {
                (leads || leading, count + 1, leaves.max(last))
            })
        };
        let ((leading, _, leaves), who) = held.clone().map(|(who, ..)| (all_of(who), who)).max()?;
        let who = who.clone().into();
        Some(match leaves {
            Some(until) => Waiting::Promised { who, until },
            None => Waiting::Behind { who, leading },
        })
    }
}

const FASTER_CLOCK: &str = "its clock runs faster than this node's by more than drift allows, so \
                            its leases do not count: correct the clock that is wrong, then restart \
                            the process on that machine";

/// Label and sentence of a refusal that time alone does not mend.
pub(in crate::nerio) fn told(refusal: &Refusal) -> (&'static str, Arc<str>) {
    match refusal {
        Refusal::TooLong { lease, delta_max } => (
            "too-long",
            alloc::format!(
                "it gives no lease longer than {delta_max:?}, and this candidate asks for \
                 {lease:?}: give it a larger lease-max, or this candidate a shorter lease"
            )
            .into(),
        ),
        Refusal::FenceTooFar => (
            "fence-too-far",
            "it knows only fences that are far below the fence of this candidate".into(),
        ),
        Refusal::OtherAddress { holder } => (
            "other-address",
            alloc::format!(
                "it has granted the lease to this candidate at the address {holder}, and the \
                 request comes from another address"
            )
            .into(),
        ),
        Refusal::Full => ("full", "it has no room for another election".into()),
        Refusal::Disk => (
            "disk",
            "it cannot write its state directory: make room there (1 MiB is enough), or mend its \
             disk"
                .into(),
        ),
        Refusal::Starting => {
            ("starting", "it is starting, and waits until its first record is on its disk".into())
        }
        Refusal::Replaced => (
            "replaced",
            "a later state directory has replaced its own: if an old directory was put back, stop \
             the member and move that directory away. Then start the member with the later \
             directory, or with an empty one if the later is gone. If two processes are this \
             member, stop the process with the old directory"
                .into(),
        ),
        Refusal::Wedged { next } => (
            "wedged",
            alloc::format!(
                "it has accepted the members of epoch {next}, and has not entered that epoch yet"
            )
            .into(),
        ),
        Refusal::WrongClock => (
            "wrong-clock",
            "its clock runs faster or slower than those of most members: correct that clock, then \
             run `tenure node clear-breach` there"
                .into(),
        ),
        Refusal::Removed { epoch } => {
            ("removed", alloc::format!("it is no member any more, since epoch {epoch}").into())
        }
        Refusal::Clock(fault) => ("clock", alloc::format!("{fault}").into()),
        Refusal::Recovering { .. } => {
            ("not-now", "it has no stored state, and asks the other members".into())
        }
        Refusal::Held { .. } | Refusal::Quarantine { .. } => {
            ("not-now", alloc::format!("{refusal}").into())
        }
    }
}
