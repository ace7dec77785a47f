//! A process in elections on a bus.
//!
//! Each file uses only files further to the left; [`algorithm`](super::algorithm) goes from the
//! initial wait to the end of a term:
//!
//! ```text
//! times < state < answer < algorithm < other_times, route < input
//! ```

mod answer;
mod input;
mod other_times;
mod route;
mod state;
mod times;

pub use self::state::Allcall;
pub(super) use self::state::ignore;
