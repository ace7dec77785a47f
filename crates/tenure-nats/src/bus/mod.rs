//! The connection to the bus: how it is made, used, and made anew.
//!
//! Each connection is a client of its own. `async-nats` would reconnect by itself, and then send
//! messages of the time in between. Our clients do not reconnect, so unsent messages are gone with
//! their connection. The bus drops unread messages of an earlier connection as well.

mod connect;
mod queue;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_nats::{Client, Event, Message, ServerError as Said, Subscriber};
use tenure::{Time, clock};
use tenure_core::Backoff;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt as _;

pub use self::connect::{Asks, ConnectError};
use self::connect::{Connection, UNREAD_MAX, connect};
pub use self::queue::Delivery;
use self::queue::{Queue, Reader};
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::server::Server;

/// The pause between attempts on all servers: nodes that lost the same server come back at
/// different times.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(2) };

/// The maximum number of unread changes of the connection. Further notices are dropped.
const NEWS_MAX: usize = 256;

/// The bus reports a loss of messages only if no message was lost for this time before.
const QUIET: Duration = Duration::from_secs(10);

/// Changes of the connection.
#[derive(Debug)]
pub enum News {
    Up(Up),
    Down,
    Notice(Notice),
}

#[derive(Debug)]
pub struct Up {
    client: Client,
    /// The maximum number of bytes of a packet, as the server gives it.
    pub max_payload: usize,
    number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Published {
    /// The connection has the message, which may still be lost.
    Handed,
    /// No connection: the message is dropped.
    NotConnected,
    /// The server reads nothing at the moment, and the queue for the server is full.
    Stuck,
    /// The server refuses messages of this size.
    TooLarge,
}

/// An input from the bus.
#[derive(Debug)]
pub enum Incoming {
    News(News),
    Delivery(Delivery),
}

/// The bus for packets of one cluster.
pub struct Bus {
    news: mpsc::Receiver<News>,
    heard: Reader,
    up: Option<Up>,
    task: JoinHandle<()>,
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("up", &self.up).finish_non_exhaustive()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bus {
    /// Connects, and stays connected as long as this value lives. The bus leaves a server that is
    /// silent for about three times `silence`. Must be called in a runtime with I/O and time.
    #[must_use]
    pub fn new(options: CheckedOptions, subject: String, name: String, silence: Duration) -> Self {
        let (tell, news) = mpsc::channel(NEWS_MAX);
        let (queue, heard) = queue::new();
        let keeper = Keeper { options, subject, name, silence, tell, queue };
        let task = tokio::spawn(keeper.run());
        Self { news, heard, up: None, task }
    }

    /// Waits for the next input. Cancel safe.
    pub async fn next(&mut self) -> Incoming {
        tokio::select! {
            biased;
            Some(news) = self.news.recv() => Incoming::News(news),
            heard = self.heard.next() => Incoming::Delivery(heard),
        }
    }

    /// Takes a change of the connection that has come already.
    #[must_use]
    pub fn take_news(&mut self) -> Option<News> {
        self.news.try_recv().ok()
    }

    /// Takes a message that has come already.
    #[must_use]
    pub fn take_heard(&mut self) -> Option<Delivery> {
        self.heard.take()
    }

    /// Uses this connection from now on. Returns the maximum number of bytes of a packet.
    #[must_use]
    pub fn use_connection(&mut self, up: Up) -> usize {
        self.up.insert(up).max_payload
    }

    /// Stops using the connection.
    pub fn forget_connection(&mut self) {
        self.up = None;
    }

    /// Whether the message came on the connection in use.
    #[must_use]
    pub fn is_current(&self, heard: &Delivery) -> bool {
        self.up.as_ref().is_some_and(|up| up.number == heard.connection)
    }

    /// The number of messages that were lost because too many came.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.heard.lost()
    }

    /// Publishes a message now, or drops it.
    #[must_use]
    pub fn publish(&self, subject: &str, payload: Vec<u8>) -> Published {
        let Some(Up { client, max_payload, .. }) = &self.up else { return Published::NotConnected };
        if payload.len() > *max_payload {
            return Published::TooLarge;
        }
        // Poll once, and drop a message that would wait for room. Without `unconstrained` the
        // runtime could make the message wait because this task has done much already.
        let published = client.publish(subject.to_owned(), payload.into());
        let sent = pin!(tokio::task::unconstrained(published));
        match sent.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Published::Handed,
            Poll::Ready(Err(_)) => Published::NotConnected,
            Poll::Pending => Published::Stuck,
        }
    }
}

