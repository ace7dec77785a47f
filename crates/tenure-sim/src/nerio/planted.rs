//! Which property is meant to notice which planted bug.

use tenure_core::nerio::planted::Rule;

const ONE_LEADER: &str = "Leader Uniqueness";
const GRANTS: &str = "A claim stands on grants of a quorum";
const VALIDITY: &str = "Edict Validity";
const EDICTS: &str = "Edict Ordering";
const TIMESTAMPS: &str = "Quorum timestamps order leaderships";
const FENCES: &str = "Fences strictly grow and are unique";
const LASTS: &str = "A grant lasts (1 + ρ)δ from the arrival of its request";
const QUARANTINES: &str = "A quarantine lasts (1 + ρ) times the longest lease";
const STARTS: &str = "A start waits for what it lacks";
const SAID: &str = "A grantor that cannot write says so";
const BOUNDED: &str = "Memory is bounded";
const ASKS: &str = "A candidate asks for what it may";
const NAMES: &str = "A name that two lives use at once is reported";
const WAITS: &str = "Whoever waits is handled in the common order";
const YIELDS: &str = "A candidate yields when it cannot win, and to somebody above it";
const READS: &str = "A fence read is answered with all that was seen";
const LAPSE: &str = "A fence ends with the lapse of its leadership";
const ANSWERED: &str = "A verification is answered";
const VERIFICATION: &str = "Verification never over-reports";
const PROMISES: &str = "A release comes after the claim and after every promise";
const OWN_RELEASE: &str = "A release never shortens somebody else's lease";
const DURABLE: &str = "Nothing is visible before it is durable";
const DEAD: &str = "No grant to the dead";
const OBSERVERS: &str = "Observers see what is";
const HEARD: &str = "An observer says no more and no less than it was told";
const LEAVES: &str = "Who leads no more and must not release yet is told so";
const WAITING: &str = "What a candidate says it waits for is so";
const STABILITY: &str = "Leader Stability";
const ELECTION: &str = "Eventual Election";
const SUCCESSION: &str = "Prompt succession";

/// The properties that are meant to notice when `rule` is broken: the sentence that the rule is
/// there for, or what must hold for it.
#[must_use]
pub fn meant(rule: Rule) -> &'static [&'static str] {
    MEANT.iter().find(|(_, rules)| rules.contains(&rule)).map_or(&[], |(meant, _)| meant)
}

