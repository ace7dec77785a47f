//! In `at_most_one` the log decides: claims, their ends, and the wait of a claimant (rulings 1, 3
//! and 9).

use std::time::Duration;

use tenure_core::nele::{
    Command, Config, EntryNumber, Event, Ignored, Kind, Mode, OwnEvent, Partition, Report, Request,
    Said, Void,
};
use tenure_core::{End, Input, Loss, Waiting};

use crate::stage::{Stage, X, config, ms};

const NOTHING: Duration = Duration::ZERO;

fn led(nodes: usize) -> Stage {
    Stage::led(nodes, Mode::AtMostOne)
}

/// In the text and in the later NELI, a process leads after a stop of longer than S + T. The
/// process then reads records that are milliseconds old, and its client reports the loss only a
/// session later.
#[test]
fn stopped_owner_leads_no_more() {
    for (session, more) in [(6_000, 12_000), (6_500, 5_000)] {
        let mut stage = led(2);
        (0..2).for_each(|node| stage.nodes[node].again = true);
        stage.nodes[0].stopped = true;
        stage.pass(ms(session));
        stage.assign(1, &[0]);
        stage.pass(ms(more));
        assert_eq!(stage.leaders(X), [1]);
        stage.go_on(0);
        stage.pass(ms(6_000));
        assert_eq!(stage.overlap(), NOTHING);
        // The owner hears of its loss only now.
        stage.lose(0, &[0]);
        stage.pass(ms(12_000));
        assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![1]));
    }
}

/// Process 1 is assigned the partition, and process 0 does not hear of its loss. Kafka does so when
/// a second client has the same static id, and when an application stalls for longer than R.
#[test]
fn replaced_owner_leads_no_more() {
    let mut stage = led(2);
    stage.assign(1, &[0]);
    stage.pass(ms(200));
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reassigned)));
    let by = Some(stage.who(1));
    let void = OwnEvent::ClaimVoid { partition: Partition(0), why: Void::Claimed { by } };
    assert_eq!(stage.told_own(0, &void), 1);
    stage.pass(ms(10_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![1]));
}

/// Process 0 wakes, reads the records of the pause, and then hears that its session is over.
/// Process 0 does not take the partition back from process 1.
#[test]
fn resumed_owner_leaves_its_successor_alone() {
    let mut stage = led(2);
    stage.nodes[0].again = true;
    stage.nodes[0].stopped = true;
    stage.pass(ms(6_000));
    stage.assign(1, &[0]);
    stage.pass(ms(12_000));
    let since = stage.now;
    stage.go_on(0);
    stage.pass(ms(400));
    stage.lose(0, &[0]);
    stage.pass(ms(6_000));
    assert_eq!((stage.claims(0, since), stage.ended(1, X)), (0, None));
}

#[test]
fn new_assignment_needs_new_claim() {
    let mut stage = led(2);
    stage.nodes[0].again = true;
    let lost = stage.now;
    stage.lose(0, &[0]);
    stage.assign(1, &[0]);
    stage.pass(ms(3_000));
    stage.assign(0, &[0]);
    stage.pass(ms(2_500));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![]));
    assert!(stage.claims(0, lost) > 0);
}