struct Keeper {
    options: CheckedOptions,
    subject: String,
    name: String,
    silence: Duration,
    tell: mpsc::Sender<News>,
    queue: Queue,
}

#[derive(Default)]
struct Losses {
    last: Option<Time>,
}

impl Losses {
    /// Notes that messages were lost now. Returns whether to report the loss.
    fn are_news(&mut self, now: Time) -> bool {
        let last = self.last.replace(now);
        last.is_none_or(|last| now.since(last) >= QUIET)
    }
}

enum Reason {
    /// The connection is gone, or of no use any more.
    Lost(Arc<str>),
    /// The server does not accept the login any more.
    LoggedOut(Arc<str>),
    LameDuck,
    Closed,
}

impl Keeper {
    async fn run(self) {
        let mut next = 0;
        let mut failures = 0_u32;
        for number in 1_u64.. {
            let server = loop {
                let server = &self.options.servers[next % self.options.servers.len()];
                match connect(&self.options, server, &self.subject, &self.name, self.silence).await
                {
                    Ok(connection) => {
                        let left = self.keep(server, connection, number).await;
                        if self.say_left(server, left).await { break server } else { return }
                    }
                    Err(error) => {
                        self.say(Notice::Unreachable { server: server.clone(), error });
                    }
                }
                next += 1;
                failures = failures.saturating_add(1);
                if failures.is_multiple_of(u32::try_from(self.options.servers.len()).unwrap_or(1)) {
                    self.pause(failures).await;
                }
            };
            tracing::debug!(%server, number, "the connection was left");
            next += 1;
            failures = 0;
            self.pause(0).await;
        }
    }

    async fn pause(&self, failures: u32) {
        let draw = |below: Duration| {
            let mut bytes = [0; 4];
            // Without randomness all nodes come back at once, which only costs time.
            let _ = getrandom::fill(&mut bytes);
            below.mul_f64(f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX))
        };
        let passes = failures / u32::try_from(self.options.servers.len()).unwrap_or(1);
        tokio::time::sleep(BACKOFF.pause(passes, draw)).await;
    }

    fn say(&self, notice: Notice) {
        // The send fails without room, or when the node has ended; ignore it.
        let _ = self.tell.try_send(News::Notice(notice));
    }

    /// Reports why the server was left. Returns whether to go on with the next server.
    async fn say_left(&self, server: &Server, left: Reason) -> bool {
        let server = server.clone();
        let notice = match left {
            Reason::Lost(why) => Notice::Disconnected { server, why },
            Reason::LoggedOut(said) => Notice::LoggedOut { server, said },
            Reason::LameDuck => Notice::Leaving { server },
            Reason::Closed => return false,
        };
        let _ = self.tell.send(News::Down).await;
        self.say(notice);
        true
    }

    /// Passes inputs on until there is a reason to leave the connection, and returns the reason.
    async fn keep(&self, server: &Server, connection: Connection, number: u64) -> Reason {
        let Connection { client, mut subscriber, mut events, has_lost, info } = connection;
        let name = info.server_name.as_str().into();
        let version = info.version.as_str().into();
        self.say(Notice::Connected { server: server.clone(), name, version });
        let up = Up { client, max_payload: info.max_payload, number };
        if self.tell.send(News::Up(up)).await.is_err() {
            return Reason::Closed;
        }
        let mut losses = Losses::default();
        loop {
            let event = tokio::select! {
                biased;
                message = subscriber.next() => match message {
                    Some(message) => {
                        let all = self.take_over(number, &message, &mut subscriber);
                        let lost = has_lost.swap(false, Ordering::AcqRel) || !all;
                        if lost && losses.are_news(clock::now()) {
                            self.say(Notice::Overrun { server: server.clone() });
                        }
                        continue;
                    }
                    // The subscription has ended: earlier events give the reason.
                    None => events.recv().await,
                },
                event = events.recv() => event,
                () = self.tell.closed() => return Reason::Closed,
            };
            let Some(event) = event else {
                return Reason::Lost("the connection has ended".into());
            };
            if let Some(left) = self.on_event(server, event) {
                return left;
            }
        }
    }

    /// Keeps a message, and all messages that the library has received with it. If those messages
    /// stayed in the library, the library would drop later messages of any kind. The loop ignores
    /// the runtime's budget, which a flood would use up before the loop has taken most messages.
    /// Returns whether all messages are kept.
    fn take_over(&self, number: u64, first: &Message, subscriber: &mut Subscriber) -> bool {
        let mut all = self.queue.put(number, first);
        for _ in 1..UNREAD_MAX {
            let next = pin!(tokio::task::unconstrained(subscriber.next()));
            match next.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Some(message)) => all &= self.queue.put(number, &message),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        all
    }

    fn on_event(&self, server: &Server, event: Event) -> Option<Reason> {
        let server = server.clone();
        match event {
            Event::Disconnected | Event::Closed => {
                return Some(Reason::Lost("the connection is closed, or silent".into()));
            }
            // Without another server, use this one until it ends.
            Event::LameDuckMode if self.options.servers.len() > 1 => return Some(Reason::LameDuck),
            Event::ServerError(Said::SlowConsumer(_)) => self.say(Notice::Overrun { server }),
            Event::ServerError(said) if is_about_the_login(&said) => {
                return Some(Reason::LoggedOut(said.to_string().into()));
            }
            Event::ServerError(said) => {
                let text = said.to_string().into();
                self.say(if is_about_a_right(&said) {
                    Notice::Denied { server, said: text }
                } else {
                    Notice::Complains { server, said: text }
                });
            }
            // The bus notices lost messages without these events.
            Event::Connected
            | Event::LameDuckMode
            | Event::Draining
            | Event::SlowConsumer(_)
            | Event::ClientError(_) => {}
        }
        None
    }
}

