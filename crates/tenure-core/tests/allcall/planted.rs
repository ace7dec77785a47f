//! Each rule that has a story by hand is broken once, and its story must notice.

use std::time::Duration;

use tenure_core::allcall::planted::{RULES, Rule};
use tenure_testkit::planted::{Story, by_hand_has_its_story, stories_notice};

use crate::{asking, batches, bus, clocks, ending, joining, leading, observing, text};

/// Which story notices which rule.
const STORIES: &[Story] = &[
    (
        Rule::TheText.row(),
        joining::a_better_one_that_joins_leads_after_the_lease_and_never_beside_it,
    ),
    (Rule::InitialWait.row(), joining::one_that_joins_waits_for_leaders_that_it_has_not_heard),
    (Rule::WaitPerElection.row(), joining::it_waits_so_in_each_election),
    (
        Rule::OnlyEligible.row(),
        text::s14_a_leader_goes_on_until_the_end_of_its_term_when_a_better_one_joins,
    ),
    (Rule::AnnouncedRound.row(), text::s11_the_election_is_one_heartbeat_after_the_call),
    (Rule::AnnouncedAnew.row(), ending::one_that_campaigns_again_is_announced_again_first),
    (
        Rule::WithdrawnAnnounced.row(),
        ending::one_that_gives_up_and_campaigns_again_keeps_nobody_from_leading,
    ),
    (
        Rule::RenewOnlyBest.row(),
        text::s14_a_leader_goes_on_until_the_end_of_its_term_when_a_better_one_joins,
    ),
    (Rule::Beaten.row(), leading::a_one_way_link_leaves_one_leader),
    (Rule::BeatenByTheLiving.row(), leading::one_that_was_beaten_goes_on_when_the_other_resigns),
    (Rule::StandsByWhatItSaid.row(), leading::of_two_one_goes_on_although_it_could_not_renew),
    (
        Rule::HandOverMargin.row(),
        leading::a_leader_that_does_not_renew_stops_before_the_end_of_its_lease,
    ),
    (Rule::HandOverNamed.row(), leading::the_one_that_a_leader_hands_over_to_goes_first),
    (Rule::HandOverOnce.row(), ending::a_hand_over_that_is_repeated_ends_no_later_term),
    (
        Rule::HolderStopsEarly.row(),
        leading::a_leader_that_does_not_renew_stops_before_the_end_of_its_lease,
    ),
    (Rule::OthersWaitLonger.row(), leading::the_others_wait_until_the_skew_is_over),
    (Rule::RenewalLater.row(), clocks::a_clock_that_is_set_back_lengthens_no_lease),
    (Rule::Cap.row(), leading::a_claim_that_no_right_clock_can_have_granted_is_dropped),
    (Rule::ClockChecked.row(), clocks::one_whose_clock_is_off_does_not_go_on),
    (Rule::ClocksAsTheyAre.row(), clocks::a_clock_that_steps_after_the_answers_renews_nothing),
    (Rule::MovedOfTwo.row(), clocks::of_two_the_one_whose_clock_has_stepped_does_not_go_on),
    (Rule::OffUntilRight.row(), clocks::of_two_the_one_that_is_off_stays_so_while_boot_time_drifts),
    (
        Rule::SilenceProvesNothing.row(),
        clocks::a_clock_that_has_stepped_is_not_right_because_answers_are_lost,
    ),
    (Rule::CallsAnsweredFirst.row(), asking::one_that_may_only_ask_takes_no_answers_from_calls),
    (
        Rule::ComparedOnceALease.row(),
        clocks::one_that_need_not_call_notices_that_its_clock_has_stepped,
    ),
    (
        Rule::EndsByTheClockNow.row(),
        clocks::a_claim_that_a_wrong_clock_heard_is_believed_as_long_as_the_right_one_says,
    ),
    (Rule::DoubtedUnknown.row(), observing::unknown_is_what_one_says_whose_clock_is_off),
    (Rule::FollowedIsTold.row(), observing::unknown_is_what_one_says_that_hears_who_is_followed),
    (
        Rule::DoubtOfThatTerm.row(),
        observing::the_end_of_an_earlier_term_makes_nothing_vacant_whose_clock_is_off,
    ),
    (Rule::OtherTimesLead.row(), observing::unknown_is_what_one_says_beside_others_of_other_times),
    (Rule::StoodMayLead.row(), observing::one_that_stops_when_it_has_stood_is_not_vacant),
    (Rule::SaidItLeads.row(), observing::a_lease_that_is_over_by_a_wrong_clock_is_no_vacancy),
    (
        Rule::FollowersWordStays.row(),
        observing::a_followers_word_outlives_a_lease_that_is_over_by_a_wrong_clock,
    ),
    (Rule::VacantLately.row(), observing::one_that_was_stopped_does_not_say_what_was),
    (Rule::RelayExact.row(), leading::what_others_relay_moves_no_end_that_was_heard_first_hand),
    (Rule::RelayBeatsNobody.row(), leading::what_others_relay_beats_nobody),
    (Rule::SaidItself.row(), leading::what_others_relay_hides_nothing_that_its_leader_says_itself),
    (Rule::StandingBeatsNobody.row(), leading::of_two_that_stand_at_once_one_leads),
    (Rule::Incarnation.row(), joining::another_run_of_a_process_is_somebody_else),
    (Rule::RoundInMessage.row(), bus::an_own_call_of_an_earlier_round_proves_nothing),
    (Rule::LateReply.row(), bus::a_late_reply_shows_nobody),
    (Rule::VoidRound.row(), bus::a_void_round_elects_nobody),
    (Rule::LateRoundVoid.row(), bus::a_round_from_before_a_pause_elects_nobody),
    (Rule::KthWaits.row(), joining::the_second_best_stands_after_the_best_did_not),
    (Rule::WaitsForEach.row(), joining::of_two_that_have_listened_one_leads),
    (Rule::SameTimes.row(), joining::a_newcomer_with_other_times_refuses_to_start),
    (Rule::FreshTimes.row(), joining::a_newcomer_does_not_refuse_for_what_is_old),
    (Rule::TimesOfOurs.row(), joining::a_newcomer_takes_part_with_those_that_go_by_its_times),
    (Rule::NewcomerWhenHeard.row(), joining::of_two_newcomers_that_differ_the_first_is_joined),
    (Rule::AskersJudgeNobody.row(), asking::one_that_may_only_ask_makes_no_call_late),
    (
        Rule::ListensConnected.row(),
        joining::one_that_was_not_connected_while_it_listened_is_a_newcomer,
    ),
    (Rule::TombstoneSent.row(), ending::a_clean_stop_is_followed_within_a_heartbeat),
    (Rule::TombstoneKept.row(), ending::a_claim_that_comes_after_its_tombstone_revives_nothing),
    (
        Rule::TombstoneCarried.row(),
        ending::a_resignation_that_the_best_one_missed_reaches_it_through_others,
    ),
    (Rule::BuriedWhenFull.row(), ending::every_clean_stop_is_heard_however_many_there_are),
    (Rule::ReleasedWhenKnown.row(), ending::released_is_told_when_others_know),
    (Rule::OwnClaimHeard.row(), bus::one_that_does_not_hear_its_claim_does_not_lead),
    (Rule::FirstClaimWins.row(), leading::of_two_claims_the_one_that_is_heard_first_wins),
    (Rule::HeldOff.row(), joining::one_that_did_not_hear_itself_is_held_off),
    (Rule::TieKept.row(), joining::a_reconnection_keeps_who_one_is),
    (Rule::PartUnknown.row(), batches::a_part_of_a_batch_that_is_lost_says_nothing),
    (Rule::NewsTold.row(), observing::an_observer_is_told_within_a_round_trip_who_leads),
    (Rule::CallersRecent.row(), batches::callers_that_are_dead_do_not_count),
    (Rule::CallersAble.row(), batches::callers_that_cannot_lead_do_not_count),
    (Rule::FewAnswer.row(), batches::of_many_few_speak),
];

#[test]
fn planted_bugs_are_noticed() {
    stories_notice(STORIES);
    // What the author's later code shows at every join of a better rank, with no partition.
    let broken = Rule::TheText.row().break_it();
    let overlap = joining::a_better_one_that_joins();
    drop(broken);
    assert!(overlap > Duration::from_secs(8) && overlap < Duration::from_secs(9), "{overlap:?}");
}

#[test]
fn every_rule_by_hand_has_its_story() {
    by_hand_has_its_story(STORIES, RULES);
}
