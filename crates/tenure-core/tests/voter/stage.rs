//! A few voters, their HTTP exchanges, clocks and directories: all of it moved by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::voter::{
    AckDto, Answer, Ask, Ballot, BeatenDto, Call, Caller, Command, Condition, Config, Effect,
    ElectionDto, Electorate, Event, Founding, Header, HeartbeatDto, Identity, Leadership, LeaseDto,
    Listed, Memory, Message, Mode, OwnEvent, Participant, Peer, PromiseDto, Refusal, Role, Start,
    StatusDto, VoteDto, Voter, VoterDto, VoterUrl, Words,
};
use tenure_core::{ElectionName, End, Fence, Input, Protocol, Standing, Time, View};
use tenure_testkit::Rng;

/// The true time at which a stage begins.
const BEGIN: u64 = 1_000_000_000_000;
/// The caller of exchanges that a story makes itself.
const STORY: usize = 999;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn election() -> ElectionName {
    "x".parse().unwrap()
}

pub(crate) fn url(node: usize) -> VoterUrl {
    format!("http://n{node}").parse().unwrap()
}

pub(crate) fn id(node: usize) -> tenure_core::NodeName {
    format!("n{node}").parse().unwrap()
}

/// The settings of a voter in a network of so many, by a list.
pub(crate) fn config(node: usize, of: usize) -> Config {
    let listed = |node| Listed { id: id(node), url: url(node) };
    let founding = Founding::List((0..of).map(listed).collect());
    Config { founding, ..Config::new(election(), id(node), url(node)) }
}

/// One voter, its clock and its directory.
pub(crate) struct Node {
    pub(crate) core: Voter,
    pub(crate) config: Config,
    pub(crate) disk: Memory,
    pub(crate) up: bool,
    /// It is stopped: what reaches it waits.
    pub(crate) stopped: bool,
    waiting: Vec<Input<Words>>,
    /// How many parts of a thousand its clock is too fast.
    pub(crate) fast: i64,
    /// Writes fail.
    pub(crate) full: bool,
    life: u128,
    /// It campaigns again after each loss.
    pub(crate) again: bool,
    pub(crate) told: Vec<Event>,
    /// Each end of its claim: when it was raised, and until when, by its clock.
    pub(crate) raises: Vec<(Time, Time)>,
    /// What its handles say, by its clock: claims with their fences. Of a run that was killed the
    /// guard lets work go on to the end.
    claims: Vec<(Option<Fence>, Time)>,
}

/// Something under way.
struct Letter {
    to: usize,
    from: Peer,
    message: Message,
}

/// The voters, and what happened between them.
pub(crate) struct Stage {
    pub(crate) nodes: Vec<Node>,
    /// True time.
    pub(crate) now: Time,
    /// How long a message takes.
    pub(crate) delay: Duration,
    /// Whether all have the same source of chance.
    pub(crate) alike: bool,
    /// Which way is cut: from, to.
    pub(crate) cut: Vec<(usize, usize)>,
    /// Who cannot call whom, though it answers when it is called.
    pub(crate) uncalled: Vec<(usize, usize)>,
    queue: BTreeMap<(Time, u64), Letter>,
    /// Who asked what is answered to this caller.
    exchanges: Vec<(usize, Call)>,
    sent: u64,
    /// All requests: when, from whom, to whom, which.
    pub(crate) log: Vec<(Time, usize, usize, Call, Ask)>,
    record: Option<String>,
    /// Two have led at once.
    pub(crate) overlap: bool,
    pub(crate) fences: Vec<u64>,
    /// A leadership may overlap here.
    pub(crate) checked: bool,
    /// Messages are lost, late by up to seconds, and repeated.
    pub(crate) chaos: Option<Rng>,
    /// In which run of its sender each exchange was begun.
    lives: Vec<u128>,
    /// What each run has cast in each ballot.
    votes: BTreeMap<(Participant, Ballot), Option<i64>>,
    /// Whom each memory has endorsed, or acknowledged, by each counter.
    endorsed: BTreeMap<(Identity, u64), Participant>,
}

