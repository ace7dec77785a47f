//! `tenure demo`: its own flags and nothing else, so that no variable or file of a real
//! cluster reaches it.

use std::time::Duration;

use super::table::{self, ONE_CALL, plain, span};
use super::{Default, Layers, Ledger, Setting, Shape, Spec, parse};
use crate::failure::Failure;

const DEMO: &str = "Demo";

/// How long the demo runs.
pub static FOR: Setting<Duration> = Setting {
    spec: Spec {
        name: "for",
        value: "DURATION",
        shape: Shape::Text,
        reach: ONE_CALL,
        default: Default::Nothing,
        group: DEMO,
        help: "End with a summary after so long; without it, at Ctrl-C",
    },
    parse: parse::positive_duration,
    show: span,
};

/// The lease of the demo's cluster.
pub static LEASE: Setting<Duration> = Setting {
    spec: Spec {
        name: "lease",
        value: "DURATION",
        shape: Shape::Text,
        reach: ONE_CALL,
        default: Default::Text("2s"),
        group: DEMO,
        help: "How long a leadership lasts without renewal: 1s to 1m",
    },
    parse: lease,
    show: span,
};

/// Whether the demo leaves its files behind.
pub static KEEP: Setting<bool> = Setting {
    spec: Spec {
        name: "keep",
        value: "",
        shape: Shape::Switch,
        reach: ONE_CALL,
        default: Default::Text("false"),
        group: DEMO,
        help: "Keep the directory with the states, the logs and the file that was checked",
    },
    parse: parse::switch,
    show: plain,
};

/// A lease short enough to watch, and long enough for a busy machine.
fn lease(text: &str) -> Result<Duration, parse::Refusal> {
    let lease = parse::duration(text)?;
    if (Duration::from_secs(1)..=Duration::from_secs(60)).contains(&lease) {
        return Ok(lease);
    }
    let fix = "write a duration in that range, such as 2s";
    Err(parse::Refusal::new("the demo's lease is from 1s to 1m", fix))
}

/// What `tenure demo` was asked to do, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DemoSettings {
    /// How long it runs; `None` is until it is interrupted.
    pub run_for: Option<Duration>,
    /// The lease of its cluster.
    pub lease: Duration,
    /// The grace that goes with the lease: a fifth of it.
    pub grace: Duration,
    /// Whether to leave its files behind.
    pub keep: bool,
    /// Whether to answer in JSON.
    pub json: bool,
    /// All of the above with their origins.
    pub ledger: Ledger,
}

impl DemoSettings {
    /// Reads and checks them.
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let run_for = layers.optional(&FOR)?;
        let lease = layers.required(&LEASE)?;
        let keep = layers.required(&KEEP)?;
        let json = layers.required(&table::JSON)?;
        let ledger = layers.take_ledger();
        Ok(Self { run_for, lease, grace: lease / 5, keep, json, ledger })
    }
}
