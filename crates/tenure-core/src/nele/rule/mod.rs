//! The rulings by name, so that each can be turned off where that is the experiment.

#[cfg(tenure_planted)]
mod noticed;

#[cfg(tenure_planted)]
use noticed::*;

use crate::rule::rules;

rules! {
    /// In `at_most_one` the log decides. By the text, a process leads as long as it has read
    /// anything within T, and T is below the session timeout.
    TheText: "ruling 1; the text, exclusivity", [PROVEN, ONE, FENCES], by hand;
    /// By the later NELI it also has to be assigned the partition, as far as it knows.
    TheLaterNeli: "ruling 1; NELI, exclusive mode", [PROVEN, ONE, FENCES], by hand;
    /// A partition that is assigned anew is claimed anew.
    ClaimedAnew: "ruling 1", [PROVEN, ONE], by hand;
    /// A claim of somebody else after the own one ends it.
    ForeignClaimVoids: "ruling 1", [PROVEN, ONE], by hand;
    /// Only what this run of the process wrote shows that nobody has claimed since.
    EvidenceIsOwn: "ruling 1", [PROVEN, ONE], by hand;
    /// Evidence counts from when it was sent.
    EvidenceFromSent: "ruling 1", [PROVEN, ONE], by hand;
    /// A claimant waits.
    Grace: "ruling 1", [PROVEN, ONE], by hand;
    /// It waits from when it has read its claim back.
    GraceFromReadBack: "ruling 1", [PROVEN, ONE], by hand;
    /// It waits for all of T.
    GraceIsWhole: "ruling 1", [PROVEN, ONE], by hand;
    /// It waits for T by any clock.
    GraceByAnyClock: "ruling 1", [PROVEN, ONE], by hand;
    /// It waits for the longest T of all of its group that it has heard.
    GraceOfAll: "ruling 1", [ONE, PROVEN], by hand;
    /// A record that is missing may be a claim.
    Contiguous: "ruling 1", [PROVEN, ONE], by hand;
    /// A record that cannot be read may be one.
    UnreadableVoids: "ruling 1", [PROVEN, ONE], by hand;
    /// A copy of the own claim that comes after another one does not hide that.
    ClaimReadOnce: "ruling 1", [PROVEN, ONE], by hand;
    /// Only claims of the own group count.
    ClaimsByGroup: "rulings 1 and 9", [LEADER, VACANT], by hand;
    /// And of the own election.
    ClaimsByElection: "rulings 5 and 9", [PROVEN, LEADER, VACANT, HALTED], by hand;
    /// Nobody claims what is not assigned to it.
    ClaimsAssigned: "ruling 1", [SOUND], by hand;
    /// A claim is made after the end was found from which it is read back.
    ClaimsAfterPosition: "ruling 3", [SOUND], by hand;
    /// A claim that was appended before the end that was found is made again.
    ClaimMissed: "ruling 3", [LEADER, VACANT], by hand;
    /// One that was appended, and will not be read any more, is made again soon.
    KeptIsKnown: "ruling 3", [VACANT], by hand;
    /// Two that both hold themselves for the owner do not claim in one step.
    ClaimsSpaced: "ruling 1", [SOUND], by hand;
    /// One that was stopped hears first what has happened meanwhile.
    AwakeHearsFirst: "ruling 1", [SOUND, STAYS], by hand;
    /// A leadership that ran out, or was resigned, comes back by a new claim only: its fence was
    /// used.
    FenceOnce: "ruling 10", [FENCES, LAPSED], by hand;
    /// Nobody takes office by a claim of an earlier leader epoch: where the log was truncated, what
    /// has led meanwhile is not in it any more.
    FenceOfEpoch: "ruling 10", [FENCES, PROVEN], by hand;
    /// Who claims anew in a later epoch waits anew: a claim of the earlier one may lead still.
    GraceOfEpoch: "ruling 10", [FENCES, PROVEN], by hand;
    /// A fence has the leader epoch above the offset.
    FenceHasEpoch: "ruling 10", [PROVEN, FENCES], by hand;
    /// It is the epoch of the ledger, and no number of the group.
    FenceFromLedger: "ruling 10", [PROVEN, FENCES], by hand;
    /// Without an epoch, or with one that does not fit, nobody leads.
    FenceBounded: "ruling 10", [PROVEN, FENCES], by hand;
    /// In `at_least_one` only what is assigned is refreshed.
    RefreshAssigned: "ruling 1", [NEWS, OVERLAP], by hand;
    /// And what is not is led until V + T.
    StandingNotGated: "ruling 1", [NEWS, GAP], by hand;
    /// A record of any group refreshes it.
    AnyGroupRefreshes: "ruling 9", [NEWS, GAP], by hand;
    /// What was written before the end that was found refreshes nothing.
    BacklogIsOld: "ruling 3", [NEWS, OVERLAP], by hand;
    /// What was read under an earlier assignment is dropped.
    OldReadingsDropped: "ruling 2", [NEWS, PROVEN], by hand;
    /// A reading that is broken begins anew.
    ReadAnew: "ruling 1", [LEADER, VACANT], by hand;
    /// So does one that brings nothing for T: something may stand in its way.
    SilentReadAnew: "ruling 1", [LEADER, VACANT], by hand;
    /// What is lost is not waited for; what is revoked is given back.
    GivenBack: "ruling 2", [SOUND], by hand;
    /// It is given back when it is led no more (`at_most_one`).
    LowersFirst: "rulings 2 and 11", [BACK], by hand;
    /// Whether one leads is a question to the clock.
    AsksTheClock: "ruling 4", [HANDLE], by hand;
    /// Another number of partitions ends everything.
    PartitionsFixed: "ruling 5", [HALTED], by hand;
    /// So does one that others have.
    PartitionsAlike: "ruling 5", [HALTED], by hand;
    /// So does another topic, or another cluster.
    TopicSame: "ruling 10", [HALTED], by hand;
    /// A clean close leaves the group and leads on (`at_least_one`).
    LeadsOn: "rulings 1 and 11", [NEWS, GAP], by hand;
    /// And stops before it leaves (`at_most_one`).
    StopsThenLeaves: "ruling 11", [BACK], by hand;
    /// One that has left writes no claim, and hears of no assignment.
    LeftIsLeft: "ruling 11", [SOUND, LEADER], by hand;
    /// To leave is bounded in time.
    LeavesInTime: "ruling 11", [PAST, LEADER], by hand;
    /// Every process writes to every partition.
    NoneDriesUp: "the text, protocol definition", [SOUND, GAP], by hand;
    /// A role is decided on partition j mod M.
    RolesWrap: "the text, protocol definition", [LEADER], by hand;
    /// Owners that stand for fewer roles than others say so.
    UnfilledTold: "the text, practical implications", [], by hand;
    /// That two groups have one machine is told.
    SameHostTold: "ruling 9", [], by hand;
    /// A role is vacant when all who could lead it would have been heard.
    VacantKnown: "observers", [SHOWN], by hand;
    /// What was missed may have been a leader.
    MissedUnknown: "observers", [SHOWN], by hand;
    /// Where a partition cannot be read the next one is.
    SeekElsewhere: "observers", [SHOWN], by hand;
    /// Who leaves says at once that it leads no more, unless it leads on.
    LeaverSaysSo: "observers", [SHOWN], by hand;
    /// Who asks again while it looks is not left with what it was shown before.
    AskedAgainTold: "observers", [SHOWN], by hand;
    /// Who is heard no more is shown no more.
    SilentGone: "observers", [SHOWN], by hand;
    /// Of one with a longer T, for as long as that says.
    HeardByItsTerms: "observers", [SHOWN, OBSERVERS], by hand;
    /// Of groups that share only a topic nothing is shown.
    OtherElections: "the text, topic reuse", [SHOWN], by hand;
    /// One that hears nothing knows nothing.
    DeafUnknown: "observers", [SHOWN], by hand;
    /// A process that joins does not disturb those that keep their partitions.
    KeptStays: "ruling 8", [STAYS], by hand;
}
