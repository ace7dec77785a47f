//! `tenure node`: a member that grants leases, and no more.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::nerio::{Node, Notice};

use super::signals::Signals;
use crate::control::Server;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::protocol::nerio::{Service, Told, start};
use crate::service_manager::ServiceManager;
use crate::settings::Context;
use crate::settings::node::NodeSettings;

/// How long its end takes at most: what it was asked last is answered.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Grants leases until a signal ends it.
pub(super) async fn run(settings: NodeSettings, context: Context) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let NodeSettings { cluster, seat } = settings;
    let control = Server::bind(&seat.control).await;
    let mut control = control.map_err(|failure| context.origins.explain(failure, &["control"]))?;
    let builder = Node::builder(cluster.config.clone(), seat.name.clone());
    let builder = builder.grantor(seat.storage.of_library());
    let (node, key_file) = start(builder, &cluster, &context.origins)?;
    let notices = node.notices();
    say(&context, &format!("node {} on {}", node.name(), node.address()), || {
        json!({
            "event": "started",
            "node": node.name().as_str(),
            "address": node.address().to_string(),
        })
    })?;
    let manager = ServiceManager::of_this_process();
    manager.ready();
    let told = manager.clone();
    let hear = |service: &mut Service, notice: &Notice| match service.hear(notice) {
        Told::Changed { warned } => {
            let (word, text) = (service.word(), notice.to_string());
            told.status(&text);
            match context.json || !warned {
                true => say(&context, &text, || json!({"event": word, "text": text})),
                false => Ok(()),
            }
        }
        Told::Warned | Told::Noted => Ok(()),
    };
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        ended = Service::new(key_file, None).serve(&node, notices, &mut control, hear) => {
            ended?;
            let what = "the node ended by itself";
            return Err(Failure::new(Exit::Bug, what, "report it with the log"));
        }
        never = manager.hear_that(async || node.counters().await.is_some()) => match never {},
    };
    manager.stopping(ENDS_WITHIN);
    tokio::join!(node.close(), control.close(), manager.told_all());
    Ok(Exit::Signal(signal))
}

fn say(context: &Context, text: &str, object: impl FnOnce() -> Value) -> Result<(), Failure> {
    let line = if context.json { object().to_string() } else { text.to_owned() };
    output::print(&format!("{line}\n"))
}
