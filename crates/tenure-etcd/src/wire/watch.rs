//! All watches of the process, on the streams of one connection (`streams`).
//!
//! A watch that is not open yet may be asked for again on another link while its time lasts. An
//! open watch ends with its connection, and the core reads the missed changes. If the stream of a
//! watch must end, the watch resumes after its last event on another stream of the same connection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use etcd_client::proto::PbWatchResponse;
use etcd_client::{Error, WatchStream};
use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{Answer, CallId, Change, Header, Op, Refusal, Reply, Request, Revision};
use tokio::sync::mpsc;

use super::Incoming;
use super::convert::{self, WatchRange};
use super::fault::{Fault, shorten, words};
use super::links::{Link, Links};
use super::streams::{Live, Stage, Step, Streams, id};

/// The largest answer, in bytes. An event with a larger value of another program ends all watches.
/// etcd warns of servers that take values above 10 MB.
const EVENT_MAX: usize = 64 << 20;

/// The wire gives a watch up when this part of its time (1/8) is left. The core sends an `Unwatch`
/// at the end of the time, and also for a watch that it no longer wants. The wire cannot tell these
/// two apart, so it must give up a late watch before the core does.
const EARLIER: u32 = 8;

/// The reason why a watch cannot resume.
const GIVEN_UP: &str = "the connection was given up";

/// The maximum number of bytes of one revision that are kept until the whole revision has come.
const REVISION_MAX: usize = 16 << 20;

pub(super) async fn run(
    links: Links,
    requests: mpsc::UnboundedReceiver<Request>,
    incoming: mpsc::Sender<Incoming>,
) {
    Watches {
        links,
        requests,
        incoming,
        watches: BTreeMap::new(),
        waiting: VecDeque::new(),
        dues: BTreeSet::new(),
        streams: Streams::new(),
        newer_than: 0,
    }
    .run()
    .await;
}

struct Watches {
    links: Links,
    requests: mpsc::UnboundedReceiver<Request>,
    incoming: mpsc::Sender<Incoming>,
    watches: BTreeMap<CallId, Watch>,
    /// Watches to ask for, in this order; some may be given up already.
    waiting: VecDeque<CallId>,
    /// Watches that are not open, with their give-up times.
    dues: BTreeSet<(Time, CallId)>,
    streams: Streams,
    /// The number of the last link that failed.
    newer_than: u64,
}

struct Watch {
    watched: WatchRange,
    phase: Phase,
    /// The link on whose stream the watch was last asked for.
    stream: u64,
    /// Number of the connection on which the watch was open, and on which it resumes after its last
    /// event.
    resumes: Option<u64>,
    due: Time,
    within: Duration,
    /// A new login was made for the watch already.
    logged_in_again: bool,
    /// Events of one revision, of which more may come.
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

enum Wake {
    Request(Option<Request>),
    Due,
    Streams(Step),
}

impl Watches {
    async fn run(mut self) {
        loop {
            let due = self.dues.first().map(|(due, _)| due.since(clock::now()));
            let happened = tokio::select! {
                request = self.requests.recv() => Wake::Request(request),
                step = self.streams.next(&self.links) => Wake::Streams(step),
                () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => {
                    Wake::Due
                }
            };
            match happened {
                Wake::Request(None) => return,
                Wake::Request(Some(request)) => self.on_request(request).await,
                Wake::Due => self.on_due().await,
                Wake::Streams(Step::Linked(linked)) => self.on_linked(linked).await,
                Wake::Streams(Step::Opened(opened)) => self.on_opened(opened).await,
                Wake::Streams(Step::Received(on, Ok(Some(answer)))) => {
                    self.on_answer(on, answer.0).await;
                }
                Wake::Streams(Step::Received(on, Ok(None))) => {
                    self.on_stream_end(on, Fault::Lost("the watch stream has ended".into())).await;
                }
                Wake::Streams(Step::Received(on, Err(error))) => {
                    self.on_stream_end(on, of_stream(&error)).await;
                }
                Wake::Streams(Step::Gone) => self.on_gone().await,
            }
        }
    }

