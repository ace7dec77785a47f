//! All watches of the process, on one stream.
//!
//! A watch that is not open yet may be asked for again on another link while its time lasts; one
//! that was open ends with its stream, and the core asks for what it may have missed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::proto::PbWatchResponse;
use etcd_client::{Error, WatchRequestSender, WatchResponse, WatchResponseStream, WatchStream};
use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{Answer, CallId, Change, Header, Op, Refusal, Reply, Request, Revision};
use tokio::sync::mpsc;

use super::News;
use super::convert::{self, Watched};
use super::fault::{Fault, shorten, words};
use super::links::{Link, Links};

/// How large an answer may be, in bytes: an event of another program's value that is larger ends
/// all watches. etcd warns of servers that take values above 10 MB.
const EVENT_MAX: usize = 64 << 20;

/// How much of one revision is kept until all of it has come, in bytes.
const REVISION_MAX: usize = 16 << 20;

pub(super) async fn run(
    links: Links,
    requests: mpsc::UnboundedReceiver<Request>,
    news: mpsc::Sender<News>,
) {
    let (watches, dues) = (BTreeMap::new(), BTreeSet::new());
    let stage = Stage::Idle;
    let waiting = VecDeque::new();
    Watches { links, requests, news, watches, waiting, dues, stage, newer_than: 0 }.run().await;
}

struct Watches {
    links: Links,
    requests: mpsc::UnboundedReceiver<Request>,
    news: mpsc::Sender<News>,
    watches: BTreeMap<CallId, Watch>,
    /// To be asked for, in this order; some of them may be given up already.
    waiting: VecDeque<CallId>,
    /// When a watch that is not open is given up.
    dues: BTreeSet<(Time, CallId)>,
    stage: Stage,
    /// The number of the last link that did not do.
    newer_than: u64,
}

struct Watch {
    watched: Watched,
    phase: Phase,
    due: Time,
    within: Duration,
    /// A new login was made for it already.
    logged_in_again: bool,
    /// Events of one revision of which there may be more to come.
    joined: Vec<Change>,
    joined_at: Revision,
    joined_size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Asked,
    Open,
}

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Where the stream is.
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
enum Stage {
    /// Nobody needs one.
    Idle,
    Linking(Pending<Result<Arc<Link>, Refusal>>),
    /// The first watch opens it.
    Opening {
        link: Arc<Link>,
        first: CallId,
        opened: Pending<Result<WatchStream, Error>>,
    },
    Live(Live),
}

struct Live {
    link: Arc<Link>,
    orders: mpsc::UnboundedSender<Order>,
    answers: WatchResponseStream,
    /// When etcd last said something on it.
    said: Time,
    /// What was asked for and is not answered, in the order of the requests: etcd answers in that
    /// order, and not every refusal tells which watch it is about.
    creating: VecDeque<CallId>,
}

/// For the task that writes.
enum Order {
    Watch { id: i64, watched: Watched },
    Cancel { id: i64 },
}

/// What happened.
enum Step {
    Request(Option<Request>),
    Due,
    Linked(Result<Arc<Link>, Refusal>),
    Opened(Result<WatchStream, Error>),
    Said(Result<Option<WatchResponse>, Error>),
    Gone,
}

impl Watches {
    async fn run(mut self) {
        loop {
            let due = self.dues.first().map(|(due, _)| due.since(clock::now()));
            let step = tokio::select! {
                request = self.requests.recv() => Step::Request(request),
                step = self.stage.next(&self.links) => step,
                () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => Step::Due,
            };
            match step {
                Step::Request(None) => return,
                Step::Request(Some(request)) => self.on_request(request),
                Step::Due => self.on_due().await,
                Step::Linked(linked) => self.on_linked(linked).await,
                Step::Opened(opened) => self.on_opened(opened).await,
                Step::Said(Ok(Some(answer))) => self.on_answer(answer.0).await,
                Step::Said(Ok(None)) => {
                    self.on_stream_end("the watch stream has ended".into()).await
                }
                Step::Said(Err(error)) => self.on_stream_error(&error).await,
                Step::Gone => self.on_stream_end("the connection was given up".into()).await,
            }
        }
    }

