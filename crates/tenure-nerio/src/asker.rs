//! A socket for questions to grantors, one question at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure::clock;
use tenure::driver::random;
use tenure_core::nerio::wire::{Envelope, Messages, Packer, open};
use tenure_core::nerio::{
    Checked, Current, Document, DocumentReader, EpochId, Inc, List, Member, Membership, Message,
    Origin, Query, ReadOutcome, Service, State, ToAsker, Where, Who,
};
use tenure_core::{ElectionName, NodeName};
use tokio::net::UdpSocket;

use crate::enough_answers::Enough;
use crate::keys::Keys;
use crate::places::{LookUp, Reach};
use crate::seal::{Authority, OpenDatagram, SEALED_MAX, Seal};
use crate::transport::{self, Families};

/// Name of the sender in questions.
pub(crate) const NAME: &str = "survey";
/// Number of tries after which a grantor counts as silent.
pub(crate) const TRIES: u32 = 5;
/// Number of tries after which a grantor counts as silent, if it was silent to an earlier question.
const TRIES_AGAIN: u32 = 2;

/// Outcome of a question that members of earlier versions do not know.
pub(crate) enum Outcome<T> {
    /// An answer, and the incarnation that gave it.
    Answer(Inc, T),
    Nothing,
    /// The member answers, but not this question.
    ElseOnly,
}

#[derive(Clone, Copy)]
pub(crate) struct Whereabouts {
    pub(crate) epoch: EpochId,
    /// Digest of the document of epoch 0.
    pub(crate) founding: u64,
    /// Whether the member has entered that epoch. A blank names the epoch of its settings instead.
    pub(crate) entered: bool,
    /// Whether the member says that it grants leases in that epoch.
    pub(crate) serves: bool,
}

pub(crate) struct Asker {
    socket: UdpSocket,
    families: Families,
    packer: Packer,
    /// Members of the epoch that the questions are for.
    membership: Arc<Membership>,
    who: Who,
    patience: Duration,
    tries: u32,
    differing: BTreeSet<NodeName>,
    /// Members with an empty state directory, in an epoch whose document names memories.
    blank: BTreeSet<NodeName>,
    /// Whether a member has entered a later epoch of this cluster.
    is_behind: bool,
    /// Addresses of each member that was asked, or the reason why its name gives none.
    found: BTreeMap<NodeName, Result<Vec<SocketAddr>, String>>,
    /// Members to which the system refused to send the latest datagram, each with an address and
    /// the error.
    unsent: BTreeMap<NodeName, String>,
    seal: Option<Seal>,
    /// Shared with askers of the other members: ends look-ups once a quorum of the members has
    /// answered.
    beside: Option<Enough>,
}

impl Asker {
    #[expect(clippy::unused_async, reason = "a socket of tokio's is made in its runtime")]
    pub(crate) async fn new(
        config: &Checked,
        keys: Option<&Keys>,
        from: SocketAddr,
    ) -> io::Result<Self> {
        let seal = keys.cloned().map(Seal::new).transpose();
        let seal = seal.map_err(io::Error::other)?;
        let inc = match &seal {
            Some(seal) => seal.inc(),
            None => Inc(random().map_err(|error| error.source)?),
        };
        let name = NodeName::new(NAME).map_err(io::Error::other)?;
        let who = Who { name, inc };
        let membership = Arc::clone(config.membership());
        let packer = Packer::new(&Envelope { epoch: membership.id(), who: who.clone() });
        let patience = (config.round_trip * 4).max(Duration::from_millis(50));
        let (socket, families) = transport::open(from)?;
        let socket = UdpSocket::from_std(socket)?;
        Ok(Self {
            socket,
            families,
            packer,
            membership,
            who,
            patience,
            tries: TRIES,
            differing: BTreeSet::new(),
            blank: BTreeSet::new(),
            is_behind: false,
            found: BTreeMap::new(),
            unsent: BTreeMap::new(),
            seal,
            beside: None,
        })
    }

    pub(crate) fn beside(&mut self, enough: Enough) {
        self.beside = Some(enough);
    }

    pub(crate) const fn inc(&self) -> Inc {
        self.who.inc
    }

    /// Asks for the members of another epoch from now on.
    pub(crate) fn enter(&mut self, membership: &Arc<Membership>) {
        let (epoch, who) = (membership.id(), self.who.clone());
        self.packer = Packer::new(&Envelope { epoch, who });
        self.membership = Arc::clone(membership);
        self.differing.clear();
        self.blank.clear();
        self.is_behind = false;
    }

