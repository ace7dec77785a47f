//! Users, tokens and permissions.

use std::time::Duration;

use etcd_client::{Client, ConnectOptions, PutOptions};
use tempfile::TempDir;
use tenure_services::etcd::{Cluster, ClusterConfig};

use crate::stage::{Fact, Stage, connect, connect_with, outcome, words};
use tenure_testkit::facts::Expected::{Always, Each};
use tenure_testkit::facts::{Seen, fact};

const TOLD_BUT_NOT_OPENED: &str = "open: told, new on its stream: rpc error: code = \
                                   Unauthenticated desc = etcdserver: invalid auth token";

pub(crate) const FACTS: &[Fact] = &[
    fact!(
        keep_alive_without_a_token,
        Each("renewed", "InvalidArgument: etcdserver: user name is empty"),
        "From 3.4.42, 3.5.28, 3.6.9 and 3.7 a renewal needs a token; before, anybody renews."
    ),
    fact!(
        keep_alive_without_permission,
        Each("renewed", "PermissionDenied: etcdserver: permission denied"),
        "From 3.4.42, 3.5.28, 3.6.9 and 3.7 a renewal needs write permission on every key of the \
         lease."
    ),
    fact!(
        token_of_an_earlier_life,
        Always("Unauthenticated: etcdserver: invalid auth token"),
        "A simple token is gone when its server was restarted: `invalid auth token`."
    ),
    fact!(
        expired_token,
        Always("Unauthenticated: etcdserver: invalid auth token"),
        "An expired token is `invalid auth token`."
    ),
    fact!(
        watches_of_an_expired_token,
        Always(TOLD_BUT_NOT_OPENED),
        "A watch is asked for its token when it is opened, and goes on without; another one on the \
         same stream is cancelled: `invalid auth token`."
    ),
    fact!(
        watches_of_an_expired_signed_token,
        Always(TOLD_BUT_NOT_OPENED),
        "The same is so of signed tokens (JWT), when their `exp` is over."
    ),
    fact!(
        keep_alive_of_an_expired_token,
        Each("renewed", "Unauthenticated: etcdserver: invalid auth token"),
        "From 3.4.42, 3.5.28, 3.6.9 and 3.7 a stream of renewals ends when the token expires with \
         which it was opened."
    ),
    fact!(
        simple_token_after_a_change,
        Always("accepted"),
        "A simple token is good after the auth store has changed."
    ),
    fact!(
        signed_token_after_a_change,
        Always("InvalidArgument: etcdserver: revision of auth store is old"),
        "A signed token (JWT) is too old after the auth store has changed: `revision of auth store \
         is old`."
    ),
    fact!(
        wrong_password,
        Always("InvalidArgument: etcdserver: authentication failed, invalid user ID or password"),
        "A wrong password is refused at login."
    ),
];

const PASSWORD: &str = "secret";

fn root() -> ConnectOptions {
    ConnectOptions::new().with_user("root", PASSWORD)
}

/// One member with users: `root`, and `poor` who may write below `poor/` only.
fn with_users(config: ClusterConfig) -> Result<Cluster, tenure_services::Error> {
    let cluster = config.start()?;
    cluster.enable_auth(PASSWORD)?;
    cluster.etcdctl(&["role", "add", "poor"])?;
    cluster.etcdctl(&["role", "grant-permission", "poor", "readwrite", "poor/", "--prefix"])?;
    cluster.etcdctl(&["user", "add", &format!("poor:{PASSWORD}")])?;
    cluster.etcdctl(&["user", "grant-role", "poor", "poor"])?;
    Ok(cluster)
}

fn one(stage: &Stage) -> ClusterConfig {
    ClusterConfig::new(stage.version(), 1)
}

/// A lease with a key that only root may write.
async fn roots_lease(client: &mut Client) -> Result<i64, etcd_client::Error> {
    let lease = client.lease_grant(60, None).await?.id();
    client.put("rich", "", Some(PutOptions::new().with_lease(lease))).await?;
    Ok(lease)
}

/// How the first renewal is answered, which opens the stream.
async fn renewal(client: &mut Client, lease: i64) -> String {
    match client.lease_keep_alive(lease).await {
        Ok(_) => "renewed".to_owned(),
        Err(error) => words(&error),
    }
}

async fn keep_alive_without_a_token(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage))?;
    let lease = roots_lease(&mut connect_with(&cluster, 0, root()).await?).await?;
    Ok(renewal(&mut connect(&cluster, 0).await?, lease).await)
}

