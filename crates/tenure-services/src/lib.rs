//! Fetches, starts and stops the real services of tests and benchmarks. Never shipped.
//!
//! Each service has a module ([`etcd`], [`kafka`], [`nats`]). `install` gets a version of the
//! service into the user's cache of services. `Cluster` runs servers of the service on free ports,
//! with their data in a temporary folder. A drop of the `Cluster` ends the servers by pid.
//! [`relay::Relay`] stands between two programs, and can be cut. [`go::program`] builds a test's
//! own Go program, and [`addresses`] gives addresses to a test's own servers. [`monitoring`] and
//! [`chromium`] find tools, and [`build_tools`] the build tools of client libraries. `cargo xtask
//! services` installs and starts each [`Service`] in [`ALL`] by hand.
//!
//! Processes end with the process that started them, even after kill -9: `setpriv --pdeathsig KILL`
//! starts each of them, from one thread that lives as long as this process ([`Process`] says why).

pub mod etcd;
pub mod go;
pub mod kafka;
pub mod monitoring;
pub mod nats;
pub mod relay;
pub mod resources;

mod browser;
mod daemon;
mod debian;
mod error;
mod maven;
mod musl;
mod place;
mod port;
mod process;
mod service;
mod tool;

pub use browser::chromium;
pub use daemon::Daemon;
pub use error::Error;
pub use kafka::{Sharing, share};
pub use musl::musl_tools;
pub use port::{addresses, reserve};
pub use process::Process;
pub use service::{Service, Started, Version, build_tools};
pub use tool::last_lines;

pub static ALL: [&Service; 3] = [&etcd::SERVICE, &nats::SERVICE, &kafka::SERVICE];
