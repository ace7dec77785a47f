//! Voters and askers with the settings of a command.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tenure::{AtMostOne, Election, ElectionName, MayOverlap, NodeName};
use tenure_core::voter::Mode;
use tenure_voter::{Asker, AskerConfig, CheckedOptions, Class, Config, Node};

use super::network::{Settings, refused};
use super::warnings::Watcher;
use super::{explain, members, start};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::troubles::{Troubles, Watch};
use crate::protocol::{
    AnyElection, AskMode, AskedElection, Backend, Later, MadeChange, MemberChange, Members,
    Participant, StartedParticipant, Transport, at_once,
};
use crate::settings::Origins;

/// The extra time that a question gets for the look-up of a name and for its connection.
const CONNECTING: Duration = Duration::from_secs(2);

impl Backend for Settings {
    fn grace(&self) -> Duration {
        self.times.grace
    }

    fn kill_margin(&self) -> Duration {
        self.times.kill_margin
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.config.clone()?.check().ok()?.lease())
    }

    fn binds(&self) -> Option<(SocketAddr, Transport)> {
        self.config.as_ref().map(|_| (self.options.listen, Transport::Tcp))
    }

    fn check_owner(&self, path: &Path, origins: &Origins) -> Result<(), Failure> {
        let Some(config) = &self.config else { return Ok(()) };
        let checked = tenure_voter::check_owner(path, &config.id);
        checked.map_err(|error| explain::start(&error.into(), origins))
    }

    fn patience(&self) -> Duration {
        CONNECTING + self.times.heartbeat * 2
    }

    fn candidate<'a>(
        &'a self,
        _: &'a NodeName,
        _: &'a ElectionName,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move {
            let Some(config) = self.config.clone() else {
                return Err(Failure::new(Exit::Bug, "no voter's settings were read", "report it"));
            };
            match self.mode {
                Mode::Majority => vote::<AtMostOne>(self, config, origins, AnyElection::AtMostOne),
                Mode::Available => {
                    vote::<MayOverlap>(self, config, origins, AnyElection::MayOverlap)
                }
            }
        })
    }

    fn asker<'a>(
        &'a self,
        election: &'a ElectionName,
        _: AskMode,
        origins: &'a Origins,
    ) -> StartedParticipant<'a> {
        Box::pin(async move {
            match self.mode {
                Mode::Majority => ask::<AtMostOne>(self, election, origins, AnyElection::AtMostOne),
                Mode::Available => {
                    ask::<MayOverlap>(self, election, origins, AnyElection::MayOverlap)
                }
            }
        })
    }

    fn members<'a>(&'a self, origins: &'a Origins) -> Later<'a, Result<Members, Failure>> {
        Box::pin(members::show(self, origins))
    }

    fn check_change(&self, change: &MemberChange, origins: &Origins) -> Result<(), Failure> {
        members::of_voters(change, origins).map(drop)
    }

    fn change_members<'a>(
        &'a self,
        change: MemberChange,
        limit: Option<Duration>,
        origins: &'a Origins,
    ) -> Later<'a, Result<MadeChange, Failure>> {
        Box::pin(members::change(self, change, limit, origins))
    }

    fn start_election<'a>(
        &'a self,
        origins: &'a Origins,
    ) -> Later<'a, Result<AskedElection, Failure>> {
        Box::pin(start::start(self, origins))
    }
}

/// Wraps an election of safety class `C` as [`AnyElection`], which the command takes.
type Of<C> = fn(Election<C>) -> AnyElection;

fn vote<C: Class>(
    settings: &Settings,
    config: Config,
    origins: &Origins,
    class: Of<C>,
) -> Result<Box<dyn Participant>, Failure> {
    let config = config.check().map_err(|error| refused(&error, origins))?;
    let options = options(settings, origins)?;
    let node = Node::<C>::builder(config, options).start();
    let node = node.map_err(|error| explain::start(&error, origins))?;
    let (watch, troubles) = Watch::new(true);
    tokio::spawn(Watcher::new(origins, watch).watch(node.notices()));
    Ok(Box::new(VoterParticipant { side: NodeSide(node), class, troubles }))
}

fn ask<C: Class>(
    settings: &Settings,
    election: &ElectionName,
    origins: &Origins,
    class: Of<C>,
) -> Result<Box<dyn Participant>, Failure> {
    let config = AskerConfig {
        election: election.clone(),
        mode: settings.mode,
        urls: settings.list.iter().map(|listed| listed.url.clone()).collect(),
        every: settings.times.heartbeat,
        within: settings.times.request_timeout,
        drift: settings.times.drift,
    };
    let asker = Asker::<C>::start(config, &options(settings, origins)?);
    let asker = asker.map_err(|error| explain::start(&error, origins))?;
    let (watch, troubles) = Watch::new(false);
    tokio::spawn(Watcher::new(origins, watch).watch(asker.notices()));
    Ok(Box::new(VoterParticipant { side: AskerSide(asker), class, troubles }))
}

pub(super) fn options(settings: &Settings, origins: &Origins) -> Result<CheckedOptions, Failure> {
    settings.options.clone().check().map_err(|error| explain::options(&error, origins))
}

/// A node that votes, or only asks.
trait Side<C: Class> {
    fn election(&self, name: ElectionName) -> Election<C>;

    fn alive(&self) -> Later<'_, bool>;

    fn close(self) -> Later<'static, ()>;
}

struct NodeSide<C: Class>(Node<C>);

impl<C: Class> Side<C> for NodeSide<C> {
    fn election(&self, name: ElectionName) -> Election<C> {
        self.0.election_named(name)
    }

    fn alive(&self) -> Later<'_, bool> {
        Box::pin(async { self.0.counters().await.is_some() })
    }

    fn close(self) -> Later<'static, ()> {
        Box::pin(async move { self.0.close().await })
    }
}

struct AskerSide<C: Class>(Asker<C>);

impl<C: Class> Side<C> for AskerSide<C> {
    fn election(&self, name: ElectionName) -> Election<C> {
        self.0.election_named(name)
    }

    /// Always true: only a process that campaigns reports whether it is alive.
    fn alive(&self) -> Later<'_, bool> {
        at_once(true)
    }

    fn close(self) -> Later<'static, ()> {
        Box::pin(async move { self.0.close().await })
    }
}

struct VoterParticipant<C: Class, S> {
    side: S,
    class: Of<C>,
    troubles: Troubles,
}

impl<C: Class, S: Side<C>> Participant for VoterParticipant<C, S> {
    fn election(&self, name: &ElectionName) -> AnyElection {
        (self.class)(self.side.election(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        self.side.alive()
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        self.troubles.permanent()
    }

    fn why_unknown(&self, _: &ElectionName) -> Later<'static, Option<Failure>> {
        self.troubles.why_silent()
    }

    fn trouble(&self) -> Option<String> {
        self.troubles.own()
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        self.side.close()
    }
}
