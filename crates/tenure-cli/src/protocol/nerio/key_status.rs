//! The users of keys that a member has heard.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::clock;
use tenure_core::{NodeName, Time};
use tenure_nerio::keys::KeyId;
use tenure_nerio::{Authority, Keyring, Node, Peer, Unsealed};

use crate::control::Answer;
use crate::output::millis;

/// A sender that was heard within this span still uses its key.
const LATELY: Duration = Duration::from_secs(60);

/// Time to wait for the answers of the members. Each answer shows the key of its sender.
const ANSWERED: Duration = Duration::from_millis(300);

/// Number of waits for answers. A member that has restarted drops the first question, which may be
/// sealed for its earlier process.
const ROUNDS: usize = 3;

/// The largest number of listed peers, the latest first: an answer has room for a megabyte.
const SHOWN_MAX: usize = 1_000;

/// The answer of a node to [`Request::Keys`](crate::control::Request::Keys).
pub(super) async fn of(node: &Node) -> Answer {
    let asked = clock::now();
    let Some(heard) = ask(node, asked).await else {
        return Answer::Refused {
            what: format!("node {} has no key", node.name()),
            fix: "start the node with --key-file".to_owned(),
        };
    };
    let now = clock::now();
    let unsealed = lately_unsealed(now, &heard.unsealed, node);
    let open = about_unsealed(node, &heard, asked, now, unsealed.len());
    let Keyring { ids, mut peers, accepts_since, .. } = heard;
    let accepts_unsealed = accepts_since.is_some();
    let lately = |peer: &&Peer| now.since(peer.heard) <= LATELY;
    let uses = |id: KeyId| peers.iter().filter(lately).filter(move |peer| peer.key == id);
    let of_keys = match ids[..] {
        [first, second, ..] => {
            let is_application = |peer: &&Peer| peer.authority != Authority::Cluster;
            let applications = uses(first).filter(is_application).count();
            Some(advice(first, applications, second, uses(second).count()))
        }
        _ => None,
    };
    // Datagrams of strangers must not hide the advice about a running exchange.
    let both = if accepts_unsealed { [open, of_keys] } else { [of_keys, open] };
    let text = both.into_iter().flatten().reduce(|first, second| format!("{first}. {second}"));
    let count = peers.len();
    peers.sort_by_key(|peer| std::cmp::Reverse(peer.heard));
    peers.truncate(SHOWN_MAX);
    peers.sort_by_key(|peer| (peer.key, peer.name.clone(), peer.address));
    let others: Vec<Value> = peers
        .iter()
        .map(|peer| {
            let grant = match &peer.authority {
                Authority::Cluster => None,
                Authority::Application(grant) => Some(grant),
            };
            json!({
                "key": peer.key.to_string(),
                "name": peer.name.as_ref().map(|name| name.as_str()),
                "address": peer.address.to_string(),
                "application": grant.map(|grant| grant.application.as_str()),
                "elections": grant.map(|grant| grant.elections.as_str()),
                "rights": grant.map(|grant| grant.rights.to_string()),
                "heard_ms": millis(now.since(peer.heard)),
            })
        })
        .collect();
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    Answer::Done(json!({
        "node": node.name().as_str(),
        "cluster": node.config().cluster.as_str(),
        "uses": ids.first(),
        "accepts": ids,
        "peers": others,
        "more": count.saturating_sub(SHOWN_MAX),
        "accepts_unsealed": accepts_unsealed,
        "unsealed": unsealed.iter().map(|one| json!({
            "name": one.name.as_str(),
            "address": one.address.to_string(),
            "heard_ms": millis(now.since(one.heard)),
        })).collect::<Vec<_>>(),
        "advice": text,
    }))
}

/// Asks the other members. Returns the keys that the node has heard, once the members have
/// answered, or have had time to answer.
async fn ask(node: &Node, asked: Time) -> Option<Keyring> {
    let mut heard = node.keyring().await?;
    for _ in 0..ROUNDS {
        if silent(node, &heard, asked).is_empty() {
            break;
        }
        tokio::time::sleep(ANSWERED).await;
        heard = node.keyring().await?;
    }
    Some(heard)
}

/// The advice about unsealed senders, and about the line of the key file that accepts them.
fn about_unsealed(
    node: &Node,
    heard: &Keyring,
    asked: Time,
    now: Time,
    unsealed: usize,
) -> Option<String> {
    let window = window(node);
    match heard.accepts_since {
        Some(since) => {
            let silent = silent(node, heard, asked);
            Some(when_to_seal(unsealed, &silent, now.since(since), window))
        }
        None if unsealed == 0 => None,
        None => Some(format!(
            "this node refuses datagrams without a key, and got some in the last {window:?} \
             (senders: {unsealed}): give the senders keys, or put accept-unsealed in the key files \
             until they have keys. Anybody can forge such datagrams"
        )),
    }
}

