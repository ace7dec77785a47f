//! `tenure node wait-safe`: waits until the next grantor may be restarted.

use std::time::Duration;

use serde_json::json;
use tenure::clock;
use tenure_nerio::survey::{NameServers, Survey, Unsafe};

use crate::commands::signals::Signals;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::nerio::node::WaitSafeSettings;
use crate::output;
use crate::protocol::Advice;
use crate::protocol::nerio::{ask_all, ends_for, fragile};
use crate::settings::Context;

/// The pause between two surveys.
const AGAIN: Duration = Duration::from_millis(250);

/// With `--exit-on-mismatch` the command ends when, for this time, no quorum has had the same
/// configuration as the command.
const MISMATCH_MIN: Duration = Duration::from_secs(1);

/// Waits until every grantor serves and has granted every leader its latest lease. Fails if a
/// setting or a lost state directory makes this impossible. Ends with the result of the last survey
/// when `--wait` is over or the reader has left.
pub(in crate::commands) async fn run(
    settings: WaitSafeSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let mut reason = None;
    let watch = watch(&settings, &context, &mut reason);
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
        // The cluster is not safe yet, and the reader of the answer has left.
        () = output::reader_left() => {}
        () = ended => {}
    }
    let (why, fix) = match reason {
        Some(why) => (why.to_string(), why.fix()),
        None => {
            let why = "the check of all members has not ended".to_owned();
            (why, "give a longer --wait".to_owned())
        }
    };
    let what = format!("not safe to restart another node yet: {why}");
    Err(Failure::new(Exit::Unknown, what, fix))
}

/// Repeats the survey, and keeps its latest result in `reason`.
async fn watch(
    settings: &WaitSafeSettings,
    context: &Context,
    reason: &mut Option<Unsafe>,
) -> Result<Exit, Failure> {
    let mut before: Option<Survey> = None;
    let mut differ_since = None;
    // The first survey waits only briefly for name servers, so that missing members are reported
    // soon.
    let mut name_servers = NameServers::Briefly;
    loop {
        let seen = ask_all(&settings.cluster, name_servers, &context.origins).await?;
        name_servers = NameServers::Patiently;
        match ends_for(&settings.cluster, &seen, &context.origins) {
            Some(failure) => {
                let since = *differ_since.get_or_insert_with(clock::now);
                if clock::now().since(since) >= MISMATCH_MIN {
                    return Err(failure);
                }
            }
            None => differ_since = None,
        }
        let Some(why) = seen.obstacle(before.as_ref()) else {
            if let Some(Advice { text, fix }) = fragile(&seen.membership) {
                failure::warn(&format!("{text}: {fix}"));
            }
            break;
        };
        if why.is_for_ever() {
            if context.json {
                say(&why, true).await?;
            }
            let what = format!("not safe to restart another node, and never will be: {why}");
            return Err(Failure::new(Exit::Wrong, what, why.fix()));
        }
        if !reason.as_ref().is_some_and(|reason| reason.is_as(&why)) {
            if context.json {
                say(&why, false).await?
            } else {
                failure::warn(&format!("waiting: {why}: {}", why.fix()))
            }
        }
        *reason = Some(why);
        before = Some(seen);
        tokio::time::sleep(AGAIN).await;
    }
    let text = if context.json {
        json!({"safe": true}).to_string()
    } else {
        "safe to restart another node".to_owned()
    };
    output::reaches_aside(&format!("{text}\n")).await?;
    Ok(Exit::Done)
}

/// Prints the reason as a JSON object. `never` is true if no wait helps.
async fn say(why: &Unsafe, never: bool) -> Result<(), Failure> {
    let text = why.to_string();
    let line = json!({"safe": false, "never": never, "why": text, "fix": why.fix()});
    output::reaches_aside(&format!("{line}\n")).await.map(drop)
}
