//! NELE: leaders that emerge from the owners of the partitions of a shared ledger.
//!
//! Processes are consumers of one topic, in a group whose coordinator gives each partition to at
//! most one of them. Each process writes a short record to every partition again and again, and
//! leads by the records that it reads. The owner of a partition reads all its records, and leads
//! the roles that belong to that partition. No process needs to know the number of processes or of
//! roles.
//!
//! Source: Emil Koutanov, *Non-Exclusive Leader Emergence in Highly Available Systems* (first
//! revision). "The text" is this source throughout; "the later NELI" is its author's later
//! protocol. Where these are wrong or silent a *ruling* decides; rulings are numbered
//! [below](#rulings). The ledger is an interface, which Apache Kafka can serve. The words offset,
//! leader epoch and rebalance are Kafka's.
//!
//! M is the number of [partitions](Config::partitions), T the setting
//! [`takeover`](Config::takeover), S the [session timeout](Config::session_timeout), R the [poll
//! interval](Config::max_poll_interval), G the [grace period](Config::grace_period) after a claim,
//! ρ the [drift](Config::drift). V is the time of the last record of a partition.
//!
//! # What is not guaranteed
//!
//! - **One leader, in `at_least_one`.** While a partition changes hands its roles have two leaders,
//!   for up to T after the old leader hears of its loss. A leader that is cut off from its
//!   coordinator, but not from the partition, leads as long as it reads. There is no fence.
//! - **A leader at every moment, in `at_most_one`.** While a partition changes hands its roles have
//!   no leader. After a crash this takes the session timeout, a rebalance, and G.
//! - **A leader after a crash, in `at_least_one`,** before the partition has a new owner that has
//!   read a record. This takes up to [`Config::handover`], which is less than T. While the old
//!   owner lives and reads there is no gap.
//! - **A leader that works.** A leader owns a partition, and reads; no process checks whether the
//!   leader can do its work. A second group gives a second chance.
//! - **Safety with a log that loses acknowledged records.** A truncated log (unclean election, one
//!   replica) forgets a claim, and two processes may then lead for up to T in `at_most_one`. The
//!   fences of these processes are in order all the same.
//! - **Safety against participants that lie.** Each client that may write to the topic takes part.
//! - **A role whose owner cannot read its partition, or cannot write to it.** The process stays the
//!   owner as long as its heartbeats reach its coordinator. Its application hears of the obstacle.
//! - **A role for which its owner does not stand.** A partition cannot be given back alone. The
//!   owner reports [which roles are unfilled](OwnEvent::Unfilled).
//! - **Two groups on one topic** share the fate of each partition: while no broker leads a
//!   partition, its roles have no leader in either group.
//!
//! # Guarantees
//!
//! - **(a)** `at_most_one`: at most one process of a group leads a role at any time, if clocks
//!   drift by at most ρ and acknowledged records stay. This holds however long a process is
//!   stopped, for any behaviour of the coordinator and any delay.
//! - **(b)** `at_most_one`: [fences](Config::fence_base) grow in the order in which leaders take
//!   office, also across a truncation, and each is used once. `fence = (fence_base + leader epoch
//!   of the claim)·2⁴⁰ + its offset`.
//! - **(c)** `at_least_one`: a role keeps a leader while its partition moves away from a process
//!   that lives, and reads the partition to the end.
//! - **(d)** `at_least_one`: a process leads no longer than T after it has heard of its loss.
//! - **(e)** Even if records are lost, late or repeated, no process leads longer than T, by its own
//!   clock, after the last news of its partition. This holds even if its driver does not poll.
//!   Memory stays within [`Limits`].
//!
//! # Model
//!
//! | | assumed for safety in `at_most_one` | assumed for progress |
//! |---|---|---|
//! | log of a partition | append-only, one order for all readers, read or acknowledged records stay | can be written and read |
//! | coordinator | nothing: a partition may be assigned to two processes for any time | assigns each partition to a process that polls |
//! | clocks | CLOCK_BOOTTIME runs at 1 ± ρ and counts suspend; no wall time anywhere | |
//! | processes | may stop at any point and go on, or begin again as another process | poll within R |
//! | settings | the same group, M and [terms](Terms); after a record of a process with a longer T, claimants wait for that T | |
//!
//! # Roles, partitions, elections
//!
//! A process stands for any number of roles of one [`Config::election`], which is `NAME` here. Role
//! j is the election `NAME/j`, and partition j mod M decides on it. The campaign for the first role
//! joins the group. The process leaves the group when its last role was resigned, or was lost and
//! no new campaign begins soon. The coordinator hears of no other campaign. The roles of a
//! partition are won together, and lost together.
//!
//! # What a driver owes
//!
//! Beside [the contract](crate::contract), in the order of a process's life:
//!
//! 1. Before the core starts: create or check the topic, and find M and the ids of topic and
//!    cluster ([`Start::topic`]). [`Config::group_id`] is the group, [`Config::retention`] the
//!    least retention.
//! 2. [`Request::Join`]: subscribe. Number each callback of the client about partitions, and report
//!    a [`Rebalance`]: first the revoked or lost partitions, then the assigned ones. Report the
//!    first rebalance after a join even if it assigns nothing. Assign a new partition paused:
//!    nothing is fetched before step 4.
//! 3. A revocation: wait for [`Request::GiveBack`] with its number before the callback returns, but
//!    return within R. The request is among the effects of that very report. A loss: wait for
//!    nothing. Callbacks never wait for an application.
//! 4. [`Request::Read`]: look up the end of the partition, *after* the request, go there, and
//!    report the [`Position`](Report::Position). Hand on the records from there as
//!    [`Records`](Report::Records) with that [`Reading`], in order, each once. Hand on no record of
//!    this reading before the position, and no record of an earlier reading after the position.
//!    Drop the request if the assignment is over. Report an interrupted reading as
//!    [`Broken`](Report::Broken), and never reset it to another offset. Records that consumers do
//!    not see, such as control records, look like missing ones: do not write to the topic in
//!    transactions.
//! 5. A reading without a rebalance ([`RebalanceId::NONE`]) is for observers: read the partition
//!    with a consumer outside the group. The next such reading replaces it, and [`Request::Stop`]
//!    ends it.
//! 6. [`Request::Publish`]: hand the record to the producer at once. A record that is held back may
//!    be appended late, which costs leaderships and never brings a second leader. Report
//!    [`Published`](Report::Published) once for each claim. For other records report each failure,
//!    and the first success after a failure.
//! 7. [`Request::Leave`]: close the consumer, and report [`Left`](Report::Left) when it is closed,
//!    or closes too slowly. Report no rebalance of that membership after that.
//! 8. [`Topic`](Report::Topic) when metadata are read again, and before each
//!    [`Position`](Report::Position) of a rebalance, so that no process claims a partition of
//!    another topic.
//!
//! ```text
//!     application          core                                  driver
//!  campaign NAME/3 ──────> join ─────────────────────────────────> subscribe
//!                          <────────── rebalance 1, assigned: 3 ── assign, paused
//!                          read partition 3 from its end ────────> end, seek, resume
//!                          <──────────── partition 3 ends at 70 ──
//!                          publish on partition 3 claim #8 ──────> produce
//!                          <──── 70: beat of b; 71: claim #8 ───── poll
//!                          (G passes; beats are published and read back)
//!  elected, fence <─────── claim NAME/3 until …
//!                          <───── rebalance 2, to be revoked: 3 ── callback
//!  ended <──────────────── no claim NAME/3; give back, 2 ────────> callback returns
//! ```
//!
//! # A partition
//!
//! ```text
//!                 assigned            end found
//!  unassigned ──────────────> seeking ──────────> reading
//!      ^                         ^                   │
//!      │ revoked, lost, left     └───── broken ──────┘
//!      └──────────────────────────── of all three
//!
//!  at_least_one, beside that:          at_most_one, while it reads:
//!
//!          a record is read, reading           claim sent   read back at c
//!         ┌───┐                        no claim ─────────> asked ──────> held
//!  over ──┴─> led: until V + T <─┐        ^  ^               │             │ G, and its
//!   ^          │ │               │        │  └── failed, <───┘             │ record sent
//!   │  now =   │ └───────────────┘        │    missed, T over             v within T
//!   └── V + T ─┘  a record is read        │                              led
//!                                         └───────────────────────────────┘
//!                              void: another claim, a jump, broken, unassigned
//! ```
//!
//! # Messages
//!
//! | record | from | to | carries |
//! |---|---|---|---|
//! | [`Kind::Beat`] | every member, once per publish interval and as it leaves, until it leads nothing | every partition | process, machine, group, M, the roles that it stands for and leads |
//! | [`Kind::Claim`] | the new owner of a partition with a role for which it stands (`at_most_one`) | that partition | the same |
//!
//! Each member writes to every partition, so a reader of any partition hears all members and all
//! leaders that can write there. An observer therefore reads one partition: that of the first
//! observed role, or the next one that can be read. An observer that is a member reads the
//! partitions that it owns. A leader that can write only to another partition is not heard, and its
//! role shows as vacant.
//!
//! # Timers
//!
//! | timer | default | why |
//! |---|---|---|
//! | publish interval | 500 ms | no partition dries up, and evidence is younger than T |
//! | T after news | 25 s, 5 s | a leadership ends: T after the last record that was read, or after the send of the leader's last record that it read back |
//! | G = ⌈T·(1 + ρ)/(1 − ρ)⌉ | 5.01 s | a leader whose evidence was sent before the claim was appended has ended |
//! | T after a claim is sent | 5 s | the claim has failed for want of an answer: the owner claims again, after a pause |
//! | publish interval + up to one more | 0.5 to 1 s | a claim is repeated; one of two claimants goes first |
//! | seek, and pauses of 50 ms to 2 s | 1 s | the search for the end of a partition is repeated |
//! | grace + publish interval | 1.5 s | a process that has lost all roles, and does not stand again, leaves the group; after a resignation it leaves at once |
//! | R after leaving | 6 s | the wait for the answer ends |
//! | T without a record, or after a claim | 25 s, 5 s | a partition without records is read anew |
//! | [`Config::silence`] | 2.6 s | a silent process counts as gone; if all are silent, the process asks the ledger again |
//! | [`Config::heard_leads`] | 26 s, 6.1 s | a silent process no longer leads |
//!
//! # Rulings
//!
//! 1. Two modes by name. *`at_least_one`*: while a partition is assigned, each record of any
//!    process refreshes V. The process leads the partition until V + T, assigned or not: an end
//!    with the assignment would leave a gap at every hand-over. T exceeds S + R + 2·heartbeat
//!    interval + publish interval + delivery timeout + fetch wait + seek by any two clocks, and one
//!    S more where the coordinator may fail over. *`at_most_one`*: a fresh V proves only that a
//!    process writes; an earlier owner can still read. So the log decides, and the group only
//!    nominates. An owner publishes a claim and reads on from there. The owner leads ⇔ the
//!    partition is assigned to it, its claim is not void, now < evidence sent + T, and now ≥ claim
//!    read back + G. Evidence is a record of this incarnation, read back after its claim; its T
//!    begins when the record was *sent*. A claim of another process of the group voids the owner's
//!    claim. A missing offset, a broken reading, or an unreadable record of this protocol may hide
//!    such a claim, and also voids the owner's claim. A process has at most one claim under way,
//!    and makes the next after a random pause of one to two publish intervals. Each assignment
//!    needs a new claim.
//! 2. Records that were read under an earlier assignment are dropped. No process waits for a lost
//!    partition; a revoked partition is given back in the step in which its leaderships end.
//! 3. Reading begins at the end that was found after the assignment. A claim is made only then: an
//!    earlier claim would never be read back. Records before that end refresh nothing.
//! 4. Whether a process leads is computed from the clock at every question.
//! 5. M is part of the group's id, and so is the election. A process that sees another M, at the
//!    topic or in a record of its election and group, ends all leaderships for good.
//! 6. The driver checks the topic ([`Config::retention`]).
//! 7. The driver checks the session timeout against the limits of the broker.
//! 8. An assignment adds partitions, and a revocation takes only those that it names: an owner that
//!    keeps a partition is not disturbed. The driver sets the assignment strategy for that. On
//!    request the driver uses an eager strategy: a join then revokes all partitions of all members.
//!    In `at_most_one` each of these partitions then needs a new claim, and G passes.
//! 9. A claim belongs to an election and a group. A record of any group refreshes V. Leaders of two
//!    groups on one host are reported.
//! 10. Guarantee (b) defines the fence. Without an epoch, or if a number is too large, no role is
//!     won. Another topic ends all leaderships for good. A fence is used once: after a leadership
//!     that ran out, or was resigned, a process needs a new claim.
//! 11. A process asks once to leave, and waits a bounded time. In `at_most_one` all leaderships end
//!     before the process leaves the group. In `at_least_one` the process leaves the group first,
//!     and leads on if the request says so.
//!
//! ## Why there is at most one
//!
//! Let N claim at offset c, read the claim back at time b, and lead from b + G on. Let O be another
//! leader.
//!
//! - O's last evidence is above c: O has read c before it, so O's claim is void.
//! - O's last evidence is below c: O sent it before c was appended, and so before b. By its own
//!   clock O ends T after that send: at the latest T/(1 − ρ) after b, in true time. N begins at the
//!   earliest G/(1 + ρ) ≥ T/(1 − ρ) after b.
//!
//! Safety depends on no session, no assignment, and no clock but those of N and O.
//!
//! Fences: let N and N' lead by the claims c < c'. N's evidence is below c', or N's claim is void.
//! N took office within T of that evidence, and by the same sum N' took office later. Offices are
//! taken in the order of claims, in which epochs never fall, nor offsets within an epoch. If a
//! truncation lost c, N' may have claimed before the truncation. N' then claims anew in the later
//! epoch, and G counts from that claim.
//!
//! # The sentences of the text
//!
//! Each sentence has a test in `tests/nele/source.rs`, whose name begins with the sentence's
//! number.
//!
//! | | the text says | here |
//! |---|---|---|
//! | S1 | each role has at least one leader | `at_least_one`: (c); after a crash within [`Config::handover`] |
//! | S2 | processes share the load, and do not overlap under normal conditions | so |
//! | S3 | the number of roles and processes is dynamic | so; a role is a campaign |
//! | S4 | each process writes to all partitions, explicitly, so that none dries up | so, while it is a member or leads |
//! | S5 | a partition is assigned to at most one consumer | not relied on for `at_most_one` |
//! | S6 | V has an element for each partition, at first zero; a record sets it to the time now | so, for records after the assignment (ruling 3) |
//! | S7 | a process leads as long as V_i is younger than T | `at_least_one`; `at_most_one`: ruling 1 |
//! | S8 | a partition that is reassigned is led until T is over | so |
//! | S9 | role j is led through partition j mod M | so |
//! | S10 | more partitions than roles: some processes lead nothing | so |
//! | S11 | M does not change while a group is in operation | checked (ruling 5) |
//! | S12 | T greater than the session timeout: at least one | greater than the sum of ruling 1 |
//! | S13 | T smaller: at most one | wrong: ruling 1 |
//! | S14 | another group on the same topic fills other roles with other processes | so; named by the election |
//! | S15 | two disjoint groups give two leaders, and one leader while a group changes hands | so |
//! | S16 | views may differ, and converge | so |
//!
//! # Where this is not the text
//!
//! - *Exclusive leadership is another protocol* (ruling 1). Let T be below the session timeout, and
//!   an owner be stopped for longer than both. When the owner resumes, it reads records of
//!   milliseconds ago, and leads at the same time as its successor. The later NELI ends leaderships
//!   when a process hears of a loss; a stopped process does not hear.
//! - *Records name leaders.* Records of the text have no content; here identity, group and
//!   leaderships are in headers, so that all processes see the leaders, and the roles without one.
//! - *A process that leads nothing, and stands for nothing, is no member.* A partition of such a
//!   member would have no leader.
//! - *A span x on another clock* counts as ⌈(1 + ρ)·⌈x/(1 − ρ)⌉⌉, which exceeds (1 + 2ρ)·x by
//!   2ρ²·x.
//! - *A leadership that was resigned ends at once*, in `at_least_one`, too: its work has ended.
//!   Only [`Extra::Leave`] keeps the process leading.
//! - *A role that is resigned alone* ends, and its partition stays. The command `tenure` therefore
//!   refuses such a resignation to an operator, but a dropped handle cannot be refused.
//! - *A new claim for a new fence only* needs no further G in the same leader epoch. No other
//!   process has claimed since the first claim, and G is measured from that claim. Such a claim
//!   follows, in `at_most_one`, a leadership that was resigned or ran out while its claim was not
//!   void.
//!
//! # Invariants
//!
//! - **N1** A handle's claim never ends later than T after its news. The time of news is the time
//!   at which a record was read, or the send time of the process's record that was read back.
//! - **N2** In `at_most_one` a handle's claim is raised only with a fence, and only from G after
//!   the claim to the partition was read back. The handle's claim is lowered in the step that voids
//!   the claim to the partition.
//! - **N3** No two leaderships of an election in one process have the same fence.
//! - **N4** In `at_most_one` the effect that gives a partition back follows those that lower its
//!   leaderships.
//! - **N5** No claim is published for a partition that is not assigned and read from a known end.
//! - **N6** An observer publishes nothing and joins no group.
//! - **N7** A timeout leaves no action overdue.
//!
//! # What a scenario must offer
//!
//! Each partition has a log with leader epochs, and readers at positions of their own. Appends come
//! late or not at all, acknowledged or not. The coordinator has memberships, and sessions that
//! begin anew when it fails over. Its rebalances revoke from one member and assign to the next. A
//! member hears of a loss late or never, and the coordinator may not read a member's answers.
//! Brokers come back. Processes stop and go on. An application campaigns for several roles, and
//! again after each loss.

mod command;
mod config;
mod context;
mod emergence;
mod event;
mod identity;
mod message;
mod node;
mod peers;
mod reader;
mod send_times;
mod slot;
mod words;

pub use command::{Command, Extra};
pub use config::{Checked, Config, ConfigError, Limits, Misfit, Mode, Part, Sum, Terms, TooShort};
pub use event::{Event, Ignored, OwnEvent, Void};
pub use identity::{EntryNumber, Membership, Partition, Process, Reading, RebalanceId, Role};
pub use message::{
    Cause, Change, Entry, Kind, LEADS_MAX, Lead, Message, RANGES_MAX, Rebalance, Record, Report,
    Request, RoleRange, Said, Target, TopicId,
};
pub use node::Nele;
pub use peers::Seen;
pub use words::{Effect, Ledger, Start, Words};
