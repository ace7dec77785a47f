//! The regional voter under the suite: three voters, and exchanges that are lost now and then.

use std::time::Duration;

use tenure_core::voter::{
    AckDto, Answer, Ask, Ballot, BeatenDto, Call, Caller, Change, Command, Condition, Config,
    ElectionDto, Electorate, ElectorateId, Fingerprint, FirstVoters, Founding, Header,
    HeartbeatDto, Identity, LeaderDto, Leadership, LeaseDto, Listed, Member, Memory, Message, Mode,
    Participant, Peer, PromiseDto, Refusal, Role, Start, StatusDto, VoteDto, Voter, VoterDto,
    VoterUrl,
};
use tenure_core::{Drift, ElectionName, NodeName};
use tenure_testkit::Rng;
use tenure_testkit::contract::Subject;

const NODES: usize = 3;

mod cores {
    tenure_testkit::contract!(voter, crate::contract::VoterSubject);
    tenure_testkit::contract!(available_voter, crate::contract::AvailableSubject);
}

struct VoterSubject;
struct AvailableSubject;

fn id(node: u64) -> NodeName {
    format!("n{node}").parse().unwrap()
}

fn url(node: u64) -> VoterUrl {
    format!("http://n{node}").parse().unwrap()
}

fn at(url: &VoterUrl) -> Option<usize> {
    url.as_str().strip_prefix("http://n")?.parse().ok().filter(|node| *node < NODES)
}

fn config(node: usize, mode: Mode) -> Config {
    let listed = |node| Listed { id: id(node), url: url(node) };
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
        ..Config::new("x".parse().unwrap(), id(node as u64), url(node as u64))
    }
}

fn incarnation(node: u64) -> u128 {
    u128::from(node + 1) << 112
}

/// A voter, an earlier run of a voter, or a stranger.
fn anybody(rng: &mut Rng) -> Participant {
    let node = rng.within(0..5);
    let identity = Identity(match rng.within(0..8) {
        0 => u128::from(rng.number()),
        _ => u128::from(node + 1) << 96,
    });
    let run = match rng.within(0..8) {
        0 => u128::from(rng.number()),
        _ => incarnation(node),
    };
    Participant { id: id(node), identity, incarnation: run }
}

fn ballot(rng: &mut Rng) -> Ballot {
    let counter = match rng.within(0..20) {
        0 => rng.number(),
        _ => rng.within(0..40),
    };
    Ballot { counter, initiator: id(rng.within(0..4)), attempt: rng.within(0..3) as u32 }
}

fn leadership(rng: &mut Rng) -> Leadership {
    Leadership { leader: anybody(rng), ballot: ballot(rng) }
}

fn electorate(rng: &mut Rng) -> Electorate {
    let member =
        |node: u64| Member { id: id(node), identity: Identity(u128::from(node + 1) << 96) };
    let mut electorate = Electorate::founded((0..NODES as u64).map(member).collect());
    electorate.id = ElectorateId { counter: rng.within(0..4), change: rng.within(0..2) };
    match rng.within(0..12) {
        0 => electorate.members.reverse(),
        1 => electorate.members.clear(),
        2 => electorate.founding = Fingerprint(u128::from(rng.number())),
        3 => electorate.members.push(member(4)),
        _ => {}
    }
    electorate
}

fn span(rng: &mut Rng) -> Duration {
    match rng.within(0..10) {
        0 => Duration::MAX,
        1 => Duration::ZERO,
        _ => Duration::from_millis(rng.within(0..400)),
    }
}

fn dto(rng: &mut Rng) -> VoterDto {
    let node = rng.within(0..9);
    let role = [Role::Leader, Role::Follower, Role::None][rng.within(0..3) as usize];
    VoterDto { voter_id: id(node), voter_url: url(node), role, on_line: rng.once_in(2) }
}

fn dtos(rng: &mut Rng) -> Vec<VoterDto> {
    let most = if rng.once_in(40) { 300 } else { 12 };
    (0..rng.within(0..most)).map(|_| dto(rng)).collect()
}

fn promise(rng: &mut Rng) -> PromiseDto {
    let drift = Drift::from_parts_per_billion(rng.within(0..1_000_000_000) as u32).unwrap();
    PromiseDto { span: span(rng), drift }
}