/// Process 0 reads records of process 1, but none of its own.
#[test]
fn foreign_records_are_no_evidence() {
    let mut stage = led(2);
    stage.nodes[0].own.holds_back = true;
    stage.pass(ms(3_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.pass(ms(1_200));
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
}

/// The process reads each record at least 1.5 s after its send, and T counts from the send.
#[test]
fn evidence_counts_from_when_it_was_sent() {
    let mut stage = led(1);
    stage.delay = ms(1_500);
    stage.pass(ms(5_000));
    for _ in 0..20 {
        stage.pass(ms(97));
        let tenure_core::Standing::Leading { until, .. } = stage.standing(0, X) else { continue };
        let left = until.since(stage.clock(0));
        assert!(left <= ms(2_500), "{left:?}");
    }
}

/// Process 0 leads and is stopped. Process 1 is assigned its partition at once, and leads after a
/// wait. `rates` are the rates of their clocks.
fn taken_from_one_that_is_stopped(rates: [i64; 2]) -> Stage {
    let drift = if rates == [0, 0] { "0.001" } else { "0.1" }.parse().unwrap();
    let of = |node| Config { drift, ..config(node, Mode::AtMostOne) };
    let mut stage = Stage::with(vec![of(0), of(1)]);
    for (node, rate) in rates.into_iter().enumerate() {
        stage.nodes[node].clock.run_fast(rate);
        stage.campaign(node, X);
    }
    stage.assign(0, &[0]);
    stage.assign(1, &[]);
    stage.pass(ms(9_000));
    assert_eq!(stage.leaders(X), [0]);
    // Stop process 0 just after it has read a record of its own: its claim then holds for all of T.
    let until = |stage: &Stage| format!("{:?}", stage.standing(0, X));
    let before = until(&stage);
    stage.until(ms(1_000), |stage| until(stage) != before);
    stage.nodes[0].stopped = true;
    stage.assign(1, &[0]);
    stage.pass(ms(12_000));
    assert_eq!(stage.leaders(X), [1]);
    stage
}

#[test]
fn claimant_waits_for_earlier_leader() {
    let stage = taken_from_one_that_is_stopped([0, 0]);
    assert_eq!(stage.overlap(), NOTHING);
    // The claimant leads soon after the end of the earlier leader.
    assert!(stage.gap() < ms(200), "{:?}", stage.gap());
}

/// The clock of the leader runs slow and that of the claimant fast, then the other way round.
#[test]
fn a_claimant_waits_for_the_slowest_leader() {
    assert_eq!(taken_from_one_that_is_stopped([-100, 100]).overlap(), NOTHING);
    assert_eq!(taken_from_one_that_is_stopped([100, -100]).overlap(), NOTHING);
}

/// The producer of process 1 holds the claim back while process 0 leads. Process 0 is stopped just
/// before the claim is appended.
#[test]
fn grace_period_counts_from_read_back() {
    let mut stage = led(2);
    stage.nodes[1].own.holds_back = true;
    stage.assign(1, &[0]);
    stage.pass(ms(3_500));
    assert_eq!(stage.leaders(X), [0]);
    stage.nodes[0].stopped = true;
    stage.let_go(1);
    stage.pass(ms(12_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![1]));
}

/// The leader has a longer T. The claimant hears of this T only while its own claim is on its way.
#[test]
fn claimant_waits_for_longest_takeover() {
    let longer = Config { takeover: ms(12_000), ..config(0, Mode::AtMostOne) };
    let mut stage = Stage::with(vec![longer, config(1, Mode::AtMostOne)]);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.assign(0, &[0]);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.nodes[1].own.holds_back = true;
    stage.assign(1, &[0]);
    stage.pass(ms(2_000));
    let told =
        |stage: &Stage| stage.told(1, |event| matches!(event, Event::Own(OwnEvent::Unlike { .. })));
    assert_eq!(told(&stage), 1, "of one that has other terms it is told once");
    stage.nodes[0].stopped = true;
    stage.let_go(1);
    stage.pass(ms(11_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![0]));
    stage.pass(ms(3_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![1]));
    assert_eq!(told(&stage), 1);
}

/// Processes with a longer T write records, and the claimant can remember only one other process.
#[test]
fn claimant_waits_for_unremembered_process() {
    let mut alone = config(0, Mode::AtMostOne);
    alone.limits.processes = 1;
    let mut stage = Stage::with(vec![alone]);
    stage.stand(0, X, &[0]);
    stage.pass(ms(100));
    for (life, takeover) in [(1, 6_000), (2, 20_000), (3, 8_000)] {
        let mut other = stage.stranger(Kind::Beat);
        (other.sender.incarnation, other.terms.takeover) = (life << 96, ms(takeover));
        stage.append(0, Said::Entry(other));
    }
    stage.pass(ms(18_000));
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    let told = |event: &Event| matches!(event, Event::Own(OwnEvent::Unlike { .. }));
    assert_eq!(stage.told(0, told), 2, "of all for which there is no room the first is told");
    stage.pass(ms(4_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// Process 0 is stopped, and process 1 leads its partition. Process 0 wakes, hears after `hears`
/// that it owns nothing, and makes no claim.
fn wakes_beside_a_leader(stage: &mut Stage, hears: Duration) {
    stage.assign(1, &[0]);
    stage.pass(ms(8_000));
    assert_eq!(stage.leaders(X), [1]);
    let woke = stage.now;
    stage.hand(0, Input::Timeout);
    stage.go_on(0);
    stage.pass(hears);
    stage.lose(0, &[0]);
    stage.pass(ms(8_000));
    assert_eq!((stage.leaders(X), stage.claims(0, woke)), (vec![1], 0));
    assert_eq!(stage.ended(1, X), None);
}

/// Process 0 is stopped in its grace period, after it has read its claim back. Process 1 claims and
/// leads. Process 0 wakes, and has not read that claim yet.
#[test]
fn resumed_process_reads_before_claiming() {
    let mut stage = Stage::new(2, Mode::AtMostOne);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.assign(0, &[0]);
    stage.pass(ms(1_000));
    stage.nodes[0].stopped = true;
    stage.pass(ms(7_000));
    wakes_beside_a_leader(&mut stage, ms(50));
}

/// The claim of process 0 is void, and process 0 is stopped. Process 1 claims and leads. Process 0
/// wakes, reads that claim and records of its own, and hears only then that it owns nothing.
#[test]
fn foreign_claim_delays_own_claim() {
    let mut stage = led(2);
    stage.nodes[0].again = true;
    stage.append(0, Said::Unreadable);
    stage.pass(ms(10));
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    stage.nodes[0].stopped = true;
    wakes_beside_a_leader(&mut stage, ms(300));
}

/// While the process is stopped, its reading ends. After the stop the process reads none of its own
/// records back.
#[test]
fn resumed_process_seeks_silent_partition() {
    let mut stage = led(1);
    stage.nodes[0].again = true;
    stage.nodes[0].stopped = true;
    stage.pass(ms(4_000));
    stage.stick(0);
    stage.hand(0, Input::Timeout);
    stage.go_on(0);
    // The process waits for T, reads the partition anew, and claims; then G passes.
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// Between its stops the process runs for less than a publish interval, and reads its own records
/// of that time.
#[test]
fn resumed_process_claims_after_own_record() {
    let mut stage = led(1);
    stage.nodes[0].again = true;
    let begin = stage.now;
    for _ in 0..3 {
        stage.nodes[0].stopped = true;
        stage.pass(ms(7_000));
        stage.hand(0, Input::Timeout);
        stage.go_on(0);
        stage.pass(ms(300));
    }
    assert!(stage.claims(0, begin) > 0);
}

/// A leader with a longer T, which is stopped, and a candidate for the same role.
fn longer_led() -> Stage {
    let longer = Config { takeover: ms(16_000), ..config(0, Mode::AtMostOne) };
    let mut stage = Stage::with(vec![longer, config(1, Mode::AtMostOne)]);
    stage.stand(0, X, &[0]);
    stage.until(ms(30_000), |stage| stage.leaders(X) == [0]);
    stage
}

/// The claimant is cut off, and reads the leader's late records only after its own grace period,
/// together with its own records.
#[test]
fn late_record_extends_grace_period() {
    let mut stage = longer_led();
    stage.nodes[0].own.holds_back = true;
    stage.pass(ms(600));
    stage.nodes[0].stopped = true;
    stage.stand(1, X, &[0]);
    stage.pass(ms(300));
    stage.cut_off(1, true);
    stage.pass(ms(5_000));
    stage.let_go(0);
    stage.pass(ms(1_000));
    stage.cut_off(1, false);
    stage.pass(ms(8_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![0]));
    stage.pass(ms(8_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![1]));
}

/// The claimant heard the leader only before it stood for the role.
#[test]
fn earlier_record_extends_grace_period() {
    let mut stage = longer_led();
    stage.observe(1, X);
    stage.pass(ms(2_000));
    stage.nodes[0].stopped = true;
    stage.pass(ms(100));
    stage.stand(1, X, &[0]);
    stage.pass(ms(14_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![0]));
    stage.pass(ms(8_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![1]));
}

/// Process 0 makes no claims, and leads as long as it reads. Process 1 claims, and must not lead
/// beside process 0.
#[test]
fn claimant_waits_for_claimless_member() {
    let mut stage = Stage::with(vec![config(0, Mode::AtLeastOne), config(1, Mode::AtMostOne)]);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.assign(0, &[0]);
    stage.pass(ms(2_000));
    stage.assign(1, &[0]);
    stage.pass(ms(60_000));
    assert_eq!((stage.overlap(), stage.leaders(X)), (NOTHING, vec![0]));
    let refused = |event: &Event| {
        matches!(event, Event::Waiting(Waiting::Refused { obstacles, .. })
            if obstacles[0].label == "mode")
    };
    assert_eq!(stage.told(1, refused), 1, "it has no end that moves");
    assert!(stage.told(1, |event| matches!(event, Event::Waiting(_))) < 8);
    stage.lose(0, &[0]);
    stage.kill(0);
    stage.pass(ms(60_000));
    assert_eq!(stage.leaders(X), [1]);
}

#[test]
fn missing_record_voids_claim() {
    let mut stage = led(1);
    // The log has the claim, but the reader skips it.
    let claim = stage.stranger(Kind::Claim);
    let offset = stage.append(0, Said::Entry(claim));
    stage.skip(0, 0);
    stage.pass(ms(600));
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reset)));
    let why = Void::Jump { next: offset, came: offset + 1 };
    assert_eq!(stage.told_own(0, &OwnEvent::ClaimVoid { partition: Partition(0), why }), 1);
}

#[test]
fn unreadable_record_voids_claim() {
    let mut stage = led(1);
    stage.append(0, Said::Nothing);
    stage.pass(ms(100));
    assert_eq!(stage.leaders(X), [0], "what is not ours is no claim");
    stage.append(0, Said::Unreadable);
    stage.pass(ms(100));
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reassigned)));
    // A record with an impossible list counts as unreadable.
    let mut stage = led(1);
    let mut long = stage.stranger(Kind::Beat);
    let role = |first, last| tenure_core::nele::RoleRange {
        first: tenure_core::nele::Role(first),
        last: tenure_core::nele::Role(last),
    };
    long.stands = vec![role(2, 1)];
    stage.append(0, Said::Entry(long));
    stage.pass(ms(100));
    assert_eq!(stage.leaders(X), [0_usize; 0]);
}

