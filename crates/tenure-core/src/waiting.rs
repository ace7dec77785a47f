//! The reason why a campaign waits: the same words for every protocol.
//!
//! A core reports a reason from the answers that it gets, as an event and only when the reason
//! changes. A driver adds reasons of its own, such as an endpoint that cannot be reached. Both use
//! the names that operators know: of grantors, candidates and endpoints.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use crate::time::Time;

/// The reason why a campaign has not been won yet, or why a lease is not renewed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Waiting {
    /// No participant that could answer has been reached.
    Connecting { obstacles: Vec<Obstacle> },
    /// The participants that answer are no quorum.
    NoQuorum {
        /// Silent participants.
        missing: Vec<Arc<str>>,
    },
    /// Grantors that lost their state directories grant nothing until every lease that they may
    /// have given has ended.
    OldLeases {
        at: Vec<Arc<str>>,
        /// Time at which enough of these grantors grant again, on this node's clock.
        until: Time,
        missing: Vec<Arc<str>>,
    },
    /// Grantors with a lost or a new state directory read the fences of the other grantors.
    Fences {
        at: Vec<Arc<str>>,
        /// Whether a member remembers the cluster, so that the cluster is not new.
        known: bool,
        missing: Vec<Arc<str>>,
    },
    /// Another candidate leads, or comes before this candidate.
    Behind {
        /// Public name of the other candidate; with a store, the name of its key.
        who: Arc<str>,
        leading: bool,
    },
    /// A key that no candidate made comes before this candidate's key, and does not go away by
    /// itself.
    Foreign {
        key: Arc<str>,
        /// The reason why the key counts as foreign, and a remedy.
        why: Arc<str>,
    },
    /// Too many participants refuse, for reasons that only an operator can remove.
    Refused { obstacles: Vec<Obstacle>, missing: Vec<Arc<str>> },
    /// The last leader has stepped down, but has promised in a verification that no other process
    /// leads before `until`.
    Promised {
        /// Name of the candidate that promised, perhaps this one.
        who: Arc<str>,
        /// End of the promise, on this node's clock.
        until: Time,
    },
    /// This candidate has given up an earlier leadership, and no quorum has confirmed the release.
    GivingUp {
        missing: Vec<Arc<str>>,
        /// End of the lease at every participant, on this node's clock.
        until: Time,
    },
    /// This candidate listens for an unknown leader, because it has just joined or was cut off.
    Listening {
        /// Time from which this candidate may stand, on this node's clock.
        until: Time,
    },
    /// The seat is vacant, and the participants draw a leader.
    Drawing,
    /// Another process uses this candidate's name.
    NameInUse {
        /// Participants that report the other process.
        by: Vec<Arc<str>>,
        /// Address of the other process.
        other: SocketAddr,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Obstacle {
    /// The place of the obstacle: a grantor, an endpoint, or a store.
    pub by: Arc<str>,
    /// Kind for programs: lower-case letters and hyphens.
    pub label: &'static str,
    pub why: Arc<str>,
    /// Whether `why` is a whole sentence, which needs no name before it.
    is_sentence: bool,
}

impl Obstacle {
    /// The label of a place that has not answered yet.
    pub const NO_ANSWER: &'static str = "no-answer";

    /// A place that has not answered yet.
    #[must_use]
    pub fn no_answer(by: impl Into<Arc<str>>) -> Self {
        Self::new(by, Self::NO_ANSWER, "no answer yet")
    }

    /// An obstacle whose reason is read after the name of the place.
    #[must_use]
    pub fn new(by: impl Into<Arc<str>>, label: &'static str, why: impl Into<Arc<str>>) -> Self {
        Self { by: by.into(), label, why: why.into(), is_sentence: false }
    }

    /// An obstacle whose reason is a whole sentence.
    #[must_use]
    pub fn sentence(
        by: impl Into<Arc<str>>,
        label: &'static str,
        why: impl Into<Arc<str>>,
    ) -> Self {
        Self { is_sentence: true, ..Self::new(by, label, why) }
    }
}

impl Waiting {
    /// Every [`label`](Self::label).
    pub const LABELS: [&str; 12] = [
        "connecting",
        "no-quorum",
        "old-leases",
        "fences",
        "behind",
        "foreign-key",
        "refused",
        "promised",
        "giving-up",
        "listening",
        "drawing",
        "name-in-use",
    ];

    /// The kind of the reason for programs: lower-case letters and hyphens.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Connecting { .. } => "connecting",
            Self::NoQuorum { .. } => "no-quorum",
            Self::OldLeases { .. } => "old-leases",
            Self::Fences { .. } => "fences",
            Self::Behind { .. } => "behind",
            Self::Foreign { .. } => "foreign-key",
            Self::Refused { .. } => "refused",
            Self::Promised { .. } => "promised",
            Self::GivingUp { .. } => "giving-up",
            Self::Listening { .. } => "listening",
            Self::Drawing => "drawing",
            Self::NameInUse { .. } => "name-in-use",
        }
    }

    /// Whether `other` is the same reason. Cores compute the end anew from each answer: ends that
    /// differ by less than `slack` count as the same.
    #[must_use]
    pub fn is_as(&self, other: &Self, slack: Duration) -> bool {
        let moved = |until: &Time, before: &Time| until.since(*before).max(before.since(*until));
        match (self, other) {
            (
                Self::OldLeases { at, until, missing },
                Self::OldLeases { at: others, until: before, missing: absent },
            ) => at == others && missing == absent && moved(until, before) < slack,
            (Self::Promised { who, until }, Self::Promised { who: other, until: before }) => {
                who == other && moved(until, before) < slack
            }
            (
                Self::GivingUp { missing, until },
                Self::GivingUp { missing: absent, until: before },
            ) => missing == absent && moved(until, before) < slack,
            (Self::Listening { until }, Self::Listening { until: before }) => {
                moved(until, before) < slack
            }
            // More and more grantors notice the shared name: the list `by` grows.
            (Self::NameInUse { other, .. }, Self::NameInUse { other: known, .. }) => other == known,
            _ => self == other,
        }
    }

    /// The reason as a line for people; ends are printed as the time left at `now`.
    #[must_use]
    pub fn told(&self, now: Time) -> impl fmt::Display {
        Sentence { waiting: self, now: Some(now) }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Sentence { waiting: self, now: None }.fmt(f)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sentence {
            return f.write_str(&self.why);
        }
        write!(f, "{}: {}", self.by, self.why)
    }
}

