//! Reports of a node to its operator.

use std::fmt;
use std::sync::Arc;

use tenure::driver::LOG;
use tenure_core::ElectionName;
use tenure_core::nele::{OwnEvent, TopicId};

use crate::load::Load;
use crate::options::GroupProtocol;
use crate::session_timeout::Session;

/// A report about a node, apart from its leaderships.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    Began {
        topic: String,
        /// Id of the topic: a topic that was made again has another id.
        id: TopicId,
        /// Whether the node has just made the topic.
        anew: bool,
        /// Protocol by which members join the group.
        group_protocol: GroupProtocol,
        session: Session,
        group: String,
        /// Upper bound of the records that the node writes.
        load: Load,
    },
    /// Brokers no longer know the topic. Reported once, until the topic is [back](Self::TopicBack).
    TopicGone {
        topic: String,
    },
    TopicBack {
        topic: String,
    },
    /// The member of the group has had no assignment for some seconds.
    Joining {
        why: Arc<str>,
    },
    /// The member has an assignment, after [`Joining`](Self::Joining).
    Joined,
    Protocol {
        /// The election, if the event is about an election.
        election: Option<ElectionName>,
        event: OwnEvent,
    },
}

impl Notice {
    pub(crate) fn log(&self) {
        match self.remedy().or(matches!(self, Self::Joining { .. }).then_some("")) {
            Some(_) => tracing::warn!(target: LOG, "{self}"),
            None => tracing::info!(target: LOG, "{self}"),
        }
    }

    /// The remedy for an operator, if the process cannot help itself.
    #[must_use]
    pub const fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Protocol { event: OwnEvent::Unfilled { first: Some(_), .. }, .. } => Some(
                "this process owns the partitions of these roles and does not stand for the \
                 roles; have all processes of a group stand for the same roles",
            ),
            Self::TopicGone { .. } => Some(
                "no process becomes leader, or stays leader for long; stop all processes, make the \
                 topic again, and raise the fence base",
            ),
            Self::Protocol { event: OwnEvent::SameHost { .. }, .. } => {
                Some("both leaders fail with the machine; run each group on machines of its own")
            }
            Self::Protocol { event: OwnEvent::SameName { .. }, .. } => {
                Some("give each process of a group an id of its own")
            }
            Self::Protocol { event: OwnEvent::Unlike { .. }, .. } => Some(
                "no promise holds while these settings differ: give all processes of a group the \
                 same mode, takeover, drift and fence base; stop all processes to change these",
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
            Self::Joining { why } => write!(f, "the group has assigned no partitions yet: {why}"),
            Self::Joined => f.write_str("the group has assigned partitions"),
            Self::Protocol { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Protocol { election: None, event } => event.fmt(f),
        }?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}
