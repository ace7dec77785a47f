//! Leaders, as observers see them.

use tenure_core::nele::{
    Command, Config, Event, Kind, Lead, Mode, OwnEvent, Report, Request, Role, Said,
};
use tenure_core::{Fence, LeaderView, View};

use crate::stage::{Stage, X, config, ms};

fn leader(stage: &Stage, node: usize) -> LeaderView {
    match stage.view(node, X) {
        Some(View::Leader(leader)) => leader.clone(),
        other => panic!("no leader: {other:?}"),
    }
}

fn vacant(stage: &Stage, node: usize) -> bool {
    matches!(stage.view(node, X), Some(View::Vacant))
}

fn unknown(stage: &Stage, node: usize) -> bool {
    matches!(stage.view(node, X), Some(View::Unknown { .. }))
}

/// Processes 0 and 1 campaign, process 0 leads, and process 2 can observe.
fn looked_at(mode: Mode) -> Stage {
    looked_at_with((0..3).map(|node| config(node, mode)).collect())
}

fn looked_at_with(configs: Vec<Config>) -> Stage {
    let mut stage = Stage::with(configs);
    for node in 0..2 {
        stage.campaign(node, X);
    }
    stage.assign(0, &[0]);
    stage.assign(1, &[]);
    stage.pass(ms(7_000));
    assert_eq!(stage.leaders(X), [0]);
    stage
}

#[test]
fn observer_joins_no_group() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    let seen = leader(&stage, 2);
    assert_eq!((&*seen.id, seen.value.text().as_ref()), ("n0", "at 0"));
    assert_eq!(seen.fence.map(Fence::number), stage.fence(0, X));
    assert!(seen.heard.is_some() && seen.until.is_none());
    let begin = tenure_core::Time::ZERO;
    assert_eq!(stage.published(2, begin), []);
    assert_eq!(stage.asked(2, |asked| matches!(asked, Request::Join(_))), 0);
    // A process without observed elections stops reading.
    stage.command(2, X, Command::Unobserve);
    stage.pass(ms(1_000));
    assert_eq!(stage.asked(2, |asked| matches!(asked, Request::Stop(_))), 1);
    assert_eq!(stage.nodes[2].core.seen().count(), 1, "as it was");
}

#[test]
fn view_shows_last_record() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    let before = leader(&stage, 2).heard.unwrap();
    stage.pass(ms(5_000));
    assert!(leader(&stage, 2).heard.unwrap() > before.after(ms(3_000)));
}

/// A client hands on records from before the end that it has found.
#[test]
fn records_before_end_show_no_leader() {
    let mut stage = looked_at(Mode::AtLeastOne);
    let old = stage.own.logs[0].records.clone();
    for node in 0..2 {
        stage.leave(node, false, false);
    }
    stage.pass(ms(1_000));
    stage.observe(2, X);
    stage.pass(ms(1_000));
    let reading = stage.plain(2).unwrap();
    stage.report(2, Report::Records { partition: reading.0, reading: reading.1, records: old });
    stage.pass(ms(40_000));
    let leader = |event: &Event| matches!(event, Event::View(view) if view.leader().is_some());
    assert_eq!(stage.told(2, leader), 0);
}

/// The observer may look up the end of the partition, but may not read records.
#[test]
fn broken_reading_shows_no_vacancy() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    for _ in 0..60 {
        stage.stick(2);
        stage.pass(ms(500));
        if let Some((partition, reading)) = stage.plain(2) {
            let why = "not authorized".into();
            stage.report(2, Report::Broken { partition, reading, why });
        }
        assert!(!vacant(&stage, 2));
    }
    assert!(unknown(&stage, 2));
    assert_eq!(stage.leaders(X), [0]);
}

/// The ledger reports the break again after the next reading has opened.
#[test]
fn an_old_reading_breaks_nothing() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.observe(0, X);
    stage.pass(ms(100));
    let (partition, reading) = stage.plain(0).unwrap();
    let broken = Report::Broken { partition, reading, why: "cut off".into() };
    stage.report(0, broken.clone());
    stage.until(ms(20_000), |stage| vacant(stage, 0));
    stage.report(0, broken);
    assert!(vacant(&stage, 0), "{:?}", stage.view(0, X));
}

