//! Nerio: quorum leases with ordered edicts.
//!
//! Grantors, a few processes with clocks, give leases. A candidate that holds the leases of a
//! quorum leads until the first of these leases might have ended, by the candidate's own clock.
//! Edicts of leaders have an order that every recipient can compute, however late the edicts
//! arrive.
//!
//! Source: van Renesse, Schneider, Gehrke, *Nerio: Leader Election and Edict Ordering* (arXiv
//! 1109.5111), below "the paper". Built here: sections 1 to 10, step by step in
//! `docs/seeds/nerio.md`. The file `oqwbd.rs` has the steps of sections 3 and 6 in the paper's
//! order.
//!
//! # Model
//!
//! | | assumed for safety | assumed for progress |
//! |---|---|---|
//! | network | nothing: loss, delay, repetition, reordering, partitions | a quorum in touch |
//! | clocks | each runs at `1 ± ρ` of real time while its machine is up ([`Drift`]); or wall clocks differ by at most Δ ([`Config::clock_skew_max`]) | the same |
//! | processes | may pause at any point, end, and begin again | a quorum of grantors runs |
//! | memory of grantors | the state directory is not copied, nor rolled back to an older state | |
//! | participants | follow the protocol; incarnations ([`Inc`]) do not collide | the same |
//!
//! Clocks need not agree on the time, and their origins may change when a machine starts anew. A
//! machine restored from a snapshot, or a clock beyond ρ, is outside the model: then two processes
//! may lead, and only fences at the guarded resource keep them apart. If oks prove that a member's
//! clock and the candidate's are not both within ρ, the candidate counts no lease of a member with
//! a faster clock (`rates.rs`).
//!
//! # Guarantees
//!
//! - **Leader Uniqueness**: at any time, at most one incarnation of one process leads an election.
//! - **Edict Ordering** and **fences**: leaderships are totally ordered, by their quorum timestamp
//!   ([`QuorumTimestamp`]) and by an integer ([`Fence`]) that agrees with it.
//! - **Leader Stability**: with round trips below a third of the lease a leader stays in office.
//! - **Eventual Election**: while a quorum is in touch, a vacancy ends one round trip after a
//!   release, or when the lease of a crashed leader has ended.
//! - Whatever arrives, a node keeps no more than its [`Limits`], and no message that decodes causes
//!   a panic.
//!
//! # What is not guaranteed
//!
//! - The leader may have changed when its message arrives. Recipients must check the fence or the
//!   edict timestamp; a lease alone protects nothing outside the leader's own process.
//! - Participants that lie can break anything. Oks count only from a member's own address, and one
//!   incarnation speaks from one address: that stops accidents, and forgers that cannot fake
//!   addresses. Against other forgers use an authenticated transport.
//! - Members that hold the cluster's key can break anything, too: one of them may name any later
//!   epoch to nodes that know no other member.
//! - A grantor may lose its memory in the first epoch of an upgraded cluster, and come back by
//!   reading the fences of others. Such a grantor has no vote on the next epoch: replace that
//!   member. If too few members have a vote, the members cannot change.
//! - The cluster stands still after *two of three* grantors lost their state directories at the
//!   same time: each waits to read the fences of a quorum of the others, until an operator decides.
//! - Succession is not fair. Candidates go by [priority](crate::Command::Campaign) and by a hash,
//!   not by age.
//!
//! # Grantor
//!
//! State for each election: `A` and `F` (the grant), `gs` (the highest Start granted), the
//! requests that wait, released Starts, and the fences seen.
//!
//! ```text
//!  Start ──> opening ──> quarantine ──┬──────────────────────────> serving
//!            (boot is    (memory of   │ memory lost                    ^
//!            written)    grants lost) └──> reading ──> storing ────────┘
//!                                          (fences of  (reserve is
//!                                          a quorum)   written)
//!
//!  serving, for each election:
//!
//!              request: granted                    request of another:
//!          ┌──────────────────────┐                refused and parked
//!          │                      v                    ┌──────┐
//!       ┌──────┐             ┌─────────┐ <─────────────┘      │
//!       │ free │             │ granted │ ─────────────────────┘
//!       └──────┘             └─────────┘ <──┐ request of the holder, Start > gs:
//!          ^   F is reached, or   │  └──────┘ F := max(F, T + (1 + ρ)δ)
//!          │   a release ≥ gs     │
//!          └──────────────────────┘
//!              and the first of those who wait is granted in the same step
//!
//!  a member of an epoch:
//!
//!            accepts the members          the next epoch is          answers of enough
//!            of the next epoch            decided, and names it      members, written
//!  serving ───────────────────> wedged ──────────────────────> joining ─────────────> serving
//!     │                            │ decided, and does not name it               (next epoch)
//!     │ the same, without          └──────────────────────> removed
//!     │ a vote of its own                                       ^
//!     └─────────────────────────────────────────────────────────┘
//! ```
//!
//! # Candidate
//!
//! State for each election: `Start`, `E`, the oks that count, and the leadership they became.
//!
//! ```text
//!          campaign             ok of a quorum            renewed at once
//!  idle ───────────> contending ──────────────> leading ──────────────────> settled
//!   ^                 │  ^   │    the fence is   │  a short first lease       │   ^
//!   │                 │  └───┘    accepted by    │                            └───┘ renewed
//!   │                 │  refresh, all of it      │                              │
//!   │   withdrawn     │  yield                   │ E is reached, resigned,      │
//!   │                 v                          v handed over                  v
//!   └──────────── giving up <──────────────────────────────────────────────────┘
//!     confirmed   E := C, then promises are waited for, then releases are sent
//! ```
//!
//! # Messages
//!
//! | message | from, to | section | carries |
//! |---|---|---|---|
//! | [`Request`] | candidate, grantor | 3, step 3 | Start, δ, the fences proposed and announced, the next leader |
//! | [`Granted`] | grantor, candidate | 3, step 6; 7 | Start, `T_q`, whether the fence is accepted |
//! | [`Refused`] | grantor, candidate | 10.2 | the reason, the holder and its remaining time |
//! | [`Release`] | candidate, grantor | 6, erratum 4 | the Start up to which all is given up |
//! | [`Released`] | grantor, candidate | | confirmation |
//! | [`Leaving`] | candidate, grantor | erratum 2 | end of the leadership, and the delay of the release by a promise |
//! | [`Verify`] | verifier, leader | 10.5 | the asker's Start |
//! | [`Remainder`] | leader, asker | 10.5 | the shortest real time left, bound to the question |
//! | [`Query`], [`State`] | observer, grantor | 10.4 | the holder, if written, with its announced fence |
//! | [`List`], [`Listed`] | tool, grantor | | names of elections |
//! | [`Elections`], [`ElectionsHere`] | tool, grantor | | elections, their holders, numbers of waiting candidates |
//! | [`Candidates`], [`CandidatesHere`] | tool, grantor | | the holder of an election, its waiting candidates |
//! | [`Order`], [`Ordered`] | authorized sender, grantor | | the fence of a leadership that is to end, the next leader |
//! | [`StepDown`] | grantor, leader | | the order, for the holder of that fence |
//! | [`FenceRead`], [`FenceSeen`] | grantor, grantor | | a bound on all fences seen and leases given |
//! | [`Where`], [`Current`] | any sender, grantor | 10.6 | the epoch that the grantor has entered |
//! | [`DocumentRead`], [`DocumentPart`] | any sender, grantor | 10.6 | a part of the document of that epoch |
//! | [`Prepare`], [`Promise`] | proposer, grantor | 10.6 | a ballot, and the successor accepted before it |
//! | [`Found`], [`Promise`] | grantor without memory, grantor | | a ballot, and the founding accepted before it |
//! | [`ReadyRead`], [`Ready`] | proposer, seat of a successor | 10.6 | whether the node can serve in that epoch |
//! | [`Accept`], [`Accepted`] | proposer, grantor | 10.6 | the ballot and the successor: the grantor is wedged |
//! | [`Decided`] | grantor, grantors and holders | 10.6 | the epoch that follows |
//! | [`RestsRead`], [`Rests`] | grantor that enters an epoch, grantor | 10.6 | a page of the leases that may last |
//! | [`Change`], [`Changed`] | operator, grantor | 10.6 | the change of one member, and its state |
//! | [`Admit`], [`Admission`] | grantor without memory, member | | its memory, and why it is not let in |
//! | [`Ping`], [`Pong`] | member on a ring, or observer; member | 9 | alive, and its weak leader |
//! | [`Supervisor`] | watched candidate, grantor | | the member that watches its process |
//! | [`Gone`] | watching member, grantor | | the incarnation whose process has ended |
//!
//! A message has the type of its recipient: [`ToGrantor`], [`ToCandidate`], or [`ToAsker`] for the
//! answer to a question. [`wire`] has the format.
//!
//! # Timers
//!
//! | timer | default | why |
//! |---|---|---|
//! | lease δ | 5 s | [`Config::lease`] |
//! | first lease | max(3R + 2d, 1 s), ≤ δ | a dead successor costs this lease once |
//! | renewal | ¼ to ⅓ of δ after the last | room for repetitions before work must stop |
//! | a lost renewal | max(2d, 50 ms), ≤ δ/6 | an answer would have arrived |
//! | refresh R | 250 ms | a candidate that died is forgotten after 3R |
//! | a waiting request | min(3R, (1 + ρ)δ) | afterwards its candidate is dead, or its lease over |
//! | yield | until the rival's grant has ended, or R if the rival leads; + [0, R) | the votes would split again |
//! | a lost release | 2d, doubling, while the lease lasts | afterwards it does not matter |
//! | quarantine | (1 + ρ)·δ_max, own or read | every forgotten lease has ended |
//! | a larger δ_max | (1 + ρ)·δ_max | leases that other grantors forgot have ended, too |
//! | a forgotten election | F + (1 + ρ)·δ_max | messages still on their way have lapsed |
//! | a lost part of a document | as a lost renewal, five times | later messages of members name the epoch again |
//! | a question for the next epoch | R + [0, R), doubling with each refused ballot, ≤ 30 s | two proposers at once bar each other's ballots |
//! | a wedged grantor's own proposal | 4R, R more for each position, doubling, ≤ 30 s, + [0, R) | the proposer may have died |
//! | a round for a lost member | R, 4R more for each position, + [0, R) | the members take turns |
//! | another such round | 4R, R more for each position, + [0, R), doubling, ≤ 30 s | two members with rounds at once refuse each other |
//! | a question for the rests of leases | 20, 50, 100 ms, then R | a leader waits to renew |
//! | a failed write | 1 s | the record is written again, with or without requests |
//! | the ring, if there is one | ¼ of [`RingConfig::silence`] | neighbours are asked, and judged |
//!
//! Here `d` is a high percentile of measured round trips.
//!
//! # Invariants
//!
//! A `debug_assert!` names the invariant that it checks, as far as one step can check it.
//! `tenure-sim` judges all invariants in true time, and each patch of `mutants/nerio` breaks one
//! rule behind them, to see that a test notices.
//!
//! - **I1** A grantor gives a lease to one incarnation at a time: `A` changes only when `C ≥ F`.
//! - **I2** `F` goes back only by a valid release, by the holder's incarnation and with a Start ≥
//!   `gs`; or when the member that watches the holder's process reports that the process has ended.
//! - **I3** Samples of a grantor's clock strictly increase, over restarts too (boot, clock,
//!   counter); `T_q` is the sample at which the lease was free.
//! - **I4** `gs` grows with each grant to one holder; no Start at or below a released Start is
//!   granted.
//! - **I5** The fence seen in an election only grows, and accepted fences are at most `H`, which is
//!   durable; a restart begins at `H`.
//! - **I6** A claim stands on oks of a quorum. Each is the last ok of its grantor, to a Start that
//!   the candidate has not aborted: `E` is the minimum of their `Start + (1 − ρ)δ`, and `C < E` at
//!   the completion.
//! - **I7** An incarnation uses each Start once, in all its campaigns, so (who, Start) names an
//!   instance.
//! - **I8** A claim is announced only with a fence that every member of the completing quorum
//!   accepted for this leadership. Once `C ≥ E`, the claim is over for ever, and so is its fence.
//! - **I9** The claim is lowered before the release is sent. The release is not sent before the end
//!   of a verification's promise. No attempt begins in between.
//! - **I10** A timeout does everything that is due.
//! - **I11** No ok leaves before the grant it confirms is written.
//! - **I12** A wedge never ends (section 10.6): a grantor that has accepted the members of the next
//!   epoch grants nothing in its present epoch, and neither does a later process on its memory.
//! - **I13** A grantor enters an epoch by answers that it received itself: of a quorum that
//!   accepted this epoch by one ballot, or of a member that has entered it.
//! - **I14** A grantor of a later epoch grants an election only when the leases of all other
//!   holders from earlier epochs have ended. The grant lasts at least as long as the candidate's
//!   own lease from an earlier epoch.
//! - **I15** A grantor that restarts still waits for leases of earlier epochs.
//! - **I16** Oks form a quorum only if they are of one epoch, each from a memory that the epoch
//!   names.
//!
//! I1 to I4 and I6 give equation 14: a claim implies grants of a quorum. With equation 7 (quorums
//! meet, proved by [`Quorums`]), Leader Uniqueness follows.
//!
//! # Where this is not the paper
//!
//! Errata, built in the corrected form:
//!
//! 1. Section 10.5 prints `T = Start + δ(ρ − 1)`, good while `T < C`. Here: `T = Start + δ(1 − ρ)`,
//!    good while `C < T`. By the printed formula, an asker believes in a leader whose claim is
//!    over.
//! 2. Section 10.5 lets a leader promise and then release (section 6). Here a release waits for the
//!    end of the promise, at most [`Config::verify_max`].
//! 3. Section 9 prints the negation of its start condition. Here a weak leader that may campaign
//!    does so, unless its own grantor has granted the lease to another candidate.
//! 4. Section 6 lets any release of the holder take effect. Here a release names the Start that it
//!    ends, and requests at or below a released Start are ignored. By the printed rule, a delayed
//!    release can make two leaders.
//! 5. Section 10.1 has ρ as a time. Here ρ is a rate, by default 10⁻³: Linux slews by 5·10⁻⁴.
//!
//! Extensions, each with its tests in `tests/nerio/extensions/`:
//!
//! - *Identity*: a participant is (name, [`Inc`]); a restarted candidate is a new participant.
//! - *Parked requests*: a refused request waits at the grantor until the grant ends, and the common
//!   order puts it first. For safety, parking equals a delay of the request in the network. Parking
//!   replaces polling and random retries.
//! - *Succession*: the order of waiting candidates is the same at all grantors: the candidate that
//!   the leader named, a leader before others, priority, a hash. A candidate undoes a split vote
//!   when no quorum is possible any more: the candidate yields to a rival that ranks above it. If
//!   that rival is a leader, the candidate first waits for a renewal, since a dead leader ranks as
//!   high as a live one.
//! - *Combined oks*: oks of several Starts of one attempt count together (I6), where the paper
//!   aborts the old instance. So the ok of a slow grantor still counts.
//! - *Fence*: an integer beside the edict timestamp. The fence costs a second round only when the
//!   candidate has not heard of the last fence.
//! - *Restart*: a grantor that restarts on the same boot of its machine remembers its grants. On
//!   another boot the grantor waits for the end of all leases. If its directory is lost, the
//!   grantor also reads the fences and the longest leases of others, and waits for the end of these
//!   leases.
//! - *Readings*: a request of a leader names the fence with which the leader raised its claim, and
//!   a grantor keeps this fence with the grant. An observer names a leader when the grants of a
//!   quorum are written and live, and their requests named the same fence. So the observer never
//!   names a candidate that did not win, and names a leader one round trip after it won. A grantor
//!   with a failed disk reports the failure, and reports no unwritten grant. A leader that gives up
//!   before its promise to a verifier is over reports that to the grantors, and they report it to
//!   observers: the grants last, but the leader no longer leads.
//! - *Orders*: a grantor passes an order to end a leadership on to the holder with the fence that
//!   the order names. The holder reports the order, once, if it leads with that fence; the
//!   application ends the leadership or goes on. An order never ends a later leadership.
//! - *Bound on skew*: if the [settings](Config::clock_skew_max) have a bound on skew, `oqwbs.rs`
//!   computes the ends of section 4. Each end is computed by two clocks: a claim ends at the
//!   earlier of its two ends and a grant at the later, so that either bound suffices.
//! - *Clock breach*: oks can prove that two clocks are not both within ρ. Oks of a member with a
//!   faster clock do not count. A node takes its own clock to be wrong if the members whose oks
//!   count are no quorum. Then the node leads nothing and grants nothing, until an operator clears
//!   the breach.
//! - *A lease that follows* (10.1), opt-in: δ grows and shrinks with the measured d, between the
//!   lease of the settings and δ_max. A changed δ applies from the next Start.
//! - *Witnesses*: grantor and candidate are separate state machines, and a node may have only one
//!   of them. Quorums consist of grantors.
//! - *Documents*: a node without a grantor needs no complete list of members. A member that is
//!   asked for another epoch says in which epoch it is; the node reads the document of that epoch.
//!   A single member may be a stray one. So the node first waits until so many members name the
//!   document's cluster that the others on the list are no quorum; then the node asks the members
//!   of the document. A list of one name needs one member. Once a quorum has answered in the node's
//!   epoch, the node takes only a later epoch of the same cluster. Claims survive the change,
//!   answers do not: a quorum needs oks of one epoch.
//! - *Epochs*: the members of an epoch decide its successor by single-decree Paxos. A grantor that
//!   accepts is wedged at once; in the paper it first waits for its grants to end. The wedged
//!   grantor names the rest of each grant to the members of the next epoch, which keep other
//!   candidates out for that time. So a leader keeps leading, with its fence, while the members
//!   change. A change adds, removes or replaces one member.
//! - *Ring*: if its [settings](Config::ring) say so, a member monitors its neighbours on the ring
//!   of section 9, and names a [`WeakLeader`]. Each answer also names the weak leader of its
//!   sender, so that others learn the name. An answer proves that the neighbour lived at the time
//!   of the question. If only weak leaders campaign, the others campaign, too, after twice the
//!   silence without a leader, so that no election stands still.
//! - *Lost directories*: if its [settings](Config::replace) say so, a member begins by itself the
//!   change that replaces a member with a lost directory. A quorum must have heard nothing of the
//!   lost memory for some time. Safety rests on the wedge alone: the replaced memory may be alive.
//! - *Supervised release*: a member on a candidate's machine may watch the candidate's process. The
//!   candidate then names that member ahead of each request ([`Supervisor`]). If that member, and
//!   no other, reports that the process has ended ([`Gone`]), the grants of this incarnation end at
//!   once. The member first waits for the end of all promises to verifiers. The candidate writes
//!   each such promise down before it answers ([`Record::Promise`]).
//!
//! # Example
//!
//! Three nodes, a campaign, and a network of one queue:
//!
//! ```
//! use std::collections::VecDeque;
//! use std::net::SocketAddr;
//!
//! use tenure_core::nerio::{
//!     Command, Config, Effect, Inc, Instance, Kept, Member, Memory, Nerio, Recipient, Sender,
//!     Start,
//! };
//! use tenure_core::{Input, Protocol, Time};
//!
//! let names = ["a", "b", "c"];
//! let address = |n: usize| SocketAddr::from(([127, 0, 0, 1], 7101 + n as u16));
//! let member = |n: usize| Member::at(names[n].parse().unwrap(), address(n));
//! let config = Config::new("demo".parse()?, (0..3).map(member).collect()).check()?;
//! let epoch = config.membership().id();
//! let mut nodes: Vec<Nerio> =
//!     names.iter().map(|name| Nerio::new(config.clone(), name.parse().unwrap())).collect();
//!
//! // A driver hands over an input with one sample of the clock, and carries out the effects in
//! // their order. Here every write succeeds, and every message arrives.
//! let now = Time::from_nanos(1_000_000_000);
//! let mut queue = VecDeque::new();
//! for n in 0..3 {
//!     let memory = Memory::begin(Instance(n as u128), Kept::New);
//!     let start = Start { inc: Inc(n as u128), seed: 1, memory: Some(memory) };
//!     queue.push_back((n, Input::Start(start)));
//! }
//! let campaign = Command::Campaign { value: "10.0.0.1:80".parse()?, priority: 0 };
//! queue.push_back((0, Input::Command { election: "db".parse()?, command: campaign }));
//!
//! while let Some((n, input)) = queue.pop_front() {
//!     let mut effects = Vec::new();
//!     nodes[n].handle(now.into(), input, &mut effects);
//!     for effect in effects {
//!         match effect {
//!             Effect::Flush(ticket, _record) => queue.push_front((n, Input::Flushed(ticket))),
//!             Effect::Send { to, message } => {
//!                 // Here the nodes are the members, and no node pretends to be another one.
//!                 let who = nodes[n].who().clone();
//!                 let from = Sender { who, address: address(n), proved: true, epoch };
//!                 let mut all = 0..3;
//!                 let to = match to.recipient {
//!                     Recipient::Member(name) => all.find(|n| names[*n] == name.as_str()),
//!                     Recipient::Address(to) => all.find(|n| address(*n) == to),
//!                 };
//!                 let to = to.unwrap();
//!                 queue.push_back((to, Input::Message { from, message }));
//!             }
//!             // Writes are done at once, and there are no handles.
//!             Effect::Persist(_) | Effect::Raise { .. } | Effect::Lower { .. } => {}
//!             Effect::Bound { .. } => {}
//!             Effect::Emit { .. } => {}
//!         }
//!     }
//! }
//! assert!(nodes[0].standing(&"db".parse()?, now).is_leading());
//! assert!(!nodes[1].standing(&"db".parse()?, now).is_leading());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Drift`]: crate::Drift
//! [`Fence`]: crate::Fence