    fn on_request(&mut self, Request { call, within, op }: Request) {
        match op {
            Op::Watch { keys, from, deletions } => {
                let due = clock::now().after(within);
                self.dues.insert((due, call));
                let watch = Watch {
                    watched: Watched { keys, from, deletions },
                    phase: Phase::Waiting,
                    due,
                    within,
                    logged_in_again: false,
                    joined: Vec::new(),
                    joined_at: 0,
                    joined_size: 0,
                };
                self.watches.insert(call, watch);
                self.waiting.push_back(call);
                self.ask_waiting();
            }
            Op::Unwatch { watch } => drop(self.forget(watch)),
            Op::Grant { .. } | Op::KeepAlive { .. } | Op::Revoke { .. } | Op::Txn(_) => {}
        }
    }

    /// Asks for whatever waits, or sees to it that there is a stream.
    fn ask_waiting(&mut self) {
        match &mut self.stage {
            Stage::Idle if !self.waiting.is_empty() => {
                let (links, newer_than) = (self.links.clone(), self.newer_than);
                self.stage = Stage::Linking(Box::pin(async move { links.get(newer_than).await }));
            }
            Stage::Idle | Stage::Linking(_) | Stage::Opening { .. } => {}
            Stage::Live(live) => {
                for call in self.waiting.drain(..) {
                    let Some(watch) = self.watches.get_mut(&call) else { continue };
                    watch.phase = Phase::Asked;
                    live.creating.push_back(call);
                    let watched = watch.watched.clone();
                    // If the writer has ended, so has the stream.
                    let _ = live.orders.send(Order::Watch { id: id(call), watched });
                }
            }
        }
    }

    /// Nobody waits for a stream any more. As long as there is none, no watch is open.
    fn rest(&mut self) {
        if matches!(self.stage, Stage::Linking(_)) && self.watches.is_empty() {
            self.waiting.clear();
            self.stage = Stage::Idle;
        }
    }

    /// Nobody wants to hear of it any more; etcd need not tell.
    fn forget(&mut self, call: CallId) -> Option<Watch> {
        let watch = self.watches.remove(&call)?;
        self.dues.remove(&(watch.due, call));
        if let Stage::Live(live) = &self.stage
            && watch.phase != Phase::Waiting
        {
            let _ = live.orders.send(Order::Cancel { id: id(call) });
        }
        self.rest();
        Some(watch)
    }

    async fn on_due(&mut self) {
        let now = clock::now();
        while let Some((_, call)) = self.dues.first().copied().filter(|(due, _)| *due <= now) {
            let Some(watch) = self.forget(call) else {
                self.dues.pop_first();
                continue;
            };
            let why = shorten(&format!("the watch did not open within {:?}", watch.within));
            match &self.stage {
                Stage::Opening { link, .. } => self.links.lost(link, &why),
                // It may only be slow, with many of them.
                Stage::Live(live) if now.since(live.said) >= watch.within => {
                    self.links.lost(&live.link, &why);
                }
                Stage::Live(_) | Stage::Idle | Stage::Linking(_) => {}
            }
            self.tell(call, None, Reply::Unknown { why }).await;
        }
        // Without a stream yet, nothing tells of the end of one.
        if let Stage::Opening { link, .. } = &self.stage
            && !self.watches.values().any(|watch| watch.phase == Phase::Asked)
        {
            self.newer_than = link.number;
            self.stage = Stage::Idle;
            self.ask_waiting();
        }
    }

    async fn on_linked(&mut self, linked: Result<Arc<Link>, Refusal>) {
        self.stage = Stage::Idle;
        let link = match linked {
            Ok(link) => link,
            Err(refusal) => {
                for call in std::mem::take(&mut self.waiting) {
                    self.end(call, None, Reply::Refused(refusal.clone())).await;
                }
                return;
            }
        };
        let given_up = |call: &CallId| !self.watches.contains_key(call);
        while self.waiting.front().is_some_and(given_up) {
            self.waiting.pop_front();
        }
        let Some(first) = self.waiting.pop_front() else { return };
        let Some(watch) = self.watches.get_mut(&first) else { return };
        watch.phase = Phase::Asked;
        let (key, options) = convert::watch(&watch.watched, id(first));
        let mut client = link.client.watch_client().max_decoding_message_size(EVENT_MAX);
        let opened = Box::pin(async move { client.watch(key, Some(options)).await });
        self.stage = Stage::Opening { link, first, opened };
    }

