//! Members on the ring of section 9, and a network that is cut in places.

use std::time::Duration;

use tenure_core::nerio::{
    Config, Detector, Effect, Event, Message, OwnEvent, RingConfig, ToGrantor,
};

use super::{Story, address, config, ms};

/// Silence after which a member counts as failed.
pub const SILENCE: Duration = Duration::from_millis(400);

/// These members, with a ring.
pub fn on_ring(members: &[&str], detector: Detector) -> Config {
    let mut config = config(members);
    config.ring = Some(RingConfig { silence: SILENCE, ..RingConfig::new(detector) });
    config
}

/// These members, of which only a weak leader campaigns.
pub fn only_weak_leaders(members: &[&str]) -> Config {
    let mut config = on_ring(members, Detector::Ping);
    if let Some(ring) = &mut config.ring {
        ring.only_weak_leader = true;
    }
    config
}

/// The recipients of the pings among these effects.
pub fn pinged(effects: &[Effect]) -> Vec<String> {
    let recipient = |effect: &Effect| match effect {
        Effect::Send { to, message: Message::Grantor(ToGrantor::Ping(_)) } => Some(to.to_string()),
        _ => None,
    };
    effects.iter().filter_map(recipient).collect()
}

impl Story {
    /// These members, started in this order.
    pub fn of_members(config: Config, members: &[&'static str]) -> Self {
        let mut story = Self::empty(config);
        for member in members {
            let disk = story.directory(true);
            story.start(member, Some(disk));
        }
        story
    }

    /// Time passes; timers fire in time; what is sent arrives at once, but not where `cut` says.
    pub fn run_cut(&mut self, span: Duration, cut: impl Fn(&str, &str) -> bool) {
        let mut left = span;
        while !left.is_zero() {
            let slice = left.min(ms(10));
            left -= slice;
            self.pass(slice);
            self.deliver_uncut(&cut);
        }
    }

    fn deliver_uncut(&mut self, cut: &impl Fn(&str, &str) -> bool) {
        for _ in 0..10_000 {
            if self.letters.is_empty() {
                return;
            }
            let letter = self.letters.remove(0);
            let to = self.actors.keys().find(|name| letter.to == address(name));
            if to.is_some_and(|to| !cut(letter.by, to)) {
                self.put(&letter);
            }
        }
        panic!("the network never falls silent");
    }

    /// Time passes while only members of one side reach each other.
    pub fn run_split(&mut self, span: Duration, sides: &[&[&str]]) {
        let side = |who: &str| sides.iter().position(|side| side.contains(&who));
        self.run_cut(span, |from, to| side(from) != side(to));
    }

    /// The weak leader that `who` reported last.
    pub fn weak(&self, who: &str) -> Option<String> {
        let reported = self.events(who).iter().rev().find_map(|event| match event {
            Event::Own(OwnEvent::WeakLeader(leader)) => Some(leader.clone()),
            _ => None,
        });
        reported.flatten().map(|leader| leader.member.to_string())
    }

    /// Whether each of these members names this weak leader.
    pub fn all_name(&self, members: &[&str], weak: &str) -> bool {
        members.iter().all(|who| self.weak(who).as_deref() == Some(weak))
    }
}
