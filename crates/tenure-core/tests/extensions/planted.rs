//! Each rule of [`CAUGHT_BY_STORY`] is broken once, and its story must notice.

use std::panic::catch_unwind;

use tenure_core::nerio::planted::{CAUGHT_BY_STORY, CAUGHT_BY_WORLD, Rule, break_rule};

use crate::directed;

/// Which story notices which rule.
const STORIES: &[(Rule, fn())] = &[
    (Rule::ReleaseByLife, directed::a_release_of_an_earlier_life_frees_nobody),
    (Rule::FinishGrows, directed::finish_never_goes_back),
    (Rule::OneOk, directed::start_length_sample_and_fence_come_from_one_ok),
    (Rule::Watermark, directed::a_release_that_overtakes_its_request_ends_it),
    (Rule::ReleaseUnparks, directed::a_release_deletes_what_is_parked_at_or_below_it),
    (Rule::ParkedGrows, directed::a_parked_request_is_replaced_only_by_a_higher_start),
    (Rule::ParkedExpires, directed::a_parked_request_that_is_not_refreshed_is_dropped),
    (Rule::FenceOwner, directed::a_fence_belongs_to_one_attempt_and_not_to_a_name),
    (Rule::WithinReserve, directed::no_fence_above_the_durable_reserve_is_accepted),
    (Rule::FenceRead, directed::a_grantor_without_memory_reads_the_fences_of_a_quorum),
    (Rule::RecoveringSilent, directed::a_recovering_grantor_does_not_answer_reads),
    (Rule::ReadAfterQuarantine, directed::the_read_begins_after_the_quarantine_has_ended),
    (Rule::VerifyBound, directed::an_answer_is_bound_to_the_life_of_its_asker),
    (Rule::VerifyEnds, directed::nothing_is_promised_after_the_claim_was_lowered),
    (Rule::QuarantineStretches, directed::a_quarantine_lasts_one_plus_rho_times_delta_max),
    (Rule::QuarantineForAll, directed::a_quarantine_holds_for_the_leader_too),
    (Rule::DeltaMaxEver, directed::delta_max_is_the_largest_ever_configured),
    (Rule::StrictSamples, directed::samples_of_one_grantor_strictly_increase),
];

#[test]
fn planted_bugs_are_noticed() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut survivors = Vec::new();
    for rule in CAUGHT_BY_STORY {
        let story = STORIES.iter().find(|(other, _)| other == rule).map(|(_, story)| story);
        let story = story.unwrap_or_else(|| panic!("no story for {rule:?}"));
        assert!(catch_unwind(story).is_ok(), "the story of {rule:?} fails with the rule in force");
        let _broken = break_rule(*rule);
        if catch_unwind(story).is_ok() {
            survivors.push(*rule);
        }
    }
    drop(std::panic::take_hook());
    assert!(survivors.is_empty(), "not noticed: {survivors:?}");
}

#[test]
fn every_rule_is_planted() {
    let mut planted: Vec<u8> =
        CAUGHT_BY_WORLD.iter().chain(CAUGHT_BY_STORY).map(|rule| *rule as u8).collect();
    planted.sort_unstable();
    let all: Vec<u8> = (1..=Rule::LAST as u8).collect();
    assert_eq!(planted, all, "each rule is in one of the two lists");
}
