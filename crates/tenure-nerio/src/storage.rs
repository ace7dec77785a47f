//! The storage of a grantor, and the path of its records to the storage.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tenure::clock;
use tenure::state::Opening;
use tenure::state::WriteError::Lost;
use tenure_core::nerio::{Checked, DocumentError, Kept, Memory, Record, Remembered};
use tenure_core::{Ticket, Time, WallTime};
use tokio::sync::mpsc as channel;

use crate::notice::Forgot;
use crate::state::{self, Flusher, Grantor, Grants, MemoryError, StateDir, WriteError};

/// The storage of a grantor's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Storage {
    /// A state directory. A restart of the process costs no time, and a restart of the machine
    /// costs one quarantine.
    Directory {
        /// Directory of this grantor alone.
        path: PathBuf,
        /// Whether this is the cluster's very first start.
        opening: Opening,
    },
    /// No storage. After each restart the grantor waits for all leases to end, and reads the fences
    /// from a full quorum of others. If two of three grantors restart at once, no election ever has
    /// a leader again.
    Memory {
        /// Whether this is the cluster's very first start: nothing was ever granted.
        opening: Opening,
    },
}

/// Pause between two checks that the next start would find the state directory, while nothing is
/// flushed.
const CHECK: Duration = Duration::from_secs(1);

/// Pause between two checks while the grantor grants. A check before each grant would take two
/// fifths of the processor time of a grantor with 10,000 elections, and would still miss a
/// directory that is removed just after the check. A lost directory breaks no promise: the grantor
/// stops granting once a check does not find the directory, and the next start waits for earlier
/// promises to end.
const CHECK_WHILE_WRITTEN: Duration = Duration::from_millis(50);

/// Pause after a record before a check is requested. The thread that checks must not take the
/// processor from another grantor on this machine, for which a candidate may be waiting.
const CHECK_DELAY: Duration = Duration::from_millis(1);

/// Age after which a check proves nothing any more.
const STALE: Duration = Duration::from_secs(2);

/// Longest wait for the last flush of a closing node, so that the next start finds the directory
/// unlocked.
const LAST_FLUSH: Duration = Duration::from_secs(1);

pub(crate) struct Records {
    directory: Option<StateDir>,
    flushes: Option<FlushThread>,
    flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
    /// The part of the memory that was lost, for which this start waits.
    pub(crate) forgot: Forgot,
    pub(crate) damage: Option<String>,
    /// Time of the last request for a check of the directory.
    asked: Time,
    /// Time of the first record since the last request for a check.
    written: Option<Time>,
}

pub(crate) type FlushAnswers = channel::UnboundedReceiver<(Ticket, Result<(), WriteError>)>;

/// Adds the wall clock of this start to a memory: the members of a new cluster compare these times.
/// For a memory that has entered no epoch, a clock that is certainly wrong is an error.
fn with_clock(memory: Memory, wall: WallTime) -> Result<Memory, MemoryError> {
    let wall = match memory.kept {
        Kept::Nothing => state::identity::checked(wall)?,
        Kept::New | Kept::Grants(_) | Kept::Reserve => wall.as_nanos() / 1_000_000,
    };
    Ok(Memory { wall: Some(wall), ..memory })
}

