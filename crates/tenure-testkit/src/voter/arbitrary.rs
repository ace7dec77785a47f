//! Messages of voters `n0`, `n1` and `n2`, which found the network `x`, of their earlier runs, and
//! of strangers.

use std::time::Duration;

use tenure_core::voter::{
    AckDto, Answer, Ask, Ballot, BeatenDto, Change, Condition, ElectionDto, Electorate,
    ElectorateId, Fingerprint, FirstVoters, Header, HeartbeatDto, Identity, KNOWN_MAX, LeaderDto,
    Leadership, LeaseDto, MEMBERS_MAX, Member, Mode, Participant, PromiseDto, Refusal, Role,
    StatusDto, Unchanged, VoteDto, VoterDto, VoterUrl,
};
use tenure_core::{Drift, NodeName, Value};

use crate::Rng;
use crate::arbitrary::{ANY, NAME, flag, list, long, maybe, near, number, text};

/// Characters of a voter's host.
const HOST: &str = "azä09.";

pub fn known_id(node: u64) -> NodeName {
    format!("n{node}").parse().unwrap()
}

pub fn known_url(node: u64) -> VoterUrl {
    format!("http://n{node}").parse().unwrap()
}

/// Memory of a voter.
pub fn known_identity(node: u64) -> Identity {
    Identity(u128::from(node + 1) << 96)
}

/// Present run of a voter.
pub fn known_run(node: u64) -> u128 {
    u128::from(node + 1) << 112
}

fn id(rng: &mut Rng) -> NodeName {
    match rng.within(0..12) {
        0 => text(rng, NAME, 1..13).parse().unwrap(),
        _ => known_id(rng.within(0..5)),
    }
}

fn url(rng: &mut Rng) -> VoterUrl {
    match rng.within(0..8) {
        0 => format!("http://{}:80/abcde", text(rng, HOST, 1..21)).parse().unwrap(),
        1 => format!("https://{}", text(rng, HOST, 1..21)).parse().unwrap(),
        _ => known_url(rng.within(0..9)),
    }
}

fn value(rng: &mut Rng) -> Value {
    text(rng, ANY, 0..21).parse().unwrap()
}

/// A span that JSON keeps exactly.
fn span(rng: &mut Rng) -> Duration {
    match rng.within(0..8) {
        0 | 1 => Duration::from_nanos(number(rng)),
        _ => Duration::from_millis(rng.within(0..400)),
    }
}

/// A counter, from 1 to the highest.
fn counter(rng: &mut Rng) -> u64 {
    near(rng, 1..40).clamp(1, Ballot::COUNTER_MAX)
}

fn voter(rng: &mut Rng) -> VoterDto {
    let node = rng.within(0..9);
    let (voter_id, voter_url) = match rng.within(0..8) {
        0 => (id(rng), url(rng)),
        _ => (known_id(node), known_url(node)),
    };
    let role = *rng.pick(&[Role::Leader, Role::Follower, Role::None]);
    VoterDto { voter_id, voter_url, role, on_line: flag(rng) }
}

fn voters(rng: &mut Rng) -> Vec<VoterDto> {
    let most = if rng.once_in(40) { KNOWN_MAX as u64 } else { 12 };
    list(rng, 0..most + 1, voter)
}

fn participant(rng: &mut Rng) -> Participant {
    let node = rng.within(0..5);
    Participant {
        id: if rng.once_in(12) { id(rng) } else { known_id(node) },
        identity: if rng.once_in(8) { Identity(long(rng)) } else { known_identity(node) },
        incarnation: if rng.once_in(8) { long(rng) } else { known_run(node) },
    }
}

fn ballot(rng: &mut Rng) -> Ballot {
    let attempt = near(rng, 0..3).min(u64::from(Ballot::ATTEMPTS_MAX)) as u32;
    Ballot { counter: counter(rng), initiator: id(rng), attempt }
}

fn leadership(rng: &mut Rng) -> Leadership {
    Leadership { leader: participant(rng), ballot: ballot(rng) }
}

