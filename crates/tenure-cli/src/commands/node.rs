//! `tenure node`: a member that grants leases, and no more.

use serde_json::{Value, json};
use tenure::nerio::{Node, Notice};

use super::signals::Signals;
use crate::control::Server;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::protocol::nerio::{Service, Told, start};
use crate::settings::Context;
use crate::settings::node::NodeSettings;

/// Grants leases until a signal ends it.
pub(super) async fn run(settings: NodeSettings, context: Context) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let NodeSettings { cluster, seat } = settings;
    let control = Server::bind(&seat.control).await;
    let mut control = control.map_err(|failure| context.origins.explain(failure, &["control"]))?;
    let builder = Node::builder(cluster.config.clone(), seat.name.clone());
    let builder = builder.grantor(seat.storage.of_library());
    let node = start(builder, &cluster, &context.origins)?;
    let notices = node.notices();
    say(&context, &format!("node {} on {}", node.name(), node.address()), || {
        json!({
            "event": "started",
            "node": node.name().as_str(),
            "address": node.address().to_string(),
        })
    })?;
    let hear = |service: &mut Service, notice: &Notice| match service.hear(notice) {
        Told::Changed { warned } if context.json || !warned => {
            let word = service.word();
            say(
                &context,
                &notice.to_string(),
                || json!({"event": word, "text": notice.to_string()}),
            )
        }
        Told::Changed { .. } | Told::Warned | Told::Noted => Ok(()),
    };
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        ended = Service::default().serve(&node, notices, &mut control, hear) => {
            ended?;
            let what = "the node ended by itself";
            return Err(Failure::new(Exit::Bug, what, "report it with the log"));
        }
    };
    tokio::join!(node.close(), control.close());
    Ok(Exit::Signal(signal))
}

fn say(context: &Context, text: &str, object: impl FnOnce() -> Value) -> Result<(), Failure> {
    let line = if context.json { object().to_string() } else { text.to_owned() };
    output::print(&format!("{line}\n"))
}