mod body;
mod by_member;
mod candidate;
mod clock_bound;
mod command;
pub mod config;
mod context;
pub mod epoch;
mod event;
mod following_lease;
mod founding_trouble;
mod gone;
mod grantor;
mod identity;
mod ignored;
mod inventory;
mod memory;
mod message;
mod named_leader;
mod node;
mod observer;
mod oqwbd;
mod oqwbs;
mod order;
pub mod quorum;
mod quorum_trips;
mod rank;
mod rates;
mod record;
mod ring;
mod roster;
mod round_trips;
mod timer;
mod timestamp;
pub mod wire;
mod words;

pub use body::*;
pub use command::{Command, Extra};
pub use config::{
    AutoReplace, Checked, Config, ConfigError, HostPort, HostPortError, Limits, Member,
    MemberError, members,
};
pub use epoch::{
    Accept, Accepted, Acceptor, AcceptorState, Admission, Admit, Change, ChangeError, ChangePhase,
    ChangeState, Changed, Current, Decided, Document, DocumentError, DocumentPart, DocumentRead,
    DocumentReader, EpochId, Found, Hindrance, Membership, Missing, NoVote, Origin, Prepare,
    Promise, PromiseOutcome, ReadOutcome, Ready, ReadyRead, Rests, RestsRead, Seat, SeatChange,
    SurvivorsError, Unready, Where,
};
pub use event::{Event, Ignored, OwnEvent, Question};
pub use following_lease::LeaseChange;
pub use founding_trouble::FoundingTrouble;
pub use gone::{Gone, Supervisor};
pub use identity::{Boot, Inc, Instance, Mark, Stamp, Who};
pub use inventory::{
    CandidateHere, Candidates, CandidatesHere, ElectionHere, Elections, ElectionsHere, HolderHere,
    Which,
};
pub use memory::{Durable, EpochStanding, GrantTable, Kept, Memory, Remembered};
pub use message::*;
pub use named_leader::{LiveGrant, leadership};
pub use node::Nerio;
pub use oqwbs::{ClockFault, WallGrant, WallStart};
pub use order::{Order, Ordered, Passed, StepDown};
pub use quorum::{MemberSet, QuorumError, QuorumTextError, Quorums};
pub use rates::{Apart, ClockApart, MemberClock, Rate};
pub use record::{GrantRecord, Record, Tenancy};
pub use ring::{Detector, Ping, Pong, RingConfig, WeakLeader};
pub use roster::{Entry, Roster};
pub use timer::Timer;
pub use timestamp::{EdictTimestamp, Incomparable, QuorumTimestamp};
pub use words::{Effect, Recipient, Start, To, Words};
