//! One process's part in elections on a bus.

mod beat;
mod hear;
mod times;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use self::times::TimesInUse;
use super::clock::Clock;
use super::config::{Checked, Config};
use super::context::{Context, Me};
use super::election::Election;
use super::event::{Event, Ignored, OwnEvent};
use super::identity::{Participant, Rank};
use super::message::{Header, Link, MAX_PAYLOAD_MIN, Message, PACKET_BYTES_MAX, Tombstone};
use super::peers::Peers;
use super::replies::Replies;
use super::round::Rounds;
use super::words::{Command, Out, Start, Words, emit};
use crate::clocks::BothClocks;
use crate::contract::{Input, Protocol};
use crate::deadlines::Deadlines;
use crate::draw::Draw;
use crate::name::{ElectionName, Value};
use crate::standing::Standing;
use crate::time::{Deadline, Time};

/// One process's part: the machine that the module document describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Allcall {
    config: Checked,
    me: Me,
    draw: Draw,
    now: BothClocks,
    /// How large packets may be, while there is a connection.
    link: Option<usize>,
    /// When the first initial wait is over, once it has begun.
    joined: Option<Time>,
    times: TimesInUse,
    /// Why this process takes no part at all.
    refused: Option<Arc<str>>,
    elections: BTreeMap<ElectionName, Election>,
    deadlines: Deadlines,
    peers: Peers,
    rounds: Rounds,
    replies: Replies,
    /// When a round ends and the next one begins.
    beat: Option<Time>,
    terms: u64,
    clock: Clock,
    /// Whether the last round was void, as it was told.
    void: Option<bool>,
    /// To be resigned on the bus at the end of this input.
    resigned: Vec<(ElectionName, Tombstone)>,
}

impl Allcall {
    /// A process that has not started yet.
    #[must_use]
    pub fn new(config: Checked) -> Self {
        let who = Participant { id: config.id.clone(), incarnation: 0 };
        Self {
            me: Me { who, rank: Rank { number: config.rank.unwrap_or(0), tie: 0 } },
            config,
            draw: Draw::new(0),
            now: BothClocks { boot: Time::ZERO, wall: Default::default(), apart: Duration::ZERO },
            link: None,
            joined: None,
            times: TimesInUse::default(),
            refused: None,
            elections: BTreeMap::new(),
            deadlines: Deadlines::default(),
            peers: Peers::default(),
            rounds: Rounds::default(),
            replies: Replies::default(),
            beat: None,
            terms: 0,
            clock: Clock::default(),
            void: None,
            resigned: Vec::new(),
        }
    }

    /// How others know this process, once it has started.
    #[must_use]
    pub const fn who(&self) -> &Participant {
        &self.me.who
    }

    /// Its rank, once it has started: as configured, or as drawn.
    #[must_use]
    pub const fn rank(&self) -> Rank {
        self.me.rank
    }

    fn start(&mut self, start: &Start, out: &mut Out) {
        let Start { incarnation, tie, seed } = *start;
        self.draw = Draw::new(seed);
        let drawn = || {
            let low = self.draw.number("", "rank", 0) % Config::RANK_DRAWN;
            Config::RANK_DRAWN + low
        };
        let number = self.config.rank.unwrap_or_else(drawn);
        self.me.who.incarnation = incarnation;
        self.me.rank = Rank { number, tie };
        emit(None, OwnEvent::Started { who: self.me.who.clone(), rank: self.me.rank }, out);
    }

    fn on_link(&mut self, link: Link, out: &mut Out) {
        self.rounds.spoil();
        // An initial wait that is interrupted begins anew: nothing was heard meanwhile (ruling 8).
        self.joined = self.joined.filter(|_| self.is_established());
        self.each_election(out, |election, context| election.on_interrupted(context));
        let max_payload = match link {
            Link::Up { max_payload } if max_payload >= MAX_PAYLOAD_MIN => max_payload,
            Link::Up { max_payload } => {
                self.link = None;
                let needed = MAX_PAYLOAD_MIN;
                return emit(None, OwnEvent::PayloadTooSmall { max_payload, needed }, out);
            }
            Link::Down => {
                self.link = None;
                return;
            }
        };
        self.link = Some(max_payload.min(PACKET_BYTES_MAX));
        let wait = self.config.lease.saturating_add(self.config.max_clock_skew);
        let joined = self.now.boot.after(self.config.drift.stretch(wait));
        self.joined = self.joined.or(Some(joined));
        self.each_election(out, |election, context| election.on_connected(context));
        if self.beat.is_some() {
            self.beat = Some(self.now.boot);
        }
    }

    /// Whether the first initial wait of this process is over: it is no newcomer.
    fn is_established(&self) -> bool {
        self.joined.is_some_and(|joined| joined <= self.now.boot)
    }

