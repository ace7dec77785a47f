//! Joining and leaving the group (ruling 11).

use std::time::Duration;

use tenure_core::nele::{
    Change, Command, Effect, Event, Kind, Membership, Message, Mode, OwnEvent, Partition,
    RANGES_MAX, Rebalance, RebalanceId, Report, Request, Role, RoleRange, Said, Target,
};
use tenure_core::{End, Loss};

use crate::stage::{Stage, X, config, ms};

const NOTHING: Duration = Duration::ZERO;

fn joins(stage: &Stage, node: usize) -> usize {
    stage.asked(node, |request| matches!(request, Request::Join(_)))
}

fn leaves(stage: &Stage, node: usize) -> usize {
    stage.asked(node, |request| matches!(request, Request::Leave(_)))
}

fn released(stage: &Stage, node: usize) -> usize {
    stage.told(node, |event| *event == Event::Released)
}

#[test]
fn clean_close_leads_on() {
    let mut stage = Stage::led(2, Mode::AtLeastOne);
    stage.leave(0, true, false);
    stage.leave(0, true, false);
    assert_eq!(leaves(&stage, 0), 1, "asked twice, done once");
    stage.pass(ms(1_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.assign(1, &[0]);
    stage.pass(ms(30_000));
    assert_eq!((stage.gap(), stage.leaders(X)), (NOTHING, vec![1]));
    assert!(stage.overlap() <= config(0, Mode::AtLeastOne).takeover);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Resigned)));
    assert_eq!(released(&stage, 0), 1);
    assert_eq!((joins(&stage, 0), stage.nodes[0].core.is_out()), (1, true));
    // The process writes as long as it leads, and nothing after that.
    let after = stage.now;
    stage.pass(ms(10_000));
    assert_eq!(stage.published(0, after), []);
}

#[test]
fn close_without_lead_on_ends() {
    let mut stage = Stage::led(2, Mode::AtLeastOne);
    stage.campaign(0, "x/1");
    stage.leave(0, false, false);
    assert_eq!(stage.leaders(X), [0_usize; 0]);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Resigned)));
    assert_eq!(stage.ended(0, "x/1"), Some(&End::Withdrawn));
    assert_eq!(leaves(&stage, 0), 1);
}

/// The process first ends its leaderships, and then leaves the group: no other process leads before
/// the work has stopped.
#[test]
fn exclusive_leaderships_end_before_leaving() {
    for lead_on in [true, false] {
        let mut stage = Stage::led(1, Mode::AtMostOne);
        stage.leave(0, lead_on, false);
        let effects = &stage.nodes[0].own.effects;
        let lowered = effects.iter().position(|effect| matches!(effect, Effect::Lower { .. }));
        let left = effects.iter().position(|effect| match effect {
            Effect::Send { message: Message::Request(request), .. } => {
                matches!(request, Request::Leave(_))
            }
            _ => false,
        });
        assert!(lowered.is_some() && lowered < left, "{effects:?}");
        assert_eq!(stage.leaders(X), [0_usize; 0]);
        assert_eq!(released(&stage, 0), 0, "others know when it has left");
        stage.pass(ms(100));
        assert_eq!(released(&stage, 0), 1);
    }
}

/// `resign --all`: the leaderships of the process end, and it stands again for the roles of the
/// application.
#[test]
fn resign_all_leaves_and_rejoins() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        let mut stage = Stage::led(1, mode);
        stage.nodes[0].again = true;
        stage.campaign(0, "x/1");
        stage.leave(0, false, true);
        assert_eq!(stage.leaders(X), [0_usize; 0], "{mode}");
        assert_eq!(stage.ended(0, "x/1"), None, "what has not been won goes on");
        stage.pass(ms(100));
        assert_eq!((joins(&stage, 0), leaves(&stage, 0)), (2, 1), "{mode}");
        stage.assign(0, &[0, 1]);
        stage.pass(ms(6_000));
        assert!(stage.leads(0, X) && stage.leads(0, "x/1"), "{mode}");
    }
}

