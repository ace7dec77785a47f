//! `tenure node wait-safe`: when the next grantor may be restarted.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tenure::nerio::survey::{Survey, Unsafe, survey};

use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;
use crate::settings::node::WaitSafeSettings;

/// How long to wait between two looks.
const AGAIN: Duration = Duration::from_millis(250);

/// Waits until every grantor serves and every leader has its latest lease from all of them. Ends
/// when a setting, or memory that was lost, keeps that from ever being so. When `--wait` is over it
/// says what the last look has shown, and does not wait for another.
pub(super) async fn run(settings: WaitSafeSettings) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let mut told = None;
    let watch = watch(&settings, &mut told);
    let ended = async {
        match settings.wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        signal = signals.next() => return Ok(Exit::Signal(signal)),
        done = watch => return done,
        () = ended => {}
    }
    let (why, fix) = match told {
        Some(why) => (why.to_string(), why.fix()),
        None => {
            let why = "no look at all members has ended".to_owned();
            (why, "give --wait more time".to_owned())
        }
    };
    let what = format!("not safe to restart another node yet: {why}");
    Err(Failure::new(Exit::Unknown, what, fix))
}

/// Keeps in `told` what the last look has shown.
async fn watch(settings: &WaitSafeSettings, told: &mut Option<Unsafe>) -> Result<Exit, Failure> {
    let mut before: Option<Survey> = None;
    loop {
        let seen = look(settings).await?;
        let Some(why) = seen.obstacle(before.as_ref()) else { break };
        if why.is_for_ever() {
            if settings.json {
                say(&why, true)?;
            }
            let what = format!("not safe to restart another node, and never will be: {why}");
            return Err(Failure::new(Exit::Wrong, what, why.fix()));
        }
        if !told.as_ref().is_some_and(|told| told.is_as(&why)) {
            match settings.json {
                true => say(&why, false)?,
                false => failure::warn(&format!("waiting: {why}: {}", why.fix())),
            }
        }
        *told = Some(why);
        before = Some(seen);
        tokio::time::sleep(AGAIN).await;
    }
    let text = match settings.json {
        true => json!({"safe": true}).to_string(),
        false => "safe to restart another node".to_owned(),
    };
    output::print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}

/// For programs; `never` if waiting does not help.
fn say(why: &Unsafe, never: bool) -> Result<(), Failure> {
    let (why, fix) = (why.to_string(), why.fix());
    let line = json!({"safe": false, "never": never, "why": why, "fix": fix});
    output::print(&format!("{line}\n"))
}

async fn look(settings: &WaitSafeSettings) -> Result<Survey, Failure> {
    let from = SocketAddr::new(settings.cluster.listen.ip(), 0);
    survey(&settings.cluster.config, from).await.map_err(|error| {
        let what = format!("the members cannot be asked from {from}: {error}");
        Failure::new(Exit::System, what, "give --listen with an address of this machine")
    })
}
