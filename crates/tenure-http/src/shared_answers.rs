//! Large answers, which callers share for a moment. A connection copies a part of an answer at a
//! time, so that a client that reads slowly holds no copy of the whole.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Bytes, Frame, SizeHint};
use tenure::{ElectionName, Time, clock};

use crate::watch::lock;

/// The most answers that callers hold at a time. Any number of callers may read the same answer.
const HELD_MAX: usize = 8;
/// The bytes of an answer that a connection takes at a time.
const PART: usize = 16 * 1_024;

/// The bytes of an answer; empty once callers hold too many later answers.
type Shared = Mutex<Vec<u8>>;

/// Answers that callers share.
#[derive(Debug, Default)]
pub(crate) struct SharedAnswers {
    /// A page of the list of elections. The key: the name after which the page begins, and its
    /// limit.
    pub(crate) list: SharedAnswer<(Option<ElectionName>, usize)>,
    pub(crate) metrics: SharedAnswer<()>,
    /// Answers that callers may still hold, the oldest first.
    held: Mutex<VecDeque<Weak<Shared>>>,
}

/// The last answer, with its question and the end of its validity. The lock makes later callers
/// wait for the same answer.
#[derive(Debug)]
pub(crate) struct SharedAnswer<K>(tokio::sync::Mutex<Option<(Time, K, Arc<Shared>)>>);

impl<K> Default for SharedAnswer<K> {
    fn default() -> Self {
        Self(tokio::sync::Mutex::new(None))
    }
}

/// An answer that holds until this time.
pub(crate) struct Made {
    pub(crate) until: Time,
    pub(crate) bytes: Vec<u8>,
}

impl SharedAnswers {
    /// Answers `asked` with the shared bytes. If these bytes are out of date, `make` makes new
    /// bytes.
    pub(crate) async fn answer<K: PartialEq>(
        &self,
        shared: &SharedAnswer<K>,
        asked: K,
        kind: &'static str,
        make: impl Future<Output = Option<Made>>,
    ) -> Response {
        match self.get(shared, asked, make).await {
            Some(body) => ([(header::CONTENT_TYPE, kind)], Body::new(body)).into_response(),
            None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    async fn get<K: PartialEq>(
        &self,
        shared: &SharedAnswer<K>,
        asked: K,
        make: impl Future<Output = Option<Made>>,
    ) -> Option<InParts> {
        let mut last = shared.0.lock().await;
        if let Some((until, before, answer)) = &*last
            && clock::now() < *until
            && *before == asked
            && let Some(body) = InParts::of(answer)
        {
            return Some(body);
        }
        let Made { until, bytes } = make.await?;
        let answer = Arc::new(Mutex::new(bytes));
        self.hold(&answer);
        let body = InParts::of(&answer);
        *last = Some((until, asked, answer));
        body
    }

    /// Records a new answer. If callers hold too many answers, cuts off the readers of the oldest.
    fn hold(&self, answer: &Arc<Shared>) {
        let mut held = lock(&self.held);
        held.retain(|answer| answer.strong_count() > 0);
        held.push_back(Arc::downgrade(answer));
        if held.len() > HELD_MAX
            && let Some(oldest) = held.pop_front().and_then(|oldest| oldest.upgrade())
        {
            *lock(&oldest) = Vec::new();
        }
    }
}

/// A body that hands out a copy of its next part only when the connection has room.
struct InParts {
    answer: Arc<Shared>,
    /// The number of bytes that were already taken, and the number of all bytes.
    taken: usize,
    whole: usize,
}

/// The answer is gone, because callers hold too many later answers.
#[derive(Debug, thiserror::Error)]
#[error("the answer was read too slowly, and others wait")]
struct Gone;

impl InParts {
    /// The body of an answer that is not gone.
    fn of(answer: &Arc<Shared>) -> Option<Self> {
        let whole = lock(answer).len();
        (whole > 0).then(|| Self { answer: answer.clone(), taken: 0, whole })
    }
}

impl hyper::body::Body for InParts {
    type Data = Bytes;
    type Error = Gone;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Gone>>> {
        let end = self.whole.min(self.taken + PART);
        if self.taken == end {
            return Poll::Ready(None);
        }
        let part = lock(&self.answer).get(self.taken..end).map(Bytes::copy_from_slice);
        self.taken = end;
        Poll::Ready(Some(part.map(Frame::data).ok_or(Gone)))
    }

    fn is_end_stream(&self) -> bool {
        self.taken == self.whole
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.whole - self.taken) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn made(bytes: &str, until: Time) -> Option<Made> {
        Some(Made { until, bytes: bytes.into() })
    }

    async fn read(body: InParts) -> Option<Bytes> {
        axum::body::to_bytes(Body::new(body), usize::MAX).await.ok()
    }

    #[tokio::test]
    async fn answer_is_shared_while_it_holds() {
        let (all, shared) = (SharedAnswers::default(), SharedAnswer::default());
        let later = clock::now().after(Duration::from_secs(3_600));
        let get = async |asked: u8, bytes, until| {
            let body = all.get(&shared, asked, async move { made(bytes, until) }).await;
            read(body.unwrap()).await.unwrap()
        };
        assert_eq!(get(1, "a", later).await, "a");
        assert_eq!(get(1, "b", later).await, "a");
        assert_eq!(get(2, "c", Time::ZERO).await, "c", "another question");
        assert_eq!(get(2, "d", later).await, "d", "the answer holds no more");
    }

    /// Clients that read nothing share an answer, or hold few answers. All other clients get their
    /// answers at once.
    #[tokio::test]
    async fn slow_readers_hold_few_answers() {
        let all = SharedAnswers::default();
        let later = clock::now().after(Duration::from_secs(3_600));
        let list = async |limit: usize| {
            let make = async move { made(&limit.to_string(), later) };
            all.get(&all.list, (None, limit), make).await.unwrap()
        };
        let metrics = async || {
            let make = async { made("metrics", later) };
            all.get(&all.metrics, (), make).await.unwrap()
        };
        let mut unread = Vec::new();
        for _ in 0..2 * HELD_MAX {
            unread.push(list(0).await);
        }
        let (first, second) = (list(1).await, list(2).await);
        let shared = unread.split_off(1);
        drop(shared);
        for limit in 3..HELD_MAX {
            unread.push(list(limit).await);
        }
        assert_eq!(read(metrics().await).await.unwrap(), "metrics");
        assert!(read(unread.remove(0)).await.is_none(), "the oldest is gone");
        assert_eq!(read(first).await.unwrap(), "1");
        assert_eq!(read(list(HELD_MAX).await).await.unwrap(), "8");
        assert_eq!(read(second).await.unwrap(), "2", "there was room");
        for limit in 9..9 + HELD_MAX {
            unread.push(list(limit).await);
        }
        assert_eq!(read(metrics().await).await.unwrap(), "metrics", "made anew");
    }
}
