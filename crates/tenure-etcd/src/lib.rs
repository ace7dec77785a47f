//! Tenure's elections on etcd.
//!
//! Elections share one keyspace with `etcdctl elect` and with Go's `clientv3/concurrency`:
//! candidates of all three contend in one election and agree on the leader. A [`Node`] takes part
//! in any number of elections on one lease, and hands out the same [`tenure`] handles as the other
//! protocols:
//!
//! ```no_run
//! use std::time::Duration;
//! use tenure_etcd::{Config, Credentials, Node, Options, Pem, Tls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config {
//!     namespace: "shop/".to_owned(),
//!     lease: Duration::from_secs(15),
//!     ..Config::default()
//! };
//! let endpoints = vec!["https://etcd-1:2379".parse()?, "https://etcd-2:2379".parse()?];
//! let options = Options {
//!     tls: Some(Tls { authority: Some(Pem::File("/etc/shop/ca.pem".into())), ..Tls::default() }),
//!     credentials: Some(Credentials { user: "billing".into(), password: "secret".into() }),
//!     ..Options::new(endpoints)
//! };
//! let etcd = Node::builder(config.check()?, options.check()?).start()?;
//!
//! // `etcdctl elect shop/billing 10.0.0.9:8080` would wait in the same queue.
//! let leadership = etcd.election("billing")?.campaign("10.0.0.7:8080").await?;
//! leadership.run(async { /* stopped before the lease ends */ }).await?;
//! etcd.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`check()`] finds obstacles before the start: endpoints that cannot be reached, a wrong scheme
//! or password, certificates, permissions, versions of etcd that are too old. The protocol, its
//! guarantees and what it does *not* guarantee: [`tenure_core::etcd`]. The [`wire`] carries
//! requests to etcd.

mod check;
mod counters;
mod driver;
mod endpoint;
mod node;
mod notice;
mod options;
mod version;
pub mod wire;

pub use check::{CheckError, Report, check};
pub use counters::Counters;
pub use endpoint::Endpoint;
pub use node::{Builder, Node, ProclaimError};
pub use notice::Notice;
pub use options::{CheckedOptions, Credentials, Options, OptionsError, Tls};
pub use tenure::driver::UrlError;
pub use tenure_core::etcd::{Checked, Config, ConfigError, LeaseId, OwnEvent};
pub use tenure_tls::{Identity, Pem, PemError};
pub use version::Version;
pub use wire::connect::{ConnectError, Status};
