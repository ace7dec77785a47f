//! Large answers. All callers share an answer for a moment. Few answers are written at a time, and
//! each in parts, so that a client that reads slowly holds no copy.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Bytes, Frame, SizeHint};
use tenure::{ElectionName, Time, clock};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

/// The most answers that are written at a time.
const WRITTEN_MAX: usize = 8;
/// The bytes of an answer that a connection takes at a time.
const PART: usize = 16 * 1_024;

/// Answers that callers share.
#[derive(Debug)]
pub(crate) struct SharedAnswers {
    /// A page of the list, by the name that it follows and its limit.
    pub(crate) list: SharedAnswer<(Option<ElectionName>, usize)>,
    pub(crate) metrics: SharedAnswer<()>,
    places: Arc<Semaphore>,
}

impl Default for SharedAnswers {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(WRITTEN_MAX));
        Self { list: SharedAnswer::default(), metrics: SharedAnswer::default(), places }
    }
}

/// The last answer, with its question and the end of its validity. The lock makes later callers
/// wait for the same answer.
#[derive(Debug)]
pub(crate) struct SharedAnswer<K>(Mutex<Option<(Time, K, Bytes)>>);

impl<K> Default for SharedAnswer<K> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<K: PartialEq> SharedAnswer<K> {
    /// The answer to `asked`; `None` if `make` cannot make an answer.
    async fn get(&self, asked: K, make: impl Future<Output = Option<Made>>) -> Option<Bytes> {
        let mut last = self.0.lock().await;
        if let Some((until, before, bytes)) = &*last
            && clock::now() < *until
            && *before == asked
        {
            return Some(bytes.clone());
        }
        let Made { until, bytes } = make.await?;
        *last = Some((until, asked, bytes.clone()));
        Some(bytes)
    }
}

/// An answer that holds until this time.
pub(crate) struct Made {
    pub(crate) until: Time,
    pub(crate) bytes: Bytes,
}

impl SharedAnswers {
    /// Answers with the shared bytes, once there is a place.
    pub(crate) async fn answer<K: PartialEq>(
        &self,
        shared: &SharedAnswer<K>,
        asked: K,
        kind: &'static str,
        make: impl Future<Output = Option<Made>>,
    ) -> Response {
        // The semaphore is never closed.
        let place = self.places.clone().acquire_owned().await.ok();
        match shared.get(asked, make).await {
            Some(left) => {
                let body = Body::new(InParts { left, _place: place });
                ([(header::CONTENT_TYPE, kind)], body).into_response()
            }
            None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// A body that hands out its next part only when the connection has room, and has its place until
/// the last part is taken.
struct InParts {
    left: Bytes,
    _place: Option<OwnedSemaphorePermit>,
}

impl hyper::body::Body for InParts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.left.len().min(PART);
        let part = (part > 0).then(|| self.left.split_to(part));
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn made(bytes: &'static str, until: Time) -> Option<Made> {
        Some(Made { until, bytes: Bytes::from_static(bytes.as_bytes()) })
    }

    #[tokio::test]
    async fn answer_is_shared_while_it_holds() {
        let shared = SharedAnswer::default();
        let later = clock::now().after(Duration::from_secs(3_600));
        let get = async |asked: u8, bytes, until| {
            shared.get(asked, async move { made(bytes, until) }).await.unwrap()
        };
        assert_eq!(get(1, "a", later).await, "a");
        assert_eq!(get(1, "b", later).await, "a");
        assert_eq!(get(2, "c", Time::ZERO).await, "c", "another question");
        assert_eq!(get(2, "d", later).await, "d", "the answer holds no more");
    }

    /// A client that reads nothing keeps its place until it leaves.
    #[tokio::test]
    async fn few_answers_are_written() {
        let answers = SharedAnswers::default();
        let ask = async || {
            let later = clock::now().after(Duration::from_secs(3_600));
            let make = async move { made("metrics", later) };
            answers.answer(&answers.metrics, (), "text/plain", make).await
        };
        let mut unread = Vec::new();
        for _ in 0..WRITTEN_MAX {
            unread.push(ask().await);
        }
        let next = ask();
        tokio::pin!(next);
        assert!(ready_now(next.as_mut()).await.is_none());
        unread.pop();
        assert_eq!(next.await.status(), StatusCode::OK);
    }

    /// The result of a future that is ready now.
    async fn ready_now<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(ready) => Poll::Ready(Some(ready)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }
}
