//! Elections on etcd: leases and creation revisions.
//!
//! Every candidate puts a key under the election's name, tied to its process's lease. etcd gives
//! each key a *create revision*; the candidate with the lowest one leads, and every other waits
//! for the key just before its own to go. When a process dies, its lease ends, and its keys go too.
//!
//! Sources: the JayBeams notes on etcd's election recipe, and the behaviour of `etcdctl elect` and
//! of Go's `clientv3/concurrency`, with which this protocol shares its keys: candidates of all
//! three contend in one election and agree on who leads. Where the sources are wrong or silent a
//! *ruling* decides; rulings are numbered [below](#rulings).
//!
//! # Model
//!
//! | | assumed for safety | assumed for progress |
//! |---|---|---|
//! | clocks | ours and those of etcd's servers run at `1 ± ρ` while their machines are up | |
//! | etcd | linearizable transactions; no restore from a backup | a quorum is in touch |
//! | its servers | may be cut off, stuck on their disk, suspended; only a leader ends leases; no `LeaseCheckpoint` | |
//! | others | no other program deletes our keys or revokes our lease | they keep to the recipe |
//! | network, our processes | nothing: loss, delay, pauses, crashes | |
//!
//! # Guarantees
//!
//! - **At most one**: at most one process leads an election at any time.
//! - **Fences** strictly grow from leadership to leadership within one unbroken history of the
//!   store: `fence_epoch · 2^48 + create revision`.
//! - A leader stops at E on its own clock, whatever etcd answers later, and however long its
//!   process sleeps.
//! - A departure wakes at most one other candidate. A candidate that waits costs etcd one watch.
//! - No key and no lease of ours stays longer than one lease after its process has gone.
//!
//! # What is not guaranteed
//!
//! - A restore from a backup: revisions go back, and so would fences. Restore with `--bump-revision
//!   … --mark-compacted` or raise [`Config::fence_epoch`], and keep etcd down for the longest TTL
//!   first. A process notices only a store that goes back while the process runs
//!   ([`Lost::History`]).
//! - Other programs in the same election: a leader of Go's may lose its lease to a revocation that
//!   comes late (ruling 14), and does not know that it no longer leads.
//! - Members of etcd that time leases without leading, or checkpoint them
//!   (`docs/decisions/etcd-as-it-is.md`): the guarantees do not hold.
//! - A revocation of the lease that was handed in ends leaderships: leaders of earlier terms know
//!   that lease, and may carry one out late.
//! - A change of etcd's leader may end a leadership, unless a new lease is granted and the key
//!   moved to it before the proven E. A full quota (`NOSPACE`) prevents both.
//! - Priorities, and hand-over to a named candidate: the queue of the recipe knows neither.
//!
//! # One session, many elections
//!
//! ```text
//!       a campaign begins             a term is          granted
//!  idle ──────────────> establishing ───────────> granting ──────> open ──┐ a third of the TTL:
//!   ^   (a lease that was               granted before,  │         ^ ^ │  │ keep-alive, then a
//!   │    handed in is looked              answer lost:   └ joining ┘ │ │<─┘ read of own keys,
//!   │    at first)                                      (keep-alive) │ │    in its term
//!   │       another term is established: a lease is granted in that, ┘ │
//!   │       and the keys are moved to it, 64 in a transaction          │
//!   └──────────────────────────────────────────────────────────────────┘
//!     no candidate needs it, E is reached, or etcd has lost it: revoked, in the background
//! ```
//!
//! # Candidate
//!
//! ```text
//!             lease open              made                       first, and none before
//!  over ──> creating ──────────────> queued ───────────────────────────────> leading
//!   ^          │ ^ └─> clearing ─┐     │  ^  └ watch the key before;             │
//!   │          │ └───────────────┘     │  │    it goes, or after max(TTL, 10 s): │ resigned,
//!   │          │  an older key of ours │  └─── look again, in one transaction    │ key lost
//!   │          v                       v                                         v
//!   └────── leaving: delete by revision, until it is gone or the lease has ended ┘
//!     a create of unknown outcome keeps a watch on its key: a late key is deleted
//! ```
//!
//! # Requests
//!
//! | [`Op`] | when | deadline |
//! |---|---|---|
//! | [`Grant`](Op::Grant) | the first campaign, or a new lease after a lost one | TTL/4, ¼ s to 5 s |
//! | [`KeepAlive`](Op::KeepAlive) | a third of the TTL after the last, or up to an eighth of that less; sooner after a failure | the same |
//! | [`Txn`](Op::Txn) establish | before the first lease: a key is read, twice | the same |
//! | [`Txn`](Op::Txn) move | after a change of term: if each key is on its lease, another one | the same |
//! | [`Txn`](Op::Txn) confirm | after each keep-alive: if an own key is not there, delete it; read up to 128, in rotation | the same |
//! | [`Txn`](Op::Txn) create | if there is no such key, put, else read it | the same |
//! | [`Txn`](Op::Txn) look | if the key is ours, on its lease: which is first, which just before; keys only | the same |
//! | [`Txn`](Op::Txn) wait | every max(TTL, 10 s): are its key and the one before there | that |
//! | [`Txn`](Op::Txn) leave | if the key is ours: delete, else read it | the same |
//! | [`Watch`](Op::Watch) | the key before; a leader's own key; an observed election | until it is open |
//! | [`Revoke`](Op::Revoke) | lease not needed, over or empty, its grant answered | 2 · TTL, all tries |
//!
//! A call without an answer in time has an unknown outcome: its repetition is right either way.
//! Pauses after failures double from 50 ms to 2 s, half of each by chance.
//!
//! # Rulings
//!
//! 1. A candidate looks again after each departure; every max(TTL, 10 s) also whether the key
//!    before the own one is there, and at the whole queue if it is not. A candidate reads only the
//!    names of other keys, and watches only deletions: a value may be larger than can be taken.
//! 2. (E1) A win is confirmed in one linearizable transaction that reads: the own key is there and
//!    is the first, and no key is before it, while `now < E`. A candidate that lacks only a proven
//!    E looks again as soon as there is one.
//! 3. (E2) `E = s + ⌊TTL·(1 − ρ)/(1 + ρ)⌋`, `s` the send of that keep-alive. Without a TTL in the
//!    answer the lease is gone. Nothing revives a lease after E.
//! 4. (E3) A keep-alive's answer is no proof. The renewal counts when a transaction that began
//!    after it finds an own key as it should be, in the same term of Raft; and is an entry of the
//!    log, so that its term is known.
//! 5. (E4) Resigning deletes by revision, and is repeated until the lease would have ended. A
//!    create of unknown outcome may be carried out after that; its key is watched and swept as
//!    long as its lease is there.
//! 6. (E5) The session draws the lease's id, positive, so that it can repeat a grant. A lease that
//!    is given up before its grant is answered is revoked after the answer, unless it was not
//!    granted. A candidate adopts a key that a create finds only if this campaign has made it. On
//!    the live lease of another process, to which the same lease was handed, the candidate waits
//!    for the key. An id is used once: the session gives up a lease of a repeated grant if a first
//!    lease of that id may have ended.
//! 7. (E6) A linearizable answer below the highest revision known when it was asked ends all
//!    leaderships. Watches do not prove that nothing has happened: timers look as well.
//! 8. (E7) The fence holds an epoch that operators raise after a restore; the process refuses
//!    answers of another cluster.
//! 9. (E8) Observers report the state first, take all events of one revision as one, and say
//!    *unknown* when etcd did not answer, not *vacant*.
//! 10. (E9) A process has one lease for all its elections, and the loss of one election leaves the
//!     others alone; each election has at most one campaign. Two names are refused if one and a
//!     slash begin the other.
//! 11. (E10) The driver authenticates: a failure that a new login does not mend comes as a
//!     [`Refusal`]. A refused keep-alive renews nothing, and E stands.
//! 12. The server's own `v3election` is not used.
//! 13. A candidate that loses its lease before it has won goes on with a new one, by default.
//! 14. (E3b) A lease counts only in the term of etcd's leader in which it was granted.
//!
//! # A change of etcd's leader
//!
//! A leader of etcd that is cut off, stuck or suspended may hold revocations of leases that ended
//! by its clock, and they are carried out late, through its successor, though the leases were
//! renewed there (`docs/decisions/late-revocations.md`). So a renewal in a later term than that of
//! the grant moves no E. Instead:
//!
//! - A term is *established* by a linearizable answer of a member that had answered in that term
//!   before it was asked. A header alone proves nothing: it is filled after the read. From then on
//!   no leader of an earlier term gets an entry of its own into the log.
//! - The session asks for a lease under a fresh id, for the first time after that: a leader of an
//!   earlier term learns of the lease only from the log of a later leader, and has given up leases
//!   by then. The session gives up a lease that it had asked for before, however late the grant is
//!   answered.
//! - The keys keep their names and create revisions, and are moved: *if CREATE = rev and LEASE =
//!   old, put with `ignore_value` and the new lease*. A move that comes late finds its key
//!   elsewhere. A proclamation uses `ignore_lease`, and takes no key back.
//! - Until its own key is confirmed on the new lease, a leadership counts from the old one, whose E
//!   stands. The new lease must not end before that: the key may be there already.
//! - A move that fails has read each key in the same transaction: a key that is gone, or on a lease
//!   of another process, is lost alone. The session repeats a refused move in parts, and passes
//!   over a key that is refused alone until all others had their turn. A move with too many
//!   operations for this server is made smaller, and so is a confirmation.
//! - The old lease is revoked when every key of ours has been seen on another. A create of unknown
//!   outcome dies with it.
//! - A lease that was handed in names the keys and carries none. The session renews it, and ends
//!   when that lease ends.
//!
//! Arithmetic shows the term in which a renewal was carried out. Let T be the term of the lease, G
//! that of the entry of its grant, X that of the leader that answered the keep-alive, C that of the
//! entry of the confirming transaction, and H what the header of its answer says. T is established
//! before the lease is asked for: T ≤ G. No leader of a term before G has the lease: G ≤ X. The
//! transaction is asked after the answer of X's leader, and no entry of an earlier term gets into
//! the log after that one's election: X ≤ C. The member has applied that entry, and names the term
//! of the last one that it has applied: C ≤ H. If H = T, all are T; and a leader of a later term
//! was elected after that entry, so after the send from which E counts. A read would not do: H of a
//! member that was brought up to date with a snapshot may be below the term in which the read is
//! served. The transaction deletes a key only if it is not there, so the transaction changes
//! nothing, makes no revision, and needs no room; etcd puts it into the log because it might write.
//! (C ≤ H lacks an instant, which is left open: see `docs/decisions/etcd-as-it-is.md`.)
//!
//! The proof: E of a lease comes from its grant, and from renewals that the leader of its own term
//! answered. Leaders of earlier terms never had the lease; that leader itself revokes it only when
//! those are over by its clock, however late; and leaders of later terms give it its full length
//! again before they time it.

mod calls;
mod candidate;
mod command;
mod config;
mod context;
mod event;
mod key;
mod message;
mod node;
mod observer;
mod recipe;
mod session;
mod timer;
mod words;

pub use command::{Command, Extra};
pub use config::{BACKOFF, Checked, Config, ConfigError, REVISION_END};
pub use event::{Event, Ignored, Lost, Objection, OwnEvent};
pub use key::{Bytes, Foreign, Keys, LeaseId};
pub use message::{
    Act, Answer, CallId, Change, Compare, Header, KeyValue, Message, Op, Pick, Read, Refusal,
    Reply, Request, Revision, Txn,
};
pub use node::Etcd;
pub use timer::Timer;
pub use words::{Effect, Start, Store, Words};