fn electorate_id(rng: &mut Rng) -> ElectorateId {
    let counter = near(rng, 0..4).min(Ballot::COUNTER_MAX);
    ElectorateId { counter, change: rng.within(0..2) }
}

/// An electorate: usually the electorate of the founding, under any version.
fn electorate(rng: &mut Rng) -> Electorate {
    let known = |node: u64| Member { id: known_id(node), identity: known_identity(node) };
    let any = |rng: &mut Rng| Member { id: id(rng), identity: Identity(long(rng)) };
    let members = if rng.once_in(8) { list(rng, 1..6, any) } else { (0..3).map(known).collect() };
    let mut electorate = Electorate::founded(members);
    electorate.id = electorate_id(rng);
    if rng.once_in(12) {
        electorate.founding = Fingerprint(long(rng));
    }
    electorate
}

fn promise(rng: &mut Rng) -> PromiseDto {
    let drift = Drift::from_parts_per_billion(rng.within(0..1_000_000_000) as u32).unwrap();
    PromiseDto { span: span(rng), drift }
}

fn any_vote(rng: &mut Rng) -> i64 {
    number(rng) as i64
}

fn vote(rng: &mut Rng) -> VoteDto {
    VoteDto {
        voter_id: id(rng),
        vote: maybe(rng, any_vote),
        ballot: ballot(rng),
        lease: span(rng),
        electorate: electorate(rng),
    }
}

fn election(rng: &mut Rng) -> ElectionDto {
    let most = if rng.once_in(40) { MEMBERS_MAX as u64 } else { 4 };
    ElectionDto {
        ballot: ballot(rng),
        certified: flag(rng),
        votes: list(rng, 0..most + 1, |rng| (id(rng), maybe(rng, any_vote))),
        new_leader: participant(rng),
        promise: maybe(rng, promise),
        endorsed_by: list(rng, 0..4, participant),
    }
}

fn leader(rng: &mut Rng) -> LeaderDto {
    LeaderDto {
        leadership: leadership(rng),
        url: url(rng),
        value: value(rng),
        remaining: maybe(rng, span),
    }
}

fn lease(rng: &mut Rng) -> LeaseDto {
    LeaseDto {
        leadership: leadership(rng),
        value: value(rng),
        span: span(rng),
        electorate: electorate(rng),
    }
}

fn condition(rng: &mut Rng) -> Condition {
    let first = match rng.within(0..4) {
        0 => Some(FirstVoters::Listed(list(rng, 0..4, id))),
        1 => Some(FirstVoters::Number(near(rng, 0..4) as u16)),
        _ => None,
    };
    Condition { failing: rng.once_in(4), first }
}

fn heartbeat(rng: &mut Rng) -> HeartbeatDto {
    HeartbeatDto {
        seq: near(rng, 0..2_000),
        sender: voter(rng),
        known_voters: voters(rng),
        lease: maybe(rng, lease),
        certificate: rng.once_in(4).then(|| election(rng)),
        condition: condition(rng),
    }
}

fn ack(rng: &mut Rng) -> AckDto {
    let (leadership, promise) = (leadership(rng), promise(rng));
    AckDto { leadership, promise, stored: electorate_id(rng) }
}

fn beaten(rng: &mut Rng) -> BeatenDto {
    BeatenDto {
        seq: near(rng, 0..2_000),
        promise: maybe(rng, ack),
        refused: rng.once_in(4).then(|| refusal(rng)),
        status: Some(status(rng).into()),
    }
}

fn status(rng: &mut Rng) -> StatusDto {
    StatusDto {
        known_voters: voters(rng),
        sender: voter(rng),
        leader: maybe(rng, leader),
        electorate: maybe(rng, electorate),
        endorsed: near(rng, 0..40).min(Ballot::COUNTER_MAX),
        free: maybe(rng, span),
        reached: maybe(rng, flag),
        condition: condition(rng),
    }
}

fn change(rng: &mut Rng) -> Change {
    if flag(rng) { Change::Add(id(rng)) } else { Change::Remove(id(rng)) }
}

