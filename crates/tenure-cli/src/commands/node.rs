//! `tenure node`: a member that grants leases, and no more.

use serde_json::{Value, json};
use tenure::nerio::Node;
use tokio::sync::broadcast::error::RecvError;

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
    let mut notices = node.notices();
    let mut service = Service::default();
    say(&context, &format!("node {} on {}", node.name(), node.address()), || {
        json!({
            "event": "started",
            "node": node.name().as_str(),
            "address": node.address().to_string(),
        })
    })?;
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                tokio::join!(node.close(), control.close());
                return Ok(Exit::Signal(signal));
            }
            asked = control.next() => service.answer(&node, asked).await,
            notice = notices.recv() => match notice {
                Ok(notice) => match service.hear(&notice) {
                    Told::Changed { warned } if context.json || !warned => {
                        say(&context, &notice.to_string(), || {
                            json!({"event": service.word(), "text": notice.to_string()})
                        })?;
                    }
                    Told::Changed { .. } | Told::Warned | Told::Noted => {}
                },
                // The status says what it is now.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => {
                    let what = "the node ended by itself";
                    return Err(Failure::new(Exit::Bug, what, "report it with the log"));
                }
            }
        }
    }
}

fn say(context: &Context, text: &str, object: impl FnOnce() -> Value) -> Result<(), Failure> {
    let line = if context.json { object().to_string() } else { text.to_owned() };
    output::print(&format!("{line}\n"))
}
