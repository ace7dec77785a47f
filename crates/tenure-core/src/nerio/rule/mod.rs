//! The rulings that make Nerio sound, by name, so that each can be turned off where that is the
//! experiment.

#[cfg(tenure_planted)]
pub mod planted;

use crate::rule::rules;

rules! {
    // The paper, and what it leaves out.

    /// A claim keeps the drift margin: `E = Start + (1 − ρ)δ`.
    ClaimShrinks: "section 3, step 8",
    /// A grant keeps the drift margin: `F = T + (1 + ρ)δ`.
    GrantStretches: "section 3, step 6.1",
    /// E counts from the send of the request, not from the answer.
    ClaimFromSend: "section 3, step 8; rounding",
    /// `(1 − ρ)δ` rounds down.
    ShrinkRoundsDown: "rounding",
    /// `(1 + ρ)δ` rounds up.
    StretchRoundsUp: "rounding",
    /// A grantor gives a lease to one at a time.
    OneHolder: "section 3, step 5",
    /// F never goes back while granted.
    FinishGrows: "section 3, step 6.1; parked requests 1",
    /// Samples of the grantor's clock strictly increase.
    StrictSamples: "section 2",
    /// Every Start of a candidate is above the one before: it names the instance.
    StartGrows: "section 2",
    /// The sample of the free test is taken at the message.
    FreshSample: "one clock sample",
    /// Whether a claim holds is computed from the clock at the question.
    StandingAsked: "one clock sample",
    /// One grantor counts once, however often its ok arrives.
    OneOkEach: "duplicates",
    /// T names the memory that took it: a lost directory is another grantor.
    StampNamesMemory: "restart: instances",
    /// Two quorum timestamps without a common grantor have no order, which is an error.
    DisjointIsError: "QT order is partial",
    /// Two quorum timestamps that grantors order in opposite ways have none either.
    ContradictionIsError: "QT order is partial",
    /// The claim is lowered before the release is sent.
    LowerBeforeRelease: "section 6",
    /// Who gave up on purpose asks for nothing new before a quorum has the release.
    ReleaseConfirmed: "section 6; who is next",

    // Identity.

    /// A grant is held by a life, not by a name.
    HolderByLife: "identity",
    /// A request waits for a life, not for a name.
    ParkedByLife: "identity",
    /// A life that gave its Starts up binds no later one of the same name.
    WatermarkByLife: "identity",
    /// A release comes from the holder's own life, not from its name.
    ReleaseByLife: "identity",
    /// Two lives that use one name at the same time are reported.
    NameContested: "identity",
    /// That a name is shared is said steadily, and not only to the one that asks in turn.
    NameStaysShared: "identity",
    /// One life asks from one address: the first, while its grant lives.
    OneAddress: "identity",
    /// A release from another address ends nothing.
    ReleaseFromAddress: "identity",
    /// An answer counts only for the life that asked.
    AnswerBound: "identity",
    /// Oks count only from a member's own address.
    OkFromMember: "identity",

    // Parked requests.

    /// The lease of a request that waited counts from its arrival.
    LeaseFromArrival: "parked requests 1",
    /// A waiting request is dropped when its own lease would be over.
    ParkedLeaseEnds: "parked requests 1",
    /// A waiting request that was not refreshed is dropped.
    ParkedExpires: "parked requests 1",
    /// Those who wait are bounded.
    ParkedBounded: "parked requests",
    /// Over the bound the lowest in the common order is evicted.
    LowestEvicted: "parked requests",
    /// Releases of unknown elections take little room, and none of that of elections.
    EarlyBounded: "parked requests",
    /// What only a release opened takes no room of elections.
    EarlyApart: "parked requests",
    /// The checks of admission are made again when a request has waited.
    ChecksAgain: "parked requests 2",
    /// A parked request is replaced only by a higher Start.
    ParkedGrows: "parked requests 2",
    /// A release deletes what is parked at or below its Start.
    ReleaseUnparks: "parked requests 2",
    /// The holder is never parked: it renews.
    HolderNotParked: "parked requests 2",
    /// `gs` is never overwritten by an older duplicate.
    GrantedStartGrows: "parked requests 3",
    /// A request that was granted gets the same ok again, and F is not extended.
    RepeatKeepsFinish: "parked requests 3",
    /// E is the minimum over the quorum.
    ClaimByMinimum: "parked requests 4",
    /// Oks at or below the floor are dropped for ever.
    Floor: "parked requests 4",
    /// Start, δ, T and the fence flag come from one ok, not T from an earlier one.
    OneOk: "parked requests 4, 5",
    /// They come from the latest ok, not T from it and E from an earlier one.
    LatestOk: "parked requests 4, 5",
    /// A failed renewal is not released while the earlier lease is in use.
    KeepWhileInUse: "parked requests 4",
    /// QT carries T of the grant, not of the arrival.
    StampOfGrant: "parked requests 5",
    /// No request at or below a released Start is granted.
    Watermark: "erratum 4; parked requests 5",
    /// No request at or below a Start that has lapsed is granted once another held the grant.
    Tombstone: "parked requests 5",
    /// Nor is such a request told that it waits, if the other got the grant on its arrival.
    LapsedNotParked: "parked requests 5",

    // Who is next.

    /// A release names the Start it ends.
    ReleaseNamesStart: "erratum 4; who is next 1",
    /// A release is valid only if the holder sent it.
    ReleaseByHolder: "who is next 1",
    /// Whom the last leader named goes first.
    NextFirst: "who is next 1",
    /// `next` is used once, and does not outlive the holder who said it.
    NextOnce: "who is next 2",
    /// Those who wait go by an order that is the same everywhere, not by arrival.
    CommonOrder: "who is next 2",
    /// Those who wait go before a newcomer, even if the timer is late.
    WaitersFirst: "who is next 2",
    /// A leader goes before those who do not lead.
    LeaderFirst: "who is next 2",
    /// The higher priority goes first.
    PriorityFirst: "who is next 2",
    /// The first lease is short.
    ShortFirstLease: "who is next 3",
    /// The first lease is renewed at once.
    RenewedAtOnce: "who is next 3",
    /// A leader names only one whom a grantor heard of lately.
    NextHeard: "who is next 3",
    /// A candidate yields only if no quorum is possible any more.
    YieldHopeless: "who is next 4",
    /// A candidate yields only to somebody who ranks above it.
    YieldOutranked: "who is next 4",
    /// A refusal older than the last grant is no reason to yield.
    YieldNews: "who is next 4",
    /// A candidate yields to a leader only after seeing it renew.
    YieldRenewed: "who is next 4",
    /// Whoever is silent, or cannot grant, is not waited for.
    YieldWithoutLost: "who is next 4",
    /// What was yielded is asked for again only after a while.
    YieldWaits: "who is next 4",
    /// It is asked for again at once when whom it was yielded to has gone.
    YieldEnds: "who is next 4",
    /// Who yields says for whom.
    YieldNamesNext: "who is next 4",

    // The scalar fence.

    /// A proposal needs to be above what was seen.
    FenceAbove: "scalar fence 1",
    /// A fence belongs to one attempt, not to a name.
    FenceOwner: "scalar fence 1",
    /// A refused proposal raises nothing.
    RefusalRaisesNothing: "scalar fence 1",
    /// A candidate proposes the best fence it knows of + 1.
    ProposesNext: "scalar fence 1",
    /// A claim is raised only with a fence that all oks of the quorum accepted.
    FenceByAll: "scalar fence 2",
    /// A fence that was not accepted is replaced by one that is stored in another round.
    StoringRound: "scalar fence 2",
    /// Oks count together only if they accepted the same fence.
    OneFence: "scalar fence 2",
    /// A fence ends with the lapse of its leadership.
    FenceEndsAtLapse: "scalar fence 2",
    /// No fence above the reserve is accepted.
    WithinReserve: "scalar fence 3",
    /// A reserve counts once it is durable.
    ReserveDurable: "scalar fence 3",
    /// A restart begins at the reserve.
    RestartAtReserve: "scalar fence 3",
    /// A grantor without memory reads the fences of a quorum.
    FenceRead: "scalar fence 4",
    /// It reads a full quorum of others.
    ReadOthers: "scalar fence 4",
    /// It goes by the highest of what it read.
    ReadMaximum: "scalar fence 4",
    /// What it read counts for elections, too, that a release opened while it waited.
    ReadRaisesAll: "scalar fence 4",
    /// The read begins after the quarantine has ended.
    ReadAfterQuarantine: "scalar fence 4",
    /// It grants nothing before the read is done.
    ReadBeforeGrant: "scalar fence 4",
    /// Its first reserve says that the read is done, and is not written before.
    ReserveAfterRead: "scalar fence 4",
    /// Recovering members do not answer reads.
    RecoveringSilent: "scalar fence 4",
    /// The answer covers elections that were forgotten, and the reserve of a restart.
    AnswerHasFloor: "scalar fence 4, 6",
    /// The floor rises to the fence of an election that is forgotten.
    FloorRises: "scalar fence 6",
    /// A proposal too far above what was seen is refused.
    FenceReach: "scalar fence 6",
    /// Grantors whose fences are further apart than that come together.
    TooFarClimbs: "scalar fence 6",
    /// One reserve at a time is on its way to the disk.
    OneReserve: "scalar fence 3",

    // Verification.

    /// An answer to a verification is less the drift of the asker's clock.
    VerifyShrinks: "erratum 1",
    /// It says the least real time left, whatever the leader's clock is like.
    VerifyRealTime: "erratum 1",
    /// It counts from the question.
    VerifyFromSend: "erratum 1",
    /// A release waits for the promise of a verification.
    PromiseKept: "erratum 2",
    /// No attempt begins before a release that waits for a promise.
    AttemptWaits: "verification",
    /// Nothing is promised beyond vmax.
    VerifyMax: "verification",
    /// An answer is bound to its asker's life and question.
    VerifyBound: "verification",
    /// Each of several verifications of one election is answered for itself.
    VerifyEach: "verification",
    /// No verification is answered after `E := C`.
    VerifyEnds: "verification",

    // Restart.

    /// Nothing is granted before the boot is durable.
    BootDurable: "restart: boot count",
    /// A grantor without memory grants nothing during its quarantine.
    Quarantine: "restart 1",
    /// A quarantine is longer than δ_max by the drift.
    QuarantineStretches: "restart 1",
    /// A quarantine is not shorter than δ_max by the drift.
    QuarantineNotShrunk: "restart 1",
    /// The leader too is refused during a quarantine.
    QuarantineForAll: "restart 1",
    /// δ_max is the largest ever configured.
    DeltaMaxEver: "restart 1",
    /// A grantor without memory waits for the largest δ_max of those it reads, not for its own
    /// only.
    DeltaMaxOfOthers: "restart 1: grantors that differ",
    /// A larger δ_max is given only after every lease of that length that others may have
    /// forgotten has ended.
    RaiseWaits: "restart 1: grantors that differ",
    /// A first lease is given only to those who may have a full one after it.
    FullLeaseFits: "who is next 3: grantors that differ",
    /// A candidate whose lease no quorum gives keeps nobody else from a grantor.
    TooLongYields: "who is next 4: grantors that differ",
    /// A refusal that came before another answer of its grantor says nothing any more.
    TooLongNews: "who is next 4: grantors that differ",
    /// Who founds over a directory that may have been lost asks the others.
    FoundingAsks: "restart: founding",
    /// It asks a full quorum of them.
    FoundingByQuorum: "restart: founding",
    /// It is refused when one of them took part in a leadership.
    FoundingRefused: "restart: founding",
    /// It is refused when a leader is heard, by this grantor or by one that answers.
    LeadersRefuseFounding: "restart: founding",
    /// It is refused then also while what was answered is being written down, for however long.
    FoundingUntilGrant: "restart: founding",
    /// No lease is longer than δ_max.
    WithinDeltaMax: "restart 1; parked requests 2",
    /// The grant is written before its ok leaves.
    WrittenBeforeOk: "restart 2",
    /// A release does not end a quarantine.
    ReleaseInQuarantine: "restart 3",

    // Observers.

    /// A leader is who is named by a quorum.
    ViewByQuorum: "readings",
    /// A quorum names one life, not one name.
    ViewByLife: "readings",
    /// What is left of a lease counts from the send of the question.
    ViewFromSend: "readings",
    /// A view lasts as long as a quorum of grants, not as long as the first of all.
    ViewLongest: "readings",
    /// The grants of a leader were asked for with one announced fence.
    ViewAnnounced: "readings",
    /// Vacant is said only when a quorum is free.
    VacantByQuorum: "readings",
    /// Vacant is said only when a quorum was free at one instant.
    VacantAtOnce: "readings",
    /// Vacant is said when a quorum is free.
    VacantSaid: "readings",
    /// A grantor that does not grant says so: it is not free.
    RecoveringNotFree: "readings; restart",
    /// A candidate names the fence of its leadership once its claim was raised, and not before.
    Announced: "readings",
    /// A fence that took a second round is announced at once, not with the next renewal.
    AnnouncedAtOnce: "readings",
    /// Who leads no more, and must not release yet, is told so: nobody takes it for a leader.
    LeavingTold: "readings; erratum 2",
    /// What a candidate waits for is what keeps every quorum from it.
    WaitingByQuorum: "waiting",
    /// It is by the last word of each grantor.
    WaitingByLastWord: "waiting",
    /// A release that is not confirmed is told as what the next campaign waits for.
    WaitingForRelease: "waiting",
    /// A grant that could not be written is told to nobody.
    UnwrittenUntold: "readings; restart 2",
    /// A grant that could not be written stays unwritten, however many are.
    UnwrittenKept: "readings; restart 2",
    /// What is written again is written alone: one record that never can be holds up no other.
    WrittenAgainAlone: "restart 4",
    /// A record that is only replaced needs no room: its election is granted though there was none
    /// for another one.
    RecordsReplaced: "restart 4",
    /// A grantor that cannot write says so: it is neither free nor serving.
    FailingSaid: "readings; restart 4",
    /// A grantor whose flush does not end says so, too.
    HangSaid: "readings; restart 4",
    /// A grantor that starts with its memory does not say that it lost it.
    StartingSaid: "readings; restart",
}
