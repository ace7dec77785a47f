//! `tenure node wait-safe`: when the next grantor may be restarted.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tenure::nerio::survey::{Unsafe, survey};

use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;
use crate::settings::node::WaitSafeSettings;

/// How long to wait between two looks.
const AGAIN: Duration = Duration::from_millis(250);

/// Waits until every grantor serves and every leader has its latest lease from all of them. Ends
/// at once when a setting, or memory that was lost, keeps that from ever being so.
pub(super) async fn run(settings: WaitSafeSettings) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let watch = watch(&settings);
    let ended = async {
        match settings.wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        signal = signals.next() => Ok(Exit::Signal(signal)),
        done = watch => done,
        () = ended => {
            let last = look(&settings).await?;
            let (why, fix) = match last {
                Some(why) => (why.to_string(), why.fix()),
                None => ("it just became safe".to_owned(), "ask again".to_owned()),
            };
            let what = format!("not safe to restart another node yet: {why}");
            Err(Failure::new(Exit::Unknown, what, fix))
        }
    }
}

async fn watch(settings: &WaitSafeSettings) -> Result<Exit, Failure> {
    let mut told: Option<Unsafe> = None;
    loop {
        let obstacle = look(settings).await?;
        let Some(why) = obstacle else { break };
        if why.is_for_ever() {
            let what = format!("not safe to restart another node, and never will be: {why}");
            return Err(Failure::new(Exit::Wrong, what, why.fix()));
        }
        if !told.as_ref().is_some_and(|told| told.is_as(&why)) {
            match settings.json {
                true => {
                    let line = json!({"safe": false, "why": why.to_string(), "fix": why.fix()});
                    output::print(&format!("{line}\n"))?;
                }
                false => failure::warn(&format!("waiting: {why}: {}", why.fix())),
            }
        }
        told = Some(why);
        tokio::time::sleep(AGAIN).await;
    }
    let text = match settings.json {
        true => json!({"safe": true}).to_string(),
        false => "safe to restart another node".to_owned(),
    };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

async fn look(settings: &WaitSafeSettings) -> Result<Option<Unsafe>, Failure> {
    let from = SocketAddr::new(settings.cluster.listen.ip(), 0);
    let seen = survey(&settings.cluster.config, from).await.map_err(|error| {
        let what = format!("the members cannot be asked from {from}: {error}");
        Failure::new(Exit::System, what, "give --listen with an address of this machine")
    })?;
    Ok(seen.obstacle())
}
