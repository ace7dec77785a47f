//! The table of grants of this boot of the machine, which must survive the process.
//! `Table::recover` decides whether the grants that a start finds still count.
//!
//! ```text
//! head 4096 | pair 0: slot slot | pair 1 | …
//! ```
//! The head is an envelope with the instance and the boot to which the table belongs. The head also
//! names the epoch, and the instant until which leases of earlier epochs may last. Only a table of
//! epoch 0 that no `Record::Table` began lacks these two. A grant is one `pwrite` of one slot,
//! without a flush: the page cache outlives the process. Before each write the writing thread
//! checks the table's length. The thread that flushes checks the table's name.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tenure::state::{self, BootKey, Damage, Directory, Format, Refusal, StateError};
use tenure_core::nerio::{EpochId, EpochStanding, GrantRecord, GrantTable, Instance};
use tenure_core::{ElectionName, Time};

use super::Grants;
use super::error::{Tear, WriteError};
use super::slot::{self, PAIR, SLOT};

pub(super) const GRANTS: &str = "grants";

pub(super) const FORMAT: Format = Format { magic: *b"\x89TENUREg", number: 3 };

/// The format of a table whose head names no epoch.
const FORMAT2: Format = Format { number: 2, ..FORMAT };

const HEAD: usize = 4096;
const CHUNK: u32 = 64;
/// Pairs that fill a gibibyte, sixteen times the elections that a grantor keeps by default.
const PAIRS_MAX: u32 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Key<'a> {
    instance: Instance,
    boot: &'a str,
    epoch: EpochId,
    until: Time,
}

#[derive(Serialize, Deserialize)]
struct Key2<'a> {
    instance: Instance,
    boot: &'a str,
}

/// The memory, the boot and the epoch to which a table belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Owner {
    instance: Instance,
    boot: String,
    /// `None` in a table of epoch 0 that no `Record::Table` began.
    epoch: Option<EpochId>,
    /// Instant until which leases of earlier epochs may last.
    until: Time,
}

impl Owner {
    /// The owner of a table that begins with `head`; `None` if the head names no owner that this
    /// version can read.
    fn read(head: &[u8]) -> Result<Option<Self>, Refusal> {
        let owner = match FORMAT.open(head) {
            Err(Refusal::Format(found)) if found == FORMAT2.number => {
                let (body, _) = FORMAT2.open(head)?;
                postcard::from_bytes(body).map(|Key2 { instance, boot }| Self {
                    instance,
                    boot: boot.to_owned(),
                    epoch: None,
                    until: Time::ZERO,
                })
            }
            read => {
                let (body, _) = read?;
                postcard::from_bytes(body).map(|Key { instance, boot, epoch, until }| Self {
                    instance,
                    boot: boot.to_owned(),
                    epoch: Some(epoch),
                    until,
                })
            }
        };
        Ok(owner.ok())
    }

    fn head(&self) -> Vec<u8> {
        let Self { instance, ref boot, epoch, until } = *self;
        let (format, body) = match epoch {
            None => (FORMAT2, postcard::to_allocvec(&Key2 { instance, boot })),
            Some(epoch) => (FORMAT, postcard::to_allocvec(&Key { instance, boot, epoch, until })),
        };
        // Cannot fail: no part of the head has an unknown length.
        let mut head = format.seal(&body.unwrap_or_default());
        head.resize(HEAD, 0);
        head
    }
}

/// A pair of slots, and the last write to it that succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    number: u32,
    sequence: u64,
}

fn io_error(directory: &Directory, source: io::Error) -> WriteError {
    state::WriteError::Io { path: directory.at(GRANTS), source }.into()
}

fn start(pair: u32) -> u64 {
    HEAD as u64 + u64::from(pair) * PAIR as u64
}

#[derive(Debug)]
pub(super) struct Table {
    owner: Owner,
    /// Table of this boot and epoch; `None` until its first grant. Until then the earlier table
    /// stays in its place, so that another start waits for the same reason as this start.
    file: Option<File>,
    held: HashMap<ElectionName, Pair>,
    free: Vec<Pair>,
    buffer: [u8; SLOT],
}

impl Table {
    /// A table of this epoch that begins with its first grant.
    pub(super) fn begin(instance: Instance, boot: &BootKey, epoch: Option<EpochId>) -> Self {
        let boot = boot.as_str().to_owned();
        Self::of(Owner { instance, boot, epoch, until: Time::ZERO })
    }

