//! What was heard and is not yet read: bounded in number and in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_nats::Message;
use bytes::Bytes;
use tenure_core::allcall::PACKET_BYTES_MAX;
use tokio::sync::mpsc;

/// A reply of each of several hundred participants to each of as many calls.
const MESSAGES_MAX: usize = 65_536;
/// What they may hold together.
const BYTES_MAX: usize = 32 * 1024 * 1024;

/// Something that was published.
#[derive(Debug)]
pub struct Heard {
    /// On which connection.
    pub connection: u64,
    /// Where.
    pub subject: Arc<str>,
    /// What.
    pub payload: Bytes,
}

#[derive(Default)]
struct Counts {
    bytes: AtomicUsize,
    lost: AtomicU64,
}

/// The side that hears.
pub(super) struct Queue {
    heard: mpsc::Sender<Heard>,
    counts: Arc<Counts>,
}

/// The side that reads.
pub(super) struct Reader {
    heard: mpsc::Receiver<Heard>,
    counts: Arc<Counts>,
}

pub(super) fn new() -> (Queue, Reader) {
    let (put, heard) = mpsc::channel(MESSAGES_MAX);
    let counts: Arc<Counts> = Arc::default();
    (Queue { heard: put, counts: counts.clone() }, Reader { heard, counts })
}

impl Queue {
    /// Keeps it, unless there is no room: then it is lost, as on any bus.
    pub(super) fn put(&self, connection: u64, message: Message) {
        // Of one that is too long for a packet enough to see that. Copied, because what the client
        // library gives keeps all that was read with it.
        let length = message.payload.len().min(PACKET_BYTES_MAX + 1);
        let payload = Bytes::copy_from_slice(message.payload.get(..length).unwrap_or_default());
        let size = payload.len();
        let subject = message.subject.as_str().into();
        let Counts { bytes, lost } = &*self.counts;
        if bytes.load(Ordering::Relaxed) + size > BYTES_MAX {
            lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        bytes.fetch_add(size, Ordering::Relaxed);
        if self.heard.try_send(Heard { connection, subject, payload }).is_err() {
            bytes.fetch_sub(size, Ordering::Relaxed);
            lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Reader {
    /// Cancel safe. Waits for ever once nothing can come any more.
    pub(super) async fn next(&mut self) -> Heard {
        match self.heard.recv().await {
            Some(heard) => self.read(heard),
            None => std::future::pending().await,
        }
    }

    pub(super) fn take(&mut self) -> Option<Heard> {
        let heard = self.heard.try_recv().ok()?;
        Some(self.read(heard))
    }

    pub(super) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    fn read(&self, heard: Heard) -> Heard {
        self.counts.bytes.fetch_sub(heard.payload.len(), Ordering::Relaxed);
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: usize) -> Message {
        Message {
            subject: "tenure.prod.call".into(),
            reply: None,
            payload: vec![0; size].into(),
            headers: None,
            status: None,
            description: None,
            length: size,
        }
    }

    fn read(reader: &mut Reader) -> usize {
        std::iter::from_fn(|| reader.take()).count()
    }

    #[test]
    fn a_flood_is_bounded_in_number_and_in_bytes() {
        let (queue, mut reader) = new();
        (0..MESSAGES_MAX + 10).for_each(|_| queue.put(1, message(1)));
        assert_eq!((reader.lost(), read(&mut reader)), (10, MESSAGES_MAX));
        let large = BYTES_MAX / PACKET_BYTES_MAX;
        (0..large + 3).for_each(|_| queue.put(1, message(PACKET_BYTES_MAX)));
        assert_eq!((reader.lost(), read(&mut reader)), (13, large));
        queue.put(1, message(8 * 1024 * 1024));
        let cut = reader.take().unwrap();
        assert_eq!(cut.payload.len(), PACKET_BYTES_MAX + 1, "still too long");
        assert_eq!(reader.counts.bytes.load(Ordering::Relaxed), 0);
    }
}