/// The ledger is silent for the observer, and the leader goes on.
#[test]
fn silent_ledger_shows_no_vacancy() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(20_000));
    stage.cut_off(2, true);
    for _ in 0..100 {
        stage.pass(ms(100));
        assert!(!vacant(&stage, 2));
    }
    assert!(unknown(&stage, 2) && stage.leaders(X) == [0]);
    stage.cut_off(2, false);
    // By now the observer repeats its question only rarely.
    stage.pass(ms(60_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
}

/// The observer stops observing while a leader takes office, and then observes again.
#[test]
fn new_observer_knows_no_vacancy() {
    let mut stage = Stage::new(3, Mode::AtMostOne);
    stage.stand(1, "x/1", &[1]);
    stage.observe(2, X);
    stage.pass(ms(20_000));
    assert!(vacant(&stage, 2));
    stage.stand(0, X, &[0]);
    stage.pass(config(0, Mode::AtMostOne).grace_period());
    assert!(vacant(&stage, 2) && stage.leaders(X).is_empty());
    stage.command(2, X, Command::Unobserve);
    stage.until(ms(1_000), |stage| stage.leaders(X) == [0]);
    stage.pass(ms(600));
    stage.nodes[0].stopped = true;
    stage.pass(ms(100));
    stage.nodes[2].told.clear();
    stage.observe(2, X);
    stage.pass(ms(2_000));
    assert!(stage.leads(0, X), "by its own clock");
    assert_eq!(stage.view(2, X), None, "it listens");
}

/// A process remembers no more roles of another process than it may have itself.
#[test]
fn excess_roles_of_leader_are_forgotten() {
    let mut configs: Vec<_> = (0..3).map(|node| config(node, Mode::AtMostOne)).collect();
    configs[2].limits.roles = 2;
    let mut stage = Stage::with(configs);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    let mut entry = stage.stranger(Kind::Beat);
    let lead = |role| Lead { role: Role(role), fence: None, value: "".parse().unwrap() };
    entry.leads = (0..9).map(lead).collect();
    stage.append(0, Said::Entry(entry));
    stage.pass(ms(100));
    assert_eq!(stage.nodes[2].core.seen().count(), 2);
}

/// The leader leads more roles than the observer remembers, the observed role among them.
#[test]
fn forgotten_role_shows_no_vacancy() {
    let mut configs: Vec<_> = (0..3).map(|node| config(node, Mode::AtMostOne)).collect();
    configs[2].limits.roles = 2;
    let mut stage = Stage::with(configs);
    stage.observe(2, "x/5");
    stage.pass(ms(1_000));
    let mut entry = stage.stranger(Kind::Beat);
    let lead = |role| Lead { role: Role(role), fence: None, value: "".parse().unwrap() };
    entry.leads = (0..9).map(lead).collect();
    for _ in 0..40 {
        entry.number.0 += 1;
        stage.append(0, Said::Entry(entry.clone()));
        stage.append(1, Said::Entry(entry.clone()));
        stage.pass(ms(500));
        assert!(!matches!(stage.view(2, "x/5"), Some(View::Vacant)));
    }
}

/// No process stands for the role; another process writes for another role.
#[test]
fn role_without_candidates_is_vacant() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::new(3, mode);
        stage.stand(1, "x/1", &[1]);
        stage.observe(2, X);
        stage.pass(config(2, mode).heard_leads() + ms(1_000));
        assert!(vacant(&stage, 2), "{:?}", stage.view(2, X));
        stage.nodes[2].told.clear();
        stage.pass(ms(120_000));
        assert_eq!(stage.view(2, X), None, "and stays so");
    }
}

/// The leader of the observer's group is silent and still leads. A leader of another group is
/// heard.
#[test]
fn silent_leader_stays_beside_other_group() {
    let of = |node: usize| {
        let group = if node == 1 { "h" } else { "g" }.parse().unwrap();
        Config { group, ..config(node, Mode::AtMostOne) }
    };
    let mut stage = Stage::with((0..3).map(of).collect());
    for node in 0..2 {
        stage.stand(node, X, &[0]);
    }
    stage.observe(2, X);
    stage.pass(ms(20_000));
    stage.nodes[0].stopped = true;
    stage.pass(ms(3_200));
    assert!(stage.leads(0, X) && stage.leads(1, X), "by their own clocks");
    assert_eq!(&*leader(&stage, 2).id, "n0");
}

/// An asker that names no group sees the leaders of all groups. The asker reports a vacancy only
/// after the last of them has gone.
#[test]
fn unnamed_group_shows_all_leaders() {
    let of = |node: usize| {
        let group = ["g", "h", "x"][node].parse().unwrap();
        Config { group, all_groups: node == 2, ..config(node, Mode::AtMostOne) }
    };
    let mut stage = Stage::with((0..3).map(of).collect());
    for node in 0..2 {
        stage.stand(node, X, &[0]);
    }
    stage.observe(2, X);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0, 1]);
    let Some(view @ View::Leaders { .. }) = stage.view(2, X) else { panic!("there are two") };
    let mut ids: Vec<_> =
        view.leader().into_iter().chain(view.others()).map(|of| &*of.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["n0", "n1"]);
    stage.kill(0);
    stage.pass(ms(20_000));
    assert_eq!(&*leader(&stage, 2).id, "n1");
    stage.kill(1);
    stage.pass(ms(20_000));
    assert!(vacant(&stage, 2), "{:?}", stage.view(2, X));
}

