//! Candidates: keys, queues, wins.

use tenure_core::etcd::{Change, KeyValue, Reply};

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

/// A proclamation whose answer was lost may be carried out after a newer one, and hides it: the
/// newer value is written again, whoever notices first, the watch or the next confirmation.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_value_that_comes_late_does_not_stay() {
    for watched in [true, false] {
        let mut s = Stage::new();
        let created = s.elect("db");
        s.answer("watch db/", Reply::Watching);
        s.proclaim("db", "older");
        s.lose("if create(db/");
        s.proclaim("db", "newer");
        assert_eq!(puts(&s.asked("if create(db/")), [&"newer".into()]);
        s.write("if create(db/");
        let late = KeyValue { value: "older".into(), modified: 13, ..s.own("db", created) };
        if watched {
            s.changed("db/", vec![Change::Put(late)]);
        } else {
            s.pass(ms(3_400));
            s.answer("keep", Reply::Alive { ttl: Some(10) });
            s.answer("read db/", so(vec![Some(late)]));
        }
        assert_eq!(puts(&s.asked("if create(db/")), [&"newer".into()], "watched: {watched}");
        assert!(s.leads("db"));
    }
}
