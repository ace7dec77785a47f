//! The table of grants of this boot of the machine, which must survive the process.
//!
//! ```text
//! head 4096 | pair 0: slot slot | pair 1 | …
//! ```
//! The head is an envelope with the instance and the boot to which the table belongs. A grant is
//! one `pwrite` of one slot, without a flush: the page cache outlives the process. Each write first
//! checks the table's length. The thread that flushes checks its name.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tenure::state::{self, BootKey, Damage, Directory, Format, Refusal, StateError};
use tenure_core::ElectionName;
use tenure_core::nerio::{GrantRecord, Instance};

use super::Grants;
use super::error::{Tear, WriteError};
use super::slot::{self, PAIR, SLOT};

pub(super) const GRANTS: &str = "grants";

pub(super) const FORMAT: Format = Format { magic: *b"\x89TENUREg", number: 2 };
const HEAD: usize = 4096;
const CHUNK: u32 = 64;
/// A gibibyte, sixteen times the default of a grantor.
const PAIRS_MAX: u32 = 1 << 20;

#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Key<'a> {
    instance: Instance,
    boot: &'a str,
}

fn instance(head: &[u8]) -> Option<Instance> {
    let (body, _) = FORMAT.open(head).ok()?;
    postcard::from_bytes::<Key<'_>>(body).ok().map(|key| key.instance)
}

/// The owner of a table that begins with `head`, which is not the head of this boot.
fn other(head: &[u8], own: &[u8]) -> Grants {
    if instance(head) == instance(own) { Grants::OtherBoot } else { Grants::OtherMemory }
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
    head: Vec<u8>,
    /// Table of this boot; `None` until its first grant. Until that grant the earlier table stays,
    /// so that another start waits for the same reason.
    file: Option<File>,
    held: HashMap<ElectionName, Pair>,
    free: Vec<Pair>,
    buffer: [u8; SLOT],
    instance: Instance,
    boot: String,
}

impl Table {
    /// A table that begins with its first grant.
    pub(super) fn begin(instance: Instance, boot: &BootKey) -> Self {
        Self::of(instance, boot.as_str().to_owned())
    }

    /// Replaces the memory of the table, as long as nothing was granted.
    pub(super) fn becomes(&mut self, instance: Instance) {
        if self.instance != instance && self.file.is_none() {
            *self = Self::of(instance, std::mem::take(&mut self.boot));
        }
    }

    fn of(instance: Instance, boot: String) -> Self {
        // Cannot fail: nothing in it has an unknown length.
        let body = postcard::to_allocvec(&Key { instance, boot: &boot });
        let body = body.unwrap_or_default();
        let mut head = FORMAT.seal(&body);
        head.resize(HEAD, 0);
        Self {
            head,
            file: None,
            held: HashMap::new(),
            free: Vec::new(),
            buffer: [0; SLOT],
            instance,
            boot,
        }
    }

    /// Reads the stored grants; later writes go there if the table is of this boot.
    pub(super) fn recover(&mut self, directory: &Directory) -> Result<Grants, StateError> {
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
        match FORMAT.open(&head) {
            Err(Refusal::Damaged(damage)) => return Ok(Grants::Torn(Tear::Head(damage))),
            Err(refusal) => return Err(refusal.at(&path, FORMAT, directory.layout().relearn)),
            Ok(_) if bytes < HEAD as u64 => return Ok(Grants::Torn(Tear::Head(short(bytes)))),
            Ok(_) => {}
        }
        // An early version left a part of the number out of the identity; the table has the whole
        // number.
        let drawn = instance(&head).filter(|drawn| {
            self.instance.born() == 0
                && *drawn != self.instance
                && drawn.mark() == self.instance.mark()
        });
        if let Some(drawn) = drawn {
            *self = Self::of(drawn, std::mem::take(&mut self.boot));
        }
        if head != self.head {
            return Ok(other(&head, &self.head));
        }
        let pairs = (bytes - HEAD as u64) / PAIR as u64;
        let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
        // Without pairs the process ended before its first grant, and waiting again does no harm.
        if pairs == 0 || pairs > PAIRS_MAX || pairs % CHUNK != 0 || start(pairs) != bytes {
            return Ok(Grants::Torn(Tear::Length { bytes }));
        }
        match self.scan(&file, pairs).map_err(failed)? {
            Ok(grants) => {
                self.file = Some(file);
                Ok(Grants::SameBoot(grants))
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
            None => {
                directory.check(|_| true)?;
                directory.put(GRANTS, &self.head).map_err(failed)?
            }
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
            grow(file, held).and_then(|()| directory.remember(GRANTS, file)).map_err(failed)?;
            let fresh = (held..held + CHUNK).rev();
            self.free.extend(fresh.map(|number| Pair { number, sequence: 0 }));
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
/// gone. Does not check that the name leads to the table, as that may end between check and write.
fn check_length(directory: &Directory, file: &File) -> Result<(), WriteError> {
    if !directory.is_whole(GRANTS, file) {
        directory.check_file(GRANTS)?;
    }
    Ok(())
}

/// Writes the older slot of `pair`. After a failure the other slot stays the newest, and the next
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
            // A part of the chunk may exist, and a table of another length is not believed.
            let _ = file.set_len(from);
            Err(errno.into())
        }
    }
}

fn short(bytes: u64) -> Damage {
    Damage::Length { bytes, expected: HEAD as u64 }
}