    /// Asks `to` for its epoch. A member of an earlier version answers only other questions. Such
    /// an answer counts as the epoch of this asker. `None` for a silent member, which this asker
    /// asks fewer times from then on.
    pub(crate) async fn whereabouts(&mut self, to: &Member) -> Option<Whereabouts> {
        let (start, asker) = (clock::now(), self.who.inc);
        let (epoch, founding) = (self.membership.id(), self.membership.founding());
        let own = Whereabouts { epoch, founding, entered: true, serves: false };
        let read = |message| match message {
            Message::Asker(ToAsker::Current(current))
                if (current.asker, current.start) == (asker, start) =>
            {
                let Current { epoch, founding, entered, service, .. } = current;
                let serves = service == Service::Serving;
                Some(Whereabouts { epoch, founding, entered, serves })
            }
            Message::Asker(ToAsker::Listed(_)) => Some(own),
            _ => None,
        };
        match self.ask_new(to, &Message::from(Where { start }), None, read).await {
            Ok(Outcome::Answer(_, named)) => Some(named),
            Ok(Outcome::ElseOnly) => Some(own),
            Ok(Outcome::Nothing) | Err(_) => {
                self.tries = TRIES_AGAIN;
                None
            }
        }
    }

    /// Reads the document of `epoch` from `to`. Does not check the document.
    pub(crate) async fn document(&mut self, to: &Member, epoch: EpochId) -> Option<Document> {
        let mut reader = DocumentReader::new(epoch);
        loop {
            let (start, asker) = (clock::now(), self.who.inc);
            let question = Message::from(reader.question(start));
            let read = |message| match message {
                Message::Asker(ToAsker::DocumentPart(part))
                    if (part.asker, part.start) == (asker, start) =>
                {
                    Some(reader.on_part(&part)).filter(|read| *read != ReadOutcome::Unexpected)
                }
                _ => None,
            };
            match self.ask(to, &question, read).await.ok()?? {
                ReadOutcome::Unfinished => {}
                ReadOutcome::Finished(document) => return Some(*document),
                ReadOutcome::Unexpected | ReadOutcome::Unusable => return None,
            }
        }
    }