fn vote(rng: &mut Rng) -> VoteDto {
    let vote = rng.once_in(2).then(|| rng.number() as i64);
    let (voter_id, lease) = (id(rng.within(0..4)), span(rng));
    VoteDto { voter_id, vote, ballot: ballot(rng), lease, electorate: electorate(rng) }
}

fn result(rng: &mut Rng) -> ElectionDto {
    let most = if rng.once_in(40) { 100 } else { 4 };
    ElectionDto {
        ballot: ballot(rng),
        certified: rng.once_in(2),
        votes: (0..rng.within(0..most)).map(|n| (id(n), Some(5))).collect(),
        new_leader: anybody(rng),
        promise: rng.once_in(2).then(|| promise(rng)),
        endorsed_by: vec![anybody(rng)],
    }
}

fn leader(rng: &mut Rng) -> LeaderDto {
    let value = "there".parse().unwrap();
    let remaining = rng.once_in(2).then(|| span(rng));
    LeaderDto { leadership: leadership(rng), url: url(rng.within(0..5)), value, remaining }
}

fn heartbeat(rng: &mut Rng) -> HeartbeatDto {
    let lease = rng.once_in(2).then(|| LeaseDto {
        leadership: leadership(rng),
        value: "there".parse().unwrap(),
        span: span(rng),
        electorate: electorate(rng),
    });
    HeartbeatDto {
        seq: rng.within(0..2_000),
        sender: dto(rng),
        known_voters: dtos(rng),
        lease,
        certificate: rng.once_in(4).then(|| result(rng)),
        condition: condition(rng),
    }
}

fn status(rng: &mut Rng) -> StatusDto {
    StatusDto {
        known_voters: dtos(rng),
        sender: dto(rng),
        leader: rng.once_in(2).then(|| leader(rng)),
        electorate: rng.once_in(2).then(|| electorate(rng)),
        endorsed: rng.within(0..40),
        free: rng.once_in(2).then(|| Duration::from_nanos(rng.number())),
        reached: rng.once_in(2).then(|| rng.once_in(2)),
        condition: condition(rng),
    }
}

fn condition(rng: &mut Rng) -> Condition {
    let first = rng.once_in(2).then_some(FirstVoters::Number(3));
    Condition { failing: rng.once_in(4), first }
}

fn ask(rng: &mut Rng) -> Ask {
    match rng.within(0..14) {
        0 => Ask::Register(dto(rng)),
        1 => Ask::Remove { voter: id(rng.within(0..6)), reason: "gone".parse().unwrap() },
        2 => Ask::Status { suspect: rng.once_in(2).then(|| id(rng.within(0..6))) },
        3..=5 => Ask::Heartbeat(heartbeat(rng).into()),
        6 => Ask::Reconcile(dtos(rng)),
        7 => Ask::Start,
        8 | 9 => Ask::Cast(vote(rng)),
        10 => Ask::Result(result(rng)),
        11 => Ask::Certify(result(rng)),
        12 => Ask::Release(leadership(rng)),
        _ => Ask::Change(match rng.once_in(2) {
            true => Change::Add(id(rng.within(0..6))),
            false => Change::Remove(id(rng.within(0..6))),
        }),
    }
}

fn answer(rng: &mut Rng) -> Answer {
    match rng.within(0..8) {
        0 => Answer::Status(status(rng)),
        1 | 2 => Answer::Heartbeat(BeatenDto {
            seq: rng.within(0..2_000),
            promise: rng.once_in(2).then(|| AckDto {
                leadership: leadership(rng),
                promise: promise(rng),
                stored: ElectorateId { counter: rng.within(0..4), change: 0 },
            }),
            refused: rng.once_in(4).then(|| Refusal::OldElectorate(electorate(rng))),
            leader: rng.once_in(2).then(|| leader(rng)),
            free: rng.once_in(2).then(|| Duration::from_nanos(rng.number())),
            electorate: rng
                .once_in(2)
                .then(|| ElectorateId { counter: rng.within(0..4), change: 0 }),
        }),
        3 => Answer::Done,
        4 => Answer::Cast(vote(rng)),
        5 => Answer::Counted { open: rng.once_in(2) },
        6 => Answer::Refused(Refusal::Endorsed { counter: rng.within(0..60) }),
        _ => Answer::Refused(Refusal::OldElectorate(electorate(rng))),
    }
}

