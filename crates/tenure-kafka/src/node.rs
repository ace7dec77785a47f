//! A process that takes part in elections on Kafka.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::Duration;

use tenure::driver::{self, HoldOf, Notices, Timing};
use tenure::{AtMostOne, Election, MayOverlap, NameError, SafetyClass, SystemError, Time, clock};
use tenure_core::ElectionName;
use tenure_core::nele::{Checked, Mode, Nele, Process, Role, Seen, Start, TopicId};
use tokio::sync::broadcast;

use crate::counters::Counters;
use crate::driver::{Ask, Driver};
use crate::ledger::{Ledger, LedgerError};
use crate::load::{Load, NoRoom};
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::roles::Roles;
use crate::topic::{self, Made, Tell, TopicError};

/// The pause between two questions whether another process was heard.
const LISTENS: Duration = Duration::from_millis(50);

/// A class of safety, and its mode.
pub trait Class: SafetyClass {
    const MODE: Mode;
}

impl Class for AtMostOne {
    const MODE: Mode = Mode::AtMostOne;
}

impl Class for MayOverlap {
    const MODE: Mode = Mode::AtLeastOne;
}

/// A process that stands for roles. Clones are the same participant.
///
/// The leaders of a `Node<AtMostOne>`, in `at-most-one`, have fences. The leaders of a
/// `Node<MayOverlap>`, in `at-least-one`, have no fences. The node joins the group with the first
/// campaign, and leaves it when the last campaign ends. When the last clone and the last handle
/// that came from it are gone, the node gives up all leaderships and leaves. [`close`](Self::close)
/// makes the node do this at once, and waits for the end.
///
/// ```no_run
/// use tenure::AtMostOne;
/// use tenure_kafka::{Config, Mode, Node, Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let [election, group] = ["prices", "blue"];
/// let (election, group) = (election.parse()?, group.parse()?);
/// let config = Config::new(election, group, "web-1".parse()?, 16, Mode::AtMostOne);
/// let options = Options::new(vec!["kafka-1:9092".parse()?], "prices").check()?;
/// let kafka: Node<AtMostOne> = Node::builder(config.check()?, options).start().await?;
///
/// let leadership = kafka.role(3).campaign("10.0.0.7:8080").await?;
/// println!("leading {} with fence {}", leadership.election(), leadership.fence());
/// kafka.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Node<C: Class> {
    config: Checked,
    who: Process,
    topic: TopicId,
    /// The bytes of the largest record that the topic takes, if known.
    record_max: Option<u32>,
    driver: HoldOf<Driver<C>>,
    notices: Notices<Notice>,
}

/// Starts a [`Node`].
#[must_use]
pub struct Builder<C: Class> {
    config: Checked,
    options: CheckedOptions,
    tell: Box<Tell>,
    class: PhantomData<C>,
}

/// The reason why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("this node is of a type for mode {handles}, but the configuration has mode {mode}")]
    Mode { mode: Mode, handles: Mode },
    #[error(transparent)]
    Topic(#[from] TopicError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    System(#[from] SystemError),
}

impl<C: Class> Node<C> {
    /// A process with these settings and options.
    pub fn builder(config: Checked, options: CheckedOptions) -> Builder<C> {
        Builder { config, options, tell: Box::new(|_| ()), class: PhantomData }
    }

    /// The election of role `number`.
    #[must_use]
    pub fn role(&self, number: u32) -> Election<C> {
        self.election_named(self.config.election_of(Role(number)))
    }