impl Stage {
    /// So many voters that list each other, none of which has started.
    pub(crate) fn new(nodes: usize) -> Self {
        Self::with((0..nodes).map(|node| config(node, nodes)).collect())
    }

    pub(crate) fn with(configs: Vec<Config>) -> Self {
        let nodes = configs.into_iter().enumerate().map(|(node, config)| Node {
            core: Voter::new(config.clone().check().unwrap()),
            config,
            disk: Memory::begin(Identity((node as u128 + 1) << 96)),
            up: false,
            stopped: false,
            waiting: Vec::new(),
            fast: 0,
            full: false,
            life: 0,
            again: false,
            told: Vec::new(),
            raises: Vec::new(),
            claims: Vec::new(),
        });
        Self {
            nodes: nodes.collect(),
            now: Time::from_nanos(BEGIN),
            delay: ms(1),
            alike: false,
            cut: Vec::new(),
            uncalled: Vec::new(),
            queue: BTreeMap::new(),
            exchanges: Vec::new(),
            sent: 0,
            log: Vec::new(),
            record: None,
            overlap: false,
            fences: Vec::new(),
            checked: true,
            chaos: None,
            lives: Vec::new(),
            votes: BTreeMap::new(),
            endorsed: BTreeMap::new(),
        }
    }

    /// So many voters that are founded, of which nobody wants to lead.
    pub(crate) fn founded(nodes: usize) -> Self {
        let mut stage = Self::new(nodes);
        (0..nodes).for_each(|node| stage.start(node));
        stage.pass(ms(5_000));
        assert!((0..nodes).all(|node| stage.nodes[node].core.memory().founded));
        stage
    }

    /// So many voters, the first of which leads, and of which the others want to.
    pub(crate) fn led(nodes: usize) -> Self {
        let mut stage = Self::founded(nodes);
        stage.campaign(0);
        stage.until(ms(3_000), |stage| stage.leaders() == [0]);
        (1..nodes).for_each(|node| stage.campaign(node));
        stage.pass(ms(2_500));
        assert_eq!(stage.leaders(), [0]);
        stage
    }

    /// A voter starts, on what its directory holds.
    pub(crate) fn start(&mut self, node: usize) {
        let one = &mut self.nodes[node];
        one.life += 1;
        one.core = Voter::new(one.config.clone().check().unwrap());
        (one.up, one.stopped) = (true, false);
        let incarnation = (node as u128 + 1) << 112 | one.life << 96;
        let seed = if self.alike { 7 } else { 31 * one.life as u64 + node as u64 };
        let memory = one.disk.clone();
        self.hand(node, Input::Start(Start { incarnation, seed, memory }));
    }

    /// It is killed: only its directory is left.
    pub(crate) fn kill(&mut self, node: usize) {
        let one = &mut self.nodes[node];
        one.up = false;
        one.waiting.clear();
        // Work without an end dies with it.
        one.claims.retain(|(_, until)| *until < Time::MAX);
        one.core = Voter::new(one.config.clone().check().unwrap());
    }

    /// A stopped process goes on; what reached it meanwhile is there.
    pub(crate) fn go_on(&mut self, node: usize) {
        self.nodes[node].stopped = false;
        for input in std::mem::take(&mut self.nodes[node].waiting) {
            self.hand(node, input);
        }
    }

    pub(crate) fn campaign(&mut self, node: usize) {
        let value = format!("v{node}").parse().unwrap();
        self.command(node, Command::Campaign { value, priority: 0 });
    }

    pub(crate) fn command(&mut self, node: usize, command: Command) {
        self.hand(node, Input::Command { election: election(), command });
    }

    /// Messages of these to the others and back are lost.
    pub(crate) fn partition(&mut self, part: &[usize]) {
        let all = 0..self.nodes.len();
        self.cut = all.clone().flat_map(|from| all.clone().map(move |to| (from, to))).collect();
        self.cut.retain(|(from, to)| part.contains(from) != part.contains(to));
    }

