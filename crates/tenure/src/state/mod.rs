//! State directories: the state of a node that survives its process or its machine.
//!
//! This module is for authors of drivers; an application only names a directory. A protocol
//! declares the files in a [`Layout`]:
//!
//! - a [`Document`] must survive the machine: each write replaces it completely and is flushed;
//! - other files must survive the process. Each begins with a head in its own [`Format`], so that a
//!   damaged, foreign or newer file is recognized. [`BootKey`] shows whether instants in them still
//!   have a meaning.
//!
//! | file | holds | outlives | written |
//! |---|---|---|---|
//! | the document | the protocol's choice | the machine | completely, flushed |
//! | other files | the protocol's choice | the process | the protocol's choice |
//! | `lock` | the pid of its process, for people | nothing | at the start |
//! | `.held` | nothing: the kernel locks this file | nothing | once |
//!
//! # Assumptions
//!
//! Until the machine ends, bytes that a `write` put into the page cache can be read back. A file
//! system that loses them within one boot, after a forced detach or a failed write-back, is outside
//! the model. Flushed bytes stay.
//!
//! A directory restored from a copy or a snapshot, of the files or of the whole machine, is outside
//! the model, too: no program on this machine can notice that. Move such a directory away and start
//! without `--new`.
//!
//! The directory belongs to the user of the process and no other user may write to it; only that
//! user can open `.held` and hold the lock. The lock belongs to the open file. A child made by
//! `fork` without `exec` shares the lock: if the parent is killed, the child keeps the lock as long
//! as it lives.

mod boot;
mod directory;
mod disk;
mod document;
mod error;
mod file_id;
mod sealed;

pub use self::boot::BootKey;
pub use self::directory::{Directory, Layout, locked_by};
pub use self::disk::{Disk, Linux};
pub use self::document::{Document, whole};
pub use self::error::{Damage, Found, PathLoss, StateError, WriteError};
pub use self::file_id::FileId;
pub use self::sealed::{Format, Refusal};

/// Whether a start is the very first of its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// A state must exist. If the directory is empty or missing, the state was lost.
    Existing,
    /// No state exists yet (`--new`). A directory with a state is refused.
    New,
}