/// If no unsealed datagram comes within this span, the line that accepts such datagrams can be
/// removed: every leader renews or loses its lease within the span.
fn window(node: &Node) -> Duration {
    LATELY.max(node.config().delta_max)
}

fn lately_unsealed(now: Time, all: &[Unsealed], node: &Node) -> Vec<Unsealed> {
    let lately = |one: &&Unsealed| now.since(one.heard) <= window(node);
    let mut all: Vec<_> = all.iter().filter(lately).cloned().collect();
    all.sort_by(|one, other| (&one.name, one.address).cmp(&(&other.name, other.address)));
    all
}

/// The other members that have shown no key since the question. A member that was restarted without
/// its key is one of them.
fn silent(node: &Node, heard: &Keyring, asked: Time) -> Vec<NodeName> {
    let shown = |name: &NodeName| {
        let named = |peer: &Peer| peer.name.as_ref() == Some(name) && peer.heard >= asked;
        name == node.name() || heard.peers.iter().any(named)
    };
    let names = node.config().members.iter().map(|member| member.name.clone());
    names.filter(|name| !shown(name)).collect()
}

/// The advice about the line that accepts unsealed datagrams. The node has listened for `listened`
/// of the needed `window`.
fn when_to_seal(
    unsealed: usize,
    silent: &[NodeName],
    listened: Duration,
    window: Duration,
) -> String {
    let names: Vec<_> = silent.iter().map(|name| name.as_str()).collect();
    match (unsealed, &names[..]) {
        (0, []) if listened >= window => format!(
            "this node accepts datagrams without a key, and none has come for {window:?}. Wait \
             until every node reports this, and processes that ask less often have keys, too; then \
             take accept-unsealed out of all key files"
        ),
        (0, []) => format!(
            "this node accepts datagrams without a key, and none has come for {listened:.0?}: keep \
             accept-unsealed, and ask again after {window:?}"
        ),
        (0, names) => format!(
            "this node accepts datagrams without a key. None has come lately, but {} did not show \
             a key now: keep accept-unsealed until every member has shown a key, except members \
             that are gone for good",
            names.join(", ")
        ),
        (count, _) => format!(
            "this node accepts datagrams without a key, and got some in the last {window:?} \
             (senders: {count}): keep accept-unsealed until all processes have keys. Anybody can \
             forge such datagrams"
        ),
    }
}

/// The advice about the second key. No record says whether the second key is newer or older than
/// the first: during an exchange each key is the second at some time.
fn advice(first: KeyId, applications: usize, second: KeyId, users: usize) -> String {
    match users {
        0 => format!(
            "{second} is accepted, and no process that was heard in the last minute uses it. If it \
             is the new key, keep it: when every node accepts both, give each application a key \
             made from it. If it is the old key, take it out of the key files when no process uses \
             it and no node has it first"
        ),
        users => {
            let process = if users == 1 { "process" } else { "processes" };
            let does = if applications == 1 { "does" } else { "do" };
            format!(
                "in the last minute {users} {process} used {second}, the second key. If it is the \
                 new key, put it first in the key files of the nodes when no application uses \
                 {first} any more ({applications} {does}). If it is the old key, keep it until no \
                 process uses it"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_nerio::keys::ClusterKey;

    use super::*;

    /// In the first step of an exchange the second key is the new key, and has no user yet.
    #[test]
    fn possibly_new_key_stays() {
        let id = || ClusterKey::generate("prod".parse().unwrap()).unwrap().id();
        let first = id();
        let second = id();
        let unused = advice(first, 2, second, 0);
        assert!(unused.contains("If it is the new key, keep it"), "{unused}");
        assert!(unused.contains("If it is the old key, take it out"), "{unused}");
        let used = advice(first, 1, second, 3);
        assert!(used.starts_with(&format!(
            "in the last minute 3 processes used {second}, the second key."
        )));
        assert!(used.contains(&format!("no application uses {first} any more (1 does)")), "{used}");
        assert!(used.ends_with("keep it until no process uses it"), "{used}");
        let one = advice(first, 0, second, 1);
        assert!(one.contains("minute 1 process used "), "{one}");
        assert!(one.contains("(0 do)"), "{one}");
    }

    #[test]
    fn accept_unsealed_goes_when_all_seal() {
        let names = ["b".parse().unwrap(), "c".parse().unwrap()];
        let long = Duration::from_secs(60);
        let short = Duration::from_secs(59);
        let done = when_to_seal(0, &[], long, long);
        assert!(done.contains("take accept-unsealed out of all key files"), "{done}");
        let early = when_to_seal(0, &[], short, long);
        assert!(
            early.contains("for 59s: keep accept-unsealed, and ask again after 60s"),
            "{early}"
        );
        let silent = when_to_seal(0, &names, long, long);
        assert!(silent.contains("b, c did not show a key now: keep"), "{silent}");
        let unsealed = when_to_seal(2, &[], long, long);
        assert!(unsealed.contains("got some in the last 60s (senders: 2): keep"), "{unsealed}");
    }
}
