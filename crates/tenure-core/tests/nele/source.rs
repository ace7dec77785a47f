//! The numbered sentences of the text, each with a test: S1 to S16 of the table in the module's
//! document. `docs/seeds/nele.md` goes through the whole text.

use std::time::Duration;

use tenure_core::nele::{Config, Mode, Report, Target};

use crate::stage::{self, Stage, X, config, ms};

const NOTHING: Duration = Duration::ZERO;

/// A group whose coordinator assigns partitions in turn.
fn dealt(processes: usize, partitions: u32, roles: u32, mode: Mode) -> Stage {
    let of = |node| Config { partitions, ..config(node, mode) };
    let mut stage = Stage::with((0..processes).map(of).collect());
    for node in 0..processes {
        (0..roles).for_each(|role| stage.campaign(node, &format!("x/{role}")));
    }
    for node in 0..processes {
        let own = (0..partitions).filter(|partition| *partition as usize % processes == node);
        stage.assign(node, &own.collect::<Vec<_>>());
    }
    stage.pass(ms(8_000));
    stage
}

fn led_roles(stage: &Stage, node: usize, roles: u32) -> Vec<u32> {
    (0..roles).filter(|role| stage.leads(node, &format!("x/{role}"))).collect()
}

#[test]
fn s1_each_role_has_a_leader() {
    let mut stage = Stage::led(2, Mode::AtLeastOne);
    stage.kill(0);
    // The session ends, and the coordinator gives the partition to the other process.
    stage.pass(ms(12_000));
    stage.assign(1, &[0]);
    stage.pass(ms(1_000));
    assert_eq!(stage.leaders(X), [1]);
    assert!(stage.gap() < config(0, Mode::AtLeastOne).handover(), "{:?}", stage.gap());
}

#[test]
fn s2_processes_share_roles_without_overlap() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = dealt(3, 6, 6, mode);
        stage.pass(ms(60_000));
        for node in 0..3 {
            let own = [node as u32, node as u32 + 3];
            assert_eq!(led_roles(&stage, node, 6), own, "{mode}");
        }
        assert_eq!((stage.overlap(), stage.gap()), (NOTHING, NOTHING));
    }
}

/// Roles and processes come and go without a change of settings.
#[test]
fn s3_roles_and_processes_come_and_go() {
    let mut stage = dealt(2, 2, 2, Mode::AtLeastOne);
    stage.campaign(0, "x/7");
    stage.campaign(1, "x/7");
    stage.pass(ms(1_000));
    assert_eq!(stage.leaders("x/7"), [1], "7 mod 2 is 1");
    stage.kill(1);
    stage.assign(0, &[1]);
    stage.pass(ms(1_000));
    assert_eq!(led_roles(&stage, 0, 8), [0, 1, 7]);
}

#[test]
fn s4_processes_write_to_all_partitions() {
    let mut stage = dealt(2, 3, 1, Mode::AtLeastOne);
    let begin = stage.now;
    stage.pass(ms(10_000));
    for node in 0..2 {
        let published = stage.published(node, begin);
        assert!((20..=21).contains(&published.len()), "{}", published.len());
        assert!(published.iter().all(|(to, _)| *to == Target::Every));
    }
    let before: Vec<_> = stage.own.logs.iter().map(|log| log.records.len()).collect();
    // The processes that are left write to all partitions.
    stage.kill(0);
    stage.pass(ms(10_000));
    for (log, before) in stage.own.logs.iter().zip(before) {
        assert!(log.records.len() >= before + 19);
    }
}

/// The coordinator assigns one partition to two processes permanently, and reports that to neither
/// process.
#[test]
fn s5_two_owners_make_one_leader() {
    let mut stage = Stage::led(3, Mode::AtMostOne);
    for node in 0..3 {
        stage.nodes[node].again = true;
        stage.assign(node, &[0]);
    }
    stage.pass(ms(120_000));
    assert_eq!(stage.overlap(), NOTHING);
}

#[test]
fn s6_record_sets_v_to_now() {
    let mut stage = Stage::new(2, Mode::AtLeastOne);
    stage.campaign(0, X);
    stage.pass(ms(5_000));
    assert_eq!(stage.leaders(X), [0_usize; 0], "at first it is zero");
    stage.assign(0, &[0]);
    stage.nodes[0].own.holds_back = true;
    stage.pass(ms(1_000));
    stage.append(0, tenure_core::nele::Said::Nothing);
    stage.pass(ms(5));
    let until = stage.clock(0).after(config(0, Mode::AtLeastOne).takeover);
    assert_eq!(stage.standing(0, X), tenure_core::Standing::Leading { until, fence: None });
}

