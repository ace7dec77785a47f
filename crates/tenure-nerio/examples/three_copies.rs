//! A service in three copies, each a member and a candidate in one process. Start the program three
//! times, with a name, a state directory and a port each, FIRST_START once in the cluster's life:
//!
//! ```sh
//! tenure keys new --out copies.key
//! export TENURE_MEMBERS=a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103
//! export TENURE_KEY_FILE=copies.key TENURE_LEASE=2s TENURE_GRACE=500ms HTTP=127.0.0.1:8001
//! TENURE_NAME=a TENURE_STATE=/tmp/copies-a FIRST_START=yes cargo run --example three_copies
//! ```
#![allow(clippy::print_stdout, reason = "its work is to print")]

use std::{error::Error, time::Duration};

use axum::{Router, routing::get};
use tenure::settings::{SecretFile, duration};
use tenure::{AtMostOne, Leader};
use tenure_nerio::keys::Keys;
use tenure_nerio::{Config, Node, Opening, Storage, members};
use tokio::signal::unix::{SignalKind, signal};

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Failure> {
    let set = |name| std::env::var(name).map_err(|_| format!("set {name}"));
    // The program reads the variables of the command `tenure`, so that `tenure leader` works with
    // the same environment.
    let mut config = Config::new("tenure".parse()?, members(&set("TENURE_MEMBERS")?)?)
        .with_lease(duration(&set("TENURE_LEASE")?)?);
    config.grace = duration(&set("TENURE_GRACE")?)?;
    let path = set("TENURE_STATE")?.into();
    let opening = if set("FIRST_START").is_ok() { Opening::New } else { Opening::Existing };
    let node = Node::builder(config.check()?, set("TENURE_NAME")?.parse()?)
        .keys(keys(&set("TENURE_KEY_FILE")?)?)
        .grantor(Storage::Directory { path, opening })
        .start()?;
    let election = node.election("service")?;

    // Any copy can name the leader.
    let asked = election.clone();
    let leader = async move || match asked.leader(Duration::from_secs(1)).await.leader() {
        Some(leader) => leader.id.to_string(),
        None => "nobody".to_owned(),
    };
    let app = Router::new().route("/leader", get(leader)).route("/health", get(async || "up"));
    let server = axum::serve(tokio::net::TcpListener::bind(set("HTTP")?).await?, app);

    let mut terminate = signal(SignalKind::terminate())?;
    let work = |leader: Leader<AtMostOne>| async move {
        while leader.is_current() {
            println!("one act with fence {}", leader.fence());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        led = election.lead("", async { _ = terminate.recv().await }, work) => led?,
        served = server.into_future() => served?,
    }
    node.close().await;
    Ok(())
}

/// Reads keys from a file that other users neither read nor write.
fn keys(path: &str) -> Result<Keys, Failure> {
    let wrong = |what: &str| format!("the key file {path} {what}");
    let file = SecretFile::read(path.as_ref()).map_err(|what| wrong(&what))?;
    if SecretFile::is_open(file.mode) {
        return Err(wrong("is open to other users: run chmod 600 on it").into());
    }
    Ok(Keys::parse(&String::from_utf8(file.bytes)?)?)
}
