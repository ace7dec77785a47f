//! Processes of a cluster that get their keys one after the other.

use super::*;

/// A node that has its keys already.
fn given(keys: Keys, seed: u8) -> Seal {
    seal(keys.accept_unsealed(true), seed)
}

/// `A` has its key; the others may have theirs or not.
fn begun(others: Vec<(&str, Seal)>) -> Net {
    let own = (A, given(member(), 1));
    Net::new(std::iter::once(own).chain(others).collect())
}

/// Unsealed datagrams on their way to `address`.
fn readable(net: &Net, address: &str) -> usize {
    let to = net.queue.iter().filter(|packet| packet.to == at(address));
    to.filter(|packet| packet.bytes[MAGIC.len()] == wire::VERSION).count()
}

/// Senders without a key that the node at `address` has heard.
fn heard(net: &mut Net, address: &str) -> Keyring {
    net.nodes.get_mut(&at(address)).unwrap().keyring(net.now)
}

/// A datagram of a node without a key to another node.
fn unsealed(from: &str, to: &str, text: &str) -> Packet {
    Packet { from: at(from), to: at(to), bytes: plain(text) }
}

#[test]
fn keyed_nodes_always_seal() {
    let mut net = begun(vec![(B, given(member(), 2)), (P, given(application("billing"), 3))]);
    for (from, to) in [(A, B), (B, A), (P, A), (A, P)] {
        net.say(from, to, "something");
        assert_eq!((readable(&net, to), net.settle()), (0, vec!["something".to_owned()]));
        net.wait(20);
    }
}

#[test]
fn keyless_member_is_reached_and_greeted() {
    let mut net = begun(Vec::new());
    net.say(A, B, "may be sealed");
    assert_eq!(readable(&net, B), 0, "a hello first");
    net.queue.clear();
    net.wait(60);
    net.say(A, B, "cannot be");
    assert_eq!(readable(&net, B), 1);
    let answer = net.give(&unsealed(B, A, "answer")).unwrap().unwrap();
    assert_eq!(answer, ("answer".to_owned(), None), "it shows nothing");
    let name = "b".parse().unwrap();
    let now = net.now;
    net.nodes.get_mut(&at(A)).unwrap().heard_unsealed(now, at(B), &name);
    net.sent.clear();
    for turn in 0..100 {
        net.say(A, B, &turn.to_string());
        net.queue.clear();
        net.wait(10);
    }
    let hellos = net.sent.iter().filter(|packet| packet.bytes[MAGIC.len()] == HELLO).count();
    assert_eq!((hellos, net.sent.len()), (3, 103));
    let known = heard(&mut net, A).unsealed;
    assert_eq!((&known[0].name, known[0].address, known.len()), (&name, at(B), 1));
}

/// Node P sends without a key, and gets unsealed answers and no greeting. Any host could have sent
/// in the name of P.
#[test]
fn keyless_asker_is_answered_unsealed() {
    let name = "web".parse().unwrap();
    let now = Time::ZERO;
    for keys in [member(), application("billing")] {
        let mut net = Net::new(vec![(A, given(keys, 1))]);
        net.nodes.get_mut(&at(A)).unwrap().heard_unsealed(now, at(P), &name);
        net.say(A, P, "answer");
        assert_eq!((readable(&net, P), net.queue.len()), (1, 1));
        // An unknown node gets only a greeting, which reveals nothing.
        let mut other = net.nodes.remove(&at(A)).unwrap();
        let mut sent = Vec::new();
        let _ = other.outgoing(now, at(Q), &plain("answer"), |_, bytes| {
            sent.push(bytes.to_vec());
            Ok(())
        });
        assert!(sent.iter().all(|bytes| bytes[MAGIC.len()] == HELLO), "{sent:?}");
    }
}

/// A member still gets sealed datagrams after days of silence, and although nobody answers an
/// answer.
#[test]
fn late_silence_keeps_key() {
    let mut net = begun(vec![(B, given(member(), 2))]);
    for pause in [0, 60, 900, 5_000, 100_000] {
        net.wait(pause);
        for (from, to) in [(B, A), (A, B)] {
            net.say(from, to, "question");
            assert_eq!((readable(&net, to), net.settle()), (0, vec!["question".to_owned()]));
        }
        net.say(A, B, "answer");
        assert_eq!((readable(&net, B), net.settle()), (0, vec!["answer".to_owned()]));
    }
    // The loss of a datagram and of its hello changes nothing, either.
    net.wait(1_500);
    net.say(A, B, "lost");
    net.queue.clear();
    net.wait(1_500);
    net.say(A, B, "question");
    assert_eq!((readable(&net, B), net.settle()), (0, vec!["question".to_owned()]));
}

#[test]
fn new_key_is_used_at_once() {
    let mut net = begun(Vec::new());
    let name = "b".parse().unwrap();
    let now = net.now;
    net.nodes.get_mut(&at(A)).unwrap().heard_unsealed(now, at(B), &name);
    net.nodes.insert(at(B), given(member(), 2));
    net.say(B, A, "sealed");
    assert_eq!(net.settle(), ["sealed"]);
    net.say(A, B, "sealed, too");
    assert_eq!((readable(&net, B), net.settle()), (0, vec!["sealed, too".to_owned()]));
    // An unsealed datagram, which `B` sent before it had its key, arrives late.
    let now = net.now;
    net.nodes.get_mut(&at(A)).unwrap().heard_unsealed(now, at(B), &name);
    net.say(A, B, "still");
    assert_eq!((readable(&net, B), net.settle()), (0, vec!["still".to_owned()]));
    net.say(B, A, "sealed again");
    net.settle();
    assert_eq!(heard(&mut net, A).unsealed, [], "it has shown a key since");
}