    /// What a voter's clock shows now. Each has an origin of its own.
    pub(crate) fn clock(&self, node: usize) -> Time {
        let (past, fast) = (self.now.as_nanos() - BEGIN, self.nodes[node].fast);
        let local = i128::from(past) * i128::from(1_000 + fast) / 1_000;
        let origin = (node as u64 + 1) * 1_000_000_000_000;
        Time::from_nanos(origin + u64::try_from(local).unwrap())
    }

    /// The true time at which it shows that.
    fn when(&self, node: usize, at: Time) -> Time {
        let (origin, fast) = ((node as u64 + 1) * 1_000_000_000_000, self.nodes[node].fast);
        let local = i128::from(at.as_nanos().saturating_sub(origin));
        let past = (local * 1_000 + 999 + i128::from(fast)) / i128::from(1_000 + fast);
        Time::from_nanos(BEGIN + u64::try_from(past).unwrap())
    }

    pub(crate) fn hand(&mut self, node: usize, input: Input<Words>) {
        if !self.nodes[node].up {
            return;
        }
        if self.nodes[node].stopped {
            return self.nodes[node].waiting.push(input);
        }
        let (mut effects, now) = (Vec::new(), self.clock(node));
        self.nodes[node].core.handle(now, input, &mut effects);
        let due = self.nodes[node].core.deadline();
        assert!(due.is_none_or(|due| due.at > now), "R5: {due:?} is left at {now}");
        self.check_order(node, &effects);
        let mut lost = false;
        for effect in effects {
            self.note(node, &effect);
            match effect {
                Effect::Persist(_) if self.nodes[node].full => {
                    self.hand(node, Input::Failed(None));
                    break;
                }
                Effect::Persist(memory) => self.nodes[node].disk = memory,
                Effect::Raise { until, fence, .. } => {
                    self.nodes[node].raises.push((now, until));
                    let claims = &mut self.nodes[node].claims;
                    claims.retain(|(of, _)| *of != fence);
                    claims.push((fence, until));
                    self.fences.extend(fence.map(|fence| fence.number()));
                }
                Effect::Send { to, message } => self.post(node, to, message),
                Effect::Emit { event, .. } => {
                    lost |= matches!(event, Event::Ended(End::Lost(_)));
                    self.nodes[node].told.push(event);
                }
                Effect::Lower { .. } => drop(self.nodes[node].claims.pop()),
                Effect::Flush(..) => {}
            }
        }
        self.overlap |= self.leaders().len() > 1 || self.claims() > 1 && self.checked;
        assert!(self.fences.is_sorted() || !self.checked, "{:?}", self.fences);
        if lost && self.nodes[node].again {
            self.campaign(node);
        }
    }

    /// How many claims hold now.
    pub(crate) fn claims(&self) -> usize {
        let of = |node: usize| {
            let now = self.clock(node);
            self.nodes[node].claims.iter().filter(|(_, until)| now < *until).count()
        };
        (0..self.nodes.len()).map(of).sum()
    }

    /// R4: a claim is lowered before its release is sent.
    fn check_order(&self, node: usize, effects: &[Effect]) {
        let is_release = |effect: &Effect| match effect {
            Effect::Send { message: Message::Request { ask: Ask::Release(of), .. }, .. } => {
                self.nodes[node].raises.last().is_some_and(|_| of.leader.id == id(node))
            }
            _ => false,
        };
        let lowered = effects.iter().position(|effect| matches!(effect, Effect::Lower { .. }));
        let released = effects.iter().position(is_release);
        if let (Some(lowered), Some(released)) = (lowered, released) {
            assert!(lowered < released, "{effects:?}");
        }
    }