/// The process reads two partitions. Partition 1 brings no more records, and then partition 0 is
/// revoked.
#[test]
fn silent_reading_leaves_a_gap() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.stand(0, "x/1", &[0, 1]);
    stage.observe(0, X);
    stage.pass(ms(20_000));
    assert!(vacant(&stage, 0));
    stage.stick_at(0, 1);
    stage.pass(ms(3_000));
    assert!(vacant(&stage, 0));
    stage.nodes[0].own.no_end = vec![0, 1];
    stage.revoke(0, &[0]);
    stage.pass(ms(100));
    assert!(unknown(&stage, 0), "{:?}", stage.view(0, X));
}

/// Partition 0 brings no more records, and only later the process begins to read partition 1. The
/// process misses the records in between.
#[test]
fn readings_without_overlap_leave_gap() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.stand(0, "x/1", &[0]);
    stage.observe(0, X);
    stage.pass(ms(20_000));
    assert!(vacant(&stage, 0));
    stage.stick_at(0, 0);
    stage.pass(ms(2_000));
    stage.assign(0, &[0, 1]);
    stage.pass(ms(300));
    stage.revoke(0, &[0]);
    stage.pass(ms(100));
    assert!(unknown(&stage, 0), "{:?}", stage.view(0, X));
}

/// A process of a later version writes a record, perhaps as a leader.
#[test]
fn unreadable_record_is_a_gap() {
    for stands in [false, true] {
        let mut stage = Stage::new(1, Mode::AtMostOne);
        if stands {
            stage.stand(0, "x/1", &[0, 1]);
        }
        stage.observe(0, X);
        stage.pass(ms(10_000));
        assert!(vacant(&stage, 0));
        for _ in 0..20 {
            for partition in 0..2 {
                stage.append(partition, Said::Unreadable);
            }
            stage.pass(ms(500));
            assert!(unknown(&stage, 0), "{:?}", stage.view(0, X));
        }
        stage.pass(ms(10_000));
        assert!(vacant(&stage, 0));
    }
}

/// A process of another group leads for up to a minute after each record. An observer does not show
/// leaders of other groups.
#[test]
fn another_group_keeps_no_role_from_being_vacant() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.observe(0, X);
    stage.pass(ms(1_000));
    let mut other = stage.stranger(Kind::Beat);
    other.group = "h".parse().unwrap();
    other.terms.takeover = ms(60_000);
    let lead = |role| Lead { role: Role(role), fence: None, value: Default::default() };
    let most = u32::try_from(config(0, Mode::AtMostOne).limits.roles).unwrap();
    other.leads = (0..=most).map(lead).collect();
    stage.append(0, Said::Entry(other));
    stage.pass(config(0, Mode::AtMostOne).heard_leads() + ms(3_000));
    assert!(vacant(&stage, 0), "{:?}", stage.view(0, X));
}

/// An observer that can remember one process may have forgotten a leader.
#[test]
fn forgotten_leader_shows_no_vacancy() {
    let mut configs: Vec<_> = (0..3).map(|node| config(node, Mode::AtMostOne)).collect();
    configs[2].limits.processes = 1;
    let mut stage = Stage::with(configs);
    stage.observe(2, X);
    stage.stand(1, "x/1", &[1]);
    stage.pass(ms(1_000));
    stage.stand(0, X, &[0]);
    stage.pass(ms(60_000));
    assert!(stage.leaders(X) == [0] && unknown(&stage, 2), "{:?}", stage.view(2, X));
}

/// Two leaders fall silent, one after the other.
#[test]
fn silent_leaders_are_marked_in_time() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    stage.kill(0);
    stage.pass(ms(5_000));
    stage.stand(1, "x/1", &[1]);
    stage.pass(ms(3_000));
    stage.kill(1);
    stage.pass(config(2, Mode::AtLeastOne).silence() + ms(100));
    assert!(stage.nodes[2].core.seen().all(|seen| seen.silent));
}

