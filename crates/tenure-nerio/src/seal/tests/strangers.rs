//! Strangers without a key, with a leaked key, or with datagrams of others.

use proptest::prelude::*;

use super::*;

/// Datagrams of every kind between a candidate and two members.
fn talk() -> (Net, Vec<Packet>) {
    let mut net = candidate_and_members();
    for (from, to) in [(P, A), (A, P), (P, B), (B, P), (A, B), (B, A)] {
        net.say(from, to, "something");
        net.settle();
    }
    let sent = net.sent.clone();
    let kinds: BTreeSet<u8> = sent.iter().map(|p| p.bytes[4]).collect();
    assert_eq!(kinds, [DATA, HELLO, WELCOME].into());
    (net, sent)
}

/// Asserts that all nodes still know the same peers, and still talk to them.
fn is_unharmed(net: &mut Net, before: &[Vec<Peer>]) {
    let known = |net: &Net| [A, B, P].map(|address| net.peers(address)).to_vec();
    assert_eq!(known(net), before);
    for (from, to) in [(P, A), (A, P), (P, B), (B, P), (A, B), (B, A)] {
        net.queue.clear();
        net.say(from, to, "and on");
        assert_eq!(net.settle(), ["and on"], "{from} to {to}");
    }
}

#[test]
fn datagram_is_read_once() {
    let (mut net, sent) = talk();
    let before = [A, B, P].map(|address| net.peers(address)).to_vec();
    net.wait(1_000);
    for packet in &sent {
        for from in [packet.from, at(Q)] {
            let again = Packet { from, ..packet.clone() };
            assert_eq!(net.give(&again), Err(DropReason::Replayed), "{again:?}");
        }
    }
    assert!(net.queue.is_empty(), "and nothing is answered");
    is_unharmed(&mut net, &before);
}