struct Sentence<'a> {
    waiting: &'a Waiting,
    /// The instant for "time left"; without it, ends are printed as instants.
    now: Option<Time>,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.waiting {
            Waiting::Connecting { obstacles } if obstacles.is_empty() => f.write_str("connecting"),
            Waiting::Connecting { obstacles } => {
                write!(f, "connecting: {}", List(obstacles, "; "))
            }
            Waiting::NoQuorum { missing } => {
                write!(f, "no quorum: no answer from {}", List(missing, ", "))
            }
            Waiting::OldLeases { at, until, missing } => {
                let verb = if at.len() == 1 { "grants" } else { "grant" };
                write!(f, "old leases may still run: {} {verb} nothing ", List(at, ", "))?;
                self.until(*until, f)?;
                also(missing, f)
            }
            Waiting::Fences { at, known, missing } => {
                let has = if at.len() == 1 { "has" } else { "have" };
                write!(f, "{} {has} no stored state (lost, or never written)", List(at, ", "))?;
                also(missing, f)?;
                f.write_str(if *known {
                    ". The campaign goes on once the other nodes that serve are a quorum"
                } else {
                    ". The campaign goes on once the other nodes that serve are a quorum or, if \
                     the cluster is new, once all nodes hear each other"
                })?;
                f.write_str(
                    ". If too few nodes have kept their directories, see docs/howto/lost-quorum.md",
                )
            }
            Waiting::Behind { who, leading: true } => write!(f, "behind {who}, which leads"),
            Waiting::Behind { who, leading: false } => write!(f, "behind {who}"),
            Waiting::Foreign { key, why } => {
                write!(f, "behind key {key}, which belongs to no candidate: {why}")
            }
            Waiting::Refused { obstacles, missing } => {
                let is_sentence = obstacles.first().is_some_and(|first| first.is_sentence);
                f.write_str(if is_sentence { "refused: " } else { "refused by " })?;
                write!(f, "{}", List(obstacles, "; "))?;
                also(missing, f)
            }
            Waiting::Promised { who, until } => {
                write!(f, "{who} has stepped down, and promised that nobody else leads ")?;
                self.until(*until, f)
            }
            Waiting::GivingUp { missing, until } => {
                f.write_str(
                    "this candidate waits for a quorum to confirm that it gave up the lease, at \
                     most ",
                )?;
                self.until(*until, f)?;
                also(missing, f)
            }
            Waiting::Listening { until } => {
                f.write_str("listening for a leader, ")?;
                self.until(*until, f)
            }
            Waiting::Drawing => f.write_str("the seat is vacant, and the voters draw a leader"),
            Waiting::NameInUse { by, other } => {
                let verb = if by.len() == 1 { "reports" } else { "report" };
                write!(
                    f,
                    "{} {verb} another process with this candidate's name, at {other}: end one of \
                     the two, or give one of them another name",
                    List(by, ", ")
                )
            }
        }
    }
}

impl Sentence<'_> {
    /// Prints the time left, rounded up.
    fn until(&self, until: Time, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(now) = self.now else { return write!(f, "until {until}") };
        let tenths = until.since(now).as_millis().div_ceil(100);
        write!(f, "for {}.{}s more", tenths / 10, tenths % 10)
    }
}

