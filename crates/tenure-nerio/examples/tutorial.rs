//! The program of `docs/start/tutorial-rust.md`, which has the same lines.
#![allow(clippy::print_stdout, reason = "its work is to print")]

use std::error::Error;
use std::time::Duration;

use tenure::{AtMostOne, Leader};
use tenure_nerio::{Config, Node, Opening, Storage, members};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let set = |name| std::env::var(name).map_err(|_| format!("set {name}"));
    let config = Config::new("tenure".parse()?, members(&set("TENURE_MEMBERS")?)?).check()?;
    let path = set("TENURE_STATE")?.into();
    let node = Node::builder(config, set("TENURE_NAME")?.parse()?)
        .grantor(Storage::Directory { path, opening: Opening::Existing })
        .start()?;

    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = async { _ = terminate.recv().await };
    let work = |leader: Leader<AtMostOne>| async move {
        while leader.is_current() {
            println!("a bill with fence {}", leader.fence());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    node.election("billing")?.lead("10.0.0.7:8080", shutdown, work).await?;
    node.close().await;
    Ok(())
}