impl Records {
    /// Opens the storage of `grantor`, and returns the memory for a start with these settings.
    pub(crate) fn open(
        storage: &Storage,
        grantor: &Grantor,
        config: &Checked,
    ) -> Result<(Self, FlushAnswers, Memory), MemoryError> {
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
                let records = Self {
                    directory: Some(directory),
                    flushes: Some(flushes),
                    flushed,
                    forgot,
                    damage,
                    asked: Time::ZERO,
                    written: None,
                };
                let memory = recovered.into_core(config);
                let memory = memory.map_err(|why| other_document(path, why))?;
                let memory = with_clock(memory, clock::wall())?;
                Ok((records, answers, memory))
            }
            Storage::Memory { opening } => {
                let instance = state::identity::new_instance(clock::wall())?;
                let memory = Remembered::new(instance, *opening == Opening::New).memory(config);
                let memory = memory.map_err(|why| other_document("memory".as_ref(), why))?;
                Ok((Self::nowhere(flushed), answers, memory))
            }
        }
    }

    /// No storage, for a node that is no grantor.
    pub(crate) fn none() -> (Self, FlushAnswers) {
        let (flushed, answers) = channel::unbounded_channel();
        (Self::nowhere(flushed), answers)
    }

    fn nowhere(flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>) -> Self {
        Self {
            directory: None,
            flushes: None,
            flushed,
            forgot: Forgot::Everything,
            damage: None,
            asked: Time::ZERO,
            written: None,
        }
    }

    pub(crate) fn persist(&mut self, record: &Record) -> Result<(), WriteError> {
        let Some(directory) = &mut self.directory else { return Ok(()) };
        let now = clock::now();
        self.written.get_or_insert(now);
        if let Some(thread) = &self.flushes
            && !thread.finds(now, self.asked)
        {
            directory.flusher().check()?;
        }
        directory.write(record)
    }

    /// Asks for a check of the directory, if a record was written at least [`CHECK_DELAY`] ago and
    /// the last check is too old. Call this when answers have left, so that no caller waits for the
    /// thread that checks. Even without a call the thread checks within [`CHECK`].
    pub(crate) fn look(&mut self) {
        let Some(written) = self.written else { return };
        let now = clock::now();
        if let Some(thread) = &self.flushes
            && now.since(written) >= CHECK_DELAY
        {
            self.written = None;
            thread.look(now, &mut self.asked);
        }
    }

    /// The text about a flush that has lasted for `span`.
    pub(crate) fn hangs(&self, span: Duration) -> String {
        let place = match &self.directory {
            Some(directory) => directory.path().display().to_string(),
            None => "memory".to_owned(),
        };
        format!("a write to {place} has not ended for {span:.1?}")
    }

    pub(crate) fn flush(&mut self, ticket: Ticket, record: Record) {
        if let (Some(directory), Record::Identity { instance, .. }) = (&mut self.directory, &record)
        {
            directory.becomes(*instance);
        }
        let under_way = match &self.flushes {
            Some(thread) => thread.flushes.send(Order::Flush(ticket, record)).is_ok(),
            None => self.flushed.send((ticket, Ok(()))).is_ok(),
        };
        if !under_way {
            // The thread is gone, so the write fails. If the reader of the answers is gone as well,
            // this send fails; ignore that.
            let _ = self.flushed.send((ticket, Err(WriteError::NoThread)));
        }
    }
}

fn other_document(path: &Path, why: DocumentError) -> MemoryError {
    MemoryError::OtherDocument { path: path.to_owned(), why }
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(FlushThread { flushes, ended, .. }) = self.flushes.take() {
            drop(flushes);
            if ended.recv_timeout(LAST_FLUSH) == Err(RecvTimeoutError::Timeout) {
                let last = self.hangs(LAST_FLUSH);
                tracing::warn!(
                    "{last}; the state directory stays locked until the write has ended"
                );
            }
        }
    }
}

/// The thread that flushes. The thread ends when `flushes` is dropped and the last flush is over,
/// and releases the directory before `ended` is disconnected.
struct FlushThread {
    flushes: mpsc::Sender<Order>,
    looks: Arc<Looks>,
    ended: mpsc::Receiver<Infallible>,
}

/// The results of checks whether the next start would find the directory.
#[derive(Default)]
struct Looks {
    /// Whether a check is requested or runs. No other check is requested meanwhile, because checks
    /// would pile up while the disk hangs.
    asked: AtomicBool,
    /// Whether a record was written since the start of the last check.
    written: AtomicBool,
    /// Whether the last check did not find the directory.
    lost: AtomicBool,
    /// Start of the last check that has ended, in nanoseconds of `CLOCK_BOOTTIME`.
    began: AtomicU64,
}

