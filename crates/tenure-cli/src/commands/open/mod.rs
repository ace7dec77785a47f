//! Taking part with the settings of a command, whatever the protocol.

#[cfg(feature = "etcd")]
mod etcd;
#[cfg(not(feature = "etcd"))]
#[path = "no_etcd.rs"]
mod etcd;
pub(super) mod nerio;
mod troubles;

use std::pin::Pin;
use std::time::Duration;

use tenure::{AtMostOne, Election, ElectionName, NodeName, Waiting};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{Ledger, With};

/// One that takes part in elections: it campaigns, or only asks.
pub(super) trait Participant {
    /// One election.
    fn election(&self, name: &ElectionName) -> Election<AtMostOne>;

    /// Resolves when nothing that is asked from now on can ever be answered, with what to do
    /// about it. Meanwhile it warns of what may pass.
    fn hopeless(&self, ledger: &Ledger) -> Later<Failure>;

    /// Why it is not known who leads `election`, if that is known.
    fn silent(&self, election: &ElectionName) -> Later<Option<Failure>>;

    /// What keeps somebody from leading `election`, which nobody leads.
    fn vacant(&self, _election: &ElectionName) -> Later<Option<String>> {
        Box::pin(async { None })
    }

    /// Resolves when this is to be said: never where its own warnings say it already, and not
    /// while it may end the process.
    fn worth_saying(&self, _: &Waiting) -> Later<()> {
        Box::pin(std::future::ready(()))
    }

    /// What keeps it from the store now, and for how long already.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// What to do about a campaign that was refused for this reason.
    fn refused(&self, why: String) -> Later<Failure> {
        Box::pin(async { refused(why) })
    }

    /// Gives up whatever is held, and waits for a moment until that is done.
    fn close(self: Box<Self>) -> Later<()>;
}

fn refused(why: String) -> Failure {
    Failure::new(Exit::Refused, why, "settle that, and start it again")
}

/// What a participant is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Campaign,
    Ask,
}

/// How long an asker asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Until it has an answer, or tells why there is none.
    Once,
    /// Until it is told to end.
    On,
}

/// Something that is there later.
pub(super) type Later<T> = Pin<Box<dyn Future<Output = T>>>;

/// One that may campaign in `election` under the name `id`.
pub(super) fn candidate(
    with: &With,
    id: &NodeName,
    election: &ElectionName,
    ledger: &Ledger,
) -> Result<Box<dyn Participant>, Failure> {
    match with {
        With::Nerio(cluster) => Ok(Box::new(nerio::candidate(cluster, id, ledger)?)),
        With::Etcd(store) => etcd::start(store, election, Purpose::Campaign, ledger),
    }
}

/// One that only asks about `election`.
pub(super) fn asker(
    with: &With,
    election: &ElectionName,
    asks: Asks,
    ledger: &Ledger,
) -> Result<Box<dyn Participant>, Failure> {
    match with {
        With::Nerio(cluster) => Ok(Box::new(nerio::asker(cluster, asks, ledger)?)),
        With::Etcd(store) => etcd::start(store, election, Purpose::Ask, ledger),
    }
}

/// How long to ask before it is unknown.
pub(super) fn patience(with: &With) -> Duration {
    match with {
        // Several questions to each grantor.
        With::Nerio(cluster) => cluster.config.round_trip * 20 + Duration::from_secs(1),
        // What `etcdctl` gives a command.
        With::Etcd(_) => Duration::from_secs(5),
    }
}
