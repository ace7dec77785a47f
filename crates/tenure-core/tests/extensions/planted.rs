//! Each rule that has a story by hand is broken once, and its story must notice.

use tenure_core::nerio::planted::{RULES, Rule};
use tenure_core::planted;
use tenure_testkit::planted::{Story, by_hand_has_its_story, stories_notice};

use crate::directed::{
    clocks, disk, fence, founding, identity, maxima, memories, next, observe, orders, parked,
    restart, verification, waiting,
};

/// Which story notices which rule of rounding.
const ROUNDING: &[Story] = &[
    (planted::Rule::ShrinkRoundsDown.row(), clocks::what_a_claimant_counts_on_rounds_down),
    (planted::Rule::StretchRoundsUp.row(), clocks::what_a_grantor_holds_rounds_up),
];

/// Which story notices which rule.
const STORIES: &[Story] = &[
    (Rule::FinishGrows.row(), parked::finish_never_goes_back),
    (Rule::StrictSamples.row(), clocks::samples_of_one_grantor_strictly_increase),
    (Rule::StartGrows.row(), clocks::a_start_is_never_used_twice),
    (Rule::StandingAsked.row(), clocks::a_claim_ends_without_a_timer),
    (Rule::DisjointIsError.row(), clocks::timestamps_of_different_memories_have_no_order),
    (Rule::ContradictionIsError.row(), clocks::timestamps_that_contradict_each_other_have_no_order),
    (Rule::ReleaseConfirmed.row(), next::nothing_new_is_asked_for_before_the_release_is_confirmed),
    (Rule::ParkedByIncarnation.row(), identity::a_new_incarnation_waits_beside_the_one_before),
    (
        Rule::WatermarkByIncarnation.row(),
        identity::what_an_earlier_incarnation_released_binds_no_later_one,
    ),
    (Rule::ReleaseByIncarnation.row(), identity::a_release_of_an_earlier_incarnation_frees_nobody),
    (Rule::NameContested.row(), identity::a_name_that_two_incarnations_use_at_once_is_reported),
    (Rule::NameStaysShared.row(), identity::that_a_name_is_shared_is_said_steadily),
    (Rule::OneAddress.row(), identity::one_incarnation_from_two_addresses_keeps_the_first),
    (Rule::ReleaseFromAddress.row(), identity::one_incarnation_from_two_addresses_keeps_the_first),
    (Rule::AnswerBound.row(), identity::an_answer_to_an_earlier_incarnation_is_not_for_this_one),
    (Rule::OkFromMember.row(), identity::an_ok_that_does_not_come_from_the_grantor_is_dropped),
    (Rule::LeaseFromArrival.row(), parked::the_lease_of_a_parked_request_counts_from_its_arrival),
    (Rule::ParkedLeaseEnds.row(), parked::a_parked_request_whose_lease_would_be_over_is_dropped),
    (Rule::ParkedExpires.row(), parked::a_parked_request_that_is_not_refreshed_is_dropped),
    (Rule::ParkedBounded.row(), parked::parked_requests_are_bounded),
    (Rule::LowestEvicted.row(), parked::parked_requests_are_bounded),
    (Rule::EarlyBounded.row(), parked::releases_of_strangers_take_no_room_of_elections),
    (Rule::EarlyApart.row(), parked::releases_of_strangers_take_no_room_of_elections),
    (Rule::ChecksAgain.row(), parked::the_checks_run_again_on_unparking),
    (Rule::ParkedGrows.row(), parked::a_parked_request_is_replaced_only_by_a_higher_start),
    (Rule::ReleaseUnparks.row(), parked::a_release_deletes_what_is_parked_at_or_below_it),
    (Rule::GrantedStartGrows.row(), parked::an_older_duplicate_does_not_lower_the_granted_start),
    (Rule::RepeatKeepsFinish.row(), parked::the_highest_start_granted_counts),
    (Rule::OneOk.row(), parked::start_length_sample_and_fence_come_from_one_ok),
    (Rule::Watermark.row(), parked::a_release_that_overtakes_its_request_ends_it),
    (Rule::Tombstone.row(), parked::a_start_that_has_lapsed_is_not_granted_again),
    (Rule::LapsedNotParked.row(), parked::a_start_that_lapsed_just_now_does_not_wait),
    (Rule::NextFirst.row(), next::a_release_hands_over_to_next),
    (Rule::NextOnce.row(), next::next_does_not_outlive_the_holder_who_said_it),
    (Rule::CommonOrder.row(), next::the_common_order_is_not_the_order_of_arrival),
    (
        Rule::WaitersFirst.row(),
        parked::those_who_wait_go_before_a_newcomer_even_if_the_timer_is_late,
    ),
    (Rule::LeaderFirst.row(), next::a_leader_goes_before_those_who_do_not_lead),
    (Rule::PriorityFirst.row(), next::the_higher_priority_goes_first),
    (Rule::ShortFirstLease.row(), next::the_first_lease_is_short_and_renewed_at_once),
    (Rule::RenewedAtOnce.row(), next::the_first_lease_is_short_and_renewed_at_once),
    (Rule::NextHeard.row(), next::one_who_was_not_heard_of_lately_is_not_named),
    (Rule::YieldHopeless.row(), next::a_candidate_that_may_still_win_does_not_yield),
    (Rule::YieldOutranked.row(), next::all_but_the_highest_yield_and_to_it),
    (Rule::YieldNews.row(), next::an_older_refusal_is_no_reason_to_yield),
    (Rule::YieldRenewed.row(), next::nobody_yields_to_a_leader_that_does_not_renew),
    (Rule::YieldWithoutLost.row(), next::nobody_waits_for_a_grantor_that_is_silent),
    (Rule::YieldWaits.row(), next::what_was_yielded_is_not_asked_for_again_at_once),
    (Rule::YieldEnds.row(), next::what_was_yielded_is_asked_for_when_the_rival_has_gone),
    (Rule::YieldNamesNext.row(), next::all_but_the_highest_yield_and_to_it),
    (Rule::FenceOwner.row(), fence::a_fence_belongs_to_one_attempt_and_not_to_a_name),
    (Rule::RefusalRaisesNothing.row(), fence::refusals_report_what_was_seen_and_never_raise_it),
    (Rule::ProposesNext.row(), fence::one_round_trip_is_normal),
    (Rule::WithinReserve.row(), fence::no_fence_above_the_durable_reserve_is_accepted),
    (Rule::ReserveDurable.row(), fence::no_fence_above_the_durable_reserve_is_accepted),
    (Rule::FenceRead.row(), fence::a_grantor_without_memory_reads_the_fences_of_a_quorum),
    (Rule::ReadOthers.row(), fence::a_grantor_without_memory_reads_the_fences_of_a_quorum),
    (Rule::ReadMaximum.row(), fence::a_grantor_without_memory_reads_the_fences_of_a_quorum),
    (Rule::ReadRaisesAll.row(), fence::what_was_read_counts_for_elections_that_a_release_opened),
    (Rule::ReadAfterQuarantine.row(), fence::the_read_begins_after_the_quarantine_has_ended),
    (Rule::ReadBeforeGrant.row(), fence::a_grantor_without_memory_reads_the_fences_of_a_quorum),
    (Rule::ReserveAfterRead.row(), fence::a_restart_during_the_read_reads_again),
    (Rule::RecoveringSilent.row(), fence::a_recovering_grantor_does_not_answer_reads),
    (Rule::AnswerHasFloor.row(), fence::an_answer_covers_elections_that_were_forgotten),
    (Rule::FloorRises.row(), fence::an_evicted_election_leaves_its_fence_behind),
    (Rule::FenceReach.row(), fence::a_proposal_too_far_ahead_is_refused),
    (Rule::TooFarClimbs.row(), fence::grantors_whose_fences_are_far_apart_come_together),
    (Rule::OneReserve.row(), fence::one_reserve_at_a_time_is_on_its_way),
    (Rule::SentReserveKept.row(), disk::a_record_that_is_not_written_takes_no_reserve_back),
    (Rule::VerifyMax.row(), verification::the_answer_is_what_is_left_less_the_drift),
    (Rule::VerifyBound.row(), verification::an_answer_is_bound_to_the_incarnation_of_its_asker),
    (Rule::VerifyEach.row(), verification::each_of_two_verifications_is_answered_for_itself),
    (Rule::VerifyEnds.row(), verification::nothing_is_promised_after_the_claim_was_lowered),
    (Rule::BootDurable.row(), restart::nothing_is_granted_before_the_boot_is_durable),
    (Rule::QuarantineStretches.row(), restart::a_quarantine_lasts_one_plus_rho_times_delta_max),
    (Rule::QuarantineNotShrunk.row(), restart::a_quarantine_lasts_one_plus_rho_times_delta_max),
    (Rule::QuarantineForAll.row(), restart::a_quarantine_holds_for_the_leader_too),
    (Rule::DeltaMaxEver.row(), restart::delta_max_is_the_largest_ever_configured),
    (Rule::DeltaMaxOfOthers.row(), maxima::a_lost_memory_waits_for_the_longest_lease_of_others),
    (Rule::RaiseWaits.row(), maxima::a_larger_delta_max_is_answered_at_once_and_given_later),
    (Rule::FullLeaseFits.row(), maxima::a_first_lease_is_given_only_if_a_full_one_may_follow),
    (
        Rule::TooLongYields.row(),
        maxima::a_candidate_with_too_long_a_lease_waits_and_is_in_nobodys_way,
    ),
    (Rule::TooLongNews.row(), maxima::an_old_refusal_gives_nothing_back),
    (
        Rule::RecordedByQuorum.row(),
        memories::an_answer_that_names_another_memory_counts_for_nothing,
    ),
    (Rule::RecordDurable.row(), memories::a_memory_is_written_down_before_the_answer),
    (Rule::EmptyTakesNoPlace.row(), memories::a_directory_that_could_not_serve_takes_no_place),
    (Rule::RecordOnlyLater.row(), memories::an_earlier_memory_never_comes_back),
    (Rule::LatestRead.row(), memories::the_word_of_an_old_memory_bounds_nothing),
    (Rule::OkNamesMemories.row(), memories::two_memories_of_a_member_elect_nobody_beside_a_leader),
    (Rule::OneMemoryEach.row(), memories::two_memories_of_a_member_elect_nobody_beside_a_leader),
    (Rule::MemoriesRead.row(), memories::what_others_have_written_down_is_taken_over),
    (Rule::FoundingByAll.row(), founding::a_quorum_founds_nothing),
    (Rule::FounderByMemory.row(), founding::another_memory_was_not_there),
    (Rule::FoundersTogether.row(), founding::founders_are_there_at_one_time),
    (Rule::FoundingAfterLeader.row(), founding::a_leader_that_is_heard_is_waited_for),
    (Rule::FoundingFloor.row(), founding::fences_go_on_when_all_directories_were_lost),
    (Rule::WithinDeltaMax.row(), restart::no_lease_is_longer_than_delta_max),
    (Rule::ViewByQuorum.row(), observe::three_holders_are_no_leader),
    (Rule::ViewByIncarnation.row(), observe::two_incarnations_of_one_name_are_no_leader),
    (Rule::ViewFromSend.row(), observe::what_an_observer_believes_counts_from_its_question),
    (Rule::ViewLongest.row(), observe::a_grantor_that_fell_silent_does_not_shorten_a_view),
    (Rule::ViewAnnounced.row(), observe::the_fence_is_the_one_that_a_quorum_names),
    (Rule::VacantByQuorum.row(), observe::one_free_grantor_is_no_vacancy),
    (Rule::VacantAtOnce.row(), observe::a_leader_that_moves_from_grantor_to_grantor_is_no_vacancy),
    (Rule::VacantSaid.row(), observe::a_vacancy_is_told),
    (Rule::RecoveringNotFree.row(), observe::a_grantor_without_memory_is_not_free),
    (Rule::Announced.row(), observe::a_candidate_that_never_won_is_no_leader),
    (Rule::AnnouncedAtOnce.row(), fence::a_fence_of_a_second_round_is_told_at_once),
    (Rule::LeavingTold.row(), waiting::one_that_a_promise_holds_up_is_not_told_as_leading),
    (Rule::WaitingByQuorum.row(), waiting::one_that_no_quorum_needs_is_not_what_is_waited_for),
    (Rule::WaitingByLastWord.row(), waiting::one_that_grants_stands_in_nobodys_way),
    (Rule::WaitingForRelease.row(), waiting::a_release_that_nobody_confirms_is_what_is_waited_for),
    (Rule::UnwrittenUntold.row(), observe::a_grant_that_could_not_be_written_is_told_to_nobody),
    (Rule::UnwrittenKept.row(), disk::however_many_records_are_missing_none_is_told),
    (Rule::WrittenAgainAlone.row(), disk::a_record_that_is_tried_again_is_alone),
    (Rule::RecordsReplaced.row(), disk::a_disk_without_room_for_a_record_renews_the_known_ones),
    (Rule::FailingSaid.row(), observe::a_grantor_that_cannot_write_is_not_free),
    (Rule::HangSaid.row(), observe::a_grantor_whose_flush_hangs_says_so),
    (Rule::StartingSaid.row(), observe::a_grantor_that_starts_with_its_memory_says_that_it_starts),
    (Rule::OrderNamesFence.row(), orders::an_order_is_for_the_leadership_that_it_names_alone),
    (Rule::OrderOnce.row(), orders::an_order_that_arrives_again_and_again_is_reported_once),
];

#[test]
fn planted_bugs_are_noticed() {
    stories_notice(ROUNDING);
    stories_notice(STORIES);
}

#[test]
fn every_rule_by_hand_has_its_story() {
    by_hand_has_its_story(STORIES, RULES);
    assert_eq!(ROUNDING.len(), planted::RULES.len());
}