    async fn on_request(&mut self, Request { call, within, op }: Request) {
        match op {
            Op::Watch { keys, from, deletions } => {
                let within = within - within / EARLIER;
                let due = clock::now().after(within);
                self.dues.insert((due, call));
                let watch = Watch {
                    watched: WatchRange { keys, from, deletions },
                    phase: Phase::Waiting,
                    stream: 0,
                    resumes: None,
                    due,
                    within,
                    logged_in_again: false,
                    joined: Vec::new(),
                    joined_at: 0,
                    joined_size: 0,
                };
                self.watches.insert(call, watch);
                self.waiting.push_back(call);
                self.ask_waiting().await;
            }
            Op::Unwatch { watch } => {
                // The core may send an `Unwatch` because the time of the watch is over. Handle the
                // end of that time first.
                self.on_due().await;
                self.forget(watch);
            }
            Op::Grant { .. } | Op::KeepAlive { .. } | Op::Revoke { .. } | Op::Txn(_) => {}
        }
    }

    /// Asks for all waiting watches, or opens a stream.
    async fn ask_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        if let Stage::Live(live) = &self.streams.newest
            && (live.link.number <= self.newer_than || self.links.is_newer_than(&live.link))
        {
            self.streams.retire();
            self.make_room();
        }
        if let Stage::Idle = &self.streams.newest {
            let links = self.links.clone();
            let newer_than = self.newer_than;
            let linking = Box::pin(async move { links.get(newer_than).await });
            self.streams.newest = Stage::Linking(linking);
        }
        let Stage::Live(live) = &self.streams.newest else { return };
        let link = live.link.clone();
        while let Some((call, watched)) = self.next_waiting(&link).await {
            let Stage::Live(live) = &mut self.streams.newest else { return };
            live.watch(call, watched);
        }
    }

    /// The next watch to ask for on that link.
    async fn next_waiting(&mut self, link: &Link) -> Option<(CallId, WatchRange)> {
        while let Some(call) = self.waiting.pop_front() {
            let Some(watch) = self.watches.get_mut(&call) else { continue };
            if watch.resumes.is_some_and(|number| number != link.connection.number) {
                self.end(call, None, Reply::Unknown { why: GIVEN_UP.into() }).await;
                continue;
            }
            watch.phase = Phase::Asked;
            watch.stream = link.number;
            return Some((call, watch.watched.clone()));
        }
        None
    }

    /// Moves the watches of a stream that must end: each resumes after its last event.
    fn make_room(&mut self) {
        let connection = self.streams.connection();
        for call in self.streams.crowded_out() {
            let Some(watch) = self.watches.get_mut(&call) else { continue };
            if watch.phase == Phase::Open {
                watch.resumes = connection;
                watch.due = clock::now().after(watch.within);
                self.dues.insert((watch.due, call));
            }
            watch.phase = Phase::Waiting;
            // Forget the events of an incomplete revision: etcd reports the whole revision again.
            watch.joined = Vec::new();
            watch.joined_size = 0;
            self.waiting.push_back(call);
        }
    }

    /// Stops the wait for a stream if no watch is left, and removes watches that were given up.
    fn rest(&mut self) {
        if matches!(self.streams.newest, Stage::Linking(_)) && self.watches.is_empty() {
            self.streams.newest = Stage::Idle;
        }
        if self.waiting.len() > 2 * self.watches.len() {
            self.waiting.retain(|call| self.watches.contains_key(call));
        }
    }

    /// Forgets a watch without telling etcd.
    fn forget(&mut self, call: CallId) -> Option<Watch> {
        let watch = self.watches.remove(&call)?;
        self.dues.remove(&(watch.due, call));
        if watch.phase != Phase::Waiting
            && let Some(live) = self.streams.of(watch.stream)
        {
            live.cancel(call);
            self.streams.drop_empty();
        }
        self.rest();
        Some(watch)
    }

