//! Fences (ruling 10). The stage checks at each election that the fence is greater than all before.

use tenure_core::nele::{Command, Config, Event, Kind, Mode, OwnEvent, Partition, Said, Void};
use tenure_core::{End, Loss, Waiting};

use crate::stage::{Stage, X, config, ms};

const EPOCH: u64 = 1 << 40;

fn led(nodes: usize) -> Stage {
    Stage::led(nodes, Mode::AtMostOne)
}

fn claimed_at(stage: &Stage, partition: usize) -> u64 {
    let claim = stage.own.logs[partition]
        .records
        .iter()
        .rfind(|record| matches!(&record.said, Said::Entry(entry) if entry.kind == Kind::Claim));
    claim.unwrap().offset
}

#[test]
fn fence_holds_epoch_and_offset() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.own.logs[0].epoch = Some(5);
    stage.campaign(0, X);
    stage.pass(ms(3_000));
    stage.assign(0, &[0]);
    stage.pass(ms(6_000));
    let offset = claimed_at(&stage, 0);
    assert!(offset > 0);
    assert_eq!(stage.fence(0, X), Some(5 * EPOCH + offset));
}

/// The log loses its end. The next claim then has a lower offset, and a later epoch.
#[test]
fn fences_grow_across_a_truncation() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.nodes[0].again = true;
    for _ in 0..50 {
        stage.append(0, Said::Nothing);
    }
    stage.stand(0, X, &[0]);
    stage.pass(ms(6_000));
    let before = stage.fence(0, X).unwrap();
    let records = stage.own.logs[0].records.len() - 1;
    stage.truncate(0, records);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reset)));
    let void = |event: &Event| {
        matches!(event, Event::Own(OwnEvent::ClaimVoid { why: Void::Broken { .. }, .. }))
    };
    assert_eq!(stage.told(0, void), 1);
    stage.pass(ms(8_000));
    let after = stage.fence(0, X).unwrap();
    assert!(after % EPOCH < before % EPOCH && after / EPOCH == 1, "{before} {after}");
}

/// Process 0 claims and is stopped. Process 1 claims and leads, and the log loses its claim.
/// Process 0 has read none of the lost records. A fence from its earlier claim would be below the
/// fence of process 1.
#[test]
fn truncation_spends_earlier_claims() {
    let mut stage = Stage::new(2, Mode::AtMostOne);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.assign(0, &[0]);
    stage.pass(ms(1_000));
    let claim = claimed_at(&stage, 0);
    stage.nodes[0].stopped = true;
    stage.assign(1, &[0]);
    stage.until(ms(9_000), |stage| stage.leaders(X) == [1]);
    let lost = claimed_at(&stage, 0);
    assert!(claim < lost && stage.fence(1, X) == Some(lost));
    let records = stage.own.logs[0].records.len() as u64 - lost;
    stage.truncate(0, usize::try_from(records).unwrap());
    assert_eq!(stage.ended(1, X), Some(&End::Lost(Loss::Reset)));
    stage.go_on(0);
    stage.until(ms(9_000), |stage| stage.leaders(X) == [0]);
    assert_eq!(stage.fence(0, X).map(|fence| fence / EPOCH), Some(1), "it has claimed anew");
}

/// Process 0 claims the partition, resigns a role, and is stopped. Process 1 leads the role, and
/// the log loses its claim. Process 0 stands for the role again.
#[test]
fn role_after_truncation_needs_new_claim() {
    let mut stage = Stage::new(2, Mode::AtMostOne);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.stand(0, "x/2", &[0]);
    stage.pass(ms(1_000));
    stage.command(0, X, Command::Resign);
    stage.nodes[0].stopped = true;
    stage.assign(1, &[0]);
    stage.until(ms(9_000), |stage| stage.leaders(X) == [1]);
    let lost = claimed_at(&stage, 0);
    let records = stage.own.logs[0].records.len() as u64 - lost;
    stage.truncate(0, usize::try_from(records).unwrap());
    stage.go_on(0);
    stage.pass(ms(1_000));
    stage.campaign(0, X);
    stage.until(ms(9_000), |stage| stage.leaders(X) == [0]);
    assert_eq!(stage.fence(0, X).map(|fence| fence / EPOCH), Some(1), "it has claimed anew");
}

/// Both processes believe they own the partition. Process 0 is cut off, and does not read the claim
/// of process 1. Process 1 reads its claim back, and is stopped; the log loses this claim with its
/// epoch. Process 1 may still take office by the lost claim.
#[test]
fn a_claim_of_a_later_epoch_waits_anew() {
    let mut stage = Stage::new(2, Mode::AtMostOne);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.assign(0, &[0]);
    stage.pass(ms(300));
    stage.cut_off(0, true);
    let left = stage.own.logs[0].records.len();
    stage.assign(1, &[0]);
    stage.pass(ms(400));
    stage.nodes[1].stopped = true;
    assert!(stage.own.logs[0].records.len() >= left + 2, "its claim, and what shows it");
    let lost = claimed_at(&stage, 0);
    let records = stage.own.logs[0].records.len() - left;
    stage.truncate(0, records);
    stage.cut_off(0, false);
    // Process 1 may take office until T after its last record. Process 0 would take office earlier
    // if G counted from its claim of the earlier epoch.
    stage.pass(ms(3_700));
    stage.go_on(1);
    stage.pass(ms(200));
    let by_it = |event: &Event| {
        let Event::Elected { fence, .. } = event else { return false };
        fence.is_some_and(|fence| fence.number() == lost)
    };
    assert_eq!((stage.elected(), stage.told(1, by_it)), (1, 1), "by the claim that was lost");
    stage.until(ms(9_000), |stage| stage.leaders(X) == [0]);
    assert!(stage.fence(0, X) > Some(lost));
}