    /// Campaigns for all of these roles, and returns each leadership as it emerges.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn roles(&self, roles: Range<u32>, value: &str) -> Roles<C> {
        let mut all = Roles::new(self.clone(), value);
        roles.for_each(|role| all.stand(role));
        all
    }

    /// The election `NAME/j`, of role j. The node refuses campaigns in elections of other names.
    pub fn election(&self, name: &str) -> Result<Election<C>, NameError> {
        Ok(self.election_named(ElectionName::new(name)?))
    }

    /// The election with this name.
    #[must_use]
    pub fn election_named(&self, name: ElectionName) -> Election<C> {
        self.driver.election(name)
    }

    /// The settings of the node.
    #[must_use]
    pub fn config(&self) -> &Checked {
        &self.config
    }

    /// The identity of this run of the node.
    #[must_use]
    pub fn who(&self) -> &Process {
        &self.who
    }

    /// The topic as the node found it at the start.
    #[must_use]
    pub fn topic(&self) -> &TopicId {
        &self.topic
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

    /// All leaders of all roles, according to the leaders' own entries, for a table. The table
    /// becomes complete a moment after the first observation of a role began, and stays complete as
    /// long as any role is observed. `None` once the node is closed. Cancel safe.
    pub async fn seen(&self) -> Option<Vec<Seen>> {
        self.driver.ask(Ask::Seen).await
    }

    /// The number of processes of the group that run and stand for a role, this node included. The
    /// node counts the processes that it hears. `None` while the node owns no partition, or is
    /// closed. Cancel safe.
    pub async fn processes(&self) -> Option<usize> {
        self.driver.ask(Ask::Processes).await.flatten()
    }

    /// Checks that the topic takes a record that names `roles` roles. The start has checked the
    /// number of roles in the [options](crate::Options::roles); call this before the node stands
    /// for more roles.
    ///
    /// # Errors
    ///
    /// When a record could be too large: the broker would reject it, and the heartbeat would be
    /// lost.
    pub fn check_room(&self, roles: usize) -> Result<(), NoRoom> {
        let needed = Load::of(&self.config, roles).largest;
        match self.record_max.filter(|most| *most < needed) {
            Some(most) => Err(NoRoom { roles, needed, most }),
            None => Ok(()),
        }
    }

    /// Whether another process, in any group, stands for this role and could lead it next. The
    /// answer rests on partitions that this process owns or observes. The node answers `false` only
    /// after it has listened long enough to hear a new process. This takes about four publish
    /// intervals; while no record can be read, it takes up to the sum of the setting `seek` and
    /// `Config::silence`. A closed node answers `false` at once. Cancel safe.
    pub async fn could_be_followed(&self, role: u32) -> bool {
        let config = self.config();
        let begin = clock::now();
        let mut until = begin.after(config.seek).after(config.silence());
        loop {
            let answer = self.driver.ask(|reply| Ask::Follows(Role(role), reply)).await;
            let Some((false, read)) = answer else { return answer.is_some() };
            // Do not count earlier records: the reading may have just begun, or may still return
            // records from before the question.
            if read >= begin.after(config.publish_interval) {
                until = until.min(read.after(config.publish_interval * 2));
            }
            if clock::now() >= until {
                return false;
            }
            tokio::time::sleep(LISTENS).await;
        }
    }

    /// Leaves the group and joins it again, so that its partitions are spread anew over all
    /// members. The node gives up the roles that it leads; campaigns that have not won go on.
    pub async fn leave_and_join(&self) {
        self.ask_to_leave(false, true).await;
    }

    async fn ask_to_leave(&self, lead_on: bool, again: bool) {
        // This request has no answer: drop its sender.
        let ask = |_: tokio::sync::oneshot::Sender<()>| Ask::Leave { lead_on, again };
        let _: Option<()> = self.driver.ask(ask).await;
    }

    /// Gives up all leaderships, leaves the group, and waits until it has left, 5 s at most. In
    /// `at-least-one`, call [`leave`](Node::leave) first: then no role is without a leader. After
    /// `close` every handle of this node says that the node does not lead.
    ///
    /// End all work under a leadership before this call. Dropping the future changes nothing: the
    /// node closes all the same.
    pub async fn close(&self) {
        self.driver.close().await;
    }
}

impl Node<MayOverlap> {
    /// Leaves the group, and keeps leading until other processes can have taken over, so that no
    /// role is without a leader. The node's leaderships end by themselves, at most T (`takeover`)
    /// after the last news. Campaigns that have not won end at once; a later campaign joins again.
    /// Cancel safe.
    pub async fn leave(&self) {
        self.ask_to_leave(true, false).await;
    }
}

impl<C: Class> fmt::Debug for Builder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<C: Class> Builder<C> {
    /// While no broker has answered, calls `tell` with the reason: half a second after the start,
    /// and whenever the reason changes. The start goes on.
    pub fn on_silence(mut self, tell: impl Fn(&TopicError) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// Makes sure of the topic, and starts the node on a thread of its own, so that an application
    /// that blocks cannot starve a heartbeat. Fails after up to half a minute if no broker answers,
    /// because a topic that was not checked may break the promise of the mode.
    ///
    /// # Errors
    ///
    /// When the topic cannot be used.
    pub async fn start(self) -> Result<Node<C>, StartError> {
        let Self { config, options, tell, .. } = self;
        if config.mode != C::MODE {
            return Err(StartError::Mode { mode: config.mode, handles: C::MODE });
        }
        let Made { id: topic, anew, session, load, may_read, record_max } =
            topic::ensure_aloud(&options, &config, &*tell).await?;
        let (notices, said) = Notices::new();
        let ledger = Ledger::with_notices(&options, config.clone(), Some(said.clone()))?;
        if may_read {
            ledger.may_read();
        }
        let incarnation = driver::random()?;
        let seed = driver::seed()?;
        let who = Process { id: config.id.clone(), incarnation };
        let start = Start { incarnation, seed, topic: topic.clone() };
        // The send fails without listeners; ignore it.
        let _ = said.send(Notice::Began {
            topic: options.topic.clone(),
            id: topic.clone(),
            anew,
            group_protocol: options.group_protocol,
            session,
            group: config.group_id(),
            load,
        });
        let settings = config.clone();
        let begin = move || {
            let wired = Driver {
                config: settings.clone(),
                joining: ledger.joining(),
                ledger,
                notices: said,
                counters: Counters::default(),
                read: Time::ZERO,
                class: PhantomData,
            };
            (wired, Nele::new(settings), start)
        };
        let grace = config.grace;
        let kill_margin = config.kill_margin;
        let resignation_max = config.takeover;
        let timing = move || Timing { grace, kill_margin, resignation_max };
        let driver = driver::spawn(begin, timing)?;
        Ok(Node { config, who, topic, record_max, driver, notices })
    }
}
