//! Tenure's elections by random draw, over HTTP between regional voters: the driver.
//!
//! A [`Node`] is one voter of a network that elects one leader, and hands out the same [`tenure`]
//! handles as the other protocols. Their class is [`AtMostOne`](tenure::AtMostOne), with fences, in
//! the mode `majority`, and [`MayOverlap`](tenure::MayOverlap) in `available`.
//!
//! ```no_run
//! use tenure::AtMostOne;
//! use tenure_voter::{Config, Founding, Node, Options, Secrets};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "http://west.example:7001".parse()?;
//! let mut config = Config::new("billing".parse()?, "west".parse()?, url);
//! config.founding = Founding::List(tenure_voter::wire::read_voter_list(
//!     r#"[{"voterId": "east", "voterUrl": "http://east.example:7001"},
//!         {"voterId": "north", "voterUrl": "http://north.example:7001"}]"#,
//! )?);
//! let options = Options {
//!     state: Some("/var/lib/billing".into()),
//!     secrets: Some(Secrets::read("/etc/billing/secret".as_ref())?),
//!     ..Options::new("0.0.0.0:7001".parse()?)
//! };
//! let voter = Node::<AtMostOne>::builder(config.check()?, options.check()?).start()?;
//!
//! let leadership = voter.election("billing")?.campaign("10.0.0.7:8080").await?;
//! println!("fence {}", leadership.fence());
//! leadership.run(async { /* stopped before the lease ends */ }).await?;
//! voter.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! The protocol, its guarantees and what it does *not* guarantee: [`tenure_core::voter`]. The
//! [`wire`] holds the messages, and [`auth`] authenticates their senders.

mod asker;
pub mod auth;
mod client;
mod counters;
mod directory_watch;
mod driver;
mod incoming;
mod node;
mod notice;
mod openapi;
mod operator;
mod options;
mod seeds;
mod server;
mod state;
mod tls;
mod troubles;
pub mod wire;

pub use asker::Asker;
pub use auth::{SecretError, Secrets};
pub use counters::Counters;
pub use node::{Builder, Class, Node, StartError};
pub use notice::Notice;
pub use operator::{Operator, OperatorError};
pub use options::{CheckedOptions, Options, OptionsError, Tls};
pub use seeds::{Seeds, SeedsError};
pub use state::{MemoryError, check_owner};
pub use tenure_core::voter::{
    Admission, AskerConfig, Breach, Change, Checked, Condition, Config, ConfigError, FirstVoters,
    Founding, Header, Listed, Mode, OwnEvent, Refusal, Role, StatusDto, TooShort, Unchanged,
    UrlError, VoterUrl,
};
pub use tenure_tls::{Identity, Pem, PemError, TlsCause};
