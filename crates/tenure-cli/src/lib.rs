//! The command `tenure`: what it reads, what it refuses, and how it ends.
//!
//! One way through: the arguments ([`args`]), the `TENURE_*` variables ([`environment`]) and a
//! TOML file ([`settings::file`]) are layers over one table of settings ([`settings::table`]);
//! [`invocation::read`] turns them into the checked settings of one command, or into a
//! [`Failure`] that names the origin, the value, the rule and the fix; [`commands::dispatch`]
//! carries the command out; [`exit`] lists how it can end. What differs from protocol to protocol
//! is in [`protocol`], one module each.
//!
//! The crate is a library so that the command can be tested from inside, and started with other
//! protocols: [`main`]. Nothing else is meant to depend on it.

pub mod args;
pub mod commands;
pub mod control;
pub mod environment;
pub mod exit;
pub mod failure;
pub mod invocation;
mod near;
pub mod output;
mod program;
pub mod protocol;
mod service_manager;
pub mod settings;
mod stderr;
mod usage;

pub use exit::Exit;
pub use failure::Failure;
pub use program::main;
