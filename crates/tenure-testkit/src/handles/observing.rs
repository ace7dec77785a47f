//! Reports of observers.

use std::time::Duration;

use tenure::{Change, Observer, View};

use super::{Class, Group, PATIENCE, lead, soon};

/// Waits for the next state other than `Unknown`.
async fn known(observer: &mut Observer) -> View {
    loop {
        match soon(observer.next()).await.expect("the observer goes on") {
            Change::View(View::Unknown { .. }) | Change::Reset => {}
            Change::View(view) => return view,
            other => panic!("{other:?}"),
        }
    }
}

/// Waits for the next state with another leader than `before`, or without a leader. An answer is
/// valid only for a while: if the machine stands still for longer, an observer reports `Unknown`,
/// and then the old state again.
async fn known_after(before: &View, observer: &mut Observer) -> View {
    let leader = |view: &View| view.leader().map(|leader| leader.id.clone());
    loop {
        let view = known(observer).await;
        if leader(&view) != leader(before) {
            return view;
        }
    }
}

/// An observer reports vacant, led and vacant again. An observer that starts later reports the
/// present state first.
pub async fn observers_see_each_leader<G: Group>(group: &mut G) {
    let [one, watcher] = ["one", "watcher"].map(|who| group.election(who, "x"));
    let mut observer = watcher.observe_every(Duration::from_millis(20));
    assert_eq!(known(&mut observer).await, View::Vacant);
    let leadership = lead(&one, "here").await;
    let first = known_after(&View::Vacant, &mut observer).await;
    let mut late = watcher.observe_every(Duration::from_millis(20));
    let views = [first.clone(), known(&mut late).await, soon(watcher.leader(PATIENCE)).await];
    for view in views {
        let View::Leader(leader) = view else { panic!("{view:?}") };
        assert_eq!((&*leader.id, leader.value.text().as_ref()), (leadership.id(), "here"));
        assert_eq!(leader.fence, G::Class::fence_of(&leadership));
    }
    assert!(matches!(observer.latest(), Some(View::Leader(_) | View::Unknown { .. })));
    soon(leadership.resign()).await;
    for observer in [&mut observer, &mut late] {
        assert_eq!(known_after(&first, observer).await, View::Vacant);
    }
}

/// A slow observer receives a reset, and then the present state.
pub async fn a_slow_observer_gets_a_reset<G: Group>(group: &mut G) {
    let [one, two, watcher] = ["one", "two", "watcher"].map(|who| group.election(who, "x"));
    let mut observer = watcher.observe_every(Duration::from_millis(10));
    let mut quick = watcher.observe_every(Duration::from_millis(10));
    soon(observer.next()).await.unwrap();
    soon(quick.next()).await.unwrap();
    for election in [one, two] {
        let leadership = lead(&election, "").await;
        while !matches!(known(&mut quick).await, View::Leader(_)) {}
        soon(leadership.resign()).await;
        while known(&mut quick).await != View::Vacant {}
    }
    assert_eq!(soon(observer.next()).await, Some(Change::Reset));
    assert_eq!(known(&mut observer).await, View::Vacant);
}
