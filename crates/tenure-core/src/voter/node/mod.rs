//! One voter: the machine that the module document describes.
//!
//! `protocol.rs` tells the protocol from top to bottom. Each file below calls only files above it
//! in this table, and the parts of a voter, which are beside this folder: `round.rs`, `lease.rs`,
//! `known.rs`, `founding.rs`, `watch.rs` and others know nothing of each other's business.
//!
//! | file | |
//! |---|---|
//! | `state.rs` | `Voter`: its parts, and the questions that need several of them |
//! | `send.rs` | requests, answers, heartbeats, events |
//! | `namesake.rs` | other processes with the id of this voter |
//! | `obstacle.rs`, `view.rs` | what the application is told: waits, views |
//! | `discover.rs` | seeds, lists of others, voters that are dropped |
//! | `founding.rs`, `change.rs` | the electorate: founded, taken from others, changed |
//! | `admission.rs` | which messages of voters count |
//! | `promise_rules.rs` | promises: whether one may be given, and what they are worth |
//! | `leave.rs` | how a ballot or a leadership ends |
//! | `available.rs` | leaders that hear each other, with `available` |
//! | `protocol.rs` | from the start of a process to the acknowledgement of a lease |
//! | `answer.rs`, `request.rs` | messages of others, each to its place in the protocol |
//! | `input.rs` | the contract: inputs, deadlines, writes |

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
