//! Tenure's elections on a partitioned ledger, Kafka: the owner of a partition leads its roles.
//!
//! The protocol, its guarantees and what it does *not* guarantee: [`tenure_core::nele`]. [`Ledger`]
//! carries out the requests of the protocol; [`topic`] checks and makes the topic; [`wire`] has the
//! format of entries.

mod broker;
mod client_end;
mod client_log;
mod client_settings;
mod counters;
mod driver;
mod explain;
mod ledger;
mod load;
mod login;
pub mod native;
mod node;
mod notice;
mod options;
mod property;
mod roles;
mod session_timeout;
pub mod topic;
pub mod wire;

pub use broker::{Broker, BrokerError};
pub use counters::Counters;
pub use explain::UNACKNOWLEDGED;
pub use ledger::{Ledger, LedgerError};
pub use load::{Load, NoRoom};
pub use login::{Login, LoginError, Mechanism, Password};
pub use node::{Builder, Class, Node, StartError};
pub use notice::Notice;
pub use options::{Assignor, CheckedOptions, GroupProtocol, Options, OptionsError, Tls};
pub use property::{Property, PropertyError, Why};
pub use roles::{Emerged, Roles};
pub use session_timeout::{Session, SessionError, Unread};
pub use tenure_core::nele::{Checked, Config, ConfigError, Misfit, Mode, OwnEvent, Seen};
pub use tenure_tls::{Identity, Pem, PemError};
