//! Each rule that has a story by hand is broken once, and its story must notice.

use tenure_core::nele::planted::{RULES, Rule};
use tenure_testkit::planted::{Story, by_hand_has_its_story, stories_notice};

use crate::{claiming, fencing, leaving, observing, owning, text, topic, wild};

/// Further stories about rules that have one: what is known to go wrong with the rules of others.
const FURTHER: &[Story] = &[
    (Rule::TheText.row(), claiming::an_owner_that_is_replaced_at_once_and_not_told_leads_no_more),
    (Rule::TheLaterNeli.row(), claiming::an_owner_that_was_stopped_leads_no_more_although_it_reads),
    (Rule::FenceOnce.row(), fencing::a_leadership_that_ran_out_comes_back_with_another_fence),
    (
        Rule::GraceOfEpoch.row(),
        fencing::a_claim_of_a_later_epoch_waits_anew_for_those_with_a_longer_t,
    ),
    (Rule::MissedUnknown.row(), observing::one_without_room_for_a_role_does_not_know_a_vacancy),
    (Rule::MissedUnknown.row(), observing::one_whose_other_reading_brings_nothing_missed_something),
    (Rule::SilentReadAnew.row(), owning::what_brings_nothing_is_read_anew_where_nobody_stands),
];

/// Which story notices which rule.
const STORIES: &[Story] = &[
    (Rule::TheText.row(), claiming::an_owner_that_was_stopped_leads_no_more_although_it_reads),
    (Rule::TheLaterNeli.row(), claiming::an_owner_whose_heartbeat_lay_unread_leads_no_more),
    (Rule::ClaimedAnew.row(), claiming::a_partition_that_is_assigned_anew_is_claimed_anew),
    (
        Rule::ForeignClaimVoids.row(),
        claiming::an_owner_that_is_replaced_at_once_and_not_told_leads_no_more,
    ),
    (Rule::EvidenceIsOwn.row(), claiming::what_others_write_is_no_evidence),
    (Rule::EvidenceFromSent.row(), claiming::evidence_counts_from_when_it_was_sent),
    (Rule::Grace.row(), claiming::a_claimant_waits_until_an_earlier_leader_has_ended),
    (Rule::GraceFromReadBack.row(), claiming::a_claimant_waits_from_when_its_claim_is_read_back),
    (Rule::GraceIsWhole.row(), claiming::a_claimant_waits_until_an_earlier_leader_has_ended),
    (Rule::GraceByAnyClock.row(), claiming::a_claimant_waits_for_the_slowest_leader),
    (Rule::GraceOfAll.row(), claiming::a_claimant_waits_for_the_longest_t_of_its_group),
    (Rule::Contiguous.row(), claiming::a_record_that_is_missing_may_be_a_claim),
    (Rule::UnreadableVoids.row(), claiming::a_record_that_cannot_be_read_may_be_a_claim),
    (Rule::ClaimReadOnce.row(), claiming::a_copy_of_the_own_claim_hides_no_other),
    (Rule::ClaimsByGroup.row(), claiming::a_claim_of_another_group_voids_nothing),
    (Rule::ClaimsByElection.row(), claiming::what_another_election_says_ends_nothing),
    (Rule::ClaimsAssigned.row(), claiming::one_that_has_lost_its_partition_claims_nothing),
    (Rule::ClaimsAfterPosition.row(), claiming::a_claim_is_made_after_the_end_was_found),
    (Rule::ClaimMissed.row(), claiming::a_claim_that_is_not_read_back_is_made_again),
    (Rule::KeptIsKnown.row(), claiming::a_claim_of_a_reading_that_broke_is_made_again_soon),
    (Rule::ClaimsSpaced.row(), claiming::a_claim_is_repeated_after_a_pause),
    (Rule::AwakeHearsFirst.row(), claiming::one_that_was_stopped_hears_before_it_claims),
    (Rule::FenceOnce.row(), fencing::a_role_that_is_resigned_and_stood_for_again_has_another_fence),
    (
        Rule::FenceOfEpoch.row(),
        fencing::a_role_that_is_stood_for_after_a_truncation_is_claimed_anew,
    ),
    (Rule::GraceOfEpoch.row(), fencing::a_claim_of_a_later_epoch_waits_anew),
    (Rule::FenceHasEpoch.row(), fencing::fences_grow_across_a_truncation),
    (Rule::FenceFromLedger.row(), fencing::fences_grow_from_process_to_process),
    (Rule::FenceBounded.row(), fencing::without_a_fence_nobody_leads),
    (Rule::RefreshAssigned.row(), owning::what_is_not_assigned_is_not_refreshed),
    (Rule::StandingNotGated.row(), owning::a_partition_that_changes_hands_is_led_throughout),
    (Rule::AnyGroupRefreshes.row(), owning::a_record_of_any_group_refreshes),
    (Rule::BacklogIsOld.row(), owning::what_was_written_before_the_end_refreshes_nothing),
    (Rule::OldReadingsDropped.row(), owning::what_was_read_under_an_earlier_assignment_is_dropped),
    (Rule::ReadAnew.row(), owning::a_reading_that_is_broken_begins_anew),
    (Rule::SilentReadAnew.row(), owning::a_reader_that_is_told_nothing_begins_anew),
    (Rule::GivenBack.row(), owning::what_is_revoked_is_given_back_and_what_is_lost_is_not),
    (Rule::LowersFirst.row(), owning::in_at_most_one_it_is_given_back_when_it_is_led_no_more),
    (Rule::AsksTheClock.row(), owning::whether_it_leads_is_a_question_to_the_clock),
    (Rule::PartitionsFixed.row(), topic::another_number_of_partitions_ends_everything),
    (Rule::PartitionsAlike.row(), topic::a_process_that_counts_other_partitions_ends_everything),
    (Rule::TopicSame.row(), topic::another_topic_of_the_same_name_ends_everything),
    (Rule::LeadsOn.row(), leaving::a_clean_close_leaves_the_group_first_and_leads_on),
    (Rule::StopsThenLeaves.row(), leaving::in_at_most_one_everything_ends_before_the_group_is_left),
    (Rule::LeftIsLeft.row(), leaving::one_that_has_left_is_assigned_nothing),
    (Rule::LeavesInTime.row(), leaving::to_leave_takes_no_longer_than_r),
    (Rule::NoneDriesUp.row(), text::s4_each_process_writes_to_all_partitions_again_and_again),
    (Rule::RolesWrap.row(), text::s9_role_j_is_led_through_partition_j_mod_m),
    (Rule::UnfilledTold.row(), leaving::an_owner_says_which_roles_it_leaves_without_a_leader),
    (Rule::SameHostTold.row(), observing::two_groups_on_one_host_are_told),
    (Rule::VacantKnown.row(), observing::vacant_is_said_when_nobody_can_lead_who_was_not_heard),
    (Rule::MissedUnknown.row(), observing::one_whose_reading_breaks_does_not_know_a_vacancy),
    (Rule::SeekElsewhere.row(), observing::one_that_cannot_read_a_partition_reads_the_next),
    (Rule::LeaverSaysSo.row(), observing::one_that_leaves_is_shown_no_more),
    (Rule::AskedAgainTold.row(), observing::one_that_asks_again_is_told_that_nothing_is_known),
    (Rule::SilentGone.row(), observing::one_that_is_heard_no_more_is_shown_no_more),
    (
        Rule::HeardByItsTerms.row(),
        observing::one_with_a_longer_t_is_shown_for_as_long_as_it_may_lead,
    ),
    (Rule::OtherElections.row(), observing::of_groups_that_share_only_the_topic_nothing_is_shown),
    (Rule::DeafUnknown.row(), observing::one_that_hears_nothing_knows_nothing),
    (Rule::KeptStays.row(), owning::who_keeps_a_partition_is_not_disturbed),
];

#[test]
fn planted_bugs_are_noticed() {
    stories_notice(STORIES);
    stories_notice(FURTHER);
    if std::env::var_os("TESTS_LONG").is_some() {
        wild_runs_that_go_wrong();
    }
}

#[test]
fn every_rule_by_hand_has_its_story() {
    by_hand_has_its_story(STORIES, RULES);
}

/// How often at random two lead, or fences fall, without a rule: for the eye.
#[expect(clippy::print_stdout, reason = "it prints")]
fn wild_runs_that_go_wrong() {
    const RUNS: u64 = 200;
    let safety = RULES.iter().filter(|rule| rule.source.contains("ruling 1"));
    for rule in safety {
        let _broken = rule.break_it();
        println!("{:20} {:4} of {RUNS}", rule.name, wild::goes_wrong(RUNS));
    }
}
