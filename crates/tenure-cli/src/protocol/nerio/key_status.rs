//! Who uses which key, as a member heard it.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::clock;
use tenure::nerio::keys::KeyId;
use tenure::nerio::{Authority, Node, Peer};

use crate::control::Answer;
use crate::output::millis;

/// Who was heard of so lately uses a key still.
const LATELY: Duration = Duration::from_secs(60);

/// So many peers are named, those that were heard of last: an answer has a megabyte of room.
const SHOWN_MAX: usize = 1_000;

/// What a node answers to [`Request::Keys`](crate::control::Request::Keys).
pub(super) async fn of(node: &Node) -> Answer {
    let Some((ids, mut peers)) = node.keyring().await else {
        return Answer::Refused {
            what: format!("node {} has no key", node.name()),
            fix: "start it with --key-file".to_owned(),
        };
    };
    let now = clock::now();
    let lately = |peer: &&Peer| now.since(peer.heard) <= LATELY;
    let still = |id: KeyId| peers.iter().filter(lately).filter(|peer| peer.key == id).count();
    let told: Vec<_> = ids.iter().skip(1).map(|id| advice(*id, still(*id))).collect();
    let count = peers.len();
    peers.sort_by_key(|peer| std::cmp::Reverse(peer.heard));
    peers.truncate(SHOWN_MAX);
    peers.sort_by_key(|peer| (peer.key, peer.name.clone(), peer.address));
    let others: Vec<Value> = peers
        .iter()
        .map(|peer| {
            let (application, elections) = match &peer.authority {
                Authority::Cluster => (None, None),
                Authority::Application(grant) => {
                    (Some(grant.application.as_str()), Some(grant.elections.as_str()))
                }
            };
            json!({
                "key": peer.key.to_string(),
                "name": peer.name.as_ref().map(|name| name.as_str()),
                "address": peer.address.to_string(),
                "application": application,
                "elections": elections,
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
        "advice": told.first(),
    }))
}

fn advice(id: KeyId, still: usize) -> String {
    match still {
        0 => format!(
            "nobody heard of in the last minute uses {id}: once that is so at every node, and each \
             uses another one, it can be taken out of their key files"
        ),
        1 => format!("1 uses {id} still"),
        count => format!("{count} use {id} still"),
    }
}