    async fn on_opened(&mut self, opened: Result<WatchStream, Error>) {
        let Stage::Opening { link, first, .. } = std::mem::replace(&mut self.stage, Stage::Idle)
        else {
            return;
        };
        match opened {
            Ok(stream) => {
                let (sender, answers) = stream.split();
                let (orders, taken) = mpsc::unbounded_channel();
                tokio::spawn(write(sender, taken));
                if !self.watches.contains_key(&first) {
                    let _ = orders.send(Order::Cancel { id: id(first) });
                }
                let creating = VecDeque::from([first]);
                let said = clock::now();
                self.stage = Stage::Live(Live { link, orders, answers, said, creating });
                self.ask_waiting();
            }
            Err(error) => self.on_fault(link, Fault::of(&error)).await,
        }
    }

    async fn on_stream_error(&mut self, error: &Error) {
        let Stage::Live(Live { link, .. }) = &self.stage else { return };
        let fault = match Fault::of(error) {
            // An event that is too large ends the stream; the link is good.
            large @ Fault::Answer(Reply::Unknown { .. }) => large,
            // It is about the stream, and not about a watch of it.
            Fault::Answer(_) => Fault::Lost(words(error)),
            fault => fault,
        };
        self.on_fault(link.clone(), fault).await;
    }

    async fn on_stream_end(&mut self, why: Arc<str>) {
        let Stage::Live(Live { link, .. }) = &self.stage else { return };
        self.on_fault(link.clone(), Fault::Lost(why)).await;
    }

    /// The stream is over, or did not open.
    async fn on_fault(&mut self, link: Arc<Link>, fault: Fault) {
        self.stage = Stage::Idle;
        let why: Arc<str> = match &fault {
            Fault::Answer(reply) => shorten(reply),
            Fault::Login(said) | Fault::Outdated(said) => said.clone(),
            Fault::Lost(why) => why.clone(),
        };
        match &fault {
            // The link is good: it is about the watch that was to open the stream.
            Fault::Answer(_) => link.has_answered(),
            Fault::Login(said) | Fault::Outdated(said) if self.links.has_login => {
                self.links.stale(&link, said);
            }
            Fault::Login(_) | Fault::Outdated(_) | Fault::Lost(_) => self.links.lost(&link, &why),
        }
        if !matches!(fault, Fault::Answer(_)) {
            self.newer_than = link.number;
        }
        for call in self.of(Phase::Open) {
            self.end(call, None, Reply::Unknown { why: why.clone() }).await;
        }
        for call in self.of(Phase::Asked) {
            match &fault {
                Fault::Answer(reply) => self.end(call, None, reply.clone()).await,
                Fault::Login(said) if !self.may_log_in_again(call) => {
                    let said = said.clone();
                    let reply = Reply::Refused(Refusal::Unauthenticated { said });
                    self.end(call, None, reply).await;
                }
                Fault::Login(_) | Fault::Outdated(_) | Fault::Lost(_) => self.wait(call),
            }
        }
        self.ask_waiting();
    }

    async fn on_answer(&mut self, mut answer: PbWatchResponse) {
        let header = answer.header.as_ref().map(convert::header);
        if let Stage::Live(live) = &mut self.stage {
            live.said = clock::now();
        }
        if answer.created {
            return self.on_created(header, &answer).await;
        }
        let call = CallId(convert::unsigned(answer.watch_id));
        if !self.watches.contains_key(&call) {
            return;
        }
        if answer.canceled {
            let reply = match convert::unsigned(answer.compact_revision) {
                0 => match Fault::of_cancelled(&answer.cancel_reason) {
                    Fault::Answer(reply) => reply,
                    Fault::Login(said) => Reply::Refused(Refusal::Unauthenticated { said }),
                    Fault::Outdated(why) | Fault::Lost(why) => Reply::Unknown { why },
                },
                revision => Reply::Compacted { revision },
            };
            return self.end(call, header, reply).await;
        }
        let events = std::mem::take(&mut answer.events);
        for (revision, change) in events.into_iter().filter_map(convert::change) {
            self.join(call, header, revision, change).await;
        }
        if !answer.fragment {
            self.flush(call, header).await;
        }
    }

