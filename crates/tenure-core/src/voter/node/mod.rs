//! The voter: the state machine that the module document describes.
//!
//! `protocol.rs` tells the protocol from top to bottom. Each file calls only files further to the
//! left, and the parts of a voter beside this folder, which do not call each other:
//!
//! ```text
//! state < send < namesake < obstacle, view < discover < founding, change < admission
//!       < promise_rules < leave < available < protocol < answer, request < input
//! ```

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
