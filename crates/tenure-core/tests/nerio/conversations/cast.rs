//! The nodes of a story, and the names of their messages: members with directories, and candidates
//! beside them.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Config, Effect, Event, Inc, Instance, Kept, Member, Message, Nerio, OwnEvent, Query,
    Remembered, Sender, Start, To, ToAsker, ToCandidate, ToGrantor, Who,
};
use tenure_core::{Drift, Input, NodeName, Protocol, Time};

use super::directive::{Span, Words};

/// Names of messages in a script; a printed message begins with its name.
pub(super) const KINDS: [&str; 12] = [
    "request",
    "granted",
    "refused",
    "release",
    "released",
    "leaving",
    "verify",
    "remainder",
    "query",
    "state",
    "fence-read",
    "fence-seen",
];

/// Settings of the nodes of one cluster.
pub(super) struct Cluster {
    config: Checked,
    /// Time that every message is on its way.
    pub(super) delay: Duration,
}

/// How a life begins.
pub(super) struct Beginning {
    pub(super) start: Start,
    /// Name of this life, as it is printed.
    pub(super) identity: String,
    /// Text about the state that the life finds, for people: empty, or with a comma in front.
    pub(super) finds: String,
}

/// Address of the node with this place among all.
fn socket(place: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_101 + u16::try_from(place).unwrap()))
}

pub(super) fn address(place: usize) -> To {
    socket(place).into()
}

impl Cluster {
    /// Takes the settings of the first directive. All but the members have defaults whose products
    /// are round.
    pub(super) fn new(words: &mut Words) -> Result<Self, String> {
        let mut span = |key, otherwise| {
            words.option(key).map(|span| span.map_or(otherwise, |Span(span)| span))
        };
        let lease = span("lease", Duration::from_millis(2_400))?;
        let promise = span("promise", lease)?;
        let refresh = span("refresh", Duration::from_millis(100))?;
        let delay = span("delay", Duration::from_millis(1))?;
        let drift: Option<Drift> = words.option("drift")?;
        let names: String = words.must("members")?;
        let member = |(place, name): (usize, &str)| {
            let name = name.parse().map_err(|error| format!("{error}"))?;
            Ok(Member::at(name, socket(place)))
        };
        let members = names.split(',').enumerate().map(member).collect::<Result<_, String>>()?;
        let mut config = Config::new("talks".parse().unwrap(), members).with_lease(lease);
        config.drift = drift.unwrap_or_else(|| "0.1".parse().unwrap());
        config.refresh = refresh;
        config.verify_max = promise;
        config.round_trip = delay * 10;
        config.grace = refresh;
        config.kill_margin = refresh / 10;
        let config = config.check().map_err(|error| error.to_string())?;
        Ok(Self { config, delay })
    }

    /// The nodes that are known from the beginning, in the order of their places.
    pub(super) fn members(&self) -> Vec<NodeName> {
        self.config.members.iter().map(|member| member.name.clone()).collect()
    }

    /// A node before its first input.
    pub(super) fn core(&self, name: &NodeName) -> Nerio {
        Nerio::new(self.config.clone(), name.clone())
    }
}

/// The input with which the life of this number of a node begins.
pub(super) fn begin(name: &NodeName, life: u32, disk: Option<&Remembered>) -> Beginning {
    let spelled = name.as_str().bytes().fold(0, |sum, byte| (sum << 8) | u128::from(byte));
    let inc = Inc((u128::from(life) << 120) | ((spelled & 0xff_ffff) << 96));
    let memory = disk.map(Remembered::memory);
    let finds = match memory.as_ref().map(|memory| &memory.kept) {
        None => "".into(),
        Some(Kept::New) => ", new directory".into(),
        Some(Kept::Grants(grants)) => format!(", grants written: {}", grants.len()),
        Some(Kept::Reserve) => ", grants of another boot".into(),
        Some(Kept::Nothing) => ", directory lost".into(),
    };
    let identity = Who { name: name.clone(), inc }.to_string();
    Beginning { start: Start { inc, seed: 1, memory }, identity, finds }
}

/// The directory of this number of the node at a place, and its identity as it is printed; `fresh`
/// if it is the first start of a cluster, and not a loss.
pub(super) fn disk(place: usize, count: u32, fresh: bool) -> (Remembered, String) {
    let number = ((place as u128 + 1) << 28) + (u128::from(count) << 24);
    let instance = Instance::new(u64::from(count), number);
    (Remembered::new(instance, fresh), instance.to_string())
}

/// Name of a message, an element of [`KINDS`].
pub(super) fn kind(message: &Message) -> &'static str {
    match message {
        Message::Grantor(ToGrantor::Request(_)) => "request",
        Message::Grantor(ToGrantor::Release(_)) => "release",
        Message::Grantor(ToGrantor::Leaving(_)) => "leaving",
        Message::Grantor(ToGrantor::Query(_)) => "query",
        Message::Grantor(ToGrantor::FenceRead(_)) => "fence-read",
        Message::Candidate(ToCandidate::Granted(_)) => "granted",
        Message::Candidate(ToCandidate::Refused(_)) => "refused",
        Message::Candidate(ToCandidate::Released(_)) => "released",
        Message::Candidate(ToCandidate::Verify(_)) => "verify",
        Message::Asker(ToAsker::Remainder(_)) => "remainder",
        Message::Asker(ToAsker::State(_)) => "state",
        Message::Asker(ToAsker::FenceSeen(_)) => "fence-seen",
        Message::Grantor(
            ToGrantor::List(_) | ToGrantor::Elections(_) | ToGrantor::Candidates(_),
        )
        | Message::Asker(
            ToAsker::Listed(_) | ToAsker::ElectionsHere(_) | ToAsker::CandidatesHere(_),
        ) => unreachable!("no story lists elections"),
        Message::Grantor(ToGrantor::Order(_))
        | Message::Candidate(ToCandidate::StepDown(_))
        | Message::Asker(ToAsker::Ordered(_)) => unreachable!("no story gives orders"),
    }
}

/// Whether an event is recorded in a quiet stretch: not that a message was ignored.
pub(super) fn is_worth_a_line(event: &Event) -> bool {
    !matches!(event, Event::Own(OwnEvent::Ignored(_)))
}

/// The present answer of a member to the question who leads.
pub(super) fn answers(mut core: Nerio, now: Time, from: Sender) -> Vec<String> {
    let query = Message::from(Query { election: "db".parse().unwrap(), start: now });
    let mut effects = Vec::new();
    core.handle(now, Input::Message { from, message: query }, &mut effects);
    let state = |effect| match effect {
        Effect::Send { message: message @ Message::Asker(ToAsker::State(_)), .. } => {
            Some(message.to_string())
        }
        _ => None,
    };
    effects.into_iter().filter_map(state).collect()
}
