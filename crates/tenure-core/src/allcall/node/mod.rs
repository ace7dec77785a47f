//! A process in elections on a bus.
//!
//! Each file below uses only files above it in this table.
//!
//! | file | |
//! |---|---|
//! | `times.rs`, `state.rs` | heartbeat, lease and skew of others; `Allcall`: its parts, and the calls into them |
//! | `answer.rs` | rounds and answers for all elections together |
//! | [`algorithm.rs`](super::algorithm) | the algorithm, from the initial wait to the end of a term |
//! | `other_times.rs`, `route.rs` | participants with other times; the handling of each kind of packet |
//! | `input.rs` | the contract: inputs, deadlines |

mod answer;
mod input;
mod other_times;
mod route;
mod state;
mod times;

pub use self::state::Allcall;
pub(super) use self::state::ignore;
