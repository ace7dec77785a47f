//! Candidates: keys, queues, wins.

use tenure_core::etcd::{Change, KeyValue, LeaseId, Reply};

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

/// Ruling 6 (E5): a create whose answer was lost has made the key that the next one finds.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_key_that_a_lost_answer_made_is_taken_over() {
    let mut s = Stage::new();
    s.campaign("db");
    s.answer("grant", Reply::Granted { ttl: 10 });
    s.lose("if create(db/");
    s.pass(ms(200));
    let own = s.own("db", 9);
    s.answer("if create(db/", not_so(vec![Some(own.clone())]));
    assert!(s.asks("if create(db/") && !s.has_told("delete"), "{:#?}", s.told());
    s.answer("if create(db/", so(vec![Some(own), None]));
    assert!(s.leads("db"));
}

/// Ruling 6 (E5): on a lease that was handed in, the key that is found may be one of an earlier
/// process, whose fence is used up, even if a create of this process had no certain outcome, and
/// even if the value is the same. It is deleted, and made anew.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_key_of_an_earlier_process_is_made_anew() {
    for unsure in [false, true] {
        let mut s = Stage::with(config(), Some(LeaseId(0x42)));
        s.campaign("db");
        s.answer("keep", Reply::Alive { ttl: Some(10) });
        if unsure {
            s.lose("if create(db/");
            s.pass(ms(200));
        }
        let earlier = s.own("db", 9);
        s.answer("if create(db/", not_so(vec![Some(earlier)]));
        assert!(s.asks("if create(db/42) = 9 then delete"), "unsure {unsure}: {:#?}", s.told());
        s.write("if create(db/42) = 9");
        assert!(s.asks("if create(db/42) = 0 then put"), "{:#?}", s.requests());
    }
}
