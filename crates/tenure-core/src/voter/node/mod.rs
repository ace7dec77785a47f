//! The voter: the state machine that the module document describes.
//!
//! `protocol.rs` tells the protocol from top to bottom. Each file below calls only files above it
//! in this table, and the parts of a voter, which do not call each other.
//!
//! | file | |
//! |---|---|
//! | `state.rs` | `Voter`: its parts, and the questions that need several of them |
//! | `send.rs` | requests, answers, heartbeats, events |
//! | `namesake.rs` | other processes with the id of this voter |
//! | `obstacle.rs`, `view.rs` | reports to the application: waits, views |
//! | `discover.rs` | seeds, lists of others, voters that are dropped |
//! | `founding.rs`, `change.rs` | the electorate: founded, adopted from others, changed |
//! | `admission.rs` | the messages of voters that count |
//! | `promise_rules.rs` | promises: whether a voter may promise, and their worth to a leader |
//! | `leave.rs` | the end of a ballot or a leadership |
//! | `available.rs` | leaders that hear each other, with `available` |
//! | `protocol.rs` | from the start of a process to the acknowledgement of a lease |
//! | `answer.rs`, `request.rs` | the handling of each answer and each request |
//! | `input.rs` | the contract: inputs, deadlines, writes |
//!
//! The parts of a voter, beside this folder:
//!
//! | file | |
//! |---|---|
//! | `ballots.rs` | a ballot: votes, results, the winner or a tie, which `Voter::count` draws again |
//! | `lease.rs` | this voter's candidacy: a campaign, and a lease that rests on promises |
//! | `promise.rs` | this voter's promise to endorse no other voter |
//! | `known.rs`, `accepted_set.rs` | the other voters; the first electorate |
//! | `known_leader.rs` | the leader that this voter knows of |
//! | `known_namesake.rs` | another process with this voter's id |
//! | `starter.rs`, `free.rs` | when this voter starts a ballot, and whether enough voters are free |
//! | `memory.rs`, `writes.rs` | the durable state, and whether it is written |
//! | `beat.rs`, `calls.rs`, `draws.rs` | heartbeats, requests without an answer yet, random numbers |

mod admission;
mod answer;
mod available;
mod change;
mod discover;
mod founding;
mod input;
mod leave;
mod namesake;
mod obstacle;
mod promise_rules;
mod protocol;
mod request;
mod send;
mod state;
mod view;

pub use state::Voter;
