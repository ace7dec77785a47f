//! The rulings that make leased leaders on a bus converge, by name, so that each can be turned off
//! where that is the experiment.

#[cfg(tenure_planted)]
mod noticed;

#[cfg(tenure_planted)]
use noticed::*;

use crate::rule::rules;

rules! {
    /// Lease order is kept: an initial wait, adoption of claims, and a span between the end at the
    /// holder and at the others. The author's later code dropped all three.
    TheText: "ruling 1", [WAITED, TERM, CALM], by hand;
    /// One that joins listens for L + K before it calls.
    InitialWait: "the text, I; ruling 1", [MISSED, CALM], by hand;
    /// It listens so in each election.
    WaitPerElection: "ruling 9", [MISSED, CALM], by hand;
    /// Only those are sorted that could lead.
    OnlyEligible: "ruling 1", [BETTER, TIME], by hand;
    /// One stands only after a full valid round in which it announced that it is eligible.
    AnnouncedRound: "ruling 1", [HEARD, CALM], by hand;
    /// One that has ended a term, and stands again, is announced again first.
    AnnouncedAnew: "ruling 1", [CALM], by hand;
    /// One that gives up without having stood, and campaigns again, need not be.
    WithdrawnAnnounced: "ruling 7", [TIME], by hand;
    /// A leader renews only while it is the best.
    RenewOnlyBest: "ruling 2", [BETTER, BEST], by hand;
    /// A leader that heard of a greater claim does not go on.
    Beaten: "ruling 2", [HEAL], by hand;
    /// It does, when those that it heard of have ended.
    BeatenByTheLiving: "ruling 2", [TIME], by hand;
    /// A leader stands by the latest E that it has published, also where it could not renew: of two
    /// that hear of each other one goes on.
    StandsByWhatItSaid: "ruling 2", [BEATEN], by hand;
    /// A leader stops a heartbeat before it must, so that its hand-over comes first.
    HandOverMargin: "ruling 2", [TERM], by hand;
    /// The one that a leader hands over to goes first.
    HandOverNamed: "ruling 2", [TIME], by hand;
    /// A tombstone ends the terms that it names, and no later one.
    HandOverOnce: "ruling 2", [WAITED, CALM], by hand;
    /// The holder stops K before E.
    HolderStopsEarly: "ruling 3", [TERM, CALM], by hand;
    /// The others wait until K after E.
    OthersWaitLonger: "ruling 3", [WAITED, CALM], by hand;
    /// A renewal that does not end later is not made.
    RenewalLater: "ruling 3", [TERM], by hand;
    /// A claim that no right clock can have granted is dropped.
    Cap: "ruling 4", [SHOWN], by hand;
    /// One whose clock differs from those of most others does not lead.
    ClockChecked: "ruling 4", [FAR], by hand;
    /// Clocks are compared as they are when a lease is granted, not as they were when answers came.
    ClocksAsTheyAre: "ruling 4", [FAR], by hand;
    /// Of two clocks that differ the one is off that has moved since they agreed.
    MovedOfTwo: "ruling 4", [FAR], by hand;
    /// One that was found to be off stays so until it agrees, however long that takes.
    OffUntilRight: "ruling 4", [FAR], by hand;
    /// A clock that has stepped is not right because no answers come.
    SilenceProvesNothing: "ruling 4", [FAR], by hand;
    /// Calls are answered before questions, which any stranger may ask.
    CallsAnsweredFirst: "ruling 4", [FAR], by hand;
    /// One that need not call, of two, has its clock compared once a lease.
    ComparedOnceALease: "ruling 4", [FAR], by hand;
    /// A claim that its leader repeats is believed as long as the clock says now: it may have been
    /// wrong when that claim was heard first.
    EndsByTheClockNow: "ruling 3", [FAR], by hand;
    /// A seat is not said to be vacant while somebody says that it leads, whatever clocks show.
    DoubtedUnknown: "ruling 4", [OBSERVED], by hand;
    /// Nor while one says that it follows somebody of whom nothing else is known.
    FollowedIsTold: "ruling 4", [OBSERVED], by hand;
    /// The end of an earlier term says nothing of one that was told later.
    DoubtOfThatTerm: "ruling 7", [OBSERVED], by hand;
    /// Nor while somebody says so that goes by other times.
    OtherTimesLead: "ruling 6", [OBSERVED], by hand;
    /// Nor while one that has stood may lead: only it knows whether it has heard its claim.
    StoodMayLead: "ruling 8", [OBSERVED], by hand;
    /// Nor when a lease is over by this clock of which its leader has just said that it runs.
    SaidItLeads: "ruling 4", [OBSERVED], by hand;
    /// Nor when one of its followers has.
    FollowersWordStays: "ruling 4", [OBSERVED], by hand;
    /// Nor by a round that ended long ago: the process was stopped, and has not read what came.
    VacantLately: "ruling 6", [OBSERVED], by hand;
    /// What is relayed replaces nothing that was heard first-hand.
    RelayExact: "ruling 4", [WAITED], by hand;
    /// What is relayed beats nobody.
    RelayBeatsNobody: "ruling 4", [BEATEN], by hand;
    /// What its leader says itself beats, whatever was relayed of it before.
    SaidItself: "ruling 2", [HEAL], by hand;
    /// A claim that its own sender has not heard yet beats nobody: of two that stand at once the
    /// later one resigns, and both would if the earlier one yielded.
    StandingBeatsNobody: "ruling 8", [BEATEN], by hand;
    /// Another run of a process is somebody else.
    Incarnation: "ruling 5", [WAITED, CALM], by hand;
    /// An own call proves something only in its own round.
    RoundInMessage: "ruling 6", [HEARD], by hand;
    /// A reply proves that its sender is there only in its own round.
    LateReply: "ruling 6", [TIME], by hand;
    /// A void round elects and renews nothing.
    VoidRound: "ruling 6", [HEARD], by hand;
    /// So does one that ends a heartbeat late: the process was stopped.
    LateRoundVoid: "ruling 6", [HEARD], by hand;
    /// The k-th best waits k·(2H + 2K).
    KthWaits: "ruling 6", [BETTER], by hand;
    /// It waits so for those that it knows of, from when it knows of them.
    WaitsForEach: "ruling 6", [BETTER, CALM], by hand;
    /// It waits anew when anything else has kept it from standing meanwhile: the better ones may
    /// have been kept from it too.
    WaitsAnew: "ruling 6", [BETTER];
    /// A newcomer with other times refuses to start.
    SameTimes: "ruling 6", [CALM, TERM], by hand;
    /// What is old does not show by which times others go.
    FreshTimes: "ruling 6", [], by hand;
    /// It takes part where one that was there before goes by its own times.
    TimesOfOurs: "ruling 6", [], by hand;
    /// Who was a newcomer when it heard of other times is one when it decides.
    NewcomerWhenHeard: "ruling 6", [], by hand;
    /// Who only asks makes no call late, and no newcomer refuse.
    AskersJudgeNobody: "A6", [CALM], by hand;
    /// One listens only while it is connected.
    ListensConnected: "rulings 6 and 8", [MISSED], by hand;
    /// A clean stop stops first and then resigns.
    TombstoneSent: "ruling 7", [ENDED, TIME], by hand;
    /// What has ended is remembered, so that a late claim revives nothing.
    TombstoneKept: "ruling 7", [SHOWN, ENDED], by hand;
    /// It is carried in calls and replies, for those that the resignation did not reach.
    TombstoneCarried: "ruling 7", [ENDED], by hand;
    /// Without room to remember it, a tombstone ends what is known all the same.
    BuriedWhenFull: "ruling 7", [ENDED], by hand;
    /// It is told that others know once the own resignation has come back, or the lease is over.
    ReleasedWhenKnown: "ruling 7", [ENDED], by hand;
    /// A grant takes effect only when its own claim was heard.
    OwnClaimHeard: "ruling 8", [HEARD], by hand;
    /// And only if no other claim was heard before.
    FirstClaimWins: "ruling 8", [WAITED, CALM], by hand;
    /// After a void round one that does not lead is held off.
    HeldOff: "ruling 8", [MISSED], by hand;
    /// A reconnection keeps the tie-break.
    TieKept: "ruling 8", [RANKS], by hand;
    /// A part of a batch that was lost says nothing.
    PartUnknown: "ruling 9", [HEARD], by hand;
    /// A reply says of an election what its callers do not follow, and all to those that ask.
    NewsTold: "ruling 9", [], by hand;
    /// Of few callers only those count that were heard lately.
    CallersRecent: "ruling 9", [TIME, BEST, LEADER], by hand;
    /// While a seat stays vacant only those count that could lead.
    CallersAble: "ruling 9", [TIME, LEADER], by hand;
    /// With few callers only those answer that have something to say, and the best.
    FewAnswer: "ruling 9", [], by hand;
}
