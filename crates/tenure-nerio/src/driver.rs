//! Nerio on datagrams and a state directory, driven by the loop that all protocols share.

mod clocks;
mod epochs;
mod node_events;
mod supervision;
mod unsealed;
mod wall;

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure::driver::{Backend, Campaigns, Machine, Repeats};
use tenure::{AtMostOne, clock};
use tenure_core::nerio::wire::{Dropped, Envelope, open, recipient};
use tenure_core::nerio::{
    Checked, Command, Extra, Inc, List, Membership, Message, Nerio, OwnEvent, Question,
    QuorumTimestamp, Record, Sender, Start, To, ToAsker, WeakLeader, Who,
};
use tenure_core::{ElectionName, End, Input, Loss, NodeName, Ticket, Time, Waiting};
use tokio::sync::{broadcast, watch};

use self::node_events::ShortWaits;
use self::wall::WallWatch;
use crate::agreement::Agreement;
use crate::counters::Counters;
use crate::edicts::Source;
use crate::first_start::FirstStart;
use crate::key_trouble::KeyTroubles;
use crate::lasting_troubles::LastingTroubles;
use crate::log;
use crate::notice::Notice;
use crate::outbox::Outbox;
use crate::places::{LookUpResult, Places, receives};
use crate::request::Ask;
use crate::seal::{self, Authority, SEALED_MAX};
use crate::sealed_transport::Line;
use crate::state::WriteError;
use crate::storage::{FlushAnswers, Records};
use crate::supervision::Watched;
use crate::transport::Transport;
use crate::verifications::{Proof, Proofs};

/// Longest wait of a closing node for the arrival of its releases.
const FAREWELL: Duration = Duration::from_millis(500);

/// Transport and storage of a node, and notices about both.
pub(crate) struct Wire<T> {
    config: Checked,
    name: NodeName,
    /// Memberships of the epochs for which this node takes messages. The candidates of this node
    /// use the first one.
    memberships: Vec<Arc<Membership>>,
    transport: Line<T>,
    records: Records,
    flushed: FlushAnswers,
    notices: broadcast::Sender<Notice>,
    repeats: Repeats,
    places: Places,
    outbox: Outbox,
    proofs: Proofs,
    agreement: Agreement,
    key_troubles: KeyTroubles,
    lasting: LastingTroubles,
    first_start: FirstStart,
    short_waits: ShortWaits,
    /// The supervisor's watch over this process, if there is a supervisor.
    watched: Option<Arc<Watched>>,
    /// Notices of grants, kept until the answers with these grants have left.
    grants: Vec<Notice>,
    inc: Inc,
    /// Epoch and quorum timestamp of the leadership that begins.
    stamped: Option<(u64, QuorumTimestamp)>,
    /// Weak leader of the last report.
    weak: watch::Sender<Option<WeakLeader>>,
    counters: Counters,
    wall_watch: WallWatch,
    /// Room for one datagram, and one more byte to recognize a longer datagram.
    buffer: Vec<u8>,
}

pub(crate) enum Incoming {
    /// A datagram in the buffer.
    Datagram {
        length: usize,
        from: SocketAddr,
    },
    Flushed((Ticket, Result<(), WriteError>)),
    LookUpResult(LookUpResult),
    Nothing,
    ClockSet,
}

