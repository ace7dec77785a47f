//! Elections on etcd: leases and creation revisions.
//!
//! Every candidate puts a key under the election's name, tied to its process's lease. etcd gives
//! each key a *create revision*. The candidate with the lowest create revision leads, and every
//! other candidate waits until the key just before its own is deleted. When a process dies, its
//! lease ends, and its keys go too.
//!
//! Sources: the JayBeams notes on etcd's election recipe, and the behaviour of `etcdctl elect` and
//! of Go's `clientv3/concurrency`. This protocol shares its keys with both: candidates of all three
//! contend in one election and agree on who leads. Where the sources are wrong or silent a *ruling*
//! decides; rulings are numbered [below](#rulings).
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
//! - A leader stops at E, the end of its lease on its own clock, whatever etcd answers later, and
//!   however long its process sleeps.
//! - A departure wakes at most one other candidate. A candidate that waits costs etcd one watch.
//! - After a process has gone, its keys and its lease stay no longer than the length of one lease.
//!
//! # What is not guaranteed
//!
//! - A restore from a backup: revisions go back, and so would fences. Restore with `--bump-revision
//!   … --mark-compacted` or raise [`Config::fence_epoch`], and keep etcd down for the longest TTL
//!   first. A process notices a restore only if the process runs before and after it
//!   ([`Lost::History`]).
//! - Other programs in the same election: a leader with Go's client may lose its lease to a
//!   revocation that comes late (ruling 14), and does not know that it no longer leads.
//! - Members of etcd that time leases without leading, or checkpoint leases
//!   (`docs/decisions/etcd-as-it-is.md`): with such members the guarantees do not hold.
//! - A lease that was handed in ([`Start::lease`]): leaders of earlier terms know that lease, and
//!   may carry out a late revocation, which ends leaderships.
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
//!   │    handed in is                     answer lost:   └ joining ┘ │ │<─┘ read of its keys,
//!   │    checked first)                                 (keep-alive) │ │    in its term
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
//!   │          │  an older key of ours │  └─── query again, in one transaction   │ key lost
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
//! | [`KeepAlive`](Op::KeepAlive) | a third of the TTL after the last, less a random part of at most an eighth of that third; sooner after a failure | the same |
//! | [`Txn`](Op::Txn) establish | before the first lease: a key is read, twice | the same |
//! | [`Txn`](Op::Txn) move | after a change of term: if each key is still on its old lease, put it on the new one | the same |
//! | [`Txn`](Op::Txn) confirm | after each keep-alive: read up to 128 keys of the process, in rotation; delete one of them if it does not exist | the same |
//! | [`Txn`](Op::Txn) create | if there is no such key, put, else read it | the same |
//! | [`Txn`](Op::Txn) look | if the key is ours, on its lease: read the first key, and the key just before ours; keys only | the same |
//! | [`Txn`](Op::Txn) wait | every max(TTL, 10 s): whether the candidate's key and the key before it exist | the same |
//! | [`Txn`](Op::Txn) leave | if the key is ours: delete, else read it | the same |
//! | [`Watch`](Op::Watch) | the key before; a leader's own key; an observed election | until it is open |
//! | [`Revoke`](Op::Revoke) | the lease is not needed, over or without keys, and its grant was answered | 2 · TTL for all attempts |
//!
//! A call without an answer in time has an unknown outcome: its repetition is right either way.
//! Pauses after failures double from 50 ms to 2 s; half of each pause is random.
//!
//! # Rulings
//!
//! 1. A candidate queries the queue again after each departure. Every max(TTL, 10 s) it also checks
//!    whether the key before its own exists, and queries the whole queue if not. A candidate reads
//!    only the names of other keys, and watches only deletions: other values may be too large.
//! 2. (E1) A win is confirmed in one linearizable transaction, while `now < E`: the candidate's key
//!    exists, and no key is before it. A candidate that lacks only a proven E queries again as soon
//!    as E is proven.
//! 3. (E2) `E = s + ⌊TTL·(1 − ρ)/(1 + ρ)⌋`, where `s` is the send of the keep-alive. Without a TTL
//!    in the answer the lease is gone. Nothing revives a lease after E.
//! 4. (E3) A keep-alive's answer is no proof. The renewal counts when a transaction that began
//!    after that answer finds a key of the process unchanged, in the same term of Raft. The
//!    transaction is an entry of the log, so that its term is known.
//! 5. (E4) Resigning deletes by revision, and is repeated until the lease would have ended. A
//!    create of unknown outcome may be carried out after that: its key is watched and swept as
//!    long as its lease exists.
//! 6. (E5) The session draws the lease's id, a positive number, so that it can repeat a grant. A
//!    session may give up a lease while its grant is under way: after the answer, the session
//!    revokes the lease if etcd may have granted it. A candidate adopts a key that a create finds
//!    only if this campaign has made the key. If the key is on the live lease of another process,
//!    to which the same lease was handed, the candidate waits until the key is gone. An id is used
//!    once: the session gives up a lease of a repeated grant if a first lease of that id may have
//!    ended.
//! 7. (E6) All leaderships end when a linearizable answer has a revision below the highest that was
//!    known when its request was sent. A silent watch proves nothing: timers query as well.
//! 8. (E7) The fence contains an epoch that operators raise after a restore; the process refuses
//!    answers of another cluster.
//! 9. (E8) Observers report the state first, take all events of one revision as one, and say
//!    *unknown* when etcd did not answer, not *vacant*.
//! 10. (E9) A process has one lease for all its elections. The loss of one election leaves the
//!     others alone. Each election has at most one campaign. A name is refused if the name and a
//!     slash are a prefix of another election's name, or the reverse.
//! 11. (E10) The driver authenticates: a failure that a new login does not mend reaches the core as
//!     a [`Refusal`]. A refused keep-alive renews nothing, and E stands.
//! 12. The server's own `v3election` is not used.
//! 13. A candidate that loses its lease before it has won goes on with a new one, by default.
//! 14. (E3b) A lease counts only in the term of etcd's leader in which it was granted.
//!
//! # A change of etcd's leader
//!
//! A leader of etcd that is cut off, stuck or suspended may hold revocations of leases that have
//! ended by its clock. etcd carries them out late, through the next leader, even if the next leader
//! has renewed the leases (`docs/decisions/late-revocations.md`). So a renewal in a later term than
//! the grant's term moves no E. Instead:
//!
//! - A term is *established* by a linearizable answer of a member that had answered in that term
//!   before the request was sent. A header alone proves nothing: etcd fills it after the read. Once
//!   a term is established, no leader of an earlier term gets an entry of its own into the log.
//! - After the term is established, the session asks for a lease under a fresh id. A leader of an
//!   earlier term learns of this lease only from the log of a later leader, and then holds no
//!   leases any more. The session gives up each lease that it has asked for before, however late
//!   the grant is answered.
//! - The keys move, and keep their names and create revisions: *if CREATE = rev and LEASE = old,
//!   put with `ignore_value` and the new lease*. A move that comes late finds its key elsewhere. A
//!   proclamation uses `ignore_lease`, so it moves no key back.
//! - Until its key is confirmed on the new lease, a leadership depends on the old lease, whose E
//!   does not move. The new lease must not end before that E: the key may be on it already.
//! - If a move fails, the same transaction has read each key. Only a key that is gone, or that is
//!   on a lease of another process, is lost. The session repeats a refused move in parts, and skips
//!   a single refused key until all other keys have had their turn. A move, or a confirmation, with
//!   too many operations for this server is made smaller.
//! - The old lease is revoked when every key of ours has been seen on another lease. A create of
//!   unknown outcome ends with the old lease.
//! - If a lease was handed in, the names of keys have its id, but the keys are on another lease.
//!   The session renews the lease that was handed in, and ends when that lease ends.
//!
//! A renewal was carried out in the term T of the lease if the header of the confirming
//! transaction's answer names T. Each of these steps is in the same term as the step before it, or
//! in a later term:
//!
//! 1. A linearizable answer establishes T.
//! 2. etcd grants the lease.
//! 3. A leader of etcd that has the lease answers the keep-alive.
//! 4. The confirming transaction, sent after that answer, gets its entry in the log.
//! 5. The answering member names the term of the last entry that it has applied.
//!
//! So any leader of a later term was elected after the transaction, and thus after the send from
//! which E is measured. A plain read would prove less: after a snapshot a member may name an
//! earlier term than that of the read. So the transaction deletes a key only if the key does not
//! exist: it changes nothing, and still is an entry of the log. (Step 5 has an exception, for an
//! instant: `docs/decisions/etcd-as-it-is.md`.)
//!
//! E of a lease comes from its grant, and from renewals that the leader of its own term answered.
//! Leaders of earlier terms never had the lease. The leader of its term revokes the lease only when
//! grant and renewals are over by that leader's clock, however late. Leaders of later terms give
//! the lease its full length again before they time it.

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
