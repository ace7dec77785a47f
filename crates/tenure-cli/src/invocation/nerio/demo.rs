//! `tenure demo` has only its own flags, so that no variable or file of a real cluster affects it.

use std::time::Duration;

use crate::failure::Failure;
use crate::protocol::Layers;
use crate::settings::Default::{Nothing, Text};
use crate::settings::parse;
use crate::settings::table::{ONE_CALL, plain, span};

const DEMO: &str = "Demo";

crate::settings! {
    FOR: Duration = "for" "DURATION" Text, ONE_CALL, Nothing, DEMO,
        parse::positive_duration, span,
        "End with a summary after this time; without it, at Ctrl-C";
    LEASE: Duration = "lease" "DURATION" Text, ONE_CALL, Text("2s"), DEMO, lease, span,
        "How long a leadership lasts without renewal: 1s to 1m";
    KEEP: bool = "keep" "" Switch, ONE_CALL, Text("false"), DEMO, parse::switch, plain,
        "Keep the directory with the states, the logs and the file of the leaders' work";
}

/// A lease that is short enough to watch, and long enough for a busy machine.
fn lease(text: &str) -> Result<Duration, parse::Refusal> {
    let lease = parse::duration(text)?;
    if (Duration::from_secs(1)..=Duration::from_secs(60)).contains(&lease) {
        return Ok(lease);
    }
    let fix = "write a duration in that range, such as 2s";
    Err(parse::Refusal::new("the demo's lease is from 1s to 1m", fix))
}

/// The checked settings of `tenure demo`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DemoSettings {
    /// Duration of the demo; `None` runs until it is interrupted.
    pub run_for: Option<Duration>,
    pub lease: Duration,
    /// Grace: a fifth of the lease.
    pub grace: Duration,
    pub keep: bool,
}

impl DemoSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let run_for = layers.optional(&FOR)?;
        let lease = layers.required(&LEASE)?;
        let keep = layers.required(&KEEP)?;
        Ok(Self { run_for, lease, grace: lease / 5, keep })
    }
}
