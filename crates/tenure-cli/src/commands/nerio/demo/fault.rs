//! The faults of the demo, and its sentences about them.

use super::workdir::CANDIDATES;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Resign,
    /// SIGKILL for the leader's `tenure run`.
    Kill,
    /// SIGSTOP for the leader's `tenure run` until the lease is over, and SIGCONT later.
    Stop,
}

impl Fault {
    pub(super) const ALL: [Self; 3] = [Self::Resign, Self::Kill, Self::Stop];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Resign => "resign",
            Self::Kill => "kill -9",
            Self::Stop => "SIGSTOP",
        }
    }

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Resign => "resign",
            Self::Kill => "kill",
            Self::Stop => "stop",
        }
    }
}

/// A fault of the leader with this fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Strike {
    pub(super) fault: Fault,
    pub(super) victim: String,
    pub(super) fence: u64,
}

impl Strike {
    /// The candidate that takes over.
    fn heir(&self) -> &'static str {
        CANDIDATES.into_iter().find(|candidate| *candidate != self.victim).unwrap_or("nobody")
    }

    /// Announces the fault, and its lesson.
    pub(super) fn plan(&self) -> String {
        let victim = &self.victim;
        let heir = self.heir();
        match self.fault {
            Fault::Resign => format!(
                "tenure resign: {victim} stops its work and then gives the lease back, so {heir} \
                 need not wait until the lease ends"
            ),
            Fault::Kill => format!(
                "kill -9 of {victim}'s tenure run: its guard ends the work at once. A dead leader \
                 looks like a slow one, so {heir} waits until the lease is over"
            ),
            Fault::Stop => format!(
                "SIGSTOP of {victim}'s tenure run for longer than its lease: its guard ends the \
                 work in time. Afterwards {victim} knows that it no longer leads"
            ),
        }
    }

    /// Describes the time until the takeover.
    pub(super) fn under_way(&self) -> String {
        let victim = &self.victim;
        let heir = self.heir();
        match self.fault {
            Fault::Resign => {
                format!("{victim} resigns: it stops its work and gives the lease back")
            }
            Fault::Kill => format!(
                "{victim}'s tenure run was killed with -9: {heir} waits for the lease to end"
            ),
            Fault::Stop => {
                format!("{victim}'s tenure run was stopped: {heir} waits for the lease to end")
            }
        }
    }

    /// Describes the time between the takeover and the repair.
    pub(super) fn taken_over(&self) -> String {
        let victim = &self.victim;
        let heir = self.heir();
        match self.fault {
            Fault::Resign | Fault::Kill => {
                format!("{heir} has taken over; {victim} is started again soon")
            }
            Fault::Stop => {
                format!(
                    "{heir} has taken over; {victim} continues soon, and must not work any more"
                )
            }
        }
    }

    pub(super) fn mended(&self) -> String {
        let victim = &self.victim;
        match self.fault {
            Fault::Resign | Fault::Kill => format!("{victim} is started again"),
            Fault::Stop => format!("{victim} continues (SIGCONT)"),
        }
    }
}
