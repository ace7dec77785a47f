//! A process that takes part in elections on NATS.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{self, Hold, Notices, Timing};
use tenure::{Election, MayOverlap, NameError, Obstacle, SystemError};
use tenure_core::allcall::{Allcall, Checked, Participant, Start};
use tenure_core::{ElectionName, WallTime};
use tokio::sync::broadcast;

use crate::bus::Bus;
use crate::counters::Counters;
use crate::driver::{Ask, Driver, WallClock};
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::subject::Subjects;

/// The shortest time between two pings of a server that says nothing.
const SILENCE_MIN: Duration = Duration::from_millis(500);

/// The participant of a process in elections on NATS. Clones are the same participant.
///
/// When the last clone and the last handle that came from it are gone, the node resigns all
/// leaderships and ends. [`close`](Self::close) makes the node do this at once, and waits for the
/// end. If the process of a leader ends without `close`, the election has no leader until the lease
/// ends.
///
/// ```no_run
/// use tenure_nats::{Config, Node, Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options::new(vec!["nats://127.0.0.1:4222".parse()?]).check()?;
/// let config = Config::new("shop".parse()?, "web-1".parse()?).check()?;
/// let nats = Node::builder(config, options).start()?;
///
/// let election = nats.election("billing")?;
/// let leadership = election.campaign("10.0.0.7:8080").await?;
/// // Another node may lead at the same time: this work must be harmless when done twice.
/// nats.close().await;
/// assert!(!leadership.is_current());
/// # Ok(())
/// # }
/// ```
///
/// There is no fence, and no way to ask for one:
///
/// ```compile_fail,E0599
/// # async fn lead(election: tenure::Election<tenure::MayOverlap>) -> tenure::Fence {
/// let leadership = election.campaign("10.0.0.7:8080").await.unwrap();
/// leadership.fence()
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    config: Checked,
    who: Participant,
    driver: Arc<Hold<MayOverlap, Ask>>,
    notices: Notices<Notice>,
}

/// Starts a [`Node`].
#[must_use]
pub struct Builder {
    config: Checked,
    options: CheckedOptions,
    wall: Option<WallClock>,
}

impl Node {
    /// A participant with these settings and network options.
    pub fn builder(config: Checked, options: CheckedOptions) -> Builder {
        Builder { config, options, wall: None }
    }

    /// The election `name`. Each side of a partitioned network has its own leader, and for a moment
    /// after the heal the election has both leaders. The type of the handles shows this.
    pub fn election(&self, name: &str) -> Result<Election<MayOverlap>, NameError> {
        Ok(self.election_named(ElectionName::new(name)?))
    }

    /// The election with this name.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<MayOverlap> {
        self.driver.election(name)
    }

    /// The settings of the node.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.config
    }

    /// The identity of this run of the node.
    #[must_use]
    pub fn who(&self) -> &Participant {
        &self.who
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

    /// Resigns all leaderships, and waits until the resignations have come back from the bus, or a
    /// heartbeat has passed, 2 s at most. After `close` every handle of this node says that the
    /// node does not lead.
    ///
    /// End all work under a leadership before this call. Dropping the future changes nothing: the
    /// node closes all the same.
    pub async fn close(&self) {
        self.driver.close().await;
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Builder {
    /// Reads wall time from `clock` instead of the system: for another source of time, or for tests
    /// that set the clock. The node calls `clock` for each input, so the call must be quick.
    pub fn wall(mut self, clock: impl Fn() -> WallTime + Send + 'static) -> Self {
        self.wall = Some(Box::new(clock));
        self
    }

    /// Starts the node on a thread of its own, so that an application that blocks cannot starve a
    /// heartbeat. The node connects at once and stays connected; the start succeeds without a
    /// server.
    pub fn start(self) -> Result<Node, SystemError> {
        let Self { config, options, wall } = self;
        let incarnation = driver::random()?;
        let tie = driver::random()?;
        let start = Start { incarnation, tie, seed: driver::seed()? };
        let who = Participant { id: config.id.clone(), incarnation };
        let wall = wall.unwrap_or_else(|| Box::new(tenure::clock::wall));
        let (notices, said) = Notices::new();
        let settings = config.clone();
        let me = who.clone();
        let begin = move || {
            let subjects = Subjects::new(&options.prefix, &settings.cluster);
            let silence = settings.heartbeat.max(SILENCE_MIN);
            let name = format!("tenure {}", settings.id);
            let servers = options.servers.iter();
            let silent: Vec<_> =
                servers.map(|server| Obstacle::no_answer(server.as_str())).collect();
            let wired = Driver {
                bus: Bus::new(options, subjects.all(), name, silence),
                config: settings.clone(),
                subjects,
                notices: said,
                wall,
                me,
                counters: Counters::default(),
                connecting: Some(silent.clone()),
                silent,
                resigning: 0,
            };
            (wired, Allcall::new(settings), start)
        };
        let grace = config.grace;
        let kill_margin = config.kill_margin;
        let resignation_max = config.lease;
        let timing = move || Timing { grace, kill_margin, resignation_max };
        let driver = driver::spawn(begin, timing)?;
        Ok(Node { config, who, driver, notices })
    }
}
