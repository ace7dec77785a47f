//! Lists of names of elections, for any sender.

use tenure_core::ElectionName;
use tenure_core::nerio::{Effect, List, Listed, Message, ToAsker};

use crate::story::*;

fn list(s: &mut Story, after: Option<&ElectionName>) -> Listed {
    let after = after.cloned();
    let effects = s.tell("q", "a", Message::from(List { start: at(1), after }));
    match &effects[..] {
        [Effect::Send { message: Message::Asker(ToAsker::Listed(listed)), .. }] => listed.clone(),
        other => panic!("{other:?}"),
    }
}

fn grant(s: &mut Story, election: &str, start: u64) {
    let mut request = request(at(start));
    request.election = election.parse().unwrap();
    assert!(granted(&s.ask("p", "a", request)).is_some());
}

/// The grantor collects elections once for all questions within a tenth of a second: a question
/// does not cost a walk over all of them. Elections that have ended since are left out.
#[test]
fn elections_are_collected_once() {
    let mut s = Story::new();
    for number in 100..200 {
        grant(&mut s, &format!("a-name-of-thirty-bytes-{number:07}"), number);
    }
    let (mut names, mut pages) = (Vec::new(), 0);
    loop {
        let page = list(&mut s, names.last());
        names.extend(page.names);
        pages += 1;
        if !page.more {
            break;
        }
    }
    assert_eq!((names.len(), pages), (100, 4), "each once");

    grant(&mut s, "a", 300);
    s.slip(ms(99));
    assert_eq!(list(&mut s, None).names[0], names[0], "as it was collected");
    s.slip(ms(1));
    assert_eq!(list(&mut s, None).names[0].as_str(), "a");
    s.slip(ms(50));
    s.tell(
        "p",
        "a",
        Message::from(tenure_core::nerio::Release {
            election: "a".parse().unwrap(),
            start: at(300),
            next: None,
        }),
    );
    assert_eq!(list(&mut s, None).names[0], names[0], "it has ended");
}