/// A producer writes the process's claim twice, with another process's claim between the copies.
#[test]
fn copied_claim_hides_no_other() {
    let mut stage = led(1);
    let begin = tenure_core::Time::ZERO;
    let published = stage.published(0, begin);
    let own = published.into_iter().find(|(_, entry)| entry.kind == Kind::Claim).unwrap().1;
    let foreign = stage.stranger(Kind::Claim);
    stage.append(0, Said::Entry(foreign));
    stage.append(0, Said::Entry(own));
    stage.pass(ms(100));
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Reassigned)));
}

#[test]
fn a_claim_of_another_group_voids_nothing() {
    let mut stage = led(1);
    let mut claim = stage.stranger(Kind::Claim);
    claim.group = "h".parse().unwrap();
    stage.append(0, Said::Entry(claim));
    stage.pass(ms(1_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// Another election shares the topic, and has a group of the same name.
#[test]
fn other_election_ends_nothing() {
    for partitions in [2, 4] {
        let mut stage = led(1);
        let mut claim = stage.stranger(Kind::Claim);
        (claim.election, claim.partitions) = ("y".parse().unwrap(), partitions);
        stage.append(0, Said::Entry(claim));
        stage.pass(ms(1_000));
        assert_eq!(stage.leaders(X), [0], "{partitions}");
    }
}

/// The reading ends before it brings the claim back.
#[test]
fn broken_reading_repeats_claim_soon() {
    let broken = |stage: &mut Stage| {
        let (reading, _) = stage.reading(0, 0);
        let why = "cut off".into();
        stage.report(0, Report::Broken { partition: Partition(0), reading, why });
    };
    let assigned_anew = |stage: &mut Stage| {
        stage.revoke(0, &[0]);
        stage.assign(0, &[0]);
    };
    let ends: [&dyn Fn(&mut Stage); 2] = [&broken, &assigned_anew];
    for ends in ends {
        let mut stage = Stage::new(1, Mode::AtMostOne);
        stage.own.lag = ms(200);
        stage.stand(0, X, &[0]);
        stage.pass(ms(150));
        assert_eq!(stage.claims(0, tenure_core::Time::ZERO), 1);
        ends(&mut stage);
        let config = config(0, Mode::AtMostOne);
        // The delay of the claim, two pauses at most, G, and the delay of a record.
        let soon = config.grace_period() + 4 * config.publish_interval;
        let took = stage.until(ms(20_000), |stage| stage.leaders(X) == [0]);
        assert!(took <= soon, "{took:?}");
    }
}

/// A claim of a process without the partition would only take the partition from the owner.
#[test]
fn lost_partition_is_not_claimed() {
    for change in [Stage::lose, Stage::revoke] {
        let mut stage = led(2);
        stage.nodes[0].again = true;
        let lost = stage.now;
        change(&mut stage, 0, &[0]);
        stage.assign(1, &[0]);
        stage.pass(ms(8_000));
        assert_eq!(stage.claims(0, lost), 0);
        assert_eq!(stage.leaders(X), [1]);
    }
}

/// The process first finds the end of the partition: an earlier claim would never be read back.
#[test]
fn claim_waits_for_found_end() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.nodes[0].own.no_end = vec![0, 1];
    stage.stand(0, X, &[0]);
    stage.pass(ms(20_000));
    let begin = tenure_core::Time::ZERO;
    assert_eq!(stage.claims(0, begin), 0);
    // The process asks for the end again and again, with pauses.
    let reads = stage.asked(0, |request| matches!(request, Request::Read { .. }));
    assert!((3..30).contains(&reads), "{reads}");
    stage.nodes[0].own.no_end.clear();
    stage.pass(ms(40_000));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.claims(0, begin), 1);
}

/// The reading breaks while the claim is on its way, and goes on above the claim.
#[test]
fn unread_claim_is_repeated() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.stand(0, X, &[0]);
    let claimed = |stage: &Stage| stage.claims(0, tenure_core::Time::ZERO) == 1;
    stage.until(ms(1_000), claimed);
    let (reading, _) = stage.reading(0, 0);
    // The claim is appended, and its acknowledgement is still on the way.
    stage.pass(ms(6));
    let (partition, why) = (Partition(0), "reset".into());
    stage.report(0, Report::Broken { partition, reading, why });
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.claims(0, tenure_core::Time::ZERO), 2);
    // The process also repeats a claim without an acknowledgement.
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.nodes[0].own.holds_back = true;
    stage.stand(0, X, &[0]);
    stage.pass(ms(3_900));
    assert_eq!(stage.claims(0, tenure_core::Time::ZERO), 1, "one is under way at most");
    // The next claim comes after T and a pause.
    stage.pass(ms(1_200));
    assert_eq!(stage.claims(0, tenure_core::Time::ZERO), 2);
}