impl Looks {
    fn ended(&self, began: Time, lost: bool) {
        self.lost.store(lost, Ordering::Relaxed);
        self.began.store(began.as_nanos(), Ordering::Relaxed);
        // A thread that sees `asked` cleared also sees the fields above.
        self.asked.store(false, Ordering::Release);
    }
}

enum Order {
    Flush(Ticket, Record),
    /// Check whether the next start would find the directory.
    Look,
}

impl FlushThread {
    fn spawn(
        flusher: Flusher,
        flushed: channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
    ) -> Self {
        let (flushes, orders) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let looks = Arc::<Looks>::default();
        let own = Arc::clone(&looks);
        let work = move || {
            flush_all(&flusher, &orders, &own, &flushed);
            drop(flusher);
            drop(ends);
        };
        let thread = thread::Builder::new().name("tenure-flush".to_owned());
        if let Err(error) = thread.spawn(work) {
            // Without the thread the channel is closed, and each order is answered as a failed
            // write.
            tracing::error!(%error, "no thread for flushes");
        }
        Self { flushes, looks, ended }
    }

    /// Whether the last check found the directory, and is not too old. `asked` is the time of the
    /// last request.
    fn finds(&self, now: Time, asked: Time) -> bool {
        let is_old = now.since(asked) >= CHECK_WHILE_WRITTEN;
        if is_old && self.looks.asked.load(Ordering::Acquire) {
            // The disk is slow, and the last requested check still waits for it.
            return false;
        }
        // This process may have been stopped for long, so compare the age of the check, too.
        let began = Time::from_nanos(self.looks.began.load(Ordering::Relaxed));
        now.since(began) < STALE && !self.looks.lost.load(Ordering::Relaxed)
    }

    /// Asks for a check because a record was written, unless another check was requested just
    /// before.
    fn look(&self, now: Time, asked: &mut Time) {
        self.looks.written.store(true, Ordering::Relaxed);
        let is_old = now.since(*asked) >= CHECK_WHILE_WRITTEN;
        if is_old && !self.looks.asked.swap(true, Ordering::Acquire) {
            *asked = now;
            // The send fails when the thread is gone, and then every flush fails, too; ignore it.
            let _ = self.flushes.send(Order::Look);
        }
    }
}

