//! Each rule that has a story by hand is broken once, and its story must notice.

use tenure_core::etcd::planted::{RULES, Rule};
use tenure_testkit::planted::{Story, by_hand_has_its_story, stories_notice};

use crate::{campaign, leave, observe, session, terms, troubles};

/// Which story notices which rule.
const STORIES: &[Story] = &[
    (Rule::WatchPredecessor.row(), campaign::who_waits_watches_the_one_just_before),
    (Rule::LookAgain.row(), campaign::a_watch_that_is_silent_is_not_waited_for_for_ever),
    (Rule::LookNarrow.row(), campaign::who_waits_looks_at_the_one_before),
    (Rule::WaitingToldAgain.row(), campaign::who_waits_says_so_again_after_its_watch_broke),
    (Rule::WatchEnds.row(), leave::who_loses_its_place_watches_nobody),
    (Rule::ConfirmOwnKey.row(), campaign::a_win_without_the_own_key_is_none),
    (Rule::ConfirmInOne.row(), campaign::the_own_key_and_the_queue_are_looked_at_together),
    (Rule::WinByName.row(), campaign::of_two_keys_with_one_create_revision_one_leads),
    (Rule::KeysOnly.row(), campaign::of_others_only_keys_are_read),
    (Rule::DeletionsOnly.row(), campaign::of_the_one_before_only_its_deletion_is_told),
    (Rule::ProofWakes.row(), campaign::who_lacks_only_the_proof_leads_with_it),
    (Rule::MissedAsked.row(), troubles::a_leader_whose_watch_broke_looks_at_its_key),
    (Rule::ProofEndsWithKeys.row(), session::a_lease_without_keys_lasts_as_long_as_it_is_renewed),
    (Rule::MissingTtlIsEnd.row(), session::a_lost_lease_is_revoked_after_its_claims_are_lowered),
    (Rule::NoRevival.row(), session::what_comes_after_the_end_revives_nothing),
    (Rule::AliveConfirmed.row(), session::a_keep_alive_alone_is_no_proof),
    (Rule::SameTerm.row(), session::a_keep_alive_of_another_term_does_not_count),
    (Rule::ConfirmInLog.row(), terms::a_header_that_is_behind_hides_no_term),
    (Rule::TermOwnsLease.row(), terms::a_renewal_in_a_later_term_moves_no_deadline),
    (Rule::TermEstablished.row(), terms::one_header_establishes_no_term),
    (Rule::EarlierGrantLeft.row(), terms::a_grant_of_an_earlier_term_is_given_up),
    (Rule::NextLastsLonger.row(), terms::a_lease_that_ends_before_the_claim_is_not_moved_to),
    (Rule::OwnLeaseCounts.row(), terms::a_leadership_counts_from_the_lease_of_its_key),
    (Rule::MoveFromThere.row(), terms::a_move_without_an_answer_is_looked_for),
    (Rule::ProclaimStays.row(), terms::a_proclamation_leaves_the_key_on_its_lease),
    (Rule::WaitingMove.row(), terms::the_keys_of_those_who_wait_move_too),
    (Rule::FailedMoveRead.row(), terms::a_move_that_fails_shows_which_key_is_lost),
    (Rule::FoundMovedFirst.row(), terms::a_move_that_fails_leaves_the_others_first),
    (Rule::RefusedMoveSplit.row(), terms::a_move_that_is_refused_is_tried_in_parts),
    (Rule::RefusedMovePassed.row(), terms::keys_that_may_not_be_written_are_passed_over),
    (Rule::FewerOperations.row(), terms::a_server_that_takes_fewer_operations_is_asked_in_parts),
    (Rule::OldLeftEmpty.row(), terms::the_lease_before_goes_when_it_is_empty),
    (Rule::GivenEndsAll.row(), terms::a_lease_that_was_handed_in_ends_all_when_it_goes),
    (Rule::KeyAsItWas.row(), session::a_restored_store_that_has_caught_up_lacks_the_key),
    (Rule::AllConfirmLate.row(), terms::a_late_confirmation_reads_all_keys_that_have_moved),
    (Rule::LeaveRepeated.row(), leave::a_resignation_is_repeated_until_the_key_is_gone),
    (Rule::DeniedNotGone.row(), troubles::a_key_that_may_not_be_deleted),
    (Rule::LateKeySwept.row(), leave::a_key_that_comes_after_its_candidate_has_left_is_deleted),
    (Rule::LateKeyUntilLeft.row(), leave::who_has_left_is_forgotten_with_the_lease),
    (Rule::LoweredFirst.row(), session::a_lost_lease_is_revoked_after_its_claims_are_lowered),
    (Rule::LeasePositive.row(), campaign::the_id_of_a_lease_is_positive),
    (Rule::JoinInTime.row(), session::a_lease_that_may_have_ended_is_not_joined),
    (Rule::IdUsedOnce.row(), session::a_lease_of_an_id_that_may_have_ended_is_not_used),
    (Rule::CountsFromFirst.row(), session::a_lease_without_an_answer_is_as_old_as_its_first_grant),
    (Rule::JoinedNow.row(), session::a_lease_that_ended_while_it_was_asked_about_is_not_joined),
    (Rule::RevokeAfterGrant.row(), session::a_revocation_does_not_overtake_its_grant),
    (Rule::LateGrantLeft.row(), session::a_late_grant_opens_nothing),
    (Rule::NoSpaceUnsure.row(), troubles::what_is_refused_for_space_may_have_been_carried_out),
    (Rule::AdoptOwn.row(), campaign::a_key_of_an_earlier_process_is_made_anew),
    (Rule::AdoptNewer.row(), campaign::a_key_from_before_the_campaign_is_made_anew),
    (Rule::HistoryGrows.row(), session::a_store_that_went_back_ends_all),
    (Rule::RevisionBounded.row(), campaign::a_revision_beyond_the_fences_is_refused),
    (Rule::LateValueMended.row(), campaign::a_value_that_comes_late_does_not_stay),
    (Rule::MendsApart.row(), campaign::two_who_write_one_value_pause),
    (Rule::WatchFromAnswer.row(), observe::a_watch_begins_after_its_own_answer),
    (Rule::ResetExplains.row(), observe::after_a_restore_nobody_looks_without_pause),
    (Rule::LateEventsOld.row(), observe::a_late_event_does_not_hide_a_newer_answer),
    (Rule::LookExplains.row(), observe::an_event_that_overtakes_an_answer_is_not_forgotten),
    (Rule::GapTold.row(), troubles::after_a_gap_the_state_is_told_again),
    (Rule::LossKeepsLease.row(), session::losing_one_election_leaves_the_other),
    (Rule::NamesApart.row(), campaign::names_that_see_each_others_keys_are_refused),
    (
        Rule::RefusedRenewsNothing.row(),
        campaign::rights_that_are_taken_away_leave_the_lease_as_it_is,
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