    /// Replaces the memory to which the table belongs, as long as nothing was granted.
    pub(super) fn becomes(&mut self, instance: Instance) {
        if self.file.is_none() {
            self.owner.instance = instance;
        }
    }

    fn of(owner: Owner) -> Self {
        Self { owner, file: None, held: HashMap::new(), free: Vec::new(), buffer: [0; SLOT] }
    }

    /// Begins a table of this epoch, without grants. If that fails, the next start finds the
    /// earlier table, or no table, and waits for all leases to end.
    pub(super) fn enter(
        &mut self,
        directory: &Directory,
        epoch: EpochId,
        until: Time,
    ) -> Result<(), WriteError> {
        *self = Self::of(Owner { epoch: Some(epoch), until, ..self.owner.clone() });
        let file = self.create(directory)?;
        // Make room for pairs now. A start refuses a table without pairs, because the process may
        // have ended before it wrote more than the head.
        self.free = room(directory, &file, 0)?;
        self.file = Some(file);
        Ok(())
    }

    /// Replaces the stored table by an empty one.
    fn create(&self, directory: &Directory) -> Result<File, WriteError> {
        directory.check(|_| true)?;
        directory.put(GRANTS, &self.owner.head()).map_err(|source| io_error(directory, source))
    }

    /// Reads the stored grants. Later writes go to the stored table if it is of this boot and its
    /// epoch fits `standing`.
    pub(super) fn recover(
        &mut self,
        directory: &Directory,
        standing: &EpochStanding,
    ) -> Result<Grants, StateError> {
        let Some(file) = directory.stored(GRANTS, OFlags::RDWR)? else {
            return Ok(Grants::Missing);
        };
        let path = directory.at(GRANTS);
        let failed = |source| StateError::io("read", &path, source);
        let bytes = file.metadata().map_err(failed)?.len();
        let mut head = vec![0; HEAD.min(usize::try_from(bytes).unwrap_or(HEAD))];
        file.read_exact_at(&mut head, 0).map_err(failed)?;
        if head.iter().all(|byte| *byte == 0) {
            // The machine stopped before the unflushed head reached the disk.
            return Ok(Grants::Torn(Tear::Head(short(bytes))));
        }
        let found = match Owner::read(&head) {
            Err(Refusal::Damaged(damage)) => return Ok(Grants::Torn(Tear::Head(damage))),
            Err(refusal) => return Err(refusal.at(&path, FORMAT, directory.layout().relearn)),
            Ok(_) if bytes < HEAD as u64 => return Ok(Grants::Torn(Tear::Head(short(bytes)))),
            Ok(None) => return Ok(Grants::OtherMemory),
            Ok(Some(found)) => found,
        };
        // An early version wrote only a part of the instance to the identity; the table has the
        // whole instance.
        let own = self.owner.instance;
        if own.born() == 0 && found.instance.mark() == own.mark() {
            self.owner.instance = found.instance;
        }
        if found.instance != self.owner.instance {
            return Ok(Grants::OtherMemory);
        }
        if found.boot != self.owner.boot || found.head() != head {
            return Ok(Grants::OtherBoot);
        }
        if !standing.has_table_of(found.epoch) {
            return Ok(Grants::OtherEpoch);
        }
        let pairs = (bytes - HEAD as u64) / PAIR as u64;
        let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
        // Without pairs the process ended before its first grant, so the next start may wait again.
        if pairs == 0 || pairs > PAIRS_MAX || pairs % CHUNK != 0 || start(pairs) != bytes {
            return Ok(Grants::Torn(Tear::Length { bytes }));
        }
        match self.scan(&file, pairs).map_err(failed)? {
            Ok(grants) => {
                (self.file, self.owner) = (Some(file), found);
                let Owner { epoch, until, .. } = self.owner;
                Ok(Grants::SameBoot(GrantTable { epoch, until, grants }))
            }
            Err(tear) => {
                self.held.clear();
                self.free.clear();
                Ok(Grants::Torn(tear))
            }
        }
    }

