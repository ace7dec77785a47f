//! The regional voter under the suite: three voters, and exchanges that are lost now and then.

use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::voter::{
    Ask, Call, Caller, Command, Config, Founding, Listed, Memory, Message, Mode, Peer, Start,
    Voter, VoterUrl,
};
use tenure_testkit::Rng;
use tenure_testkit::contract::Subject;
use tenure_testkit::voter::arbitrary::{
    ask, exchange, header, known_id, known_identity, known_run, known_url,
};

const NODES: usize = 3;

mod cores {
    tenure_testkit::contract!(voter, crate::contract::Voters<false>);
    tenure_testkit::contract!(available_voter, crate::contract::Voters<true>);
}

struct Voters<const AVAILABLE: bool>;

fn at(url: &VoterUrl) -> Option<usize> {
    url.as_str().strip_prefix("http://n")?.parse().ok().filter(|node| *node < NODES)
}

fn config(node: usize, mode: Mode) -> Config {
    let listed = |node| Listed { id: known_id(node), url: known_url(node) };
    Config {
        mode,
        founding: Founding::List((0..NODES as u64).map(listed).collect()),
        heartbeat: Duration::from_millis(300),
        tolerance: 29,
        request_timeout: Duration::from_millis(250),
        cast_timeout: Duration::from_millis(300),
        result_timeout: Duration::from_millis(300),
        spread: Duration::from_millis(20),
        grace: Duration::from_millis(10),
        kill_margin: Duration::from_millis(1),
        voters: 6,
        ..Config::new("x".parse().unwrap(), known_id(node as u64), known_url(node as u64))
    }
}

/// Makes a request exceed the limits of every wire format.
fn exceed(ask: &mut Ask, rng: &mut Rng) {
    match ask {
        Ask::Cast(vote) => match rng.within(0..3) {
            0 => vote.electorate.members.reverse(),
            1 => vote.electorate.members.clear(),
            _ => vote.ballot.counter = *rng.pick(&[0, u64::MAX]),
        },
        Ask::Heartbeat(heartbeat) => {
            let voter = heartbeat.sender.clone();
            heartbeat.known_voters.resize(300, voter);
        }
        Ask::Result(result) | Ask::Certify(result) => result.votes.resize(100, (known_id(1), None)),
        Ask::Release(leadership) => leadership.ballot.counter = *rng.pick(&[0, u64::MAX]),
        _ => {}
    }
}

fn message(mode: Mode, rng: &mut Rng) -> (Peer, Message) {
    let call = Call(rng.within(0..3_000));
    match rng.within(0..10) {
        0..=5 => {
            let caller = match rng.within(0..8) {
                0 => Caller::Operator,
                1 => Caller::Anybody,
                _ => Caller::Voter(header(rng, mode)),
            };
            let mut ask = ask(rng);
            if rng.once_in(8) {
                exceed(&mut ask, rng);
            }
            let within = Duration::from_millis(rng.within(0..400));
            let message = Message::Request { call, caller, within, ask };
            (Peer::Caller(u64::MAX - call.0), message)
        }
        6..=7 => {
            let (header, (_, answer)) = (header(rng, mode), exchange(rng));
            (Peer::At(header.url.clone()), Message::Answer { call, header, answer })
        }
        8 => (Peer::At(known_url(1)), Message::Failed { call }),
        _ => {
            let urls = (0..rng.within(0..8)).map(known_url).collect();
            (Peer::Caller(0), Message::Seeds(urls))
        }
    }
}

const fn mode(is_available: bool) -> Mode {
    if is_available { Mode::Available } else { Mode::Majority }
}

impl<const AVAILABLE: bool> Subject for Voters<AVAILABLE> {
    type Core = Voter;
    type Store = ();

    const NODES: usize = NODES;
    const DEBUG_BYTES_MAX: usize = 400_000;

    fn core(node: usize) -> Voter {
        Voter::new(config(node, mode(AVAILABLE)).check().unwrap())
    }

    fn start(node: usize) -> Start {
        let seed = node as u64;
        let memory = Memory::begin(known_identity(seed));
        Start { incarnation: known_run(seed), seed, memory }
    }

    /// Delivers a request to the voter at its address. Now and then another voter gets the request,
    /// too.
    fn send(
        (): &mut (),
        from: usize,
        to: &Peer,
        message: &Message,
        rng: &mut Rng,
    ) -> Vec<(usize, (Peer, Message))> {
        let from = Peer::At(known_url(from as u64));
        let to = match to {
            Peer::At(url) => at(url),
            Peer::Caller(_) => None,
        };
        let to = to.filter(|_| !rng.once_in(10));
        let is_request = matches!(message, Message::Request { .. });
        let other = (is_request && rng.once_in(50)).then(|| rng.index(NODES));
        to.into_iter().chain(other).map(|to| (to, (from.clone(), message.clone()))).collect()
    }

    fn elections() -> Vec<ElectionName> {
        vec!["x".parse().unwrap()]
    }

    fn command(rng: &mut Rng) -> Command {
        match rng.within(0..16) {
            0 => Command::Resign,
            1 => Command::Observe { every: Duration::from_secs(1) },
            2 => Command::Unobserve,
            3 => Command::Transfer { to: known_id(1), probe: false },
            _ => Command::Campaign { value: "here".parse().unwrap(), priority: 0 },
        }
    }

    fn hostile(rng: &mut Rng) -> (Peer, Message) {
        message(mode(AVAILABLE), rng)
    }
}
