use std::collections::BTreeMap;

use tenure_core::voter::{Ask, Leadership};

use super::super::account::same;
use super::{Check, Fact, Own, Property, RegionalVoters, seconds};

/// V4, V6, V7, V8: while a promise runs, the voter endorses and acknowledges no other leadership,
/// also after a restart, unless the promised leader has released its leadership. A leader endorses
/// no other leadership.
#[derive(Debug, Default)]
pub(in super::super) struct PromisesAreKept;

impl Property<RegionalVoters> for PromisesAreKept {
    const NAME: &'static str = "Nobody promises to two at once";
    const SOURCE: &'static str = "V4, V6, V7, V8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Promises { node, to, from, until }) = fact else { return Ok(()) };
        let Some(who) = &check.own.who[node] else { return Ok(()) };
        if until <= from {
            return Ok(());
        }
        let account = &check.own.account;
        let given = account.promises.get(&who.identity).into_iter().flatten();
        // Only the run itself knows that its own leadership is over.
        let given = given.filter(|one| one.to.leader != *who);
        // A leader by one ballot has left all earlier ballots.
        let is_released = |of: &Leadership| {
            let mut released = account.released.iter();
            released.any(|one| same(one, of) && one.ballot >= of.ballot)
        };
        let mut others =
            given.filter(|one| !same(&one.to, to) && one.until > from && !is_released(&one.to));
        if let Some(other) = others.next() {
            return Err(format!(
                "{who} promises to {to} at {} until {}, and has promised to {} until {}",
                seconds(from),
                seconds(until),
                other.to,
                seconds(other.until),
            ));
        }
        let leads = check.history.elections.iter().find_map(|past| past.leader(from));
        match leads.filter(|led| led.node == node && to.leader != *who && led.fence.is_some()) {
            Some(led) => Err(format!(
                "{who} leads{} until {}, and promises to {to}",
                led.under(),
                seconds(led.until)
            )),
            None => Ok(()),
        }
    }
}

/// V8: a released leadership has ended before its release, and never returns. An abandoned earlier
/// attempt of the leader's ballot is another leadership.
#[derive(Debug, Default)]
pub(in super::super) struct ReleasedAfterTheEnd {
    /// The leadership for which each leading node requests acknowledgements.
    leads: BTreeMap<usize, Leadership>,
}

impl Property<RegionalVoters> for ReleasedAfterTheEnd {
    const NAME: &'static str = "A release follows the end of the work";
    const SOURCE: &'static str = "V8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed(claim) if check.own(&claim).is_none() => {
                self.leads.remove(&claim.node);
                Ok(())
            }
            Fact::Own(Own::Asks { node, ask: Ask::Heartbeat(heartbeat) }) => {
                if let Some(lease) = &heartbeat.lease {
                    self.leads.insert(node, lease.leadership.clone());
                }
                Ok(())
            }
            Fact::Own(Own::Releases { node, leadership }) => {
                let led = check.history.elections.iter().find_map(|past| past.leader(check.now));
                let led = led.filter(|led| {
                    led.node == node && Some(led.life) == Some(leadership.leader.incarnation)
                });
                let other = self.leads.get(&node).is_some_and(|leads| leads != leadership);
                match led.and_then(|led| Some((led, led.fence?))) {
                    Some((led, fence)) if fence.number() == leadership.counter() && !other => {
                        Err(format!(
                            "{} releases {leadership} and leads until {}",
                            check.name(node),
                            seconds(led.until)
                        ))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
