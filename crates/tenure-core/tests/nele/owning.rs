//! In `at_least_one` the reader leads: records that refresh V, and records that do not (rulings 1
//! to 4, 8 and 9).

use std::time::Duration;

use tenure_core::nele::{
    Change, Command, Effect, EntryNumber, Event, Ignored, Kind, Message, Mode, OwnEvent, Partition,
    Rebalance, Record, Report, Request, Said,
};
use tenure_core::{End, Loss, Standing};

use crate::stage::{Stage, X, config, ms, name};

const NOTHING: Duration = Duration::ZERO;

fn led(nodes: usize) -> Stage {
    Stage::led(nodes, Mode::AtLeastOne)
}

fn takeover() -> Duration {
    config(0, Mode::AtLeastOne).takeover
}

/// T covers the longest rebalance that the settings allow.
#[test]
fn a_partition_that_changes_hands_is_led_throughout() {
    for takes in [0, 6_000, 20_000] {
        let mut stage = led(2);
        stage.revoke(0, &[0]);
        stage.pass(ms(takes));
        stage.assign(1, &[0]);
        stage.pass(ms(30_000));
        assert_eq!((stage.gap(), stage.leaders(X)), (NOTHING, vec![1]), "{takes}");
        assert!(stage.overlap() <= takeover(), "{takes}: {:?}", stage.overlap());
        assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reassigned)));
    }
}

/// After a loss no record refreshes the partition, even if the client hands on more records.
#[test]
fn unassigned_partition_is_not_refreshed() {
    let mut stage = led(2);
    let (reading, mut next) = stage.reading(0, 0);
    let partition = Partition(0);
    stage.lose(0, &[0]);
    for _ in 0..25 {
        stage.pass(ms(1_000));
        let records = vec![Record { offset: next, epoch: Some(0), said: Said::Nothing }];
        next += 1;
        stage.report(0, Report::Records { partition, reading, records });
    }
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    assert_eq!(stage.ignored(0, Ignored::OldReading), 25);
}

#[test]
fn a_record_of_any_group_refreshes() {
    let mut stage = led(1);
    stage.nodes[0].own.holds_back = true;
    let mut beat = stage.stranger(Kind::Beat);
    beat.group = "h".parse().unwrap();
    for number in 1..60 {
        beat.number = EntryNumber(number);
        stage.append(0, Said::Entry(beat.clone()));
        stage.pass(ms(500));
    }
    assert_eq!((stage.gap(), stage.leaders(X)), (NOTHING, vec![0]));
    // The leadership ends when all processes are silent.
    stage.pass(takeover());
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
}

/// The role is won again by an old record: its lease is the rest of T, which may be too short for
/// work.
#[test]
fn returning_role_settles_after_a_record() {
    let mut stage = led(1);
    let settled = |stage: &Stage| stage.told(0, |event| matches!(event, Event::Settled));
    // The process keeps the partition for another role.
    stage.campaign(0, "x/1");
    stage.nodes[0].own.holds_back = true;
    stage.pass(takeover() - ms(500));
    stage.command(0, X, Command::Resign);
    assert_eq!((settled(&stage), stage.elected()), (1, 1));
    stage.campaign(0, X);
    assert_eq!((settled(&stage), stage.elected(), stage.leaders(X)), (1, 2, vec![0]));
    stage.append(0, Said::Nothing);
    stage.pass(ms(100));
    assert_eq!((settled(&stage), stage.elected()), (2, 2));
}

