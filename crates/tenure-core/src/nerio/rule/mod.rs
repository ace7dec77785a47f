//! The rulings that make Nerio sound, by name, so that each can be turned off where that is the
//! experiment.

#[cfg(tenure_planted)]
mod noticed;

#[cfg(tenure_planted)]
use noticed::*;

use crate::rule::rules;

rules! {
    // The paper, and what it leaves out.

    /// A claim keeps the drift margin: `E = Start + (1 − ρ)δ`.
    ClaimShrinks: "section 3, step 8", [ONE_LEADER, GRANTS];
    /// A grant keeps the drift margin: `F = T + (1 + ρ)δ`.
    GrantStretches: "section 3, step 6.1", [LASTS, GRANTS];
    /// E counts from the send of the request, not from the answer.
    ClaimFromSend: "section 3, step 8; rounding", [ONE_LEADER, GRANTS];
    /// A grantor gives a lease to one at a time.
    OneHolder: "section 3, step 5", [ONE_LEADER, GRANTS];
    /// F never goes back while granted.
    FinishGrows: "section 3, step 6.1; parked requests 1", [LASTS], by hand;
    /// Samples of the grantor's clock strictly increase.
    StrictSamples: "section 2", [LASTS], by hand;
    /// Every Start of a candidate is above the one before: it names the instance.
    StartGrows: "section 2", [ASKS], by hand;
    /// The sample of the free test is taken at the message.
    FreshSample: "one clock sample", [LASTS, GRANTS];
    /// Whether a claim holds is computed from the clock at the question.
    StandingAsked: "one clock sample", [VALIDITY], by hand;
    /// One grantor counts once, however often its ok arrives.
    OneOkEach: "duplicates", [ONE_LEADER, GRANTS];
    /// T names the memory that took it: a lost directory is another grantor.
    StampNamesMemory: "restart: instances", [TIMESTAMPS, EDICTS];
    /// Two quorum timestamps without a common grantor have no order, which is an error.
    DisjointIsError: "QT order is partial", [TIMESTAMPS, EDICTS], by hand;
    /// Two quorum timestamps that grantors order in opposite ways have none either.
    ContradictionIsError: "QT order is partial", [TIMESTAMPS, EDICTS], by hand;
    /// The claim is lowered before the release is sent.
    LowerBeforeRelease: "section 6", [PROMISES];
    /// Who gave up on purpose asks for nothing new before a quorum has the release.
    ReleaseConfirmed: "section 6; who is next", [ASKS], by hand;

    // Identity.

    /// A grant is held by an incarnation, not by a name.
    HolderByIncarnation: "identity", [ONE_LEADER, GRANTS];
    /// A request waits for an incarnation, not for a name.
    ParkedByIncarnation: "identity", [WAITS], by hand;
    /// An incarnation that gave its Starts up binds no later one of the same name.
    WatermarkByIncarnation: "identity", [ELECTION, SUCCESSION], by hand;
    /// A release comes from the holder's incarnation, not from its name.
    ReleaseByIncarnation: "identity", [OWN_RELEASE, GRANTS, DEAD], by hand;
    /// Two incarnations that use one name at the same time are reported.
    NameContested: "identity", [NAMES], by hand;
    /// That a name is shared is said steadily, and not only to the one that asks in turn.
    NameStaysShared: "identity", [NAMES], by hand;
    /// One incarnation asks from one address: the first, while its grant lives.
    OneAddress: "identity", [LASTS], by hand;
    /// A release from another address ends nothing.
    ReleaseFromAddress: "identity", [OWN_RELEASE, GRANTS], by hand;
    /// An answer counts only for the incarnation that asked.
    AnswerBound: "identity", [ONE_LEADER, GRANTS, ASKS], by hand;
    /// Oks count only from a member's own address.
    OkFromMember: "identity", [ONE_LEADER, GRANTS, ASKS], by hand;

    // Parked requests.

    /// The lease of a request that waited counts from its arrival.
    LeaseFromArrival: "parked requests 1", [LASTS], by hand;
    /// A waiting request is dropped when its own lease would be over.
    ParkedLeaseEnds: "parked requests 1", [LASTS], by hand;
    /// A waiting request that was not refreshed is dropped.
    ParkedExpires: "parked requests 1", [DEAD], by hand;
    /// Those who wait are bounded.
    ParkedBounded: "parked requests", [BOUNDED], by hand;
    /// Over the bound the lowest in the common order is evicted.
    LowestEvicted: "parked requests", [WAITS], by hand;
    /// Releases of unknown elections take little room, and none of that of elections.
    EarlyBounded: "parked requests", [ELECTION, SUCCESSION], by hand;
    /// What only a release opened takes no room of elections.
    EarlyApart: "parked requests", [ELECTION, SUCCESSION], by hand;
    /// The checks of admission are made again when a request has waited.
    ChecksAgain: "parked requests 2", [DEAD], by hand;
    /// A parked request is replaced only by a higher Start.
    ParkedGrows: "parked requests 2", [DEAD], by hand;
    /// A release deletes what is parked at or below its Start.
    ReleaseUnparks: "parked requests 2", [WAITS], by hand;
    /// The holder is never parked: it renews.
    HolderNotParked: "parked requests 2", [STABILITY];
    /// `gs` is never overwritten by an older duplicate.
    GrantedStartGrows: "parked requests 3", [DEAD], by hand;
    /// A request that was granted gets the same ok again, and F is not extended.
    RepeatKeepsFinish: "parked requests 3", [LASTS], by hand;
    /// E is the minimum over the quorum.
    ClaimByMinimum: "parked requests 4", [ONE_LEADER, GRANTS];
    /// Oks at or below the floor are dropped for ever.
    Floor: "parked requests 4", [ONE_LEADER, GRANTS];
    /// Start, δ, T and the fence flag come from one ok, not T from an earlier one.
    OneOk: "parked requests 4, 5", [GRANTS, TIMESTAMPS, ELECTION], by hand;
    /// They come from the latest ok, not T from it and E from an earlier one.
    LatestOk: "parked requests 4, 5", [GRANTS, TIMESTAMPS, ELECTION];
    /// A failed renewal is not released while the earlier lease is in use.
    KeepWhileInUse: "parked requests 4", [PROMISES];
    /// QT carries T of the grant, not of the arrival.
    StampOfGrant: "parked requests 5", [LASTS, TIMESTAMPS, EDICTS];
    /// No request at or below a released Start is granted.
    Watermark: "erratum 4; parked requests 5", [DEAD], by hand;
    /// No request at or below a Start that has lapsed is granted once another held the grant.
    Tombstone: "parked requests 5", [DEAD], by hand;
    /// Nor is such a request told that it waits, if the other got the grant on its arrival.
    LapsedNotParked: "parked requests 5", [DEAD], by hand;

    // Who is next.

    /// A release names the Start it ends.
    ReleaseNamesStart: "erratum 4; who is next 1", [OWN_RELEASE, GRANTS, DEAD];
    /// A release is valid only if the holder sent it.
    ReleaseByHolder: "who is next 1", [OWN_RELEASE, GRANTS, DEAD];
    /// Whom the last leader named goes first.
    NextFirst: "who is next 1", [WAITS], by hand;
    /// `next` is used once, and does not outlive the holder who said it.
    NextOnce: "who is next 2", [WAITS], by hand;
    /// Those who wait go by an order that is the same everywhere, not by arrival.
    CommonOrder: "who is next 2", [WAITS], by hand;
    /// Those who wait go before a newcomer, even if the timer is late.
    WaitersFirst: "who is next 2", [WAITS], by hand;
    /// A leader goes before those who do not lead.
    LeaderFirst: "who is next 2", [WAITS], by hand;
    /// The higher priority goes first.
    PriorityFirst: "who is next 2", [WAITS], by hand;
    /// The first lease is short.
    ShortFirstLease: "who is next 3", [ASKS], by hand;
    /// The first lease is renewed at once.
    RenewedAtOnce: "who is next 3", [ANNOUNCED, STABILITY], by hand;
    /// A leader names only one whom a grantor heard of lately.
    NextHeard: "who is next 3", [ASKS], by hand;
    /// A candidate yields only if no quorum is possible any more.
    YieldHopeless: "who is next 4", [YIELDS, SUCCESSION], by hand;
    /// A candidate yields only to somebody who ranks above it.
    YieldOutranked: "who is next 4", [YIELDS, SUCCESSION], by hand;
    /// A refusal older than the last grant is no reason to yield.
    YieldNews: "who is next 4", [YIELDS, SUCCESSION], by hand;
    /// A candidate yields to a leader only after seeing it renew.
    YieldRenewed: "who is next 4", [SUCCESSION], by hand;
    /// A member that is silent, or cannot grant, is not waited for.
    YieldWithoutLost: "who is next 4", [ELECTION, SUCCESSION], by hand;
    /// What was yielded is asked for again only after a while.
    YieldWaits: "who is next 4", [YIELDS, SUCCESSION], by hand;
    /// It is asked for again at once when whom it was yielded to has gone.
    YieldEnds: "who is next 4", [SUCCESSION], by hand;
    /// Who yields says for whom.
    YieldNamesNext: "who is next 4", [YIELDS, SUCCESSION], by hand;

    // The scalar fence.

    /// A proposal needs to be above what was seen.
    FenceAbove: "scalar fence 1", [FENCES, EDICTS];
    /// A fence belongs to one attempt, not to a name.
    FenceOwner: "scalar fence 1", [FENCES, EDICTS], by hand;
    /// A refused proposal raises nothing.
    RefusalRaisesNothing: "scalar fence 1", [DURABLE], by hand;
    /// A candidate proposes the best fence it knows of + 1.
    ProposesNext: "scalar fence 1", [ASKS], by hand;
    /// A claim is raised only with a fence that all oks of the quorum accepted.
    FenceByAll: "scalar fence 2", [FENCES, EDICTS];
    /// A fence that was not accepted is replaced by one that is stored in another round.
    StoringRound: "scalar fence 2", [FENCES, EDICTS];
    /// Oks count together only if they accepted the same fence.
    OneFence: "scalar fence 2", [FENCES, EDICTS];
    /// A fence ends with the lapse of its leadership.
    FenceEndsAtLapse: "scalar fence 2", [LAPSE, ELECTION];
    /// No fence above the reserve is accepted.
    WithinReserve: "scalar fence 3", [DURABLE], by hand;
    /// A reserve counts once it is durable.
    ReserveDurable: "scalar fence 3", [DURABLE], by hand;
    /// A restart begins at the reserve.
    RestartAtReserve: "scalar fence 3", [FENCES, EDICTS];
    /// A grantor without memory reads the fences of a quorum.
    FenceRead: "scalar fence 4", [STARTS, FENCES], by hand;
    /// It reads a full quorum of others.
    ReadOthers: "scalar fence 4", [MEMORIES, FENCES, EDICTS], by hand;
    /// It goes by the highest of what it read.
    ReadMaximum: "scalar fence 4", [MEMORIES, FENCES, EDICTS], by hand;
    /// What it read counts for elections, too, that a release opened while it waited.
    ReadRaisesAll: "scalar fence 4", [FENCES, EDICTS], by hand;
    /// The read begins after the quarantine has ended.
    ReadAfterQuarantine: "scalar fence 4", [ONE_LEADER, GRANTS, FENCES], by hand;
    /// It grants nothing before the read is done.
    ReadBeforeGrant: "scalar fence 4", [STARTS, FENCES, EDICTS], by hand;
    /// Its first reserve says that the read is done, and is not written before.
    ReserveAfterRead: "scalar fence 4", [STARTS, FENCES], by hand;
    /// Recovering members do not answer reads.
    RecoveringSilent: "scalar fence 4", [READS, FENCES], by hand;
    /// The answer covers elections that were forgotten, and the reserve of a restart.
    AnswerHasFloor: "scalar fence 4, 6", [READS, FENCES], by hand;
    /// The floor rises to the fence of an election that is forgotten.
    FloorRises: "scalar fence 6", [FENCES, EDICTS], by hand;
    /// A proposal too far above what was seen is refused.
    FenceReach: "scalar fence 6", [DURABLE], by hand;
    /// Grantors whose fences are further apart than that come together.
    TooFarClimbs: "scalar fence 6", [ELECTION], by hand;
    /// One reserve at a time is on its way to the disk.
    OneReserve: "scalar fence 3", [ONE_BOUND, DURABLE], by hand;
    /// A record that is not written takes no reserve back that is under way.
    SentReserveKept: "scalar fence 3", [ONE_BOUND], by hand;

    // Verification.

    /// An answer to a verification is less the drift of the asker's clock.
    VerifyShrinks: "erratum 1", [VERIFICATION];
    /// It says the least real time left, whatever the leader's clock is like.
    VerifyRealTime: "erratum 1", [VERIFICATION];
    /// It counts from the question.
    VerifyFromSend: "erratum 1", [VERIFICATION];
    /// A release waits for the promise of a verification.
    PromiseKept: "erratum 2", [PROMISES];
    /// No attempt begins before a release that waits for a promise.
    AttemptWaits: "verification", [ONE_LEADER, GRANTS, ASKS];
    /// Nothing is promised beyond vmax.
    VerifyMax: "verification", [SUCCESSION], by hand;
    /// An answer is bound to its asker's incarnation and question.
    VerifyBound: "verification", [VERIFICATION], by hand;
    /// Each of several verifications of one election is answered for itself.
    VerifyEach: "verification", [ANSWERED], by hand;
    /// No verification is answered after `E := C`.
    VerifyEnds: "verification", [VERIFICATION], by hand;

    // Restart.

    /// Nothing is granted before the boot is durable.
    BootDurable: "restart: boot count", [DURABLE], by hand;
    /// A grantor without memory grants nothing during its quarantine.
    Quarantine: "restart 1", [ONE_LEADER, GRANTS];
    /// A quarantine is longer than δ_max by the drift.
    QuarantineStretches: "restart 1", [QUARANTINES], by hand;
    /// A quarantine is not shorter than δ_max by the drift.
    QuarantineNotShrunk: "restart 1", [QUARANTINES], by hand;
    /// The leader too is refused during a quarantine.
    QuarantineForAll: "restart 1", [ONE_LEADER, GRANTS, DURABLE], by hand;
    /// δ_max is the largest ever configured.
    DeltaMaxEver: "restart 1", [QUARANTINES], by hand;
    /// A grantor without memory waits for the largest δ_max of those it reads, not for its own
    /// only.
    DeltaMaxOfOthers: "restart 1: grantors that differ", [ONE_LEADER, GRANTS, OBSERVERS], by hand;
    /// A larger δ_max is given only after every lease of that length that others may have
    /// forgotten has ended.
    RaiseWaits: "restart 1: grantors that differ", [STARTS, GRANTS], by hand;
    /// A first lease is given only to those who may have a full one after it.
    FullLeaseFits: "who is next 3: grantors that differ", [STABILITY, YIELDS], by hand;
    /// A candidate whose lease no quorum gives keeps nobody else from a grantor.
    TooLongYields: "who is next 4: grantors that differ", [YIELDS, SUCCESSION], by hand;
    /// A refusal that came before another answer of its grantor says nothing any more.
    TooLongNews: "who is next 4: grantors that differ", [YIELDS, SUCCESSION], by hand;
    /// A memory serves once a quorum of others have written it down.
    RecordedByQuorum: "names: instances", [MEMORIES, ONE_LEADER, GRANTS], by hand;
    /// What is said to be written down is durable.
    RecordDurable: "names: instances", [NAMED, ONE_LEADER, GRANTS], by hand;
    /// An empty directory takes the place of no other before its memory is to be written down.
    EmptyTakesNoPlace: "names: instances", [SERVES, ELECTION], by hand;
    /// Of two memories of a member the later one counts, whichever is heard of last.
    RecordOnlyLater: "names: instances", [NAMED, ONE_LEADER, GRANTS], by hand;
    /// What an earlier memory granted is waited out from when the later one was written down, not
    /// from its start.
    WaitFromRecord: "names: instances", [ONE_LEADER, GRANTS];
    /// The word of a memory bounds nothing once a later one of its member was heard of.
    LatestRead: "names: instances", [MEMORIES, FENCES, EDICTS, ONE_LEADER, GRANTS], by hand;
    /// An ok names the memories that its grantor has written down.
    OkNamesMemories: "names: instances", [ONE_LEADER, GRANTS], by hand;
    /// No ok of a memory counts together with one that names another memory of that member.
    OneMemoryEach: "names: instances", [ONE_LEADER, GRANTS], by hand;
    /// A memory that begins knows all memories that those know that it asks.
    MemoriesRead: "names: instances", [MEMORIES, ONE_LEADER, GRANTS], by hand;
    /// A cluster is founded when all members have empty directories.
    FoundingByAll: "founding", [FOUNDED, ONE_LEADER, GRANTS, FENCES], by hand;
    /// A memory is a founder's if it was there at the founding: not if its member had another one.
    FounderByMemory: "founding", [FOUNDED, MEMORIES, ONE_LEADER, GRANTS, FENCES], by hand;
    /// Founders are all there, and empty, at one time.
    FoundersTogether: "founding", [FOUNDED, FENCES, EDICTS, ONE_LEADER, GRANTS], by hand;
    /// A leader that is heard is waited for.
    FoundingAfterLeader: "founding", [FOUNDED, ONE_LEADER, GRANTS], by hand;
    /// Fences of a founding are above those of a cluster whose directories were all lost.
    FoundingFloor: "founding", [FENCES, EDICTS], by hand;
    /// No lease is longer than δ_max.
    WithinDeltaMax: "restart 1; parked requests 2", [LASTS], by hand;
    /// The grant is written before its ok leaves.
    WrittenBeforeOk: "restart 2", [DURABLE];
    /// A release does not end a quarantine.
    ReleaseInQuarantine: "restart 3", [ONE_LEADER, GRANTS];

    // Observers.

    /// A leader is who is named by a quorum.
    ViewByQuorum: "readings", [OBSERVERS], by hand;
    /// A quorum names one incarnation, not one name.
    ViewByIncarnation: "readings", [OBSERVERS], by hand;
    /// What is left of a lease counts from the send of the question.
    ViewFromSend: "readings", [OBSERVERS], by hand;
    /// A view lasts as long as a quorum of grants, not as long as the first of all.
    ViewLongest: "readings", [HEARD], by hand;
    /// The grants of a leader were asked for with one announced fence.
    ViewAnnounced: "readings", [HEARD], by hand;
    /// Vacant is said only when a quorum is free.
    VacantByQuorum: "readings", [OBSERVERS], by hand;
    /// Vacant is said only when a quorum was free at one instant.
    VacantAtOnce: "readings", [HEARD], by hand;
    /// Vacant is said when a quorum is free.
    VacantSaid: "readings", [OBSERVERS], by hand;
    /// A grantor that does not grant says so: it is not free.
    RecoveringNotFree: "readings; restart", [OBSERVERS], by hand;
    /// A candidate names the fence of its leadership once its claim was raised, and not before.
    Announced: "readings", [OBSERVERS], by hand;
    /// A fence that took a second round is announced at once, not with the next renewal.
    AnnouncedAtOnce: "readings", [ANNOUNCED], by hand;
    /// Who leads no more, and must not release yet, is told so: nobody takes it for a leader.
    LeavingTold: "readings; erratum 2", [LEAVES], by hand;
    /// What a candidate waits for is what keeps every quorum from it.
    WaitingByQuorum: "waiting", [WAITING], by hand;
    /// It is by the last word of each grantor.
    WaitingByLastWord: "waiting", [WAITING], by hand;
    /// A release that is not confirmed is told as what the next campaign waits for.
    WaitingForRelease: "waiting", [], by hand;
    /// A grant that could not be written is told to nobody.
    UnwrittenUntold: "readings; restart 2", [OBSERVERS], by hand;
    /// A grant that could not be written stays unwritten, however many are.
    UnwrittenKept: "readings; restart 2", [OBSERVERS], by hand;
    /// What is written again is written alone: one record that never can be holds up no other.
    WrittenAgainAlone: "restart 4", [STABILITY, ELECTION], by hand;
    /// A record that is only replaced needs no room: its election is granted though there was none
    /// for another one.
    RecordsReplaced: "restart 4", [STABILITY, ELECTION], by hand;
    /// A grantor that cannot write says so: it is neither free nor serving.
    FailingSaid: "readings; restart 4", [SAID], by hand;
    /// A grantor whose flush does not end says so, too.
    HangSaid: "readings; restart 4", [], by hand;
    /// A grantor that starts with its memory does not say that it lost it.
    StartingSaid: "readings; restart", [SAID_STARTING], by hand;

    // Orders.

    /// A leader reports only an order that names its incarnation and its fence.
    OrderNamesFence: "orders", [ORDERED], by hand;
    /// An order is reported once, however often it arrives.
    OrderOnce: "orders", [ORDERED], by hand;
}
