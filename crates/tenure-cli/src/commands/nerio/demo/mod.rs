//! `tenure demo`: a real cluster on this machine, whose leaders fail, and a judge.
//!
//! ```text
//! three `tenure node`, two `tenure run`      processes   real ones; `children` reaps them
//!    │ CMD of the leader                     roles       writes a line every 20 ms, with its fence
//!    ▼
//! the file ──► lines ──► judge               work, judge    who led when; did two lead at once?
//!                          │
//! the clock ──► script ◄───┘                 play      resign, kill -9, SIGSTOP in turn
//!                 │
//!                 └──► processes             done by signals and by `tenure resign`
//! ```
//!
//! The judge reads only the file; all processes share one clock. An observer of the demo reports
//! the remaining lease.

mod children;
mod failover;
mod fault;
mod judge;
mod news;
mod play;
mod processes;
mod roles;
mod summary;
mod work;
mod workdir;

pub use roles::reenter;

use self::play::Demo;
use crate::commands::signals::Signals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::demo::DemoSettings;
use crate::output;
use crate::settings::Context;

/// Runs until the time is over, a signal comes or a check fails, and prints a summary.
pub(in crate::commands) async fn run(
    settings: DemoSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let mut demo = Demo::open(settings, context.json)?;
    demo.play(&mut signals).await?;
    let summary = demo.close().await?;
    let text = if context.json { format!("{}\n", summary.object()) } else { summary.text() };
    let read = output::reaches(&text)?;
    match summary.exit() {
        // The reader left before it could read the summary: print the failure on standard error.
        Exit::Wrong if !read => Err(summary.failure()),
        exit => Ok(exit),
    }
}
