//! Rules that are broken on purpose, one at a time.

use std::panic::{catch_unwind, set_hook, take_hook};

use tenure_core::planted::Planted;

/// A rule, and the story that notices when it is broken.
pub type Story = (&'static Planted, fn());

/// That each story passes with its rule in force, and fails while it is broken.
pub fn stories_notice(stories: &[Story]) {
    set_hook(Box::new(|_| {}));
    let mut survivors = Vec::new();
    for (rule, story) in stories {
        let name = rule.name;
        assert!(catch_unwind(story).is_ok(), "the story of {name} fails with the rule in force");
        let _broken = rule.break_it();
        if catch_unwind(story).is_ok() {
            survivors.push(name);
        }
    }
    drop(take_hook());
    assert!(survivors.is_empty(), "not noticed: {survivors:?}");
}

/// That every rule that is noticed by hand has its story, in the order of the rules.
pub fn by_hand_has_its_story(stories: &[Story], rules: &[Planted]) {
    let told: Vec<_> = stories.iter().map(|(rule, _)| rule.name).collect();
    let by_hand = rules.iter().filter(|rule| rule.by_hand).map(|rule| rule.name);
    assert_eq!(told, Vec::from_iter(by_hand), "one story for each, in the order of the rules");
}