    fn on_command(&mut self, name: ElectionName, command: Command, out: &mut Out) {
        match command {
            Command::Campaign { value, .. } => self.campaign(name, value, out),
            Command::Resign if self.elections.contains_key(&name) => {
                self.with_election(&name, out, Election::withdraw);
            }
            Command::Observe { .. } => self.observe(name, out),
            Command::Unobserve if self.elections.contains_key(&name) => {
                self.with_election(&name, out, |election, _| election.unobserve());
            }
            Command::Resign | Command::Unobserve => {}
            Command::Transfer { .. } => {
                emit(Some(&name), OwnEvent::Ignored(Ignored::Command), out);
            }
            Command::Extra(extra) => match extra {},
        }
    }

    fn campaign(&mut self, name: ElectionName, value: Value, out: &mut Out) {
        if let Err(why) = self.enter(&name, out) {
            let end = crate::event::End::Refused { why };
            emit(Some(&name), Event::Ended(end), out);
            return emit(Some(&name), Event::Released, out);
        }
        self.with_election(&name, out, |election, context| election.campaign(value, context));
    }

    fn observe(&mut self, name: ElectionName, out: &mut Out) {
        match self.enter(&name, out) {
            Ok(()) => self.with_election(&name, out, |election, _| election.observe()),
            Err(why) => emit(Some(&name), Event::NotObserved { why }, out),
        }
    }

    /// Makes room for an election, or says why there is none.
    fn enter(&mut self, name: &ElectionName, out: &mut Out) -> Result<(), Arc<str>> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        if self.elections.contains_key(name) {
            return Ok(());
        }
        let most = self.config.limits.elections;
        if self.elections.len() >= most {
            return Err(format!(
                "this process takes part in {most} elections, and that is the limit"
            )
            .into());
        }
        let election = Election::new(name.clone(), &self.context(out).1);
        self.elections.insert(name.clone(), election);
        self.beat = self.beat.or(Some(self.now.boot));
        Ok(())
    }

    fn header(&self) -> Header {
        Header {
            cluster: self.config.cluster.clone(),
            sender: self.me.who.clone(),
            rank: self.me.rank,
            sent: self.now.wall,
            times: self.config.times(),
            established: self.is_established(),
        }
    }

    fn context<'a>(
        &'a mut self,
        out: &'a mut Out,
    ) -> (&'a mut BTreeMap<ElectionName, Election>, Context<'a>) {
        let Self { config, me, now, link, clock, terms, resigned, deadlines, .. } = self;
        let elections = &mut self.elections;
        let context = Context {
            now: *now,
            config,
            me,
            connected: link.is_some(),
            clock_off: clock.off,
            clock_due: clock.is_due(now.boot, config),
            terms,
            deadlines,
            out,
            resigned,
        };
        (elections, context)
    }

    /// Everything that happens to an election goes through here: what changed is told, and its
    /// deadline is kept.
    fn with_election(
        &mut self,
        name: &ElectionName,
        out: &mut Out,
        act: impl FnOnce(&mut Election, &mut Context<'_>),
    ) {
        let now = self.now.boot;
        let (elections, mut context) = self.context(out);
        let Some(election) = elections.get_mut(name) else { return };
        act(election, &mut context);
        election.tell(&mut context);
        let over = election.is_over(now);
        let due = election.due(now).filter(|_| !over);
        context.deadlines.set(&mut election.booking, name, due);
        if over {
            self.elections.remove(name);
        }
    }

    fn each_election(
        &mut self,
        out: &mut Out,
        mut act: impl FnMut(&mut Election, &mut Context<'_>),
    ) {
        let names: Vec<_> = self.elections.keys().cloned().collect();
        for name in names {
            self.with_election(&name, out, &mut act);
        }
    }
}

impl Protocol for Allcall {
    type Words = Words;
    type Now = BothClocks;

    fn handle(&mut self, now: BothClocks, input: Input<Words>, out: &mut Out) {
        if matches!(input, Input::Timeout) && self.is_early(now.boot) {
            return;
        }
        self.now = BothClocks { boot: self.now.boot.max(now.boot), ..now };
        // What is due comes first, so that nothing is heard by one that is late.
        self.catch_up(out);
        match input {
            Input::Start(start) => self.start(&start, out),
            Input::Message { message: Message::Packet(packet), .. } => self.hear(packet, out),
            Input::Message { message: Message::Link(link), .. } => self.on_link(link, out),
            Input::Command { election, command } => self.on_command(election, command, out),
            // Nothing is ever written.
            Input::Timeout | Input::Flushed(_) | Input::Failed(_) => {}
        }
        // A first election or a new connection begins a round at once.
        self.catch_up(out);
        self.resign(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let half = self.rounds.half(self.config.heartbeat / 2);
        let dues = [
            (self.deadlines.first(), "a claim or a leadership ends"),
            (half, "the own call must have come back"),
            (self.beat, "a round ends and the next one begins"),
            (self.replies.due(self.config.heartbeat), "calls are to be answered"),
            (self.times.due(), "those that were here before have said by which times they go"),
        ];
        let first = dues.into_iter().filter_map(|(due, why)| Some(Deadline { at: due?, why }));
        // The end of time never comes.
        first.filter(|deadline| deadline.at < Time::MAX).min_by_key(|deadline| deadline.at)
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self.elections.get(election) {
            Some(election) => election.standing(now),
            None => Standing::NotLeading,
        }
    }
}
