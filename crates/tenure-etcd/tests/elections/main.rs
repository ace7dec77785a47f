//! Elections by the handles, on real servers.

#![expect(clippy::unwrap_used, reason = "it is a test")]

#[path = "../common/mod.rs"]
mod common;

mod failover;
mod handles;
mod leases;
mod names;
mod proxies;
mod restores;
mod values;
