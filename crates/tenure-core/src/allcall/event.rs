//! Events for an application or an operator.

use core::fmt;
use core::time::Duration;

use super::identity::{Participant, Rank};
use super::message::{Round, Times};
use crate::name::ElectionName;

pub type Event = crate::event::Event<OwnEvent>;

/// An event that only ALLCALL has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OwnEvent {
    /// The process has started, with its configured or drawn rank.
    Started {
        who: Participant,
        rank: Rank,
    },
    /// A round was valid: the first round, or the first after a void one.
    Valid {
        round: Round,
    },
    /// A round was void: this process did not hear its own call within half a heartbeat. The
    /// process may have missed other packets, too (ruling 6). Reported for the first void round in
    /// a row.
    Void {
        round: Round,
    },
    /// This process leads, but a greater claim exists (ruling 2).
    Beaten {
        by: Participant,
    },
    /// This process leads, and does not renew, because a better candidate could lead (ruling 2).
    /// Reported once in a term.
    GivesWay {
        to: Participant,
    },
    /// A grant or a renewal had no effect, because the process did not hear its claim in time or
    /// heard another claim first (ruling 8). The process resigns such a grant.
    NotConfirmed {
        renewal: bool,
    },
    /// A leader's renewal was dropped, because it would not have moved the end of the lease later:
    /// the wall clock was set back (ruling 3).
    ClockSetBack {
        /// Distance from the new end to the published one, which is later.
        by: Duration,
    },
    /// The wall clock differs from other clocks by more than the skew allows, so this process
    /// neither stands nor renews (ruling 4). The clock differs from more than half of at least two
    /// other clocks, or has moved away from the only other clock. 0 of 0 means that the clock has
    /// stepped, and that no other participant has answered.
    ClockOff {
        from: usize,
        /// The number of others that answered the last round.
        of: usize,
    },
    ClockRight,
    /// A participant of this cluster has other times (ruling 6). Reported once.
    OtherTimes {
        who: Participant,
        theirs: Times,
        ours: Times,
        /// Whether this process refuses to take part: it is a newcomer, and no earlier participant
        /// has its times.
        refuses: bool,
    },
    /// Another candidate has this process's name. Reported for the first such candidate.
    SameName {
        who: Participant,
    },
    /// Another candidate has this process's rank: the tie-break, drawn at the start, decides.
    /// Reported for the first such candidate.
    SameRank {
        who: Participant,
    },
    PayloadTooSmall {
        max_payload: usize,
        /// The smallest number of bytes that a packet needs.
        needed: usize,
    },
    Ignored(Ignored),
}

/// The reason why an input had no effect. Drivers count these events, and do not log them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ignored {
    OtherCluster,
    OtherTimes,
    /// A packet that breaks a rule of its format. Examples: a list that is too long, a round or
    /// term of zero, a part beyond the last part, a claim of the sender with another rank than the
    /// sender's.
    Malformed,
    /// A packet with this process's identity that this process has not sent in this round: an old
    /// packet, or a forgery.
    NotOurs,
    /// A reply to an ended round, or a call of an earlier round than the sender's last.
    Late,
    /// A claim or a tombstone whose end is later than any right clock could have granted (ruling
    /// 4).
    TooFar,
    /// No room for another participant, claim or tombstone.
    Full,
    /// A second campaign, or a command that this protocol does not offer.
    Command,
}

impl Ignored {
    /// The reason as a label for a counter.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::OtherCluster => "other_cluster",
            Self::OtherTimes => "other_times",
            Self::Malformed => "malformed",
            Self::NotOurs => "not_ours",
            Self::Late => "late",
            Self::TooFar => "too_far",
            Self::Full => "full",
            Self::Command => "command",
        }
    }
}

impl OwnEvent {
    /// Prints in whole sentences the events that `Display` shortens.
    fn long(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConfirmed { renewal } => write!(
                f,
                "a {} does not count: this candidate did not hear its own claim in time, or heard \
                 another claim first",
                if *renewal { "renewal" } else { "grant" }
            ),
            Self::ClockSetBack { by } => write!(
                f,
                "this candidate does not renew its lease: the wall clock was set back, and the new \
                 lease would end {by:?} before the old one"
            ),
            Self::ClockOff { from: 0, .. } => f.write_str("the wall clock has stepped"),
            Self::ClockOff { from, of } => write!(
                f,
                "the wall clock differs from the clocks of {from} of the {of} other participants \
                 by more than the max clock skew"
            ),
            Self::ClockRight => f.write_str("no other participant's clock differs any more"),
            event => fmt::Display::fmt(event, f),
        }
    }

    /// The event as a sentence for operators, with its election. `Display` prints some events in
    /// fewer words, for traces.
    pub fn sentence(&self, election: Option<&ElectionName>) -> impl fmt::Display {
        fmt::from_fn(move |f| match (self, election) {
            (Self::Beaten { by }, _) => {
                write!(f, "{} leads as well, and takes precedence over this candidate", by.id)
            }
            (Self::GivesWay { to }, _) => write!(
                f,
                "this candidate does not renew its lease: {} takes precedence, and leads next",
                to.id
            ),
            (event, Some(election)) => {
                write!(f, "{election}: ")?;
                event.long(f)
            }
            (event, None) => event.long(f),
        })
    }
}

impl fmt::Display for OwnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { who, rank } => write!(f, "started as {who} with rank {rank}"),
            Self::Valid { round } => write!(f, "round {round} is valid"),
            Self::Void { round } => write!(f, "round {round} is void"),
            Self::Beaten { by } => write!(f, "beaten by {by}"),
            Self::GivesWay { to } => write!(f, "not renewed: {to} goes first"),
            Self::NotConfirmed { renewal: false } => f.write_str("grant not confirmed"),
            Self::NotConfirmed { renewal: true } => f.write_str("renewal not confirmed"),
            Self::ClockSetBack { by } => write!(f, "not renewed: clock set back by {by:?}"),
            Self::ClockOff { from, of } => write!(f, "clock differs from {from} of {of} others"),
            Self::ClockRight => f.write_str("clock agrees again"),
            Self::OtherTimes { who, theirs, ours, .. } => {
                write!(f, "{who} has {theirs}, and this process has {ours}")
            }
            Self::SameName { who } => write!(f, "another candidate has the name {}, too", who.id),
            Self::SameRank { who } => write!(
                f,
                "{} has the same rank as this candidate, and a random draw decides which of the \
                 two leads",
                who.id
            ),
            Self::PayloadTooSmall { max_payload, needed } => write!(
                f,
                "the server takes messages of at most {max_payload} bytes: its max_payload must be \
                 {needed} or more"
            ),
            Self::Ignored(reason) => write!(f, "ignored: {}", reason.label()),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heartbeat, lease, max_clock_skew } = self;
        write!(f, "heartbeat {heartbeat:?}, lease {lease:?}, max clock skew {max_clock_skew:?}")
    }
}
