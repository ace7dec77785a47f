//! `tenure demo`: a real cluster on this machine, whose leaders fall, and a judge.
//!
//! ```text
//! three `tenure node`, two `tenure run`      cast      real processes, nothing else (below)
//!    │ CMD of whoever leads                  extra     writes a line every 20 ms, with its fence
//!    ▼
//! the file ──► lines ──► judge               work, judge    who led when, and was it ever two
//!                          │
//! the clock ──► script ◄───┘                 script    resign, kill -9, SIGSTOP in turn
//!                 │
//!                 └──► cast                  done by signals and by `tenure resign`
//! ```
//!
//! Everything is judged by the file alone, on the one clock that all processes share. What is
//! drawn on a terminal also comes from an observer, as any process could have one, and from the
//! control sockets of the nodes.

mod below;
mod cast;
mod extra;
mod frame;
mod judge;
mod news;
mod place;
mod screen;
mod script;
mod show;
mod summary;
mod tally;
mod words;
mod work;

pub use extra::reenter;

use self::show::Show;
use super::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::demo::DemoSettings;

/// Plays until the time is over, a signal comes or something is wrong, and tells how it was.
pub(super) async fn run(settings: DemoSettings) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let json = settings.json;
    let mut show = Show::open(settings)?;
    show.play(&mut signals).await?;
    let summary = show.close().await?;
    let text = if json { format!("{}\n", summary.object()) } else { summary.text() };
    let read = output::reaches(&text)?;
    match summary.exit() {
        // Nobody has read what was wrong.
        Exit::Wrong if !read => Err(summary.failure()),
        exit => Ok(exit),
    }
}
