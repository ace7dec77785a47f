//! Unread messages, bounded in number and in bytes. Questions have a lane of their own and take no
//! room from packets of participants, because strangers without other rights may ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_nats::Message;
use bytes::Bytes;
use tenure_core::allcall::PACKET_BYTES_MAX;
use tokio::sync::mpsc;

use crate::subject::Kind;

/// Room for 256 participants that each answer 256 calls.
const MESSAGES_MAX: usize = 65_536;
/// The maximum number of bytes of all packets together.
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// Room for one question from each of several hundred observers.
const ASKS_MAX: usize = 1_024;
/// The maximum number of bytes of all questions together.
const ASKS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A message as a subscriber gets it.
#[derive(Debug)]
pub struct Delivery {
    pub connection: u64,
    pub subject: Arc<str>,
    pub payload: Bytes,
}

impl Delivery {
    fn size(&self) -> usize {
        self.subject.len() + self.payload.len()
    }
}

#[derive(Default)]
struct Counts {
    bytes: AtomicUsize,
    lost: AtomicU64,
}

/// The writing side of one lane.
struct Put {
    heard: mpsc::Sender<Delivery>,
    bytes_max: usize,
    counts: Arc<Counts>,
}

/// The reading side of one lane.
struct Take {
    heard: mpsc::Receiver<Delivery>,
    counts: Arc<Counts>,
}

/// The writing side.
pub(super) struct Queue {
    asks: Put,
    others: Put,
}

/// The reading side: questions come last.
pub(super) struct Reader {
    asks: Take,
    others: Take,
}

fn lane(messages_max: usize, bytes_max: usize) -> (Put, Take) {
    let (put, heard) = mpsc::channel(messages_max);
    let counts: Arc<Counts> = Arc::default();
    (Put { heard: put, bytes_max, counts: counts.clone() }, Take { heard, counts })
}

pub(super) fn new() -> (Queue, Reader) {
    let (put_asks, asks) = lane(ASKS_MAX, ASKS_BYTES_MAX);
    let (put_others, others) = lane(MESSAGES_MAX, BYTES_MAX);
    (Queue { asks: put_asks, others: put_others }, Reader { asks, others })
}

fn is_question(subject: &str) -> bool {
    subject.rsplit('.').next() == Some(Kind::Ask.word())
}

impl Queue {
    /// Keeps a message, or drops it without room, as any bus does. Returns whether the message is
    /// kept.
    pub(super) fn put(&self, connection: u64, message: &Message) -> bool {
        // A message that is too long for a packet is cut just behind the limit.
        let length = message.payload.len().min(PACKET_BYTES_MAX + 1);
        let lane = if is_question(&message.subject) { &self.asks } else { &self.others };
        lane.put(message.subject.len() + length, || {
            // The bytes are copied, because the client library's buffer holds all bytes of the
            // same read.
            let payload = Bytes::copy_from_slice(message.payload.get(..length).unwrap_or_default());
            Delivery { connection, subject: message.subject.as_str().into(), payload }
        })
    }
}

impl Put {
    fn put(&self, size: usize, heard: impl FnOnce() -> Delivery) -> bool {
        let Counts { bytes, lost } = &*self.counts;
        let fits = bytes.load(Ordering::Relaxed) + size <= self.bytes_max;
        let Some(room) = self.heard.try_reserve().ok().filter(|_| fits) else {
            lost.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        bytes.fetch_add(size, Ordering::Relaxed);
        room.send(heard());
        true
    }
}

impl Take {
    async fn next(&mut self) -> Delivery {
        match self.heard.recv().await {
            Some(heard) => self.read(heard),
            None => std::future::pending().await,
        }
    }

    fn take(&mut self) -> Option<Delivery> {
        let heard = self.heard.try_recv().ok()?;
        Some(self.read(heard))
    }

    fn read(&self, heard: Delivery) -> Delivery {
        self.counts.bytes.fetch_sub(heard.size(), Ordering::Relaxed);
        heard
    }

    fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }
}

impl Reader {
    /// Takes the next message. Cancel safe. Waits for ever once the writing side is gone.
    pub(super) async fn next(&mut self) -> Delivery {
        tokio::select! {
            biased;
            heard = self.others.next() => heard,
            heard = self.asks.next() => heard,
        }
    }

    pub(super) fn take(&mut self) -> Option<Delivery> {
        self.others.take().or_else(|| self.asks.take())
    }

    pub(super) fn lost(&self) -> u64 {
        self.others.lost() + self.asks.lost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "tenure.prod.call";

    fn message(subject: &str, size: usize) -> Message {
        Message {
            subject: subject.into(),
            reply: None,
            payload: vec![0; size].into(),
            headers: None,
            status: None,
            description: None,
            length: size,
        }
    }

    /// Returns the number of messages that are kept.
    fn put(queue: &Queue, number: usize, subject: &str, size: usize) -> usize {
        (0..number).filter(|_| queue.put(1, &message(subject, size))).count()
    }

    fn read(reader: &mut Reader) -> usize {
        std::iter::from_fn(|| reader.take()).count()
    }

    #[test]
    fn flood_is_bounded() {
        let (queue, mut reader) = new();
        assert_eq!(put(&queue, MESSAGES_MAX + 10, CALL, 1), MESSAGES_MAX);
        assert_eq!((reader.lost(), read(&mut reader)), (10, MESSAGES_MAX));
        let large = BYTES_MAX / (PACKET_BYTES_MAX + CALL.len());
        assert_eq!(put(&queue, large + 3, CALL, PACKET_BYTES_MAX), large);
        assert_eq!((reader.lost(), read(&mut reader)), (13, large));
        assert_eq!(put(&queue, 1, CALL, 8 * 1024 * 1024), 1);
        let cut = reader.take().unwrap();
        assert_eq!(cut.payload.len(), PACKET_BYTES_MAX + 1, "still too long");
        assert_eq!(reader.others.counts.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn questions_are_read_last() {
        let (queue, mut reader) = new();
        let ask = "tenure.prod.ask";
        assert_eq!(put(&queue, 2 * MESSAGES_MAX, ask, 0), ASKS_MAX);
        assert_eq!(put(&queue, 1, CALL, 1), 1);
        assert_eq!(reader.lost(), (2 * MESSAGES_MAX - ASKS_MAX) as u64);
        assert_eq!(&*reader.take().unwrap().subject, CALL);
        assert_eq!(read(&mut reader), ASKS_MAX);
        // The limit counts the subject, because a stranger may choose a long subject.
        let long = format!("tenure.{}.ask", "x".repeat(64 * 1024));
        let kept = ASKS_BYTES_MAX / long.len();
        assert_eq!((put(&queue, ASKS_MAX, &long, 0), read(&mut reader)), (kept, kept));
        assert_eq!(reader.asks.counts.bytes.load(Ordering::Relaxed), 0);
    }
}
