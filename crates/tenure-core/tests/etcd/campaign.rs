//! Candidates: keys, queues, wins.

use crate::stage::*;

/// A campaign that begins once the last one has left takes the value that was said last.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn the_next_campaign_takes_a_new_value() {
    let mut s = Stage::new();
    s.elect("db");
    s.command("db", tenure_core::etcd::Command::Resign);
    s.campaign("db");
    s.proclaim("db", "newer");
    assert!(!s.has_told("ignored"), "{:#?}", s.told());
    s.write("if create(db/");
    assert_eq!(puts(&s.asked("if create(db/")), [&"newer".into()]);
}
