//! Leaders and their successors.

use std::time::Duration;

use tenure::{CampaignError, Loss, TransferError};

use super::{Class, Group, is_refused, lead, soon, stands_behind};

/// A leader stays for longer than its lease, and the waiting candidate takes over when the leader
/// resigns.
pub async fn leaders_follow_each_other<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let first = lead(&one, "1").await;
    assert!(first.is_current() && first.loss().is_none());
    assert_ne!(first.remaining(), Some(Duration::ZERO));
    soon(first.settled()).await.unwrap();
    let mut waiting = two.campaign("2");
    stands_behind(&mut waiting, first.id()).await;
    let renewals = async {
        let mut until = first.until();
        let lasts = first.remaining();
        let enough = until.zip(lasts).map(|(until, lasts)| until.after(lasts / 2));
        while until < enough {
            until = soon(first.renewed(until)).await.unwrap();
        }
    };
    if G::Class::EXCLUSIVE {
        tokio::select! {
            _ = &mut waiting => panic!("two leaders"),
            () = renewals => {}
        }
    } else {
        renewals.await;
    }
    assert!(first.is_current(), "renewed for longer than a lease");
    soon(first.resign()).await;
    assert!(!first.is_current());
    assert_eq!(first.loss(), Some(Loss::Resigned));
    let next = soon(waiting).await.unwrap();
    assert!(next.is_current() && !first.is_current());
    G::Class::expect_order(&first, &next);
    for who in ["one", "two"] {
        group.close(who).await;
    }
    assert!(!next.is_current());
    group.finish().await;
}

/// The next candidate in the order wins, and no observer sees the dropped campaign lead.
pub async fn a_dropped_campaign_is_withdrawn<G: Group>(group: &mut G) {
    let [one, two, three] = ["one", "two", "three"].map(|who| group.election(who, "x"));
    let first = lead(&one, "1").await;
    let mut dropped = two.campaign("2");
    if !G::Class::EXCLUSIVE {
        drop(dropped);
        drop(first);
        assert!(lead(&two, "2").await.is_current(), "no campaign is left that stands against it");
        return;
    }
    stands_behind(&mut dropped, first.id()).await;
    let mut last = Box::pin(three.campaign("3"));
    let short = Duration::from_millis(500);
    assert!(tokio::time::timeout(short, &mut last).await.is_err(), "two leaders");
    let mut observer = three.observe();
    soon(observer.next()).await.unwrap();
    drop(dropped);
    stands_behind(&mut last, first.id()).await;
    drop(first);
    let won = soon(last).await.unwrap();
    assert!(won.is_current());
    loop {
        let seen = soon(observer.next()).await.unwrap();
        let seen = seen.view().and_then(|view| view.leader());
        assert!(seen.is_none_or(|seen| seen.value.text() != "2"), "{seen:?}");
        if seen.is_some_and(|seen| seen.value.text() == "3") {
            break;
        }
    }
    drop(won);
    assert!(lead(&two, "2").await.is_current(), "no campaign is left that stands against it");
}

/// A dropped leadership is resigned, even if the participant is dropped with it.
pub async fn a_dropped_leadership_is_resigned<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let first = lead(&one, "1").await;
    let leader = first.leader();
    drop(first);
    assert!(!leader.is_current(), "from that instant");
    let again = lead(&one, "1 again").await;
    G::Class::expect_order(&leader, &again);
    let leader = again.leader();
    drop((again, one));
    let next = lead(&two, "2").await;
    assert!(next.is_current());
    G::Class::expect_order(&leader, &next);
}

/// A participant's second campaign is refused while the first one waits or leads, and the refusal
/// leaves the first one as it is.
pub async fn a_participant_campaigns_once_per_election<G: Group>(group: &mut G) {
    let [one, two] = ["one", "two"].map(|who| group.election(who, "x"));
    let first = lead(&one, "1").await;
    is_refused(&one).await;
    assert!(first.is_current());
    let beside = lead(&group.election("one", "y"), "1").await;
    assert!(beside.is_current());
    let mut waiting = Box::pin(two.campaign("2"));
    if G::Class::EXCLUSIVE {
        let short = Duration::from_millis(200);
        assert!(tokio::time::timeout(short, &mut waiting).await.is_err(), "two leaders");
        is_refused(&two).await;
    }
    soon(first.resign()).await;
    assert!(soon(waiting).await.unwrap().is_current(), "it kept its place");
    assert!(beside.is_current());
}

/// Values that are too long, or have control characters, are refused.
pub async fn unreadable_values_are_refused<G: Group>(group: &mut G) {
    let one = group.election("one", "x");
    for value in ["a\nb", &"x".repeat(500)] {
        let refused = soon(one.campaign(value)).await.map(drop);
        assert!(matches!(refused, Err(CampaignError::Value(_))), "{refused:?}");
    }
    assert!(lead(&one, "1").await.is_current(), "nothing of it is left");
}

/// A transfer names a waiting candidate; until that candidate leads, the leader stays.
pub async fn a_transfer_succeeds_or_is_unsupported<G: Group>(group: &mut G) {
    let [one, two, three] = ["one", "two", "three"].map(|who| group.election(who, "x"));
    let first = lead(&one, "1").await;
    let to = |who: &str| first.transfer_to(who.parse().unwrap());
    let refused = soon(to("nobody")).await;
    match G::NO_TRANSFER {
        Some(protocol) => assert_eq!(refused, Err(TransferError::Unsupported { protocol })),
        None => assert!(matches!(refused, Err(TransferError::NotWaiting { .. })), "{refused:?}"),
    }
    assert!(first.is_current(), "an error leaves it as it was");
    if G::NO_TRANSFER.is_some() {
        return;
    }
    // By priority the participant `three` would win, but the transfer names `two`.
    let named = tokio::spawn(async move { two.campaign_with("2", 1).await });
    let first_in_line = tokio::spawn(async move { three.campaign_with("3", 200).await });
    let done = soon(async {
        loop {
            match to("two").await {
                Err(TransferError::NotWaiting { .. }) => {}
                done => return done,
            }
        }
    });
    assert_eq!(done.await, Ok(()));
    assert_eq!(first.loss(), Some(Loss::Transferred));
    let won = soon(named).await.unwrap().unwrap();
    assert!(won.is_current());
    G::Class::expect_order(&first, &won);
    assert!(!first_in_line.is_finished());
    assert_eq!(soon(to("three")).await, Err(TransferError::NotLeading));
    first_in_line.abort();
}
