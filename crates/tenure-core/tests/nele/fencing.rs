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

/// A log has lost its end: the next claim has a lower offset, and a later epoch.
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

/// A process has claimed and is stopped; a second process claims and leads, and this second claim
/// is lost with the end of the log. The first process has read no lost record, and its grace period
/// is long over: by its earlier claim, its fence would be below the fence of the second process.
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

/// The process had claimed the partition before, resigned the role, and read on for another role;
/// since then another process has led by a later claim that was lost.
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

/// Two processes believe to own the partition. The first has not read the claim of the second when
/// this claim is lost with its epoch. The second is stopped, and takes office by the lost claim
/// within T of its last record.
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
    // The second process may take office until T after its last record. Counted from its earlier
    // claim, the first process would take office before that.
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

/// The claim of the second process is lost with its epoch, and the second has a longer T, of which
/// the first has heard. The first led long before. The first resigns the role and stands for the
/// role again, so that it must claim anew, later than the second.
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
    // The second process may take office until a little more than sixteen seconds after its own
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

/// The group counts its generations, and this process its rebalances; both begin again.
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
        // The next claim is in a batch with a leader epoch.
        stage.own.logs[0].epoch = Some(7);
        stage.pass(ms(8_000));
        assert_eq!(stage.fence(0, X).map(|fence| fence / EPOCH), Some(7));
    }
}

/// The process keeps its partition for another role; the fence of the resigned role does not come
/// back.
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

/// The process reads none of its own records for longer than T, and then reads them again.
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
