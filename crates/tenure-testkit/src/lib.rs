//! Suites and tools for the tests of every protocol. Never shipped.
//!
//! # The part of a protocol
//!
//! Each suite needs one trait, and one line makes its tests.
//!
//! | suite | the protocol says | feature |
//! |---|---|---|
//! | [`contract!`]: what every core promises | [`contract::Subject`]: how a node is made and started, who receives a message, any command, any hostile message; [`contract::Packets`], if messages travel as packets | |
//! | [`mod@stage`]: stories, in true time | [`stage::Scene`]: its cores, how a directory takes a record, the letters of a message, checks of effects | |
//! | [`conversations::recorded`]: stories as golden texts | the record of a story | |
//! | `handles!`: what the handles of every driver do | `handles::Group`: an election of a participant, how a participant closes; if possible, how leaderships lose their basis | `handles` |
//! | `facts::run`: what safety rests on in a service of others | `facts::Stage`: servers of the oldest and the newest version; sentences | `facts` |
//! | `processes::rounds`: real processes, real faults, one judge | `processes::Deployment`: its nodes, started, stopped and killed; what a runner is given; the network; the faults it knows | `processes` |
//!
//! The module of a protocol has its deployment. The module also has a generator of messages, such
//! as [`voter::arbitrary`], if these test both the core and a wire format.
//!
//! Without a feature this crate needs only `tenure-core`, so that it builds quickly for the tests
//! of cores.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what went wrong")]

pub mod allcall;
mod arbitrary;
mod clock;
pub mod contract;
pub mod conversations;
#[cfg(feature = "processes")]
pub mod etcd;
#[cfg(feature = "facts")]
pub mod facts;
mod handle;
#[cfg(feature = "handles")]
pub mod handles;
#[cfg(feature = "processes")]
pub mod nele;
#[cfg(feature = "processes")]
pub mod nerio;
#[cfg(feature = "processes")]
pub mod processes;
mod rng;
pub mod stage;
pub mod voter;

pub use clock::Clock;
pub use handle::{handle, handle_at};
pub use rng::Rng;