    /// Gives up watches whose time is over. If the store does not answer on their connection, gives
    /// up the connection, too, as for any other request. If only the stream is silent, gives up the
    /// connection later, because the stream may just be slow.
    async fn on_due(&mut self) {
        let now = clock::now();
        while let Some((_, call)) = self.dues.first().copied().filter(|(due, _)| *due <= now) {
            let Some(watch) = self.forget(call) else {
                self.dues.pop_first();
                continue;
            };
            let why = shorten(&format!("the watch did not open within {:?}", watch.within));
            let asked_on = (watch.phase != Phase::Waiting).then_some(watch.stream);
            if let Some((link, since)) = self.streams.silent(asked_on) {
                let patience = if link.connection.is_silent_since(since) {
                    // The watch may have waited for a part of its time before it was asked for.
                    watch.within - watch.within / 4
                } else {
                    2 * watch.within
                };
                if now.since(since) >= patience {
                    self.on_fault(&link, Fault::Lost(why.clone())).await;
                }
            }
            self.tell(call, None, Reply::Unknown { why }).await;
        }
    }

    async fn on_linked(&mut self, linked: Result<Arc<Link>, Refusal>) {
        self.streams.newest = Stage::Idle;
        let link = match linked {
            Ok(link) => link,
            Err(refusal) => {
                for call in std::mem::take(&mut self.waiting) {
                    self.end(call, None, Reply::Refused(refusal.clone())).await;
                }
                return;
            }
        };
        if self.streams.connection().is_some_and(|number| number != link.connection.number) {
            self.on_gone().await;
        }
        let Some((first, watched)) = self.next_waiting(&link).await else { return };
        let (key, options) = convert::watch(&watched, id(first));
        let mut client = link.client.watch_client().max_decoding_message_size(EVENT_MAX);
        let opened = Box::pin(async move { client.watch(key, Some(options)).await });
        self.streams.newest = Stage::Opening { link, first, since: clock::now(), opened };
    }

    async fn on_opened(&mut self, opened: Result<WatchStream, Error>) {
        let stage = std::mem::replace(&mut self.streams.newest, Stage::Idle);
        let Stage::Opening { link, first, .. } = stage else { return };
        match opened {
            Ok(stream) => {
                let mut live = Live::new(link, stream, first);
                if !self.watches.contains_key(&first) {
                    live.cancel(first);
                }
                self.streams.newest = Stage::Live(live);
                self.ask_waiting().await;
            }
            Err(error) => self.on_fault(&link, Fault::of(&error)).await,
        }
    }

    async fn on_stream_end(&mut self, on: u64, fault: Fault) {
        let Some(live) = self.streams.of(on) else { return };
        let link = live.link.clone();
        self.on_fault(&link, fault).await;
    }

    /// Ends all streams of the connection that was given up, and the stream that is about to open.
    async fn on_gone(&mut self) {
        for link in self.streams.links().cloned().collect::<Vec<_>>() {
            self.on_fault(&link, Fault::Lost("the connection was given up".into())).await;
        }
    }