const MEANT: &[(&[&str], &[Rule])] = &[
    (
        &[ONE_LEADER, GRANTS],
        &[
            Rule::ClaimShrinks,
            Rule::ClaimFromSend,
            Rule::OneHolder,
            Rule::OneOkEach,
            Rule::HolderByLife,
            Rule::ClaimByMinimum,
            Rule::Floor,
            Rule::Quarantine,
            Rule::ReleaseInQuarantine,
        ],
    ),
    (&[ONE_LEADER, GRANTS, DURABLE], &[Rule::QuarantineForAll]),
    (&[ONE_LEADER, GRANTS, OBSERVERS], &[Rule::DeltaMaxOfOthers]),
    (&[ONE_LEADER, GRANTS, ASKS], &[Rule::AnswerBound, Rule::OkFromMember, Rule::AttemptWaits]),
    (&[ONE_LEADER, GRANTS, FENCES], &[Rule::ReadAfterQuarantine]),
    (
        &[LASTS],
        &[
            Rule::StretchRoundsUp,
            Rule::FinishGrows,
            Rule::StrictSamples,
            Rule::OneAddress,
            Rule::LeaseFromArrival,
            Rule::ParkedLeaseEnds,
            Rule::RepeatKeepsFinish,
            Rule::WithinDeltaMax,
        ],
    ),
    (&[QUARANTINES], &[Rule::QuarantineStretches, Rule::QuarantineNotShrunk, Rule::DeltaMaxEver]),
    (
        &[ASKS],
        &[
            Rule::ShrinkRoundsDown,
            Rule::StartGrows,
            Rule::ReleaseConfirmed,
            Rule::ShortFirstLease,
            Rule::NextHeard,
            Rule::ProposesNext,
        ],
    ),
    (&[STARTS, GRANTS], &[Rule::RaiseWaits]),
    (
        &[STARTS, FENCES],
        &[
            Rule::FenceRead,
            Rule::ReserveAfterRead,
            Rule::FoundingAsks,
            Rule::FoundingByQuorum,
            Rule::FoundingRefused,
            Rule::LeadersRefuseFounding,
            Rule::FoundingUntilGrant,
        ],
    ),
    (&[STABILITY, YIELDS], &[Rule::FullLeaseFits]),
    (&[BOUNDED], &[Rule::ParkedBounded]),
    (&[SAID], &[Rule::FailingSaid]),
    (&[LASTS, GRANTS], &[Rule::GrantStretches, Rule::FreshSample]),
    (&[LASTS, TIMESTAMPS, EDICTS], &[Rule::StampOfGrant]),
    (&[NAMES], &[Rule::NameContested, Rule::NameStaysShared]),
    (&[HEARD], &[Rule::ViewLongest, Rule::ViewAnnounced, Rule::VacantAtOnce]),
    (&[LEAVES], &[Rule::LeavingTold]),
    (&[WAITING], &[Rule::WaitingByQuorum, Rule::WaitingByLastWord]),
    // Told to people: a story looks.
    (&[], &[Rule::AnnouncedAtOnce, Rule::WaitingForRelease, Rule::HangSaid, Rule::StartingSaid]),
    (
        &[WAITS],
        &[
            Rule::ParkedByLife,
            Rule::ReleaseUnparks,
            Rule::CommonOrder,
            Rule::LowestEvicted,
            Rule::NextFirst,
            Rule::NextOnce,
            Rule::WaitersFirst,
            Rule::LeaderFirst,
            Rule::PriorityFirst,
        ],
    ),
    (&[GRANTS, TIMESTAMPS, ELECTION], &[Rule::LatestOk, Rule::OneOk]),
    (&[VALIDITY], &[Rule::StandingAsked]),
    (
        &[TIMESTAMPS, EDICTS],
        &[Rule::StampNamesMemory, Rule::DisjointIsError, Rule::ContradictionIsError],
    ),
    (&[PROMISES], &[Rule::LowerBeforeRelease, Rule::KeepWhileInUse, Rule::PromiseKept]),
    (
        &[OWN_RELEASE, GRANTS, DEAD],
        &[Rule::ReleaseNamesStart, Rule::ReleaseByHolder, Rule::ReleaseByLife],
    ),
    (&[OWN_RELEASE, GRANTS], &[Rule::ReleaseFromAddress]),
    (
        &[DEAD],
        &[
            Rule::ParkedExpires,
            Rule::ChecksAgain,
            Rule::ParkedGrows,
            Rule::GrantedStartGrows,
            Rule::Watermark,
            Rule::Tombstone,
            Rule::LapsedNotParked,
        ],
    ),
    (&[STABILITY], &[Rule::HolderNotParked, Rule::RenewedAtOnce]),
    (&[ELECTION], &[Rule::TooFarClimbs]),
    (
        &[ELECTION, SUCCESSION],
        &[Rule::WatermarkByLife, Rule::EarlyBounded, Rule::EarlyApart, Rule::YieldWithoutLost],
    ),
    (&[SUCCESSION], &[Rule::YieldEnds, Rule::YieldRenewed, Rule::VerifyMax]),
    (
        &[YIELDS, SUCCESSION],
        &[
            Rule::YieldHopeless,
            Rule::YieldOutranked,
            Rule::TooLongYields,
            Rule::TooLongNews,
            Rule::YieldNews,
            Rule::YieldWaits,
            Rule::YieldNamesNext,
        ],
    ),
    (&[LAPSE, ELECTION], &[Rule::FenceEndsAtLapse]),
    (&[READS, FENCES], &[Rule::AnswerHasFloor, Rule::RecoveringSilent]),
    (
        &[FENCES, EDICTS],
        &[
            Rule::FenceAbove,
            Rule::FenceOwner,
            Rule::FenceByAll,
            Rule::StoringRound,
            Rule::OneFence,
            Rule::RestartAtReserve,
            Rule::ReadOthers,
            Rule::ReadMaximum,
            Rule::ReadRaisesAll,
            Rule::ReadBeforeGrant,
            Rule::FloorRises,
        ],
    ),
    (
        &[DURABLE],
        &[
            Rule::RefusalRaisesNothing,
            Rule::FenceReach,
            Rule::OneReserve,
            Rule::WithinReserve,
            Rule::ReserveDurable,
            Rule::BootDurable,
            Rule::WrittenBeforeOk,
        ],
    ),
    (
        &[VERIFICATION],
        &[
            Rule::VerifyShrinks,
            Rule::VerifyRealTime,
            Rule::VerifyFromSend,
            Rule::VerifyBound,
            Rule::VerifyEnds,
        ],
    ),
    (&[ANSWERED], &[Rule::VerifyEach]),
    (
        &[OBSERVERS],
        &[
            Rule::ViewByQuorum,
            Rule::ViewByLife,
            Rule::ViewFromSend,
            Rule::VacantByQuorum,
            Rule::VacantSaid,
            Rule::RecoveringNotFree,
            Rule::Announced,
            Rule::UnwrittenUntold,
            Rule::UnwrittenKept,
        ],
    ),
    (&[STABILITY, ELECTION], &[Rule::WrittenAgainAlone, Rule::RecordsReplaced]),
];

#[cfg(test)]
mod tests {
    use super::super::driver::DriverRule;
    use super::*;

    #[test]
    fn every_bug_has_a_property_that_is_meant_to_notice() {
        for rule in Rule::ALL {
            let found = MEANT.iter().filter(|(_, rules)| rules.contains(rule)).count();
            assert_eq!(found, 1, "{rule:?}");
        }
        let of_core = MEANT.iter().map(|(meant, _)| *meant);
        for meant in of_core.chain(DriverRule::ALL.map(DriverRule::meant)) {
            for name in meant {
                let known = crate::nerio::properties::ALL.iter().any(|(known, _)| known == name);
                assert!(known, "{name} is no property");
            }
        }
    }
}
