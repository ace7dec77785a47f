//! The voter: the machine that the module document describes.
//!
//! `protocol.rs` tells the protocol from top to bottom. Each file below calls only files above it
//! in this table, and the parts of a voter, which are beside this folder: `round.rs`, `lease.rs`,
//! `known.rs`, `founding.rs`, `watch.rs` and others do not call each other.
//!
//! | file | |
//! |---|---|
//! | `state.rs` | `Voter`: its parts, and the questions that need several of them |
//! | `say.rs` | requests, answers, heartbeats, events |
//! | `namesake.rs` | other processes with the id of this voter |
//! | `obstacle.rs`, `show.rs` | reports to the application: waits, views |
//! | `discover.rs` | seeds, lists of others, voters that are dropped |
//! | `found.rs`, `change.rs` | the electorate: founded, taken from others, changed |
//! | `meet.rs` | the messages of voters that count |
//! | `bind.rs` | promises: whether a voter may promise, and their worth to a leader |
//! | `leave.rs` | how a ballot or a leadership ends |
//! | `available.rs` | leaders that hear each other, with `available` |
//! | `protocol.rs` | from the start of a process to the acknowledgement of a lease |
//! | `answer.rs`, `request.rs` | messages of others, each to its place in the protocol |
//! | `input.rs` | the contract: inputs, deadlines, writes |

mod answer;
mod available;
mod bind;
mod change;
mod discover;
mod found;
mod input;
mod leave;
mod meet;
mod namesake;
mod obstacle;
mod protocol;
mod request;
mod say;
mod show;
mod state;

pub use state::Voter;
