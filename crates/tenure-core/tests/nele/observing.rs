//! Who leads, as everybody sees it.

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

/// Two that stand, the first of which leads, and one that only looks.
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
fn one_that_only_looks_is_no_member_and_writes_nothing() {
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
    // Who looks no more reads no more.
    stage.command(2, X, Command::Unobserve);
    stage.pass(ms(1_000));
    assert_eq!(stage.asked(2, |asked| matches!(asked, Request::Stop(_))), 1);
    assert_eq!(stage.nodes[2].core.seen().count(), 1, "as it was");
}

/// A client that begins to read before the end that it found hands on what was said long ago.
#[test]
fn what_was_said_before_the_end_was_found_shows_nobody() {
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

/// It may ask where a partition ends, and not read it.
#[test]
fn one_whose_reading_breaks_does_not_know_a_vacancy() {
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

/// That it broke is told once more, when the next one is open.
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

/// A leader that it has heard may lead on, as nothing is heard of anybody.
#[test]
fn one_that_hears_nothing_any_more_does_not_know_a_vacancy() {
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
    // It asks less and less often.
    stage.pass(ms(60_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
}

/// What was said while it did not look was missed.
#[test]
fn one_that_looks_again_does_not_know_a_vacancy() {
    let mut stage = Stage::new(3, Mode::AtMostOne);
    stage.campaign(1, "x/1");
    stage.assign(1, &[1]);
    stage.observe(2, X);
    stage.pass(ms(20_000));
    assert!(vacant(&stage, 2));
    stage.campaign(0, X);
    stage.assign(0, &[0]);
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

/// No more roles are remembered of one than one may stand for here.
#[test]
fn of_one_that_leads_more_than_there_is_room_for_not_all_is_remembered() {
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

/// What it leads besides may be led by it.
#[test]
fn one_without_room_for_a_role_does_not_know_a_vacancy() {
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

/// Nobody stands for the role, and somebody for another one, who writes on and on.
#[test]
fn a_role_for_which_nobody_stands_is_vacant_while_others_are_led() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::new(3, mode);
        stage.campaign(1, "x/1");
        stage.assign(1, &[1]);
        stage.observe(2, X);
        stage.pass(config(2, mode).heard_leads() + ms(1_000));
        assert!(vacant(&stage, 2), "{:?}", stage.view(2, X));
        stage.nodes[2].told.clear();
        stage.pass(ms(120_000));
        assert_eq!(stage.view(2, X), None, "and stays so");
    }
}

/// A leader of another group is heard, and that of the own one is silent, and leads still.
#[test]
fn one_that_is_silent_is_shown_whatever_another_group_says() {
    let of = |node: usize| {
        let group = if node == 1 { "h" } else { "g" }.parse().unwrap();
        Config { group, ..config(node, Mode::AtMostOne) }
    };
    let mut stage = Stage::with((0..3).map(of).collect());
    for node in 0..2 {
        stage.campaign(node, X);
        stage.assign(node, &[0]);
    }
    stage.observe(2, X);
    stage.pass(ms(20_000));
    stage.nodes[0].stopped = true;
    stage.pass(ms(3_200));
    assert!(stage.leads(0, X) && stage.leads(1, X), "by their own clocks");
    assert_eq!(&*leader(&stage, 2).id, "n0");
}

/// It reads two partitions, of one of which nothing comes any more, and the other is taken away.
#[test]
fn one_whose_other_reading_brings_nothing_missed_something() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.campaign(0, "x/1");
    stage.assign(0, &[0, 1]);
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

/// It has read one partition to the moment at which it had found the end of the next one, and not
/// further: what was said between the two is missing.
#[test]
fn one_whose_next_reading_began_unheard_by_the_first_missed_something() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.campaign(0, "x/1");
    stage.assign(0, &[0]);
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

/// One of a later version has said something, perhaps who leads.
#[test]
fn what_cannot_be_read_is_missed() {
    for stands in [false, true] {
        let mut stage = Stage::new(1, Mode::AtMostOne);
        if stands {
            stage.campaign(0, "x/1");
            stage.assign(0, &[0, 1]);
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

/// Its leaders may lead for a minute after they were heard, and none of them is shown.
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

/// Where nobody is remembered for want of room, a leader may be whom nobody remembers.
#[test]
fn one_without_room_for_a_leader_does_not_know_a_vacancy() {
    let mut configs: Vec<_> = (0..3).map(|node| config(node, Mode::AtMostOne)).collect();
    configs[2].limits.processes = 1;
    let mut stage = Stage::with(configs);
    stage.observe(2, X);
    stage.campaign(1, "x/1");
    stage.assign(1, &[1]);
    stage.pass(ms(1_000));
    stage.campaign(0, X);
    stage.assign(0, &[0]);
    stage.pass(ms(60_000));
    assert!(stage.leaders(X) == [0] && unknown(&stage, 2), "{:?}", stage.view(2, X));
}

/// One that is silent since another one was is shown as silent in time, too.
#[test]
fn each_that_is_silent_is_shown_so_in_its_time() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.pass(ms(1_000));
    stage.kill(0);
    stage.pass(ms(5_000));
    stage.campaign(1, "x/1");
    stage.assign(1, &[1]);
    stage.pass(ms(3_000));
    stage.kill(1);
    stage.pass(config(2, Mode::AtLeastOne).silence() + ms(100));
    assert!(stage.nodes[2].core.seen().all(|seen| seen.silent));
}

/// The partition that decides on a role cannot be read, and every member writes to the others, too.
/// One whose reading broke is tried again itself.
#[test]
fn one_that_cannot_read_a_partition_reads_the_next() {
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

/// A broker that is busy answers each question about the end of the only partition too late once.
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

/// It need not be silent first, for as long as one that is stopped may lead.
#[test]
fn one_that_leaves_is_shown_no_more() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.observe(2, X);
    stage.pass(ms(7_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.leave(0, false, false);
    stage.pass(ms(200));
    assert!(vacant(&stage, 2), "{:?}", stage.view(2, X));
}

/// Who looks again is shown who was heard lately, and no longer than that one may lead.
#[test]
fn one_that_looks_again_is_not_shown_for_longer_who_was_heard_before() {
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

/// It leads for as long as it says, and may be silent meanwhile.
#[test]
fn one_with_a_longer_t_is_shown_for_as_long_as_it_may_lead() {
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

/// A leader's time is over just when it is asked for once more: it is not shown on.
#[test]
fn one_that_asks_again_is_told_that_nothing_is_known() {
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

/// Who looks again, and hears nothing at all, is not shown for longer who was heard before.
#[test]
fn one_that_looks_again_and_hears_nothing_knows_nothing() {
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

/// Whichever partition one reads: all write to all.
#[test]
fn members_see_the_leaders_of_partitions_that_they_do_not_read() {
    let mut stage = looked_at(Mode::AtMostOne);
    stage.campaign(1, "x/1");
    stage.assign(1, &[1]);
    stage.observe(1, X);
    stage.pass(ms(1_000));
    assert_eq!(&*leader(&stage, 1).id, "n0");
    stage.observe(0, X);
    assert_eq!(leader(&stage, 0).heard, Some(stage.clock(0)), "its own leadership, at once");
    assert!(leader(&stage, 0).until.is_some());
}

/// The leader is stopped when somebody begins to look: nothing is heard of it, and it leads.
#[test]
fn vacant_is_said_when_nobody_can_lead_who_was_not_heard() {
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
fn one_that_is_heard_no_more_is_shown_no_more() {
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
    // Its successor is.
    stage.assign(1, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(&*leader(&stage, 2).id, "n1");
}

/// The old leader's word is as good as that of the new one, until it is silent.
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

/// A group of other processes, with other roles, on the same topic.
#[test]
fn of_groups_that_share_only_the_topic_nothing_is_shown() {
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
fn one_that_hears_nothing_knows_nothing() {
    let mut stage = looked_at(Mode::AtLeastOne);
    stage.observe(2, X);
    stage.pass(ms(10_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
    stage.cut_off(2, true);
    stage.pass(ms(6_000));
    assert!(unknown(&stage, 2), "{:?}", stage.view(2, X));
    // And is asked for meanwhile, now here, now there.
    assert!(stage.asked(2, |asked| matches!(asked, Request::Read { .. })) > 2);
    stage.cut_off(2, false);
    stage.pass(ms(40_000));
    assert_eq!(&*leader(&stage, 2).id, "n0");
}

/// Nobody is there at all, and the ledger answers.
#[test]
fn a_ledger_that_answers_and_on_which_nobody_writes_is_vacant() {
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
        stage.campaign(node, X);
        stage.assign(node, &[0]);
    }
    stage.pass(ms(5_000));
    let (role, group, who) = (Role(0), "h".parse().unwrap(), stage.who(1));
    assert_eq!(stage.told_own(0, &OwnEvent::SameHost { role, who, group }), 1);
}

/// One that was started again is none.
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
