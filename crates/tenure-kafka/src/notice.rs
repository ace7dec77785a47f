//! What an operator should hear of.

use std::fmt;
use std::sync::Arc;

use tenure::driver::LOG;
use tenure_core::ElectionName;
use tenure_core::nele::{OwnEvent, TopicId};

use crate::load::Load;
use crate::options::GroupProtocol;
use crate::session::Session;

/// Something that happened beside the leaderships of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The node has begun.
    Began {
        /// The topic.
        topic: String,
        /// Which one it is.
        id: TopicId,
        /// Whether it was made just now.
        anew: bool,
        /// By which protocol members join.
        group_protocol: GroupProtocol,
        /// Which session timeout is in use.
        session: Session,
        /// The group as the coordinator knows it.
        group: String,
        /// How much it writes at most.
        load: Load,
    },
    /// Brokers do not know the topic any more. Said once, until it is [back](Self::TopicBack).
    TopicGone {
        /// The topic.
        topic: String,
    },
    /// They know it again.
    TopicBack {
        /// The topic.
        topic: String,
    },
    /// The member of the group has had no assignment for some seconds, as this phase lasts.
    Joining {
        /// The phase, and what to do.
        why: Arc<str>,
    },
    /// After [`Joining`](Self::Joining) the member has an assignment.
    Joined,
    /// What the protocol itself tells.
    Protocol {
        /// The election, when it is about one.
        election: Option<ElectionName>,
        /// What.
        event: OwnEvent,
    },
}

impl Notice {
    /// Puts it down in the log.
    pub(crate) fn log(&self) {
        match self.remedy().or(matches!(self, Self::Joining { .. }).then_some("")) {
            Some(_) => tracing::warn!(target: LOG, "{self}"),
            None => tracing::info!(target: LOG, "{self}"),
        }
    }

    /// What an operator can do about it, if anything is wrong that the process cannot mend.
    #[must_use]
    pub const fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Protocol { event: OwnEvent::Unfilled { first: Some(_), .. }, .. } => Some(
                "this process owns their partitions and does not stand for them; have all \
                 processes of a group stand for the same roles",
            ),
            Self::TopicGone { .. } => Some(
                "nobody becomes leader, or stays it for long; stop all processes, make it again, \
                 and raise the fence base",
            ),
            Self::Protocol { event: OwnEvent::SameHost { .. }, .. } => {
                Some("both fail with the machine; run each group on machines of its own")
            }
            Self::Protocol { event: OwnEvent::SameName { .. }, .. } => {
                Some("give each process of a group an id of its own")
            }
            Self::Protocol { event: OwnEvent::Unlike { .. }, .. } => Some(
                "nothing is promised while they differ: give all processes of a group the same \
                 mode, takeover, drift and fence base, and change these with all of them stopped",
            ),
            _ => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { topic, id, anew, group_protocol, session, group, load } => {
                let made = if *anew { ", made just now" } else { "" };
                write!(
                    f,
                    "topic {topic} ({id}){made}, group {group}, protocol {group_protocol}: "
                )?;
                write!(f, "{session}; {load}")
            }
            Self::TopicGone { topic } => write!(f, "topic {topic} is not there any more"),
            Self::TopicBack { topic } => write!(f, "topic {topic} is there again"),
            Self::Joining { why } => write!(f, "no assignment of the group yet: {why}"),
            Self::Joined => f.write_str("the group has assigned partitions"),
            Self::Protocol { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Protocol { election: None, event } => event.fmt(f),
        }?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}
