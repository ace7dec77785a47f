//! A process that takes part in elections on etcd.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tenure::driver::{self, Office, Timing};
use tenure::{AtMostOne, Election, Leadership};
use tenure_core::etcd::{Checked, LeaseId, Start};
use tenure_core::{ElectionName, NameError, Value};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::counters::Counters;
use crate::driver::{Driver, Order, Parts};
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::wire::Wire;

/// How many notices a slow listener may miss before it is told so.
const NOTICES: usize = 256;

/// One process's part in elections on etcd. Clones are the same.
///
/// When the last clone and the last handle that came from it are gone, the node gives up
/// whatever it holds and ends. [`close`](Self::close) does so at once and waits until that is
/// done; a process that ends without it lets its lease run out.
///
/// ```no_run
/// use tenure_etcd::{Config, Node, Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options::new(vec!["http://127.0.0.1:2379".parse()?]).check()?;
/// let etcd = Node::builder(Config::default().check()?, options).start()?;
///
/// let election = etcd.election("billing")?;
/// let leadership = election.campaign("10.0.0.7:8080").await?;
/// println!("leading with fence {}", leadership.fence());
/// etcd.close().await;
/// assert!(!leadership.is_current());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Node {
    shared: Arc<Shared>,
}

struct Shared {
    config: Checked,
    orders: mpsc::UnboundedSender<Order>,
    notices: broadcast::Sender<Notice>,
    /// For the first who asks: what happened since the start.
    first: Mutex<Option<broadcast::Receiver<Notice>>>,
    granted: Arc<AtomicU32>,
    mark: Arc<Mark>,
}

impl Office<AtMostOne> for Shared {
    fn order(&self, order: driver::Order<AtMostOne>) {
        // When the driver has ended, the order is dropped with the error.
        let _ = self.orders.send(Order::Handle(order));
    }

    fn timing(&self) -> Timing {
        let config = &self.config;
        // Deleting the key is tried again until the lease would have ended.
        let granted = Duration::from_secs(self.granted.load(Ordering::Relaxed).into());
        Timing {
            grace: config.grace,
            kill_margin: config.kill_margin,
            resignation_max: config.drift.stretch(granted.max(config.lease)),
        }
    }
}

/// What tells a leadership that a node has won from those of other nodes and other protocols:
/// each node has its own, which is told by its address.
#[derive(Default)]
pub(crate) struct Mark {
    _place: u8,
}

/// Starts a [`Node`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    config: Checked,
    options: CheckedOptions,
    lease: Option<LeaseId>,
}

impl Node {
    /// A participant with these settings, in the cluster that is reached by these options.
    pub fn builder(config: Checked, options: CheckedOptions) -> Builder {
        Builder { config, options, lease: None }
    }

    /// The election `name`: the same as of `etcdctl elect NAME`, and of Go's
    /// `concurrency.NewElection(session, "NAME")`, after the configured namespace. Neither may a
    /// name end in a slash nor may another one of this process begin with it and a slash.
    ///
    /// There is at most one leader of it at any instant, as long as clocks drift at most ρ, and
    /// what else the module document of [`tenure_core::etcd`] names.
    pub fn election(&self, name: &str) -> Result<Election<AtMostOne>, NameError> {
        Ok(self.election_named(ElectionName::new(name)?))
    }