/// A process that has lost its last role stays a member for a while, because it may stand again
/// once its work has ended.
#[test]
fn member_lingers_after_last_loss() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    stage.stand(0, "x/1", &[1]);
    stage.pass(ms(6_000));
    stage.command(0, "x/1", Command::Resign);
    stage.pass(ms(100));
    stage.nodes[0].own.holds_back = true;
    stage.pass(ms(4_100));
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    assert_eq!(leaves(&stage, 0), 0);
    stage.pass(ms(2_000));
    assert_eq!(leaves(&stage, 0), 1);
}

/// A late rebalance of the former membership arrives.
#[test]
fn departed_member_is_assigned_nothing() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    stage.campaign(0, "x/1");
    stage.nodes[0].own.leaves_alone = true;
    stage.leave(0, false, true);
    let (since, membership) = (stage.now, Membership(1));
    let late = |id, change| {
        let (id, partitions) = (RebalanceId(id), vec![Partition(1)]);
        Report::Rebalance(Rebalance { membership, id, change, partitions })
    };
    stage.pass(ms(1));
    stage.report(0, late(10, Change::Assigned));
    stage.pass(ms(1_000));
    assert_eq!(stage.nodes[0].core.partitions().count(), 0);
    let claims = |stage: &Stage| stage.claims(0, since);
    assert_eq!(claims(&stage), 0);
    // A client that is asked to give partitions back waits for the request.
    stage.report(0, late(11, Change::Revoked));
    assert_eq!(stage.asked(0, |asked| *asked == Request::GiveBack(RebalanceId(11))), 1);
}

#[test]
fn to_leave_takes_no_longer_than_r() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    stage.nodes[0].own.leaves_alone = true;
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    stage.pass(ms(5_900));
    assert_eq!((joins(&stage, 0), released(&stage, 0)), (1, 0));
    stage.pass(ms(200));
    assert_eq!((joins(&stage, 0), released(&stage, 0)), (2, 1));
    // The late answer to the first departure does not end the second membership.
    stage.report(0, Report::Left(Membership(1)));
    stage.assign(0, &[0]);
    stage.pass(ms(6_000));
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn first_campaign_joins_last_leaves() {
    let mut stage = Stage::new(1, Mode::AtLeastOne);
    stage.pass(ms(10_000));
    assert_eq!((joins(&stage, 0), stage.published(0, tenure_core::Time::ZERO)), (0, vec![]));
    for role in [0, 1, 5] {
        stage.campaign(0, &format!("x/{role}"));
    }
    stage.pass(ms(100));
    assert_eq!(joins(&stage, 0), 1);
    let first = &stage.published(0, tenure_core::Time::ZERO)[0];
    assert_eq!(first.0, Target::Every);
    stage.assign(0, &[0, 1]);
    stage.pass(ms(1_000));
    for role in [0, 1] {
        stage.command(0, &format!("x/{role}"), Command::Resign);
        stage.command(0, &format!("x/{role}"), Command::Resign);
        assert_eq!(released(&stage, 0), role + 1, "its partition stays, and nobody else gets it");
    }
    assert_eq!(leaves(&stage, 0), 0);
    assert!(stage.leads(0, "x/5"));
    stage.command(0, "x/5", Command::Resign);
    assert_eq!((leaves(&stage, 0), released(&stage, 0)), (1, 2));
    stage.pass(ms(100));
    assert_eq!(released(&stage, 0), 3);
    let quiet = stage.now;
    stage.pass(ms(10_000));
    assert_eq!(stage.published(0, quiet), []);
}

