//! Which property is meant to notice which planted bug.

use tenure_core::etcd::planted::Rule;

const ONE_LEADER: &str = "At most one leader";
const LEASE: &str = "A claim never outlasts its lease";
const WIN: &str = "A win is confirmed by the store";
const KEY: &str = "A claim ends before its key goes";
const LAPSE: &str = "A claim that has lapsed does not return";
const HANDLES: &str = "Handle and core agree";
const FENCES: &str = "Fences strictly grow and are unique";
const APART: &str = "A lost election leaves the others alone";
const SOUND: &str = "No request is unsound";
const RELEASED: &str = "What is released is gone";
const IDLE: &str = "Whoever is idle has left no lease";
const LEFT: &str = "Nothing is left behind";
const OBSERVERS: &str = "Observers see what is";
const LEADER: &str = "Every election has a leader in the end";
const VALUES: &str = "A leader's value is what it said last";
const WAKES: &str = "One departure wakes at most one other";
const OLDER: &str = "No claim stands on a store that went back";
const SOON: &str = "Whoever is first leads soon in calm worlds";
const PROVEN: &str = "A claim lasts as long as its lease was proven to";
const GONE: &str = "A lease that is gone is not counted on";
const MADE: &str = "A leader's key was made by its campaign";
const REASON: &str = "Nothing is asked for without a reason";
const WATCHES: &str = "A watch begins where an answer ended";
const MOVES: &str = "Keys move to the lease of a new term";
const GAPS: &str = "A gap is told";
const AGAIN: &str = "Whoever waits or observes looks again";
const SAYS: &str = "Whoever watches another says that it waits for that";
const STABLE: &str = "No lease is lost in calm worlds";

/// The properties that are meant to notice when `rule` is broken: the sentence that the rule is
/// there for, or what must hold for it.
#[must_use]
pub const fn meant(rule: Rule) -> &'static [&'static str] {
    match rule {
        Rule::LookAfterDeparture | Rule::WinConfirmed | Rule::WinByName => &[WIN, ONE_LEADER],
        Rule::ConfirmOwnKey | Rule::ConfirmInOne => &[WIN, LEASE, ONE_LEADER],
        Rule::ConfirmReads => &[SOUND],
        Rule::ProofWakes => &[SOON, LEADER],
        Rule::MissedAsked => &[WATCHES],
        Rule::WatchPredecessor => &[WAKES],
        Rule::WatchEnds => &[WATCHES],
        Rule::LookAgain => &[AGAIN, LEADER, OBSERVERS],
        Rule::LookNarrow => &[REASON],
        Rule::WaitingToldAgain => &[SAYS],
        Rule::KeysOnly => &[SOUND],
        Rule::ProclaimStays => &[SOUND, LEASE, KEY, ONE_LEADER],
        Rule::DeletionsOnly => &[WATCHES],
        Rule::DeadlineFromSend | Rule::DeadlineMargin | Rule::AliveConfirmed | Rule::SameTerm => {
            &[PROVEN, LEASE, KEY, ONE_LEADER]
        }
        Rule::ConfirmInLog
        | Rule::TermOwnsLease
        | Rule::TermEstablished
        | Rule::EarlierGrantLeft
        | Rule::NextLastsLonger
        | Rule::OwnLeaseCounts
        | Rule::OldLeftEmpty => &[PROVEN, LEASE, KEY, ONE_LEADER],
        Rule::MoveFromThere
        | Rule::WaitingMove
        | Rule::FailedMoveRead
        | Rule::FoundMovedFirst
        | Rule::RefusedMoveSplit
        | Rule::RefusedMovePassed => &[MOVES, LEADER],
        Rule::FewerOperations => &[STABLE, LEADER],
        Rule::GivenEndsAll => &[GONE, LEASE, KEY],
        Rule::RenewedEarly => &[STABLE],
        Rule::CountsFromFirst | Rule::JoinedNow | Rule::ProofOnOwnLease => {
            &[PROVEN, LEASE, KEY, ONE_LEADER]
        }
        Rule::WatchFromAnswer => &[WATCHES, LEASE],
        Rule::ResetExplains => &[REASON],
        Rule::IdUsedOnce | Rule::JoinInTime => &[PROVEN, LEASE, KEY, ONE_LEADER],
        Rule::KeyAsItWas => &[LEASE, ONE_LEADER],
        Rule::LoweredFirst => &[KEY],
        Rule::RevokeAfterGrant => &[IDLE, LEFT],
        Rule::LateGrantLeft => &[GONE, KEY, LEASE],
        Rule::LateValueMended => &[VALUES],
        Rule::MendsApart => &[REASON],
        Rule::MissingTtlIsEnd => &[GONE],
        Rule::NoRevival => &[LAPSE, LEASE, KEY],
        Rule::LeaveRepeated => &[RELEASED, LEFT, LEADER, LAPSE],
        Rule::ZombieSwept => &[RELEASED, LEFT, LEADER],
        Rule::HauntedUntilLeft => &[REASON],
        Rule::DeniedNotGone | Rule::NoSpaceUnsure => &[RELEASED, LEFT, LEADER],
        Rule::LeasePositive => &[SOUND],
        Rule::AdoptOwn | Rule::AdoptNewer => &[MADE, FENCES],
        Rule::HistoryGrows => &[OLDER],
        Rule::RevisionBounded => &[FENCES, LEASE, OBSERVERS],
        Rule::WholeRevision | Rule::LookExplains | Rule::LateEventsOld | Rule::UnknownNotVacant => {
            &[OBSERVERS]
        }
        Rule::GapTold => &[GAPS],
        Rule::LossKeepsLease => &[APART],
        Rule::OneCampaign => &[HANDLES, KEY],
        Rule::NamesApart => &[SOUND],
        Rule::RefusedRenewsNothing => &[HANDLES, LEASE, KEY],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_a_property_that_is_meant_to_notice() {
        for rule in Rule::ALL {
            for name in meant(*rule) {
                let known = crate::etcd::properties::ALL.iter().any(|(known, _)| known == name);
                assert!(known, "{name} is no property");
            }
        }
    }
}
