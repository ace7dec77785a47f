//! Tests of what the paper promises, in files named after its sections. (van Renesse, Schneider,
//! Gehrke: *Nerio: Leader Election and Edict Ordering*, arXiv 1109.5111.)
//!
//! `docs/seeds/nerio.md` names the test of each step and equation.

mod section_1;
mod section_10;
mod section_10_3;
mod section_2;
mod section_3;
mod section_4;
mod section_6;
mod section_7;
mod section_8;
mod section_9;

use tenure_core::nerio::{Event, OwnEvent, QuorumTimestamp};

use crate::story::Story;

/// The timestamp with which `who` was elected last.
fn elected(s: &Story, who: &str) -> QuorumTimestamp {
    let elected = s.events(who).iter().rev().find_map(|event| match event {
        Event::Own(OwnEvent::Stamped { timestamp, .. }) => Some(timestamp.clone()),
        _ => None,
    });
    elected.unwrap()
}
