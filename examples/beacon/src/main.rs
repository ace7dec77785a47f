//! The command `tenure` with the protocol beacon in addition to its own protocols. This file has
//! the settings and the words of beacon, and starts its nodes.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use beacon::{LEASE, Node, TIMING, start};
use tenure::{ElectionName, NodeName};
use tenure_cli::Failure;
use tenure_cli::protocol::{
    AnyElection, AskMode, Backend, Capabilities, Later, Participant, Protocol, StartedParticipant,
    Support, at_once, nerio, refused,
};
use tenure_cli::settings::{Default::Nothing, Origins, Reach::Everywhere, Refusal, parse};

tenure_cli::settings! {
    BEACONS: Vec<SocketAddr> = "beacons" "LIST" List, Everywhere, Nothing, "Beacon",
        addresses,
        |all: &Vec<SocketAddr>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        "The addresses of all participants";
}

fn addresses(text: &str) -> Result<Vec<SocketAddr>, Refusal> {
    text.split(',').map(parse::address).collect()
}

fn main() -> ExitCode {
    tenure_cli::main(const { &[&nerio::PROTOCOL, &BEACON] })
}

static BEACON: Protocol = Protocol {
    name: "beacon",
    alias: None,
    about: "an example: processes of one machine that tell each other who leads",
    service: None,
    can: Capabilities { several_leaders: true, ..Capabilities::NONE },
    settings: &[&BEACONS.spec],
    of_candidates: &[],
    secrets: &[],
    says: &[],
    whereabouts: &BEACONS.spec,
    realm: &BEACONS.spec,
    roster: None,
    instead: &[],
    quiet: &[],
    role: None,
    gives_way: None,
    own_id: None,
    unknown: "nothing was heard yet",
    shows_id: false,
    example: "--beacons 127.0.0.1:7001,127.0.0.1:7002",
    support: Support::Built(|layers, _| Ok(Box::new(Among(layers.required(&BEACONS)?)))),
};

/// The addresses of all participants.
#[derive(Debug)]
struct Among(Vec<SocketAddr>);

impl Among {
    fn start(&self, id: &str) -> Result<Box<dyn Participant>, Failure> {
        let id = NodeName::new(id).map_err(|error| refused(error.to_string()))?;
        let node = start(id, self.0.clone()).map_err(|error| refused(error.to_string()))?;
        Ok(Box::new(One(node)))
    }
}

impl Backend for Among {
    fn grace(&self) -> Duration {
        TIMING.grace
    }

    fn kill_margin(&self) -> Duration {
        TIMING.kill_margin
    }

    fn patience(&self) -> Duration {
        LEASE
    }

    fn candidate<'a>(
        &'a self,
        id: &'a NodeName,
        _: &'a ElectionName,
        _: &'a Origins,
    ) -> StartedParticipant<'a> {
        at_once(self.start(id.as_str()))
    }

    fn asker<'a>(
        &'a self,
        _: &'a ElectionName,
        _: AskMode,
        _: &'a Origins,
    ) -> StartedParticipant<'a> {
        at_once(self.start("asker"))
    }
}

struct One(Node);

impl Participant for One {
    fn election(&self, name: &ElectionName) -> AnyElection {
        AnyElection::MayOverlap(self.0.election(name.clone()))
    }

    fn alive(&self) -> Later<'_, bool> {
        at_once(!self.0.is_closed())
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        Box::pin(std::future::pending())
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.0.close().await })
    }
}
