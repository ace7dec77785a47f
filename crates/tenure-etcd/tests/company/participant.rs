//! Participants: processes of one of three kinds, and their output.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tenure::clock;
use tenure_core::Time;
use tenure_services::Process;
use tenure_services::etcd::Cluster;

use crate::candidate;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Ours,
    Go,
    /// The lease of `etcdctl elect` has a fixed length of 60 s, so the process is never killed.
    Etcdctl,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Ours, Self::Go, Self::Etcdctl];
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fate {
    Leaves,
    /// SIGKILL: its key goes with the lease, which is short.
    Dies,
}

/// The process's belief in its own leadership, on the machine's clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    pub(crate) value: String,
    pub(crate) key: String,
    /// The create revision of the process's key, if the process reports one.
    pub(crate) fence: Option<u64>,
    pub(crate) since: Time,
    /// The process took itself for the leader until this time at least.
    pub(crate) until: Time,
}

/// The content of a process's output file, an object a line, without `etcdctl`'s text about the
/// connection.
pub(crate) fn said(log: &Path) -> String {
    let all = fs::read_to_string(log).unwrap();
    all.split_inclusive('\n').filter(|line| !line.starts_with('{')).collect()
}

pub(crate) struct Participant {
    pub(crate) kind: Kind,
    pub(crate) fate: Fate,
    pub(crate) value: String,
    process: Process,
    log: PathBuf,
    /// The time at which the test saw `etcdctl`'s report of its leadership. The report does not say
    /// when the leadership began.
    seen: Option<Time>,
    /// The time of the order to quit.
    told: Option<Time>,
}

impl Participant {
    pub(crate) fn join(
        cluster: &Cluster,
        election: &str,
        nth: usize,
        kind: Kind,
        fate: Fate,
    ) -> Self {
        let value = format!("{kind:?}-{nth}").to_lowercase();
        let log = cluster.folder().join(format!("{value}.log"));
        // Both TTLs are long enough for a machine that stands still for some seconds. The shorter
        // TTL keeps other candidates from waiting long for the end of a dead candidate's lease.
        let ttl = if fate == Fate::Dies { "10" } else { "30" };
        let endpoint = cluster.member(0).endpoint();
        let start = |program: &OsStr, role: &str| {
            Process::start(program, &[role, endpoint, election, &value, ttl], &log)
        };
        let process = match kind {
            Kind::Ours => start(std::env::current_exe().unwrap().as_os_str(), candidate::ROLE),
            Kind::Go => start(crate::stranger().as_os_str(), "campaign"),
            Kind::Etcdctl => cluster.etcdctl_beside(&["elect", election, &value], &log),
        };
        let process = process.unwrap();
        Self { kind, fate, value, process, log, seen: None, told: None }
    }

    /// Orders the process to go, or kills it. The process may lead until that time.
    pub(crate) fn depart(&mut self) {
        self.look();
        self.told = Some(clock::now());
        match self.fate {
            Fate::Leaves => self.process.interrupt(),
            Fate::Dies => self.process.kill(),
        }
        .unwrap();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.process.ended().unwrap().is_some()
    }

    pub(crate) fn said(&self) -> String {
        said(&self.log)
    }

    /// Whether the process obeys SIGINT already. etcdctl does not show whether it does.
    pub(crate) fn is_ready(&self) -> bool {
        self.said().starts_with("ready\n")
    }

    pub(crate) fn look(&mut self) -> bool {
        let said = self.said();
        if self.kind != Kind::Etcdctl {
            return said.contains("\nleading ") && said.ends_with('\n');
        }
        if self.seen.is_none() && said.ends_with(&format!("\n{}\n", self.value)) {
            self.seen = Some(clock::now());
        }
        self.seen.is_some()
    }

    /// Asserts that the process ended as expected, once it has ended.
    pub(crate) fn farewell(&self) -> Result<(), String> {
        let said = fs::read_to_string(&self.log).unwrap();
        let status = self.process.ended().unwrap();
        let is_right = match (self.kind, self.fate) {
            (_, Fate::Dies) => status.is_some(),
            // An etcdctl that is interrupted while it waits reports the interruption.
            (Kind::Etcdctl, _) => {
                let is_cancelled = said.contains("context canceled");
                status.is_some_and(|status| status.success() || is_cancelled)
            }
            (Kind::Ours | Kind::Go, _) => {
                status.is_some_and(|status| status.success()) && said.ends_with("left\n")
            }
        };
        if is_right { Ok(()) } else { Err(format!("{} ended with {status:?}: {said}", self.value)) }
    }

    /// The belief in its own leadership, if the process ever had one.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let said = self.said();
        let value = self.value.clone();
        if self.kind == Kind::Etcdctl {
            let key = said.lines().next()?.to_owned();
            let since = self.seen?;
            return Some(Claim { value, key, fence: None, since, until: self.told? });
        }
        let mut lines = said.lines().skip(1).map(|line| line.split(' '));
        let mut first = lines.next()?;
        first.next().filter(|word| *word == "leading")?;
        let key = first.next()?.to_owned();
        let fence = first.next()?;
        let since = first.next()?;
        let instant = |text: &str| Time::from_nanos(text.parse().unwrap());
        let since = instant(since);
        let mut second = lines.next();
        let until = match second.as_mut().and_then(Iterator::next) {
            Some("led") => instant(second?.next()?),
            // Go's package may report a win with a key that is gone, and then its loss.
            Some("lost") if self.kind == Kind::Go => return None,
            // The process reports when it noticed its loss: the leadership may have been over long
            // before.
            Some("lost") => since,
            _ => self.told?,
        };
        Some(Claim { value, key, fence: Some(fence.parse().unwrap()), since, until })
    }
}
