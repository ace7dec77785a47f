//! Restart: a grantor's memory, and its waits without one.

use tenure_core::nerio::{Effect, Event, Ignored, OwnEvent, Record, Refusal, Request, Service};

use crate::story::*;

/// Rule 2: the grant is written before the ok leaves, and again before a repeated ok.
#[test]
fn grant_is_written_before_ok() {
    let mut s = Story::new();
    for _ in 0..2 {
        let effects = s.ask("p", "a", request(at(10)));
        let written = effects.iter().position(|e| matches!(e, Effect::Persist(Record::Grant(_))));
        let sent = effects.iter().position(|e| matches!(e, Effect::Send { .. }));
        assert!(written.unwrap() < sent.unwrap(), "{:?}", lines(&effects));
    }
}

/// Rule 2: a grant that could not be written is not confirmed, and the grantor grants nothing for a
/// while.
#[test]
fn unwritten_grant_is_not_confirmed() {
    let mut s = Story::new();
    s.letters.clear();
    s.failing = Some("a");
    let effects = s.ask("p", "a", request(at(10)));
    assert!(emitted(&effects).contains(&Event::Own(OwnEvent::DiskFailed)));
    assert!(s.letters.is_empty(), "no ok left: {:?}", s.letters);
    assert_eq!(refusal(&s.ask("p", "a", request(at(20)))), Some(Refusal::Disk));
    s.pass(ms(1_100));
    assert!(granted(&s.ask("p", "a", request(at(30)))).is_some());
}

/// A failed write of the grantor does not drop the effects of the candidate on the same node.
#[test]
fn failed_write_silences_no_candidate() {
    let mut s = Story::new();
    s.elect("a");
    let other = |request| Request { election: "y".parse().unwrap(), ..request };
    s.ask("q", "a", other(request(at(10))));
    s.slip(ms(1_000));
    s.ask("r", "a", other(request(at(10))));
    s.slip(ms(100));
    s.actor("a").claims.clear();
    s.failing = Some("a");
    let effects = s.step("a", tenure_core::Input::Timeout);
    assert!(
        emitted(&effects).contains(&Event::Own(OwnEvent::DiskFailed)),
        "r's grant could not be written"
    );
    let now = s.now("a");
    assert_eq!(s.actor("a").claims, [(now, None)], "the lapsed claim was lowered");
}

/// Rule 2: a crash of the process alone needs no quarantine: the table is restored.
#[test]
fn restart_remembers_grants() {
    let mut s = Story::new();
    let ok = granted(&s.ask("p", "a", request(at(10)))).unwrap();
    s.slip(ms(100));
    s.restart("a");
    assert!(matches!(refusal(&s.ask("q", "a", request(at(20)))), Some(Refusal::Held { .. })));
    let again = granted(&s.ask("p", "a", request(at(10)))).unwrap();
    assert_eq!((again.stamp, again.instance), (ok.stamp, ok.instance));
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(1_000));
    s.pass(ms(1_000));
    let later = granted(&s.ask("r", "a", request(at(30)))).unwrap();
    assert!(later.stamp > ok.stamp, "another boot count is later whatever the clock says");
}

/// Rule 2: another boot of the machine means quarantine, and a clock that begins anew still
/// gives later samples.
#[test]
fn a_reboot_gives_later_samples() {
    let mut s = Story::new();
    let ok = granted(&s.ask("p", "a", request(at(10)))).unwrap();
    s.reboot("a");
    s.pass(ms(2_200));
    let later = granted(&s.ask("p", "a", request(at(20)))).unwrap();
    assert!(later.stamp.clock < ok.stamp.clock && later.stamp > ok.stamp);
}

#[test]
fn failed_boot_is_written_again() {
    let mut s = Story::new();
    s.has_granted("a");
    s.slow_disks = true;
    s.restart("a");
    let (ticket, _) = s.actor("a").flushes.pop_front().unwrap();
    let effects = s.step("a", tenure_core::Input::Failed(Some(ticket)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::DiskFailed)]);
    s.pass(ms(1_000));
    s.flush_one("a");
    assert!(granted(&s.ask("p", "a", request(at(20)))).is_some());
}

/// A lost state directory is noticed even without writes, and counts as a disk that fails until a
/// flush has reached that directory.
#[test]
fn lost_directory_is_failing_disk() {
    let mut s = Story::new();
    let effects = s.step("a", tenure_core::Input::Failed(Some(tenure_core::Ticket::NONE)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::DiskFailed)]);
    assert_eq!(s.state("a").service, Service::Failing);
    s.pass(ms(1_000));
    assert_eq!(s.state("a").service, Service::Serving);
    assert_eq!(s.events("a").last(), Some(&Event::Own(OwnEvent::DiskMended)));
}

/// Before the grantor serves, no write would show that the directory is back.
#[test]
fn refound_directory_is_reported() {
    let mut s = Story::new();
    s.reboot("a");
    s.pass(ms(100));
    let none = tenure_core::Ticket::NONE;
    let effects = s.step("a", tenure_core::Input::Failed(Some(none)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::DiskFailed)]);
    s.pass(ms(1_000));
    let effects = s.step("a", tenure_core::Input::Flushed(none));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::DiskMended)]);
    assert!(matches!(s.state("a").service, Service::Quarantine { .. }));
}

/// Rule 3: a release during quarantine only moves watermarks.
#[test]
fn release_in_quarantine_moves_watermarks() {
    let mut s = Story::new();
    s.reboot("a");
    s.pass(ms(100));
    s.tell("p", "a", release(at(10)));
    assert!(matches!(refusal(&s.ask("q", "a", request(at(20)))), Some(Refusal::Quarantine { .. })));
    s.pass(ms(2_100));
    let effects = s.ask("p", "a", request(at(10)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Released))]);
    assert!(granted(&s.ask("p", "a", request(at(11)))).is_some());
}

/// A release that comes before the grantor serves is not confirmed, so its sender repeats it.
#[test]
fn early_release_is_not_confirmed() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.slow_disks = true;
    s.restart("a");
    let effects = s.tell("p", "a", release(at(10)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotServing))]);
    assert_eq!(sent(&effects).count(), 0);
    s.flush_one("a");
    s.tell("p", "a", release(at(10)));
    assert_eq!(s.holder("a"), None);
}

/// A node is a grantor and a candidate at once, and in several elections.
#[test]
fn node_is_grantor_and_candidate() {
    let mut s = Story::new();
    let election: tenure_core::ElectionName = "y".parse().unwrap();
    s.campaign("a");
    let value = "".parse().unwrap();
    let command = tenure_core::nerio::Command::Campaign { value, priority: 0 };
    s.step("a", tenure_core::Input::Command { election: election.clone(), command });
    s.run(ms(100));
    assert!(s.leads("a"));
    let actor = s.actor("a");
    let other = tenure_core::Protocol::standing(&actor.core, &election, actor.clock);
    assert!(other.is_leading());
    s.resign("a");
    s.run(ms(100));
    let actor = s.actor("a");
    let other = tenure_core::Protocol::standing(&actor.core, &election, actor.clock);
    assert!(other.is_leading() && !s.leads("a"), "each election is its own");
}