    fn scan(&mut self, file: &File, pairs: u32) -> io::Result<Result<Vec<GrantRecord>, Tear>> {
        let mut grants = Vec::new();
        let mut torn = 0;
        let mut chunk = vec![0; CHUNK as usize * PAIR];
        for first in (0..pairs).step_by(CHUNK as usize) {
            let here = CHUNK.min(pairs - first);
            let chunk = &mut chunk[..here as usize * PAIR];
            file.read_exact_at(chunk, start(first))?;
            for (number, bytes) in (first..).zip(chunk.as_chunks::<PAIR>().0) {
                let Some(entry) = slot::read(bytes) else {
                    return Ok(Err(Tear::Pair { pair: number }));
                };
                torn += u32::from(entry.torn);
                let pair = Pair { number, sequence: entry.sequence };
                let Some(grant) = entry.record else {
                    self.free.push(pair);
                    continue;
                };
                if self.held.insert(grant.election.clone(), pair).is_some() {
                    return Ok(Err(Tear::Twice { pair: number }));
                }
                grants.push(grant);
            }
        }
        if torn > 1 {
            return Ok(Err(Tear::Slots { torn }));
        }
        self.free.reverse();
        grants.sort_by(|a, b| a.election.cmp(&b.election));
        Ok(Ok(grants))
    }

    /// Writes the entry of an election. After a failure the former entry is still valid.
    pub(super) fn grant(
        &mut self,
        directory: &Directory,
        grant: &GrantRecord,
    ) -> Result<(), WriteError> {
        let failed = |source| io_error(directory, source);
        let file = match self.file.take() {
            Some(file) => file,
            None => self.create(directory)?,
        };
        let file = self.file.insert(file);
        check_length(directory, file)?;
        if let Some(pair) = self.held.get_mut(&grant.election) {
            return write(file, &mut self.buffer, pair, Some(grant)).map_err(failed);
        }
        if self.free.is_empty() {
            let held = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
            if held >= PAIRS_MAX {
                let path = directory.at(GRANTS);
                let held = self.held.len();
                return Err(WriteError::Full { path, held });
            }
            self.free = room(directory, file, held)?;
        }
        if let Some(pair) = self.free.last_mut() {
            write(file, &mut self.buffer, pair, Some(grant)).map_err(failed)?;
            self.held.insert(grant.election.clone(), *pair);
            self.free.pop();
        }
        Ok(())
    }

    /// Clears the entry of an election, if there is one. After a failure the entry is still valid.
    pub(super) fn forget(
        &mut self,
        directory: &Directory,
        election: &ElectionName,
    ) -> Result<(), WriteError> {
        let (Some(file), Some(pair)) = (&self.file, self.held.get_mut(election)) else {
            return Ok(());
        };
        check_length(directory, file)?;
        write(file, &mut self.buffer, pair, None).map_err(|source| io_error(directory, source))?;
        self.free.push(*pair);
        self.held.remove(election);
        Ok(())
    }
}

/// Checks that the table was not cut off: a write behind the cut would hide that other grants are
/// gone. Does not check that the name still leads to the table, because that may change between
/// check and write.
fn check_length(directory: &Directory, file: &File) -> Result<(), WriteError> {
    if !directory.is_whole(GRANTS, file) {
        directory.check_file(GRANTS)?;
    }
    Ok(())
}

/// Writes the older slot of `pair`. After a failure the other slot is still valid, and the next
/// write goes to the same slot.
fn write(
    file: &File,
    buffer: &mut [u8; SLOT],
    pair: &mut Pair,
    record: Option<&GrantRecord>,
) -> io::Result<()> {
    let next = Pair { sequence: pair.sequence + 1, ..*pair };
    let bytes = slot::encode(buffer, next.sequence, record).map_err(io::Error::other)?;
    file.write_all_at(bytes, start(next.number) + slot::offset(next.sequence))?;
    *pair = next;
    Ok(())
}

/// Makes room for one more chunk of pairs behind the first `held`, and returns the new pairs.
fn room(directory: &Directory, file: &File, held: u32) -> Result<Vec<Pair>, WriteError> {
    grow(file, held)
        .and_then(|()| directory.remember(GRANTS, file))
        .map_err(|source| io_error(directory, source))?;
    Ok((held..held + CHUNK).rev().map(|number| Pair { number, sequence: 0 }).collect())
}

/// Makes room for one more chunk behind `pairs`, so that a full disk is noticed here and not in the
/// middle of a slot.
fn grow(file: &File, pairs: u32) -> io::Result<()> {
    let from = start(pairs);
    let to = start(pairs + CHUNK);
    let flags = FallocateFlags::empty();
    let room = rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, from, to - from));
    match room {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(to),
        Err(errno) => {
            // The write may have made a part of the chunk. Remove that part, because a start
            // refuses a table of a wrong length.
            let _ = file.set_len(from);
            Err(errno.into())
        }
    }
}

fn short(bytes: u64) -> Damage {
    Damage::Length { bytes, expected: HEAD as u64 }
}
