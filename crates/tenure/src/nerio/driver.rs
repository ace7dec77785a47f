//! Nerio on datagrams and a state directory, carried by the loop that all protocols share.

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_core::nerio::wire::{Dropped, Envelope, Packer, open};
use tenure_core::nerio::{
    Checked, Command, Extra, Inc, Kept, Message, Nerio, OwnEvent, Question, QuorumTimestamp,
    Record, Sender, Start, Who,
};
use tenure_core::{ElectionName, End, Input, Loss, NodeName, Ticket, Time, Waiting};
use tokio::sync::broadcast;

use super::agreement::{Agreement, instead};
use super::counters::Counters;
use super::edicts::Source;
use super::finder::Answer;
use super::hosts::Hosts;
use super::key_trouble::KeyTroubles;
use super::line::Line;
use super::log;
use super::notice::Notice;
use super::outbox::Outbox;
use super::proofs::{Proof, Proofs};
use super::request::Ask;
use super::seal::{Authority, SEALED_MAX};
use super::state::WriteError;
use super::storage::{Flushed, Records};
use crate::clock;
use crate::driver::{Backend, Machine, Repeats};
use crate::safety::AtMostOne;
use crate::transport::Transport;

/// How long a node that closes waits for its releases to arrive.
const FAREWELL: Duration = Duration::from_millis(500);

/// One node's way to others, its storage, and what it says of both.
pub(super) struct Wire<T> {
    config: Checked,
    transport: Line<T>,
    records: Records,
    flushed: Flushed,
    notices: broadcast::Sender<Notice>,
    repeats: Repeats,
    outbox: Outbox,
    proofs: Proofs,
    agreement: Agreement,
    key_troubles: KeyTroubles,
    inc: Inc,
    /// The quorum timestamp of the leadership that begins.
    stamped: Option<QuorumTimestamp>,
    counters: Counters,
    /// Room for one datagram, and one byte more by which a longer one is known.
    buffer: Vec<u8>,
}

/// What comes from outside.
pub(super) enum Incoming {
    /// It is in the buffer.
    Datagram {
        length: usize,
        from: SocketAddr,
    },
    Flushed((Ticket, Result<(), WriteError>)),
    /// What the name of a member resolves to.
    Resolved(Answer),
    /// One datagram could not be received.
    Nothing,
}

impl<T: Transport> Wire<T> {
    pub(super) fn new(
        config: Checked,
        (name, start): (&NodeName, &Start),
        (transport, hosts): (Line<T>, &Hosts),
        (records, flushed): (Records, Flushed),
        notices: broadcast::Sender<Notice>,
    ) -> Self {
        let who = Who { name: name.clone(), inc: start.inc };
        let packer = Packer::new(config.digest(), &Envelope { epoch: 0, who });
        let mut this = Self {
            config,
            transport,
            records,
            flushed,
            notices,
            repeats: Repeats::default(),
            outbox: Outbox::new(packer),
            proofs: Proofs::default(),
            agreement: Agreement::default(),
            key_troubles: KeyTroubles::default(),
            inc: start.inc,
            stamped: None,
            counters: Counters::default(),
            buffer: vec![0; SEALED_MAX + 1],
        };
        if let Some(error) = this.records.damage.take() {
            this.notice(Notice::GrantsDamaged { error });
        }
        // After the lock on the state directory was taken: the quarantine counts from here.
        if let Some(memory) = start.memory.as_ref().filter(|memory| memory.kept == Kept::Founding) {
            let delta_max = this.config.delta_max.max(memory.delta_max);
            this.notice(Notice::Founding { delta_max });
        }
        let (here, member) = (this.transport.local_address(), this.config.position(name));
        let member = member.map(|member| this.config.members[member].address);
        let member = member.filter(|_| !hosts.contains_key(name));
        if let Some(member) = member.filter(|member| !receives(here, *member)) {
            this.notice(Notice::ListensElsewhere { here, member });
        }
        this
    }

