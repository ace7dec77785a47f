//! Where a grantor remembers, and how its records get there.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tenure_core::Ticket;
use tenure_core::nerio::{Instance, Memory, Record, Remembered};
use tokio::sync::mpsc as channel;

use super::notice::Forgot;
use super::state::{self, Flusher, Grantor, Grants, MemoryError, StateDir, WriteError};
use crate::state::{Opening, StateError};

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

/// How long to wait in the end for what is being flushed, so that the next start finds the
/// directory unlocked.
const LAST_FLUSH: Duration = Duration::from_secs(1);

/// Open storage.
pub(super) struct Records {
    directory: Option<StateDir>,
    flushes: Option<FlushThread>,
    flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
    /// What a start that waits for old leases has forgotten.
    pub(super) forgot: Forgot,
    /// What is wrong with the table of grants.
    pub(super) damage: Option<String>,
}

/// The answers to flushes.
pub(super) type Flushed = channel::UnboundedReceiver<(Ticket, Result<(), WriteError>)>;

impl Records {
    /// Opens the storage of `grantor`, and tells what it remembers.
    pub(super) fn open(
        storage: &Storage,
        grantor: &Grantor,
    ) -> Result<(Self, Flushed, Memory), MemoryError> {
        let (flushed, answers) = channel::unbounded_channel();
        match storage {
            Storage::Directory { path, opening } => {
                let (directory, recovered) = StateDir::open(path, *opening, grantor)?;
                let flushes = FlushThread::spawn(directory.flusher(), flushed.clone());
                let damage = match &recovered.memory {
                    state::Memory::Kept { grants: Grants::Torn(tear), .. } => {
                        Some(format!("{}: {tear}", directory.grants_path().display()))
                    }
                    _ => None,
                };
                let forgot = Forgot::of(&recovered.memory);
                let (directory, flushes) = (Some(directory), Some(flushes));
                let records = Self { directory, flushes, flushed, forgot, damage };
                Ok((records, answers, recovered.into_core()))
            }
            Storage::Memory { opening } => {
                let instance = crate::entropy::number().map_err(StateError::Random)?;
                let first = *opening == Opening::New;
                let memory = Remembered::new(Instance(instance), first).memory();
                Ok((Self::nowhere(flushed), answers, memory))
            }
        }
    }

    /// No storage at all: for a node that is no grantor.
    pub(super) fn none() -> (Self, Flushed) {
        let (flushed, answers) = channel::unbounded_channel();
        (Self::nowhere(flushed), answers)
    }

    fn nowhere(flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>) -> Self {
        let (forgot, damage) = (Forgot::Everything, None);
        Self { directory: None, flushes: None, flushed, forgot, damage }
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
            Some(thread) => thread.flushes.send((ticket, record)).is_ok(),
            None => self.flushed.send((ticket, Ok(()))).is_ok(),
        };
        if !under_way {
            // The thread is gone, so nothing gets written any more. The reader of the answers
            // may be gone too, and then nobody asks.
            let _ = self.flushed.send((ticket, Err(WriteError::NoThread)));
        }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(FlushThread { flushes, ended }) = self.flushes.take() {
            drop(flushes);
            if ended.recv_timeout(LAST_FLUSH) == Err(RecvTimeoutError::Timeout) {
                let last = self.hangs(LAST_FLUSH);
                tracing::warn!("{last}; the state directory stays locked until it has");
            }
        }
    }
}

/// The thread that flushes. It ends when `flushes` is dropped and the last flush is over, and lets
/// go of the directory before `ended` is disconnected.
struct FlushThread {
    flushes: mpsc::Sender<(Ticket, Record)>,
    ended: mpsc::Receiver<Infallible>,
}

impl FlushThread {
    fn spawn(
        flusher: Flusher,
        flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
    ) -> Self {
        let (flushes, orders) = mpsc::channel::<(Ticket, Record)>();
        let (ends, ended) = mpsc::channel();
        let work = move || {
            flush_all(&flusher, &orders, &flushed);
            drop(flusher);
            drop(ends);
        };
        let thread = thread::Builder::new().name("tenure-flush".to_owned());
        if let Err(error) = thread.spawn(work) {
            // Its orders are answered as not written: the channel is closed.
            tracing::error!(%error, "no thread for flushes");
        }
        Self { flushes, ended }
    }
}

fn flush_all(
    flusher: &Flusher,
    orders: &mpsc::Receiver<(Ticket, Record)>,
    flushed: &channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
) {
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
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if flushed.send(answer).is_err() {
            return;
        }
    }
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
        let grantor = Grantor { cluster, node };
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