    /// V3, V4, V7: no number changes, and a counter is given to one.
    fn check_said(&mut self, node: usize, message: &Message) {
        let who = self.who(node);
        let vote = match message {
            Message::Request { ask: Ask::Cast(vote), .. }
            | Message::Answer { answer: Answer::Cast(vote), .. } => Some(vote),
            _ => None,
        };
        if let Some(VoteDto { ballot, vote, .. }) = vote {
            let known = *self.votes.entry((who.clone(), ballot.clone())).or_insert(*vote);
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
            && self.nodes[node].config.mode == Mode::Majority
        {
            let key = (who.identity, counter);
            let known = self.endorsed.entry(key).or_insert_with(|| leader.clone());
            assert!(known == leader, "{who} gives {counter} to {known} and {leader}");
        }
    }

    fn post(&mut self, node: usize, to: Peer, message: Message) {
        self.check_said(node, &message);
        let (to, from, message) = match (to, message) {
            (Peer::At(at), Message::Request { call, caller, within, ask }) => {
                let Some(to) = (0..self.nodes.len()).find(|node| url(*node) == at) else { return };
                self.log.push((self.now, node, to, call, ask.clone()));
                self.exchanges.push((node, call));
                self.lives.resize(self.exchanges.len() - 1, 0);
                self.lives.push(self.nodes[node].life);
                let exchange = self.exchanges.len() - 1;
                let call = Call(exchange as u64);
                let message = Message::Request { call, caller, within, ask };
                (to, Peer::Caller(exchange as u64), message)
            }
            (Peer::Caller(exchange), Message::Answer { header, answer, .. }) => {
                let Some((to, call)) = self.exchanges.get(exchange as usize).copied() else {
                    return;
                };
                // A connection ends with its process.
                let life = self.lives.get(exchange as usize).copied().unwrap_or_default();
                if to != STORY && self.nodes[to].life != life {
                    return;
                }
                (to, Peer::At(url(node)), Message::Answer { call, header, answer })
            }
            _ => unreachable!("neither a request nor an answer"),
        };
        let is_request = matches!(message, Message::Request { .. });
        let uncalled = is_request && self.uncalled.contains(&(node, to));
        if to == STORY || uncalled || self.cut.contains(&(node, to)) {
            return;
        }
        let mut delays = vec![self.delay];
        if let Some(rng) = &mut self.chaos {
            let copies = match rng.within(0..20) {
                0 => 0,
                1 | 2 if is_request => 2,
                _ => 1,
            };
            let mut delay = || match rng.within(0..15) {
                0 => ms(rng.within(1..3_000)),
                1..=4 => ms(rng.within(1..280)),
                _ => ms(rng.within(1..40)),
            };
            delays = (0..copies).map(|_| delay()).collect();
        }
        for delay in delays {
            self.sent += 1;
            let at = (self.now.after(delay), self.sent);
            self.queue.insert(at, Letter { to, from: from.clone(), message: message.clone() });
        }
    }

    /// Asks a voter now, and says what it answers at once.
    pub(crate) fn ask(&mut self, to: usize, caller: Caller, ask: Ask) -> Option<Answer> {
        self.exchanges.push((STORY, Call(0)));
        let exchange = self.exchanges.len() as u64 - 1;
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

    /// Answers a request of a voter now, from where it was asked.
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

    /// Time passes: messages arrive, and timers go off when they are due.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        for _ in 0..2_000_000 {
            let arrives = self.queue.first_key_value().map(|((at, _), _)| *at);
            let awake = |node: &usize| self.nodes[*node].up && !self.nodes[*node].stopped;
            let due = (0..self.nodes.len()).filter(awake).filter_map(|node| {
                Some((self.when(node, self.nodes[node].core.deadline()?.at), node))
            });
            let due = due.min();
            let next = arrives.into_iter().chain(due.map(|(at, _)| at)).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            match due.filter(|(at, _)| arrives.is_none_or(|arrives| *at <= arrives)) {
                Some((_, node)) => self.hand(node, Input::Timeout),
                None => self.arrive(),
            }
        }
        panic!("time does not pass");
    }

    fn arrive(&mut self) {
        let Some((_, Letter { to, from, message })) = self.queue.pop_first() else { return };
        self.hand(to, Input::Message { from, message });
    }

    /// Time passes until this is so, at most so long; says how long it took.
    pub(crate) fn until(&mut self, most: Duration, is: impl Fn(&Self) -> bool) -> Duration {
        let begin = self.now;
        while !is(self) {
            let spent = self.now.since(begin);
            assert!(spent < most, "not within {most:?}; leaders {:?}", self.leaders());
            self.pass(ms(5));
        }
        self.now.since(begin)
    }

    pub(crate) fn standing(&self, node: usize) -> Standing {
        self.nodes[node].core.standing(&election(), self.clock(node))
    }

