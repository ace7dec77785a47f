//! The rules whose absence a random search does not find, or not soon: a story for each.

use tenure_core::Fence;
use tenure_core::nerio::{Effect, Event, Ignored, Message, Record, Refusal, Request};

use crate::story::*;

/// Comparing by name alone is unsafe: a delayed release of an earlier life frees a grantor
/// under its successor.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_release_of_an_earlier_life_frees_nobody() {
    let mut s = Story::new();
    let earlier = s.sender("p");
    s.restart("p");
    assert!(granted(&s.ask("p", "a", request(at(10)))).is_some());

    let effects = s.tell_as(&earlier, "a", release(at(99)));
    assert_eq!(emitted(&effects), [Event::Ignored(Ignored::NotTheHolder)]);
    assert!(matches!(refusal(&s.ask("q", "a", request(at(20)))), Some(Refusal::Held { .. })));
}

/// T_q carries a counter, strictly increasing in the grantor (section 2).
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn samples_of_one_grantor_strictly_increase() {
    let mut s = Story::new();
    let mut last = None;
    for start in 1..100 {
        let stamp = granted(&s.ask("p", "a", request(at(start)))).unwrap().stamp;
        assert_eq!(stamp.clock, at(10_000), "the clock stands still");
        assert!(last < Some(stamp), "{last:?} then {stamp}");
        last = Some(stamp);
    }
}

/// Rule 1 and section 3, step 6.1: F is never moved back while granted.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn finish_never_goes_back() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(1_000)));
    s.ask("p", "a", for_span(at(20), ms(100)));
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(1_100));
}

/// Rule 1: dropped when not refreshed for 3 refresh intervals.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_parked_request_that_is_not_refreshed_is_dropped() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(500)));
    s.slip(ms(100));
    s.ask("q", "a", request(at(20)));
    s.pass(ms(450));
    assert_eq!(s.holder("a"), None, "q was last heard of 450 ms ago, and R is 100 ms");
}

/// Rule 2: a parked request is replaced only by a higher Start.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_parked_request_is_replaced_only_by_a_higher_start() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(30)));
    s.ask("q", "a", request(at(20)));
    let effects = s.tell("p", "a", release(at(10)));
    assert_eq!(granted(&effects).unwrap().start, at(30));
}

/// Rule 2: release(s) deletes parked Starts ≤ s.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_release_deletes_what_is_parked_at_or_below_it() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(20)));
    s.ask("r", "a", request(at(30)));
    s.tell("q", "a", release(at(20)));
    s.tell("r", "a", release(at(29)));
    assert_eq!(s.state("a").waiting, 1, "q is gone, r's Start is above its release");
}

/// Rule 2 and erratum 4: no request at or below a released Start is granted, in whatever order
/// the two arrive.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_release_that_overtakes_its_request_ends_it() {
    let mut s = Story::new();
    s.tell("p", "a", release(at(10)));
    let effects = s.ask("p", "a", request(at(10)));
    assert_eq!(emitted(&effects), [Event::Ignored(Ignored::Released)]);
    assert!(granted(&s.ask("p", "a", request(at(11)))).is_some(), "a later one is granted");
}

/// Rule 4: Start, δ, T and fence flag all come from one ok, the one with the highest Start.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn start_length_sample_and_fence_come_from_one_ok() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    s.drop_all();
    s.pass(ms(100));
    let refreshed = granted(&s.deliver("p", "a")).unwrap();
    s.deliver("a", "p");
    s.deliver("p", "b");
    s.deliver("b", "p");
    let elected = s.events("p").iter().find_map(|event| match event {
        Event::Elected { timestamp, .. } => Some(timestamp.clone()),
        _ => None,
    });
    let stamps = elected.unwrap();
    let of_a = stamps.stamps().iter().find(|(instance, _)| *instance == refreshed.instance);
    assert_eq!(of_a.unwrap().1, refreshed.stamp);
}

/// Rule 1: `L = (name, inc, first Start of the attempt)`; the same leadership is accepted again.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_fence_belongs_to_one_attempt_and_not_to_a_name() {
    let mut s = Story::new();
    s.ask("p", "a", proposal(at(10), 7));
    let same = Request { first: at(10), ..proposal(at(11), 7) };
    assert!(granted(&s.ask("p", "a", same)).unwrap().accepted, "the same attempt");
    let other = Request { first: at(12), ..proposal(at(12), 7) };
    assert!(!granted(&s.ask("p", "a", other)).unwrap().accepted, "another attempt of p");
}