    /// Sends a question until an answer of that member passes `read`, or gives up.
    pub(crate) async fn ask<T>(
        &mut self,
        to: &Member,
        question: &Message,
        mut read: impl FnMut(Message) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut datagram = self.begin(to);
        self.packer.push(&mut datagram, question);
        for _ in 0..self.tries {
            if let Some((_, answer)) = self.try_once(to, &datagram, &mut read).await? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    async fn try_once<T>(
        &mut self,
        to: &Member,
        datagram: &[u8],
        read: impl FnMut(Message) -> Option<T>,
    ) -> io::Result<Option<(Inc, T)>> {
        let addresses = self.find(to).await;
        if addresses.is_empty() {
            return Ok(None);
        }
        // Ask at all addresses: a question that arrives twice does no harm.
        let mut is_sent = false;
        let mut refused = Vec::new();
        for address in &addresses {
            match self.send(*address, datagram).await {
                Ok(sent) => is_sent |= sent,
                Err(error) => refused.push((*address, error)),
            }
        }
        if is_sent {
            self.unsent.remove(&to.name);
        }
        if refused.len() == addresses.len()
            && let Some((address, error)) = refused.pop()
        {
            self.unsent.insert(to.name.clone(), format!("{address}: {error}"));
            return Err(error);
        }
        let patience = self.patience;
        let answer = self.answer(to, &addresses, read);
        tokio::time::timeout(patience, answer).await.ok().transpose()
    }

    /// Begins a datagram that only `to` answers, because the host name of `to` may lead to another
    /// member.
    fn begin(&self, to: &Member) -> Vec<u8> {
        let mut datagram = self.packer.start();
        let position = self.membership.position(&to.name);
        let number = position.map_or(0, |position| self.membership.number(position));
        Packer::address(&mut datagram, number);
        datagram
    }

    /// The addresses of `member`, whose name is looked up with the first question.
    async fn find(&mut self, member: &Member) -> Vec<SocketAddr> {
        if !self.found.contains_key(&member.name) {
            let found = match (member.address.literal(), member.address.name()) {
                (Some(address), _) => Ok(vec![address]),
                (None, Some(name)) => self.look_up(name, member.address.port()).await,
                (None, None) => Err("it has no host".to_owned()),
            };
            let local = self.socket.local_addr();
            let found = found.and_then(|found| {
                Reach::of(local.map_err(|error| error.to_string())?).filter(found)
            });
            self.found.insert(member.name.clone(), found);
            let all = self.found.values().flatten().flatten().copied().collect();
            if let Some(seal) = &mut self.seal {
                seal.members_are(all);
            }
        }
        self.found.get(&member.name).and_then(|found| found.clone().ok()).unwrap_or_default()
    }

    async fn look_up(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let mut look_up = LookUp::new(name.to_owned(), port);
        let Some(enough) = &self.beside else { return look_up.ask().await };
        let found = enough.or(look_up.ask()).await;
        found.unwrap_or_else(|| Err("no answer from the name server yet".to_owned()))
    }

    /// Asks a question that members of earlier versions do not know, and returns the incarnation
    /// that answered. From the second try on the datagram also holds a question that every version
    /// knows: about `election`, or for the names of all elections if `election` is `None`. A member
    /// that answers only that question is of an earlier version, and not silent.
    pub(crate) async fn ask_new<T>(
        &mut self,
        to: &Member,
        question: &Message,
        election: Option<&ElectionName>,
        mut read: impl FnMut(Message) -> Option<T>,
    ) -> io::Result<Outcome<T>> {
        let start = clock::now();
        let asker = self.who.inc;
        let old = match election.cloned() {
            Some(election) => Message::from(Query { election, start }),
            None => Message::from(List { start, after: None }),
        };
        let mut is_there = false;
        let mut read = |message| {
            is_there |= match &message {
                Message::Asker(ToAsker::State(state)) => {
                    (state.asker, state.start) == (asker, start)
                }
                Message::Asker(ToAsker::Listed(listed)) => listed.start == start,
                _ => false,
            };
            read(message)
        };
        let mut datagram = self.begin(to);
        self.packer.push(&mut datagram, question);
        for nth in 0..self.tries {
            if let Some((inc, answer)) = self.try_once(to, &datagram, &mut read).await? {
                return Ok(Outcome::Answer(inc, answer));
            }
            if nth == 0 {
                self.packer.push(&mut datagram, &old);
            }
        }
        Ok(if is_there { Outcome::ElseOnly } else { Outcome::Nothing })
    }

    /// Returns whether the datagram was sent: a sealed datagram may have to wait for a welcome.
    async fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<bool> {
        let Some(seal) = &mut self.seal else {
            let sent = self.socket.send_to(datagram, self.families.outward(to)).await;
            return sent.map(|_| true);
        };
        let mut sealed = Vec::new();
        seal.outgoing(clock::now(), to, datagram, |to, bytes| {
            sealed.push((to, bytes.to_vec()));
            Ok(())
        })?;
        let is_sent = !sealed.is_empty();
        self.send_all(sealed).await.map(|()| is_sent)
    }

    async fn send_all(&self, sealed: Vec<(SocketAddr, Vec<u8>)>) -> io::Result<()> {
        for (to, bytes) in sealed {
            self.socket.send_to(&bytes, self.families.outward(to)).await?;
        }
        Ok(())
    }

    async fn answer<T>(
        &mut self,
        to: &Member,
        addresses: &[SocketAddr],
        mut read: impl FnMut(Message) -> Option<T>,
    ) -> io::Result<(Inc, T)> {
        let mut buffer = [0; SEALED_MAX + 1];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            let from = self.families.inward(from);
            let Some((sealed_by, datagram)) = self.unseal(from, &mut buffer[..length]).await?
            else {
                continue;
            };
            // A sealed datagram shows who sent it, from whatever address.
            if sealed_by.is_none() && !addresses.contains(&from) {
                continue;
            }
            let Ok((Envelope { epoch, who }, messages)) = open(datagram) else { continue };
            let is_ours = epoch == self.membership.id();
            let is_unsealed = sealed_by.is_none() && is_ours;
            if let Some(seal) = self.seal.as_mut().filter(|_| is_unsealed) {
                seal.heard_unsealed(clock::now(), from, &who.name);
            }
            // Another node cannot answer for the member.
            if who.name != to.name || sealed_by.is_some_and(|inc| inc != who.inc) {
                continue;
            }
            if !is_ours {
                self.hear_other_epoch(&who.name, epoch, messages.clone());
            }
            let mut answers = messages.flatten().filter(|message| is_ours || is_free(message));
            if let Some(answer) = answers.find_map(&mut read) {
                return Ok((who.inc, answer));
            }
        }
    }

    /// Notes what `member` shows in a datagram for another epoch: another cluster, or a later epoch
    /// of this cluster.
    fn hear_other_epoch(&mut self, member: &NodeName, epoch: EpochId, messages: Messages<'_>) {
        let (own, founding) = (self.membership.id(), self.membership.founding());
        let shown = messages.flatten().find_map(|message| match message {
            Message::Asker(ToAsker::Current(current)) if current.asker == self.who.inc => {
                Some(current)
            }
            _ => None,
        });
        let theirs = match shown {
            // A blank is in no cluster yet. If the document names the blank's memory, the blank
            // enters this epoch by itself. Otherwise the members must let it in.
            Some(current) if !current.entered && self.names_memories() => {
                let seat = self.membership.position(member);
                if seat.and_then(|seat| self.membership.instance(seat)) != Some(current.instance) {
                    self.blank.insert(member.clone());
                }
                return;
            }
            Some(current) => {
                let is_later = current.epoch.number > own.number;
                self.is_behind |= is_later && current.founding == founding;
                current.founding
            }
            // A member of an earlier version, which knows only epoch 0, answers without messages.
            None if epoch.number == 0 => epoch.digest,
            None => return,
        };
        if theirs != founding {
            self.differing.insert(member.clone());
        }
    }

    /// Opens a datagram of a member, and returns who sealed it. Sends the datagram that waited for
    /// a welcome.
    async fn unseal<'a>(
        &mut self,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> io::Result<Option<(Option<Inc>, &'a [u8])>> {
        let Some(seal) = &mut self.seal else { return Ok(Some((None, datagram))) };
        let mut sealed = Vec::new();
        let opened = seal.incoming(clock::now(), from, datagram, |to, bytes| {
            sealed.push((to, bytes.to_vec()));
            Ok(())
        });
        let opened = opened.ok().flatten();
        self.send_all(sealed).await?;
        Ok(opened.and_then(|OpenDatagram { plain, shown }| match shown {
            Some((Authority::Cluster, inc)) => Some((Some(inc), plain)),
            Some((Authority::Application(_), _)) => None,
            None => Some((None, plain)),
        }))
    }

    pub(crate) async fn state(
        &mut self,
        to: &Member,
        election: &ElectionName,
    ) -> io::Result<Option<State>> {
        let start = clock::now();
        let asker = self.who.inc;
        let question = Message::from(Query { election: election.clone(), start });
        let state = self.ask(to, &question, |message| match message {
            Message::Asker(ToAsker::State(state))
                if (state.asker, state.start, &state.election) == (asker, start, election) =>
            {
                Some(state)
            }
            _ => None,
        });
        state.await
    }

    /// Whether the epoch of this asker names the memories of its members.
    fn names_memories(&self) -> bool {
        self.membership.document().origin != Origin::Upgraded
    }

    pub(crate) fn differs(&self, member: &NodeName) -> bool {
        self.differing.contains(member)
    }

    /// Whether `member` has an empty state directory, and must be let in.
    pub(crate) fn is_blank(&self, member: &NodeName) -> bool {
        self.blank.contains(member)
    }

    /// Notes that `member` is of another cluster.
    pub(crate) fn note_differing(&mut self, member: &NodeName) {
        self.differing.insert(member.clone());
    }

    /// Whether a member has entered a later epoch than that of this asker.
    pub(crate) const fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// The reason why the name of `member` gives no address, after a failed look-up.
    pub(crate) fn unresolved(&self, member: &NodeName) -> Option<&str> {
        self.found.get(member)?.as_ref().err().map(String::as_str)
    }

    /// The address of `member` to which the system refuses to send, and the error.
    pub(crate) fn unsent(&self, member: &NodeName) -> Option<&str> {
        self.unsent.get(member).map(String::as_str)
    }
}

/// Whether an answer is valid in any epoch.
const fn is_free(message: &Message) -> bool {
    matches!(
        message,
        Message::Asker(ToAsker::Current(_) | ToAsker::DocumentPart(_) | ToAsker::Changed(_))
    )
}
