//! Server-sent events.

#![expect(unused_qualifications, reason = "the macro of paths qualifies names")]

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as Line, KeepAlive, KeepAliveStream, Sse};
use serde::Deserialize;
use tenure::clock;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;

use super::elections::named;
use super::{OfMonitor, not_here};
use crate::events::{Event, Kind, Since};
use crate::monitor::Monitor;
use crate::problem::Problem;
use crate::watch::{FRESH, Watched};

/// The largest number of unsent events of a subscriber that reads slowly.
const UNSENT_MAX: usize = 64;
/// The longest wait for a subscriber that reads nothing.
const SLOW_MAX: Duration = Duration::from_secs(5);
/// The most subscribers at a time.
pub(crate) const SUBSCRIBERS_MAX: usize = 64;
/// The pause between two looks at the members.
const LOOKS: Duration = Duration::from_secs(2);
const KEEP_ALIVE: Duration = Duration::from_secs(10);

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// Only events about this election.
    election: Option<String>,
}

type Lines = mpsc::Sender<Result<Line, Infallible>>;

/// Server-sent events: view, here, member and gap.
#[utoipa::path(
    get,
    path = "/v1/events",
    params(Filter),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 404, description = "this process does not watch the election", body = Problem),
        (status = 503, description = "too many subscribers", body = Problem),
    ),
)]
pub(crate) async fn events(
    State(shown): OfMonitor,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Result<Sse<KeepAliveStream<ReceiverStream<Result<Line, Infallible>>>>, Problem> {
    // Refuse an election that this process does not watch: the subscriber would wait for ever, as
    // if the election never changed.
    if let Some(name) = &filter.election
        && named(&shown, name).await.is_none()
    {
        return Err(not_here(StatusCode::NOT_FOUND, name));
    }
    let shared = &shown.monitor.shared;
    let Ok(place) = shared.counts.subscribers.clone().try_acquire_owned() else {
        shared.counts.refuse("subscribers");
        let detail = format!("{SUBSCRIBERS_MAX} subscribers are connected already: connect later");
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail));
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last = last.map(|id| id.parse::<u64>().ok());
    let (lines, sent) = mpsc::channel(UNSENT_MAX);
    let monitor = shown.monitor.clone();
    tokio::spawn(async move {
        let subscriber = Subscriber { monitor, only: filter.election, lines, slow: SLOW_MAX };
        // The server closes the stream of a subscriber that reads nothing. The subscriber may come
        // back with the id of its last event.
        let _ = subscriber.feed(last).await;
        drop(place);
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(ReceiverStream::new(sent)).keep_alive(keep_alive))
}

struct Subscriber {
    monitor: Monitor,
    only: Option<String>,
    lines: Lines,
    /// Time for which the server waits for a subscriber that reads too slowly, before it gives the
    /// subscriber up.
    slow: Duration,
}

/// The subscriber has closed the stream, or reads nothing.
struct Gone;

impl Subscriber {
    async fn feed(&self, last: Option<Option<u64>>) -> Result<(), Gone> {
        let events = &self.monitor.shared.events;
        let mut news = events.news();
        let mut from = match last {
            Some(last) => last.map_or(u64::MAX, |last| last.saturating_add(1)),
            None => {
                let from = *news.borrow_and_update();
                self.snapshot(from).await?;
                from
            }
        };
        loop {
            let next = *news.borrow_and_update();
            match events.since(from) {
                Since::Events(events) => {
                    for event in &events {
                        self.send_event(event).await?;
                    }
                    from = events.last().map_or(from, |event| event.id + 1);
                }
                Since::Missed(missed) => {
                    let data = serde_json::json!({"missed": missed});
                    self.send(Line::default().event(Kind::Gap.word()).data(data.to_string()))
                        .await?;
                    self.snapshot(next).await?;
                    from = next;
                }
            }
            // Ask only to cause events: each answer makes an event for each member and each
            // election that has changed.
            let look = async {
                tokio::time::sleep(LOOKS).await;
                tokio::join!(self.monitor.shared.health(), self.monitor.shared.refresh());
            };
            tokio::select! {
                () = look => {}
                changed = news.wait_for(|next| *next > from) => { changed.map_err(|_| Gone)?; }
                () = self.lines.closed() => return Err(Gone),
            }
        }
    }

    /// Sends the states of all elections. Only the last state has an id, the id before `next`: a
    /// subscriber that has missed some states gets all states again.
    async fn snapshot(&self, next: u64) -> Result<(), Gone> {
        self.monitor.shared.refresh().await;
        let mut after = None;
        let mut held: Option<Arc<Watched>> = None;
        loop {
            let (page, more) = self.monitor.shared.page(after.as_ref(), 64);
            after = page.last().map(|last| last.name.clone());
            for watched in page.into_iter().filter(|one| self.wants(one.name.as_str())) {
                if let Some(earlier) = held.replace(watched) {
                    self.send_view(&earlier, None).await?;
                }
            }
            if !more {
                break;
            }
        }
        match held {
            Some(last) => self.send_view(&last, Some(next - 1)).await,
            None => Ok(()),
        }
    }

    async fn send_view(&self, watched: &Watched, id: Option<u64>) -> Result<(), Gone> {
        let fact = watched.fact(4 * FRESH).await;
        let words = watched.words(&fact, clock::now());
        let data = serde_json::to_string(&words).map_err(|_| Gone)?;
        let mut line = Line::default().event(Kind::View.word()).data(data);
        if let Some(id) = id {
            line = line.id(id.to_string());
        }
        self.send(line).await
    }

    async fn send_event(&self, event: &Event) -> Result<(), Gone> {
        if event.election.as_ref().is_some_and(|name| !self.wants(name.as_str())) {
            return Ok(());
        }
        let Event { id, kind, data, .. } = event;
        self.send(Line::default().event(kind.word()).id(id.to_string()).data(data)).await
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }

    async fn send(&self, line: Line) -> Result<(), Gone> {
        let sent = tokio::time::timeout(self.slow, self.lines.send(Ok(line))).await;
        sent.map_err(|_| Gone)?.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Handle;

    use super::*;
    use crate::monitor::About;

    /// The server closes the stream of a subscriber that reads nothing. When the subscriber comes
    /// back, an event gives the number of events that it missed.
    #[tokio::test]
    async fn slow_reader_is_left() {
        let monitor = Monitor::new(About::new("a", "p"), Handle::current());
        let events = monitor.shared.events.clone();
        let (lines, unread) = mpsc::channel(2);
        let slow = Duration::from_millis(50);
        let subscriber = Subscriber { monitor: monitor.clone(), only: None, lines, slow };
        let feeds = tokio::spawn(async move { subscriber.feed(None).await });
        while !feeds.is_finished() {
            events.put(Kind::View, &"e".parse().unwrap(), &"x");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(feeds.await.unwrap().is_err());
        assert_eq!(unread.len(), 2, "no more is kept for it");
    }
}
