//! State directories: the memory of a node that survives its process or its machine.
//!
//! For authors of drivers; an application only names a directory. A protocol declares the contents
//! in a [`Layout`]:
//!
//! - a [`Document`] must survive the machine: it is replaced whole and flushed;
//! - other files must survive the process, each with a head in a [`Format`] of its own, so that a
//!   damaged, foreign or newer file is recognized. [`BootKey`] shows whether instants in them still
//!   have their meaning.
//!
//! | file | holds | outlives | written |
//! |---|---|---|---|
//! | the document | the protocol's choice | the machine | whole, flushed |
//! | other files | the protocol's choice | the process | the protocol's choice |
//! | `lock` | the pid of its process, for people | nothing | at the start |
//! | `.held` | nothing: the kernel locks this file | nothing | once |
//!
//! # What it relies on
//!
//! Until the machine ends, bytes that a `write` put into the page cache are read back (a file
//! system that loses them within one boot, after a forced detach or a failed write-back, is outside
//! the model). Flushed bytes stay. A directory restored from a copy or a snapshot, of the files or
//! of the whole machine, is outside the model, too: no program on this machine can notice that.
//! Move such a directory away and start without `--new`.
//!
//! The directory belongs to the user of the process and no other user may write to it; only that
//! user can open `.held` and hold the lock. The lock belongs to the open file. A child made by
//! `fork` without `exec` shares it and keeps it for as long as it lives, should its parent be
//! killed.

mod boot;
mod directory;
mod disk;
mod document;
mod error;
mod sealed;

pub use self::boot::BootKey;
pub use self::directory::{Directory, Layout};
pub use self::disk::{Disk, Linux};
pub use self::document::{Document, whole};
pub use self::error::{Damage, Found, PathLoss, StateError, WriteError};
pub use self::sealed::{Format, Refusal};

/// Whether a start is the cluster's very first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// There was a memory. An empty or missing directory means that it was lost.
    Existing,
    /// There never was a memory (`--new`). A directory with a memory is refused.
    New,
}
