//! ALLCALL in tests: packets that are drawn, and its deployment on NATS.

pub mod arbitrary;
#[cfg(feature = "processes")]
mod deployment;

#[cfg(feature = "processes")]
pub use deployment::Nats;