impl<T: Transport> Wire<T> {
    pub(crate) fn new(
        config: Checked,
        name: &NodeName,
        start: &Start,
        transport: Line<T>,
        records: Records,
        flushed: FlushAnswers,
        notices: broadcast::Sender<Notice>,
    ) -> Self {
        let memberships = vec![Arc::clone(config.membership())];
        let outbox = Outbox::new(Who { name: name.clone(), inc: start.inc });
        let mut this = Self {
            places: Places::new(&config, transport.local_address()),
            lasting: LastingTroubles::new(config.delta_max),
            first_start: FirstStart::of(clock::now(), start.memory.as_ref()),
            short_waits: ShortWaits::default(),
            watched: None,
            grants: Vec::new(),
            wall_watch: WallWatch::new(&config),
            config,
            name: name.clone(),
            memberships,
            transport,
            records,
            flushed,
            notices,
            repeats: Repeats::default(),
            outbox,
            proofs: Proofs::default(),
            agreement: Agreement::default(),
            key_troubles: KeyTroubles::default(),
            inc: start.inc,
            stamped: None,
            weak: watch::Sender::default(),
            counters: Counters::default(),
            buffer: vec![0; SEALED_MAX + 1],
        };
        if let Some(error) = this.records.damage.take() {
            this.notice(Notice::GrantsDamaged { error });
        }
        let entered = start.memory.as_ref().and_then(|memory| memory.membership.as_ref());
        if let Some(entered) = entered {
            this.notice_if(epochs::other_line(&this.config, entered));
        }
        let here = this.transport.local_address();
        let listed = this.config.members.iter().find(|member| member.name == *name);
        let member = listed.map(|member| member.address.clone());
        if let Some(member) = member.filter(|member| !receives(here, member)) {
            this.notice(Notice::ListensElsewhere { here, member });
        }
        this.members_moved();
        this
    }

    fn members_moved(&mut self) {
        if let Some(seal) = &mut self.transport.seal {
            seal.members_are(self.places.addresses());
        }
    }

    fn on_looked(&mut self, now: Time, looked: LookUpResult) {
        let member = looked.member().clone();
        let (notices, moved) = self.places.on_looked(looked);
        if moved {
            self.members_moved();
        }
        for notice in notices {
            self.notice(notice);
        }
        // A member that has several addresses may be several processes. To detect that, a grantor
        // asks each address a question that every member answers.
        if self.membership().position(&self.name).is_none() {
            return;
        }
        let epoch = self.membership().id();
        for address in self.places.several(&member) {
            let to = To::at(epoch, address);
            self.send(to, Message::from(List { start: now, after: None }));
        }
    }

    /// Asks all other members a question that every member answers, to learn which keys they use.
    /// Without such questions members may send each other nothing for days.
    fn ask_members(&mut self, now: Time) {
        let Some(own) = self.membership().position(&self.name) else { return };
        let others = self.membership().everyone().iter().filter(|member| *member != own);
        let others: Vec<_> = others.map(|member| self.membership().to(member)).collect();
        for to in others {
            self.send(to, Message::from(List { start: now, after: None }));
        }
    }

    fn on_datagram(
        &mut self,
        now: Time,
        address: SocketAddr,
        datagram: &mut [u8],
        machine: &mut Machine<Self>,
    ) {
        self.counters.received += 1;
        let (datagram, shown) = match self.transport.open(now, address, datagram) {
            Ok(Some(incoming)) => (incoming.plain, incoming.shown),
            Ok(None) => return,
            Err(dropped) => return self.on_unopened(now, address, datagram, dropped),
        };
        let (envelope, messages) = match open(datagram) {
            Ok(opened) => opened,
            Err(dropped) => {
                self.counters.drop_for(dropped.label());
                if let Dropped::Version(version) = dropped {
                    let notice = self.key_troubles.version(now, address, version, &self.places);
                    self.notice_if(notice);
                }
                return;
            }
        };
        let authority = match self.admit(now, &envelope, address, shown) {
            Ok(authority) => authority,
            Err(reason) => return self.counters.drop_for(reason),
        };
        let by = authority.as_ref();
        let Envelope { epoch, who } = envelope;
        let proved = self.places.proves(&who, address, by);
        let from = Sender { who, address, proved, epoch };
        if let Some(number) = self.number(epoch) {
            self.on_known_epoch(now, &from, by);
            // The host name of a member may lead to another member.
            let recipient = recipient(datagram);
            if ![0, number].contains(&recipient) {
                return self.on_other_recipient(recipient, &from, messages);
            }
        } else if !self.hears_other_epoch(now, &from, by, &messages) {
            return self.counters.drop_for("epoch");
        }
        for message in messages {
            match message {
                Ok(message) => self.on_message(now, &from, by, message, machine),
                Err(dropped) => self.counters.drop_for(dropped.label()),
            }
        }
    }

