//! Where a grantor remembers, and how its records get there.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tenure_core::nerio::{Boot, Instance, Kept, Memory, Record};
use tenure_core::{Fence, Ticket};
use tokio::sync::mpsc as channel;

use crate::state::{self, Flusher, Grants, Opening, StateDir, StateError, WriteError};

/// Where a grantor remembers what it granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Storage {
    /// In a state directory: a restart of the process costs nothing, a restart of the machine
    /// one quarantine.
    Directory {
        /// The directory, of this grantor alone.
        path: PathBuf,
        /// Whether this is the cluster's very first start.
        opening: Opening,
    },
    /// Nowhere. Each restart waits out all leases and reads the fences from a full quorum of
    /// others; with three grantors two such restarts at once stop all elections for good.
    Memory {
        /// Whether this is the cluster's very first start: nothing was ever granted.
        opening: Opening,
    },
}

/// How often to look whether the state directory is still where the next start looks for it, as
/// long as nothing is flushed.
const CHECK: Duration = Duration::from_secs(1);

/// Open storage.
pub(super) struct Records {
    directory: Option<StateDir>,
    flushes: Option<mpsc::Sender<(Ticket, Record)>>,
    flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
}

/// The answers to flushes.
pub(super) type Flushed = channel::UnboundedReceiver<(Ticket, Result<(), WriteError>)>;

impl Records {
    /// Opens the storage of `grantor`, and tells what it remembers.
    pub(super) fn open(
        storage: &Storage,
        grantor: &state::Grantor,
    ) -> Result<(Self, Flushed, Memory), StateError> {
        let (flushed, answers) = channel::unbounded_channel();
        match storage {
            Storage::Directory { path, opening } => {
                let (directory, recovered) = StateDir::open(path, *opening, grantor)?;
                let flushes = spawn_flusher(directory.flusher(), flushed.clone());
                let records = Self { directory: Some(directory), flushes: Some(flushes), flushed };
                Ok((records, answers, memory(recovered)))
            }
            Storage::Memory { opening } => {
                let kept = match opening {
                    Opening::New => Kept::New,
                    Opening::Existing => Kept::Nothing,
                };
                let instance = crate::entropy::number().map_err(StateError::Random)?;
                let memory = Memory {
                    instance: Instance(instance),
                    boot: Boot(0),
                    delta_max: Duration::ZERO,
                    reserve: Fence::NONE,
                    kept,
                };
                Ok((Self { directory: None, flushes: None, flushed }, answers, memory))
            }
        }
    }

    /// No storage at all: for a node that is no grantor.
    pub(super) fn none() -> (Self, Flushed) {
        let (flushed, answers) = channel::unbounded_channel();
        (Self { directory: None, flushes: None, flushed }, answers)
    }

    /// Writes a record that must survive the process.
    pub(super) fn persist(&mut self, record: &Record) -> Result<(), WriteError> {
        self.directory.as_mut().map_or(Ok(()), |directory| directory.write(record))
    }

    /// What to say of a flush that has not ended for so long.
    pub(super) fn hangs(&self, span: Duration) -> String {
        let place = match &self.directory {
            Some(directory) => directory.path().display().to_string(),
            None => "memory".to_owned(),
        };
        format!("a write to {place} has not ended for {span:.1?}")
    }

    /// Begins to write a record that must survive the machine.
    pub(super) fn flush(&self, ticket: Ticket, record: Record) {
        let under_way = match &self.flushes {
            Some(flushes) => flushes.send((ticket, record)).is_ok(),
            None => self.flushed.send((ticket, Ok(()))).is_ok(),
        };
        if !under_way {
            // The thread is gone, so nothing gets written any more. Whoever reads the answers
            // may be gone too, and then nobody asks.
            let _ = self.flushed.send((ticket, Err(WriteError::NoThread)));
        }
    }
}

fn spawn_flusher(
    flusher: Flusher,
    flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
) -> mpsc::Sender<(Ticket, Record)> {
    let (flushes, orders) = mpsc::channel::<(Ticket, Record)>();
    let work = move || {
        let (mut written, mut found) = (true, true);
        loop {
            let answer = match orders.recv_timeout(CHECK) {
                Ok((ticket, record)) => {
                    let answer = flusher.flush(&record);
                    (written, found) = (answer.is_ok(), true);
                    (ticket, answer)
                }
                // While flushes fail, the core tries again by itself.
                Err(RecvTimeoutError::Timeout) if written => {
                    let answer = flusher.check();
                    if answer.is_ok() == found {
                        continue;
                    }
                    found = !found;
                    (Ticket::NONE, answer)
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if flushed.send(answer).is_err() {
                break;
            }
        }
    };
    let spawned: io::Result<_> = thread::Builder::new().name("tenure-flush".to_owned()).spawn(work);
    if let Err(error) = spawned {
        // Its orders are answered as not written: the channel is closed.
        tracing::error!(%error, "no thread for flushes");
    }
    flushes
}

fn memory(recovered: state::Recovered) -> Memory {
    let state::Recovered { instance, boots, delta_max, memory } = recovered;
    let (reserve, kept) = match memory {
        state::Memory::Fresh => (Fence::NONE, Kept::New),
        state::Memory::Lost => (Fence::NONE, Kept::Nothing),
        state::Memory::Founding => (Fence::NONE, Kept::Founding),
        state::Memory::Kept { reserve, grants } => match grants {
            Grants::SameBoot(grants) => (reserve, Kept::Grants(grants)),
            Grants::OtherBoot | Grants::Missing | Grants::Torn(_) => (reserve, Kept::Reserve),
        },
    };
    Memory { instance, boot: boots, delta_max: delta_max.unwrap_or_default(), reserve, kept }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Nothing else may be written for as long as a grantor waits for old leases.
    #[test]
    fn a_directory_that_is_lost_and_found_is_told_though_nothing_is_flushed() {
        let parent = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (parent.path().join("a"), parent.path().join("elsewhere"));
        let (cluster, node) = ("c".parse().unwrap(), "a".parse().unwrap());
        let grantor = state::Grantor { cluster, node };
        let storage = Storage::Directory { path: path.clone(), opening: Opening::New };
        let (records, mut answers, _) = Records::open(&storage, &grantor).unwrap();
        let mut told = || {
            let give_up = crate::clock::now().after(Duration::from_secs(60));
            loop {
                match answers.try_recv() {
                    Ok(answer) => return answer,
                    Err(_) if crate::clock::now() > give_up => panic!("nothing is told"),
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
            }
        };
        for _ in 0..2 {
            fs::rename(&path, &elsewhere).unwrap();
            let (ticket, answer) = told();
            assert!(ticket == Ticket::NONE && answer.is_err(), "{ticket:?} {answer:?}");
            fs::rename(&elsewhere, &path).unwrap();
            let (ticket, answer) = told();
            assert!(ticket == Ticket::NONE && answer.is_ok(), "{ticket:?} {answer:?}");
        }
        drop(records);
    }
}
