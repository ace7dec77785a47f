//! The rulings that make regional voters safe, by name, so that each can be turned off where that
//! is the experiment.

#[cfg(tenure_planted)]
mod noticed;

#[cfg(tenure_planted)]
use noticed::*;

use crate::rule::rules;

rules! {
    /// A quorum is counted of the electorate, and not of the voters that are known.
    ElectorateCounts: "V1", [PROMISED, ONE], by hand;
    /// A quorum counts itself: without, both halves of four have one, as in the original.
    CountsItself: "V1", [PROMISED, ONE], by hand;
    /// One set of voters is accepted, ever.
    AcceptOnce: "V2", [BREACH, ONE], by hand;
    /// Networks that were founded apart never mix.
    FoundingChecked: "V2", [BREACH], by hand;
    /// A ballot that was left is not joined again.
    NeverRejoin: "V3", [VOTES], by hand;
    /// A number that was cast stays as it is in its ballot.
    VoteStays: "V3", [VOTES], by hand;
    /// Nobody is endorsed while a promise runs.
    EndorseFree: "V4", [KEPT, ONE], by hand;
    /// One endorsement for each counter, over all attempts and initiators.
    OnePerCounter: "V4", [ENDORSED, ONE, FENCES], by hand;
    /// What is endorsed is durable before the result leaves.
    EndorsedDurable: "V4", [ENDORSED, KEPT, ONE], by hand;
    /// A tie endorses nobody.
    TieRecast: "V4", [ENDORSED], by hand;
    /// A winner that has joined a higher ballot takes no results of the one before.
    LateResults: "V5", [STAYED, ONE], by hand;
    /// An endorsement counts from the send of the winner's own cast.
    FromTheCast: "V6", [PROMISED, ONE], by hand;
    /// An acknowledgement counts from the send of its heartbeat.
    FromTheSend: "V6", [PROMISED, ONE], by hand;
    /// Clocks may drift apart: of p its receiver counts on D(p).
    DriftMargin: "V6", [PROMISED, ONE], by hand;
    /// An answer carries what its sender holds: at most its own lease-max.
    PromiseAsHeld: "V6", [KEPT, PROMISED, ONE], by hand;
    /// A leadership that has lapsed is over for ever.
    LapseForEver: "V6", [RETURN, ONE], by hand;
    /// A promise counts from a clock that was read after its request arrived.
    FreshClock: "V6", [KEPT, PROMISED, ONE], by hand;
    /// An answer counts for the leadership and the heartbeat that it echoes.
    EchoChecked: "V6", [PROMISED, ONE], by hand;
    /// Another leader is acknowledged only when no promise runs.
    AcknowledgeFree: "V7", [KEPT, ONE], by hand;
    /// What is acknowledged is durable first.
    AcknowledgedDurable: "V7", [ENDORSED, KEPT, ONE], by hand;
    /// One that restarts is silent for the longest that it may have promised.
    Quarantine: "V8", [KEPT, ONE], by hand;
    /// A release is sent after the work has ended.
    ReleaseAfterEnd: "V8", [RELEASED, ONE], by hand;
    /// A release clears the promise to exactly its leadership.
    ReleaseExact: "V8", [KEPT, ONE], by hand;
    /// A leader endorses nobody else.
    LeaderEndorsesNobody: "V8", [KEPT, ONE], by hand;
    /// One starts a ballot after a quorum has said that it is free.
    StarterPolls: "V8", [LEADER], by hand;
    /// The electorate changes by one voter at a time.
    OneAtATime: "V9", [ELECTORATE, ONE], by hand;
    /// The next change waits until a quorum has stored the one before.
    StoredBeforeNext: "V9", [ELECTORATE, ONE], by hand;
    /// A lower electorate than the own one is refused.
    NoLowerDocument: "V9", [ELECTORATE, ONE], by hand;
    /// A winner writes the electorate anew under its counter.
    RewriteOnWinning: "V9", [ELECTORATE, ONE], by hand;
    /// Another identity of a member's id does not count.
    SameIdentity: "V10", [PROMISED, ONE], by hand;
    /// An answer counts for the voter that was asked.
    AnswerOfTheAsked: "V11", [PROMISED, ONE], by hand;
    /// A heartbeat that is not after the last one is ignored.
    LaterHeartbeats: "V11", [TWICE, ONE], by hand;
    /// A voter is dropped only after this one has failed to reach it itself.
    NotByHearsay: "V12", [DROPPED], by hand;
    /// One that another one shows as off line is doubted by it.
    OffLineIsDoubt: "V12", [LEADER], by hand;
    /// A ballot has one electorate: a number under another one does not count in it.
    OneElectorateABallot: "V4", [ELECTORATE, ONE], by hand;
    /// One that may have cast before it restarted casts nothing for as long as a promise.
    QuarantineOfCasts: "V8", [VOTES], by hand;
    /// Only whoever has a vote raises counters.
    CountersOfMembers: "V3", [LEADER], by hand;
    /// One that has won by the results of others endorses itself.
    WinnerEndorsesItself: "V6", [LEADER], by hand;
    /// What ended after a write has ended although the write fails.
    EndsAreTold: "V8", [ONE], by hand;
    /// What a claim grew by after a write has not been claimed when the write fails.
    UnwrittenIsUndone: "V6", [AGREE, RETURN, ONE], by hand;
    /// What was to be told after a write that failed is told after the next input.
    WithheldIsTold: "V12", [SHOWN], by hand;
    /// A withdrawal does not say that the leadership before it binds nobody.
    ReleasedOnce: "V8", [ONE], by hand;
    /// What one that was taken out has promised is not counted for another memory of its id.
    PromiseOfMember: "V9", [ONE], by hand;
    /// The leader gives a vote by itself only where a quorum is there without the newcomer.
    NewcomerSpared: "V9", [LEADER], by hand;
    /// An operator is told that one that is there would get its vote back at once.
    AutoKeeps: "V9", [ELECTORATE], by hand;
    /// An operator gives a vote to one that answers: what is known of another may be over.
    AddsWhoIsThere: "V9", [ELECTORATE], by hand;
    /// One that knows of no vote of its own says that it is free.
    NewcomerIsFree: "V9", [LEADER], by hand;
    /// A run that was taken for over, and answers, is the one that is there.
    RunThatAnswers: "V10", [LEADER], by hand;
    /// That others are not free yet is no reason to ask less often.
    PollsAreNoFailures: "V12", [LEADER], by hand;
    /// Only what was heard since the last heartbeat makes a vacancy.
    VacantLately: "V12", [SHOWN], by hand;
    /// No set is accepted while an id in it is heard with two identities.
    AcceptUnmixed: "V10", [LEADER], by hand;
    /// One whose later run was heard is told that, and not that it has lost its directory.
    RunsAreNoMembers: "V10", [LEADER], by hand;
    /// Counters and documents in answers count only of those that vote.
    AnswersOfMembers: "V11", [LEADER], by hand;
    /// One that has lost its vote while it asked whether others are free starts no ballot.
    PollsOfMembers: "V3", [LEADER], by hand;
    /// One that cannot write its state directory is not free, and draws no number.
    FailingIsNotFree: "V12", [LEADER], by hand;
    /// A candidate is told who is missing before the first voters have accepted each other.
    FoundingIsTold: "V2", [SHOWN], by hand;
    /// A member that answers has not lost its directory, whatever another process of its id says.
    TwinIsNoLoss: "V10", [SHOWN], by hand;
    /// A founder is told which of the others have accepted another set.
    ApartIsTold: "V2", [SHOWN], by hand;
    /// A voter outside of the set keeps nobody from accepting it.
    OthersMayBeMixed: "V2", [LEADER], by hand;
    /// The electorate changes only to one of which a quorum is there.
    ChangesCarried: "V9", [LEADER], by hand;
    /// One that cannot write its state directory stores no document.
    FailingCarriesNone: "V9", [LEADER], by hand;
    /// One that has a later electorate makes no vacancy under an earlier one.
    VacantByTheLatest: "V9", [SHOWN], by hand;
    /// Those that make a vacancy were free at one instant: who was free first may be bound since.
    VacantAtOnce: "V12", [SHOWN], by hand;
    /// With `available` nobody is told of a vacancy before others were asked.
    VacantWhenAsked: "V12", [SHOWN], by hand;
    /// One that a quorum does not answer draws no number.
    StandsWhereItReaches: "V12", [], by hand;
    /// A set of which one has founded another network binds nobody: it is never founded.
    FoundedOtherwise: "V2", [], by hand;
    /// Nobody who cannot write changes the electorate: the write that fails takes heartbeats along.
    ChangesWritten: "V9", [], by hand;
    /// With `available` a leader that is told of a greater one in an answer leads no more.
    ToldOfGreater: "V12", [], by hand;
    /// With `available` one that refuses a number, as it draws in another ballot, is not gone: who
    /// went on without it could win one ballot while it wins the other.
    OtherBallotsAwaited: "V3", [STABLE], by hand;
    /// With `available` who hears a leader leaves its ballot of the same counter.
    FollowedEndsBallots: "V5", [STABLE], by hand;
    /// With `available` a leader says at once to who answers again that it leads.
    RevivedAreTold: "V12", [], by hand;
    /// Others that are not free yet are asked again after a request's time, however long
    /// heartbeats are.
    PollsAgainSoon: "V12", [LEADER], by hand;
}