    fn on_message(
        &mut self,
        now: Time,
        from: &Sender,
        by: Option<&Authority>,
        message: Message,
        machine: &mut Machine<Self>,
    ) {
        if by.is_none() && self.is_unsafe_unsealed(from, &message) {
            self.refuse_unsealed(from, message);
        } else if by.is_none_or(|by| by.may_say(&message)) {
            self.counters.messages += 1;
            if let Message::Asker(ToAsker::Current(current)) = &message {
                self.on_current(now, from, current);
            }
            let early = self.first_start.hears(now, from, &message);
            self.notice_if(early);
            machine.input(Input::Message { from: from.clone(), message });
        } else {
            self.counters.drop_for("rights");
            let notice = self.key_troubles.rights(now, from, by, &self.places);
            self.notice_if(notice);
        }
    }

    /// The authority of an envelope's sender, if the sender may use that name.
    fn admit(
        &mut self,
        now: Time,
        envelope: &Envelope,
        address: SocketAddr,
        shown: Option<(Authority, Inc)>,
    ) -> Result<Option<Authority>, &'static str> {
        let Some((authority, inc)) = shown else {
            let is_known = self.number(envelope.epoch).is_some();
            if let Some(seal) = self.transport.seal.as_mut().filter(|_| is_known) {
                seal.heard_unsealed(now, address, &envelope.who.name);
            }
            return Ok(None);
        };
        let is_member = |one: &Arc<Membership>| one.position(&envelope.who.name).is_some();
        if !authority.may_be(inc, &envelope.who, self.memberships.iter().any(is_member)) {
            return Err("identity");
        }
        if let Some(seal) = &mut self.transport.seal {
            seal.note_name(inc, &envelope.who.name);
        }
        Ok(Some(authority))
    }

    /// Handles a datagram that is meant for another member: shows the sender this member's name,
    /// once for each datagram with a question.
    fn on_other_recipient(&mut self, recipient: u8, from: &Sender, mut messages: impl Iterator) {
        self.counters.drop_for("other-recipient");
        let membership = self.memberships.iter().find(|one| one.id() == from.epoch);
        let own = membership.and_then(|one| one.position(&self.name));
        let (Some(membership), Some(_)) = (membership, own) else { return };
        let meant = usize::from(recipient).checked_sub(1);
        let meant = meant.and_then(|meant| membership.names().get(meant));
        let (peer, own) = (&from.who.name, &self.name);
        let told = |meant| self.places.for_another(peer, from.address, meant, own);
        let notice = meant.and_then(told);
        self.notice_if(notice);
        if messages.next().is_some() {
            let Self { outbox, transport, places, counters, .. } = self;
            outbox.introduce(from.epoch, from.address, transport, places, counters);
        }
    }

    /// Counts a datagram that could not be opened, and notes a sender without a key for
    /// `Node::keyring`.
    fn on_unopened(
        &mut self,
        now: Time,
        address: SocketAddr,
        sent: &[u8],
        dropped: seal::DropReason,
    ) {
        self.counters.drop_for(dropped.label());
        let memberships = &self.memberships;
        let name = || {
            let (Envelope { epoch, who }, _) = open(sent).ok()?;
            memberships.iter().any(|one| one.id() == epoch).then_some(who.name)
        };
        let notice = self.key_troubles.unopened(now, address, dropped, name, &self.places);
        if let (Some(seal), seal::DropReason::Unsealed) = (&mut self.transport.seal, dropped) {
            let Some(Notice::Key { peer, .. }) = &notice else { return seal.refused(now, address) };
            peer.iter().for_each(|name| seal.note_unsealed(now, address, name));
        }
        self.notice_if(notice);
    }

    fn notice_if(&mut self, notice: Option<Notice>) {
        if let Some(notice) = notice {
            self.notice(notice);
        }
    }

    /// Logs each failure at debug; the failing disk is reported once.
    fn write_failed(&mut self, error: &WriteError) {
        tracing::debug!(%error, "a record could not be written");
        self.counters.write_failures += 1;
        self.counters.write_error = Some(error.to_string());
    }

    /// Sends the notice, unless it was sent already.
    fn notice(&mut self, notice: Notice) {
        let now = clock::now();
        self.lasting.take(now, &notice);
        if log::notice(&mut self.repeats, now, &notice) {
            // The send fails without listeners; ignore it.
            let _ = self.notices.send(notice);
        }
    }
}

