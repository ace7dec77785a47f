//! A process in elections on etcd: a session, and any number of candidates and observers. The
//! [recipe](super::recipe) has their protocol; the node passes each input on.
//!
//! | file | |
//! |---|---|
//! | `state.rs` | `Etcd`: its parts, and the calls into them |
//! | `key_choice.rs` | keys that confirm a renewal, or move to another lease |
//! | `input.rs` | the contract: inputs, deadlines |

mod input;
mod key_choice;
mod state;

pub use self::state::Etcd;
