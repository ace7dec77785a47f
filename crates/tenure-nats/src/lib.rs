//! Tenure's elections on NATS, a broadcast bus: a leader is always available.
//!
//! Every part of a partitioned system has a leader, and after the heal one leader is left. Servers
//! only pass messages on and store nothing (core subjects, no JetStream): any NATS from 2.9 on will
//! do. A [`Node`] takes part in any number of elections, and hands out the same [`tenure`] handles
//! as the other protocols, of the class [`MayOverlap`](tenure::MayOverlap):
//!
//! ```no_run
//! use tenure_nats::{Config, Login, Node, Options, Pem, Tls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { rank: Some(10), ..Config::new("shop".parse()?, "web-1".parse()?) };
//! let servers = vec!["tls://nats-1:4222".parse()?, "tls://nats-2:4222".parse()?];
//! let options = Options {
//!     tls: Some(Tls { authority: Some(Pem::File("/etc/shop/ca.pem".into())), ..Tls::default() }),
//!     login: Some(Login::Credentials("/etc/shop/web.creds".into())),
//!     ..Options::new(servers)
//! };
//! let nats = Node::builder(config.check()?, options.check()?).start()?;
//!
//! let leadership = nats.election("billing")?.campaign("10.0.0.7:8080").await?;
//! leadership.run(async { /* stopped before the lease ends */ }).await?;
//! nats.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! The protocol, its guarantees and what it does *not* guarantee: [`tenure_core::allcall`]. The
//! [`wire`] has the form of packets, [`Subjects`] their subjects, and [`bus`] the connection, which
//! sends no message late.

pub mod bus;
mod counters;
mod driver;
mod login;
mod node;
mod notice;
mod options;
mod server;
mod subject;
pub mod wire;

pub use bus::{Asks, ConnectError};
pub use counters::Counters;
pub use login::{Login, LoginError};
pub use node::{Builder, Node};
pub use notice::Notice;
pub use options::{CheckedOptions, Options, OptionsError, Tls};
pub use server::Server;
pub use subject::{Kind, PrefixError, SubjectPrefix, Subjects};
pub use tenure::driver::UrlError;
pub use tenure_core::allcall::{Callers, Checked, Config, ConfigError, OnConflict};
pub use tenure_tls::{Identity, Pem, PemError, TlsCause};
