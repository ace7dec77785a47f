//! The ring of members, and the weak leaders that they find.

use tenure_core::nerio::{Config, Detector, RingConfig};
use tenure_nerio::WeakLeaders;

use super::combination;
use super::participant::{Asker, Grantors};
use super::{ONLY_WEAK_LEADER, RING, RING_SILENCE};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{AskMode, Later, Layers, Participant, WeakObserver, WeakView};
use crate::settings::{Origins, parse};

const DETECTORS: [(&str, Option<Detector>); 3] =
    [("off", None), ("ping", Some(Detector::Ping)), ("accrual", Some(Detector::Accrual))];

/// Refuses a text that is no value of the setting `ring`.
pub(super) fn detector(text: &str) -> Result<String, parse::Refusal> {
    match DETECTORS.iter().any(|(name, _)| *name == text) {
        true => Ok(text.to_owned()),
        false => {
            Err(parse::not_one_of(text, "a failure detector", &DETECTORS.map(|(name, _)| name)))
        }
    }
}

/// The ring of a member, if its settings have one.
pub(super) fn ring(layers: &mut Layers<'_>) -> Result<Option<RingConfig>, Failure> {
    let text = layers.required(&RING)?;
    let silence = layers.required(&RING_SILENCE)?;
    let only_weak_leader = layers.required(&ONLY_WEAK_LEADER)?;
    let detector = DETECTORS.iter().find(|(name, _)| *name == text).and_then(|(_, one)| *one);
    let Some(detector) = detector else {
        if only_weak_leader {
            let what = "only-weak-leader needs a ring, and ring is off";
            let fix = "add --ring ping, or remove --only-weak-leader";
            return Err(layers.origins.usage(what, fix, &["only-weak-leader", "ring"]));
        }
        return Ok(None);
    };
    Ok(Some(RingConfig { detector, silence, only_weak_leader }))
}

/// A node that learns the weak leader of its partition from the members that it reaches.
struct Weak {
    asker: Asker,
    leaders: WeakLeaders,
}

/// Starts a node that only observes. After `silence` without an answer the node asks another
/// member; the setting has no other effect here.
pub(super) async fn observe(
    grantors: &Grantors,
    origins: &Origins,
) -> Result<Box<dyn WeakObserver>, Failure> {
    let mut cluster = grantors.cluster.clone();
    let mut config = Config::clone(&cluster.config);
    let ring = RingConfig::new(Detector::Ping);
    let silence = ring.silence.max(config.round_trip.saturating_mul(8));
    config.ring = Some(RingConfig { silence, ..ring });
    cluster.config = combination::again(config, origins)?;
    let asker = Grantors { cluster, seat: None, new_quorums: None, supervisor: None }
        .ask(AskMode::On, origins)?;
    let ended = || Failure::new(Exit::Bug, "the node ended by itself", "report this with the log");
    let leaders = asker.node().weak_leaders().await.ok_or_else(ended)?;
    Ok(Box::new(Weak { asker, leaders }))
}

impl WeakObserver for Weak {
    fn next(&mut self) -> Later<'_, Option<WeakView>> {
        Box::pin(async {
            let leader = self.leaders.next().await.ok()?;
            Some(match leader {
                Some(leader) => WeakView::Member { id: leader.member, epoch: leader.epoch },
                None => WeakView::Unknown,
            })
        })
    }

    fn permanent_failure(&self) -> Later<'static, Failure> {
        self.asker.permanent_failure()
    }
}