/// Rule 3: `fence_seen ≤ H` with H on disk before the ok leaves; if the reserve is not ready the
/// lease is granted and the fence is not accepted.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn no_fence_above_the_durable_reserve_is_accepted() {
    let mut s = Story::new();
    s.slow_disks = true;
    let effects = s.ask("p", "a", proposal(at(10), 5_000));
    assert!(!granted(&effects).unwrap().accepted);
    assert!(effects.iter().any(
        |e| matches!(e, Effect::Flush(_, Record::Reserve { high }) if *high >= Fence::new(5_000))
    ));
    s.flush_one("a");
    assert!(granted(&s.ask("p", "a", proposal(at(20), 5_000))).unwrap().accepted);
}

/// Rule 4: without a disk it reads the fences of a full quorum that does not contain itself,
/// takes the maximum, and grants nothing before.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_grantor_without_memory_reads_the_fences_of_a_quorum() {
    let mut s = Story::new();
    s.ask("p", "b", proposal(at(10), 7));
    s.ask("q", "c", proposal(at(10), 9));
    s.lose_disk("a");
    s.drop_all();
    s.pass(ms(2_200));
    assert_eq!(refusal(&s.ask("r", "a", request(at(30)))), Some(Refusal::Recovering));
    s.deliver("a", "b");
    s.deliver("b", "a");
    assert_eq!(refusal(&s.ask("r", "a", request(at(31)))), Some(Refusal::Recovering), "b alone");
    s.deliver("a", "c");
    s.deliver("c", "a");
    assert_eq!(s.state("a").seen, Fence::new(9));
    assert!(granted(&s.ask("r", "a", request(at(32)))).is_some());
}

/// Rule 4: recovering members do not answer reads, so with three grantors two such restarts at
/// once stop the election.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_recovering_grantor_does_not_answer_reads() {
    let mut s = Story::new();
    s.lose_disk("a");
    s.lose_disk("b");
    s.run(ms(10_000));
    assert_eq!(refusal(&s.ask("p", "a", request(at(30)))), Some(Refusal::Recovering));
    assert_eq!(refusal(&s.ask("p", "b", request(at(30)))), Some(Refusal::Recovering));
}

/// Rule 4: the read begins after the quarantine has *ended*: what an ok of the life before still
/// completes must have been seen by those who are read.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn the_read_begins_after_the_quarantine_has_ended() {
    let mut s = Story::new();
    s.lose_disk("a");
    let reads =
        |s: &Story| s.letters.iter().filter(|l| matches!(l.message, Message::FenceRead(_))).count();
    s.timers();
    s.step("a", tenure_core::Input::Timeout);
    s.pass(ms(2_199));
    assert_eq!(reads(&s), 0, "leases that it has forgotten may still complete with a new fence");
    s.pass(ms(1));
    assert_eq!(reads(&s), 2);
}

/// Nothing is promised after `E := C`.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn nothing_is_promised_after_the_claim_was_lowered() {
    let mut s = Story::new();
    s.elect("p");
    s.resign("p");
    assert!(remainder(&s.tell("q", "p", verify(at(7)))).unwrap().remaining.is_zero());
}

/// The answer is bound to the asker's (name, inc) and Start.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn an_answer_is_bound_to_the_life_of_its_asker() {
    let mut s = Story::new();
    s.elect("p");
    s.verify("q", "p");
    s.deliver("q", "p");
    let answer = s.take("p", "q");
    s.restart("q");
    s.verify("q", "p");
    s.put(&answer[0]);
    assert!(
        !s.events("q").iter().any(|event| matches!(event, Event::Verified { .. })),
        "an answer to an earlier life was believed: {:?}",
        s.events("q")
    );
}

/// Rule 1: `(1 + ρ)·δ_max` on its own clock from a sample taken when it starts; nobody is
/// granted meanwhile.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_quarantine_lasts_one_plus_rho_times_delta_max() {
    let mut s = Story::new();
    s.reboot("a");
    s.pass(ms(2_199));
    let remaining = std::time::Duration::from_millis(1);
    assert_eq!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Quarantine { remaining }));
    s.pass(ms(1));
    assert!(granted(&s.ask("p", "a", request(at(11)))).is_some());
}

/// Rule 1: δ_max is the largest ever configured.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn delta_max_is_the_largest_ever_configured() {
    let mut s = Story::new();
    let mut lower = config(&GRANTORS);
    lower.delta_max = ms(1_000);
    s.config = lower.check().unwrap();
    s.reboot("a");
    s.pass(ms(2_199));
    assert!(matches!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Quarantine { .. })));
    s.reboot("a");
    s.pass(ms(2_199));
    assert!(matches!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Quarantine { .. })));
}

/// Rule 1: not even the current leader (two leaders otherwise).
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_quarantine_holds_for_the_leader_too() {
    let mut s = Story::new();
    s.elect("p");
    s.reboot("a");
    let renewal = Request { leading: true, ..request(at(99_000)) };
    assert!(matches!(refusal(&s.ask("p", "a", renewal)), Some(Refusal::Quarantine { .. })));
}
