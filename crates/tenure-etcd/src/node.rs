//! A process that takes part in elections on etcd.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::driver::{self, Hold, Notices, Timing};
use tenure::{AtMostOne, Election, Leader, SystemError};
use tenure_core::etcd::{Checked, Etcd, LeaseId, Start};
use tenure_core::{ElectionName, NameError, Value};
use tokio::sync::broadcast;

use crate::counters::Counters;
use crate::driver::{Ask, Driver, Mark};
use crate::notice::Notice;
use crate::options::CheckedOptions;

/// The participant of a process in elections on etcd. Clones are the same participant.
///
/// When the last clone and the last handle that came from it are gone, the node gives up all
/// leaderships and campaigns, and ends. [`close`](Self::close) makes the node do this at once, and
/// waits for the end. If a process ends without `close`, its lease runs out.
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
#[derive(Clone, Debug)]
pub struct Node {
    config: Checked,
    driver: Arc<Hold<AtMostOne, Ask>>,
    notices: Notices<Notice>,
    mark: Arc<Mark>,
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
    /// A participant with these settings and options.
    pub fn builder(config: Checked, options: CheckedOptions) -> Builder {
        Builder { config, options, lease: None }
    }

    /// The election `name`: the same as with `etcdctl elect NAME`, or with Go's
    /// `concurrency.NewElection(session, "NAME")`, below the configured namespace. A name must not
    /// end in a slash. No other election of this process may have a name that begins with this name
    /// and a slash.
    ///
    /// The election has at most one leader at any instant, as long as clocks drift at most ρ. The
    /// module document of [`tenure_core::etcd`] lists all assumptions.
    pub fn election(&self, name: &str) -> Result<Election<AtMostOne>, NameError> {
        Ok(self.election_named(ElectionName::new(name)?))
    }

    /// The election with this name.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<AtMostOne> {
        self.driver.election(name)
    }

    /// Replaces the value that others see of this leader. The node writes the value as soon as etcd
    /// can be reached, if the leadership lasts so long. This call does not wait for the write.
    pub fn proclaim(&self, leader: &Leader<AtMostOne>, value: &str) -> Result<(), ProclaimError> {
        let value = Value::new(value)?;
        let mark = driver::extra::<Mark, _>(leader);
        let is_ours = mark.is_some_and(|mark| Arc::ptr_eq(&mark, &self.mark));
        if !is_ours || !leader.is_current() {
            return Err(ProclaimError::NotLeading);
        }
        let election = leader.election().clone();
        let fence = leader.fence();
        if self.driver.tell(Ask::Proclaim { election, fence, value }) {
            Ok(())
        } else {
            Err(ProclaimError::NotLeading)
        }
    }

    /// The settings of the node.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.config
    }

    /// Notices for an operator. The first listener receives all notices from the start on; later
    /// listeners receive only new notices. Slow listeners miss the oldest.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.listen()
    }

    /// Totals since the start; `None` once the node is closed. Cancel safe.
    pub async fn counters(&self) -> Option<Counters> {
        self.driver.ask(Ask::Counters).await
    }

    /// Gives up all leaderships and campaigns, and waits until the node's keys are deleted and its
    /// lease is revoked. The wait lasts at most a quarter of the lease, but at least 0.5 s and
    /// never above 5 s. After `close` every handle of this node says that the node does not lead.
    ///
    /// End all work under a leadership before this call. Dropping the future changes nothing: the
    /// node closes all the same.
    pub async fn close(&self) {
        self.driver.close().await;
    }
}

impl Builder {
    /// Uses this existing lease until the lease ends. The node renews this lease, and revokes it in
    /// the end. The revocation also deletes keys that other owners attached to the lease.
    ///
    /// The names of the node's keys hold the id of this lease, but the keys are attached to another
    /// lease. If the process ends without a resignation, the next process with this lease waits
    /// until that other lease ends.
    pub fn lease(mut self, lease: LeaseId) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Starts the node on a thread of its own, so that an application that blocks cannot starve a
    /// renewal. The node connects when the first election needs etcd; the start succeeds without
    /// etcd. [`check`](crate::check()) finds a missing etcd before the start.
    pub fn start(self) -> Result<Node, SystemError> {
        let Self { config, options, lease } = self;
        let options = with_time(&options, &config);
        let start = Start { seed: driver::seed()?, lease };
        let granted = Arc::new(AtomicU32::new(config.ttl()));
        let mark = Arc::new(Mark::default());
        let (notices, said) = Notices::new();
        let settings = config.clone();
        let lifetime = granted.clone();
        let node_mark = mark.clone();
        let begin = move || {
            let core = Etcd::new(settings.clone());
            (Driver::new(settings, options, said, lifetime, node_mark), core, start)
        };
        let grace = config.grace;
        let kill_margin = config.kill_margin;
        let drift = config.drift;
        let lease = config.lease;
        let timing = move || {
            // The node retries the deletion of a key until the key's lease would have ended.
            let granted = Duration::from_secs(granted.load(Ordering::Relaxed).into());
            let resignation_max = drift.stretch(granted.max(lease));
            Timing { grace, kill_margin, resignation_max }
        };
        let driver = driver::spawn(begin, timing)?;
        Ok(Node { config, driver, notices, mark })
    }
}

/// Shortens `connect_within` for a short lease, which leaves little time to find an endpoint that
/// works.
fn with_time(options: &CheckedOptions, config: &Checked) -> CheckedOptions {
    let patience = (config.lease / 4).max(Duration::from_millis(500));
    options.connecting_within(options.connect_within.min(patience))
}

/// The reason why a value is not proclaimed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProclaimError {
    #[error(transparent)]
    Value(#[from] NameError),
    #[error("this leadership is over, or was not won by this node")]
    NotLeading,
}
