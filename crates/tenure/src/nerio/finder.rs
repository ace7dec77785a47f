//! Where members are now.
//!
//! Above, a member has one address for good: what the configuration has, which for one that is
//! given by the name of its host is a [stand-in](Host::stand_in). Below, it may have several, one
//! after the other. A member that falls silent is looked for: its name is resolved again, and its
//! addresses are tried in turn. With keys, what a member sealed is from that member wherever it
//! came from, and is answered there once nothing is heard from where it was.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use tenure_core::nerio::{Checked, Message, Refusal};
use tenure_core::{NodeName, Time};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::hosts::{Host, Hosts, Resolver, usable};
use super::notice::Notice;
use crate::clock;
use crate::transport::Transport;

/// How long nothing is heard of a member that is spoken to before it is looked for elsewhere.
const SILENT: Duration = Duration::from_secs(1);
/// So many datagrams must have been without an answer besides: one may be lost.
const UNANSWERED: u32 = 3;
/// Between two look-ups of one name.
const AGAIN: Duration = Duration::from_secs(2);

/// What a resolver said of a member, by its position.
pub(super) struct Answer {
    member: usize,
    found: io::Result<Vec<SocketAddr>>,
}

/// A transport that finds members.
pub(super) struct Finder<T> {
    transport: T,
    /// In the order of the list; none where addresses are what tells members apart.
    members: Vec<Whereabouts>,
    resolver: Arc<dyn Resolver>,
    /// There is at most one look-up of a member at a time, so at most one answer.
    answers: (UnboundedSender<Answer>, UnboundedReceiver<Answer>),
    /// Where the last datagram came from.
    from: SocketAddr,
}

struct Whereabouts {
    name: NodeName,
    /// What stands for it above.
    known_as: SocketAddr,
    host: Option<Host>,
    /// What was found, to be tried in turn.
    addresses: Vec<SocketAddr>,
    /// Where it is spoken to.
    at: Option<SocketAddr>,
    /// When it was heard there last.
    heard: Option<Time>,
    /// Since when, and how often, it was spoken to without an answer.
    unanswered: Option<(Time, u32)>,
    /// When it was looked up last.
    asked: Option<Time>,
    looking: bool,
    failure: Option<String>,
}

impl Whereabouts {
    fn is_at(&self, address: SocketAddr) -> bool {
        self.at == Some(address) || self.addresses.contains(&address)
    }

    fn is_silent(&self, now: Time) -> bool {
        self.unanswered
            .is_some_and(|(since, times)| now.since(since) >= SILENT && times >= UNANSWERED)
    }

    fn speak_at(&mut self, address: Option<SocketAddr>) {
        (self.at, self.heard, self.unanswered) = (address, None, None);
    }

    /// The address to try after the one that does not answer.
    fn next(&self) -> Option<SocketAddr> {
        let tried = self.addresses.iter().position(|address| Some(*address) == self.at);
        let next = tried.map_or(0, |nth| (nth + 1) % self.addresses.len());
        self.addresses.get(next).copied().or(self.at)
    }
}

impl<T: Transport> Finder<T> {
    /// One for the members of `config`, of which `own` is this node. Without keys a member that is
    /// listed with its address is there and nowhere else.
    pub(super) fn new(
        transport: T,
        (config, own): (&Checked, &NodeName),
        hosts: &Hosts,
        (resolver, keyed): (Arc<dyn Resolver>, bool),
    ) -> Self {
        let here = transport.local_address();
        let find = |member: &tenure_core::nerio::Member| {
            let host = hosts.get(&member.name).cloned();
            let addresses = match host {
                // No name server is needed to find oneself.
                Some(_) if member.name == *own => vec![reached_from_itself(here)],
                Some(_) => Vec::new(),
                None => vec![member.address],
            };
            Whereabouts {
                name: member.name.clone(),
                known_as: member.address,
                host: host.filter(|_| member.name != *own),
                at: addresses.first().copied(),
                addresses,
                heard: None,
                unanswered: None,
                asked: None,
                looking: false,
                failure: None,
            }
        };
        let finds = keyed || !hosts.is_empty();
        let members = config.members.iter().filter(|_| finds).map(find).collect();
        let answers = unbounded_channel();
        let mut this = Self { transport, members, resolver, answers, from: here };
        for nth in 0..this.members.len() {
            this.look_up(clock::now(), nth);
        }
        this
    }

