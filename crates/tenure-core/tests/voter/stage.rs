//! A few voters, their HTTP exchanges and directories.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use tenure_core::voter::{
    AckDto, Answer, Ask, Ballot, BeatenDto, Call, Caller, Condition, Config, Effect, ElectionDto,
    Electorate, Event, Founding, Header, HeartbeatDto, Identity, Leadership, LeaseDto, Listed,
    Memory, Message, Mode, OwnEvent, Participant, Peer, PromiseDto, Refusal, Role, Start,
    StatusDto, VoteDto, Voter, VoterDto, VoterUrl,
};
use tenure_core::{ElectionName, Fence, Input, Protocol, Time};
use tenure_testkit::Clock;
use tenure_testkit::stage::{self as common, BEGIN, Node, Scene, name};

pub(crate) use tenure_testkit::stage::ms;

tenure_testkit::stage!(Voters);

/// Election of the stories.
pub(crate) const X: &str = "x";
/// Founding of a voter that waits for a vote.
pub(crate) const LATER: Founding = Founding::Expected(64);
/// Caller of exchanges that a story makes itself.
const STORY: usize = 999;

pub(crate) fn election() -> ElectionName {
    name(X)
}

pub(crate) fn url(node: usize) -> VoterUrl {
    format!("http://n{node}").parse().unwrap()
}

pub(crate) fn id(node: usize) -> tenure_core::NodeName {
    format!("n{node}").parse().unwrap()
}

/// Settings of a voter in a network that is founded by a list of `of` voters.
pub(crate) fn config(node: usize, of: usize) -> Config {
    let listed = |node| Listed { id: id(node), url: url(node) };
    let founding = Founding::List((0..of).map(listed).collect());
    Config { founding, ..Config::new(election(), id(node), url(node)) }
}

/// The past of one voter, over all its runs.
#[derive(Default)]
pub(crate) struct History {
    life: u128,
    /// Raised claims on the voter's clock: time of the raise, end of the claim.
    pub(crate) raises: Vec<(Time, Time)>,
    /// Claims of the handles, with their ends on the voter's clock. The guard lets work of a killed
    /// run continue to the end of its claim.
    claims: Vec<(Option<Fence>, Time)>,
}

/// A request or an answer under way.
pub(crate) struct Letter {
    to: usize,
    from: Peer,
    message: Message,
}

/// Address of all voters behind a balancer, such as a name that stands for several pods.
pub(crate) fn shared() -> VoterUrl {
    "http://all".parse().unwrap()
}

/// A request that waits for its answer.
struct Exchange {
    /// Address that was asked.
    at: VoterUrl,
    /// Node that asked, the number of its run then, and the number of its call.
    by: usize,
    life: u128,
    call: Call,
}

/// The network of the voters, and their messages.
#[derive(Default)]
pub(crate) struct Voters {
    /// Whether all voters draw from the same seed.
    pub(crate) alike: bool,
    /// Links that lose requests in this direction; answers pass.
    pub(crate) uncalled: Vec<(usize, usize)>,
    /// Voters behind the [`shared`] address, which answer in turn.
    pub(crate) balanced: Vec<usize>,
    /// Exchanges, by the number of their caller.
    exchanges: Vec<Exchange>,
    /// All requests: true time, sender, receiver, call, request.
    pub(crate) log: Vec<(Time, usize, usize, Call, Ask)>,
    /// Whether two voters led, or two claims held, at one time.
    pub(crate) two_led: bool,
    fences: Vec<u64>,
    pub(crate) may_overlap: bool,
    /// Vote of each run in each ballot.
    votes: BTreeMap<(Participant, Ballot), Option<i64>>,
    /// Leader that each memory endorsed or acknowledged, by counter.
    endorsed: BTreeMap<(Identity, u64), Participant>,
}

impl Scene for Voters {
    type Core = Voter;
    type Extra = Infallible;
    type Own = OwnEvent;
    type Disk = Memory;
    type Config = Config;
    type Node = History;
    type Letter = Letter;

    fn core(config: &Config) -> Voter {
        Voter::new(config.clone().check().unwrap())
    }

    fn write(disk: &mut Memory, memory: Memory) {
        *disk = memory;
    }

    fn send(stage: &mut common::Stage<Self>, node: usize, to: Peer, message: Message) {
        check_said(stage, node, &message);
        let is_request = matches!(message, Message::Request { .. });
        let Some(letter) = address(stage, node, to, message) else { return };
        let to = letter.to;
        let uncalled = is_request && stage.own.uncalled.contains(&(node, to));
        if to == STORY || uncalled || stage.is_cut(node, to) {
            return;
        }
        stage.later(stage.delay, letter);
    }

    fn to(letter: &Letter) -> Option<usize> {
        Some(letter.to)
    }

