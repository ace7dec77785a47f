//! Nerio: quorum leases with ordered edicts.

pub mod config;
pub mod identity;
pub mod quorum;
pub mod record;

pub use config::{Checked, Config, ConfigError, Limits, Member};
pub use identity::{Boot, Inc, Instance, Stamp, Who};
pub use quorum::{MemberSet, QuorumError, QuorumTextError, Quorums};
pub use record::{GrantRecord, Record};
