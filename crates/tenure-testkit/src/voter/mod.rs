//! Regional voters in tests: messages that are drawn, and their deployment.

pub mod arbitrary;
#[cfg(feature = "processes")]
mod deployment;

#[cfg(feature = "processes")]
pub use deployment::Voters;
