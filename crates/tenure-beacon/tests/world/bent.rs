//! A beacon that does one thing wrong.

use std::time::Duration;

use tenure_beacon::{ALL, Beacon, Beat, Config, Words};
use tenure_core::{
    BothClocks, Command, Deadline, Effect, Effects, ElectionName, Event, Input, NodeName, Protocol,
    Standing, Time, View,
};

/// What it does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Flaw {
    /// Nothing.
    None,
    /// It says that it leads as soon as it campaigns.
    Boasts,
    /// It does not hear the others.
    InboundBlocked,
    /// It raises its claim again after it has ended.
    Returns,
    /// It does not tell observers of a vacancy.
    Silent,
    /// It says that it does not lead.
    Modest,
    /// It keeps every message.
    Hoards,
    /// It never campaigns.
    Idles,
    /// It does not say that it is elected.
    Discreet,
    /// It does not say that its leadership has settled.
    Restless,
    /// It does not say that others know of the end.
    Lingers,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Bent {
    beacon: Beacon,
    flaw: Flaw,
    raised: Option<Effect<Words>>,
    hoard: Vec<Beat>,
}

impl Bent {
    pub(crate) fn new(flaw: Flaw, config: Config, id: NodeName) -> Self {
        Self { beacon: Beacon::new(config, id), flaw, raised: None, hoard: Vec::new() }
    }

    /// What becomes of an effect.
    fn bend(&mut self, effect: Effect<Words>, out: &mut Effects<Words>) {
        match (&effect, self.flaw) {
            (Effect::Emit { event: Event::View(view), .. }, Flaw::Silent)
                if **view == View::Vacant => {}
            (Effect::Emit { event: Event::Elected { .. }, .. }, Flaw::Discreet)
            | (Effect::Emit { event: Event::Settled, .. }, Flaw::Restless)
            | (Effect::Emit { event: Event::Released, .. }, Flaw::Lingers) => {}
            (Effect::Raise { .. }, Flaw::Returns) => {
                self.raised = Some(effect.clone());
                out.push(effect);
            }
            (Effect::Lower { .. }, Flaw::Returns) => {
                out.push(effect);
                out.extend(self.raised.take());
            }
            _ => out.push(effect),
        }
    }
}

impl Protocol for Bent {
    type Words = Words;
    type Now = BothClocks;

    fn handle(&mut self, now: BothClocks, input: Input<Words>, out: &mut Effects<Words>) {
        match &input {
            Input::Message { .. } if self.flaw == Flaw::InboundBlocked => return,
            Input::Message { message, .. } if self.flaw == Flaw::Hoards => {
                self.hoard.push(message.clone());
            }
            Input::Command { command: Command::Campaign { .. }, .. }
                if self.flaw == Flaw::Idles =>
            {
                return;
            }
            _ => {}
        }
        if let Input::Command { election, command: Command::Campaign { value, .. } } = &input
            && self.flaw == Flaw::Boasts
        {
            let (election, value, life) = (election.clone(), value.clone(), 0);
            let until = now.wall.after(Duration::from_millis(1));
            out.push(Effect::Send { to: ALL, message: Beat { election, until, value, life } });
        }
        let mut effects = Vec::new();
        self.beacon.handle(now, input, &mut effects);
        effects.into_iter().for_each(|effect| self.bend(effect, out));
    }

    fn deadline(&self) -> Option<Deadline> {
        self.beacon.deadline()
    }

    fn standing(&self, election: &ElectionName, now: Time) -> Standing {
        match self.flaw {
            Flaw::Modest => Standing::NotLeading,
            _ => self.beacon.standing(election, now),
        }
    }
}
