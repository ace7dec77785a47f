//! `tenure node`: a member that grants leases.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_http::About;
use tenure_nerio::supervision::Supervisor;
use tenure_nerio::{Node, Notice};

use crate::commands::http::{self, Http};
use crate::commands::signals::Signals;
use crate::control::Server;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::nerio::node::NodeSettings;
use crate::protocol::nerio::{PROTOCOL, Reaction, Service, shown, start};
use crate::service_manager::ServiceManager;
use crate::settings::Context;
use crate::stderr::Aside;

/// The longest time for a node to end, while it answers its last requests.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

pub(in crate::commands) async fn run(
    settings: NodeSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let NodeSettings { cluster, seat, supervise, http } = settings;
    let http = http.map(|http| {
        let list = shown::list(&cluster, &seat.name);
        let about = About::new(seat.name.as_str(), PROTOCOL.name);
        Http::begin(&http, about, Some(list))
    });
    let mut http = http.transpose()?;
    // Handle signals only from here on: the steps before may hang in a file system, and a signal
    // must then end this process directly.
    let mut signals = Signals::new()?;
    let control = Server::bind(&seat.control).await;
    let mut control = control.map_err(|failure| context.origins.explain(failure, &["control"]))?;
    let builder = Node::builder(cluster.config.clone(), seat.name.clone());
    let builder = builder.grantor(seat.storage.of_library());
    let (node, key_file) = start(builder, &cluster, &context.origins)?;
    let supervisor = supervise.map(|path| watch_processes(&node, &path)).transpose();
    let _supervisor = supervisor.map_err(|why| context.origins.explain(why, &["supervise"]))?;
    let notices = node.notices();
    let out = out()?;
    say(&out, &context, &format!("node {} on {}", node.name(), node.address()), || {
        json!({
            "event": "started",
            "node": node.name().as_str(),
            "address": node.address().to_string(),
        })
    });
    let manager = ServiceManager::of_this_process();
    manager.ready();
    let told = manager.clone();
    let hear = |service: &mut Service, notice: &Notice| match service.hear(notice) {
        Reaction::Changed { warned } => {
            let word = service.word();
            let text = notice.to_string();
            told.status(&text);
            if context.json || !warned {
                say(&out, &context, &text, || json!({"event": word, "text": text}));
            }
            Ok(())
        }
        Reaction::Warned | Reaction::Noted => Ok(()),
    };
    let service = Service::of(&node, key_file, None);
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        ended = service.serve(&node, notices, &mut control, hear) => {
            ended?;
            let what = "the node ended by itself";
            return Err(Failure::new(Exit::Bug, what, "report this error with the log"));
        }
        never = http::answer(http.as_mut(), async || shown::health(&node).await) => match never {},
        never = manager.hear_that(async || node.counters().await.is_some()) => match never {},
    };
    manager.stopping(ENDS_WITHIN);
    tokio::join!(node.close(), control.close(), manager.told_all());
    Ok(Exit::Signal(signal))
}

fn watch_processes(node: &Node, path: &Path) -> Result<Supervisor, Failure> {
    node.supervise(path).map_err(|error| {
        if let Some(other) = in_the_way(path) {
            let what =
                format!("no socket can be served at {}: {other} is in the way", path.display());
            let fix = "name another path, or move what is there away";
            return Failure::new(Exit::System, what, fix);
        }
        let what = format!("the socket {} cannot be served: {error}", path.display());
        let fix = "name a path of at most 107 bytes in a directory of this user, where no other \
                   process serves";
        Failure::new(Exit::System, what, fix)
    })
}

/// The kind of a file in the way: a file at `path` that is no socket.
fn in_the_way(path: &Path) -> Option<&'static str> {
    let kind = path.symlink_metadata().ok()?.file_type();
    match kind {
        kind if kind.is_socket() => None,
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_symlink() => Some("a symbolic link"),
        _ => Some("a file"),
    }
}

/// Standard output of a node, which never waits for its reader.
fn out() -> Result<Aside, Failure> {
    let lost = |lost: u64| {
        failure::warn(&format!("{lost} lines were not printed: standard output was not read"));
        String::new()
    };
    Aside::begin("tenure-stdout", lost, || io::stdout().lock()).map_err(|error| {
        let what = format!("no thread can be started for standard output: {error}");
        Failure::new(Exit::System, what, "check the limits of this process (ulimit -a)")
    })
}

fn say(out: &Aside, context: &Context, text: &str, object: impl FnOnce() -> Value) {
    let line = if context.json { object().to_string() } else { text.to_owned() };
    out.put(format!("{line}\n"));
}
