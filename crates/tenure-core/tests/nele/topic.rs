//! The topic does not change, and all processes count its partitions in the same way (rulings 5 and
//! 10).

use tenure_core::nele::{
    Event, Kind, Lead, Mode, OwnEvent, Partition, Record, Report, Role, Said, TopicId,
};
use tenure_core::{End, Fence, Loss, View};

use crate::stage::{Stage, X, ms, topic};

/// The process leads no role any more, and reports the reason.
fn is_over(stage: &mut Stage, why: &str) {
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reset)));
    let halted = |event: &Event| {
        let Event::Own(OwnEvent::Halted { why: told }) = event else { return false };
        told.what.contains(why)
    };
    assert_eq!(stage.told(0, halted), 1);
    stage.campaign(0, X);
    let Some(End::Refused { why: refused }) = stage.ended(0, X) else { panic!("it is refused") };
    assert!(refused.contains(why), "{refused}");
    stage.pass(ms(1_000));
    let quiet = stage.now;
    stage.pass(ms(60_000));
    assert_eq!(stage.published(0, quiet), []);
    assert!(stage.nodes[0].core.is_out());
    stage.observe(0, X);
    assert_eq!(stage.told(0, |event| matches!(event, Event::NotObserved { .. })), 1);
}

#[test]
fn another_number_of_partitions_ends_everything() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::led(1, mode);
        stage.report(0, Report::Topic { id: topic(), partitions: 2 });
        assert_eq!(stage.leaders(X), [0]);
        stage.campaign(0, "x/1");
        stage.report(0, Report::Topic { id: topic(), partitions: 4 });
        let waiting = stage.ended(0, "x/1");
        assert!(matches!(waiting, Some(End::Refused { .. })), "{waiting:?}");
        let fences = format!("{waiting:?}").contains("a fence base of 1 or more");
        assert_eq!(fences, mode == Mode::AtMostOne, "{waiting:?}");
        is_over(&mut stage, "the topic has 4 partitions, and had 2");
    }
}

/// After a break the client still hands on a record of the broken reading.
#[test]
fn records_of_old_reading_end_nothing() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    let (reading, next) = stage.reading(0, 0);
    let partition = Partition(0);
    stage.report(0, Report::Broken { partition, reading, why: "cut off".into() });
    let mut other = stage.stranger(Kind::Beat);
    other.partitions = 4;
    let records = vec![Record { offset: next, epoch: Some(0), said: Said::Entry(other) }];
    stage.report(0, Report::Records { partition, reading, records });
    assert_eq!(stage.told(0, |event| matches!(event, Event::Own(OwnEvent::Halted { .. }))), 0);
}

/// A process that counts four partitions has the same group name, but another group id. Two
/// processes may then own the partition of one role.
#[test]
fn a_process_that_counts_other_partitions_ends_everything() {
    for kind in [Kind::Beat, Kind::Claim] {
        let mut stage = Stage::led(1, Mode::AtMostOne);
        let mut other = stage.stranger(kind);
        other.partitions = 4;
        other.group = "h".parse().unwrap();
        stage.append(0, Said::Entry(other.clone()));
        stage.pass(ms(100));
        assert_eq!(stage.leaders(X), [0], "what other groups do is theirs");
        other.group = "g".parse().unwrap();
        stage.append(0, Said::Entry(other));
        stage.pass(ms(100));
        is_over(&mut stage, "counts 4 partitions, and this process counts 2");
    }
}

#[test]
fn another_topic_of_the_same_name_ends_everything() {
    let others =
        [TopicId { topic: 8 << 96, ..topic() }, TopicId { cluster: "d".into(), ..topic() }];
    for id in others {
        let mut stage = Stage::led(1, Mode::AtMostOne);
        stage.report(0, Report::Topic { id, partitions: 2 });
        is_over(&mut stage, "so fences begin again there");
    }
}

/// Fences must not go back when a new topic replaces the old one.
#[test]
fn next_fence_base_is_reported() {
    let led = || {
        let mut stage = Stage::new(1, Mode::AtMostOne);
        stage.own.logs[0].epoch = Some(6);
        stage.stand(0, X, &[0]);
        stage.pass(ms(7_000));
        stage
    };
    let id = TopicId { topic: 8 << 96, ..topic() };
    let another = |stage: &mut Stage| {
        stage.report(0, Report::Topic { id: id.clone(), partitions: 2 });
    };
    let breaks = |stage: &mut Stage| {
        let (reading, _) = stage.reading(0, 0);
        let why = "out of range".into();
        stage.report(0, Report::Broken { partition: Partition(0), reading, why });
    };
    let mut stage = led();
    breaks(&mut stage);
    another(&mut stage);
    is_over(&mut stage, "a fence base of 7 or more");
    let mut stage = led();
    let mut entry = stage.stranger(Kind::Beat);
    let fence = Some(Fence::new(9 << 40 | 3));
    entry.leads = vec![Lead { role: Role(1), fence, value: Default::default() }];
    stage.append(0, Said::Entry(entry));
    // The process forgets the writer of that record before the topic is replaced.
    stage.pass(ms(30_000));
    breaks(&mut stage);
    another(&mut stage);
    is_over(&mut stage, "a fence base of 10 or more");
    // A leader may have a fence of this record's epoch, without having written yet.
    let mut stage = led();
    stage.own.logs[0].epoch = Some(12);
    let beat = stage.stranger(Kind::Beat);
    stage.append(0, Said::Entry(beat));
    stage.pass(ms(100));
    another(&mut stage);
    is_over(&mut stage, "a fence base of 13 or more");
}

#[test]
fn a_client_that_cannot_go_on_ends_everything() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    stage.observe(0, X);
    assert!(matches!(stage.view(0, X), Some(View::Leader(_))));
    stage.report(0, Report::Fatal { why: "fenced off".into() });
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Revoked)));
    assert_eq!(stage.told(0, |event| matches!(event, Event::NotObserved { .. })), 1);
    stage.campaign(0, X);
    assert_eq!(stage.ended(0, X), Some(&End::Refused { why: "fenced off".into() }));
}
