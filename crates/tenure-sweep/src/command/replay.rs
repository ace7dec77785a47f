//! Runs a world again.

use std::path::{Path, PathBuf};

use clap::Args;
use tenure_sim::explain;
use tenure_sim::sweep::Source;
use tenure_sim::world::fault::Fault;

use super::{Job, World};

/// Default of `--lines`.
const LINES: usize = 200;

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The seed of the world.
    #[arg(long, value_name = "SEED")]
    seed: u64,
    /// Let only these faults and commands happen, as in loss.3.17,act.2.4.
    #[arg(long, value_name = "FAULTS", value_delimiter = ',')]
    only: Option<Vec<Fault>>,
    /// Write every event to this file, one line each.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write a picture to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print this many lines of the end of the trace.
    #[arg(long, value_name = "N", default_value_t = LINES)]
    lines: usize,
    #[command(flatten)]
    pub(super) world: World,
}

impl Job for Replay {
    fn run<S: Source>(&self, source: S) -> Result<bool, String> {
        println!("seed {}, tenure {}", self.seed, env!("CARGO_PKG_VERSION"));
        std::panic::set_hook(Box::new(|_| {}));
        let only = self.only.as_ref().map(|only| only.iter().copied().collect());
        let account = explain::replay(&source, self.seed, only);
        println!("{}", account.text(self.lines));
        if let Some(file) = &self.trace {
            write(file, &account.lines.join("\n"))?;
        }
        if let Some(file) = &self.svg {
            write(file, &tenure_sim::timeline::svg::draw(&account.timeline))?;
        }
        if account.violation.is_none() {
            println!("no violation ({} events)", account.events);
        }
        Ok(account.violation.is_none())
    }
}

/// Writes a file. The error names the file.
pub(super) fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}