    /// Resolves the name of a member that has one, on a thread of its own: a name server that does
    /// not answer holds up nothing else.
    fn look_up(&mut self, now: Time, nth: usize) {
        let member = &mut self.members[nth];
        let lately = member.asked.is_some_and(|asked| now.since(asked) < AGAIN);
        let Some(host) = member.host.clone().filter(|_| !member.looking && !lately) else { return };
        (member.asked, member.looking) = (Some(now), true);
        let (resolver, tell) = (Arc::clone(&self.resolver), self.answers.0.clone());
        let look = move || {
            let found = resolver.resolve(&host);
            // A node that has ended needs no answer.
            let _ = tell.send(Answer { member: nth, found });
        };
        let thread = thread::Builder::new().name("tenure-resolve".into()).spawn(look);
        if let Err(error) = thread {
            let _ = self.answers.0.send(Answer { member: nth, found: Err(error) });
        }
    }

    /// Waits for what a resolver says. Cancel safe.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Option<Answer>> {
        self.answers.1.poll_recv(context)
    }

    /// What to tell of an answer: a name that does not resolve, or does so now.
    pub(super) fn on_answer(&mut self, now: Time, answer: Answer) -> Option<Notice> {
        let member = self.members.get_mut(answer.member)?;
        member.looking = false;
        let host = member.host.clone()?;
        let found = answer.found.map(usable).map_err(|error| error.to_string());
        let failure = match found {
            Ok(found) if found.is_empty() => Some("it has no address".to_owned()),
            Ok(found) => {
                let there = member.at.is_some_and(|at| found.contains(&at));
                let lately = member.heard.is_some_and(|heard| now.since(heard) < SILENT);
                if !there && !lately {
                    member.speak_at(found.first().copied());
                }
                member.addresses = found;
                None
            }
            Err(error) => Some(error),
        };
        let before = std::mem::replace(&mut member.failure, failure.clone());
        let name = member.name.clone();
        match failure {
            Some(why) => Some(Notice::Unresolved { member: name, host, why }),
            None => before.map(|_| Notice::Resolved { member: name, host }),
        }
    }

    /// Something came from the member at this position, which has shown that it is that.
    pub(super) fn heard(&mut self, now: Time, nth: usize) {
        let from = self.from;
        let Some(member) = self.members.get_mut(nth) else { return };
        // Who repeats what a member sealed does so from an address of its own: as long as the
        // member is heard where it was, it is spoken to there.
        let lately = member.heard.is_some_and(|heard| now.since(heard) < SILENT);
        if member.at != Some(from) && lately {
            return;
        }
        (member.at, member.heard, member.unanswered) = (Some(from), Some(now), None);
    }

    /// What stands for the member at `address`, or `address` if nobody's.
    pub(super) fn known_as(&self, address: SocketAddr) -> SocketAddr {
        let there = self.members.iter().filter(|member| member.is_at(address));
        // Where one of them was another one may be now: the one that was heard there last.
        let there = there.max_by_key(|member| (member.at == Some(address), member.heard));
        there.map_or(address, |member| member.known_as)
    }

    /// Where the member is for which `address` stands, for others to know.
    pub(super) fn shown(&self, address: SocketAddr) -> SocketAddr {
        let member = self.members.iter().find(|member| member.known_as == address);
        member.and_then(|member| member.at).unwrap_or(address)
    }

    /// Puts addresses that others can use into what they are told.
    pub(super) fn show(&self, message: &mut Message) {
        if self.members.is_empty() {
            return;
        }
        match message {
            Message::State(state) => {
                if let Some(holder) = &mut state.holder {
                    holder.address = self.shown(holder.address);
                }
            }
            Message::Refused(refused) => {
                refused.name_shared = refused.name_shared.map(|other| self.shown(other));
                match &mut refused.refusal {
                    Refusal::Held { holder, .. } => holder.address = self.shown(holder.address),
                    Refusal::OtherAddress { holder } => *holder = self.shown(*holder),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Members that nothing can be sent to, and why.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = (&NodeName, String)> {
        let lost = self.members.iter().filter(|member| member.at.is_none());
        lost.filter_map(|member| {
            let host = member.host.as_ref()?.name();
            let why = match &member.failure {
                Some(why) => format!("its name {host} does not resolve: {why}"),
                None => format!("its name {host} is being resolved"),
            };
            Some((&member.name, why))
        })
    }
}

impl<T: Transport> Transport for Finder<T> {
    fn local_address(&self) -> SocketAddr {
        self.transport.local_address()
    }

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let Some(nth) = self.members.iter().position(|member| member.known_as == to) else {
            return self.transport.send(to, datagram);
        };
        let (now, member) = (clock::now(), &mut self.members[nth]);
        let silent = member.is_silent(now);
        if silent {
            let next = member.next();
            member.speak_at(next);
        }
        let (since, times) = member.unanswered.unwrap_or((now, 0));
        member.unanswered = Some((since, times.saturating_add(1)));
        let at = member.at;
        if silent || at.is_none() {
            self.look_up(now, nth);
        }
        match at {
            Some(at) => self.transport.send(at, datagram),
            // It is told as a notice, and what was to be sent is sent again.
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let received = self.transport.poll_receive(context, buffer);
        if self.members.is_empty() {
            return received;
        }
        received.map_ok(|(length, from)| {
            // A socket of both families shows an IPv4 address as an IPv6 one.
            let from = match from.ip().to_canonical() {
                ip @ std::net::IpAddr::V4(_) => SocketAddr::new(ip, from.port()),
                std::net::IpAddr::V6(_) => from,
            };
            self.from = from;
            (length, self.known_as(from))
        })
    }
}

/// Where a process that is bound `here` reaches itself.
fn reached_from_itself(here: SocketAddr) -> SocketAddr {
    match here.ip().is_unspecified() {
        true => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), here.port()),
        false => here,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tenure_core::nerio::{Config, Member};

    use super::*;
    use crate::nerio::hosts::Place;

    /// What was sent where, and what comes from where.
    #[derive(Default)]
    struct Net {
        sent: Vec<SocketAddr>,
        comes: VecDeque<SocketAddr>,
    }

    impl Transport for Net {
        fn local_address(&self) -> SocketAddr {
            at("10.0.0.9:1")
        }
        fn send(&mut self, to: SocketAddr, _: &[u8]) -> io::Result<()> {
            self.sent.push(to);
            Ok(())
        }
        fn poll_receive(
            &mut self,
            _: &mut Context<'_>,
            _: &mut [u8],
        ) -> Poll<io::Result<(usize, SocketAddr)>> {
            self.comes.pop_front().map_or(Poll::Pending, |from| Poll::Ready(Ok((0, from))))
        }
    }

    struct Nobody;

    impl Resolver for Nobody {
        fn resolve(&self, _: &Host) -> io::Result<Vec<SocketAddr>> {
            Err(io::Error::other("nobody knows"))
        }
    }

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    /// `a` on a host with a name, `b` at an address.
    fn finder(keyed: bool, named: bool) -> Finder<Net> {
        let host: Host = "db.test:7".parse().unwrap();
        let a = match named {
            true => Place::Host(host.clone()),
            false => Place::Address(at("10.0.0.1:7")),
        };
        let b = Member { name: "b".parse().unwrap(), address: at("10.0.0.2:7") };
        let members = vec![a.member("a".parse().unwrap()), b];
        let config = Config::new("x".parse().unwrap(), members).check().unwrap();
        let hosts = named.then(|| ("a".parse().unwrap(), host)).into_iter().collect();
        let own = "p".parse().unwrap();
        Finder::new(Net::default(), (&config, &own), &hosts, (Arc::new(Nobody), keyed))
    }

    fn found(finder: &mut Finder<Net>, addresses: &[&str]) -> Option<Notice> {
        let found = Ok(addresses.iter().map(|address| at(address)).collect());
        finder.on_answer(clock::now(), Answer { member: 0, found })
    }

    fn receive(finder: &mut Finder<Net>, from: &str) -> SocketAddr {
        finder.transport.comes.push_back(at(from));
        let mut context = Context::from_waker(std::task::Waker::noop());
        match finder.poll_receive(&mut context, &mut []) {
            Poll::Ready(received) => received.unwrap().1,
            Poll::Pending => panic!("it came"),
        }
    }

    fn long_ago() -> Time {
        Time::from_nanos(clock::now().as_nanos() - 2_000_000_000)
    }

    #[test]
    fn addresses_of_a_silent_member_are_tried_in_turn_and_one_lost_datagram_moves_nobody() {
        let mut finder = finder(true, true);
        let a = finder.members[0].known_as;
        assert!(finder.send(a, b"").is_err(), "nothing was resolved yet");
        assert!(found(&mut finder, &["10.0.0.3:7", "[fd00::3]:7"]).is_none());
        for _ in 0..UNANSWERED {
            finder.send(a, b"").unwrap();
        }
        finder.members[0].unanswered = Some((long_ago(), UNANSWERED - 1));
        finder.send(a, b"").unwrap();
        assert!(finder.transport.sent.iter().all(|to| *to == at("10.0.0.3:7")));
        for next in ["[fd00::3]:7", "10.0.0.3:7"] {
            finder.members[0].unanswered = Some((long_ago(), UNANSWERED));
            finder.send(a, b"").unwrap();
            assert_eq!(finder.transport.sent.last(), Some(&at(next)));
        }
        assert_eq!(receive(&mut finder, "[::ffff:10.0.0.3]:7"), a, "by a socket of both families");
        assert_eq!(receive(&mut finder, "10.0.0.4:7"), at("10.0.0.4:7"));
    }

    #[test]
    fn a_member_is_answered_where_it_is_unless_it_is_heard_where_it_was() {
        let mut finder = finder(true, false);
        let known_as = at("10.0.0.1:7");
        receive(&mut finder, "10.0.0.1:7");
        finder.heard(clock::now(), 0);
        // Repeated by somebody at another address.
        receive(&mut finder, "10.0.0.66:6");
        finder.heard(clock::now(), 0);
        finder.send(known_as, b"").unwrap();
        finder.members[0].heard = Some(long_ago());
        receive(&mut finder, "10.0.0.5:7");
        finder.heard(clock::now(), 0);
        finder.send(known_as, b"").unwrap();
        assert_eq!(finder.transport.sent, [at("10.0.0.1:7"), at("10.0.0.5:7")]);
        assert_eq!(receive(&mut finder, "10.0.0.5:7"), known_as);
        assert_eq!(finder.shown(known_as), at("10.0.0.5:7"));
        assert_eq!(finder.known_as(at("10.0.0.5:7")), known_as);
    }

    #[test]
    fn an_address_is_that_of_the_member_that_was_heard_there_last() {
        let mut finder = finder(true, false);
        let (a, b) = (at("10.0.0.1:7"), at("10.0.0.2:7"));
        receive(&mut finder, "10.0.0.1:7");
        finder.heard(long_ago(), 0);
        // b has moved to where a was, and says so.
        assert_eq!(receive(&mut finder, "10.0.0.1:7"), a);
        finder.heard(clock::now(), 1);
        assert_eq!(receive(&mut finder, "10.0.0.1:7"), b);
        assert_eq!(finder.shown(b), at("10.0.0.1:7"));
    }

    #[test]
    fn without_keys_and_names_nothing_is_looked_for() {
        let mut finder = finder(false, false);
        assert!(finder.members.is_empty());
        finder.send(at("10.0.0.1:7"), b"").unwrap();
        assert_eq!(receive(&mut finder, "[::ffff:10.0.0.1]:7"), at("[::ffff:10.0.0.1]:7"));
    }

    #[test]
    fn a_name_is_looked_up_by_one_thread_at_a_time_and_what_was_found_outlasts_a_failure() {
        let mut finder = finder(true, true);
        let a = finder.members[0].known_as;
        assert!(finder.members[0].looking);
        let asked = finder.members[0].asked;
        let _ = finder.send(a, b"");
        assert_eq!(finder.members[0].asked, asked, "one is under way");
        assert!(finder.unresolved().next().unwrap().1.contains("is being resolved"));
        let error = || Err(io::Error::other("nobody knows"));
        let told = finder.on_answer(clock::now(), Answer { member: 0, found: error() });
        assert!(matches!(told, Some(Notice::Unresolved { .. })));
        let why = finder.unresolved().next().unwrap().1;
        assert_eq!(why, "its name db.test does not resolve: nobody knows");
        let _ = finder.send(a, b"");
        assert_eq!(finder.members[0].asked, asked, "it was asked just now");
        finder.members[0].asked = Some(Time::from_nanos(clock::now().as_nanos() - 3_000_000_000));
        let _ = finder.send(a, b"");
        assert!(finder.members[0].looking && finder.members[0].asked != asked);
        let told = found(&mut finder, &["10.0.0.3:7"]);
        assert!(matches!(told, Some(Notice::Resolved { .. })));
        finder.on_answer(clock::now(), Answer { member: 0, found: error() });
        assert_eq!((finder.unresolved().count(), finder.send(a, b"").is_ok()), (0, true));
        assert!(matches!(found(&mut finder, &[]), Some(Notice::Unresolved { .. })));
    }
}
