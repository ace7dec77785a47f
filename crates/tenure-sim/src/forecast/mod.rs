//! Forecasts of what given settings will give: the real core, run for many hours in a made-up
//! network.
//!
//! ```text
//! Question ──► stretches of calendar time ──┐          run       what happens by itself
//!          ──► drills, one failure each ────┼─► Figures ──► Answer
//!          ──► the same with other leases ──┘          advice    what to set instead
//! ```
//!
//! # The limits of a forecast
//!
//! - Everything a node does is the real [`Nerio`](tenure_core::nerio::Nerio) core: all nodes are
//!   grantors and campaign in one election. Every renewal of the leader is run, message by
//!   message.
//! - Candidates that only wait refresh their parked requests every R, which changes nothing while
//!   the holder's grants live. Their timers sleep while the leader has led for two leases, has the
//!   grants of all nodes with more than half of each left, and no crash or hand-over is near. The
//!   timers wake when less is left of any grant, or a lease before a planned event, and stay awake
//!   until the cluster has healed. Messages a second are counted only while all nodes are awake.
//!   With [`Question::awake`] no node sleeps, to compare.
//! - The hours are run as independent stretches, each with a fresh cluster, so that they run on all
//!   cores; the answer does not depend on the number of cores. Crashes are rare in calendar time,
//!   so failovers are also measured in *drills*. In a drill the leader is killed again and again at
//!   random moments, and is away for twenty leases at most; all nodes are awake, and the network
//!   only loses and delays messages.
//! - One-way delays are independent of each other; a real network stays slow for a while. Loss is
//!   per datagram, in steps of 1/65,536. Clocks run anywhere within ±ρ, constantly.

mod advice;
mod answer;
mod book;
mod cluster;
mod drill;
mod figures;
mod question;
mod run;
mod stretch;
mod trips;

#[cfg(test)]
mod tests;

pub use answer::{Advice, Answer, Availability, Effort, Needless, Note, Trial};
pub use book::{Cause, Traffic, Vacancy};
pub use drill::Drill;
pub use figures::{Figures, Spread};
pub use question::{Question, Unanswerable};
pub use run::forecast;
pub use trips::{RoundTrips, TripsError};