/// A key is removed and given again. Datagrams that were read before stay unreadable.
#[test]
fn returning_key_replays_nothing() {
    let (mut net, sent) = talk();
    let other = crate::keys::ClusterKey::generate("prod".parse().unwrap()).unwrap();
    let other = Keys::parse(&other.to_line()).unwrap();
    let node = net.nodes.get_mut(&at(A)).unwrap();
    node.rekey(other);
    node.rekey(member());
    net.wait(1_000);
    for packet in sent.iter().filter(|packet| packet.to == at(A)) {
        let read = net.give(packet);
        assert!(!matches!(read, Ok(Some(_))), "{packet:?}: {read:?}");
    }
    net.queue.clear();
    // The process P does not know that A has forgotten it. P greets A again once A is silent.
    net.say(P, A, "two");
    assert_eq!(net.settle(), [""; 0]);
    net.wait(60);
    net.say(P, A, "three");
    net.settle();
    net.say(P, A, "four");
    assert_eq!(net.settle(), ["four"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Datagrams of every kind with a changed bit, a cut end, or bytes added.
    #[test]
    fn changed_datagram_is_not_read(
        which in 0..100_usize,
        place in 0..10_000_usize,
        how in 0..10_u8,
    ) {
        let (mut net, sent) = talk();
        let before = [A, B, P].map(|address| net.peers(address)).to_vec();
        // Deliver the datagram to a node that has not read it. Otherwise the window alone could
        // refuse it.
        let mut packet = sent[which % sent.len()].clone();
        let seed = if packet.to == at(A) { 1 } else if packet.to == at(B) { 2 } else { 3 };
        let keys = if seed == 3 { application("billing") } else { member() };
        let mut fresh = Net::new(vec![]);
        fresh.nodes.insert(packet.to, seal(keys, seed));
        let length = packet.bytes.len();
        match how {
            0 => packet.bytes.truncate(place % length),
            1 => packet.bytes.push(0),
            how => packet.bytes[place % length] ^= 1 << (how % 8),
        }
        for net in [&mut net, &mut fresh] {
            prop_assert!(net.give(&packet).is_err(), "{packet:?}");
            prop_assert!(net.queue.is_empty(), "nothing is answered");
        }
        prop_assert!(fresh.nodes[&packet.to].peers().is_empty());
        is_unharmed(&mut net, &before);
    }

    #[test]
    fn noise_is_not_answered(
        version in 0..9_u8,
        noise in prop::collection::vec(any::<u8>(), 0..1_300),
    ) {
        let (mut net, _) = talk();
        let bytes = [&MAGIC[..], &[version], &noise[..]].concat();
        for to in [A, B, P] {
            let given = net.give(&Packet { from: at(Q), to: at(to), bytes: bytes.clone() });
            prop_assert!(given.is_err());
        }
        prop_assert!(net.queue.is_empty());
    }
}

/// A stranger sends old hellos in the name of another address. Each answer is shorter than the
/// hello, so the member does not amplify an attack.
#[test]
fn answers_are_shorter_than_questions() {
    const { assert!(bytes::HELLO_MIN > bytes::WELCOME_BYTES) };
    let (_, sent) = talk();
    let hello = sent.iter().find(|packet| packet.bytes[4] == HELLO).unwrap();
    let mut net = candidate_and_members();
    net.give(hello).unwrap();
    let answered: usize = net.queue.iter().map(|packet| packet.bytes.len()).sum();
    assert_eq!(answered, bytes::WELCOME_BYTES);
    assert!(answered < hello.bytes.len());
    let repeated = (0..1_000).filter(|_| net.give(hello).is_ok()).count();
    assert_eq!(repeated, 0, "answered once");
}

/// A thief has the application's key, hears all datagrams, and sends from any address.
#[test]
fn leaked_application_key_forges_nothing() {
    let mut net = candidate_and_members();
    net.say(P, A, "request");
    let hello = net.queue[0].clone();
    let HeldKeys::Application(keys) = application("billing").held().clone() else { panic!() };
    let thief = seal(application("billing"), 66);
    let victim = net.nodes[&at(P)].own.public;
    let leaked = keys[0].secret().clone();
    let secrets = [
        // The thief can derive these secrets: the secret between processes of the application, the
        // secret of the thief with the members, and the secret of the thief with the victim.
        leaked.clone(),
        thief.with_members.clone().unwrap(),
        extract(&leaked, &thief.own.private.diffie_hellman(&PublicKey::from(victim))),
    ];
    for secret in &secrets {
        for channel in [Channel::Members, Channel::Application, Channel::Peers] {
            for public in [thief.own.public, net.nodes[&at(A)].own.public] {
                let (seals, _) = directions(channel, secret, &public, &victim, true);
                let mut bytes = Vec::new();
                let challenge = net.nodes[&at(P)].own.challenge;
                bytes::welcome(&seals, &public, 1, 7, challenge, 1, &mut bytes);
                let forged = Packet { from: at(A), to: at(P), bytes };
                assert_eq!(net.give(&forged), Err(DropReason::Forged), "{channel:?}");
            }
        }
    }
    assert!(net.peers(P).is_empty());
    assert_eq!(net.settle(), ["request"]);
    // The thief sends the victim's hello to the member again, with a higher number and a challenge
    // of its own.
    let gate = gate(&leaked, &victim);
    for secret in &secrets {
        let (seals, _) = directions(Channel::Application, secret, &victim, &[0; 32], false);
        let mut read = bytes::read_hello(&hello.bytes).unwrap();
        read.counter = 1_000_000;
        let mut bytes = Vec::new();
        bytes::hello(&seals, &gate, &read, 99, &mut bytes);
        let forged = Packet { from: at(Q), to: at(A), bytes };
        assert_eq!(net.give(&forged), Err(DropReason::Forged));
        // The thief also knows the member's challenge, and sends data in the victim's name.
        let mut bytes = Vec::new();
        bytes::data(&seals, id(&victim), 1_000_000, 1 << 56, &plain("release"), &mut bytes);
        let forged = Packet { from: at(P), to: at(A), bytes };
        assert_eq!(net.give(&forged), Err(DropReason::Forged));
    }
    net.say(P, A, "on");
    assert_eq!(net.settle(), ["on"]);
}

/// An application is at the address of a member: it sends from there, and receives there. The
/// member sends it no data that is meant for a member.
#[test]
fn application_never_takes_member_address() {
    let mut net = Net::new(vec![(A, seal(member(), 1)), (B, seal(application("billing"), 3))]);
    net.say(B, A, "request");
    assert_eq!(net.settle(), ["request"]);
    net.say(A, B, "fences");
    assert!(net.queue.iter().all(|packet| packet.bytes[4] == HELLO), "{:?}", net.queue);
}

#[test]
fn old_hellos_have_own_list() {
    let count = u16::try_from(2 * PENDING_MAX).unwrap();
    let mut old = Vec::new();
    for nth in 0..count {
        let mut private = [5; 32];
        private[8..10].copy_from_slice(&nth.to_le_bytes());
        let keys = application("billing");
        let mut net = Net::new(vec![]);
        net.nodes.insert(at(P), Seal::with(keys, [at(A)].into(), private, 1));
        net.say(P, A, "once");
        old.push(net.queue.remove(0));
    }
    let mut net = candidate_and_members();
    net.say(P, A, "before");
    assert_eq!(net.settle(), ["before"]);
    for packet in &old {
        assert_eq!(net.give(packet), Ok(None));
        net.queue.clear();
    }
    let sessions = &net.nodes[&at(A)].sessions;
    assert_eq!(sessions.all().count(), PENDING_MAX + 1);
    assert_eq!(net.peers(A).len(), 1, "none of them is there");
    net.say(P, A, "after");
    assert_eq!(net.settle(), ["after"]);
}

#[test]
fn full_sessions_start_over() {
    let mut net = candidate_and_members();
    net.say(P, A, "first");
    net.settle();
    net.say(A, P, "answer");
    net.settle();
    let first = net.sent.clone();
    let mut full = 0;
    for nth in 0..SESSIONS_MAX + 10 {
        let mut private = [5; 32];
        private[8..16].copy_from_slice(&nth.to_le_bytes());
        net.nodes.insert(at(Q), Seal::with(member(), [at(A)].into(), private, 1));
        net.say(Q, A, "more");
        full += usize::from(net.settle().is_empty());
        net.sent.clear();
    }
    assert_eq!(full, 1, "the one that found no room");
    assert!(net.peers(A).len() < 20);
    for packet in first.iter().filter(|packet| packet.to == at(A)) {
        assert!(!matches!(net.give(packet), Ok(Some(_))), "{packet:?}");
        net.queue.clear();
    }
    net.say(P, A, "lost");
    net.settle();
    net.wait(60);
    net.say(P, A, "lost, and greeted");
    net.settle();
    net.say(P, A, "again");
    assert_eq!(net.settle(), ["again"]);
}
