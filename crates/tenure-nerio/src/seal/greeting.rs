//! Hellos and welcomes.

use std::io;
use std::net::SocketAddr;

use tenure_core::{NodeName, Time};

use super::authority::Authority;
use super::bytes::{self, Channel, Hello};
use super::channel::{AcceptedKey, accept, answerer, directions, first, gate};
use super::session::{Session, id};
use super::window::Window;
use super::{DropReason, Seal};
use crate::keys::{HeldKeys, Secret};

impl Seal {
    /// The channel, with its secret, that this process would open to a member or to another
    /// process.
    pub(super) fn toward(&self, member: bool) -> Option<(Channel, Secret)> {
        Some(match (self.keys.held(), member) {
            (HeldKeys::Cluster(keys), member) if member || self.asks => {
                (Channel::Members, keys.first()?.secret().clone())
            }
            (HeldKeys::Cluster(_), _) => return None,
            (HeldKeys::Application(_), true) => (Channel::Application, self.with_members.clone()?),
            (HeldKeys::Application(keys), false) => {
                (Channel::Peers, keys.first()?.secret().clone())
            }
        })
    }

    pub(super) fn greet(
        &mut self,
        to: SocketAddr,
        number: u64,
        send: &mut impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let opened = self.toward(self.contacts.is_member(to)).zip(first(&self.keys));
        let Some(((channel, secret), (grant, key, held))) = opened else { return Ok(()) };
        let public = self.own.public;
        let (seals, _) = directions(channel, &secret, &public, &[0; 32], false);
        let hello = Hello { channel, key, public, counter: number, grant: &grant };
        let through = gate(held, &public);
        bytes::hello(&seals, &through, &hello, self.own.challenge, &mut self.scratch);
        send(to, &self.scratch)
    }

    /// Handles a hello: a sender with a key of ours gets a welcome.
    pub(super) fn on_hello(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        send: &mut impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> Result<(), DropReason> {
        let hello = bytes::read_hello(datagram).ok_or(DropReason::Cut)?;
        let public = hello.public;
        let counter = hello.counter;
        let with = accept(&self.keys, &hello).ok_or(DropReason::OtherKey(hello.key))?;
        let through = gate(&with.gate, &public);
        if !bytes::passes(&through, counter, datagram) {
            return Err(DropReason::Forged);
        }
        let known = self.sessions.get(id(&public));
        if let Some(known) = known {
            let is_less = |by: &Authority| *by == Authority::Cluster && with.authority != *by;
            // If two processes draw the same id (probability 2⁻⁶⁴), the first process keeps its
            // session. An application cannot replace the session of a member, either.
            if known.public != public || is_less(&known.authority) {
                return Err(DropReason::Forged);
            }
            if !known.window.is_new(counter) {
                return Err(DropReason::Replayed);
            }
        }
        if known.is_some_and(|s| s.key == hello.key && s.authority == with.authority) {
            let session = self.sessions.get_mut(id(&public)).ok_or(DropReason::Unknown)?;
            let challenge = bytes::open_hello(&session.opens, counter, datagram);
            session.challenge = challenge.ok_or(DropReason::Forged)?;
            session.window.take(counter);
        } else {
            let session = self.open_session(now, from, &hello, with, datagram)?;
            self.sessions.keep(session);
        }
        let number = self.own.count();
        let session = self.sessions.get(id(&public)).ok_or(DropReason::Full)?;
        bytes::welcome(
            &session.seals,
            &self.own.public,
            number,
            self.own.challenge,
            session.challenge,
            counter,
            &mut self.scratch,
        );
        // If the welcome is lost, the sender says hello again.
        let _ = send(from, &self.scratch);
        Ok(())
    }

    /// A session with the sender of a hello, with the key of this process that the hello used.
    fn open_session(
        &self,
        heard: Time,
        from: SocketAddr,
        hello: &Hello<'_>,
        with: AcceptedKey,
        datagram: &[u8],
    ) -> Result<Session, DropReason> {
        let public = hello.public;
        let key = hello.key;
        let secret = with.secret(&public).ok_or(DropReason::Forged)?;
        let (seals, opens) = directions(hello.channel, &secret, &self.own.public, &public, true);
        let challenge =
            bytes::open_hello(&opens, hello.counter, datagram).ok_or(DropReason::Forged)?;
        let (window, name) = self.continued(&public, hello.counter);
        let address = self.sessions.get(id(&public)).map_or(from, |known| known.address);
        let authority = with.authority;
        Ok(Session {
            public,
            authority,
            key,
            opens,
            seals,
            challenge,
            window,
            address,
            heard,
            name,
            established: false,
        })
    }

    /// Window and name that a new session takes over from the previous session of the same process:
    /// the process numbers its datagrams on when it uses another key.
    fn continued(&self, public: &[u8; 32], counter: u64) -> (Window, Option<NodeName>) {
        let known = self.sessions.get(id(public));
        let mut window = known.map_or_else(Window::default, |known| known.window.clone());
        window.take(counter);
        (window, known.and_then(|known| known.name.clone()))
    }

    /// Handles the answer from `from` to our hello, and sends the datagram that waited for it.
    pub(super) fn on_welcome(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
        send: &mut impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> Result<(), DropReason> {
        let (public, counter) = bytes::welcome_head(datagram).ok_or(DropReason::Cut)?;
        let member = self.contacts.is_member(from);
        let awaits = self.contacts.get(from).is_some_and(|contact| contact.awaits());
        let known = self.sessions.get(id(&public));
        let is_new = known.is_none_or(|s| s.public == public && s.window.is_new(counter));
        if !awaits || !is_new {
            return Err(DropReason::Replayed);
        }
        let (channel, secret) = self.toward(member).ok_or(DropReason::Unknown)?;
        let (seals, opens) = directions(channel, &secret, &self.own.public, &public, false);
        let opened = bytes::open_welcome(&opens, counter, self.own.challenge, datagram);
        let (challenge, echo) = opened.ok_or(DropReason::Forged)?;
        let (window, name) = self.continued(&public, counter);
        let Some(contact) = self.contacts.get(from) else { return Err(DropReason::Unknown) };
        if !contact.answer(echo) {
            return Err(DropReason::Replayed);
        }
        let waiting = contact.waiting.take();
        let key = self.keys.ids().first().copied().ok_or(DropReason::Unknown)?;
        let authority = answerer(&self.keys, channel).ok_or(DropReason::Unknown)?;
        let address = from;
        let heard = now;
        self.sessions.keep(Session {
            public,
            authority,
            key,
            opens,
            seals,
            challenge,
            window,
            address,
            heard,
            name,
            established: false,
        });
        if !self.sessions.establish(id(&public), from, true) {
            return Err(self.start_over());
        }
        let Some(contact) = self.contacts.get(from) else { return Ok(()) };
        contact.heard();
        if let Some(waiting) = waiting {
            contact.sent(now);
            // If this datagram is lost, the node that wants an answer repeats it.
            let _ = self.send(from, &waiting, send);
        }
        Ok(())
    }
}