/// The line `accept-unsealed` stays while keys are exchanged. The node still knows the senders that
/// it has heard, with their times.
#[test]
fn accepted_senders_are_kept() {
    let mut net = begun(Vec::new());
    assert!(net.give(&unsealed(P, A, "request")).is_ok());
    let name = "web".parse().unwrap();
    let now = net.now;
    net.nodes.get_mut(&at(A)).unwrap().heard_unsealed(now, at(P), &name);
    let before = heard(&mut net, A);
    net.wait(10_000);
    net.nodes.get_mut(&at(A)).unwrap().rekey(member().accept_unsealed(true));
    assert_eq!(heard(&mut net, A), before);
    net.nodes.get_mut(&at(A)).unwrap().rekey(member());
    assert_eq!(heard(&mut net, A).unsealed, before.unsealed, "it is refused, or will be");
    net.nodes.get_mut(&at(A)).unwrap().rekey(member().accept_unsealed(true));
    let after = heard(&mut net, A);
    assert_eq!((after.accepts_since, after.unsealed), (Some(net.now), Vec::new()), "anew");
}

/// Long ago a stranger sent an unsealed datagram in the name of a node. The node is greeted all the
/// same.
#[test]
fn unanswered_node_is_greeted() {
    let p = given(application("billing"), 3);
    let q = given(application("billing"), 4);
    let mut net = Net::new(vec![(P, p), (Q, q)]);
    let name = "web".parse().unwrap();
    let now = net.now;
    for (at_, other) in [(P, Q), (Q, P)] {
        net.nodes.get_mut(&at(at_)).unwrap().heard_unsealed(now, at(other), &name);
    }
    net.wait(1_001);
    net.say(P, Q, "verify");
    assert_eq!((readable(&net, Q), net.settle()), (0, vec!["verify".to_owned()]));
}

/// `B` accepts no unsealed datagrams, and the first hello reaches `B` late. Then `A` seals the
/// datagram that waits.
#[test]
fn refused_senders_are_listed() {
    let mut net = begun(vec![(B, seal(member(), 2))]);
    net.say(A, B, "one");
    let late = net.queue.remove(0);
    net.wait(60);
    net.say(A, B, "two");
    net.queue.clear();
    net.queue.push(late);
    assert_eq!(net.settle(), ["two"]);
}

/// An operator starts a node again without its key.
#[test]
fn node_restarted_without_key_is_reached() {
    let mut net = begun(vec![(B, given(member(), 2))]);
    net.say(A, B, "sealed");
    assert_eq!(net.settle(), ["sealed"]);
    net.nodes.remove(&at(B));
    let mut reached = None;
    for turn in 0..200 {
        net.say(A, B, "again");
        reached = reached.or((readable(&net, B) > 0).then_some(turn * 10));
        net.queue.clear();
        net.wait(10);
    }
    assert!(matches!(reached, Some(1_000..=1_100)), "{reached:?} ms");
}

/// A stranger sends an unsealed datagram in the name of a silent node.
#[test]
fn stranger_ends_no_sealing() {
    let mut net = begun(vec![(B, given(member(), 2)), (P, given(application("billing"), 3))]);
    for from in [B, P] {
        net.say(from, A, "sealed");
        assert_eq!(net.settle(), ["sealed"]);
    }
    net.wait(100_000);
    let name = "b".parse().unwrap();
    let now = net.now;
    for address in [B, P] {
        net.nodes.get_mut(&at(A)).unwrap().heard_unsealed(now, at(address), &name);
    }
    net.say(A, B, "to a member");
    assert_eq!((readable(&net, B), net.settle()), (0, vec!["to a member".to_owned()]));
    // Node P is no member, and may have been restarted without a key. So it gets one unsealed
    // answer.
    net.say(A, P, "answer");
    assert_eq!(readable(&net, P), 1);
    net.queue.clear();
    net.wait(1_000);
    net.say(A, P, "order");
    assert_eq!((readable(&net, P), net.settle()), (0, vec!["order".to_owned()]));
}

#[test]
fn strict_node_reads_sealed_only() {
    let mut net = begun(Vec::new());
    assert!(net.give(&unsealed(P, A, "request")).is_ok());
    net.nodes.get_mut(&at(A)).unwrap().rekey(member());
    assert_eq!(net.give(&unsealed(P, A, "request")), Err(DropReason::Unsealed));
    assert_eq!(heard(&mut net, A).accepts_since, None);
    net.wait(2_000);
    for _ in 0..10 {
        net.say(A, B, "request");
        net.wait(60);
    }
    assert_eq!(readable(&net, B), 0, "nor says it");
}

#[test]
fn keyless_senders_are_bounded() {
    let mut seal = given(member(), 1);
    let name = "b".parse().unwrap();
    for port in 0..5_000 {
        seal.heard_unsealed(Time::ZERO, ([10, 0, 0, 9], port).into(), &name);
    }
    assert_eq!(seal.keyring(Time::ZERO).unsealed.len(), 1_024);
}