/// Partitions 0 to 2 cannot be read. The observer reads partition 3, because every member writes
/// there, too. After a break the observer reads partition 3 again.
#[test]
fn unreadable_partition_is_replaced() {
    let config = |node| Config { partitions: 4, ..config(node, Mode::AtMostOne) };
    let mut stage = looked_at_with((0..3).map(config).collect());
    stage.nodes[2].own.no_end = vec![0, 1, 2];
    stage.observe(2, X);
    stage.pass(ms(10_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
    let reads = |stage: &Stage| stage.plain(2).map(|(partition, _)| partition.0);
    assert_eq!(reads(&stage), Some(3));
    stage.nodes[2].own.no_end.clear();
    let (partition, reading) = stage.plain(2).unwrap();
    stage.report(2, Report::Broken { partition, reading, why: "cut off".into() });
    stage.pass(ms(1_000));
    assert_eq!(reads(&stage), Some(3));
}

/// The broker answers the observer's question about the end of the only partition only when the
/// question is repeated.
#[test]
fn slow_answers_hide_no_vacancy() {
    let config = Config { partitions: 1, ..config(0, Mode::AtMostOne) };
    let mut stage = Stage::with(vec![config]);
    stage.observe(0, X);
    stage.pass(ms(100));
    for _ in 0..10 {
        stage.nodes[0].own.no_end = vec![0];
        stage.pass(ms(2_700));
        stage.nodes[0].own.no_end.clear();
        stage.pass(ms(1_500));
    }
    assert!(vacant(&stage, 0), "{:?}", stage.view(0, X));
}

/// Observers drop a departed leader without waiting for a silence.
#[test]
fn departed_leader_is_not_shown() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(7_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.leave(0, false, false);
    stage.pass(ms(200));
    assert!(vacant(&stage, 2), "{:?}", stage.view(2, X));
}

/// A new observer sees leaders that were heard before, as long as they may lead.
#[test]
fn new_observer_sees_recent_leaders() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    stage.command(2, X, Command::Unobserve);
    stage.kill(0);
    stage.pass(ms(4_500));
    stage.observe(2, X);
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.pass(ms(800));
    assert!(unknown(&stage, 2), "{:?}", stage.view(2, X));
}

/// The leader's terms have a longer T: the leader may be silent for longer, and still lead.
#[test]
fn longer_takeover_is_shown_longer() {
    let with = |node, takeover| Config { takeover, ..config(node, Mode::AtMostOne) };
    let mut configs: Vec<_> = (0..3).map(|node| config(node, Mode::AtMostOne)).collect();
    configs[0] = with(0, ms(20_000));
    let mut stage = Stage::with(configs);
    stage.campaign(0, X);
    stage.campaign(1, "x/1");
    stage.assign(0, &[0]);
    stage.assign(1, &[1]);
    stage.pass(ms(25_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    stage.nodes[0].stopped = true;
    stage.pass(ms(17_000));
    assert!(stage.leads(0, X), "by its own clock");
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.pass(ms(30_000));
    assert!(!stage.leads(0, X) && vacant(&stage, 2), "{:?}", stage.view(2, X));
}

/// The shown leader's time runs out while the observer is stopped. Then the application observes
/// again.
#[test]
fn second_observe_reports_unknown() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    stage.kill(0);
    stage.pass(ms(3_500));
    let (partition, reading) = stage.plain(2).unwrap();
    stage.report(2, Report::Broken { partition, reading, why: "cut off".into() });
    stage.pass(ms(500));
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.nodes[2].stopped = true;
    stage.pass(ms(1_500));
    stage.observe(2, X);
    assert!(unknown(&stage, 2), "{:?}", stage.view(2, X));
}

/// A new observer hears no record, and drops the leader once its time has run out.
#[test]
fn new_observer_of_silence_reports_unknown() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    stage.command(2, X, Command::Unobserve);
    stage.cut_off(2, true);
    stage.pass(ms(3_000));
    stage.observe(2, X);
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.pass(ms(5_300));
    assert!(unknown(&stage, 2), "{:?}", stage.view(2, X));
}

/// Every process writes to every partition, so that each partition shows all leaders.
#[test]
fn members_see_leaders_of_all_partitions() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.stand(1, "x/1", &[1]);
    stage.observe(1, X);
    stage.pass(ms(1_000));
    assert_eq!(&*leader(&stage, 1).id, "n0");
    stage.observe(0, X);
    assert_eq!(leader(&stage, 0).heard, Some(stage.clock(0)), "its own leadership, at once");
    assert!(leader(&stage, 0).until.is_some());
}