fn also(missing: &[Arc<str>], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match missing {
        [] => Ok(()),
        missing => write!(f, "; no answer from {}", List(missing, ", ")),
    }
}

/// Items, and the text between two of them.
pub(crate) struct List<'a, T>(pub(crate) &'a [T], pub(crate) &'static str);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, item) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str(self.1)?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn names(list: &[&str]) -> Vec<Arc<str>> {
        list.iter().map(|name| (*name).into()).collect()
    }

    fn name_in_use(by: &[&str]) -> Waiting {
        Waiting::NameInUse { by: names(by), other: ([127, 0, 0, 1], 7).into() }
    }

    fn leases(until: u64) -> Waiting {
        let until = Time::from_nanos(until * 1_000_000);
        Waiting::OldLeases { at: names(&["b"]), until, missing: names(&["a"]) }
    }

    #[test]
    fn each_is_one_line_for_people() {
        let told = |waiting: &Waiting| waiting.told(Time::from_nanos(2_000_000_000)).to_string();
        let obstacle = Obstacle::new("c", "disk", "cannot write");
        let sentence = Obstacle::sentence("c", "disk", "c is away");
        let until = Time::from_nanos(4_000_000_000);
        for (waiting, text) in [
            (Waiting::Connecting { obstacles: Vec::new() }, "connecting"),
            (
                Waiting::Connecting { obstacles: [obstacle.clone()].into() },
                "connecting: c: cannot write",
            ),
            (Waiting::Connecting { obstacles: [sentence.clone()].into() }, "connecting: c is away"),
            (Waiting::NoQuorum { missing: names(&["a", "c"]) }, "no quorum: no answer from a, c"),
            (
                leases(5_210),
                "old leases may still run: b grants nothing for 3.3s more; no answer from a",
            ),
            (
                leases(1),
                "old leases may still run: b grants nothing for 0.0s more; no answer from a",
            ),
            (
                Waiting::Fences { at: names(&["b"]), known: true, missing: names(&["c"]) },
                "b has no stored state (lost, or never written); no answer from c. The campaign \
                 goes on once the other nodes that serve are a quorum. If too few nodes have kept \
                 their directories, see docs/howto/lost-quorum.md",
            ),
            (
                Waiting::Fences { at: names(&["a", "b"]), known: false, missing: Vec::new() },
                "a, b have no stored state (lost, or never written). The campaign goes on once the \
                 other nodes that serve are a quorum or, if the cluster is new, once all nodes \
                 hear each other. If too few nodes have kept their directories, see \
                 docs/howto/lost-quorum.md",
            ),
            (Waiting::Behind { who: "one".into(), leading: true }, "behind one, which leads"),
            (Waiting::Behind { who: "1e26f5".into(), leading: false }, "behind 1e26f5"),
            (
                Waiting::Foreign { key: "a/b".into(), why: "it has no lease".into() },
                "behind key a/b, which belongs to no candidate: it has no lease",
            ),
            (
                Waiting::Refused { obstacles: [obstacle].into(), missing: names(&["a"]) },
                "refused by c: cannot write; no answer from a",
            ),
            (
                Waiting::Refused { obstacles: [sentence].into(), missing: Vec::new() },
                "refused: c is away",
            ),
            (
                Waiting::Promised { who: "one".into(), until: Time::from_nanos(5_250_000_000) },
                "one has stepped down, and promised that nobody else leads for 3.3s more",
            ),
            (
                Waiting::GivingUp { missing: names(&["b", "c"]), until },
                "this candidate waits for a quorum to confirm that it gave up the lease, at most \
                 for 2.0s more; no answer from b, c",
            ),
            (
                Waiting::Listening { until: Time::from_nanos(5_250_000_000) },
                "listening for a leader, for 3.3s more",
            ),
            (Waiting::Drawing, "the seat is vacant, and the voters draw a leader"),
            (
                name_in_use(&["a"]),
                "a reports another process with this candidate's name, at 127.0.0.1:7: end one of \
                 the two, or give one of them another name",
            ),
        ] {
            assert_eq!(told(&waiting), text, "{}", waiting.label());
            assert!(Waiting::LABELS.contains(&waiting.label()));
        }
    }

    #[test]
    fn moved_end_is_the_same_wait() {
        let slack = Duration::from_millis(250);
        assert!(leases(5_000).is_as(&leases(5_249), slack));
        assert!(leases(5_249).is_as(&leases(5_000), slack));
        assert!(!leases(5_000).is_as(&leases(5_250), slack));
        assert!(name_in_use(&["a"]).is_as(&name_in_use(&["a", "b"]), slack));
        assert!(!leases(5_000).is_as(&Waiting::NoQuorum { missing: names(&["a"]) }, slack));
    }
}
