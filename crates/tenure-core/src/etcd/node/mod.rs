//! A process in elections on etcd: a session, and any number of candidates and observers. The
//! [recipe](super::recipe) has their protocol; the node passes each input on.

mod input;
mod key_choice;
mod state;

pub use self::state::Etcd;
