//! The verdict on an election. Each function is one sentence.

use std::collections::BTreeSet;
use std::time::Duration;

use etcd_client::GetOptions;
use tenure::clock;
use tenure_services::etcd::Cluster;

use crate::company::client;
use crate::history::Key;
use crate::participant::{Claim, Kind, Participant};

/// The longest wait until all leases but etcdctl's have ended.
const LEASES_END: Duration = Duration::from_secs(60);

/// Each key belongs to a participant, and each participant ended as it should.
pub(crate) fn on_history(keys: &[Key], departed: &[Participant]) {
    let values: BTreeSet<_> = keys.iter().map(|key| &key.value).collect();
    let wrong: Vec<_> = departed.iter().filter_map(|one| one.farewell().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let known: BTreeSet<_> = departed.iter().map(|one| &one.value).collect();
    assert!(values.is_subset(&known), "strangers: {:?}", values.difference(&known));
}

/// Each kind led, and a candidate left without ever leading, while others waited before and behind
/// it.
pub(crate) fn on_variety(keys: &[Key], leaders: &[Key], departed: &[Participant]) {
    let led: BTreeSet<_> =
        departed.iter().filter(|one| one.claim().is_some()).map(|one| one.kind).collect();
    assert_eq!(led, BTreeSet::from(Kind::ALL), "kinds that led");
    let is_there_at = |revision: u64, key: &Key| {
        key.created < revision && key.gone.is_none_or(|(gone, _)| gone > revision)
    };
    let quit_in_the_middle = |key: &Key| {
        let (gone, _) = key.gone.unwrap();
        let is_behind = |other: &Key| other.created > key.created && is_there_at(gone, other);
        !leaders.contains(key) && keys.iter().any(is_behind)
    };
    assert!(keys.iter().any(quit_in_the_middle), "nobody quit in the middle");
}

/// Two leaders never overlap. A process that believed in its leadership was the first in etcd. By
/// the machine's clock, this belief began after the belief of the earlier leader had ended. The
/// belief ended before the process's key was known to be gone. Fences grew with time.
pub(crate) fn on_leaders(leaders: &[Key], departed: &[Participant]) {
    let mut claims: Vec<_> = departed.iter().filter_map(Participant::claim).collect();
    claims.sort_by_key(|claim| claim.since);
    let mut before: Option<(&Claim, &Key)> = None;
    for claim in &claims {
        let is_its = |key: &&Key| key.key == claim.key && key.value == claim.value;
        let Some(key) = leaders.iter().find(is_its) else {
            panic!("never was the first: {claim:#?}");
        };
        assert!(claim.fence.is_none_or(|fence| fence == key.created), "{claim:#?}, {key:#?}");
        assert!(claim.since <= claim.until, "{claim:#?}");
        let (_, known) = key.gone.unwrap();
        assert!(claim.until <= known, "led after its key was gone: {claim:#?}, {key:#?}");
        if let Some((last, last_key)) = before {
            assert!(last.until < claim.since, "two leaders: {last:#?}, {claim:#?}");
            assert!(last_key.created < key.created, "fences: {last_key:#?}, {key:#?}");
        }
        before = Some((claim, key));
    }
}

/// Each observer reported only leaders, in their order; our observer also reported their fences. An
/// observer may skip some.
pub(crate) fn on_observers(
    leaders: &[Key],
    told: &[(&'static str, Vec<String>); 3],
    fences: &[(String, u64)],
) {
    for (who, told) in told {
        let mut rest = leaders.iter().map(|key| &key.key);
        let mut told = told.clone();
        told.dedup();
        for key in &told {
            assert!(rest.any(|leader| leader == key), "{who} told {key} out of order: {told:#?}");
        }
    }
    for (key, fence) in fences {
        let is_it = |leader: &Key| leader.key == *key && leader.created == *fence;
        assert!(leaders.iter().any(is_it), "our observer told {key} with fence {fence}");
    }
}

/// No key is left, and no lease except the leases that etcdctl leaves to their end.
pub(crate) async fn on_what_is_left(
    cluster: &Cluster,
    election: &str,
    keys: &[Key],
    departed: &[Participant],
) {
    let mut client = client(cluster).await;
    let all = GetOptions::new().with_prefix().with_keys_only();
    let found = client.get(format!("{election}/"), Some(all)).await.unwrap();
    assert!(found.kvs().is_empty(), "{:?}", found.kvs());
    let is_etcdctls = |key: &&Key| {
        let its = |one: &&Participant| one.value == key.value;
        departed.iter().find(its).is_some_and(|one| one.kind == Kind::Etcdctl)
    };
    let (theirs, own): (Vec<_>, Vec<_>) = keys.iter().partition(is_etcdctls);
    assert!(!theirs.is_empty() && !own.is_empty());
    let own: BTreeSet<_> = own.iter().map(|key| key.lease).collect();
    let limit = clock::now().after(LEASES_END);
    loop {
        let listed = client.leases().await.unwrap();
        let left: Vec<_> = listed.leases().iter().map(|lease| lease.id()).collect();
        let left: Vec<_> = left.into_iter().filter(|lease| own.contains(lease)).collect();
        if left.is_empty() {
            return;
        }
        assert!(clock::now() < limit, "leases are left: {left:x?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