async fn keep_alive_without_permission(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage))?;
    let lease = roots_lease(&mut connect_with(&cluster, 0, root()).await?).await?;
    let poor = ConnectOptions::new().with_user("poor", PASSWORD);
    Ok(renewal(&mut connect_with(&cluster, 0, poor).await?, lease).await)
}

async fn token_of_an_earlier_life(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage))?;
    let mut client = connect_with(&cluster, 0, root()).await?;
    client.put("key", "", None).await?;
    // A login that is not yet in the database is read from the log, and the token lives on. A
    // snapshot is one of the database, which takes everything in before.
    cluster.save(&cluster.folder().join("snapshot"))?;
    cluster.member(0).restart()?;
    cluster.wait_ready()?;
    // The first may only find out that the connection is gone.
    let mut last = client.put("key", "", None).await;
    while matches!(&last, Err(error) if words(error).contains("transport error")) {
        last = client.put("key", "", None).await;
    }
    Ok(outcome(&last))
}

async fn expired_token(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage).argument("--auth-token-ttl=1"))?;
    let mut client = connect_with(&cluster, 0, root()).await?;
    until_expired(&mut client).await
}

/// Mostly long enough for a token of a second or two.
const EXPIRES: Duration = Duration::from_secs(3);

/// Waits until the client's token is refused, and says how. A token that is used lives on.
async fn until_expired(client: &mut Client) -> Seen {
    loop {
        tokio::time::sleep(EXPIRES).await;
        let put = client.put("used", "", None).await;
        if put.is_err() {
            return Ok(outcome(&put));
        }
    }
}

async fn watches_of_an_expired_token(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage).argument("--auth-token-ttl=1"))?;
    watches_after_expiry(&cluster).await
}

async fn watches_of_an_expired_signed_token(stage: Stage) -> Seen {
    let (config, _folder) = signing(&stage, ",ttl=2s")?;
    watches_after_expiry(&with_users(config)?).await
}

async fn watches_after_expiry(cluster: &Cluster) -> Seen {
    let mut watch = connect_with(cluster, 0, root()).await?.watch("key", None).await?;
    // Another one on its stream is opened until the token has expired.
    let refused = loop {
        tokio::time::sleep(EXPIRES).await;
        watch.watch("another", None).await?;
        let answer = loop {
            let message = watch.message().await?.ok_or("the stream has ended")?;
            if message.canceled() || message.watch_id() > 0 {
                break message;
            }
        };
        if answer.canceled() {
            break answer.cancel_reason().to_owned();
        }
    };
    connect_with(cluster, 0, root()).await?.put("key", "", None).await?;
    let open = loop {
        let message = watch.message().await?.ok_or("the stream has ended")?;
        match (message.canceled(), message.events().is_empty()) {
            (true, _) => break "cancelled",
            (false, true) => {}
            (false, false) => break "told",
        }
    };
    Ok(format!("open: {open}, new on its stream: {refused}"))
}

async fn keep_alive_of_an_expired_token(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage).argument("--auth-token-ttl=1"))?;
    let mut client = connect_with(&cluster, 0, root()).await?;
    let lease = roots_lease(&mut client).await?;
    let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
    until_expired(&mut client).await?;
    keeper.keep_alive().await?;
    Ok(match answers.message().await {
        Ok(Some(answer)) if answer.ttl() > 0 => "renewed".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => words(&error),
    })
}

async fn simple_token_after_a_change(stage: Stage) -> Seen {
    after_a_change(&with_users(one(&stage))?).await
}

/// JWT with a key that both sides know, in the folder.
fn signing(stage: &Stage, more: &str) -> std::io::Result<(ClusterConfig, TempDir)> {
    let folder = tempfile::tempdir()?;
    let key = folder.path().join("key");
    std::fs::write(&key, "not much of a secret")?;
    let token = format!("--auth-token=jwt,sign-method=HS256,priv-key={}{more}", key.display());
    Ok((one(stage).argument(token), folder))
}

async fn signed_token_after_a_change(stage: Stage) -> Seen {
    let (config, _folder) = signing(&stage, "")?;
    after_a_change(&with_users(config)?).await
}

/// A write with a token that is older than another user.
async fn after_a_change(cluster: &Cluster) -> Seen {
    let mut client = connect_with(cluster, 0, root()).await?;
    client.put("key", "", None).await?;
    cluster.etcdctl(&["user", "add", "new:user"])?;
    Ok(outcome(&client.put("key", "", None).await))
}

async fn wrong_password(stage: Stage) -> Seen {
    let cluster = with_users(one(&stage))?;
    let wrong = ConnectOptions::new().with_user("root", "guessed");
    Ok(outcome(&connect_with(&cluster, 0, wrong).await))
}