impl<T: Transport> Backend for Wire<T> {
    type Core = Nerio;
    type Class = AtMostOne;
    type Extra = Extra;
    type Own = OwnEvent;
    type Incoming = Incoming;
    type Ask = Ask;

    const THREAD: &'static str = "tenure";
    const LOOKS_ANEW: bool = true;
    const KINDS: usize = 3;

    fn lapsed() -> Command {
        Command::Extra(Extra::Lapsed)
    }

    fn compares_wall(&self) -> bool {
        self.wall_watch.is_on()
    }

    async fn next(&mut self) -> Incoming {
        let Self { transport, buffer, flushed, places, wall_watch, .. } = self;
        let received = poll_fn(|context| transport.poll_receive(context, buffer));
        tokio::select! {
            biased;
            received = received => datagram(received),
            Some(done) = flushed.recv() => Incoming::Flushed(done),
            looked = places.looked() => Incoming::LookUpResult(looked),
            () = wall_watch.set() => Incoming::ClockSet,
        }
    }

    /// Takes an input if there is one. The kinds take turns, so a socket that is never empty delays
    /// a result of the disk by at most one datagram.
    fn take(&mut self, kind: usize) -> Option<Incoming> {
        match kind {
            0 => return self.flushed.try_recv().ok().map(Incoming::Flushed),
            1 => return self.places.try_looked().map(Incoming::LookUpResult),
            _ => {}
        }
        // The call wakes no task: the next wait asks again.
        let mut context = Context::from_waker(Waker::noop());
        match self.transport.poll_receive(&mut context, &mut self.buffer) {
            Poll::Ready(received) => Some(datagram(received)),
            Poll::Pending => None,
        }
    }

