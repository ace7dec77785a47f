//! Nerio on the stage: members with directories, and candidates beside them.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Config, Event, Extra, Inc, Instance, Kept, Member, Message, Nerio, OwnEvent, Query,
    Record, Remembered, Sender, Start, To, ToAsker, ToCandidate, ToGrantor, Who,
};
use tenure_core::{Drift, Effect, Input, NodeName, Protocol, Time};
use tenure_testkit::Players;
use tenure_testkit::conversations::{Beginning, Cast, Span, Words};

use crate::story::members;

/// The nodes of one cluster.
pub struct Grantors {
    config: Checked,
    /// How long every message is on its way.
    delay: Duration,
}

fn address(place: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_101 + u16::try_from(place).unwrap()))
}

impl Players for Grantors {
    type Core = Nerio;
    type Extra = Extra;
    type Own = OwnEvent;
    type Disk = Remembered;

    fn sender(core: &Nerio, address: To) -> Sender {
        members::sender(core.config(), core.who().clone(), address)
    }

    fn place(core: &Nerio, to: To) -> To {
        members::place(core, to)
    }

    fn write(disk: &mut Remembered, record: Record) {
        disk.write(record);
    }
}

impl Cast for Grantors {
    const FOLDER: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nerio/conversations");
    const CLUSTER: &'static str = "cluster members=a,b,c [lease=2400ms] [drift=0.1] \
                                   [refresh=100ms] [promise=SPAN] [delay=1ms]";
    const FORMS: &'static [&'static str] = &["verify NODE leader=NODE"];
    const KINDS: &'static [&'static str] = &[
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

    /// All but the members have defaults whose products are round.
    fn new(words: &mut Words) -> Result<Self, String> {
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
            Ok(Member::at(name, address(place)))
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

    fn members(&self) -> Vec<NodeName> {
        self.config.members.iter().map(|member| member.name.clone()).collect()
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn address(place: usize) -> To {
        address(place).into()
    }

    fn core(&self, name: &NodeName) -> Nerio {
        Nerio::new(self.config.clone(), name.clone())
    }

    fn begin(
        &self,
        name: &NodeName,
        incarnation: u32,
        disk: Option<&Remembered>,
    ) -> Beginning<Self> {
        let spelled = name.as_str().bytes().fold(0, |sum, byte| (sum << 8) | u128::from(byte));
        let inc = Inc((u128::from(incarnation) << 120) | ((spelled & 0xff_ffff) << 96));
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

    fn disk(place: usize, count: u32, fresh: bool) -> (Remembered, String) {
        let number = ((place as u128 + 1) << 28) + (u128::from(count) << 24);
        let instance = Instance::new(u64::from(count), number);
        (Remembered::new(instance, fresh), instance.to_string())
    }

    fn reboot(disk: &mut Remembered) {
        disk.forget_grants();
    }

    fn kind(message: &Message) -> &'static str {
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

    /// That nothing came of a message is none.
    fn is_worth_a_line(event: &Event) -> bool {
        !matches!(event, Event::Own(OwnEvent::Ignored(_)))
    }

    fn extra(
        _: &str,
        words: &mut Words,
        place: impl Fn(&str) -> Result<To, String>,
    ) -> Result<Extra, String> {
        let leader: String = words.must("leader")?;
        match place(&leader)? {
            To::Address(leader) => Ok(Extra::Verify { leader }),
            To::Member(_) => unreachable!("places are addresses"),
        }
    }

    fn answers(mut core: Nerio, now: Time, from: Sender) -> Vec<String> {
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
}