/// After the end of its work the process stands again, or leaves.
#[test]
fn member_lingers_after_losing_all() {
    for again in [true, false] {
        let mut stage = Stage::led(1, Mode::AtMostOne);
        stage.lose(0, &[0]);
        stage.pass(ms(1_000));
        if again {
            stage.campaign(0, X);
        }
        stage.pass(ms(1_000));
        assert_eq!((joins(&stage, 0), leaves(&stage, 0)), (1, usize::from(!again)));
    }
}

/// Process 1 stands for roles of a partition that process 0 owns. Process 0 stands for none of
/// these roles.
#[test]
fn owner_reports_unfilled_roles() {
    let mut stage = Stage::led(2, Mode::AtLeastOne);
    let unfilled = |stage: &Stage| {
        let told = stage.nodes[0].told.iter().rev();
        let mut told = told.filter_map(|(_, event)| match event {
            Event::Own(OwnEvent::Unfilled { first, last, count }) => Some((*first, *last, *count)),
            _ => None,
        });
        told.next()
    };
    assert_eq!(unfilled(&stage), None);
    // Partition 1 decides on the odd roles.
    for role in 1..8 {
        stage.campaign(1, &format!("x/{role}"));
    }
    stage.pass(ms(1_000));
    assert_eq!(unfilled(&stage), Some((Some(Role(2)), Some(Role(6)), 3)));
    stage.campaign(0, "x/2");
    assert_eq!(unfilled(&stage), Some((Some(Role(4)), Some(Role(6)), 2)));
    stage.command(0, "x/2", Command::Resign);
    assert_eq!(unfilled(&stage), Some((Some(Role(2)), Some(Role(6)), 3)));
    stage.command(0, X, Command::Resign);
    assert_eq!(unfilled(&stage), Some((None, None, 0)), "it has left, and owns nothing");
    stage.pass(ms(1_000));
    stage.stand(0, X, &[0]);
    stage.pass(ms(1_000));
    assert_eq!(unfilled(&stage), Some((Some(Role(2)), Some(Role(6)), 3)));
    stage.kill(1);
    stage.pass(ms(4_000));
    assert_eq!(unfilled(&stage), Some((None, None, 0)));
}

/// A process of any group counts as a successor for as long as it could lead. A short silence ends
/// nothing, because that process may have a longer publish interval.
#[test]
fn standing_process_could_follow() {
    let mut stage = Stage::new(2, Mode::AtMostOne);
    let config = config(0, Mode::AtMostOne);
    stage.observe(0, X);
    // Process 1 writes to every partition, so no partition is silent.
    stage.campaign(1, "x/5");
    stage.pass(ms(1_000));
    let says = |stage: &mut Stage, stands: &[(u32, u32)]| {
        let range =
            |&(first, last): &(u32, u32)| RoleRange { first: Role(first), last: Role(last) };
        let mut entry = stage.stranger(Kind::Beat);
        entry.group = "green".parse().unwrap();
        entry.stands = stands.iter().map(range).collect();
        stage.append(0, Said::Entry(entry));
        stage.pass(ms(100));
    };
    let follows =
        |stage: &Stage, role| stage.nodes[0].core.has_successor(Role(role), stage.clock(0));
    assert!(!follows(&stage, 0));
    says(&mut stage, &[(0, 1), (3, 3)]);
    assert!(follows(&stage, 0) && follows(&stage, 3) && !follows(&stage, 2));
    stage.pass(config.silence());
    assert!(follows(&stage, 0), "it may write less often");
    stage.pass(config.heard_leads());
    assert!(!follows(&stage, 0), "it could lead no more");
    says(&mut stage, &[(1, 1)]);
    assert!(!follows(&stage, 0) && follows(&stage, 1));
    says(&mut stage, &[]);
    assert!(!follows(&stage, 1), "it leaves");
    let most: Vec<_> = (0..RANGES_MAX as u32).map(|range| (2 * range, 2 * range)).collect();
    says(&mut stage, &most);
    assert!(follows(&stage, 2) && !follows(&stage, 3));
    assert!(follows(&stage, 999), "more than an entry names");
}