/// The leader is stopped before the first observer begins, and may still lead.
#[test]
fn vacancy_waits_for_unheard_leaders() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.nodes[0].stopped = true;
    stage.observe(2, X);
    while !stage.leaders(X).is_empty() {
        stage.pass(ms(10));
        assert!(!vacant(&stage, 2));
    }
    assert!(unknown(&stage, 2));
    stage.pass(ms(3_000));
    assert!(vacant(&stage, 2));
}

#[test]
fn silent_leader_is_dropped_in_time() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(7_000));
    stage.kill(0);
    stage.pass(ms(3_000));
    assert_eq!(&*leader(&stage, 2).id, "n0", "it may lead still, as far as anybody can tell");
    assert!(stage.nodes[2].core.seen().all(|seen| seen.silent));
    stage.pass(ms(4_000));
    assert!(vacant(&stage, 2));
    assert_eq!(stage.nodes[2].core.seen().count(), 0);
    // The successor is shown.
    stage.assign(1, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(&*leader(&stage, 2).id, "n1");
}

/// In `at_least_one` the earlier leader is shown beside the new leader until it is silent.
#[test]
fn two_leaders_are_shown_as_two() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.revoke(0, &[0]);
    stage.assign(1, &[0]);
    stage.pass(ms(2_000));
    assert_eq!(stage.leaders(X), [0, 1]);
    let Some(view @ View::Leaders { .. }) = stage.view(2, X) else { panic!("there are two") };
    assert_eq!(view.others().len(), 1);
    stage.pass(ms(30_000));
    assert_eq!(&*leader(&stage, 2).id, "n1");
}

/// Another group shares the topic. Its leader is shown only if its election is the observed one.
#[test]
fn unrelated_group_is_not_shown() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    let mut other = stage.stranger(Kind::Beat);
    let lead = Lead { role: Role(0), fence: None, value: Default::default() };
    (other.leads, other.group) = (vec![lead], "h".parse().unwrap());
    for (election, shown) in [("y", 1), ("x", 2)] {
        other.election = election.parse().unwrap();
        other.number.0 += 1;
        for partition in 0..2 {
            stage.append(partition, Said::Entry(other.clone()));
        }
        stage.pass(ms(100));
        let view = stage.view(2, X).unwrap();
        assert_eq!(1 + view.others().len(), shown, "{election}: {view}");
        assert_eq!(&*view.leader().unwrap().id, "n0", "of the own group first");
    }
}

#[test]
fn silent_ledger_reports_unknown() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.pass(ms(10_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.cut_off(2, true);
    stage.pass(ms(6_000));
    assert!(unknown(&stage, 2), "{:?}", stage.view(2, X));
    // The observer asks each partition in turn.
    assert!(stage.asked(2, |asked| matches!(asked, Request::Read { .. })) > 2);
    stage.cut_off(2, false);
    stage.pass(ms(40_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
}

/// The ledger answers the observer's questions, and no process writes.
#[test]
fn unwritten_ledger_reports_vacancy() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.observe(0, X);
    stage.pass(ms(2_000));
    assert_eq!(stage.view(0, X), None, "too early to say");
    stage.pass(ms(1_000));
    assert!(unknown(&stage, 0));
    stage.pass(ms(3_000));
    assert!(vacant(&stage, 0));
    stage.pass(ms(60_000));
    assert!(vacant(&stage, 0));
}

#[test]
fn two_groups_on_one_host_are_told() {
    let of = |node: usize| {
        let group = if node == 0 { "g" } else { "h" }.parse().unwrap();
        let host = "metal".parse().unwrap();
        Config { group, host, ..config(node, Mode::AtLeastOne) }
    };
    let mut stage = Stage::with(vec![of(0), of(1)]);
    for node in 0..2 {
        stage.stand(node, X, &[0]);
    }
    stage.pass(ms(5_000));
    let (role, group, who) = (Role(0), "h".parse().unwrap(), stage.who(1));
    assert_eq!(stage.told_own(0, &OwnEvent::SameHost { role, who, group }), 1);
}

/// A few late records of an earlier run show no second process; further records do.
#[test]
fn another_process_of_the_same_name_is_told() {
    let mut stage = Stage::led(2, Mode::AtLeastOne);
    let same = |stage: &Stage| {
        stage.told(0, |event| matches!(event, Event::Own(OwnEvent::SameName { .. })))
    };
    let mut earlier = stage.stranger(Kind::Beat);
    earlier.sender = stage.who(0);
    earlier.sender.incarnation += 1;
    for late in 0..10 {
        earlier.number.0 += 1;
        stage.append(0, Said::Entry(earlier.clone()));
        stage.pass(ms(100));
        assert_eq!(same(&stage), usize::from(late > 2), "{late}");
    }
}