fn flush_all(
    flusher: &Flusher,
    orders: &mpsc::Receiver<Order>,
    looks: &Looks,
    flushed: &channel::UnboundedSender<(Ticket, Result<(), WriteError>)>,
) {
    let mut written = true;
    let mut found = true;
    let mut doubt = false;
    loop {
        let patience =
            if looks.written.load(Ordering::Relaxed) { CHECK_WHILE_WRITTEN } else { CHECK };
        let answer = match orders.recv_timeout(patience) {
            Ok(Order::Flush(ticket, record)) => {
                let answer = flusher.flush(&record);
                written = answer.is_ok();
                found = true;
                if matches!(answer, Err(WriteError::State(Lost { .. }))) {
                    // Let this count like a check that does not find the directory.
                    looks.lost.store(true, Ordering::Relaxed);
                }
                (ticket, answer)
            }
            Ok(Order::Look) | Err(RecvTimeoutError::Timeout) => {
                looks.written.store(false, Ordering::Relaxed);
                let began = clock::now();
                let answer = flusher.check();
                looks.ended(began, answer.is_err());
                if doubt && answer.is_err() {
                    flusher.distrust();
                }
                // Remove the table only after two failed checks: the first may have run while a
                // file got its name.
                doubt = answer.is_err();
                // While flushes fail, the core tries again by itself, so do not report this check.
                if !written || answer.is_ok() == found {
                    continue;
                }
                found = !found;
                (Ticket::NONE, answer)
            }
            Err(RecvTimeoutError::Disconnected) => {
                // The node is closing, so no second check follows.
                if flusher.check().is_err() {
                    flusher.distrust();
                }
                return;
            }
        };
        if flushed.send(answer).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tenure_core::nerio::Config;

    use super::*;

    fn config() -> Checked {
        let members = tenure_core::nerio::members("a=127.0.0.1:7101").unwrap();
        Config::new("c".parse().unwrap(), members).check().unwrap()
    }

    /// A grantor that waits for old leases may write nothing meanwhile. So a check must find the
    /// loss without a write.
    #[test]
    fn lost_directory_is_reported_unasked() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let elsewhere = parent.path().join("elsewhere");
        let cluster = "c".parse().unwrap();
        let node = "a".parse().unwrap();
        let grantor = Grantor { cluster, node };
        let storage = Storage::Directory { path: path.clone(), opening: Opening::New };
        let (records, mut answers, _) = Records::open(&storage, &grantor, &config()).unwrap();
        let mut told = || {
            let give_up = clock::now().after(Duration::from_secs(60));
            loop {
                match answers.try_recv() {
                    Ok(answer) => return answer,
                    Err(_) if clock::now() > give_up => panic!("nothing is told"),
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

    /// The next start would take the rest of a table for a table of fewer elections. So a failed
    /// write by itself leads to a check, which removes the rest.
    #[test]
    fn rest_of_table_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let cluster = "c".parse().unwrap();
        let node = "a".parse().unwrap();
        let grantor = Grantor { cluster, node };
        let open = |opening| {
            let storage = Storage::Directory { path: path.clone(), opening };
            Records::open(&storage, &grantor, &config()).unwrap()
        };
        let grants = path.join("grants");
        for harm in [true, false] {
            let (mut records, answers, _) =
                open(if harm { Opening::New } else { Opening::Existing });
            let reserve = Record::Reserve { high: tenure_core::Fence::new(1_024) };
            records.directory.as_mut().unwrap().write(&reserve).unwrap();
            records.persist(&state::tests::grant_record("e0", 1)).unwrap();
            let small = fs::metadata(&grants).unwrap().len();
            let old = fs::read(&grants).unwrap();
            for number in 1..=64 {
                records.persist(&state::tests::grant_record(&format!("e{number}"), 1)).unwrap();
            }
            if harm {
                fs::File::options().write(true).open(&grants).unwrap().set_len(small).unwrap();
            } else {
                fs::rename(&grants, path.join("grants.tmp")).unwrap();
                fs::write(&grants, old).unwrap();
            }
            let give_up = clock::now().after(Duration::from_secs(60));
            while grants.exists() {
                assert!(clock::now() < give_up, "it is still there");
                thread::sleep(Duration::from_millis(2));
            }
            drop((records, answers));
            let (_, found) = StateDir::open(&path, Opening::Existing, &grantor).unwrap();
            let state::Memory::Kept { grants, .. } = found.memory else { panic!() };
            assert_eq!(grants, Grants::Missing);
        }
    }

    /// Without the lock another process could use the directory, too.
    #[test]
    fn missing_lock_stops_grants() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let cluster = "c".parse().unwrap();
        let node = "a".parse().unwrap();
        let storage = Storage::Directory { path: path.clone(), opening: Opening::New };
        let (mut records, _answers, _) =
            Records::open(&storage, &Grantor { cluster, node }, &config()).unwrap();
        let record = state::tests::grant_record("billing", 1);
        records.persist(&record).unwrap();
        fs::remove_file(path.join(".held")).unwrap();
        let give_up = clock::now().after(Duration::from_secs(60));
        let refused = loop {
            let written = records.persist(&record);
            records.look();
            match written {
                Ok(()) if clock::now() > give_up => panic!("it goes on"),
                Ok(()) => thread::sleep(Duration::from_millis(1)),
                Err(refused) => break refused.to_string(),
            }
        };
        assert!(refused.contains(".held cannot be found any more"), "{refused}");
        for _ in 0..200 {
            records.persist(&record).unwrap_err();
            thread::sleep(Duration::from_millis(1));
        }
    }
}
