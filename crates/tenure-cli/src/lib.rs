//! The command `tenure`: its settings, its work, and its exit codes.
//!
//! The arguments ([`args`]), the `TENURE_*` variables ([`environment`]) and a TOML file
//! ([`settings::file`]) are layers ([`protocol::layers`]) over one table of settings
//! ([`settings::table`]). [`commands::read`] turns these layers into the work of one command, or
//! into a [`Failure`] that names the origin, the value, the rule and the fix.
//! [`commands::carry_out`] does that work, and [`exit`] lists all its possible ends. Each protocol
//! has one module in [`protocol`].
//!
//! The crate is a library so that tests reach inside, and so that other programs start the command
//! with more protocols. `examples/beacon` does this with [`main`].

pub mod commands;
pub mod control;
pub mod environment;
pub mod exit;
mod explain;
pub mod failure;
pub mod invocation;
mod manual;
mod near;
pub mod output;
mod program;
pub mod protocol;
mod service_manager;
pub mod settings;
mod stderr;

pub use exit::Exit;
pub use failure::Failure;
pub use invocation::args;
pub use program::main;
