//! Elections on etcd: leases and creation revisions.
//!
//! Every candidate puts a key under the election's name, tied to its process's lease. etcd gives
//! each key a *create revision*; the candidate with the lowest one leads, and every other waits
//! for the key just before its own to go. The lease takes the keys of a process along that died.
//!
//! Sources: the JayBeams notes on etcd's election recipe, and the behaviour of `etcdctl elect`
//! and of Go's `clientv3/concurrency`, with which this shares its keys: candidates of all three
//! contend in one election and agree on who leads. Where these are wrong or silent a *ruling*
//! decides; they are numbered below, and each is a [rule](#rulings) that can be broken on
//! purpose.
//!
//! # Model
//!
//! | | assumed for safety | assumed for progress |
//! |---|---|---|
//! | clocks | ours and those of etcd's servers run at `1 ± ρ` while their machines are up | |
//! | etcd | linearizable transactions; no restore from a backup | a quorum is in touch |
//! | its servers | not suspended and resumed; with the fix for leaders stuck on their disk | |
//! | others | nobody else deletes our keys or revokes our lease | they keep to the recipe |
//! | network, our processes | nothing: loss, delay, pauses, crashes | |
//!
//! # Guarantees
//!
//! - **At most one**: of one election at most one process leads at any time.
//! - **Fences** strictly grow from leadership to leadership within one unbroken history of the
//!   store: `fence_epoch · 2^48 + create revision`.
//! - A leader stops at E on its own clock, whatever etcd says later, and however long it slept.
//! - One departure wakes at most one other. A candidate that waits costs etcd one watch.
//! - No key and no lease of ours stays longer than one lease after its process has gone.
//!
//! # What is not guaranteed
//!
//! - Anything across a restore from a backup: revisions go back, and so would fences. Restore with
//!   `--bump-revision … --mark-compacted` or raise [`Config::fence_epoch`], and keep etcd down for
//!   the longest TTL first. A store that goes back under a running process is noticed
//!   ([`Lost::History`]), but not by a process that was not there before.
//! - With servers that lack the fix (before 3.4.31, 3.5.13; all of 3.6 have it), or with a
//!   server process stopped and continued, a lease can end at the servers while a keep-alive was
//!   answered: two may lead for up to the length of it.
//! - Priorities, and hand-over to a named candidate: the queue of the recipe knows neither.
//!
//! # One session, many elections
//!
//! ```text
//!            somebody campaigns              granted
//!  idle ──────────────────────> granting ─────────────────────────> open ──┐ a third of the TTL:
//!   ^                              │ granted before, answer lost:     ^ │   │ keep-alive, then a
//!   │                              └──> joining ──────────────────────┘ │<──┘ read of own keys,
//!   │                                   (one keep-alive for TTL)        │     in the same term
//!   └───────────────────────────────────────────────────────────────────┘
//!     nobody needs it, E is reached, or etcd says that it is gone: revoked, in the background
//! ```
//!
//! # Candidate
//!
//! ```text
//!             lease open              made                       first, and nobody before
//!  over ──> creating ──────────────> queued ───────────────────────────────> leading
//!   ^          │ ^ └─> clearing ─┐     │  ^  └ watch the one before;             │
//!   │          │ └───────────────┘     │  │    it goes, or after max(TTL, 10 s): │ resigned,
//!   │          │  an older key of ours │  └─── look again, in one transaction    │ key lost
//!   │          v                       v                                         v
//!   └────── leaving: delete by revision, until it is gone or the lease has ended ┘
//!     a create of unknown outcome keeps a watch on its key: what appears is deleted
//! ```
//!
//! # Requests
//!
//! | [`Op`] | when | deadline |
//! |---|---|---|
//! | [`Grant`](Op::Grant) | the first campaign, or a new lease after a lost one | TTL/4, ¼ s to 5 s |
//! | [`KeepAlive`](Op::KeepAlive) | a third of the TTL after the last; sooner after a failure | the same |
//! | [`Txn`](Op::Txn) confirm | after each keep-alive: up to 128 own keys, in rotation | the same |
//! | [`Txn`](Op::Txn) create | if there is no such key, put, else read it | the same |
//! | [`Txn`](Op::Txn) look | if the key is ours: who is first, who is just before | the same |
//! | [`Txn`](Op::Txn) leave | if the key is ours: delete, else read it | the same |
//! | [`Watch`](Op::Watch) | the one before; a leader's own key; an observed election | until it is open |
//! | [`Revoke`](Op::Revoke) | lease not needed or over, its grant answered | 2 · TTL, all tries |
//!
//! What has no answer in time has an unknown outcome: it is repeated in a way that is right either
//! way. Pauses after failures double from 50 ms to 2 s, half of each by chance.
//!
//! # Rulings
//!
//! 1. After each departure look again; look again every max(TTL, 10 s) all the same.
//! 2. (E1) A win is confirmed in one linearizable transaction that reads: the own key is there and
//!    is the first, and nobody is before it, while `now < E`. Who lacks only a proven E looks again
//!    as soon as there is one.
//! 3. (E2) `E = s + ⌊TTL·(1 − ρ)/(1 + ρ)⌋`, `s` the send of that keep-alive. No TTL in the answer:
//!    the lease is gone. Nothing revives a lease after E.
//! 4. (E3) A keep-alive's answer is no proof. It counts when a transaction that began after it
//!    finds an own key as it should be, in the same term of Raft.
//! 5. (E4) Resigning deletes by revision, and is repeated until the lease would have ended. A
//!    create of unknown outcome may be carried out after that; its key is watched and swept.
//! 6. (E5) The lease's id is drawn by us, positive, so that a grant can be repeated. A lease that
//!    is given up before its grant is answered is revoked after that, unless it was not granted. A
//!    key that a create finds is adopted only if this campaign made it.
//! 7. (E6) A linearizable answer below the highest revision known when it was asked ends all
//!    leaderships. Watches are no proof that nothing happened: timers look as well.
//! 8. (E7) The fence holds an epoch that operators raise after a restore; another cluster's
//!    answers are refused.
//! 9. (E8) Observers tell the state first, take all events of one revision as one, and say
//!    *unknown* when they were not told, not *vacant*.
//! 10. (E9) One lease for all elections of a process; losing one leaves it alone. One campaign for
//!     each election. Names of which one and a slash begin the other are refused.
//! 11. (E10) Authentication is the driver's: what a new login does not mend comes as a
//!     [`Refusal`]. A refused keep-alive renews nothing, and E stands.
//! 12. The server's own `v3election` is not used.
//! 13. A candidate that loses its lease before it has won goes on with a new one, by default.

mod calls;
mod candidate;
mod command;
mod config;
mod event;
mod key;
mod message;
mod node;
mod observer;
pub(crate) mod rule;
mod session;

pub use command::Command;
pub use config::{BACKOFF, Checked, Config, ConfigError, REVISION_END};
pub use event::{End, Event, Ignored, Lost, View};
pub use key::{Bytes, Keys, LeaseId};
pub use message::{
    Act, Answer, CallId, Change, Header, KeyValue, Message, Op, Pick, Read, Refusal, Reply,
    Request, Revision, Txn,
};
pub use node::{Effect, Etcd, NoRecord, Start, Store};
#[cfg(tenure_planted)]
pub use rule::planted;
