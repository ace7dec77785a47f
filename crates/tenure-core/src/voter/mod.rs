//! The regional voter: leaders by random draw, over HTTP between the voters themselves.
//!
//! Every voter knows the others, calls each once a heartbeat, and when nobody leads they draw:
//! each sends a random number to each, the highest wins, and each sends its result to each. There
//! is no store behind them. Meant for a few regions, far from each other, that share one task.
//!
//! Source: *Leader Election for Regionally Distributed Message Processing* (an unpublished page of
//! a home library; its published code never elects anybody). "The text" is this one throughout.
//! Where it is wrong or silent a *ruling* decides, V1 to V12 [below](#rulings). `mutants/voter`
//! breaks those without which two lead, or nobody ever does: a test must notice each.
//!
//! `node/protocol.rs` tells the protocol from top to bottom, in the order of the text.
//!
//! # What is not guaranteed
//!
//! - **Anything about overlap in `available`.** Each region that can reach its own voters has a
//!   leader, without end and without a fence: two regions that cannot reach each other have two.
//!   For work that may be done twice, and never for work that may not.
//! - **Anything against voters that lie.** A forged acknowledgement is a second leader. Requests
//!   and answers are authenticated (V11); who holds the key, or a certificate, takes part.
//! - **Anything when state directories are lost or copied.** A voter whose directory is lost has
//!   another identity and no vote. If all are lost the network is founded anew, counters begin at
//!   one, and recipients that keep the highest fence refuse the new leaders. Two processes on
//!   copies of one directory are two votes for one.
//! - **One leader while a clock drifts by more than ρ.**
//! - **A leader without a majority.** In `majority` one region of two has none, nor has any part
//!   of 2–2.
//! - **A fair draw against a slow region.** A number that arrives after the cast timeout is not
//!   counted.
//!
//! # Guarantees
//!
//! H is the [heartbeat](Config::heartbeat), m the [tolerance](Config::tolerance), t the
//! [request timeout](Config::request_timeout), L the [lease](Config::lease).
//!
//! - **(a)** `majority`: at most one leader at any instant, as long as clocks drift at most by ρ,
//!   no voter lies, and directories are neither lost nor copied, whatever is lost, late, repeated,
//!   misrouted or stopped.
//! - **(b)** `majority`: fences, the election counters, strictly increase.
//! - **(c)** `majority`: after a heal of a majority a leader within
//!   (L + spread + k·(t + cast + result))·(1 + ρ)/(1 − ρ) of true time, k the number of draws: one
//!   without loss and ties ([`Config::failover`]).
//! - **(d)** `available`: two leaders that can reach each other, of which one knows the other,
//!   become one within (H + t + spread + k·(t + cast + result))·(1 + ρ)/(1 − ρ). A voter that was
//!   not reached for longer than [`Config::forget_after`] is known again when a seed, or a voter
//!   that both know, names it.
//! - **(e)** Memory is bounded by [`Config::voters`] and [`MEMBERS_MAX`], and so is the work of
//!   one request.
//!
//! # Model
//!
//! | | assumed for (a), (b) | not assumed |
//! |---|---|---|
//! | network | who answers is who was asked, or is found out (V10, V11) | may lose, delay, repeat, reorder, cut one way; an answer may come after its timeout, or be lost after the request was carried out |
//! | CLOCK_BOOTTIME | runs at 1 ± ρ, counts suspend | clocks are never compared |
//! | processes | | may stop at any point, and begin again |
//! | directories | what was flushed is found again | writes may fail |
//!
//! # States
//!
//! Of one voter in `majority`:
//!
//! ```text
//!  start     empty     knows N identities   accepted   all N have   founded
//! ───────> directory ──────────────────────> (durable) ───────────> │
//!    │                                                              v
//!    │ was founded before      lease-max over                  ┌─ free <──────────────┐
//!    └─────────────────> quarantine ───────────────────────────┤    │ suspicion over,  │
//!                                                              │    │ ≥ q are free     │
//!      leads, acknowledged by ≥ q                              │    v                  │
//!    ┌───────────────────────────── certified: ≥ q results  drawing: casts, then      │
//!    │    each heartbeat: E = q-th  <────────────────────── endorses (durable),       │
//!    v    largest of s + D(p)                               sends its result ─────────┤
//!  leader ───────────────────────────────────────────────────────────────────────────┘
//!           E passed, resigned, asked to give way: lowered, then released
//! ```
//!
//! # Messages
//!
//! [`Ask`] and its [`Answer`], over HTTP; each begins with a [`Header`].
//!
//! | request | from | to | answer |
//! |---|---|---|---|
//! | `register` | one that has not found another voter yet | seeds | [`StatusDto`] |
//! | `status` | anybody; one that doubts, a suspect named | anybody | the same |
//! | `heartbeat` | all, each H | all known ones and all members | [`BeatenDto`]: to a leader, a promise |
//! | `reconcile` | one that was sent another list | its sender | done |
//! | `remove` | one that cannot reach a voter of that list | its sender | done |
//! | `election/start` | an operator, a member | one | started, or who leads |
//! | `election/cast` | each in a ballot | each | the other's own cast, if it is there |
//! | `election/result` | each in a ballot | each | whether the ballot goes on |
//! | `election/certify` | the winner | each | as of a heartbeat |
//! | `election/release` | one that led, or was endorsed in vain | each | done |
//! | `electorate` | an operator | the leader | done, or who leads |
//!
//! # Timers
//!
//! | timer | default | why |
//! |---|---|---|
//! | H | 1 s | [`Config::heartbeat`]; also between tries to register |
//! | t | 300 ms | an answer; one region that hangs delays nobody |
//! | t/2 | 150 ms | a suspect is asked on behalf of another |
//! | L = ⌈(m + 1)·H·(1 + ρ)/(1 − ρ)⌉ | 4.008 s | a promise; (m + 1)·H of it is left by the worst clocks |
//! | E − (what is left) | | the leader stops: nothing is left to be sure of |
//! | cast timeout | 600 ms | two one-way trips, and a slow region |
//! | result timeout | 600 ms | then a ballot without a leader is given up |
//! | spread | 500 ms | voters do not start at once |
//! | (m + 1)·H | 4 s | a leader that is not heard is suspected, with `available` |
//! | lease-max | L | silence after a restart (V8) |
//! | forget after | 10 min | a dropped voter is looked for |
//! | a second | | a directory that could not be written is tried again |
//!
//! # Rulings
//!
//! - **V1. Two lists.** `knownVoters` is for discovery and display. Who decides is the
//!   [`Electorate`], a durable document of ids and identities; N is its size, q = ⌊N/2⌋ + 1,
//!   itself included.
//! - **V2. Founding.** A voter accepts one set of N identities, ever, durably: those of its list,
//!   or the N that it knows. The network is founded when all N have accepted the same. Its
//!   [`Fingerprint`] is in each header; a mismatch is refused and reported by both. A set of which
//!   one has founded another network binds nobody any more, as it can never be founded.
//! - **V3. Casting.** One cast a ballot, ballots in increasing order, none joined again that was
//!   left. A cast promises nothing. With `available`, whoever refuses a number because it draws in
//!   another ballot is waited for, and a leader that is heard ends ballots of its counter: both
//!   ballots would have a winner.
//! - **V4. Endorsing** is sending the result: after the quarantine, without a running promise,
//!   with a counter above `endorsed` and an electorate not below the own one; durable before it
//!   leaves; once for each counter. A tie endorses nobody.
//! - **V5. Certificate.** The winner itself holds results of ≥ q members that name its run and its
//!   ballot, while E is ahead, and has joined no higher ballot. Sets of votes that differ are
//!   reported; two results of one voter are an equivocation.
//! - **V6. Lease.** Whoever endorses or acknowledges promises: until C + p I endorse and
//!   acknowledge nobody else; C is read after receipt, p = min(asked L, own lease-max). The leader
//!   counts it to s + D(p), s read before its request, of an endorsement before its own cast. E is
//!   the q-th largest, grows only while now < E, and is the end.
//! - **V7. Acknowledging.** The same leadership as is endorsed; another one of a higher counter
//!   when no promise runs, durably first.
//! - **V8. Restart, release, giving way.** After a restart nothing is cast, endorsed or
//!   acknowledged for the longest promise ever. A release names one leadership exactly, follows
//!   the end of the work, and is remembered. On `election/start` a leader lets its lease run out,
//!   releases, and the draw follows; a starter first finds ≥ q members free.
//! - **V9. Changes.** The leader writes the document anew as (n, 0) when it has won, and changes
//!   it by one identity, never its own, when ≥ q of the current document's members have stored it
//!   and acknowledged n. What one that is taken out has promised goes with it; by itself it adds
//!   only one that it can spare.
//! - **V10. Two pods of one id.** Another identity, or a run that was over, does not count, and is
//!   a breach. Of two runs the one that answers is there.
//! - **V11. Authentication** is the driver's; a core takes an answer from the voter that it asked,
//!   and no heartbeat twice. [`Caller`] says who has authenticated.
//! - **V12. Bounds.** Suspicion after max(m misses, the end of the promise) + spread. The poll
//!   permits nothing by itself. A voter is dropped after this one has failed to reach it and
//!   another one agrees. One that cannot write its directory says so, is not free, draws no number
//!   and tries again every second; what is written it goes on to acknowledge. One that a quorum
//!   does not answer draws no number: it would lead for one lease without acknowledgements.
//!
//! # The sentences of the text
//!
//! Each has a test, `tests/voter/source.rs`, that begins with its number.
//!
//! | | the text says | here |
//! |---|---|---|
//! | S1 | five settings | [`Config`]; a list of `{voterId, voterUrl}`, its own sample being malformed |
//! | S2 | seeds from a name, combined with a relative URL | [`Message::Seeds`]; resolving is the driver's |
//! | S3 | register with each seed until a valid response | `node/discover.rs` |
//! | S4 | one's own response does not count | so: by identity |
//! | S5 | otherwise a lazy loop, once a heartbeat interval, until it registers or is registered with | so |
//! | S6 | an election starts because the leader is silent | after its promise, V12 |
//! | S7 | or through an external call | `election/start`, V8 |
//! | S8 | a health check by the others first, the leader included | so; it permits nothing by itself |
//! | S9 | if they agree the leader is removed from the pool | from the known ones, V12 |
//! | S10 | each casts a random long, the highest wins | so; one that does not want to lead casts none |
//! | S11 | ties are recast | so, V4 |
//! | S12 | each sends its results to each; if all agree it is certified | a quorum that agrees, V5; `available`: all that cast |
//! | S13 | the old leader becomes FOLLOWER, the new one LEADER | so; the old one has ended before |
//! | S14 | each checks every other periodically; the answer is a status | each H |
//! | S15 | a heartbeat stamps its sender | so, by the receiver's clock |
//! | S16 | lists that differ are reconciled: back to `reconcile` of the sender | `node/discover.rs` |
//! | S17 | of unknown ones the `status` is asked: who answers is added | so; of those too that a seed knows |
//! | S18 | who does not: `remove` at the sender | so; hearsay alone drops nobody, V12 |
//! | S19 | `status`: the leader and the voters | [`StatusDto`] |
//! | S20 | tolerance: misses before a voter is off line | `onLine` |
//!
//! # Where this is not the text
//!
//! - *A quorum decides*, and not whoever is known (V1), except with `available`.
//! - *A number is optional*: a voter whose application does not campaign endorses others and draws
//!   none.
//! - *A winner that gives up says so* to those that endorsed it, so that a failed ballot does not
//!   cost a lease; a release names the ballot for that.
//! - *A leader that is asked to let others draw leads to the end of its lease*: its work must have
//!   ended before others are free, and only the end of the lease says so.
//! - More in `docs/decisions/voter.md`, `voter-who-can-lead.md` and `voter-who-is-there.md`.
//!
//! # Invariants
//!
//! - **R1** A claim is raised until E only, where ≥ q of the electorate have promised to endorse
//!   nobody else beyond E by any clock.
//! - **R2** Nothing that rests on the memory is sent before it is written.
//! - **R3** While a promise runs, or the quarantine, nobody else is endorsed or acknowledged.
//! - **R4** The claim is lowered before its release is sent.
//! - **R5** After a timeout nothing is left that was due.
//! - **R6** What a request changes is bounded, and so is what it sends.

mod asker;
mod beat;
mod calls;
mod config;
mod draws;
mod electorate;
mod event;
mod founding;
mod free;
mod identity;
mod known;
mod lease;
mod memory;
mod message;
mod namesake;
mod node;
mod promise;
mod round;
mod starter;
mod watch;
mod words;
mod writes;

pub use asker::{Asker, AskerConfig};
pub use config::{
    Admission, Checked, Config, ConfigError, Founding, Listed, Mode, ModeError, TooShort,
};
pub use electorate::{Change, Electorate, ElectorateId, Fingerprint, MEMBERS_MAX, Member};
pub use event::{Breach, Event, Ignored, OwnEvent};
pub use identity::{Ballot, Identity, Leadership, Participant, UrlError, VoterUrl};
pub use memory::Memory;
pub use message::*;
pub use node::Voter;
pub use words::{Command, Effect, Peer, Start, Words};
