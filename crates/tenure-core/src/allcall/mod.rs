//! ALLCALL: leased leaders on a broadcast bus.
//!
//! Every participant calls all others once a heartbeat, says whom it holds for the leader, and
//! hears their answers. The one with the lowest rank leads for a lease and renews it; when it is
//! heard no more, the next one follows. There is no quorum: each part of a partitioned system has
//! a leader, and after the heal there is one.
//!
//! Source: Jason E. Aten, *The ALLCALL leased-leader election algorithm* (2017), called "the text"
//! throughout. Where the text is wrong or silent a *ruling* decides; the rulings are numbered
//! [below](#rulings). `mutants/allcall` breaks the rulings without which two lead, or no leader
//! ever emerges.
//!
//! # What is not guaranteed
//!
//! - **One leader.** In a partition each part has a leader. With lost messages two may overlap even
//!   without a partition.
//! - **A fence.** Nothing orders leaderships, and no number could: two parts of a partition count
//!   apart. The work of a leader must do no harm when it is done twice or late. The handles say so
//!   by their type.
//! - **Participants that lie.** A forged claim makes leaders yield, and a forged tombstone makes
//!   others stand. Each client that may publish on the subjects of calls, replies and resignations
//!   takes part; permissions of the bus decide which ones may.
//! - **A clock further than K from true time**: nothing holds, except that the others drop its
//!   claims, and that its process notices when there are at least two others, or when the clock was
//!   right before. If two clocks have always differed, neither process knows which is wrong, and
//!   both may lead.
//! - **A leader at every moment.** After a crash the seat is empty until the lease has ended by
//!   every clock.
//!
//! # Guarantees
//!
//! L is the [lease](Config::lease), H the [heartbeat](Config::heartbeat), K the
//! [bound on clock skew](Config::max_clock_skew), d the longest delay of a message, and the end of a
//! lease E.
//!
//! - **(a)** While all are connected, nothing is lost and d < H/2, there are never two leaders. On
//!   several servers of a cluster, each of which brings messages in an order of its own, that holds
//!   while no participant is stopped in addition: of two that stand within a delay of each other,
//!   because one was, each may hear its own claim first, and both lead until they hear the other's.
//! - **(b)** After a heal there are two for at most H + d with [`OnConflict::Yield`], and within
//!   L + K + 3H the best rank leads alone. With [`OnConflict::ServeOut`] there are two for at most
//!   L − K + d, and the best rank leads alone within 2L − K + H + 3d: while it serves its lease
//!   out the other one may renew, and the next renewal may come before it is announced again.
//! - **(c)** Within L + 3K + 2H of the loss of a leader, in true time, another one leads, where
//!   each of these is multiplied by (1 + ρ)/(1 − ρ), here and in (b): by 1.002 with the default;
//!   after a clean stop within H and two delays, if the best of the others calls. A participant
//!   that has left, or crashed, without having led counts as present for 2.5 H, and others wait for
//!   it so long and until the end of a round: 3.5 H. With few callers, when no other one is left,
//!   the next one has to call for two rounds first: 3H. (The text says L + K. The clock of the old
//!   leader and that of the new one may err in opposite ways, and an election takes a round.)
//! - **(d)** Even if packets are lost, late, repeated or reordered: no handle holds beyond E − K −
//!   H by the clock that granted it, no claim is believed beyond the E that its leader published,
//!   and memory stays within [`Limits`]. A participant that has stood, or heard within 2.5 H of a
//!   leader, reports no vacancy, unless that was taken back since or that lease is known to be
//!   over.
//!
//! # Model
//!
//! | | assumed for (a) to (c) | not assumed for (d) |
//! |---|---|---|
//! | bus | what is published reaches all connected subscribers, its publisher included; what one publishes, in its order | may lose, delay, repeat, reorder; each part of a partition may have its own |
//! | wall clocks | each within K of true time, so two within 2K | may be wrong, and step at any time |
//! | CLOCK_BOOTTIME | runs at 1 ± ρ, counts suspend | the same |
//! | processes | | may stop at any point, and begin again as another participant |
//! | participants | go by the same H, L and K, and follow the protocol | the same |
//!
//! # States
//!
//! The states of one process in one election:
//!
//! ```text
//!  campaign   listening        L + K      waiting        best of the eligible,
//! ─────────> (answers, does ───────────> (calls) <──┐    no live claim,
//!             not call)                   │  ^      │    a valid round announced
//!                                         │  │      │ not back in H/2, or
//!             held off ───────────────────┼──┘      │ after another claim:
//!             L + K  ^    a void round    │         │ resigned
//!                    └────────────────────┤         │
//!                                         └──────> granted: E = now + L
//!                                                   │ own claim heard
//!     over <──────────────────────────────────── leading <──┐ L/2 left, still the best,
//!            E − K − H: expired, and handed over    │       │ not beaten: E = now + L,
//!            beaten, and yields: superseded         └───────┘ own claim heard
//!            resigned; each with a tombstone
//! ```
//!
//! # Messages
//!
//! | message | from | carries |
//! |---|---|---|
//! | [`Call`] | candidates past their initial wait, once a heartbeat | round, and for each election whether its sender is eligible, a digest, claims, tombstones |
//! | [`Reply`] | all that take part, to a call or a question | which rounds it answers, the same of each election asked about |
//! | [`Resign`] | one that led | tombstones, and the successor by name |
//! | [`Ask`] | observers, once a heartbeat | round, elections |
//!
//! Each begins with a [`Header`]. A holder repeats its claim in each call; others send a
//! [digest](Digest), and the claim that they follow only after they heard another digest. A reply
//! is sent at once, or an eighth of a heartbeat after the last one, for the calls since, at most
//! 32, and then for questions. A participant that called in its own round has said everything to
//! all: its reply names only elections in which a caller follows another claim, and those that an
//! observer asks about. Questions have no part in the judgement of calls: the round of a question
//! makes no call late, an answer to it shows no participant to others, and no newcomer refuses to
//! start because of it. Calls and questions of all elections go together, split below
//! [`PACKET_BYTES_MAX`] and the server's `max_payload`.
//!
//! With [`Callers::Few`] most participants are silent. A silent participant listens, and calls when
//! it has heard fewer better callers than that for 3H; while the seat stays vacant it counts only
//! callers that could lead. Holders answer, and the best: at least three, so that each has two
//! other clocks to compare its own with, and up to a fourth of a heartbeat late, so that others
//! need not.
//!
//! # Timers
//!
//! | timer | default | why |
//! |---|---|---|
//! | H, a round | 1 s | the election follows the call by one heartbeat |
//! | H/2, a round trip | 500 ms | an own call that comes back later proves nothing |
//! | 2H: a round is too old | 2 s | the process was stopped, and has not heard what came meanwhile |
//! | L, a lease | 10 s | [`Config::lease`] |
//! | L + K, listening | 11 s | every claim that was made before is over, or was heard |
//! | L + K, held off | 11 s | the same, after a void round |
//! | L/2 left: renewal | 5 s | two attempts, and the stop, fit before E − K |
//! | E − K − H: the holder stops | 8 s after the grant | a hand-over is heard before others may stand |
//! | E + K: others believe no more | 11 s after | the holder's clock may be slow, theirs fast |
//! | E + 2K: a tombstone goes | | no claim of that term is believed any more |
//! | 2.5 H: present | 2.5 s | two calls in a row may be lost |
//! | 3 H: a caller, of few | 3 s | |
//! | up to H/4: an answer, of few | 250 ms | however many there are, few answer at once |
//! | k·(2H + 2K + 2ρ·(L + K)): the k-th best stands | 4.02 s | the better ones have had a round, by any clock, since they were heard |
//! | H/8: between replies | 125 ms | N calls are answered by at most nine replies |
//! | L + 4K + 4H: an election is forgotten | 18 s | its tombstones are carried so long |
//!
//! # Rulings
//!
//! 1. A participant grants and renews only its own lease; one that finds another best waits. Only
//!    [eligible](Entry::eligible) ones are sorted, and one stands only after a full valid round in
//!    which it announced that it is eligible.
//! 2. A leader renews when L/2 or less remains, if it is the best of the eligible heard in the last
//!    2.5 H and is not *beaten*: it has heard first-hand, in this term, of another live claim that
//!    was greater than its own by (later E, lower rank), and since then no resignation has left it
//!    the greatest. The own claim is the latest that the leader has published, and goes on to
//!    publish, also if that renewal had no effect: if two hear of each other, one goes on. A leader
//!    that does not renew stops at E − K − H and hands over to the best of the eligible; a
//!    hand-over counts once, and only for that leader's current claim. L ≥ 2·(3H + 2K).
//! 3. The holder stops K before E, the others wait until K after it. E travels in wall time; the
//!    holder's end is fixed in CLOCK_BOOTTIME when it is granted, that of others when they hear
//!    it, and moves only later, while its leader repeats it. A renewal whose E is not later is not
//!    made.
//! 4. A claim with E beyond now + L + 2K is dropped. A process whose clock, as it is when it would
//!    grant or renew, differs by more than 2K from more than half of at least two others that
//!    answered its round is not eligible and does not renew; nor does one whose clock has moved,
//!    against CLOCK_BOOTTIME, away from that of the only other, or has stepped by more than K and
//!    is not answered in fewer of its rounds than make a lease. A process that need not call, and
//!    knows of one other only, calls once a lease, to be compared. A relayed claim has the E that
//!    its leader published, never replaces a claim that was heard first-hand, hides nothing that
//!    its leader says itself, and beats no leader.
//! 5. A process leads only by its own view. "Me" is (id, incarnation, term).
//! 6. A reply belongs to its round. A round is void unless the own call was heard within H/2, and
//!    the round ended within 2H; a void round elects and renews nothing. Malformed, oversized and
//!    foreign packets are dropped and counted. A newcomer with other times than those that take
//!    part refuses to start, 3H/2 after it heard of that, unless it has heard of a participant with
//!    its own times; packets older than 2K + H show nothing. Others report once that there are two
//!    settings. The k-th best stands k·(2H + 2K + 2ρ·(L + K)) after it could have, but for those
//!    that go before it; when those change, it waits anew.
//! 7. A clean stop stops first and then resigns. The tombstone is carried in calls and replies
//!    until E + 2K, and ends the known claim also where there is no room to remember the tombstone.
//!    Others know when the own resignation has come back. A leader that stands again is announced
//!    again first; a candidate that gave up before it stood need not be.
//! 8. A grant or a renewal takes effect when its own claim is heard, within H/2 and before another
//!    live claim. After a void round one that does not lead is held off for L + K. A reconnection
//!    keeps identity, tie-break and round; an initial wait that was interrupted begins anew.
//! 9. A process has one call and one reply for all its elections, split into parts that each stand
//!    alone; waits go by (process, election). No reply repeats what a call has said to all. With
//!    few callers a participant calls if fewer better ones did, or it leads or stands; and answers
//!    if it has led, or fewer better ones speak.
//!
//! # The sentences of the text
//!
//! Each has a test, `tests/allcall/source.rs`, that begins with its number.
//!
//! | | the text says | here |
//! |---|---|---|
//! | S1 | heartbeat 1 s, lease 10 s, max clock skew 1 s | the defaults; `L ≥ 2·(3H + 2K)` is checked |
//! | S2 | a failed leader is not replaced before lease + skew | `election/claims.rs` |
//! | S3 | random numbers break ties | [`Rank`] |
//! | S4 | the lower rank is preferred | `election/precedence.rs` |
//! | S5 | the later unexpired lease, then the lower rank | `election/claims.rs`; the beaten leader: `algorithm.rs` |
//! | S6 | no calls for lease + skew after joining | so, for each election (ruling 9) |
//! | S7 | but answers, and learning | so |
//! | S8 | a call has (lease, rank, id) of the leader as its sender sees it | holders; others a digest of it (ruling 9) |
//! | S9 | what is learned is monotone | so; what is relayed replaces nothing heard first-hand (ruling 4) |
//! | S10 | calls every heartbeat until shut down | so; with [`Callers::Few`] only some |
//! | S11 | the election is local, one heartbeat after the call | so; a void round elects nothing (ruling 6) |
//! | S12 | the best respondent is marked as leader with a lease from now | only by itself, and only if [eligible](Entry::eligible) (ruling 1) |
//! | S13 | which is broadcast with the next call | so; it takes effect when that is heard (ruling 8) |
//! | S14 | a claim with a shorter lease is rejected: leaders go on until the end of their term | so; they renew while they are the best (ruling 2) |
//! | S15 | calls and replies are broadcast, with rank and id | so; one reply may answer several calls |
//! | S16 | after a heal two lead for at most a term | at most H + d, or L − K + d with `serve-out` |
//! | S17 | with one live node a leader within a term | L + 3K + 2H, in true time |
//! | S18 | more than one leader is possible | [what is not guaranteed](#what-is-not-guaranteed) |
//! | S19 | a leader after lease + skew | + 2H: one to announce, one to elect, and up to a third if the process calls already |
//! | S20 | any number of nodes | so |
//!
//! # Where this is not the text
//!
//! - *A leader grants its own lease* (ruling 1), where the text lets each participant mark the
//!   best one's. Two that disagree who is best would follow two leaders neither of whom knows.
//! - *A handle always ends at E − K − H*, where ruling 2 lets one that renews go on to E − K: the
//!   end of a handle never moves back, and whether a renewal succeeds is not known before
//!   (`docs/decisions/allcall.md`).
//! - *Spans are corrected for drift*: the holder's is shortened by ρ, that of others lengthened.
//!   K bounds wall clocks; what is waited for is CLOCK_BOOTTIME.
//! - *A claim that its sender has not heard itself beats no leader* (rulings 2 and 8): of two that
//!   stand at once the later one hears the earlier claim first and resigns. If the earlier one
//!   yielded to it, both would, heartbeat after heartbeat. Others do not relay such a claim, and
//!   observers do not hear of it; nor do they hear that the seat is vacant, as the sender may have
//!   heard the claim by now.
//! - *A clock is off beyond 2K*, and not beyond 2K + H (ruling 4): the call and its answer bracket
//!   the instant at which the other clock was read, so that nothing has to be added for it. Where
//!   two clocks differ the ruling lets both processes go on; here the process whose clock has moved
//!   knows that, and stops.
//! - *A participant that resigned is not waited for*: a tombstone ends its presence until it is
//!   heard again.
//! - *With `serve-out` the best rank leads alone within 2L − K + H + 3d* of a heal, and not
//!   within L + K + 3H: the one that serves out may have renewed just before, and renew once
//!   more before it hears of the better one.
//! - *Promise (a) on several servers is about participants that do at once what is due*: one that
//!   is stopped between hearing and acting may be overtaken by what went another way.
//! - *`vacant` takes L + K of listening*, or the word of a candidate that has listened so long,
//!   and not one round: a leader that is stopped answers no round, and leads.
//!
//! # Invariants
//!
//! - **A1** A claim is raised only for an E whose own call was heard within H/2 of its send, and
//!   only until E − K − H.
//! - **A2** The end of a handle moves later or the handle is over; no wall clock moves it.
//! - **A3** Between the grant that is lost and the next one of the same process its tombstone is
//!   published.
//! - **A4** What is kept of another's claim ends at the E that it published itself, plus K.
//! - **A5** A packet changes only the elections that it names.
//! - **A6** An observer changes nothing at others, nor does a client that may only ask.
//! - **A7** After a timeout nothing is left that was due.
//!
//! # What a scenario must offer
//!
//! A bus that hands each packet to all of its component, its sender included, in one order or,
//! beyond (a), in any; components that split and heal; a client that loses its connection and says
//! so, or does not, and one that keeps what is published meanwhile; wall clocks up to K from true
//! time, and some beyond it, that step either way; processes that stop and go on; an application
//! that campaigns again after each loss. Loss and nodes that drop off the bus belong into most
//! worlds: half of the rulings show only there.

mod admission;
mod algorithm;
mod batch;
mod config;
mod context;
mod election;
mod event;
mod identity;
mod message;
mod node;
mod peers;
mod replies;
mod round;
mod words;
mod wrong_clock;

pub use config::{
    Callers, CallersError, Checked, Config, ConfigError, Limits, OnConflict, TooShort,
};
pub use event::{Event, Ignored, OwnEvent};
pub use identity::{Participant, Rank};
pub use message::*;
pub use node::Allcall;
pub use words::{Bus, Command, Effect, Start, Words};
