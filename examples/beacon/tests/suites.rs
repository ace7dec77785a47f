//! The suite of cores, the suite of handles, and `tenure run`.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use beacon::{Beacon, Beat, Node, start};
use tenure::{Election, MayOverlap};
use tenure_core::{Command, ElectionName, NodeName};
use tenure_testkit::Rng;
use tenure_testkit::contract::Subject;
use tenure_testkit::handles::Group;
use tenure_testkit::processes::{addresses, wait};

const NAMES: [&str; 3] = ["one", "three", "two"];
const ELECTIONS: [&str; 2] = ["x", "y"];

/// Three cores. Each core hears the messages of the others.
struct Three;

fn name(node: usize) -> NodeName {
    NAMES[node].parse().unwrap()
}

impl Subject for Three {
    type Core = Beacon;
    type Store = ();

    const NODES: usize = NAMES.len();
    const DEBUG_BYTES_MAX: usize = 50_000;

    fn core(node: usize) -> Beacon {
        Beacon::new(name(node))
    }

    fn start(_: usize) {}

    fn send(
        (): &mut (),
        node: usize,
        _: &&'static str,
        beat: &Beat,
        _: &mut Rng,
    ) -> Vec<(usize, (NodeName, Beat))> {
        let others = (0..Self::NODES).filter(|other| *other != node);
        others.map(|other| (other, (name(node), beat.clone()))).collect()
    }

    fn elections() -> Vec<ElectionName> {
        ELECTIONS.map(|name| name.parse().unwrap()).to_vec()
    }

    fn command(rng: &mut Rng) -> Command<Infallible> {
        match rng.within(0..8) {
            0 => Command::Resign,
            1 => Command::Observe { every: Duration::from_secs(1) },
            2 => Command::Unobserve,
            _ => Command::Campaign { value: "here".parse().unwrap(), priority: 0 },
        }
    }

    fn hostile(rng: &mut Rng) -> (NodeName, Beat) {
        let election = rng.pick(&ELECTIONS).parse().unwrap();
        let leads = rng.once_in(2).then(|| "elsewhere".parse().unwrap());
        (format!("p{}", rng.within(0..200)).parse().unwrap(), Beat { election, leads })
    }
}

tenure_testkit::contract!(the_core, super::Three);

/// Participants that reach each other.
struct Beacons {
    addresses: Vec<SocketAddr>,
    nodes: BTreeMap<&'static str, Node>,
}

impl Beacons {
    fn new() -> Self {
        Self { addresses: addresses::<4>().into(), nodes: BTreeMap::new() }
    }
}

impl Group for Beacons {
    type Class = MayOverlap;

    const NO_TRANSFER: Option<&'static str> = Some("beacon");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<MayOverlap> {
        let begin = || start(participant.parse().unwrap(), self.addresses.clone()).unwrap();
        let node = self.nodes.entry(participant).or_insert_with(begin);
        node.election(election.parse().unwrap())
    }

    async fn close(&mut self, participant: &'static str) {
        self.nodes[participant].close().await;
    }
}

tenure_testkit::handles!(Beacons::new());

#[test]
fn tenure_run_leads_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let beacons = addresses::<2>().map(|address| address.to_string()).join(",");
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_beacon"));
    run.args(["run", "--protocol", "beacon", "--beacons", &beacons, "--election", "e"]);
    run.args(["--id", "me", "--", "/bin/sh", "-c", "echo $TENURE_ID leads"]);
    let ran = wait::output(run.env_clear().env("XDG_RUNTIME_DIR", directory.path()));
    assert!(ran.status.success() && ran.stdout == b"me leads\n", "{ran:?}");
}
