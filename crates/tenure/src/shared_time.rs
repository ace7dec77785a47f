//! An instant that two processes share: one place, not a queue.
//!
//! A process that was stopped must act on the newest instant when it continues, not on the oldest
//! of all that were sent meanwhile. So each instant overwrites the previous one, in a file that
//! exists in memory only, and outlives the process that wrote it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use tenure_core::Time;

/// Bytes of the instant in nanoseconds, and of its inverted bits as a check: a read during a write
/// may see half of it.
const BYTES: usize = 16;

/// Repetitions of a read that saw half a write. A write takes nanoseconds.
const ATTEMPTS: u32 = 1_000;

/// An instant of `CLOCK_BOOTTIME`, for all processes that hold its descriptor.
#[derive(Debug)]
pub struct SharedTime(OwnedFd);

impl SharedTime {
    /// A new instant, which only holders of its descriptor can reach.
    pub fn create(until: Time) -> io::Result<Self> {
        let shared = Self(memfd()?);
        shared.set(until)?;
        Ok(shared)
    }

    /// Replaces the instant. Does not block: the file has room for it.
    pub fn set(&self, until: Time) -> io::Result<()> {
        let nanos = until.as_nanos();
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&nanos.to_le_bytes());
        bytes[8..].copy_from_slice(&(!nanos).to_le_bytes());
        match rustix::io::retry_on_intr(|| rustix::io::pwrite(&self.0, &bytes, 0))? {
            BYTES => Ok(()),
            _ => Err(io::Error::from(io::ErrorKind::WriteZero)),
        }
    }

    /// The newest instant; `None` if the file has no instant that passes the check.
    #[must_use]
    pub fn newest(&self) -> Option<Time> {
        (0..ATTEMPTS).find_map(|_| self.read())
    }

    fn read(&self) -> Option<Time> {
        let mut bytes = [0; BYTES];
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(&self.0, &mut bytes, 0)).ok()?;
        let (nanos, inverted) = bytes.split_at(8);
        let [nanos, inverted] =
            [nanos, inverted].map(|half| half.first_chunk().map(|half| u64::from_le_bytes(*half)));
        let nanos = nanos.filter(|nanos| read == BYTES && inverted == Some(!nanos))?;
        Some(Time::from_nanos(nanos))
    }
}

/// The file is declared never to be executed, because some systems forbid executable files in
/// memory. Kernels before 6.3 do not know this flag.
fn memfd() -> rustix::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC;
    match rustix::fs::memfd_create(c"tenure-time", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => rustix::fs::memfd_create(c"tenure-time", flags),
        other => other,
    }
}

impl From<OwnedFd> for SharedTime {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl AsFd for SharedTime {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn newest_time_is_read_whole() {
        let first = Time::from_nanos(0x1111_1111_1111_1111);
        let second = Time::from_nanos(0x2222_2222_2222_2222);
        let writer = SharedTime::create(first).unwrap();
        let reader = SharedTime::from(writer.as_fd().try_clone_to_owned().unwrap());
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    writer.set(second).unwrap();
                    writer.set(first).unwrap();
                }
            });
            for _ in 0..100_000 {
                let read = reader.newest();
                assert!(read == Some(first) || read == Some(second), "{read:?}");
            }
            over.store(true, Ordering::Relaxed);
        });
        for nanos in [0, 7, u64::MAX] {
            writer.set(Time::from_nanos(nanos)).unwrap();
            assert_eq!(reader.newest(), Some(Time::from_nanos(nanos)));
        }
    }

    #[test]
    fn anything_else_is_no_time() {
        let other = memfd().unwrap();
        for bytes in [&b""[..], &[0; 8], &[0; 16], &[0x55; 16]] {
            rustix::io::pwrite(&other, bytes, 0).unwrap();
            let shared = SharedTime::from(other.try_clone().unwrap());
            assert_eq!(shared.newest(), None, "{bytes:?}");
        }
        assert_eq!(SharedTime::from(OwnedFd::from(io::pipe().unwrap().0)).newest(), None);
    }
}
