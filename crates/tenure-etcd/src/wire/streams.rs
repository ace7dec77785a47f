//! The streams of watches on one connection.
//!
//! etcd checks a stream's token only when a watch is opened on that stream. So new watches are
//! opened on the stream of the newest login. Watches on older streams go on there until they end.
//! When there are too many streams, the watches of the oldest stream move to the newest.

use std::collections::{BTreeSet, VecDeque};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use etcd_client::{Error, WatchRequestSender, WatchResponse, WatchResponseStream, WatchStream};
use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{CallId, Refusal};
use tokio::sync::mpsc;

use super::convert::{self, WatchRange};
use super::links::{Link, Links};

/// The maximum number of streams besides the stream of new watches. A stream costs etcd some ten
/// kilobytes, and a signed token may last only for minutes.
const OLDER: usize = 3;

pub(super) type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(super) struct Streams {
    pub(super) newest: Stage,
    /// Streams without new watches, the oldest first.
    older: VecDeque<Live>,
    /// Index of the stream that is read first next time.
    turn: usize,
}

#[expect(clippy::large_enum_variant, reason = "there is one of it")]
pub(super) enum Stage {
    Idle,
    Linking(Pending<Result<Arc<Link>, Refusal>>),
    Opening {
        link: Arc<Link>,
        first: CallId,
        since: Time,
        opened: Pending<Result<WatchStream, Error>>,
    },
    Live(Live),
}

pub(super) struct Live {
    pub(super) link: Arc<Link>,
    orders: mpsc::UnboundedSender<Order>,
    answers: WatchResponseStream,
    /// Time of the first request since the last answer on this stream.
    silent: Option<Time>,
    /// Watches without an answer, in the order of the requests: etcd answers in that order, and not
    /// every refusal names its watch.
    pub(super) creating: VecDeque<CallId>,
    /// All watches of this stream that are still wanted.
    watches: BTreeSet<CallId>,
}

/// Orders to the task that writes.
enum Order {
    Watch { id: i64, watched: WatchRange },
    Cancel { id: i64 },
}

pub(super) enum Step {
    Linked(Result<Arc<Link>, Refusal>),
    Opened(Result<WatchStream, Error>),
    /// A message on the stream of the link with this number.
    Received(u64, Result<Option<WatchResponse>, Error>),
    /// The connection of all streams was given up.
    Gone,
}

impl Live {
    /// A stream that has just opened, and on which the watch `first` was asked for.
    pub(super) fn new(link: Arc<Link>, stream: WatchStream, first: CallId) -> Self {
        let (sender, answers) = stream.split();
        let (orders, taken) = mpsc::unbounded_channel();
        tokio::spawn(write(sender, taken));
        Self {
            link,
            orders,
            answers,
            silent: Some(clock::now()),
            creating: VecDeque::from([first]),
            watches: BTreeSet::from([first]),
        }
    }

    pub(super) fn watch(&mut self, call: CallId, watched: WatchRange) {
        self.creating.push_back(call);
        self.watches.insert(call);
        self.silent.get_or_insert_with(clock::now);
        // The send fails if the writer has ended; then the stream has ended, too.
        let _ = self.orders.send(Order::Watch { id: id(call), watched });
    }

    pub(super) fn cancel(&mut self, call: CallId) {
        self.watches.remove(&call);
        let _ = self.orders.send(Order::Cancel { id: id(call) });
    }