    fn arrive(stage: &mut common::Stage<Self>, Letter { to, from, message }: Letter) {
        stage.hand(to, Input::Message { from, message });
    }

    fn see(stage: &mut common::Stage<Self>, node: usize, effect: &Effect) {
        let now = stage.clock(node);
        let History { raises, claims, .. } = &mut stage.nodes[node].own;
        match effect {
            Effect::Raise { until, fence, .. } => {
                raises.push((now, *until));
                claims.retain(|(of, _)| of != fence);
                claims.push((*fence, *until));
                stage.own.fences.extend(fence.map(Fence::number));
            }
            Effect::Bound { .. } => {}
            Effect::Lower { .. } => drop(claims.pop()),
            _ => {}
        }
    }

    /// Checks that at most one voter leads, that fences grow, and that a voter lowers its claim
    /// before it sends the release (R4).
    fn judge(stage: &mut common::Stage<Self>, node: usize, effects: &[Effect]) {
        let is_release = |effect: &Effect| match effect {
            Effect::Send { message: Message::Request { ask: Ask::Release(of), .. }, .. } => {
                !stage.nodes[node].own.raises.is_empty() && of.leader.id == id(node)
            }
            _ => false,
        };
        let lowered = effects.iter().position(|effect| matches!(effect, Effect::Lower { .. }));
        let released = effects.iter().position(is_release);
        if let (Some(lowered), Some(released)) = (lowered, released) {
            assert!(lowered < released, "{effects:?}");
        }
        let checked = !stage.own.may_overlap;
        stage.own.two_led |= stage.leaders(X).len() > 1 || claims(stage) > 1 && checked;
        assert!(stage.own.fences.is_sorted() || !checked, "{:?}", stage.own.fences);
    }

    fn sent(to: &Peer, message: &Message) -> String {
        format!("to {to}: {message}")
    }

    fn is_worth_a_line(event: &Event) -> bool {
        !matches!(event, Event::Own(OwnEvent::Ignored(_)))
    }
}

/// Number of claims that hold now.
fn claims(stage: &common::Stage<Voters>) -> usize {
    let of = |node: usize| {
        let now = stage.clock(node);
        stage.nodes[node].own.claims.iter().filter(|(_, until)| now < *until).count()
    };
    (0..stage.nodes.len()).map(of).sum()
}

/// Checks that a voter draws one number in each ballot, and gives a counter to one leader (V3, V4,
/// V7).
fn check_said(stage: &mut common::Stage<Voters>, node: usize, message: &Message) {
    let who = stage.nodes[node].core.who().clone();
    let vote = match message {
        Message::Request { ask: Ask::Cast(vote), .. }
        | Message::Answer { answer: Answer::Cast(vote), .. } => Some(vote),
        _ => None,
    };
    if let Some(VoteDto { ballot, vote, .. }) = vote {
        let known = *stage.own.votes.entry((who.clone(), ballot.clone())).or_insert(*vote);
        assert!(known == *vote, "{who} casts {known:?} and {vote:?} in {ballot}");
    }
    let given = match message {
        Message::Request { ask: Ask::Result(result), .. } => {
            Some((result.ballot.counter, &result.new_leader))
        }
        Message::Answer { answer: Answer::Heartbeat(BeatenDto { promise, .. }), .. } => {
            promise.as_ref().map(|ack| (ack.leadership.counter(), &ack.leadership.leader))
        }
        _ => None,
    };
    if let Some((counter, leader)) = given
        && stage.nodes[node].config.mode == Mode::Majority
    {
        let key = (who.identity, counter);
        let known = stage.own.endorsed.entry(key).or_insert_with(|| leader.clone());
        assert!(known == leader, "{who} gives {counter} to {known} and {leader}");
    }
}

/// Addresses a request to the voter at a URL, and an answer to the node that asked. A connection
/// ends with its process: an answer to an earlier run of the node is lost.
fn address(
    stage: &mut common::Stage<Voters>,
    node: usize,
    to: Peer,
    message: Message,
) -> Option<Letter> {
    match (to, message) {
        (Peer::At(at), Message::Request { call, caller, within, ask }) => {
            let to = if at == shared() && !stage.own.balanced.is_empty() {
                stage.own.balanced.rotate_left(1);
                *stage.own.balanced.last()?
            } else {
                (0..stage.nodes.len()).find(|node| url(*node) == at)?
            };
            stage.own.log.push((stage.now, node, to, call, ask.clone()));
            let life = stage.nodes[node].own.life;
            stage.own.exchanges.push(Exchange { at, by: node, life, call });
            let exchange = stage.own.exchanges.len() as u64 - 1;
            let message = Message::Request { call: Call(exchange), caller, within, ask };
            Some(Letter { to, from: Peer::Caller(exchange), message })
        }
        (Peer::Caller(exchange), Message::Answer { header, answer, .. }) => {
            let Exchange { at, by, life, call } = stage.own.exchanges.get(exchange as usize)?;
            if *by != STORY && stage.nodes[*by].own.life != *life {
                return None;
            }
            let message = Message::Answer { call: *call, header, answer };
            Some(Letter { to: *by, from: Peer::At(at.clone()), message })
        }
        _ => unreachable!("neither a request nor an answer"),
    }
}

