//! Nerio: quorum leases with ordered edicts.

mod agenda;
mod candidate;
mod command;
pub mod config;
mod event;
mod grantor;
mod identity;
mod message;
mod node;
mod observer;
pub mod quorum;
mod rank;
mod record;
mod rule;
mod timestamp;
mod trips;
pub mod wire;

pub use command::Command;
pub use config::{Checked, Config, ConfigError, Limits, Member};
pub use event::{End, Event, Ignored, LeaderView, TransferFailure, View};
pub use grantor::{Kept, Memory};
pub use identity::{Boot, Inc, Instance, Stamp, Who};
pub use message::*;
pub use node::{Effect, Nerio, Start};
pub use quorum::{MemberSet, QuorumError, QuorumTextError, Quorums};
pub use record::{GrantRecord, Record, Tenancy};
#[cfg(tenure_planted)]
pub use rule::planted;
pub use timestamp::{EdictTimestamp, Incomparable, QuorumTimestamp};
