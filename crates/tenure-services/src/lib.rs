//! The real services that tests and benchmarks run against: got, started, stopped. Never shipped.
//!
//! Nothing here is a mock. [`etcd::install`] gets a version of etcd into `target/services` of
//! the workspace, [`etcd::Cluster`] runs some members of it on free ports with their data in a
//! temporary folder, and ends them by pid when it is dropped; [`go::program`] builds a test's own
//! Go program; [`protoc`] finds what `etcd-client` needs to be built. `cargo xtask services` is
//! the same by hand.
//!
//! Processes end with the process that started them, even when that is killed with -9: each is
//! started through `setpriv --pdeathsig KILL`, from one thread that lives as long as the process
//! ([`Process`] says why).

pub mod etcd;
pub mod go;
pub mod protoc;

mod debian;
mod error;
mod place;
mod port;
mod process;
mod tool;

pub use error::Error;
pub use process::Process;