fn header(mode: Mode, rng: &mut Rng) -> Header {
    let sender = anybody(rng);
    let url = format!("http://{}", sender.id).parse().unwrap();
    let founding = electorate(rng).founding;
    Header {
        election: if rng.once_in(20) { "y" } else { "x" }.parse().unwrap(),
        mode,
        sender,
        url,
        founding: rng.once_in(2).then(|| (founding, rng.once_in(2))),
    }
}

fn message(mode: Mode, rng: &mut Rng) -> (Peer, Message) {
    let call = Call(rng.within(0..3_000));
    match rng.within(0..10) {
        0..=5 => {
            let caller = match rng.within(0..8) {
                0 => Caller::Operator,
                1 => Caller::Anybody,
                _ => Caller::Voter(header(mode, rng)),
            };
            let message = Message::Request { call, caller, within: span(rng), ask: ask(rng) };
            (Peer::Caller(u64::MAX - call.0), message)
        }
        6..=7 => {
            let (header, answer) = (header(mode, rng), answer(rng));
            (Peer::At(header.url.clone()), Message::Answer { call, header, answer })
        }
        8 => (Peer::At(url(1)), Message::Failed { call }),
        _ => {
            let urls = (0..rng.within(0..8)).map(url).collect();
            (Peer::Caller(0), Message::Seeds(urls))
        }
    }
}

fn start(node: usize) -> Start {
    let identity = Identity((node as u128 + 1) << 96);
    let (incarnation, seed) = (incarnation(node as u64), node as u64);
    Start { incarnation, seed, memory: Memory::begin(identity) }
}

fn command(rng: &mut Rng) -> Command {
    match rng.within(0..16) {
        0 => Command::Resign,
        1 => Command::Observe { every: Duration::from_secs(1) },
        2 => Command::Unobserve,
        3 => Command::Transfer { to: id(1), probe: false },
        _ => Command::Campaign { value: "here".parse().unwrap(), priority: 0 },
    }
}

/// An answer goes to the node that has asked, and comes from the address of the question: the
/// number of its exchange gives both. Some requests and some answers are lost.
fn exchange(node: usize, message: &Message, rng: &mut Rng) -> Vec<(usize, (Peer, Message))> {
    let Message::Request { .. } = message else { return Vec::new() };
    let from = Peer::At(url(node as u64));
    let to = rng.within(0..NODES as u64) as usize;
    if rng.once_in(50) { vec![(to, (from, message.clone()))] } else { Vec::new() }
}

macro_rules! subject {
    ($subject:ident, $mode:expr) => {
        impl Subject for $subject {
            type Core = Voter;
            type Store = ();

            const NODES: usize = NODES;
            const DEBUG_BYTES_MAX: usize = 400_000;

            fn core(node: usize) -> Voter {
                Voter::new(config(node, $mode).check().unwrap())
            }

            fn start(node: usize) -> Start {
                start(node)
            }

            /// A voter answers from the address at which it was asked.
            fn sender(node: usize) -> Peer {
                Peer::At(url(node as u64))
            }

            fn node_at(to: &Peer) -> Option<usize> {
                match to {
                    Peer::At(url) => at(url),
                    Peer::Caller(_) => None,
                }
            }

            fn elections() -> Vec<ElectionName> {
                vec!["x".parse().unwrap()]
            }

            fn command(rng: &mut Rng) -> Command {
                command(rng)
            }

            fn hostile(rng: &mut Rng) -> (Peer, Message) {
                message($mode, rng)
            }

            /// Now and then another voter is reached.
            fn ask(
                (): &mut (),
                node: usize,
                message: &Message,
                rng: &mut Rng,
            ) -> Vec<(usize, (Peer, Message))> {
                exchange(node, message, rng)
            }
        }
    };
}

subject!(VoterSubject, Mode::Majority);
subject!(AvailableSubject, Mode::Available);