#[test]
fn records_before_end_refresh_nothing() {
    let mut stage = Stage::new(1, Mode::AtLeastOne);
    for _ in 0..10 {
        stage.append(0, Said::Nothing);
    }
    stage.nodes[0].own.holds_back = true;
    stage.stand(0, X, &[0]);
    stage.pass(ms(100));
    let (reading, next) = stage.reading(0, 0);
    assert_eq!(next, 10);
    let old = Record { offset: 3, epoch: Some(0), said: Said::Nothing };
    let (partition, records) = (Partition(0), vec![old.clone()]);
    stage.report(0, Report::Records { partition, reading, records });
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    let records = vec![Record { offset: 10, ..old }];
    stage.report(0, Report::Records { partition, reading, records });
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn records_of_earlier_assignment_are_dropped() {
    let mut stage = Stage::new(1, Mode::AtLeastOne);
    stage.campaign(0, X);
    stage.nodes[0].own.holds_back = true;
    stage.assign(0, &[0]);
    stage.pass(ms(100));
    let (reading, next) = stage.reading(0, 0);
    stage.revoke(0, &[0]);
    stage.assign(0, &[0]);
    stage.pass(ms(100));
    assert!(stage.reading(0, 0).0 > reading);
    let records = vec![Record { offset: next, epoch: Some(0), said: Said::Nothing }];
    stage.report(0, Report::Records { partition: Partition(0), reading, records });
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    assert_eq!(stage.ignored(0, Ignored::OldReading), 1);
}

#[test]
fn a_reading_that_is_broken_begins_anew() {
    let mut stage = led(1);
    let (reading, _) = stage.reading(0, 0);
    let (partition, why) = (Partition(0), "out of range".into());
    stage.report(0, Report::Broken { partition, reading, why });
    stage.pass(ms(60_000));
    assert_eq!((stage.gap(), stage.leaders(X)), (NOTHING, vec![0]));
    assert!(stage.reading(0, 0).0 > reading);
}

/// The process reads its claim back, and then its reading brings no more records. The process reads
/// the partition anew, claims again, and leads.
#[test]
fn a_claimant_that_is_told_nothing_reads_anew() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.stand(0, X, &[0]);
    stage.pass(ms(100));
    let waits = |stage: &Stage| {
        stage.told(0, |event| {
            matches!(event, Event::Waiting(tenure_core::Waiting::Listening { .. }))
        })
    };
    assert_eq!(waits(&stage), 1);
    stage.stick(0);
    let config = config(0, Mode::AtMostOne);
    // G, a claim that is not read back, the next claim, and its G.
    let soon = 2 * config.grace_period() + config.takeover + 6 * config.publish_interval;
    let took = stage.until(3 * soon, |stage| stage.leaders(X) == [0]);
    assert!(took <= soon, "{took:?}");
}

#[test]
fn a_reader_that_is_told_nothing_begins_anew() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::led(2, mode);
        stage.nodes[0].again = true;
        stage.stick(0);
        let takeover = config(0, mode).takeover;
        stage.pass(takeover + ms(1));
        assert_eq!(stage.leaders(X), [0_usize; 0], "{mode}");
        // In this time a first claim is not read back, the next claim is, and its G passes.
        let again = if mode == Mode::AtMostOne { 2 * takeover + ms(4_000) } else { ms(2_000) };
        stage.pass(again);
        assert_eq!((stage.leaders(X), stage.overlap()), (vec![0], NOTHING), "{mode}");
    }
}

/// The process owns a partition, but stands for none of its roles.
#[test]
fn silent_partition_is_read_anew() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::new(1, mode);
        stage.stand(0, X, &[1]);
        stage.pass(ms(1_000));
        stage.stick(0);
        let (stuck, _) = stage.reading(0, 1);
        stage.pass(config(0, mode).takeover + ms(100));
        assert_ne!(stage.reading(0, 1).0, stuck, "{mode}");
    }
}

/// Revoked partitions are given back in the same step; lost partitions are not.
#[test]
fn only_revoked_partitions_are_given_back() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::led(1, mode);
        stage.nodes[0].again = true;
        let gives = |stage: &Stage| stage.asked(0, |asked| matches!(asked, Request::GiveBack(_)));
        stage.revoke(0, &[0]);
        assert_eq!(gives(&stage), 1);
        let partition = Partition(0);
        assert_eq!(stage.told_own(0, &OwnEvent::Unassigned { partition, lost: false }), 1);
        stage.assign(0, &[0]);
        stage.lose(0, &[0]);
        assert_eq!(gives(&stage), 1);
        assert_eq!(stage.told_own(0, &OwnEvent::Unassigned { partition, lost: true }), 1);
        // The process also gives back a partition that it does not have: the client waits for that.
        stage.revoke(0, &[1]);
        assert_eq!(gives(&stage), 2);
    }
}

#[test]
fn exclusive_partition_given_back_after_end() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    stage.revoke(0, &[0]);
    let effects = &stage.nodes[0].own.effects;
    let lowered = effects.iter().position(|effect| matches!(effect, Effect::Lower { .. }));
    let given = effects.iter().position(|effect| {
        let Effect::Send { message: Message::Request(request), .. } = effect else { return false };
        matches!(request, Request::GiveBack(_))
    });
    assert!(lowered.is_some() && lowered < given, "{effects:?}");
}

#[test]
fn clock_decides_whether_process_leads() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let stage = Stage::led(1, mode);
        let Standing::Leading { until, .. } = stage.standing(0, X) else { panic!("it leads") };
        let core = &stage.nodes[0].core;
        let before = tenure_core::Time::from_nanos(until.as_nanos() - 1);
        use tenure_core::Protocol;
        assert!(core.standing(&name(X), before).is_leading());
        assert!(!core.standing(&name(X), until).is_leading());
    }
}

