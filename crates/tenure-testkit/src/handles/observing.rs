//! What observers report.

use std::time::Duration;

use tenure::{Change, Observer, View};

use super::{Class, Group, PATIENCE, lead, soon};

/// What an observer says next of what it knows. On a machine that stops for longer than answers
/// count it may say in between that it does not know.
async fn next_known(observer: &mut Observer) -> View {
    loop {
        match soon(observer.next()).await.expect("the observer goes on") {
            Change::View(View::Unknown { .. }) | Change::Reset => {}
            Change::View(view) => return view,
            other => panic!("{other:?}"),
        }
    }
}

/// Vacant, led and vacant again; an observer that starts later gets the present state first.
pub async fn observers_are_told_who_leads<G: Group>(group: &mut G) {
    let [one, watcher] = ["one", "watcher"].map(|who| group.election(who, "x"));
    let mut observer = watcher.observe_every(Duration::from_millis(20));
    assert_eq!(next_known(&mut observer).await, View::Vacant);
    let leadership = lead(&one, "here").await;
    // It may have heard of that a moment later, and said meanwhile that it does not know, and again
    // that nobody leads.
    let first = loop {
        match next_known(&mut observer).await {
            View::Vacant => {}
            view => break view,
        }
    };
    let mut late = watcher.observe_every(Duration::from_millis(20));
    for view in [first, next_known(&mut late).await, soon(watcher.leader(PATIENCE)).await] {
        let View::Leader(leader) = view else { panic!("{view:?}") };
        assert_eq!((&*leader.id, leader.value.text().as_ref()), (leadership.id(), "here"));
        assert_eq!(leader.fence, G::Class::fence_of(&leadership));
    }
    assert!(matches!(observer.latest(), Some(View::Leader(_))));
    soon(leadership.resign()).await;
    assert_eq!(next_known(&mut observer).await, View::Vacant);
    assert_eq!(next_known(&mut late).await, View::Vacant);
}

/// It gets a reset, and then the present state.
pub async fn an_observer_that_is_slow_hears_that_it_missed_something<G: Group>(group: &mut G) {
    let [one, two, watcher] = ["one", "two", "watcher"].map(|who| group.election(who, "x"));
    let mut observer = watcher.observe_every(Duration::from_millis(10));
    let mut quick = watcher.observe_every(Duration::from_millis(10));
    soon(observer.next()).await.unwrap();
    soon(quick.next()).await.unwrap();
    for election in [one, two] {
        let leadership = lead(&election, "").await;
        while !matches!(soon(quick.next()).await, Some(Change::View(View::Leader(_)))) {}
        soon(leadership.resign()).await;
        while soon(quick.next()).await != Some(Change::View(View::Vacant)) {}
    }
    assert_eq!(soon(observer.next()).await, Some(Change::Reset));
    assert_eq!(next_known(&mut observer).await, View::Vacant);
}
