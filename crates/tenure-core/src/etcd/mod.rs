//! Elections on etcd: leases and creation revisions.

mod calls;
mod candidate;
mod command;
mod config;
mod event;
mod key;
mod message;
mod node;
mod observer;
pub(crate) mod rule;
mod session;

pub use command::Command;
pub use config::{Checked, Config, ConfigError, REVISION_END};
pub use event::{End, Event, Ignored, Lost, View};
pub use key::{Bytes, Keys, LeaseId};
pub use message::{
    Act, Answer, CallId, Change, Header, KeyValue, Message, Op, Pick, Read, Refusal, Reply,
    Request, Revision, Txn,
};
pub use node::{Effect, Etcd, NoRecord, Start, Store};
#[cfg(tenure_planted)]
pub use rule::planted;