/// Any refusal but `Malformed`, whose words are only for people.
fn refusal(rng: &mut Rng) -> Refusal {
    match rng.within(0..28) {
        0 => Refusal::OtherNetwork,
        1 => Refusal::OtherFounding { ours: electorate(rng).founding },
        2 => Refusal::NotAllowed,
        3 => Refusal::Full,
        4 => Refusal::NotFounded,
        5 => Refusal::NotAMember { who: id(rng) },
        6 => Refusal::EarlierRun { who: id(rng) },
        7 => Refusal::Leads(leader(rng).into()),
        8 => Refusal::Promised { to: id(rng), remaining: span(rng) },
        9 => Refusal::Quarantined { remaining: span(rng) },
        10 => Refusal::Left,
        11 => Refusal::Released,
        12 => Refusal::OldHeartbeat,
        13 => Refusal::UnknownVoter,
        14 => Refusal::UnknownElection,
        15 => Refusal::NotLeading { leader: maybe(rng, leader).map(Box::new) },
        16 => Refusal::ChangeRuns { electorate: electorate_id(rng) },
        17 => {
            let (able, needed) = (rng.index(64), rng.index(64));
            Refusal::TooFewAble { able, needed }
        }
        18 => Refusal::NotWritten,
        19 => Unchanged::HasVote.into(),
        20 => Unchanged::HasNone.into(),
        21 => Unchanged::Leads.into(),
        22 => Unchanged::Returns.into(),
        23..=25 => Refusal::OldElectorate(electorate(rng)),
        _ => Refusal::Endorsed { counter: near(rng, 0..60).min(Ballot::COUNTER_MAX) },
    }
}

/// Any request.
pub fn ask(rng: &mut Rng) -> Ask {
    match rng.within(0..15) {
        0 => Ask::Register(voter(rng)),
        1 => Ask::Remove { voter: id(rng), reason: value(rng) },
        2 => Ask::Status { suspect: maybe(rng, id) },
        3..=5 => Ask::Heartbeat(heartbeat(rng).into()),
        6 => Ask::Reconcile(voters(rng)),
        7 => Ask::Start,
        8 | 9 => Ask::Cast(vote(rng)),
        10 => Ask::Result(election(rng)),
        11 => Ask::LastResult,
        12 => Ask::Certify(election(rng)),
        13 => Ask::Release(leadership(rng)),
        _ => Ask::Change(change(rng)),
    }
}

/// A request, and an answer to it.
pub fn exchange(rng: &mut Rng) -> (Ask, Answer) {
    match rng.within(0..16) {
        0 => (Ask::Status { suspect: None }, Answer::Status(status(rng))),
        1 => {
            let status = status(rng);
            (Ask::Register(status.sender.clone()), Answer::Status(status))
        }
        2..=4 => (Ask::Heartbeat(heartbeat(rng).into()), Answer::Heartbeat(beaten(rng))),
        5 => (Ask::Reconcile(Vec::new()), Answer::Done),
        6 => (Ask::Release(leadership(rng)), Answer::Done),
        7 => (Ask::Change(change(rng)), Answer::Done),
        8 => (Ask::Start, Answer::Started(maybe(rng, ballot))),
        9 => (Ask::Cast(vote(rng)), Answer::Cast(vote(rng))),
        10 => (Ask::Result(election(rng)), Answer::Counted { open: flag(rng) }),
        11 => (Ask::LastResult, Answer::Election(election(rng))),
        12 => {
            let known = election(rng);
            (Ask::Certify(known.clone()), Answer::Election(known))
        }
        _ => (ask(rng), Answer::Refused(refusal(rng))),
    }
}

/// The header of a message from any sender.
pub fn header(rng: &mut Rng, mode: Mode) -> Header {
    let sender = participant(rng);
    let election = if rng.once_in(20) { text(rng, "abz/:@", 1..21) } else { "x".into() };
    let own = format!("http://{}", sender.id).parse().unwrap();
    let url = if rng.once_in(12) { url(rng) } else { own };
    let founding = maybe(rng, |rng| (electorate(rng).founding, flag(rng)));
    Header { election: election.parse().unwrap(), mode, sender, url, founding }
}
