//! The rulings that make elections on etcd sound, by name, so that each can be turned off where
//! that is the experiment.

#[cfg(tenure_planted)]
mod noticed;

#[cfg(tenure_planted)]
use noticed::*;

use crate::rule::rules;

rules! {
    /// A departure is followed by another look: who left may have been in the middle.
    LookAfterDeparture: "ruling 1", [WIN, ONE_LEADER];
    /// A waiting candidate watches the one just before it, so that one departure wakes one.
    WatchPredecessor: "ruling 1", [WAKES], by hand;
    /// A candidate that waits, and an observer, looks again after a while, whatever its watch says:
    /// one from a revision that a restored store has not reached is silent.
    LookAgain: "rulings 1 and 7 (E6)", [AGAIN, LEADER, OBSERVERS], by hand;
    /// A candidate that waits looks at its own key and the one before; at the whole queue only when
    /// that has gone.
    LookNarrow: "ruling 1", [REASON], by hand;
    /// A candidate that watches again says whom it waits for: what ended its watch was said
    /// meanwhile.
    WaitingToldAgain: "ruling 1", [SAYS], by hand;
    /// A candidate that is over watches nothing: its process may contend again and again.
    WatchEnds: "ruling 1", [WATCHES], by hand;
    /// A win is confirmed by looking who is first.
    WinConfirmed: "ruling 2 (E1)", [WIN, ONE_LEADER];
    /// The confirmation finds the own key, in the same transaction: what an earlier call said of
    /// it may be over.
    ConfirmOwnKey: "ruling 2 (E1)", [WIN, LEASE, ONE_LEADER], by hand;
    /// That the own key is there and that nobody is before it is found in one transaction: of two
    /// that follow each other the first may be over.
    ConfirmInOne: "ruling 2 (E1)", [WIN, LEASE, ONE_LEADER], by hand;
    /// The first key is the own one by its name, too: two puts of one transaction share a create
    /// revision.
    WinByName: "rulings 2 and 10 (E1, E9)", [WIN, ONE_LEADER], by hand;
    /// The confirmation reads something: without an operation it is not linearizable.
    ConfirmReads: "ruling 2 (E1)", [SOUND];
    /// Of others' keys no values are read: one may be too large to be taken.
    KeysOnly: "ruling 2 (E1); wire facts: --max-request-bytes", [SOUND], by hand;
    /// Of the key before the own one only its deletion is told, for the same reason.
    DeletionsOnly: "ruling 1; wire facts: --max-request-bytes", [WATCHES], by hand;
    /// A candidate that is first and lacks only a proven E looks again as soon as there is one.
    ProofWakes: "ruling 2 (E1)", [SOON, LEADER], by hand;
    /// A leader whose watch has ended asks what it did not tell, before it watches again.
    MissedAsked: "ruling 2 (E1)", [WATCHES], by hand;
    /// E counts from the send of the keep-alive, not from its answer.
    DeadlineFromSend: "ruling 3 (E2)", [PROVEN, LEASE, KEY, ONE_LEADER];
    /// E keeps the drift margin: `⌊TTL·(1 − ρ)/(1 + ρ)⌋`.
    DeadlineMargin: "ruling 3 (E2)", [PROVEN, LEASE, KEY, ONE_LEADER];
    /// A lease is renewed at a third of its length.
    RenewedEarly: "ruling 3 (E2)", [STABLE];
    /// Where no key is left, renewals that nothing can confirm keep the lease: E, which none of
    /// them moves, ends nothing.
    ProofEndsWithKeys: "ruling 3 (E2)", [STABLE], by hand;
    /// An answer without a TTL means that the lease is gone.
    MissingTtlIsEnd: "ruling 3 (E2)", [GONE], by hand;
    /// What comes after E does not revive a lease.
    NoRevival: "ruling 3 (E2)", [LAPSE, LEASE, KEY], by hand;
    /// A keep-alive counts only when a linearizable read of an own key confirms it.
    AliveConfirmed: "ruling 4 (E3)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// And in the same term: another leader of etcd's may not know of the renewal, and a leader
    /// that was stuck revokes what was renewed there.
    SameTerm: "ruling 4 (E3)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// What confirms a keep-alive is an entry of the log: the header of a read may name a term that
    /// is over.
    ConfirmInLog: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A lease counts only in the term of etcd's leader in which it was granted: a leader of an
    /// earlier one may have its revocation in hand, and it is carried out late.
    TermOwnsLease: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A term is established by a linearizable answer of a member that had answered in that term
    /// before: a header alone is filled after the read.
    TermEstablished: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A lease that was first asked for before its term was established is given up.
    EarlierGrantLeft: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// The lease of the next term must not end before those that its keys come from.
    NextLastsLonger: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A leadership counts from the lease on which its own key was confirmed.
    OwnLeaseCounts: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A key is moved only from the lease that it is on: a move that comes late moves none back.
    MoveFromThere: "ruling 14 (E3b)", [MOVES, LEADER], by hand;
    /// A proclamation leaves the key on its lease: one that comes late takes none back.
    ProclaimStays: "ruling 14 (E3b)", [SOUND, LEASE, KEY, ONE_LEADER], by hand;
    /// The keys of candidates that wait are moved, too.
    WaitingMove: "ruling 14 (E3b)", [MOVES, LEADER], by hand;
    /// What a move that failed has found is read: one key that is gone leaves the others their
    /// places.
    FailedMoveRead: "ruling 14 (E3b)", [MOVES, LEADER], by hand;
    /// What it found is moved before the rest, and so is the key of one that wins meanwhile.
    FoundMovedFirst: "ruling 14 (E3b)", [MOVES, LEADER], by hand;
    /// A move that is refused is tried in parts: one key that may not be written holds up no other.
    RefusedMoveSplit: "ruling 14 (E3b)", [MOVES, LEADER], by hand;
    /// A key that is refused alone costs the others no time: there is no pause before their turn.
    RefusedMovePassed: "ruling 14 (E3b)", [MOVES, LEADER], by hand;
    /// A transaction of which etcd says that it has too many operations is asked again with fewer.
    FewerOperations: "wire facts: --max-txn-ops", [STABLE, LEADER], by hand;
    /// The lease of an earlier term is revoked when none of our keys is on it any more.
    OldLeftEmpty: "ruling 14 (E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A lease that was handed in ends all leaderships when it goes, though their keys are on
    /// another.
    GivenEndsAll: "ruling 14 (E3b)", [GONE, LEASE, KEY], by hand;
    /// And finds it as it was made, with its create revision and its lease: a restored store may
    /// be at the same revision.
    KeyAsItWas: "rulings 4 and 8 (E3, E7)", [LEASE, ONE_LEADER], by hand;
    /// A key proves the lease that it is on, and no other.
    ProofOnOwnLease: "ruling 4 (E3)", [PROVEN, LEASE, KEY, ONE_LEADER];
    /// A keep-alive that no key could confirm when it was answered is confirmed by all that are
    /// there when one comes: a leadership whose key is lost is not claimed again with the rest.
    AllConfirmLate: "ruling 4 (E3)", [LEASE], by hand;
    /// Resigning is repeated until the key is gone or the lease has ended.
    LeaveRepeated: "ruling 5 (E4)", [RELEASED, LEFT, LEADER, LAPSE], by hand;
    /// A key that may not be deleted is not taken for gone: it is until it is deleted after all, or
    /// its lease is over.
    DeniedNotGone: "ruling 5 (E4)", [RELEASED, LEFT, LEADER], by hand;
    /// A key that a create of unknown outcome makes later is deleted.
    LateKeySwept: "ruling 5 (E4)", [RELEASED, LEFT, LEADER], by hand;
    /// And nobody looks for it any more once its lease is given back: it goes with that.
    LateKeyUntilLeft: "ruling 5 (E4)", [REASON], by hand;
    /// A lost lease is revoked after its claims are lowered.
    LoweredFirst: "ruling 13; the contract, duty 6", [KEY], by hand;
    /// Ids of leases are positive.
    LeasePositive: "ruling 6 (E5)", [SOUND], by hand;
    /// A lease that a repeated grant finds is used only while it cannot have ended.
    JoinInTime: "rulings 4 and 6 (E3, E5)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A lease that a repeated grant makes is used only while an earlier one of its id cannot have
    /// ended: a revocation names no more than the id, and may come late.
    IdUsedOnce: "rulings 6 and 14 (E5, E3b)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A grant without an answer counts from its first send: any of them may be the one that was
    /// carried out.
    CountsFromFirst: "rulings 4 and 6 (E3, E5)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// Whether a lease may have ended is asked when the answer has come, not when it was asked for.
    JoinedNow: "rulings 4 and 6 (E3, E5)", [PROVEN, LEASE, KEY, ONE_LEADER], by hand;
    /// A lease is revoked once its grant is answered, or overdue: before that there may be nothing
    /// to revoke yet.
    RevokeAfterGrant: "ruling 6 (E5)", [IDLE, LEFT], by hand;
    /// A grant that is answered after its lease was given up opens nothing.
    LateGrantLeft: "ruling 6 (E5)", [GONE, KEY, LEASE], by hand;
    /// What is refused for want of room may have been carried out.
    NoSpaceUnsure: "ruling 6 (E5)", [RELEASED, LEFT, LEADER], by hand;
    /// A key that is found is taken over only if this campaign made it.
    AdoptOwn: "ruling 6 (E5)", [MADE, FENCES], by hand;
    /// And only if it is newer than all that was known when the campaign began: a restored store
    /// may have a key again that an earlier one led with.
    AdoptNewer: "rulings 6 and 8 (E5, E7)", [MADE, FENCES], by hand;
    /// A store whose revisions go back ends all leaderships.
    HistoryGrows: "ruling 7 (E6)", [OLDER], by hand;
    /// A create revision that a fence has no room for is refused.
    RevisionBounded: "ruling 8 (E7)", [FENCES, LEASE, OBSERVERS], by hand;
    /// A value that is written late, over a newer one, does not stay.
    LateValueMended: "wire facts: proclaim", [VALUES], by hand;
    /// Who finds another value again and again writes its own anew once a second: somebody else may
    /// do the same.
    MendsApart: "wire facts: proclaim", [REASON], by hand;
    /// A watch begins after the answer that it continues, whatever came meanwhile.
    WatchFromAnswer: "ruling 9 (E8)", [WATCHES, LEASE], by hand;
    /// A store that went back explains nothing of what was told before.
    ResetExplains: "rulings 7 and 9 (E6, E8)", [REASON], by hand;
    /// Events from before the last look are no news.
    LateEventsOld: "ruling 9 (E8)", [OBSERVERS], by hand;
    /// All events of one revision are one change.
    WholeRevision: "ruling 9 (E8)", [OBSERVERS];
    /// An answer that is older than what the watch has told does not stand for it.
    LookExplains: "ruling 9 (E8)", [OBSERVERS], by hand;
    /// A gap is reported, and what is after it, even if that is as before.
    GapTold: "ruling 9 (E8)", [GAPS], by hand;
    /// No answer is not nobody.
    UnknownNotVacant: "ruling 9 (E8)", [OBSERVERS];
    /// Losing one election leaves the lease alone.
    LossKeepsLease: "ruling 10 (E9)", [APART], by hand;
    /// One campaign for each election and process.
    OneCampaign: "ruling 10 (E9)", [HANDLES, KEY];
    /// Names do not nest.
    NamesApart: "ruling 10 (E9)", [SOUND], by hand;
    /// A keep-alive that is refused renews nothing.
    RefusedRenewsNothing: "ruling 11 (E10)", [HANDLES, LEASE, KEY], by hand;
}
