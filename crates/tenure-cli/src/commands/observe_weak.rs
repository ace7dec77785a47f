//! `tenure observe --weak`: prints the weak leader of this partition now, and each change.

use std::time::Duration;

use serde_json::json as object;

use super::observe::print;
use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::protocol::{Backend, WeakView};
use crate::settings::Context;

/// Time to wait for the first weak leader before the output reports that it is unknown.
const SETTLING: Duration = Duration::from_secs(1);

pub(super) async fn run(backend: Box<dyn Backend>, context: Context) -> Result<Exit, Failure> {
    let Context { json, origins } = context;
    let mut signals = Signals::new()?;
    let mut reader_left = std::pin::pin!(output::reader_left());
    let mut observer = backend.weak_leaders(&origins).await?;
    let mut failure = observer.permanent_failure();
    let mut settling = std::pin::pin!(tokio::time::sleep(SETTLING));
    let (mut settled, mut printed) = (false, None);
    loop {
        let view = tokio::select! {
            biased;
            signal = signals.next() => return Ok(Exit::Signal(signal)),
            () = &mut reader_left => return Ok(Exit::Done),
            failure = &mut failure => return Err(failure),
            view = observer.next() => match view {
                Some(WeakView::Unknown) if !settled => continue,
                Some(view) => view,
                None => return Err(ended_by_itself()),
            },
            () = &mut settling, if !settled => WeakView::Unknown,
        };
        settled = true;
        if printed.as_ref() == Some(&view) {
            continue;
        }
        let text = if json { as_json(&view) } else { line(&view) };
        if let Some(exit) = print(&mut signals, &format!("{text}\n")).await? {
            return Ok(exit);
        }
        printed = Some(view);
    }
}

fn ended_by_itself() -> Failure {
    Failure::new(Exit::Bug, "the node ended by itself", "report this error with the log")
}

fn line(view: &WeakView) -> String {
    match view {
        WeakView::Member { id, .. } => format!("weak leader {id}: it holds no lease"),
        WeakView::Unknown => {
            "unknown: no member that can be reached names a weak leader; members do so with --ring"
                .to_owned()
        }
    }
}

fn as_json(view: &WeakView) -> String {
    match view {
        WeakView::Member { id, epoch } => {
            object!({"state": "weak-leader", "id": id.as_str(), "epoch": epoch}).to_string()
        }
        WeakView::Unknown => object!({"state": "unknown"}).to_string(),
    }
}
