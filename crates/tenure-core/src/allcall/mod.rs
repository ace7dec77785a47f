//! ALLCALL: leased leaders on a broadcast bus.
//!
//! Every participant calls all others once per heartbeat, names the leader that it follows, and
//! hears their answers. The participant with the lowest rank leads for a lease, and renews the
//! lease. When this leader falls silent, the participant with the next rank leads. There is no
//! quorum: each side of a network partition has a leader, and after the partition heals one leader
//! is left.
//!
//! Source: Jason E. Aten, *The ALLCALL leased-leader election algorithm* (2017), called "the text"
//! throughout. Where the text is wrong or silent a *ruling* decides; the rulings are numbered
//! [below](#rulings). `mutants/allcall` breaks the rulings without which two lead, or no leader
//! ever emerges.
//!
//! # What is not guaranteed
//!
//! - **One leader.** In a network partition each side has a leader. If messages are lost, two
//!   leaders may overlap even without a partition.
//! - **A fence.** No number can order leaderships, as the two sides of a partition count apart. So
//!   the handles of this protocol have no fence, and the work of a leader must do no harm when it
//!   is done twice or late.
//! - **Participants that lie.** A forged claim makes leaders yield, and a forged tombstone makes
//!   others stand. Each client that may publish on the subjects of calls, replies and resignations
//!   takes part; permissions of the bus decide which clients may.
//! - **Safety with a clock further than K (`max_clock_skew`) from true time.** The others drop the
//!   claims of such a clock. The process of such a clock notices only when there are at least two
//!   others, or when the clock was right before. If two clocks have always differed, neither
//!   process knows which clock is wrong, and both may lead.
//! - **A leader at every moment.** After a crash the seat is empty until the lease has ended by
//!   every clock.
//!
//! # Guarantees
//!
//! L is the [lease](Config::lease), H the [heartbeat](Config::heartbeat), K the
//! [bound on clock skew](Config::max_clock_skew), E the end of a lease, d the longest delay of a
//! message.
//!
//! - **(a)** While all are connected, nothing is lost and d < H/2, there are never two leaders. If
//!   the bus has several servers, each may deliver messages in another order. Then the guarantee
//!   holds only while no participant is stopped. After a stop two candidates may stand within a
//!   delay of each other, and each may hear its own claim first. Both then lead until they hear the
//!   other claim.
//! - **(b)** After a partition heals there are two leaders for at most H + d with
//!   [`OnConflict::Yield`], if neither is stopped. Within L + K + 3H the best rank leads alone.
//!   With [`OnConflict::ServeOut`] there are two leaders for at most L − K + d, and the best rank
//!   leads alone within 2L − K + H + 3d. While the best rank serves its lease out, the other leader
//!   may renew, and may renew again before the best rank announces itself. A leader that is stopped
//!   hears no claim: its handle holds until E − K − H.
//! - **(c)** Within L + 3K + 2H of the loss of a leader, in true time, another participant leads.
//!   Multiply each span, here and in (b), by (1 + ρ)/(1 − ρ), which is 1.002 with the default.
//!   After a clean stop another participant leads within H and two delays, if the best of the
//!   others calls. A participant that has left or crashed without having led counts as present for
//!   2.5 H. Others wait for that participant until their next round ends: 3.5 H. With few callers
//!   (see *Messages*), once all of them are lost, the next participant has to call for two rounds
//!   first: 3H. (The text says L + K. But the clocks of the old and the new leader may err in
//!   opposite ways, and an election takes a round.)
//! - **(d)** Even if packets are lost, late, repeated or reordered: no handle holds beyond E − K −
//!   H, by the clock of the process that granted the lease. No claim is believed beyond the E that
//!   its leader published. Memory stays within [`Limits`]. A participant that has stood, or has
//!   heard of a leader within 2.5 H, reports no vacancy until the claim is resigned or its lease is
//!   certainly over.
//!
//! # Model
//!
//! | | assumed for (a) to (c) | not assumed for (d) |
//! |---|---|---|
//! | bus | each packet reaches all connected subscribers, its publisher included, in the order of the publisher | may lose, delay, repeat, reorder; each side of a partition may have a bus of its own |
//! | wall clocks | each within K of true time, so two within 2K | may be wrong, and step at any time |
//! | CLOCK_BOOTTIME | runs at 1 ± ρ, counts suspend | the same |
//! | processes | | may stop at any point, and begin again as another participant |
//! | participants | go by the same H, L and K, and follow the protocol | the same |
//!
//! # States
//!
//! The states of a process in one election:
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
//! | [`Call`] | candidates past their initial wait, once per heartbeat | round, and for each election whether its sender is eligible, a digest, claims, tombstones |
//! | [`Reply`] | all participants, to a call or a question | the rounds that it answers, and the same for each election of the question |
//! | [`Resign`] | a former leader | tombstones, and the successor by name |
//! | [`Ask`] | observers, once per heartbeat | round, elections |
//!
//! Each begins with a [`Header`]. A holder repeats its claim in each call. The others send a
//! [digest](Digest) of the claim that they follow, and the claim itself only after they heard
//! another digest. A reply leaves at once, or an eighth of a heartbeat after the last reply. The
//! reply first answers the calls since the last reply, at most 32, and then questions. A
//! participant that calls has named all its elections in its call. Its reply names only elections
//! in which a caller follows another claim, and elections of an observer's question. Questions do
//! not affect calls. The round of a question makes no call late, an answer to a question does not
//! show that its sender is alive, and no newcomer refuses to start because of a question. Calls and
//! questions of all elections go together, split below [`PACKET_BYTES_MAX`] and the server's
//! `max_payload`.
//!
//! With [`Callers::Few`] most participants are silent. A silent participant listens, and calls when
//! it has heard fewer better callers within 3H than the setting says. While the seat stays vacant,
//! the participant counts only callers that could lead. Holders and the best candidates answer, at
//! least three of them, so that each participant can compare its clock with two others. Each
//! candidate waits up to a fourth of a heartbeat before it answers: others then need not answer.
//!
//! # Timers
//!
//! | timer | default | why |
//! |---|---|---|
//! | H, a round | 1 s | the election follows the call by one heartbeat |
//! | H/2, a round trip | 500 ms | a call that comes back later proves nothing |
//! | 2H: a round is too old | 2 s | the process was stopped, and has not heard the packets of that time |
//! | L, a lease | 10 s | [`Config::lease`] |
//! | L + K, listening | 11 s | every earlier claim is over, or was heard |
//! | L + K, held off | 11 s | the same, after a void round |
//! | L/2 left: renewal | 5 s | two attempts, and the stop, fit before E − K |
//! | E − K − H: the holder stops | 8 s after the grant | a hand-over is heard before others may stand |
//! | E + K: others no longer believe | 11 s after | the holder's clock may be slow, theirs fast |
//! | E + 2K: a tombstone goes | | no claim of that term is believed any more |
//! | 2.5 H: present | 2.5 s | two calls in a row may be lost |
//! | 3 H: a caller, of few | 3 s | |
//! | up to H/4: an answer, of few | 250 ms | few of many participants answer at once |
//! | k·(2H + 2K + 2ρ·(L + K)): a candidate with k better ones stands | 4.02 s for k = 1 | each better candidate has had a round, by any clock |
//! | H/8: between replies | 125 ms | N calls are answered by at most nine replies |
//! | L + 4K + 4H: an ended election is forgotten | 18 s | calls repeat its tombstones until then |
//!
//! # Rulings
//!
//! 1. A participant grants and renews only its own lease, and waits if another participant is the
//!    best. Only [eligible](Entry::eligible) candidates are sorted. A candidate stands only after a
//!    full valid round in which it announced that it is eligible, and did not say otherwise later.
//! 2. A leader renews when L/2 or less remains, if it is the best of the eligible heard in the last
//!    2.5 H and is not *beaten*. A leader is beaten once it hears first-hand, in this term, of a
//!    live claim that is greater than its own by (later E, lower rank). The leader is beaten no
//!    longer when a resignation leaves its own claim the greatest. A leader's own claim is the
//!    latest that it published, even if that renewal had no effect. So if two leaders hear of each
//!    other, one of them goes on. A leader that does not renew stops at E − K − H and hands over to
//!    the best of the eligible. A hand-over counts once, and only for that leader's current claim.
//!    L ≥ 2·(3H + 2K).
//! 3. The holder stops K before E, the others wait until K after E. E travels in wall time. The
//!    holder fixes its stop on CLOCK_BOOTTIME at the grant. The others fix the end of their wait
//!    when they hear the claim. While the leader repeats the claim, they may move that end later,
//!    but never earlier. A leader makes no renewal whose E is not later.
//! 4. A claim with E beyond now + L + 2K is dropped. A process whose clock is *off* is not eligible
//!    and does not renew. A process compares its clock at the moment of a grant or renewal, with at
//!    least two other clocks that answered the round. Its clock is off when it differs by more than
//!    2K from more than half of them. With only one other clock, a clock is off when it has moved,
//!    against CLOCK_BOOTTIME, away from the other clock. A clock that has stepped by more than K is
//!    off, too. After a step the clock stays off until others answer, or until its process has
//!    called for the length of a lease without an answer. A process that need not call, and knows
//!    of only one other process, calls once per lease, to compare clocks. A relayed claim has the E
//!    that its leader has published, never replaces or hides a first-hand claim of its leader, and
//!    beats no leader.
//! 5. A process leads only by its own view. A process recognizes its own claim by id, incarnation
//!    and term.
//! 6. A reply belongs to its round. A round is valid only if its caller has heard its own call
//!    within H/2, and the round ended within 2H. Any other round is void: it elects and renews
//!    nothing. Malformed, oversized and foreign packets are dropped and counted. When a newcomer
//!    hears of a participant with other times, it waits 3H/2 for a participant with its own times,
//!    and then refuses to start. Until then the newcomer is not eligible. Packets older than 2K + H
//!    show no times. Participants report once that others have other times. A candidate behind k
//!    better candidates waits k·(2H + 2K + 2ρ·(L + K)) before it stands. When the better candidates
//!    change, it waits anew.
//! 7. At a clean stop the leader stops first and then resigns. Calls and replies repeat the
//!    tombstone until E + 2K. A tombstone ends the known claim even where there is no room to
//!    remember the tombstone. Others count as knowing the end once the leader's resignation has
//!    come back to the leader. A leader that stands again announces itself first. A candidate that
//!    gave up before it stood need not announce itself again, unless it has since answered that it
//!    is not eligible.
//! 8. A grant or a renewal takes effect when its process hears its own claim, within H/2 and before
//!    another live claim. A smaller claim of an ineligible leader stops no renewal. After a
//!    void round a process that does not lead is held off for L + K. A reconnection keeps identity,
//!    tie-break and round; an initial wait that was interrupted begins anew.
//! 9. A process has one call and one reply for all its elections, split into parts that each stand
//!    alone. Each election of a process has waits of its own. No reply repeats the content of a
//!    call. With few callers a participant calls if it leads or stands, or if fewer better
//!    participants call than the setting says. A participant answers if it leads, stands or has
//!    led, or if fewer better participants speak than the setting says; at least three answer.
//!
//! # The sentences of the text
//!
//! Each sentence has a test in `tests/allcall/source.rs`, whose name begins with the sentence's
//! number.
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
//! | S9 | learning is monotone | so; a relayed claim replaces no first-hand one (ruling 4) |
//! | S10 | calls every heartbeat until shut down | so; with [`Callers::Few`] only some |
//! | S11 | the election is local, one heartbeat after the call | so; a void round elects nothing (ruling 6) |
//! | S12 | the best respondent is marked as leader with a lease from now | only by itself, and only if [eligible](Entry::eligible) (ruling 1) |
//! | S13 | the next call broadcasts the lease | so; the lease takes effect when the call is heard (ruling 8) |
//! | S14 | a claim with a shorter lease is rejected: leaders go on until the end of their term | so; they renew while they are the best (ruling 2) |
//! | S15 | calls and replies are broadcast, with rank and id | so; one reply may answer several calls |
//! | S16 | after a heal two lead for at most a term | at most H + d, or L − K + d with `serve-out` |
//! | S17 | with one live node a leader within a term | L + 3K + 2H, in true time |
//! | S18 | more than one leader is possible | [what is not guaranteed](#what-is-not-guaranteed) |
//! | S19 | a leader after lease + skew | + 2H: one round to announce, one to elect, and up to a third if the process calls already |
//! | S20 | any number of nodes | so |
//!
//! # Where this is not the text
//!
//! - *A leader grants its own lease* (ruling 1), where the text lets each participant mark the
//!   lease of the best. Two participants that disagree on the best would follow two leaders, and
//!   neither leader would know that it leads.
//! - *A handle's claim always ends at E − K − H*, but ruling 2 lets a leader that renews go on to E
//!   − K. The end of a claim must never move back, and at E − K − H the renewal may still fail
//!   (`docs/decisions/allcall.md`).
//! - *Spans are corrected for drift*: ρ shortens the holder's span and lengthens those of others. K
//!   bounds wall clocks; all waits are on CLOCK_BOOTTIME.
//! - *A claim that its sender has not heard itself beats no leader* (rulings 2 and 8). If two
//!   candidates stand at once, the later hears the earlier claim first and resigns. If the earlier
//!   candidate yielded as well, neither would lead, heartbeat after heartbeat. Others do not relay
//!   such a claim. Observers hear neither of the claim nor of a vacancy, as the sender may have
//!   heard its claim by now.
//! - *A smaller claim of a beaten leader stops no renewal* (ruling 8): with `serve-out` that leader
//!   repeats its claim until its lease ends. If the other leader calls within a delay of
//!   that call, each of its claims comes back after the smaller claim, and both leaderships would
//!   end.
//! - *A clock is off beyond 2K*, and not beyond 2K + H (ruling 4): the other clock was read between
//!   the call and its answer, so no margin is needed. If there are only two clocks, and they
//!   differ, the text lets both processes go on. Here the process whose clock has moved notices
//!   that, and stops.
//! - *Others wait for no participant that has resigned*: once others hear its tombstone, the
//!   participant counts as absent until they hear it again.
//! - *With `serve-out` the best rank leads alone within 2L − K + H + 3d* of a heal, and not within
//!   L + K + 3H. The other leader may have renewed just before the heal, and may renew once more
//!   before it hears of the better candidate.
//! - *On several servers guarantee (a) needs participants that are not stopped*: between a packet
//!   and the answer of a stopped participant, packets that take another way may arrive first.
//! - *`vacant` takes L + K of listening*, or the statement of a candidate that has listened so
//!   long, with no void round since. A single round is not enough: a stopped leader answers no
//!   round, and leads.
//!
//! # Invariants
//!
//! - **A1** A leader raises a handle's claim for an E only after it has heard, within H/2, its own
//!   call with this E. The claim ends at E − K − H.
//! - **A2** The end of a handle's claim moves only later, until the claim is over; no wall clock
//!   moves it.
//! - **A3** A process publishes the tombstone of a lost grant before its next grant.
//! - **A4** The claim of another participant ends at the E that its leader has published, plus K.
//! - **A5** A packet changes only the elections that it names.
//! - **A6** An observer changes nothing at others, nor does a client that may only ask.
//! - **A7** A timeout leaves no action overdue.
//!
//! # What a scenario must offer
//!
//! A bus hands each packet to all connected clients, its sender included: in one order, or beyond
//! (a) in any order. Partitions begin and heal. A client may lose its connection, with or without
//! notice, and may keep packets that are published meanwhile. Wall clocks are up to K from true
//! time, some are further, and they step either way. Processes stop and go on. An application
//! campaigns again after each loss. Loss and nodes that drop off the bus belong in most worlds:
//! half of the rulings show only there.

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
mod other_rounds;
mod replies;
mod round;
mod skew;
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
