//! Which property is meant to notice which planted bug.

use tenure_core::nerio::planted::Rule;

const ONE_LEADER: &str = "Leader Uniqueness";
const GRANTS: &str = "A claim stands on grants of a quorum";
const VALIDITY: &str = "Edict Validity";
const EDICTS: &str = "Edict Ordering";
const TIMESTAMPS: &str = "Quorum timestamps order leaderships";
const FENCES: &str = "Fences strictly grow and are unique";
const READS: &str = "A fence read is answered with all that was seen";
const LAPSE: &str = "A fence ends with the lapse of its leadership";
const VERIFICATION: &str = "Verification never over-reports";
const PROMISES: &str = "A release comes after the claim and after every promise";
const OWN_RELEASE: &str = "A release never shortens somebody else's lease";
const DURABLE: &str = "Nothing is visible before it is durable";
const DEAD: &str = "No grant to the dead";
const OBSERVERS: &str = "Observers see what is";
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
            Rule::GrantStretches,
            Rule::ClaimFromSend,
            Rule::ShrinkRoundsDown,
            Rule::StretchRoundsUp,
            Rule::OneHolder,
            Rule::FinishGrows,
            Rule::FreshSample,
            Rule::OneOkEach,
            Rule::HolderByLife,
            Rule::ClaimByMinimum,
            Rule::Floor,
            Rule::RepeatKeepsFinish,
            Rule::AttemptWaits,
            Rule::Quarantine,
            Rule::QuarantineStretches,
            Rule::QuarantineNotShrunk,
            Rule::DeltaMaxEver,
            Rule::WithinDeltaMax,
            Rule::ReleaseInQuarantine,
        ],
    ),
    (&[ONE_LEADER, GRANTS, DURABLE], &[Rule::QuarantineForAll]),
    (&[GRANTS, TIMESTAMPS, ELECTION], &[Rule::LatestOk, Rule::OneOk]),
    (&[VALIDITY], &[Rule::StandingAsked]),
    (
        &[TIMESTAMPS, EDICTS],
        &[
            Rule::StrictSamples,
            Rule::StampNamesMemory,
            Rule::DisjointIsError,
            Rule::ContradictionIsError,
            Rule::StampOfGrant,
        ],
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
            Rule::StartGrows,
            Rule::ParkedByLife,
            Rule::LeaseFromArrival,
            Rule::ParkedLeaseEnds,
            Rule::ParkedExpires,
            Rule::ChecksAgain,
            Rule::ParkedGrows,
            Rule::ReleaseUnparks,
            Rule::GrantedStartGrows,
            Rule::Watermark,
            Rule::Tombstone,
        ],
    ),
    (&[STABILITY], &[Rule::HolderNotParked, Rule::RenewedAtOnce, Rule::LeaderFirst]),
    (
        &[ELECTION, SUCCESSION],
        &[
            Rule::WatermarkByLife,
            Rule::NameContested,
            Rule::OneAddress,
            Rule::AnswerBound,
            Rule::OkFromMember,
            Rule::ParkedBounded,
            Rule::LowestEvicted,
            Rule::YieldWithoutLost,
            Rule::ProposesNext,
            Rule::FenceReach,
        ],
    ),
    (
        &[SUCCESSION],
        &[
            Rule::ReleaseConfirmed,
            Rule::NextFirst,
            Rule::NextOnce,
            Rule::CommonOrder,
            Rule::WaitersFirst,
            Rule::PriorityFirst,
            Rule::ShortFirstLease,
            Rule::NextHeard,
            Rule::YieldHopeless,
            Rule::YieldOutranked,
            Rule::YieldNews,
            Rule::YieldRenewed,
            Rule::YieldRenewed,
            Rule::YieldEnds,
            Rule::YieldWaits,
            Rule::YieldEnds,
            Rule::YieldNamesNext,
            Rule::VerifyMax,
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
            Rule::FenceRead,
            Rule::ReadOthers,
            Rule::ReadMaximum,
            Rule::ReadRaisesAll,
            Rule::ReadAfterQuarantine,
            Rule::ReadBeforeGrant,
            Rule::ReserveAfterRead,
            Rule::FloorRises,
        ],
    ),
    (
        &[DURABLE],
        &[
            Rule::RefusalRaisesNothing,
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
    (
        &[OBSERVERS],
        &[
            Rule::ViewByQuorum,
            Rule::ViewByLife,
            Rule::ViewFromSend,
            Rule::ViewLongest,
            Rule::ViewFence,
            Rule::VacantByQuorum,
            Rule::VacantAtOnce,
            Rule::VacantSaid,
            Rule::RecoveringNotFree,
        ],
    ),
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