    async fn on_created(&mut self, header: Option<Header>, answer: &PbWatchResponse) {
        let Stage::Live(live) = &mut self.stage else { return };
        let link = live.link.clone();
        let told = CallId(convert::unsigned(answer.watch_id));
        let at = live.creating.iter().position(|call| *call == told);
        let call = match at {
            Some(at) => live.creating.remove(at),
            None if answer.canceled => live.creating.pop_front(),
            None => None,
        };
        let Some(call) = call else { return };
        link.has_answered();
        let Some(watch) = self.watches.get_mut(&call) else { return };
        if !answer.canceled {
            watch.phase = Phase::Open;
            self.dues.remove(&(watch.due, call));
            return self.tell(call, header, Reply::Watching).await;
        }
        let reply = match Fault::of_cancelled(&answer.cancel_reason) {
            Fault::Login(said) if self.may_log_in_again(call) => {
                self.wait(call);
                return self.on_fault(link, Fault::Login(said)).await;
            }
            fault @ Fault::Outdated(_) => {
                self.wait(call);
                return self.on_fault(link, fault).await;
            }
            Fault::Login(said) => Reply::Refused(Refusal::Unauthenticated { said }),
            Fault::Answer(reply) => reply,
            Fault::Lost(why) => Reply::Unknown { why },
        };
        self.end(call, header, reply).await;
    }

    /// One more event. Those of one revision are told together.
    async fn join(
        &mut self,
        call: CallId,
        header: Option<Header>,
        revision: Revision,
        change: Change,
    ) {
        let Some(watch) = self.watches.get(&call) else { return };
        if watch.joined_at != revision {
            self.flush(call, header).await;
        }
        let Some(watch) = self.watches.get_mut(&call) else { return };
        watch.joined_at = revision;
        watch.joined_size += convert::size(&change) + size_of::<Change>();
        watch.joined.push(change);
        if watch.joined_size > REVISION_MAX {
            let why = shorten(&format!("more than {REVISION_MAX} bytes in revision {revision}"));
            self.forget(call);
            self.tell(call, None, Reply::Unknown { why }).await;
        }
    }

    async fn flush(&mut self, call: CallId, header: Option<Header>) {
        let Some(watch) = self.watches.get_mut(&call) else { return };
        watch.joined_size = 0;
        let changes = std::mem::take(&mut watch.joined);
        if !changes.is_empty() {
            self.tell(call, header, Reply::Changed(changes)).await;
        }
    }

    fn may_log_in_again(&mut self, call: CallId) -> bool {
        let has_login = self.links.has_login;
        let Some(watch) = self.watches.get_mut(&call) else { return false };
        has_login && !std::mem::replace(&mut watch.logged_in_again, true)
    }

    /// It is to be asked for on the next link.
    fn wait(&mut self, call: CallId) {
        if let Some(watch) = self.watches.get_mut(&call) {
            watch.phase = Phase::Waiting;
            self.waiting.push_back(call);
        }
    }

    fn of(&self, phase: Phase) -> Vec<CallId> {
        let watches = self.watches.iter().filter(|(_, watch)| watch.phase == phase);
        watches.map(|(call, _)| *call).collect()
    }

    /// The last answer of a watch that etcd has ended.
    async fn end(&mut self, call: CallId, header: Option<Header>, reply: Reply) {
        if let Some(watch) = self.watches.remove(&call) {
            self.dues.remove(&(watch.due, call));
            self.tell(call, header, reply).await;
        }
    }

    async fn tell(&mut self, call: CallId, header: Option<Header>, reply: Reply) {
        // Nobody takes answers any more: nobody waits for this one.
        let _ = self.news.send(News::Answer(Answer { call, header, reply })).await;
    }
}

impl Stage {
    /// Cancel safe: what is pending stays here.
    async fn next(&mut self, links: &Links) -> Step {
        match self {
            Self::Idle => std::future::pending().await,
            Self::Linking(linked) => Step::Linked(linked.await),
            Self::Opening { opened, .. } => Step::Opened(opened.await),
            Self::Live(Live { link, answers, .. }) => tokio::select! {
                said = answers.message() => Step::Said(said),
                () = links.gone(link.number) => Step::Gone,
            },
        }
    }
}

/// Writes in the order of the orders, at the pace at which etcd reads.
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
            // The reader is told, too.
            return;
        }
    }
}

/// A watch is called by its call. Those are counted from one, so they do not reach 2⁶³.
fn id(call: CallId) -> i64 {
    convert::signed(call.0)
}