/// Whether a server refuses a login that it accepted before, for example after a change of its
/// configuration. A refused right, such as the right to a subject, does not count.
fn is_about_the_login(said: &Said) -> bool {
    const SIGNS: [&str; 4] = [
        "authorization violation",
        "authentication expired",
        "authentication revoked",
        "authentication timeout",
    ];
    let text = said.to_string().to_lowercase();
    *said == Said::AuthorizationViolation || SIGNS.iter().any(|sign| text.contains(sign))
}

/// Whether the server says that a login lacks a right. This lasts until an operator grants the
/// right. Any other error, such as a stale connection, passes.
fn is_about_a_right(said: &Said) -> bool {
    said.to_string().to_lowercase().contains("permissions violation")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_of_losses_is_news_once() {
        let mut losses = Losses::default();
        let begin = clock::now();
        let at = [0, 1, 10, 19, 30, 31].map(|second| begin.after(Duration::from_secs(second)));
        let news = at.map(|now| losses.are_news(now));
        assert_eq!(news, [true, false, false, false, true, false]);
    }

    #[test]
    fn refused_login_is_no_missing_right() {
        let other = |text: &str| Said::Other(text.to_owned());
        assert!(is_about_the_login(&Said::AuthorizationViolation));
        assert!(is_about_the_login(&other("User Authentication Expired")));
        assert!(is_about_the_login(&other("Account Authentication Expired")));
        assert!(is_about_the_login(&other("User Authentication Revoked")));
        let denied = other("Permissions Violation for Publish to \"tenure.tenure.call\"");
        assert!(!is_about_the_login(&denied));
        assert!(!is_about_the_login(&Said::SlowConsumer(1)));
    }

    #[test]
    fn transient_error_is_no_missing_right() {
        let other = |text: &str| Said::Other(text.to_owned());
        for kind in ["Publish", "Subscription"] {
            let text = format!("Permissions Violation for {kind} to \"tenure.tenure.call\"");
            assert!(is_about_a_right(&other(&text)));
        }
        for text in
            ["Stale Connection", "Maximum Connections Exceeded", "Unknown Protocol Operation"]
        {
            assert!(!is_about_a_right(&other(text)) && !is_about_the_login(&other(text)), "{text}");
        }
    }
}
