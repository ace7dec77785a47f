//! Turning a rule off, in builds that exist to prove the checkers.

pub use super::{Broken, Rule, break_rule, in_force};

/// The rules with a story of their own (`tests/etcd`), because a random search does not find
/// their absence, or not soon. That of every other one is found by random worlds.
pub const DIRECTED: &[Rule] = &[
    Rule::WatchPredecessor,
    Rule::LookAgain,
    Rule::ConfirmOwnKey,
    Rule::ConfirmInOne,
    Rule::WinByName,
    Rule::ProofWakes,
    Rule::MissedAsked,
    Rule::MissingTtlIsEnd,
    Rule::NoRevival,
    Rule::AliveConfirmed,
    Rule::SameTerm,
    Rule::KeyAsItWas,
    Rule::LeaveRepeated,
    Rule::DeniedNotGone,
    Rule::ZombieSwept,
    Rule::LoweredFirst,
    Rule::LeasePositive,
    Rule::JoinInTime,
    Rule::RevokeAfterGrant,
    Rule::LateGrantLeft,
    Rule::NoSpaceUnsure,
    Rule::AdoptOwn,
    Rule::AdoptNewer,
    Rule::HistoryGrows,
    Rule::RevisionBounded,
    Rule::LateValueMended,
    Rule::LateEventsOld,
    Rule::LookExplains,
    Rule::GapTold,
    Rule::LossKeepsLease,
    Rule::NamesApart,
    Rule::RefusedRenewsNothing,
];