    pub(super) fn ended(&mut self, call: CallId) {
        self.watches.remove(&call);
    }
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { newest: Stage::Idle, older: VecDeque::new(), turn: 0 }
    }

    pub(super) fn of(&mut self, link: u64) -> Option<&mut Live> {
        self.live().find(|live| live.link.number == link)
    }

    /// Number of the connection that all streams share.
    pub(super) fn connection(&self) -> Option<u64> {
        self.links().next().map(|link| link.connection.number)
    }

    /// The link on which a watch was or will be asked for, and the time since which its stream is
    /// silent.
    pub(super) fn silent(&mut self, asked_on: Option<u64>) -> Option<(Arc<Link>, Time)> {
        match (&self.newest, asked_on) {
            (Stage::Opening { link, since, .. }, on) if on.is_none_or(|on| on == link.number) => {
                Some((link.clone(), *since))
            }
            (_, on) => {
                let live = self.of(on?)?;
                Some((live.link.clone(), live.silent?))
            }
        }
    }

    /// Opens no more watches on the newest stream.
    pub(super) fn retire(&mut self) {
        match std::mem::replace(&mut self.newest, Stage::Idle) {
            Stage::Live(live) => self.older.push_back(live),
            other => self.newest = other,
        }
        self.drop_empty();
    }

    /// Ends the oldest stream if there are too many, and returns its watches.
    pub(super) fn crowded_out(&mut self) -> BTreeSet<CallId> {
        let oldest = if self.older.len() > OLDER { self.older.pop_front() } else { None };
        oldest.map(|oldest| oldest.watches).unwrap_or_default()
    }

    /// Ends old streams without watches.
    pub(super) fn drop_empty(&mut self) {
        self.older.retain(|live| !live.watches.is_empty());
    }

    pub(super) fn end(&mut self, link: u64) {
        self.older.retain(|live| live.link.number != link);
        let is_it = |newest: &Stage| match newest {
            Stage::Live(Live { link: of, .. }) | Stage::Opening { link: of, .. } => {
                of.number == link
            }
            Stage::Idle | Stage::Linking(_) => false,
        };
        if is_it(&self.newest) {
            self.newest = Stage::Idle;
        }
    }

    /// Links of all streams that are open or about to be.
    pub(super) fn links(&self) -> impl Iterator<Item = &Arc<Link>> {
        let newest = match &self.newest {
            Stage::Live(Live { link, .. }) | Stage::Opening { link, .. } => Some(link),
            Stage::Idle | Stage::Linking(_) => None,
        };
        self.older.iter().map(|live| &live.link).chain(newest)
    }

    /// Waits for the next step. Cancel safe: pending messages stay here.
    pub(super) async fn next(&mut self, links: &Links) -> Step {
        let connection = self.connection();
        let Self { newest, older, turn } = self;
        let mut streams = older.iter_mut().collect::<Vec<_>>();
        let mut pending = None;
        match newest {
            Stage::Idle => {}
            Stage::Linking(_) | Stage::Opening { .. } => pending = Some(newest),
            Stage::Live(live) => streams.push(live),
        }
        let gone = async {
            match connection {
                Some(connection) => links.gone(connection).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            step = coming(pending) => step,
            received = receive(&mut streams, turn) => received,
            () = gone => Step::Gone,
        }
    }

    fn live(&mut self) -> impl Iterator<Item = &mut Live> {
        let newest = match &mut self.newest {
            Stage::Live(live) => Some(live),
            Stage::Idle | Stage::Linking(_) | Stage::Opening { .. } => None,
        };
        self.older.iter_mut().chain(newest)
    }
}

/// Waits for the next step of a stage without an open stream.
async fn coming(stage: Option<&mut Stage>) -> Step {
    match stage {
        Some(Stage::Linking(linked)) => Step::Linked(linked.await),
        Some(Stage::Opening { opened, .. }) => Step::Opened(opened.await),
        Some(Stage::Idle | Stage::Live(_)) | None => std::future::pending().await,
    }
}

/// Waits for the next message of etcd on any stream; the streams take turns.
async fn receive(streams: &mut [&mut Live], turn: &mut usize) -> Step {
    std::future::poll_fn(|context| {
        for nth in 0..streams.len() {
            let nth = (nth + *turn) % streams.len();
            let Live { answers, link, silent, .. } = &mut *streams[nth];
            if let Poll::Ready(answer) = pin!(answers.message()).poll(context) {
                *turn = nth + 1;
                *silent = None;
                return Poll::Ready(Step::Received(link.number, answer));
            }
        }
        Poll::Pending
    })
    .await
}

/// Writes orders one after the other, as fast as etcd reads.
async fn write(mut sender: WatchRequestSender, mut orders: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        let written = match order {
            Order::Watch { id, watched } => {
                let (key, options) = convert::watch(&watched, id);
                sender.watch(key, Some(options)).await
            }
            Order::Cancel { id } => sender.cancel(id).await,
        };
        if written.is_err() {
            // The reader of the stream sees the failure, too, and acts on it.
            return;
        }
    }
}

/// The id of a watch is the number of its call. Calls are counted from one, so they do not reach
/// 2⁶³.
pub(super) fn id(call: CallId) -> i64 {
    convert::signed(call.0)
}
