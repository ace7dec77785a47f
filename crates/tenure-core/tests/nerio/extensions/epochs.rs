//! Epochs (section 10.6): messages are meant for one, and count in no other.

use tenure_core::nerio::{
    Current, DocumentPart, DocumentRead, DocumentReader, Effect, EpochId, Event, Ignored, Leaving,
    List, Message, OwnEvent, Query, ReadOutcome, Released, Sender, Service, ToAsker, Where,
};
use tenure_core::{Fence, Input, Protocol};

use crate::story::*;

/// A sender whose messages are meant for another epoch.
fn elsewhere(s: &Story, who: &str, number: u64) -> Sender {
    Sender { epoch: EpochId { number, digest: 7 }, ..s.sender(who) }
}

fn ignored() -> Event {
    Event::Own(OwnEvent::Ignored(Ignored::OtherEpoch))
}

/// The epochs that these effects show.
fn shown(effects: &[Effect]) -> Vec<Current> {
    let current = |message: &Message| match message {
        Message::Asker(ToAsker::Current(current)) => Some(current.clone()),
        _ => None,
    };
    sent(effects).filter_map(current).collect()
}

#[test]
fn messages_count_in_their_epoch() {
    let mut s = Story::new();
    s.elect("p");
    s.drop_all();
    let start = s.now("p");
    let election = x();
    let asker = s.who("p").inc;
    let bound = [
        ("a", Message::from(renewal(start, 1))),
        ("a", release(start)),
        ("a", Message::from(Leaving { election: x(), start, held: ms(0) })),
        ("a", Message::from(Query { election: x(), start })),
        ("a", Message::from(List { start, after: None })),
        ("p", Message::from(Released { election, asker, start })),
        ("p", verify(start)),
    ];
    for (to, message) in bound {
        let from = elsewhere(&s, if to == "p" { "a" } else { "p" }, 0);
        // The node remembers only whom it told its epoch.
        s.tell_as(&from, to, message.clone());
        let before = s.actors[to].core.clone();
        let effects = s.tell_as(&from, to, message.clone());
        assert_eq!(emitted(&effects), [ignored()], "{message}");
        assert_eq!(effects.len(), 1, "{message}");
        assert!(s.actors[to].core == before, "{message}");
    }
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    assert!(s.leads("p"));
}

/// An ok is no ok of another epoch's member.
#[test]
fn ok_of_other_epoch_is_dropped() {
    let mut s = Story::new();
    s.campaign("p");
    for grantor in GRANTORS {
        s.deliver("p", grantor);
        for mut letter in s.take(grantor, "p") {
            letter.from.epoch.number = 1;
            assert_eq!(emitted(&s.put(&letter)), [ignored()]);
        }
    }
    assert!(!s.leads("p"));
}

#[test]
fn datagram_is_told_epoch_once() {
    let mut s = Story::new();
    let from = elsewhere(&s, "p", 0);
    let question = || Message::from(Query { election: x(), start: at(7) });
    let effects = s.tell_as(&from, "a", question());
    let membership = s.config.membership().clone();
    let expected = Current {
        asker: s.who("p").inc,
        start: at(7),
        epoch: membership.id(),
        founding: membership.id().digest,
        before: EpochId::NONE,
        instance: s.instance("a"),
        service: Service::Serving,
        length: shown(&effects)[0].length,
    };
    assert_eq!(shown(&effects), [expected]);
    let Some(Effect::Send { to, .. }) = effects.last() else { panic!("{effects:?}") };
    assert_eq!(to.epoch, membership.id(), "members of earlier versions compare digests");
    assert!(shown(&s.tell_as(&from, "a", question())).is_empty(), "a second one in the datagram");
    let other = elsewhere(&s, "q", 0);
    assert_eq!(shown(&s.tell_as(&other, "a", question())).len(), 1);
    s.slip(ms(1));
    assert_eq!(shown(&s.tell_as(&other, "a", question())).len(), 1);
    s.slip(ms(1));
    assert!(shown(&s.tell_as(&other, "a", release(at(7)))).is_empty(), "a release has no filler");
    assert!(shown(&s.tell_as(&other, "p", question())).is_empty(), "p is no member");
}

#[test]
fn anybody_may_ask_for_epoch() {
    let mut s = Story::new();
    for number in [0, 1] {
        let from = elsewhere(&s, "q", number);
        let told = shown(&s.tell_as(&from, "a", Message::from(Where { start: at(3) })));
        assert_eq!((told[0].start, told[0].epoch), (at(3), s.config.membership().id()));
    }
}

/// The parts of documents in these effects.
fn parts(effects: &[Effect]) -> Vec<DocumentPart> {
    let part = |message: &Message| match message {
        Message::Asker(ToAsker::DocumentPart(part)) => Some(part.clone()),
        _ => None,
    };
    sent(effects).filter_map(part).collect()
}

#[test]
fn anybody_may_read_the_document() {
    let mut s = Story::new();
    let membership = s.config.membership().clone();
    let from = elsewhere(&s, "q", 0);
    let mut reader = DocumentReader::new(membership.id());
    let effects = s.tell_as(&from, "a", reader.question(at(3)).into());
    let parts = parts(&effects);
    let [part] = &parts[..] else { panic!("{effects:?}") };
    assert_eq!((part.asker, part.start), (s.who("q").inc, at(3)));
    let Some(Effect::Send { to, .. }) = effects.last() else { panic!("{effects:?}") };
    assert_eq!(to.epoch, membership.id());
    let ReadOutcome::Finished(document) = reader.on_part(part) else { panic!("{part}") };
    assert_eq!(*document, *membership.document());
    let other = EpochId { number: 1, ..membership.id() };
    for (epoch, offset) in [(other, 0), (membership.id(), part.total)] {
        let read = DocumentRead { start: at(3), epoch, offset };
        assert_eq!(emitted(&s.tell_as(&from, "a", read.into())), [ignored()]);
    }
}

/// A cluster has one epoch 0: who asks in another one means a leader of another cluster.
#[test]
fn verification_crosses_epochs_not_clusters() {
    let mut s = Story::new();
    s.elect("p");
    let verify = |number: u64, s: &mut Story| {
        let from = elsewhere(s, "q", number);
        let now = s.now("p");
        let message = verify(at(5));
        let mut effects = Vec::new();
        s.actor("p").core.handle(now, Input::Message { from, message }, &mut effects);
        remainder(&effects).map(|remainder| remainder.fence)
    };
    assert_eq!(verify(0, &mut s), None);
    assert_eq!(verify(1, &mut s), Some(Some(Fence::new(s.fence("p")))));
}
