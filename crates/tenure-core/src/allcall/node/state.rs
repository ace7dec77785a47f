//! `Allcall`: its parts, and the calls into its elections and the bus.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::times::TimesInUse;
use crate::allcall::config::Checked;
use crate::allcall::context::{Context, Me};
use crate::allcall::election::Election;
use crate::allcall::event::{Ignored, OwnEvent};
use crate::allcall::identity::{Participant, Rank};
use crate::allcall::message::{Body, Header, Message, PACKET_BYTES_MAX, Packet, Tombstone, bytes};
use crate::allcall::other_rounds::Peers;
use crate::allcall::replies::Replies;
use crate::allcall::round::Rounds;
use crate::allcall::words::{Bus, Effect, Out, emit};
use crate::allcall::wrong_clock::Clock;
use crate::clocks::BothClocks;
use crate::deadlines::Deadlines;
use crate::draw::Draw;
use crate::name::ElectionName;
use crate::time::{Time, WallTime};

/// The state machine of one process on a bus, which the module document describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Allcall {
    pub(in crate::allcall) config: Checked,
    pub(in crate::allcall) me: Me,
    pub(in crate::allcall) draw: Draw,
    pub(in crate::allcall) now: BothClocks,
    /// The maximum number of bytes of a packet; `None` without a connection.
    pub(in crate::allcall) link: Option<usize>,
    /// The end of this process's first initial wait; `None` before a connection. When the
    /// connection is lost during the wait, the wait begins anew.
    pub(in crate::allcall) joined: Option<Time>,
    pub(in crate::allcall) times: TimesInUse,
    pub(in crate::allcall) refused: Option<Arc<str>>,
    pub(in crate::allcall) elections: BTreeMap<ElectionName, Election>,
    pub(in crate::allcall) deadlines: Deadlines,
    pub(in crate::allcall) pings: Pings,
    pub(in crate::allcall) terms: u64,
    pub(in crate::allcall) clock: Clock,
    pub(in crate::allcall) resigned: Vec<(ElectionName, Tombstone)>,
}

/// The ping phase: rounds of this process and of others, and replies.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct Pings {
    /// The time at which the open round ends and the next one begins.
    pub(in crate::allcall) beat: Option<Time>,
    pub(in crate::allcall) rounds: Rounds,
    /// Whether the last round was reported as void.
    pub(in crate::allcall) void: Option<bool>,
    pub(in crate::allcall) peers: Peers,
    pub(in crate::allcall) replies: Replies,
}

impl Allcall {
    /// A process before its first input.
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
            pings: Pings::default(),
            terms: 0,
            clock: Clock::default(),
            resigned: Vec::new(),
        }
    }

    /// The name and incarnation of this process, once it has started.
    #[must_use]
    pub const fn who(&self) -> &Participant {
        &self.me.who
    }

    /// The rank of this process, once it has started: as configured, or as drawn.
    #[must_use]
    pub const fn rank(&self) -> Rank {
        self.me.rank
    }

    /// Whether the first initial wait of this process is over.
    pub(in crate::allcall) fn is_established(&self) -> bool {
        self.joined.is_some_and(|joined| joined <= self.now.boot)
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

    pub(in crate::allcall) fn context<'a>(
        &'a mut self,
        out: &'a mut Out,
    ) -> (&'a mut BTreeMap<ElectionName, Election>, Context<'a>) {
        let Self { config, me, now, link, times, clock, terms, resigned, deadlines, .. } = self;
        let elections = &mut self.elections;
        let context = Context {
            now: *now,
            config,
            me,
            connected: link.is_some(),
            clock_off: clock.off,
            clock_due: clock.is_due(now.boot, config),
            undecided: times.is_undecided(),
            terms,
            deadlines,
            out,
            resigned,
        };
        (elections, context)
    }

    /// Applies an input to an election, reports changes and books the next deadline. Every input of
    /// an election goes through here.
    pub(in crate::allcall) fn with_election(
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

    pub(in crate::allcall) fn each_election(
        &mut self,
        out: &mut Out,
        mut act: impl FnMut(&mut Election, &mut Context<'_>),
    ) {
        let names: Vec<_> = self.elections.keys().cloned().collect();
        for name in names {
            self.with_election(&name, out, &mut act);
        }
    }

    /// The bytes that a packet has for entries.
    pub(in crate::allcall) fn room(&self) -> usize {
        self.link.unwrap_or(PACKET_BYTES_MAX).saturating_sub(bytes::HEADER)
    }

    /// Publishes a packet; without a connection it is lost.
    pub(in crate::allcall) fn send(&self, body: Body, out: &mut Out) {
        if self.link.is_some() {
            let packet = Packet { header: self.header(), body };
            out.push(Effect::Send { to: Bus, message: Message::Packet(packet) });
        }
    }

    /// The distance between a sender's wall clock and the wall clock of this process, with the
    /// delay of the packet.
    pub(in crate::allcall) fn differs(&self, sent: WallTime) -> Duration {
        sent.since(self.now.wall).max(self.now.wall.since(sent))
    }

    /// 2K + H (K is `max_clock_skew`, H `heartbeat`). A packet whose clock differs by more does not
    /// show that its sender is alive.
    pub(in crate::allcall) fn off(&self) -> Duration {
        let skews = self.config.max_clock_skew.saturating_mul(2);
        skews.saturating_add(self.config.heartbeat)
    }
}

pub(in crate::allcall) fn ignore(reason: Ignored, out: &mut Out) {
    emit(None, OwnEvent::Ignored(reason), out);
}