impl Stage {
    /// A stage with voters that list each other and have not started.
    pub(crate) fn new(nodes: usize) -> Self {
        Self::with((0..nodes).map(|node| config(node, nodes)).collect())
    }

    pub(crate) fn with(configs: Vec<Config>) -> Self {
        let node = |(node, config): (usize, Config)| -> Node<Voters> {
            let number = node as u64 + 1;
            Node {
                clock: Clock::perfect(number * 1_000_000_000_000, BEGIN),
                value: format!("v{node}"),
                ..Node::new(config, Memory::begin(Identity(u128::from(number) << 96)))
            }
        };
        let nodes = configs.into_iter().enumerate().map(node).collect();
        Self(common::Stage::new(Voters::default(), X, nodes))
    }

    /// A stage with founded voters, without a campaign.
    pub(crate) fn founded(nodes: usize) -> Self {
        let mut stage = Self::new(nodes);
        (0..nodes).for_each(|node| stage.start(node));
        stage.pass(ms(5_000));
        assert!((0..nodes).all(|node| stage.memory(node).founded));
        stage
    }

    /// A stage with voters that all campaign; voter 0 leads.
    pub(crate) fn led(nodes: usize) -> Self {
        let mut stage = Self::founded(nodes);
        stage.elect(0, ms(3_000));
        (1..nodes).for_each(|node| stage.campaign(node, X));
        stage.pass(ms(2_500));
        assert_eq!(stage.leaders(X), [0]);
        stage
    }

    /// A voter campaigns, and leads alone within this span.
    pub(crate) fn elect(&mut self, node: usize, within: Duration) {
        self.campaign(node, X);
        self.until(within, |stage| stage.leaders(X) == [node]);
    }

    /// A stage whose first `founders` voters are founded, with voter 0 as the leader. The others
    /// have not started, and wait for a vote.
    pub(crate) fn led_by_founders(
        founders: usize,
        nodes: usize,
        change: impl Fn(Config) -> Config,
    ) -> Self {
        let settings = |node: usize| {
            let own = config(node, founders);
            change(if node < founders { own } else { Config { founding: LATER, ..own } })
        };
        let mut stage = Self::with((0..nodes).map(settings).collect());
        (0..founders).for_each(|node| stage.start(node));
        stage.pass(ms(5_000));
        stage.elect(0, ms(3_000));
        stage
    }

    /// Registers a voter at another voter.
    pub(crate) fn register(&mut self, node: usize, at: usize) {
        let caller = self.voter(node);
        self.ask(at, caller, Ask::Register(dto(node, Role::None))).unwrap();
    }

    /// Starts a voter on its directory.
    pub(crate) fn start(&mut self, node: usize) {
        let alike = self.own.alike;
        let one = &mut self.nodes[node];
        one.own.life += 1;
        let life = one.own.life;
        let incarnation = (node as u128 + 1) << 112 | life << 96;
        let seed = if alike { 7 } else { 31 * life as u64 + node as u64 };
        let memory = one.disk.clone();
        self.begin(node, Start { incarnation, seed, memory });
    }

    /// Kills a voter; its directory stays.
    pub(crate) fn kill(&mut self, node: usize) {
        self.0.kill(node);
        // A claim of mode `available` has no end, and its work dies with the voter.
        self.nodes[node].own.claims.retain(|(_, until)| *until < Time::MAX);
    }

    /// Asks a voter now, and returns its immediate answer.
    pub(crate) fn ask(&mut self, to: usize, caller: Caller, ask: Ask) -> Option<Answer> {
        self.own.exchanges.push(Exchange { at: url(to), by: STORY, life: 0, call: Call(0) });
        let exchange = self.own.exchanges.len() as u64 - 1;
        let message =
            Message::Request { call: Call(exchange), caller, within: Duration::ZERO, ask };
        let (mut effects, now) = (Vec::new(), self.clock(to));
        let from = Peer::Caller(exchange);
        let mut core = self.nodes[to].core.clone();
        core.handle(
            now,
            Input::Message { from: from.clone(), message: message.clone() },
            &mut effects,
        );
        self.hand(to, Input::Message { from, message });
        effects.into_iter().find_map(|effect| match effect {
            Effect::Send { to: Peer::Caller(of), message: Message::Answer { answer, .. } }
                if of == exchange =>
            {
                Some(answer)
            }
            _ => None,
        })
    }