/// The process is assigned another partition, and loses it again: its first partition is not
/// disturbed.
#[test]
fn rebalance_leaves_kept_partitions_alone() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::led(1, mode);
        let (reading, _) = stage.reading(0, 0);
        let since = stage.now;
        stage.stand(0, "x/1", &[1]);
        stage.pass(ms(8_000));
        stage.revoke(0, &[1]);
        stage.assign(0, &[]);
        stage.pass(ms(1_000));
        assert_eq!((stage.gap(), stage.leaders(X)), (NOTHING, vec![0]), "{mode}");
        assert_eq!(stage.reading(0, 0).0, reading);
        let claims = usize::from(mode == Mode::AtMostOne);
        assert_eq!(stage.claims(0, since), claims, "{mode}: of the other partition");
    }
}

#[test]
fn a_rebalance_that_was_heard_before_changes_nothing() {
    let mut stage = led(1);
    stage.revoke(0, &[0]);
    let joined = stage.nodes[0].own.asked.iter().find_map(|(_, asked)| match asked {
        Request::Join(membership) => Some(*membership),
        _ => None,
    });
    let (id, partitions) = (tenure_core::nele::RebalanceId(1), vec![Partition(0)]);
    let membership = joined.unwrap();
    let again = Rebalance { membership, id, change: Change::Assigned, partitions };
    stage.report(0, Report::Rebalance(again));
    assert_eq!(stage.ignored(0, Ignored::OldRebalance), 1);
    assert_eq!(stage.nodes[0].core.partitions().count(), 0);
    // The topic has no partitions 2 and 3.
    stage.assign(0, &[2, 3]);
    assert_eq!(stage.ignored(0, Ignored::NoPartition), 2);
    assert_eq!(stage.nodes[0].core.partitions().count(), 0);
}

/// The partition comes back before T is over: the leadership was never lost.
#[test]
fn returning_partition_keeps_its_leader() {
    let mut stage = led(1);
    stage.lose(0, &[0]);
    stage.pass(ms(15_000));
    stage.assign(0, &[0]);
    stage.pass(ms(30_000));
    assert_eq!((stage.gap(), stage.leaders(X)), (NOTHING, vec![0]));
    assert_eq!(stage.ended(0, X), None);
}

#[test]
fn a_second_campaign_and_a_transfer_are_ignored() {
    let mut stage = led(1);
    stage.campaign(0, X);
    let to = "n1".parse().unwrap();
    stage.command(0, X, Command::Transfer { to, probe: false });
    assert_eq!(stage.ignored(0, Ignored::Command), 2);
    assert_eq!(stage.leaders(X), [0]);
}

/// Names without a role are refused, and so is a campaign beyond the limit. Other campaigns go on.
#[test]
fn campaign_without_role_is_refused() {
    let mut stage = led(1);
    for election in ["x", "x/01", "y/0", "x/4294967296"] {
        stage.campaign(0, election);
        let Some(End::Refused { why }) = stage.ended(0, election) else { panic!("{election}") };
        assert!(why.contains("the roles are x/0, x/1, …"), "{why}");
    }
    assert_eq!(stage.leaders(X), [0]);
    let mut few = config(0, Mode::AtLeastOne);
    few.limits.roles = 2;
    let mut stage = Stage::with(vec![few]);
    for role in 0..3 {
        stage.campaign(0, &format!("x/{role}"));
    }
    let Some(End::Refused { why }) = stage.ended(0, "x/2") else { panic!("it is refused") };
    assert_eq!(
        &**why,
        "this process campaigns for or observes 2 roles, and its limit is 2: use \
                        another process for further roles"
    );
    assert_eq!((stage.ended(0, X), stage.ended(0, "x/1")), (None, None));
}

/// An eager strategy takes every partition from every process at a join. Owners that get their
/// partitions back in time lead on without a break.
#[test]
fn eager_join_ends_no_leadership() {
    for takes in [0, 6_000, 20_000] {
        let mut stage = led(2);
        stage.revoke(0, &[0]);
        stage.pass(ms(takes));
        stage.assign(0, &[0]);
        stage.pass(ms(30_000));
        let now = (stage.gap(), stage.elected(), stage.leaders(X));
        assert_eq!(now, (NOTHING, 1, vec![0]), "{takes}");
    }
}
