//! The judge rejects bad journals.

use std::time::Duration;

use tenure_core::{Fence, Time};

use super::judge::{Judge, Violation, ViolationKind, moment};

fn verdict(journal: &str) -> Result<Judge, Violation> {
    let mut judge = Judge::default();
    journal.lines().try_for_each(|line| judge.read(line))?;
    Ok(judge)
}

fn wrong(journal: &str) -> ViolationKind {
    verdict(journal).err().unwrap().wrong
}

const TWO: &str = "begin 100 1 x 10 900\nchild 101 1 x 11 900\ntick 120 1 x 10 900\n\
                   tick 119 1 x 11 950\n\
                   end 130 1 x 10 950\nbegin 200 3 y 20 990\ntick 201 3 y 20 990";

#[test]
fn successive_leaders_are_right() {
    let judge = verdict(TWO).unwrap();
    assert_eq!((judge.tallies.leaderships, judge.tallies.lines), (2, 7));
    assert_eq!(judge.tallies.least_left, Some(Duration::from_nanos(780)));
    let leader = judge.current().unwrap();
    assert_eq!((leader.fence, leader.last.as_nanos(), leader.ticks), (Fence::new(3), 201, 1));
}

#[test]
fn late_lines_are_overlaps() {
    assert_eq!(wrong(&format!("{TWO}\ntick 202 1 x 11 950")), ViolationKind::Overlap);
    // The order of writes counts even if the clock contradicts it.
    assert_eq!(wrong(&format!("{TWO}\ntick 131 1 x 11 950")), ViolationKind::Overlap);
}

#[test]
fn early_clock_readings_are_overlaps() {
    for at in [200, 201] {
        assert_eq!(wrong(&format!("{TWO}\nbegin {at} 4 x 30 990")), ViolationKind::ClockOverlap);
    }
    verdict(&format!("{TWO}\nbegin 202 4 x 30 990")).unwrap();
}

#[test]
fn an_equal_fence_is_wrong() {
    assert_eq!(wrong(&format!("{TWO}\nbegin 300 3 x 30 990")), ViolationKind::SameFence);
}

#[test]
fn a_smaller_fence_is_wrong() {
    assert_eq!(wrong(&format!("{TWO}\nbegin 300 2 x 30 990")), ViolationKind::FenceWentBack);
}

#[test]
fn stale_lines_are_wrong() {
    let three = format!("{TWO}\nbegin 300 4 x 30 990\ntick 301 4 x 30 990");
    for stale in ["tick 302 1 x 10 950", "end 302 3 y 20 990"] {
        assert_eq!(wrong(&format!("{three}\n{stale}")), ViolationKind::Overlap);
    }
    assert_eq!(wrong(&format!("{three}\ntick 302 2 z 10 950")), ViolationKind::FenceWentBack);
}

#[test]
fn work_without_a_begin_is_wrong() {
    for line in ["tick 300 9 x 30 990", "child 300 9 x 30 990", "end 300 9 x 30 990"] {
        assert_eq!(wrong(&format!("{TWO}\n{line}")), ViolationKind::NeverBegan);
        assert_eq!(wrong(line), ViolationKind::NeverBegan);
    }
}

#[test]
fn work_beyond_its_lease_is_wrong() {
    let since = Time::from_nanos(5_000_000_000);
    let at = |time: Time| format!("tick {} 3 y 20 990", time.as_nanos());
    // Work for a moment beyond the lease may be the machine's fault.
    let late = format!("{TWO}\n{}\n{}", at(since), at(since.after(moment())));
    let judge = verdict(&late).unwrap();
    assert_eq!(judge.tallies.beyond, 2);
    assert_eq!(wrong(&format!("{late}\n{}", at(since.after(moment() * 2)))), ViolationKind::Beyond);
}

#[test]
fn commands_started_twice_are_wrong() {
    let found = verdict(&format!("{TWO}\nbegin 300 3 y 30 990")).err().unwrap();
    assert_eq!(found.wrong, ViolationKind::BegunTwice);
    assert!(found.to_string().contains("process 20"), "{found}");
}

#[test]
fn unreadable_lines_are_wrong() {
    for text in ["", "tick", "tock 1 1 x 1 1", "tick 1 1 x 1", "tick -1 1 x 1 1", "tick 1 1 x 1 1 "]
    {
        assert_eq!(wrong(&format!("{TWO}\n{text}\n")), ViolationKind::Unreadable);
    }
}

#[test]
fn the_longest_overlap_is_measured() {
    let mut judge = Judge::of_leaders_that_may_overlap();
    let read = |judge: &mut Judge, text: &str| {
        text.lines().try_for_each(|line| judge.read(line)).unwrap();
    };
    read(&mut judge, TWO);
    assert_eq!(judge.overlap(Time::ZERO), Duration::ZERO);
    // The first leadership goes on until 250, the second until 240.
    read(&mut judge, "tick 230 1 x 10 950\ntick 240 3 y 20 990\ntick 250 1 x 10 950");
    assert_eq!(judge.overlap(Time::ZERO), Duration::from_nanos(40));
    assert_eq!(judge.overlap(Time::from_nanos(225)), Duration::from_nanos(15));
    assert_eq!(judge.overlap(Time::from_nanos(245)), Duration::ZERO);
    let leader = judge.current().unwrap();
    assert_eq!((leader.id.as_str(), leader.ticks), ("x", 4), "whose line was the last");
    assert_eq!(judge.began_after(Fence::new(1)), Some(Time::from_nanos(200)));
    assert_eq!(judge.tallies.leaderships, 2);
    // A candidate does not overlap with itself, and a tick without the start of its leadership
    // stays a violation.
    read(&mut judge, "begin 260 7 x 40 990\ntick 261 1 x 10 950");
    assert_eq!(judge.overlap(Time::from_nanos(255)), Duration::ZERO);
    assert!(matches!(
        judge.read("tick 262 8 y 50 990"),
        Err(Violation { wrong: ViolationKind::NeverBegan, .. })
    ));
}