    fn on_datagram(
        &mut self,
        now: Time,
        (datagram, address): (&mut [u8], SocketAddr),
        machine: &mut Machine<Self>,
    ) {
        self.counters.received += 1;
        let (datagram, shown) = match self.transport.open(now, address, datagram) {
            Ok(Some(incoming)) => (incoming.plain, incoming.shown),
            Ok(None) => return,
            Err(dropped) => {
                self.counters.drop_for(dropped.label());
                let notice = self.key_troubles.unopened(now, address, dropped, &self.config);
                return self.notice_if(notice);
            }
        };
        let (envelope, messages) = match open(self.config.digest(), 0, datagram) {
            Ok(opened) => opened,
            Err(dropped) => {
                self.counters.drop_for(dropped.label());
                match dropped {
                    Dropped::Digest(theirs) => {
                        self.on_mismatch((now, shown), theirs, datagram, address);
                    }
                    Dropped::Version(version) => {
                        let notice = self.key_troubles.version(now, address, version, &self.config);
                        self.notice_if(notice);
                    }
                    _ => {}
                }
                return;
            }
        };
        let address = self.whereabouts(now, shown.as_ref(), &envelope.who.name, address);
        let authority = match self.admit(&envelope, shown) {
            Ok(authority) => authority,
            Err(reason) => return self.counters.drop_for(reason),
        };
        if let Some(notice) = self.agreement.agrees(address, &self.config, &mut self.repeats) {
            self.notice(notice);
        }
        let from = Sender { who: envelope.who, address };
        for message in messages {
            match message {
                Ok(message) if authority.as_ref().is_none_or(|by| by.may_say(&message)) => {
                    self.counters.messages += 1;
                    machine.input(Input::Message { from: from.clone(), message });
                }
                Ok(_) => {
                    self.counters.drop_for("rights");
                    let by = authority.as_ref();
                    let notice = self.key_troubles.rights(now, &from, by, &self.config);
                    self.notice_if(notice);
                }
                Err(dropped) => self.counters.drop_for(dropped.label()),
            }
        }
    }

    /// What stands for the sender called `name` of a datagram from `address`: with keys a member's
    /// name says who it is, without them its address does.
    fn whereabouts(
        &mut self,
        now: Time,
        shown: Option<&(Authority, Inc)>,
        name: &NodeName,
        address: SocketAddr,
    ) -> SocketAddr {
        let Some(nth) = self.config.position(name) else { return address };
        let own = self.config.members[nth].address;
        let is_it = match shown {
            Some((authority, _)) => *authority == Authority::Cluster,
            None => self.transport.seal.is_none() && address == own,
        };
        if !is_it {
            return address;
        }
        self.transport.finder.heard(now, nth);
        own
    }