    /// Answers a request of a voter now, from the address that it asked.
    pub(crate) fn reply(
        &mut self,
        to: usize,
        (asked, call): (usize, Call),
        header: Header,
        answer: Answer,
    ) {
        let message = Message::Answer { call, header, answer };
        self.hand(to, Input::Message { from: Peer::At(url(asked)), message });
    }

    pub(crate) fn who(&self, node: usize) -> Participant {
        self.nodes[node].core.who().clone()
    }

    pub(crate) fn memory(&self, node: usize) -> &Memory {
        self.nodes[node].core.memory()
    }

    pub(crate) fn electorate(&self, node: usize) -> Electorate {
        self.memory(node).electorate.clone().unwrap()
    }

    /// Header of a voter's messages.
    pub(crate) fn header(&self, node: usize) -> Header {
        let memory = self.memory(node);
        let founding = memory.electorate.as_ref().map(|it| (it.founding, memory.founded));
        let mode = self.nodes[node].config.mode;
        let founding = founding.filter(|_| mode == Mode::Majority);
        Header { election: election(), mode, sender: self.who(node), url: url(node), founding }
    }

    pub(crate) fn voter(&self, node: usize) -> Caller {
        Caller::Voter(self.header(node))
    }

    pub(crate) fn status(&mut self, node: usize) -> StatusDto {
        match self.ask(node, Caller::Anybody, Ask::Status { suspect: None }) {
            Some(Answer::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn told_own(&self, node: usize, like: impl Fn(&OwnEvent) -> bool) -> usize {
        self.told(node, |event| matches!(event, Event::Own(own) if like(own)))
    }

    /// Requests of a voter that match: true time, receiver, call, request.
    pub(crate) fn asked(
        &self,
        node: usize,
        like: impl Fn(&Ask) -> bool,
    ) -> Vec<(Time, usize, Call, Ask)> {
        let own = self.own.log.iter().filter(|(_, from, _, _, ask)| *from == node && like(ask));
        own.map(|(at, _, to, call, ask)| (*at, *to, *call, ask.clone())).collect()
    }
}

/// First attempt of a ballot.
pub(crate) fn ballot(counter: u64, initiator: usize) -> Ballot {
    Ballot { counter, initiator: id(initiator), attempt: 0 }
}

/// A voter's number in a ballot, under its electorate.
pub(crate) fn cast(stage: &Stage, by: usize, ballot: &Ballot, vote: impl Into<Option<i64>>) -> Ask {
    Ask::Cast(VoteDto {
        voter_id: id(by),
        vote: vote.into(),
        ballot: ballot.clone(),
        lease: stage.nodes[by].config.lease(),
        electorate: stage.electorate(by),
    })
}

pub(crate) fn result(stage: &Stage, by: usize, ballot: &Ballot, winner: usize) -> Ask {
    let config = &stage.nodes[by].config;
    Ask::Result(ElectionDto {
        ballot: ballot.clone(),
        certified: false,
        votes: Vec::new(),
        new_leader: stage.who(winner),
        promise: Some(PromiseDto { span: config.lease(), drift: config.drift }),
        endorsed_by: vec![stage.who(by)],
    })
}

/// A heartbeat of a leader by a ballot, with this electorate.
pub(crate) fn leads(
    stage: &Stage,
    by: usize,
    seq: u64,
    ballot: &Ballot,
    electorate: Electorate,
) -> Ask {
    let leadership = Leadership { leader: stage.who(by), ballot: ballot.clone() };
    let (value, span) = ("v".parse().unwrap(), stage.nodes[by].config.lease());
    let lease = Some(LeaseDto { leadership, value, span, electorate });
    let heartbeat = HeartbeatDto {
        seq,
        sender: dto(by, Role::Leader),
        known_voters: (0..stage.nodes.len()).map(|node| dto(node, Role::None)).collect(),
        lease,
        certificate: None,
        condition: Condition::default(),
    };
    Ask::Heartbeat(heartbeat.into())
}

pub(crate) fn dto(node: usize, role: Role) -> VoterDto {
    VoterDto { voter_id: id(node), voter_url: url(node), role, on_line: true }
}

pub(crate) fn acknowledged(stage: &Stage, by: usize, seq: u64, of: &Leadership) -> Answer {
    let config = &stage.nodes[by].config;
    Answer::Heartbeat(BeatenDto {
        seq,
        promise: Some(AckDto {
            leadership: of.clone(),
            promise: PromiseDto { span: config.lease(), drift: config.drift },
            stored: stage.electorate(by).id,
        }),
        ..BeatenDto::default()
    })
}

pub(crate) fn refusal(answer: Option<Answer>) -> Refusal {
    match answer {
        Some(Answer::Refused(refusal)) => refusal,
        Some(Answer::Heartbeat(BeatenDto { refused: Some(refusal), promise: None, .. })) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}