    fn on_incoming(&mut self, now: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::Datagram { length, from } => {
                let mut buffer = std::mem::take(&mut self.buffer);
                self.on_datagram(now, from, &mut buffer[..length], machine);
                self.buffer = buffer;
                self.weigh_agreement(machine.core.is_confirmed());
            }
            Incoming::Flushed((ticket, Ok(()))) => machine.input(Input::Flushed(ticket)),
            Incoming::Flushed((ticket, Err(error))) => {
                self.write_failed(&error);
                machine.input(Input::Failed(Some(ticket)));
            }
            Incoming::LookUpResult(looked) => self.on_looked(now, looked),
            Incoming::ClockSet => machine.input(Input::Timeout),
            Incoming::Nothing => {}
        }
    }

    fn on_ask(&mut self, now: Time, ask: Ask, machine: &mut Machine<Self>) {
        match ask {
            Ask::Verify { election, leader, reply } => {
                self.proofs.wait(&election, Question { leader, start: now }, reply);
                machine.command(election, Command::Extra(Extra::Verify { leader }));
            }
            Ask::Place { member, reply } => {
                let _ = reply.send(self.places.place(&member));
            }
            Ask::Counters(reply) => {
                let _ = reply.send(self.counters.clone());
            }
            Ask::Service(reply) => {
                let _ = reply.send(machine.core.service(now));
            }
            Ask::Membership(reply) => {
                let _ = reply.send(Arc::clone(self.membership()));
            }
            Ask::OfClocks(ask) => clocks::on_ask(ask, machine),
            Ask::Troubles(reply) => {
                let mut all = clocks::troubles(self.places.troubles(), &machine.core);
                let mut elections = machine.campaigns.elections().into_iter();
                let leads = elections.any(|election| machine.campaigns.won(&election));
                all.extend(self.lasting.now(now, leads));
                all.extend(self.watched.iter().filter_map(|watched| watched.trouble()));
                let _ = reply.send(all);
            }
            Ask::Disagreement(reply) => {
                let _ = reply.send(self.agreement.disagreement(self.membership()));
            }
            Ask::Keyring(reply) => {
                self.ask_members(now);
                let seal = self.transport.seal.as_deref_mut();
                let _ = reply.send(seal.map(|seal| seal.keyring(now)));
            }
            Ask::WeakLeaders(reply) => {
                let _ = reply.send(self.weak.subscribe());
            }
            Ask::Gone(who) => self.report_end(&who),
            Ask::Rekey { keys, done } => {
                if let Some(seal) = &mut self.transport.seal {
                    seal.rekey(keys);
                }
                self.lasting.keys_changed();
                let _ = done.send(());
            }
        }
    }

    fn send(&mut self, to: To, message: Message) {
        let Self { outbox, transport, places, counters, .. } = self;
        outbox.push(&to, &message, transport, places, counters);
    }

    fn persist(&mut self, record: &Record) -> bool {
        if let Record::Promise { until } = record {
            return self.promise(*until);
        }
        let written = self.records.persist(record);
        if let Err(error) = &written {
            self.write_failed(error);
        }
        written.is_ok()
    }

    fn flush(&mut self, ticket: Ticket, record: Record) {
        self.records.flush(ticket, record);
    }

    fn on_event(
        &mut self,
        election: Option<ElectionName>,
        event: OwnEvent,
        machine: &mut Machine<Self>,
    ) {
        let Some(election) = election else {
            return self.on_node_event(event, machine.core.is_confirmed());
        };
        match event {
            OwnEvent::Stamped { timestamp, epoch, .. } => self.stamped = Some((epoch, timestamp)),
            OwnEvent::Held { until } => machine.campaigns.held(&election, until),
            OwnEvent::Verified { question, leader: who, until, fence } => {
                let proof = Proof::Leads { who, until, fence };
                self.proofs.answered(&election, question, &proof);
            }
            OwnEvent::NotVerified { question, by } => {
                self.proofs.answered(&election, question, &Proof::DoesNotLead { by });
            }
            OwnEvent::Ignored(reason) => self.counters.ignore_for(reason.label()),
            // A campaign that is not won yet reports its reasons for waiting instead.
            OwnEvent::Obstacle { .. } if !machine.campaigns.won(&election) => {}
            OwnEvent::Granted { .. } | OwnEvent::Freed { .. } => {
                self.grants.push(Notice::Protocol { election: Some(election), event });
            }
            event => self.notice(Notice::Protocol { election: Some(election), event }),
        }
    }

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        self.counters.elected += 1;
        // Let the application run before the next effect, which asks for the lease of full length.
        // The first lease is long enough for that.
        self.outbox.give_way();
        match self.stamped.take() {
            Some((epoch, timestamp)) => Arc::new(Source::new(self.inc, epoch, timestamp)),
            None => Arc::new(()),
        }
    }

    fn opened(&mut self, _: &ElectionName, campaigns: &mut Campaigns<AtMostOne>) {
        if self.watched.is_some() {
            campaigns.lead_in_this_process_alone();
        }
    }

    fn ended(&mut self, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Loss::Expired));
        // The application sees the end in the cell already. Send now, because other nodes wait for
        // the release.
        self.outbox.flush(&mut self.transport, &mut self.places, &mut self.counters);
    }

    fn explain(&self, waiting: Waiting) -> Waiting {
        self.places.explain(self.agreement.explain(waiting))
    }

    fn before_more(&mut self) {
        self.outbox.hurry(&mut self.transport, &mut self.places, &mut self.counters);
    }

    fn before_waiting(&mut self) {
        self.outbox.flush(&mut self.transport, &mut self.places, &mut self.counters);
        // A candidate that waits for an ok must not wait for the listeners to notices.
        for notice in std::mem::take(&mut self.grants) {
            self.notice(notice);
        }
        self.records.look();
    }

    fn farewell(&self) -> Duration {
        FAREWELL
    }
}

fn datagram(received: io::Result<(usize, SocketAddr)>) -> Incoming {
    match received {
        Ok((length, from)) => Incoming::Datagram { length, from },
        Err(error) => {
            tracing::debug!(%error, "a datagram could not be received");
            Incoming::Nothing
        }
    }
}
