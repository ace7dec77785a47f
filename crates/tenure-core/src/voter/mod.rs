//! The regional voter: leaders by random draw, over HTTP between the voters themselves.
//!
//! Every voter knows the others, and calls each of them once per heartbeat. Without a leader the
//! voters draw: each sends a random number to each, the highest number wins, and each sends its
//! result to each. There is no store behind them. The protocol is meant for a few regions, far from
//! each other, that share one task.
//!
//! Source: *Leader Election for Regionally Distributed Message Processing* (an unpublished page of
//! a home library; its published code never elects anybody), called "the text" throughout.
//! Where the text is wrong or silent a *ruling* decides, V1 to V12 [below](#rulings).
//! `mutants/voter` breaks each ruling on which safety or the election of any leader rests; a test
//! must notice.
//!
//! `node/protocol.rs` tells the protocol from top to bottom, in the order of the text.
//!
//! # What is not guaranteed
//!
//! - **No overlap in `available`.** Each region that can reach its own voters has a leader, without
//!   end and without a fence. Two regions that cannot reach each other have two leaders. Use this
//!   mode only for work that may be done twice.
//! - **Safety against voters that lie.** A forged acknowledgement can make a second leader.
//!   Requests and answers are authenticated (V11); each holder of the key, or of a certificate,
//!   takes part.
//! - **Safety when state directories are lost or copied.** A voter whose directory is lost has
//!   another identity and no vote. If all directories are lost the network is founded anew,
//!   counters begin at one, and recipients that keep the highest fence refuse the new leaders. Two
//!   processes on copies of one directory have two votes instead of one.
//! - **One leader while a clock drifts by more than ρ.**
//! - **A leader without a majority.** In `majority` neither half of an even split has a leader.
//! - **A fair draw against a slow region.** A number that arrives after the cast timeout is not
//!   counted.
//!
//! # Guarantees
//!
//! H is the [heartbeat](Config::heartbeat), m the [tolerance](Config::tolerance), t the
//! [request timeout](Config::request_timeout), L the [lease](Config::lease), E the end of a
//! leader's lease, D(p) the part of a promise p that [counts](Config::counted), q the quorum of an
//! electorate of N voters.
//!
//! - **(a)** `majority`: at most one leader at any instant, as long as clocks drift at most by ρ,
//!   no voter lies, and directories are neither lost nor copied. Messages may be lost, late,
//!   repeated or misrouted, and processes may stop.
//! - **(b)** `majority`: fences, the election counters, strictly increase.
//! - **(c)** `majority`: once a majority is connected, it has a leader within
//!   (L + spread + k·(t + cast + result))·(1 + ρ)/(1 − ρ) of true time. k is the number of draws:
//!   one without loss and ties ([`Config::failover`]).
//! - **(d)** `available`: if two leaders can reach each other, and one knows the other, only one is
//!   left within (H + t + spread + k·(t + cast + result))·(1 + ρ)/(1 − ρ). A voter that was not
//!   reached for longer than [`Config::forget_after`] is forgotten, until a seed, or a voter that
//!   both know, names it.
//! - **(e)** Memory is bounded by [`Config::voters`] and [`MEMBERS_MAX`], and so is the work of
//!   one request.
//!
//! # Model
//!
//! | | assumed for (a), (b) | not assumed |
//! |---|---|---|
//! | network | an answer comes from the asked voter, or the mistake is found (V10, V11) | may lose, delay, repeat, reorder, cut one way; an answer may come after its timeout, or be lost after the request was carried out |
//! | CLOCK_BOOTTIME | runs at 1 ± ρ, counts suspend | clocks are never compared |
//! | processes | | may stop at any point, and begin again |
//! | directories | keep flushed content | writes may fail |
//!
//! # States
//!
//! The states of one voter in `majority`:
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
//! | `register` | a voter that has found no other yet | seeds | [`StatusDto`] |
//! | `status` | any caller; a voter that names a suspect | any voter | the same |
//! | `heartbeat` | each, each H | known voters and members | [`BeatenDto`]: the status; to a leader, a promise |
//! | `reconcile` | a voter that was sent another list | the sender of the list | done |
//! | `remove` | a voter that cannot reach one of that list | the sender of the list | done |
//! | `election/start` | an operator, a member | any voter | started, or the leader |
//! | `election/cast` | each in a ballot | each | the recipient's cast, if it has one |
//! | `election/result` | each in a ballot | each | whether the ballot goes on |
//! | `election/certify` | the winner | each | as of a heartbeat |
//! | `election/release` | a voter that led, or was endorsed but did not win | each | done |
//! | `electorate` | an operator | the leader | done, or the leader |
//!
//! # Timers
//!
//! | timer | default | why |
//! |---|---|---|
//! | H | 1 s | [`Config::heartbeat`]; also the pause before another attempt to register |
//! | t | 300 ms | an answer; a region that hangs delays no other |
//! | t/2 | 150 ms | wait for a suspect's answer on behalf of another voter |
//! | L = ⌈(m + 1)·H·(1 + ρ)/(1 − ρ)⌉ | 4.008 s | a promise, of which (m + 1)·H counts with the worst clocks |
//! | E | | the leader stops: its lease is over |
//! | cast timeout | 600 ms | two one-way trips, and a slow region |
//! | result timeout | 600 ms | the end of a ballot without a leader |
//! | spread | 500 ms | voters do not start together |
//! | (m + 1)·H | 4 s | in mode `available`: a leader that was not heard for this long is suspected |
//! | lease-max | L | silence after a restart (V8) |
//! | forget after | 10 min | a dropped voter is searched for |
//! | 1 s | | a failed write is attempted again |
//!
//! # Rulings
//!
//! - **V1. Two lists.** `knownVoters` is for discovery and display. The [`Electorate`], a durable
//!   document of ids and identities, decides elections; N is its size, and q = ⌊N/2⌋ + 1 of its
//!   members are a quorum.
//! - **V2. Founding.** A voter accepts a set of N identities only once, and durably: the voters of
//!   its list, or the N voters that it knows. The network is founded when all N have accepted the
//!   same set. Each header has the [`Fingerprint`] of the set; both voters refuse and report a
//!   mismatch. When a member of the set has founded another network, the set can never be founded,
//!   and no longer binds its voters.
//! - **V3. Casting.** A voter casts once in a ballot, joins ballots in increasing order, and never
//!   joins again a ballot that it has left. A cast promises nothing. In mode `available` a voter
//!   may refuse a number because it draws in another ballot. The sender then waits for that voter's
//!   number, and a leader that the sender hears ends ballots of the leader's counter. Otherwise
//!   both ballots would have a winner.
//! - **V4. Endorsing.** A voter endorses by sending its result. The voter must have no quarantine
//!   and no running promise; the counter must be above `endorsed`, and the electorate not below the
//!   voter's. The endorsement is durable before the result leaves, and happens once for each
//!   counter. A tie endorses no voter.
//! - **V5. Certificate.** While E is ahead, the winner needs results of ≥ q members that name its
//!   run and its ballot. The winner must have joined no higher ballot. Voters report sets of votes
//!   that differ, and report two results of one voter as an equivocation.
//! - **V6. Lease.** Each endorsement and each acknowledgement is a promise: "until C + p I endorse
//!   and acknowledge no other". C is read after receipt; p = min(asked L, the voter's lease-max).
//!   The leader counts the promise to s + D(p), where s is read before its request; for an
//!   endorsement, before its own cast. E is the q-th largest of these times. The lease ends at E. E
//!   moves later only while now < E.
//! - **V7. Acknowledging.** A voter acknowledges the leadership that it has endorsed, or, while no
//!   promise runs, a leadership of a higher counter. The voter stores the leadership durably first.
//! - **V8. Restart, release, giving way.** After a restart a voter casts, endorses and acknowledges
//!   nothing for its longest promise ever. A release names exactly one leadership, is sent after
//!   the work has ended, and is remembered by its recipients. On `election/start` a leader lets its
//!   lease run out and releases; then the draw follows. A voter starts a ballot only once ≥ q
//!   members are free.
//! - **V9. Changes.** When a leader with counter n has won, it writes the document anew as version
//!   (n, 0). The leader changes the document by one identity, never its own, once ≥ q members have
//!   stored the document and acknowledged n. The promises of a removed member no longer count.
//!   Without an operator the leader adds a voter only if a quorum would answer even if that voter
//!   failed again.
//! - **V10. Two pods of one id.** A message of another identity, or of an ended run, does not
//!   count, and is reported as a breach. A run that answers has not ended.
//! - **V11. Authentication.** The driver authenticates. A core accepts an answer only from the
//!   voter that it has asked, and each heartbeat only once. [`Caller`] says whether the sender has
//!   authenticated.
//! - **V12. Bounds.** A voter suspects its leader after max(m misses, the end of the promise) +
//!   spread. The poll alone permits nothing. A voter drops another voter that it cannot reach once
//!   a third voter cannot reach it either. A voter that cannot write its directory reports the
//!   failure, is not free, and draws no number. Such a voter tries again every second, and still
//!   acknowledges the leadership that is written. A voter that no quorum answers draws no number:
//!   it would lead for one lease without acknowledgements.
//!
//! # The sentences of the text
//!
//! Each sentence has a test in `tests/voter/source.rs`, whose name begins with the sentence's
//! number.
//!
//! | | the text says | here |
//! |---|---|---|
//! | S1 | five settings | [`Config`]; a list of `{voterId, voterUrl}`, its own sample being malformed |
//! | S2 | seeds from a name, combined with a relative URL | [`Message::Seeds`]; resolving is the driver's |
//! | S3 | register with each seed until a valid response | `node/discover.rs` |
//! | S4 | one's own response does not count | so: by identity |
//! | S5 | otherwise a lazy loop, once per heartbeat interval, until registered, either way | so |
//! | S6 | an election starts because the leader is silent | after its promise, V12 |
//! | S7 | or through an external call | `election/start`, V8 |
//! | S8 | a health check by the others first, the leader included | so; it permits nothing by itself |
//! | S9 | if they agree the leader is removed from the pool | from the known voters, V12 |
//! | S10 | each casts a random long, the highest wins | a voter that does not want to lead casts none |
//! | S11 | ties are recast | so, V4 |
//! | S12 | each sends its results to each; if all agree it is certified | a quorum that agrees, V5; `available`: all that cast |
//! | S13 | the old leader becomes FOLLOWER, the new one LEADER | so; the old one has ended before |
//! | S14 | each checks every other periodically; the answer is a status | each H, by a heartbeat; a dropped voter, by `status` |
//! | S15 | a heartbeat stamps its sender | so, by the receiver's clock |
//! | S16 | lists that differ are reconciled: back to `reconcile` of the sender | `node/discover.rs` |
//! | S17 | unknown voters are asked for `status`; an answer adds them | also those that a seed knows |
//! | S18 | no answer: `remove` at the sender | so; hearsay alone drops no voter, V12 |
//! | S19 | `status`: the leader and the voters | [`StatusDto`] |
//! | S20 | tolerance: misses before a voter is off line | `onLine` |
//!
//! # Where this is not the text
//!
//! - *A quorum decides*, and not all known voters (V1), except in mode `available`.
//! - *A number is optional*: a voter whose application does not campaign endorses others and draws
//!   none.
//! - *A winner that gives up reports that* to the voters that have endorsed it, so that others need
//!   not wait for a lease after a failed ballot. The release names the ballot.
//! - *A leader that is asked to let others draw leads to the end of its lease*: its work must have
//!   ended before others are free, and only the end of the lease proves that.
//! - More in `docs/decisions/voter.md`, `voter-who-can-lead.md` and `voter-who-is-there.md`.
//!
//! # Invariants
//!
//! - **R1** A claim never lasts beyond E; until E, by any clock, ≥ q members of the electorate have
//!   promised to endorse no other voter.
//! - **R2** No message that depends on the memory is sent before the memory is written.
//! - **R3** While a promise or the quarantine runs, the voter endorses and acknowledges no other
//!   voter.
//! - **R4** The claim is lowered before its release is sent.
//! - **R5** A timeout leaves no action overdue.
//! - **R6** The changes and the messages that one request causes are bounded.

mod accepted_set;
mod asker;
mod ballots;
mod beat;
mod calls;
mod config;
mod draws;
mod electorate;
mod event;
mod free;
mod identity;
mod json;
mod known;
mod known_leader;
mod known_namesake;
mod lease;
mod memory;
mod message;
mod node;
mod promise;
mod starter;
mod words;
mod writes;

pub use asker::{Asker, AskerConfig};
pub use config::{
    Admission, Checked, Config, ConfigError, Founding, Listed, Mode, ModeError, TooShort,
};
pub use electorate::{Change, Electorate, ElectorateId, Fingerprint, MEMBERS_MAX, Member};
pub use event::{Breach, Event, Ignored, OwnEvent};
pub use identity::{Ballot, Identity, Leadership, Participant, UrlError, VoterUrl};
pub use json::{known_voters, parse_hex};
pub use memory::Memory;
pub use message::*;
pub use node::Voter;
pub use words::{Command, Effect, Peer, Start, Words};