#[test]
fn failed_claim_is_repeated_after_pause() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.nodes[0].own.cannot_write = true;
    stage.stand(0, X, &[0]);
    stage.pass(ms(20_000));
    // The claim fails after 1 s, and the next one follows 0.5 to 1 s later.
    let claims = stage.claims(0, tenure_core::Time::ZERO);
    assert!((10..=13).contains(&claims), "{claims}");
    let trouble = |event: &Event| matches!(event, Event::Own(OwnEvent::Trouble { .. }));
    assert_eq!(stage.told(0, trouble), 2, "of each partition the first in a row");
    stage.nodes[0].own.cannot_write = false;
    stage.pass(ms(8_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// Without the pause, two processes that both believe they own the partition would void each
/// other's claims for ever.
#[test]
fn a_claim_is_repeated_after_a_pause() {
    let mut stage = led(1);
    stage.nodes[0].again = true;
    let claim = stage.stranger(Kind::Claim);
    stage.append(0, Said::Entry(claim));
    let begin = stage.now;
    stage.pass(ms(500));
    assert_eq!(stage.claims(0, begin), 0);
    stage.pass(ms(600));
    assert_eq!(stage.claims(0, begin), 1);
    stage.pass(ms(4_500));
    assert_eq!(stage.leaders(X), [0]);
}

/// Beats of an earlier run of this process are no evidence, and a claim of that run voids the
/// present claim.
#[test]
fn earlier_run_counts_as_foreign() {
    let mut stage = led(1);
    let mut earlier = stage.stranger(Kind::Beat);
    earlier.sender = stage.who(0);
    earlier.sender.incarnation += 1;
    stage.nodes[0].own.holds_back = true;
    for _ in 0..9 {
        earlier.number = EntryNumber(earlier.number.0 + 1);
        stage.append(0, Said::Entry(earlier.clone()));
        stage.pass(ms(500));
    }
    assert_eq!(stage.leaders(X), [0_usize; 0], "its beats are no evidence");
    let mut stage = led(1);
    earlier.kind = Kind::Claim;
    stage.append(0, Said::Entry(earlier));
    stage.pass(ms(100));
    assert_eq!(stage.leaders(X), [0_usize; 0], "its claim is another one's");
}

#[test]
fn repeated_record_counts_once() {
    let mut stage = led(1);
    let (reading, next) = stage.reading(0, 0);
    let last = stage.own.logs[0].records.last().cloned().unwrap();
    let before = stage.standing(0, X);
    assert_eq!(last.offset + 1, next);
    let records = vec![last];
    stage.report(0, Report::Records { partition: Partition(0), reading, records });
    assert_eq!(stage.ignored(0, Ignored::Repeated), 1);
    assert_eq!(stage.standing(0, X), before);
}

#[test]
fn a_campaign_says_what_it_waits_for() {
    let mut stage = Stage::new(2, Mode::AtMostOne);
    let waits = |stage: &Stage, node: usize| {
        let told = stage.nodes[node].told.iter().rev();
        let mut told = told.filter_map(|(_, event)| match event {
            Event::Waiting(waiting) => Some(waiting.clone()),
            _ => None,
        });
        told.next().unwrap()
    };
    let label = |waiting: Waiting| match waiting {
        Waiting::Connecting { obstacles } => obstacles.first().map_or("-", |first| first.label),
        other => other.label(),
    };
    stage.nodes[0].own.no_end = vec![0, 1];
    stage.campaign(0, X);
    assert_eq!(label(waits(&stage, 0)), "-");
    stage.assign(0, &[0]);
    assert_eq!(label(waits(&stage, 0)), "position");
    stage.nodes[0].own.no_end.clear();
    stage.until(ms(3_000), |stage| stage.claims(0, tenure_core::Time::ZERO) == 1);
    assert_eq!(label(waits(&stage, 0)), "claim");
    stage.pass(ms(100));
    assert_eq!(label(waits(&stage, 0)), "listening");
    stage.stand(1, X, &[1]);
    let behind = |leading, who: &str| Waiting::Behind { who: who.into(), leading };
    assert_eq!(waits(&stage, 1), behind(false, "another member"));
    stage.pass(ms(8_000));
    assert_eq!(waits(&stage, 1), behind(true, "n0"));
    let (number, partition) = (EntryNumber(1), Partition(0));
    let published = |outcome| Report::Published { number, partition, outcome };
    stage.report(1, published(Err("it timed out".into())));
    assert_eq!(label(waits(&stage, 1)), "unwritten", "it would not read the leader's end either");
    stage.report(1, published(Ok(1)));
    assert_eq!(waits(&stage, 1), behind(true, "n0"));
}

/// With an eager strategy a join revokes every partition of every process. Each role then waits for
/// a grace period, even if the owner stays the same.
#[test]
fn eager_join_costs_a_grace_period() {
    let mut stage = led(2);
    stage.nodes[0].again = true;
    let fence = stage.fence(0, X);
    stage.revoke(0, &[0]);
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    stage.assign(0, &[0]);
    let grace = config(0, Mode::AtMostOne).grace_period();
    stage.pass(grace - ms(1));
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    stage.pass(ms(3_000));
    assert_eq!(stage.leaders(X), [0]);
    assert!(stage.fence(0, X) > fence);
}

/// An operator removes a role from a running process. The other roles of its partition keep their
/// fence. The role may come back, with a later fence.
#[test]
fn removed_role_leaves_others_alone() {
    let mut stage = led(1);
    let first = stage.fence(0, X);
    stage.campaign(0, "x/2");
    stage.pass(ms(2_000));
    let other = stage.fence(0, "x/2");
    assert!(other.is_some());
    stage.command(0, X, Command::Resign);
    assert_eq!((stage.leaders(X), stage.leads(0, "x/2")), (vec![], true));
    stage.pass(ms(10_000));
    stage.campaign(0, X);
    stage.pass(ms(2_000));
    assert!(stage.leads(0, X) && stage.fence(0, X) > first);
    assert_eq!(stage.fence(0, "x/2"), other);
}
