//! An election by a key of NATS's own key-value store, as people write it today: the candidate that
//! creates the key leads, puts the key again before its time to live ends, and deletes the key in
//! the end. The other candidates try to create the key now and then. Such elections need JetStream,
//! and a leader learns too late that it has lost.
//!
//! The requests are those of client libraries for `create`, `update` and `delete`.

use std::time::Duration;

use async_nats::{Client, HeaderMap};
use tenure::{Time, clock};
use tenure_services::nats::{Cluster, ClusterConfig};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Result;
use crate::meter::Meter;
use crate::stage::{VERSION, seconds};

/// The time to live of the key: our lease.
const TTL: Duration = Duration::from_secs(10);
/// The interval at which the leader puts the key again.
const RENEWED: Duration = Duration::from_secs(5);
/// The interval at which other candidates try: our heartbeat.
const TRIED: Duration = Duration::from_secs(1);

pub(crate) async fn measure(quick: bool) -> Result<()> {
    let span = Duration::from_secs(if quick { 5 } else { 30 });
    println!(
        "bucket: a key that lives {TTL:?}, put again every {RENEWED:?}, and tried for by the \
         others every {TRIED:?}; over {span:?}"
    );
    for count in [3, 50, 500] {
        let folder = tempfile::tempdir()?;
        let store = format!("jetstream {{ store_dir: \"{}\" }}", folder.path().display());
        let cluster = ClusterConfig::new(VERSION, 1).settings(&store).start()?;
        create_bucket(&cluster).await?;
        let (led, mut leaders) = mpsc::unbounded_channel();
        let mut candidates = JoinSet::new();
        let began = clock::now();
        let mut stop = Vec::new();
        for number in 0..count {
            let client = async_nats::connect(cluster.server(0).url()).await?;
            let (end, ends) = mpsc::channel(1);
            stop.push(end);
            candidates.spawn(contend(client, number, led.clone(), ends));
        }
        let (leader, at): (usize, Time) = leaders.recv().await.ok_or("nobody leads")?;
        let first = at.since(began);
        tokio::time::sleep(TRIED * 2).await;
        let rates = Meter::over(span, &cluster).await?;
        rates.print(&format!("{count} candidates"));
        let stopped = clock::now();
        stop[leader].send(End::Cleanly).await?;
        let (leader, at) = leaders.recv().await.ok_or("nobody follows")?;
        let next = at.since(stopped);
        tokio::time::sleep(TRIED).await;
        let lost = clock::now();
        stop[leader].send(End::AsByLoss).await?;
        let (_, at) = leaders.recv().await.ok_or("nobody follows")?;
        println!(
            "    the first leader after {}, the next after a clean stop after {}, after a loss \
             after {}",
            seconds(first),
            seconds(next),
            seconds(at.since(lost)),
        );
        candidates.abort_all();
    }
    Ok(())
}

enum End {
    Cleanly,
    AsByLoss,
}

async fn create_bucket(cluster: &Cluster) -> Result<()> {
    let client = async_nats::connect(cluster.server(0).url()).await?;
    let config = serde_json::json!({
        "name": "KV_leaders", "subjects": ["$KV.leaders.>"], "max_msgs_per_subject": 1,
        "max_age": TTL.as_nanos() as u64, "discard": "new", "allow_rollup_hdrs": true,
        "deny_delete": true, "allow_direct": true, "storage": "file", "num_replicas": 1,
    });
    let create = "$JS.API.STREAM.CREATE.KV_leaders";
    let said = client.request(create, config.to_string().into()).await?;
    let said: serde_json::Value = serde_json::from_slice(&said.payload)?;
    if said["error"].is_null() { Ok(()) } else { Err(said["error"].to_string().into()) }
}

/// Puts the key if `after` is its last revision. Returns the new revision; `None` if the last
/// revision is another.
async fn put(client: &Client, after: u64) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", after.to_string());
    let key = "$KV.leaders.billing";
    let said = client.request_with_headers(key, headers, "10.0.0.7:8080".into()).await.ok()?;
    let said: serde_json::Value = serde_json::from_slice(&said.payload).ok()?;
    said["seq"].as_u64().filter(|_| said["error"].is_null())
}

/// Deletes the key. The deletion leaves a marker, and the next `create` puts the key after the
/// marker's revision.
async fn delete(client: &Client) {
    let mut headers = HeaderMap::new();
    headers.insert("KV-Operation", "PURGE");
    headers.insert("Nats-Rollup", "sub");
    let _ = client.request_with_headers("$KV.leaders.billing", headers, "".into()).await;
}

/// The revision of a marker, after which the key may be created again.
async fn marker(client: &Client) -> Option<u64> {
    let get = "$JS.API.DIRECT.GET.KV_leaders.$KV.leaders.billing";
    let said = client.request(get, "".into()).await.ok()?;
    let headers = said.headers?;
    let deleted = headers.get("KV-Operation").is_some();
    let revision = headers.get("Nats-Sequence")?.as_str().parse().ok()?;
    deleted.then_some(revision)
}

async fn contend(
    client: Client,
    number: usize,
    led: mpsc::UnboundedSender<(usize, Time)>,
    mut ends: mpsc::Receiver<End>,
) {
    // Candidates that start together try at different times.
    tokio::time::sleep(TRIED.mul_f64((number * 7 % 100) as f64 / 100.0)).await;
    loop {
        let mut revision = put(&client, 0).await;
        if revision.is_none()
            && let Some(marker) = marker(&client).await
        {
            revision = put(&client, marker).await;
        }
        let Some(mut revision) = revision else {
            tokio::time::sleep(TRIED).await;
            continue;
        };
        let _ = led.send((number, clock::now()));
        loop {
            tokio::select! {
                end = ends.recv() => {
                    if let Some(End::Cleanly) = end {
                        delete(&client).await;
                    }
                    return;
                }
                () = tokio::time::sleep(RENEWED) => match put(&client, revision).await {
                    Some(next) => revision = next,
                    None => break,
                },
            }
        }
    }
}
