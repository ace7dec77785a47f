//! Each rule that has a story by hand is broken once, and its story must notice.

use tenure_core::voter::planted::{RULES, Rule};
use tenure_testkit::planted::{Story, by_hand_has_its_story, stories_notice};

use crate::{
    apart, available, changes, condition, drawing, founding, hostile, leasing, restart, strangers,
    vacancy,
};

/// Which story notices which rule.
const STORIES: &[Story] = &[
    (Rule::ElectorateCounts.row(), leasing::a_quorum_is_one_of_the_electorate),
    (Rule::CountsItself.row(), leasing::neither_half_of_four_leads),
    (Rule::AcceptOnce.row(), founding::one_set_is_accepted_ever),
    (Rule::FoundingChecked.row(), founding::two_networks_that_meet_never_mix_and_say_so),
    (Rule::NeverRejoin.row(), drawing::a_ballot_that_was_left_is_not_joined_again),
    (Rule::VoteStays.row(), drawing::a_number_stays_as_it_was_cast),
    (Rule::EndorseFree.row(), drawing::nobody_is_endorsed_while_a_promise_runs),
    (Rule::OnePerCounter.row(), drawing::one_counter_is_endorsed_once),
    (Rule::EndorsedDurable.row(), drawing::what_is_endorsed_is_durable),
    (Rule::TieRecast.row(), drawing::a_tie_is_drawn_again_and_endorses_nobody),
    (
        Rule::LateResults.row(),
        drawing::a_winner_that_has_joined_a_higher_ballot_takes_no_late_results,
    ),
    (Rule::FromTheCast.row(), leasing::an_endorsement_counts_from_the_winners_own_cast),
    (Rule::FromTheSend.row(), leasing::an_acknowledgement_counts_from_its_request),
    (Rule::DriftMargin.row(), leasing::a_promise_is_worth_less_by_what_clocks_may_drift),
    (Rule::PromiseAsHeld.row(), leasing::an_answer_carries_what_is_held),
    (Rule::LapseForEver.row(), leasing::a_leadership_that_has_lapsed_is_over_for_ever),
    (Rule::FreshClock.row(), leasing::a_promise_counts_from_when_its_request_arrived),
    (Rule::EchoChecked.row(), leasing::an_answer_counts_for_the_leadership_that_it_names),
    (Rule::AcknowledgeFree.row(), leasing::another_leader_is_acknowledged_when_no_promise_runs),
    (Rule::AcknowledgedDurable.row(), leasing::what_is_acknowledged_is_durable),
    (Rule::Quarantine.row(), restart::one_that_restarts_keeps_silent_for_its_longest_promise),
    (Rule::ReleaseAfterEnd.row(), restart::a_leader_that_gives_way_releases_after_its_end),
    (Rule::ReleaseExact.row(), restart::a_release_frees_from_its_leadership_alone),
    (Rule::LeaderEndorsesNobody.row(), restart::a_leader_takes_part_in_no_other_ballot),
    (Rule::StarterPolls.row(), restart::a_deaf_voter_raises_no_counter),
    (Rule::OneAtATime.row(), changes::the_electorate_changes_by_one_voter),
    (
        Rule::StoredBeforeNext.row(),
        changes::the_next_change_waits_until_a_quorum_has_stored_the_one_before,
    ),
    (Rule::NoLowerDocument.row(), changes::a_lower_electorate_than_the_own_one_is_refused),
    (Rule::RewriteOnWinning.row(), changes::a_winner_writes_the_electorate_anew),
    (Rule::SameIdentity.row(), founding::another_identity_of_a_members_id_has_no_vote),
    (Rule::AnswerOfTheAsked.row(), leasing::an_answer_counts_for_the_voter_that_was_asked),
    (Rule::LaterHeartbeats.row(), leasing::a_heartbeat_that_is_not_later_is_ignored),
    (Rule::NotByHearsay.row(), strangers::nobody_is_dropped_by_hearsay),
    (Rule::OffLineIsDoubt.row(), hostile::those_that_are_gone_leave_room_for_others),
    (Rule::OneElectorateABallot.row(), hostile::a_number_counts_under_the_electorate_of_its_ballot),
    (Rule::QuarantineOfCasts.row(), hostile::a_number_stays_as_it_was_cast_over_a_restart),
    (Rule::CountersOfMembers.row(), hostile::a_stranger_uses_up_no_counters),
    (Rule::WinnerEndorsesItself.row(), hostile::a_winner_that_has_not_counted_counts_itself),
    (Rule::EndsAreTold.row(), hostile::an_end_is_told_although_a_write_before_it_failed),
    (Rule::UnwrittenIsUndone.row(), hostile::a_claim_does_not_grow_by_what_is_not_written),
    (Rule::WithheldIsTold.row(), hostile::an_observer_is_told_what_a_failed_write_withheld),
    (
        Rule::ReleasedOnce.row(),
        hostile::a_withdrawal_does_not_say_that_the_leadership_before_is_released,
    ),
    (
        Rule::PromiseOfMember.row(),
        hostile::what_a_lost_directory_promised_is_not_counted_for_the_next_one,
    ),
    (Rule::NewcomerSpared.row(), hostile::a_newcomer_that_is_gone_takes_no_quorum_away),
    (Rule::AutoKeeps.row(), hostile::what_an_operator_takes_out_stays_out),
    (Rule::AddsWhoIsThere.row(), hostile::one_whose_directory_was_lost_is_added_when_it_answers),
    (Rule::NewcomerIsFree.row(), hostile::one_that_was_added_and_not_told_takes_part),
    (Rule::RunThatAnswers.row(), hostile::a_late_request_of_an_earlier_run_shuts_nobody_out),
    (Rule::PollsAreNoFailures.row(), hostile::after_a_long_cut_a_leader_comes_within_the_bound),
    (Rule::VacantLately.row(), hostile::what_was_heard_a_while_ago_is_no_vacancy),
    (Rule::AcceptUnmixed.row(), founding::no_set_is_accepted_while_an_id_has_two_identities),
    (
        Rule::RunsAreNoMembers.row(),
        hostile::one_whose_later_run_was_heard_has_not_lost_its_directory,
    ),
    (Rule::AnswersOfMembers.row(), hostile::one_without_a_vote_uses_up_no_counters_by_its_answers),
    (Rule::PollsOfMembers.row(), hostile::one_that_was_taken_out_while_it_asks_starts_no_ballot),
    (Rule::FailingIsNotFree.row(), condition::one_that_cannot_write_is_not_free_and_says_so),
    (Rule::FoundingIsTold.row(), founding::a_candidate_is_told_who_is_missing_at_the_founding),
    (Rule::TwinIsNoLoss.row(), condition::a_second_process_of_an_id_is_no_lost_directory),
    (Rule::ApartIsTold.row(), apart::founders_that_have_accepted_other_sets_are_told),
    (Rule::OthersMayBeMixed.row(), apart::a_voter_outside_of_the_set_blocks_no_founding),
    (Rule::ChangesCarried.row(), changes::a_healthy_voter_stays_while_another_one_is_down),
    (
        Rule::FailingCarriesNone.row(),
        changes::a_change_ends_no_leadership_that_one_that_fails_carries,
    ),
    (Rule::VacantByTheLatest.row(), vacancy::an_earlier_electorate_makes_no_vacancy),
    (Rule::VacantAtOnce.row(), vacancy::free_one_after_the_other_makes_no_vacancy),
    (Rule::VacantWhenAsked.row(), vacancy::a_newcomer_asks_before_it_says_that_nobody_leads),
    (Rule::StandsWhereItReaches.row(), drawing::who_calls_nobody_draws_no_number),
    (Rule::FoundedOtherwise.row(), apart::one_that_two_have_begun_without_can_be_added),
    (Rule::ChangesWritten.row(), changes::a_leader_that_cannot_write_changes_nothing),
    (
        Rule::ToldOfGreater.row(),
        available::the_lesser_of_two_leaders_stops_when_it_is_told_of_the_greater,
    ),
    (Rule::OtherBallotsAwaited.row(), available::who_draws_in_another_ballot_is_not_taken_for_gone),
    (Rule::FollowedEndsBallots.row(), available::who_hears_a_leader_leaves_its_ballot),
    (
        Rule::RevivedAreTold.row(),
        available::two_leaders_that_had_dropped_each_other_become_one_within_the_bound,
    ),
    (
        Rule::PollsAgainSoon.row(),
        leasing::long_heartbeats_keep_nobody_from_leading_within_the_bound,
    ),
];

#[test]
fn planted_bugs_are_noticed() {
    stories_notice(STORIES);
}

#[test]
fn every_rule_by_hand_has_its_story() {
    by_hand_has_its_story(STORIES, RULES);
}