    /// Ends the stream of this link, which failed or did not open.
    async fn on_fault(&mut self, link: &Link, fault: Fault) {
        self.streams.end(link.number);
        let why: Arc<str> = match &fault {
            Fault::Answer(reply) => shorten(reply),
            Fault::Login(said) | Fault::Outdated(said) => said.clone(),
            Fault::Lost(why) => why.clone(),
        };
        match &fault {
            // The link is good: the fault concerns the watch that was to open the stream.
            Fault::Answer(_) => link.note_answer(),
            Fault::Login(said) | Fault::Outdated(said) if self.links.has_login => {
                self.links.stale(link, said);
            }
            Fault::Login(_) | Fault::Outdated(_) | Fault::Lost(_) => self.links.lost(link, &why),
        }
        if !matches!(fault, Fault::Answer(_)) {
            self.newer_than = self.newer_than.max(link.number);
        }
        for call in self.of(link, Phase::Open) {
            self.end(call, None, Reply::Unknown { why: why.clone() }).await;
        }
        for call in self.of(link, Phase::Asked) {
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
        self.ask_waiting().await;
    }

    async fn on_answer(&mut self, on: u64, mut answer: PbWatchResponse) {
        let header = answer.header.as_ref().map(convert::header);
        if answer.created {
            return self.on_created(on, header, &answer).await;
        }
        let call = CallId(convert::unsigned(answer.watch_id));
        if self.watches.get(&call).is_none_or(|watch| watch.stream != on) {
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

    async fn on_created(&mut self, on: u64, header: Option<Header>, answer: &PbWatchResponse) {
        let Some(live) = self.streams.of(on) else { return };
        let link = live.link.clone();
        let named = CallId(convert::unsigned(answer.watch_id));
        let at = live.creating.iter().position(|call| *call == named);
        let call = match at {
            Some(at) => live.creating.remove(at),
            None if answer.canceled => live.creating.pop_front(),
            None => None,
        };
        let Some(call) = call else { return };
        link.note_answer();
        let Some(watch) = self.watches.get_mut(&call) else { return };
        if !answer.canceled {
            watch.phase = Phase::Open;
            self.dues.remove(&(watch.due, call));
            if let (0, Some(header)) = (watch.watched.from, header) {
                watch.watched.from = header.revision + 1;
            }
            if watch.resumes.is_none() {
                self.tell(call, header, Reply::Watching).await;
            }
            return;
        }
        let reply = match Fault::of_cancelled(&answer.cancel_reason) {
            Fault::Login(said) if self.may_log_in_again(call) => {
                return self.on_old_login(call, &link, said).await;
            }
            Fault::Outdated(said) => return self.on_old_login(call, &link, said).await,
            Fault::Login(said) => Reply::Refused(Refusal::Unauthenticated { said }),
            Fault::Answer(reply) => reply,
            Fault::Lost(why) => Reply::Unknown { why },
        };
        self.end(call, header, reply).await;
    }

    /// Opens the watch anew with a newer login. Open watches go on.
    async fn on_old_login(&mut self, call: CallId, link: &Link, said: Arc<str>) {
        if let Some(live) = self.streams.of(link.number) {
            live.ended(call);
        }
        self.newer_than = self.newer_than.max(link.number);
        self.links.stale(link, &said);
        self.wait(call);
        self.ask_waiting().await;
    }

    /// Adds an event. Events of one revision are reported together.
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
            watch.watched.from = watch.joined_at + 1;
            self.tell(call, header, Reply::Changed(changes)).await;
        }
    }

    fn may_log_in_again(&mut self, call: CallId) -> bool {
        let has_login = self.links.has_login;
        let Some(watch) = self.watches.get_mut(&call) else { return false };
        has_login && !std::mem::replace(&mut watch.logged_in_again, true)
    }

    fn wait(&mut self, call: CallId) {
        if let Some(watch) = self.watches.get_mut(&call) {
            watch.phase = Phase::Waiting;
            self.waiting.push_back(call);
        }
    }

    /// The watches in this phase on the stream of this link.
    fn of(&self, link: &Link, phase: Phase) -> Vec<CallId> {
        let is_it = |watch: &Watch| watch.phase == phase && watch.stream == link.number;
        let watches = self.watches.iter().filter(|(_, watch)| is_it(watch));
        watches.map(|(call, _)| *call).collect()
    }

    /// Removes a watch that has ended, and passes its last answer to the driver.
    async fn end(&mut self, call: CallId, header: Option<Header>, reply: Reply) {
        if let Some(watch) = self.watches.remove(&call) {
            self.dues.remove(&(watch.due, call));
            if let Some(live) = self.streams.of(watch.stream) {
                live.ended(call);
                self.streams.drop_empty();
            }
            self.tell(call, header, reply).await;
        }
    }

    async fn tell(&mut self, call: CallId, header: Option<Header>, reply: Reply) {
        // The send fails when the driver is gone; ignore it.
        let _ = self.incoming.send(Incoming::Answer(Answer { call, header, reply })).await;
    }
}

fn of_stream(error: &Error) -> Fault {
    match Fault::of(error) {
        // An event above the limit ends the stream; the link is good.
        large @ Fault::Answer(Reply::Unknown { .. }) => large,
        // The error concerns the whole stream.
        Fault::Answer(_) => Fault::Lost(words(error)),
        fault => fault,
    }
}