#[test]
fn s7_and_s8_process_leads_for_t() {
    let mut stage = Stage::led(1, Mode::AtLeastOne);
    let takeover = config(0, Mode::AtLeastOne).takeover;
    stage.pass(ms(60_000));
    stage.lose(0, &[0]);
    let lost = stage.now;
    stage.until(takeover, |stage| stage.leaders(X).is_empty());
    let led = stage.now.since(lost);
    assert!(led + ms(600) > takeover && led <= takeover, "{led:?}");
}

#[test]
fn s9_partition_of_role_is_modulo() {
    let stage = dealt(3, 3, 8, Mode::AtMostOne);
    assert_eq!(led_roles(&stage, 0, 8), [0, 3, 6]);
    assert_eq!(led_roles(&stage, 1, 8), [1, 4, 7]);
    assert_eq!(led_roles(&stage, 2, 8), [2, 5]);
}

#[test]
fn s10_excess_partitions_lead_nothing() {
    let stage = dealt(3, 3, 2, Mode::AtLeastOne);
    let led: Vec<_> = (0..3).map(|node| led_roles(&stage, node, 2).len()).collect();
    assert_eq!(led, [1, 1, 0]);
}

/// A process that hears of another M ends all leaderships for good.
#[test]
fn s11_other_m_ends_all_leaderships() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::led(1, mode);
        let topic = Report::Topic { id: stage::topic(), partitions: 3 };
        stage.nodes[0].again = true;
        stage.report(0, topic);
        stage.assign(0, &[0]);
        stage.pass(ms(60_000));
        assert_eq!(stage.leaders(X), [0_usize; 0], "{mode}");
    }
}

/// The error says by how much T must be greater.
#[test]
fn s12_t_exceeds_session_timeout() {
    let least = config(0, Mode::AtLeastOne);
    let handover = least.handover();
    assert!(handover > least.session_timeout, "the session timeout alone is too short");
    let short = Config { takeover: handover, ..least };
    let said = short.check().unwrap_err().to_string();
    assert!(said.contains("session timeout"), "{said}");
}

/// A smaller T does not ensure at most one leader: the owner is stopped for longer than the session
/// and T, and another process leads. When the owner resumes, it reads recent records.
#[test]
fn s13_resumed_owner_does_not_lead() {
    let mut stage = Stage::led(2, Mode::AtMostOne);
    assert!(config(0, Mode::AtMostOne).takeover < config(0, Mode::AtMostOne).session_timeout);
    stage.nodes[0].stopped = true;
    stage.pass(ms(12_000));
    stage.assign(1, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(stage.leaders(X), [1]);
    stage.go_on(0);
    stage.pass(ms(30_000));
    assert_eq!((stage.leaders(X), stage.overlap()), (vec![1], NOTHING));
}

/// Two groups fill the same roles: a whole group is taken down, and comes back.
#[test]
fn s14_and_s15_groups_have_own_leaders() {
    let of = |node: usize| {
        let group = ["g", "g", "h", "h"][node].parse().unwrap();
        Config { group, ..config(node, Mode::AtMostOne) }
    };
    let mut stage = Stage::with((0..4).map(of).collect());
    (0..4).for_each(|node| stage.campaign(node, X));
    for node in 0..4 {
        stage.assign(node, if node % 2 == 0 { &[0] } else { &[1] });
    }
    stage.pass(ms(6_000));
    assert_eq!(stage.leaders(X), [0, 2], "one of each group");
    stage.leave(0, false, false);
    stage.assign(1, &[0]);
    stage.leave(1, false, false);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [2]);
    stage.campaign(0, X);
    stage.pass(ms(100));
    stage.assign(0, &[0]);
    stage.pass(ms(6_000));
    assert_eq!((stage.leaders(X), stage.overlap(), stage.gap()), (vec![0, 2], NOTHING, NOTHING));
}

/// A process hears of a new leader, and another process does not. In the end both show the same
/// leader.
#[test]
fn s16_views_may_differ_and_converge() {
    let mut stage = Stage::led(4, Mode::AtLeastOne);
    (1..4).for_each(|node| stage.observe(node, X));
    stage.pass(ms(2_000));
    stage.cut_off(3, true);
    stage.revoke(0, &[0]);
    stage.assign(1, &[0]);
    stage.pass(ms(30_000));
    assert_ne!(
        stage.view(3, X).and_then(|view| view.leader().cloned()).map(|leader| leader.id),
        stage.view(2, X).and_then(|view| view.leader().cloned()).map(|leader| leader.id)
    );
    stage.cut_off(3, false);
    stage.pass(ms(40_000));
    for node in 1..4 {
        let leader = stage.view(node, X).and_then(|view| view.leader().cloned()).unwrap();
        assert_eq!(&*leader.id, "n1", "{node}");
    }
}
