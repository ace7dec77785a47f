//! `tenure simulate`: forecasts the effects of settings, with the real state machines in a made-up
//! world.
//!
//! ```text
//! settings ──► Question ──► tenure_sim::forecast ──► Answer ──┬─► text     a screen for people
//!                                                             ├─► object   JSON for programs
//!                                                             └─► page     HTML with plots
//! ```

mod advice;
mod drawing;
mod object;
mod page;
mod plots;
mod text;
mod words;

use std::num::NonZero;
use std::time::Duration;

use tenure_sim::forecast::{Answer, forecast};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::simulate::{HTML, SimulateSettings, unanswerable};
use crate::output;
use crate::settings::{Context, Origins};

struct Report {
    answer: Answer,
    /// Duration of the simulation.
    took: Duration,
    /// The command line that gives the same answer.
    again: String,
}

pub(in crate::commands) fn run(
    settings: &SimulateSettings,
    context: &Context,
) -> Result<Exit, Failure> {
    let SimulateSettings { question, html } = settings;
    let Context { json, origins } = context;
    if let Some(path) = html {
        // Write the file once before the simulation, so that a wrong path fails early.
        write(origins, path, "")?;
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let begin = tenure::clock::now();
    let answer = forecast(question, threads).map_err(|error| unanswerable(&error, origins))?;
    let took = tenure::clock::now().since(begin);
    let again = origins.command("tenure simulate", &["json", "html", "log"], "seed");
    let report = Report { answer, took, again };
    if let Some(path) = html {
        write(origins, path, &page::page(&report))?;
    }
    output::print(&if *json {
        format!("{}\n", object::object(&report))
    } else {
        text::text(&report)
    })?;
    Ok(Exit::Done)
}

fn write(origins: &Origins, path: &std::path::Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page).map_err(|error| {
        let what = format!("the page {} cannot be written: {error}", path.display());
        let failure = Failure::new(Exit::System, what, "name a file in a directory you may write");
        match origins.origin(&HTML) {
            Some(origin) => failure.origin(origin),
            None => failure,
        }
    })
}
