//! Turning a rule off, in builds that exist to prove the checkers.

#![expect(clippy::disallowed_types, reason = "which rule is broken is no state of a core")]

use core::sync::atomic::{AtomicU8, Ordering};

pub use super::Rule;

/// The rules with a story of their own (`tests/extensions/directed`), because a random search
/// does not find their absence, or not soon. That of every other one is found by random worlds.
pub const DIRECTED: &[Rule] = &[
    Rule::ShrinkRoundsDown,
    Rule::StretchRoundsUp,
    Rule::FinishGrows,
    Rule::StrictSamples,
    Rule::StartGrows,
    Rule::StandingAsked,
    Rule::DisjointIsError,
    Rule::ContradictionIsError,
    Rule::ReleaseConfirmed,
    Rule::ParkedByLife,
    Rule::WatermarkByLife,
    Rule::ReleaseByLife,
    Rule::NameContested,
    Rule::OneAddress,
    Rule::ReleaseFromAddress,
    Rule::AnswerBound,
    Rule::OkFromMember,
    Rule::LeaseFromArrival,
    Rule::ParkedLeaseEnds,
    Rule::ParkedExpires,
    Rule::ParkedBounded,
    Rule::LowestEvicted,
    Rule::ChecksAgain,
    Rule::ParkedGrows,
    Rule::ReleaseUnparks,
    Rule::GrantedStartGrows,
    Rule::RepeatKeepsFinish,
    Rule::OneOk,
    Rule::Watermark,
    Rule::Tombstone,
    Rule::NextFirst,
    Rule::NextOnce,
    Rule::CommonOrder,
    Rule::WaitersFirst,
    Rule::LeaderFirst,
    Rule::PriorityFirst,
    Rule::ShortFirstLease,
    Rule::RenewedAtOnce,
    Rule::NextHeard,
    Rule::YieldHopeless,
    Rule::YieldOutranked,
    Rule::YieldNews,
    Rule::YieldRenewed,
    Rule::YieldWithoutLost,
    Rule::YieldWaits,
    Rule::YieldEnds,
    Rule::YieldNamesNext,
    Rule::FenceOwner,
    Rule::RefusalRaisesNothing,
    Rule::ProposesNext,
    Rule::WithinReserve,
    Rule::ReserveDurable,
    Rule::FenceRead,
    Rule::ReadOthers,
    Rule::ReadMaximum,
    Rule::ReadAfterQuarantine,
    Rule::ReadBeforeGrant,
    Rule::ReserveAfterRead,
    Rule::RecoveringSilent,
    Rule::FloorRises,
    Rule::FenceReach,
    Rule::VerifyMax,
    Rule::VerifyBound,
    Rule::VerifyEnds,
    Rule::BootDurable,
    Rule::QuarantineStretches,
    Rule::QuarantineNotShrunk,
    Rule::QuarantineForAll,
    Rule::DeltaMaxEver,
    Rule::WithinDeltaMax,
    Rule::ViewByQuorum,
    Rule::ViewByLife,
    Rule::ViewFromSend,
    Rule::ViewLongest,
    Rule::ViewFence,
    Rule::VacantByQuorum,
    Rule::VacantAtOnce,
    Rule::VacantSaid,
    Rule::RecoveringNotFree,
];

/// The rule that is broken, counted from one; zero while all are in force.
static BROKEN: AtomicU8 = AtomicU8::new(0);

const fn number(rule: Rule) -> u8 {
    rule as u8 + 1
}

/// Whether `rule` is in force.
#[must_use]
pub fn in_force(rule: Rule) -> bool {
    ruling(rule)
}

pub(crate) fn ruling(rule: Rule) -> bool {
    BROKEN.load(Ordering::Relaxed) != number(rule)
}

/// Breaks one rule, for all threads, and mends it when dropped.
#[must_use]
pub fn break_rule(rule: Rule) -> Broken {
    BROKEN.store(number(rule), Ordering::Relaxed);
    Broken(())
}

/// A rule is broken as long as this lives.
#[derive(Debug)]
pub struct Broken(());

impl Drop for Broken {
    fn drop(&mut self) {
        BROKEN.store(0, Ordering::Relaxed);
    }
}