/// Process 1 has a longer T, and process 0 has heard of it. Process 0 leads, and does not read the
/// claim of process 1. The log loses this claim with its epoch. Process 0 resigns the role, stands
/// again, and claims anew.
#[test]
fn later_epoch_waits_for_longest_takeover() {
    let longer = Config { takeover: ms(16_000), ..config(1, Mode::AtMostOne) };
    let mut stage = Stage::with(vec![config(0, Mode::AtMostOne), longer]);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.stand(0, "x/2", &[0]);
    stage.assign(1, &[1]);
    stage.until(ms(30_000), |stage| stage.leaders(X) == [0]);
    stage.cut_off(0, true);
    let left = stage.own.logs[0].records.len();
    stage.assign(1, &[0]);
    stage.pass(ms(900));
    stage.nodes[1].stopped = true;
    let lost = claimed_at(&stage, 0);
    let records = stage.own.logs[0].records.len() - left;
    assert!(records >= 2 && lost >= left as u64, "its claim, and what shows it");
    stage.truncate(0, records);
    stage.cut_off(0, false);
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    // Process 1 may take office by its lost claim until a little more than 16 s after its own
    // record.
    stage.pass(ms(15_300));
    stage.go_on(1);
    stage.pass(ms(200));
    stage.lose(1, &[0]);
    stage.until(ms(40_000), |stage| stage.fence(0, X).is_some_and(|fence| fence / EPOCH == 1));
    let by_it = |event: &Event| {
        let Event::Elected { fence, .. } = event else { return false };
        fence.is_some_and(|fence| fence.number() == lost)
    };
    assert_eq!(stage.told(1, by_it), 1, "by the claim that was lost");
}

/// Rebalance numbers begin again with each process: they must not decide on fences.
#[test]
fn fences_grow_from_process_to_process() {
    let mut stage = led(2);
    for _ in 0..3 {
        stage.assign(0, &[]);
    }
    stage.nodes[0].again = true;
    stage.revoke(0, &[0]);
    stage.assign(0, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.revoke(0, &[0]);
    stage.assign(1, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(stage.leaders(X), [1]);
    stage.restart(0);
    stage.campaign(0, X);
    stage.lose(1, &[0]);
    stage.assign(0, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn without_a_fence_nobody_leads() {
    for epoch in [None, Some(1 << 24), Some(u32::MAX)] {
        let mut stage = Stage::new(1, Mode::AtMostOne);
        stage.own.logs[0].epoch = epoch;
        stage.stand(0, X, &[0]);
        stage.pass(ms(20_000));
        assert_eq!(stage.leaders(X), [0_usize; 0]);
        let none = |event: &Event| matches!(event, Event::Own(OwnEvent::NoFence { .. }));
        assert_eq!(stage.told(0, none), 1, "of several in a row the first");
        let refused = |event: &Event| {
            matches!(event, Event::Waiting(Waiting::Refused { obstacles, .. })
                if obstacles[0].label == "no-fence")
        };
        assert!(stage.told(0, refused) >= 1);
        // The batch of the next claim has a leader epoch.
        stage.own.logs[0].epoch = Some(7);
        stage.pass(ms(8_000));
        assert_eq!(stage.fence(0, X).map(|fence| fence / EPOCH), Some(7));
    }
}

/// The process keeps its partition for another role. The resigned role comes back with a later
/// fence.
#[test]
fn resigned_role_gets_another_fence() {
    let mut stage = led(1);
    stage.campaign(0, "x/2");
    stage.pass(ms(100));
    let first = stage.fence(0, X);
    assert_eq!(stage.fence(0, "x/2"), first, "all roles of a partition have one claim");
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    let since = stage.now;
    stage.pass(ms(100));
    assert!(stage.fence(0, X) > first, "without waiting: nobody has claimed since");
    assert_eq!(stage.fence(0, "x/2"), first, "the other one goes on as it was");
    assert_eq!(stage.claims(0, since), 1);
    assert_eq!(stage.ended(0, "x/2"), None);
}

/// The client holds the process's records back for longer than T, and then writes them.
#[test]
fn expired_leadership_gets_another_fence() {
    let mut stage = led(1);
    stage.nodes[0].again = true;
    let first = stage.fence(0, X);
    stage.nodes[0].own.holds_back = true;
    stage.pass(ms(4_500));
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    stage.let_go(0);
    stage.pass(ms(2_500));
    assert!(stage.fence(0, X) > first);
    let assigned = OwnEvent::Assigned { partition: Partition(0) };
    assert_eq!(stage.told_own(0, &assigned), 1, "it was its own all the while");
}