    /// Who leads now.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let leads = |node: &usize| self.nodes[*node].up && self.standing(*node).is_leading();
        (0..self.nodes.len()).filter(leads).collect()
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

    /// What a voter would say of itself.
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

    /// How often one of them was told so.
    pub(crate) fn told(&self, node: usize, like: impl Fn(&Event) -> bool) -> usize {
        self.nodes[node].told.iter().filter(|event| like(event)).count()
    }

    pub(crate) fn told_own(&self, node: usize, like: impl Fn(&OwnEvent) -> bool) -> usize {
        self.told(node, |event| matches!(event, Event::Own(own) if like(own)))
    }

    /// How the last leadership or campaign of one of them ended.
    pub(crate) fn ended(&self, node: usize) -> Option<&End> {
        self.nodes[node].told.iter().rev().find_map(|event| match event {
            Event::Ended(end) => Some(end),
            _ => None,
        })
    }

    /// What an observer was told last.
    pub(crate) fn view(&self, node: usize) -> Option<&View> {
        self.nodes[node].told.iter().rev().find_map(|event| match event {
            Event::View(view) => Some(&**view),
            _ => None,
        })
    }

    /// The requests of one that are like this: when, to whom, which.
    pub(crate) fn asked(
        &self,
        node: usize,
        like: impl Fn(&Ask) -> bool,
    ) -> Vec<(Time, usize, Call, Ask)> {
        let own = self.log.iter().filter(|(_, from, _, _, ask)| *from == node && like(ask));
        own.map(|(at, _, to, call, ask)| (*at, *to, *call, ask.clone())).collect()
    }

    /// From now on what happens is told.
    pub(crate) fn tell(&mut self) {
        self.record.get_or_insert_default();
    }

    /// Time passes, and nothing is told of it.
    pub(crate) fn quietly(&mut self, span: Duration) {
        let told = self.record.take();
        self.pass(span);
        self.record = told.map(|told| told + "     ...\n");
    }

    /// The whole story.
    pub(crate) fn told_so_far(&mut self) -> String {
        self.record.take().unwrap_or_default()
    }

    /// Instants of its clock are told as seconds since the story began, and words as they are.
    fn note(&mut self, node: usize, effect: &Effect) {
        let at = self.now.as_nanos() - BEGIN;
        let origin = (node as f64 + 1.0) * 1_000.0;
        let Some(record) = self.record.as_mut() else { return };
        let counted =
            matches!(effect, Effect::Emit { event: Event::Own(OwnEvent::Ignored(_)), .. });
        if counted {
            return;
        }
        let word = |word: &str| match word.parse::<f64>() {
            Ok(instant) if word.contains('.') && instant > 999.0 => {
                format!("{:.3}s", instant - origin)
            }
            _ => word.to_owned(),
        };
        let said = effect.to_string();
        let words: Vec<_> = said.split(' ').map(word).collect();
        *record += &format!("{:>8}  n{node}  {}\n", at / 1_000_000, words.join(" "));
    }
}

/// A ballot that somebody starts.
pub(crate) fn ballot(counter: u64, initiator: usize) -> Ballot {
    Ballot { counter, initiator: id(initiator), attempt: 0 }
}

/// The number of one voter in a ballot, under the electorate of another.
pub(crate) fn cast(stage: &Stage, by: usize, ballot: &Ballot, vote: impl Into<Option<i64>>) -> Ask {
    Ask::Cast(VoteDto {
        voter_id: id(by),
        vote: vote.into(),
        ballot: ballot.clone(),
        lease: stage.nodes[by].config.lease(),
        electorate: stage.electorate(by),
    })
}

/// The result of one voter: this one has won.
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

/// A heartbeat of one that leads by a ballot, with this electorate.
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

/// The acknowledgement of one voter.
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

/// What was refused, and why.
pub(crate) fn refusal(answer: Option<Answer>) -> Refusal {
    match answer {
        Some(Answer::Refused(refusal)) => refusal,
        Some(Answer::Heartbeat(BeatenDto { refused: Some(refusal), promise: None, .. })) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}