    /// The election with this name.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<AtMostOne> {
        driver::election(self.shared.clone(), name)
    }

    /// Tells others something else of this leader than at the campaign. It is written as soon as
    /// etcd can be reached, if the leadership lasts so long; this does not wait for it.
    pub fn proclaim(
        &self,
        leadership: &Leadership<AtMostOne>,
        value: &str,
    ) -> Result<(), ProclaimError> {
        let value = Value::new(value)?;
        let mark = driver::extra::<Mark, _>(leadership);
        let is_ours = mark.is_some_and(|mark| Arc::ptr_eq(&mark, &self.shared.mark));
        if !is_ours || !leadership.is_current() {
            return Err(ProclaimError::NotLeading);
        }
        let (election, fence) = (leadership.election().clone(), leadership.fence());
        let order = Order::Proclaim { election, fence, value };
        self.shared.orders.send(order).map_err(|_| ProclaimError::NotLeading)
    }

    /// The settings it runs with.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.shared.config
    }

    /// What an operator should hear of: for the first who asks since the start, for all others
    /// from now on. Slow listeners miss the oldest.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        let first = self.shared.first.lock().map(|mut first| first.take());
        first.ok().flatten().unwrap_or_else(|| self.shared.notices.subscribe())
    }

    /// Totals since the start; `None` once the node is closed. Cancel safe.
    pub async fn counters(&self) -> Option<Counters> {
        let (reply, answer) = oneshot::channel();
        let _ = self.shared.orders.send(Order::Counters(reply));
        answer.await.ok()
    }

    /// Gives up whatever it holds, and waits until its keys are deleted and its lease is
    /// revoked, or a quarter of the lease has passed, between half a second and 5 s. Every
    /// handle of this node says from then on that it does not lead.
    ///
    /// Work under a leadership must have ended before. Dropping the future changes nothing: the
    /// node closes all the same.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        let _ = self.shared.orders.send(Order::Close(done));
        let _ = closed.await;
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl Builder {
    /// Uses this lease first, which exists already. The node makes it its own: it renews it, and
    /// revokes it in the end. Keys that somebody else has on it end then, too.
    pub fn lease(mut self, lease: LeaseId) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Starts it, on a thread of its own, so that an application that blocks cannot starve a
    /// renewal. It connects when the first election needs it: that etcd is not there yet is no
    /// error. [`check`](crate::check()) finds that out beforehand.
    pub fn start(self) -> Result<Node, StartError> {
        let Self { config, options, lease } = self;
        let options = with_time(&options, &config);
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| StartError::System {
            doing: "drawing random numbers",
            source: io::Error::other(error),
        })?;
        let start = Start { seed: u64::from_le_bytes(seed), lease };
        let (orders, taken) = mpsc::unbounded_channel();
        let (notices, first) = broadcast::channel(NOTICES);
        let granted = Arc::new(AtomicU32::new(config.ttl()));
        let (parts_config, parts_notices) = (config.clone(), notices.clone());
        let mark = Arc::new(Mark::default());
        let (parts_granted, parts_mark) = (granted.clone(), mark.clone());
        spawn(options, move |wire| Parts {
            config: parts_config,
            start,
            wire,
            orders: taken,
            notices: parts_notices,
            granted: parts_granted,
            mark: parts_mark,
        })?;
        let first = Mutex::new(Some(first));
        Ok(Node { shared: Arc::new(Shared { config, orders, notices, first, granted, mark }) })
    }
}

/// Short leases leave little time for finding an endpoint that works.
fn with_time(options: &CheckedOptions, config: &Checked) -> CheckedOptions {
    let patience = (config.lease / 4).max(Duration::from_millis(500));
    options.connecting_within(options.connect_within.min(patience))
}

/// Starts the thread that drives a node.
fn spawn(
    options: CheckedOptions,
    parts: impl FnOnce(Wire) -> Parts + Send,
) -> Result<(), StartError> {
    let refused = |doing| move |source| StartError::System { doing, source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(refused("making a runtime"))?;
    let driver = {
        let _entered = runtime.enter();
        Driver::new(parts(Wire::new(options))).map_err(refused("making a timer"))?
    };
    thread::Builder::new()
        .name("tenure-etcd".to_owned())
        .spawn(move || runtime.block_on(driver.run()))
        .map_err(refused("starting a thread"))?;
    Ok(())
}

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The system refused something a node needs.
    #[error("cannot start a node: {doing}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a value is not proclaimed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProclaimError {
    /// Others could not be told this value.
    #[error(transparent)]
    Value(#[from] NameError),
    /// Only leaders tell something, and only the node that has won.
    #[error("this leadership is over, or was not won by this node")]
    NotLeading,
}