    /// What the sender of an envelope may say, if it is who it says.
    fn admit(
        &mut self,
        envelope: &Envelope,
        shown: Option<(Authority, Inc)>,
    ) -> Result<Option<Authority>, &'static str> {
        let Some((authority, inc)) = shown else { return Ok(None) };
        if !authority.may_be(inc, &envelope.who, &self.config) {
            return Err("identity");
        }
        if let Some(seal) = &mut self.transport.seal {
            seal.is_called(inc, &envelope.who.name);
        }
        Ok(Some(authority))
    }

    fn notice_if(&mut self, notice: Option<Notice>) {
        if let Some(notice) = notice {
            self.notice(notice);
        }
    }

    /// A peer of another configuration is told so, once for each datagram that wants something.
    fn on_mismatch(
        &mut self,
        (now, shown): (Time, Option<(Authority, Inc)>),
        theirs: u64,
        datagram: &[u8],
        address: SocketAddr,
    ) {
        let Ok((envelope, messages)) = open(theirs, 0, datagram) else { return };
        let peer = envelope.who.name;
        let address = self.whereabouts(now, shown.as_ref(), &peer, address);
        if !messages.is_empty() {
            self.outbox.introduce(address, &mut self.transport, &mut self.counters);
        }
        for notice in self.agreement.differs(now, (peer, address), theirs, &self.config) {
            if matches!(notice, Notice::Mismatch { .. }) {
                self.counters.mismatch = Some((now, notice.clone()));
            }
            self.notice(notice);
        }
    }

    /// Each failure is at debug in the log; that the disk fails is said once.
    fn write_failed(&mut self, error: &WriteError) {
        tracing::debug!(%error, "a record could not be written");
        self.counters.write_failures += 1;
        self.counters.write_error = Some(error.to_string());
    }

    fn on_node_event(&mut self, event: OwnEvent) {
        match event {
            OwnEvent::Serving => self.notice(Notice::Serving),
            OwnEvent::RaiseWaits { before, delta_max, until } => {
                self.notice(Notice::RaiseWaits { before, delta_max, until });
            }
            OwnEvent::Raised { delta_max } => self.notice(Notice::Raised { delta_max }),
            OwnEvent::Quarantined { until } => {
                let forgot = self.records.forgot;
                self.notice(Notice::Quarantined { until, forgot });
            }
            OwnEvent::Recovering => self.notice(Notice::Recovering),
            OwnEvent::RecoveryWaits { founding, led, silent, unfounded } => {
                self.notice(Notice::RecoveryWaits { founding, led, silent, unfounded });
            }
            OwnEvent::NotFounded { by } => self.notice(Notice::NotFounded { by }),
            OwnEvent::DiskFailed => {
                let error = self.counters.write_error.clone().unwrap_or_default();
                self.notice(Notice::DiskFailed { error });
            }
            OwnEvent::DiskHangs { since } => {
                let error = self.records.hangs(clock::now().since(since));
                self.counters.write_error = Some(error.clone());
                self.notice(Notice::DiskHangs { error });
            }
            OwnEvent::DiskMended => {
                self.counters.write_error = None;
                self.notice(Notice::DiskMended);
            }
            OwnEvent::NameContested { name, addresses } => {
                self.notice(Notice::NameContested { name, addresses });
            }
            OwnEvent::AddressContested { who, holder, other } => {
                self.notice(Notice::AddressContested { who, holder, other });
            }
            OwnEvent::Ignored(reason) => self.counters.ignore_for(reason.label()),
            _ => {}
        }
    }

    /// Says it, unless that was said already.
    fn notice(&mut self, notice: Notice) {
        let shown = notice.clone().with_addresses(|address| self.transport.finder.shown(address));
        if log::notice(&mut self.repeats, clock::now(), (&notice, &shown), &self.config) {
            // Nobody listening is fine.
            let _ = self.notices.send(shown);
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
    const KINDS: usize = 3;

    async fn next(&mut self) -> Incoming {
        let Self { transport, buffer, flushed, .. } = self;
        let arrived = poll_fn(|context| match transport.poll_receive(context, buffer) {
            Poll::Ready(received) => Poll::Ready(datagram(received)),
            Poll::Pending => resolved(transport.finder.poll_answer(context)),
        });
        tokio::select! {
            biased;
            arrived = arrived => arrived,
            Some(done) = flushed.recv() => Incoming::Flushed(done),
        }
    }

    /// A socket that is never empty keeps the disk waiting no longer than one datagram.
    fn take(&mut self, kind: usize) -> Option<Incoming> {
        if kind == 0 {
            return self.flushed.try_recv().ok().map(Incoming::Flushed);
        }
        // Nobody is woken by this: the next wait asks again.
        let mut context = Context::from_waker(Waker::noop());
        if kind == 1 {
            return match resolved(self.transport.finder.poll_answer(&mut context)) {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => None,
            };
        }
        match self.transport.poll_receive(&mut context, &mut self.buffer) {
            Poll::Ready(received) => Some(datagram(received)),
            Poll::Pending => None,
        }
    }

    fn on_incoming(&mut self, now: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::Datagram { length, from } => {
                let mut buffer = std::mem::take(&mut self.buffer);
                self.on_datagram(now, (&mut buffer[..length], from), machine);
                self.buffer = buffer;
            }
            Incoming::Flushed((ticket, Ok(()))) => machine.input(Input::Flushed(ticket)),
            Incoming::Flushed((ticket, Err(error))) => {
                self.write_failed(&error);
                machine.input(Input::Failed(Some(ticket)));
            }
            Incoming::Resolved(answer) => {
                let notice = self.transport.finder.on_answer(now, answer);
                self.notice_if(notice);
            }
            Incoming::Nothing => {}
        }
    }

    fn on_ask(&mut self, now: Time, ask: Ask, machine: &mut Machine<Self>) {
        match ask {
            Ask::Verify { election, leader, reply } => {
                let leader = self.transport.finder.known_as(leader);
                self.proofs.wait(&election, Question { leader, start: now }, reply);
                machine.command(election, Command::Extra(Extra::Verify { leader }));
            }
            Ask::Counters(reply) => {
                let _ = reply.send(self.counters.clone());
            }
            Ask::Service(reply) => {
                let _ = reply.send(machine.core.service(now));
            }
            Ask::Disagreement(reply) => {
                let _ = reply.send(self.agreement.disagreement(&self.config));
            }
            Ask::Keyring(reply) => {
                let seal = self.transport.seal.as_deref();
                let _ = reply.send(seal.map(|seal| (seal.ids(), seal.peers())));
            }
            Ask::Rekey { keys, done } => {
                if let Some(seal) = &mut self.transport.seal {
                    seal.rekey(keys);
                }
                let _ = done.send(());
            }
        }
    }

    fn send(&mut self, to: SocketAddr, mut message: Message) {
        self.transport.finder.show(&mut message);
        self.outbox.push(to, &message, &mut self.transport, &mut self.counters);
    }

    fn persist(&mut self, record: &Record) -> bool {
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
        let Some(election) = election else { return self.on_node_event(event) };
        match event {
            OwnEvent::Stamped { timestamp, .. } => self.stamped = Some(timestamp),
            OwnEvent::Held { until } => machine.campaigns.held(&election, until),
            OwnEvent::Verified { question, leader: who, until, fence } => {
                let proof = Proof::Leads { who, until, fence };
                self.proofs.answered(&election, question, &proof);
            }
            OwnEvent::NotVerified { question, by } => {
                self.proofs.answered(&election, question, &Proof::DoesNotLead { by });
            }
            OwnEvent::Granted { to } => self.notice(Notice::Granted { election, to }),
            OwnEvent::Freed { by } => self.notice(Notice::Freed { election, by }),
            // What keeps a campaign from being won is told as what it waits for.
            OwnEvent::Obstacle { grantor, refusal } if machine.campaigns.won(&election) => {
                self.notice(Notice::Obstacle { election, grantor, refusal });
            }
            OwnEvent::NameShared { grantor, other } => {
                self.notice(Notice::NameShared { election, grantor, other });
            }
            event => self.on_node_event(event),
        }
    }

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        self.counters.elected += 1;
        // The application first: what follows asks for the lease of full length, and the first one
        // lasts long enough for that to wait until others have had the processor.
        self.outbox.give_way();
        match self.stamped.take() {
            Some(timestamp) => Arc::new(Source::new(self.inc, timestamp)),
            None => Arc::new(()),
        }
    }

    fn ended(&mut self, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Loss::Expired));
        // The application has its answer in the cell; others wait for the release.
        self.outbox.flush(&mut self.transport, &mut self.counters);
    }

    fn explain(&self, waiting: Waiting) -> Waiting {
        let unresolved = self.transport.finder.unresolved();
        let unresolved = unresolved.map(|(name, why)| (name, "name-unresolved", why));
        instead(self.agreement.explain(waiting, &self.config), unresolved)
    }

    fn before_more(&mut self) {
        self.outbox.hurry(&mut self.transport, &mut self.counters);
    }

    fn before_waiting(&mut self) {
        self.outbox.flush(&mut self.transport, &mut self.counters);
    }

    fn farewell(&self) -> Duration {
        FAREWELL
    }
}

/// Whether what is sent to `member` arrives at a socket that is bound `here`, as far as the two
/// addresses tell.
fn receives(here: SocketAddr, member: SocketAddr) -> bool {
    let any = here.ip().is_unspecified() || here.ip().to_canonical() == member.ip().to_canonical();
    any && here.port() == member.port()
}

fn resolved(answer: Poll<Option<Answer>>) -> Poll<Incoming> {
    match answer {
        Poll::Ready(Some(answer)) => Poll::Ready(Incoming::Resolved(answer)),
        // The finder keeps a sender of its own.
        Poll::Ready(None) | Poll::Pending => Poll::Pending,
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
