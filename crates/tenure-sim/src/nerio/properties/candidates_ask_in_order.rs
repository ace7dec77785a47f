use std::collections::VecDeque;

use tenure_core::nerio::{Inc, MemberSet, Message, Refusal, Request};
use tenure_core::{End, Fence, Loss, NodeName, Time};

use super::places::Places;
use super::{Check, Claimed, Fact, Own, Plan, Property, QuorumLeases};

/// As many requests as a candidate may still be answered.
const KEPT: usize = 80;

/// What a candidate may ask for: a Start names one request; the first lease is short, and proposes
/// a fence above all it has heard of; nothing overtakes a release; whoever is named as the next
/// waits; and a claim is (1 − ρ)δ long, to the nanosecond.
#[derive(Debug, Default)]
pub(super) struct CandidatesAskInOrder {
    asking: Places<Option<Asking>>,
}

#[derive(Debug, Default)]
struct Asking {
    /// The latest request, and the Starts and lengths of those before.
    last: Option<Request>,
    sent: VecDeque<(Time, u64)>,
    /// The highest fence heard of; unknown once a grantor has called a proposal too high.
    heard: Option<Fence>,
    /// Whether it asked since it last gave up.
    asked: bool,
    /// What was given up on purpose, and who has confirmed that.
    owed: Option<(Time, MemberSet)>,
    /// Whom grantors named, and when they did last.
    waits: Vec<(NodeName, Time)>,
    /// To whom it hands over.
    successor: Option<NodeName>,
}

impl Property<QuorumLeases> for CandidatesAskInOrder {
    const NAME: &'static str = "A candidate asks for what it may";
    const SOURCE: &'static str = "section 2; section 3, step 8; who is next 3; the scalar fence 1";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.asking = Places::by_election(plan);
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => {
                self.asking.forget(node);
                Ok(())
            }
            Fact::Own(Own::Requests { node, election, request }) => {
                let asking = self.asking.at_mut((node, election)).get_or_insert_default();
                asking.ask(check, node, request).map_err(|why| {
                    let (name, start) = (&check.plan.nodes[node].name, request.start);
                    format!("{name} asks for {} with Start {start}, {why}", request.election)
                })
            }
            Fact::Own(Own::Answered { node, election, member, message, local }) => {
                if let Some(asking) = self.asking.at_mut((node, election))
                    && let Some(inc) = check.history.lives[node].map(Inc)
                {
                    asking.hear(inc, member, message, local);
                }
                Ok(())
            }
            Fact::Own(Own::HandsOver { node, election, to }) => {
                if let Some(asking) = self.asking.at_mut((node, election)) {
                    asking.successor = Some(to.clone());
                }
                Ok(())
            }
            Fact::Ended { node, election, end, .. } => {
                let Some(asking) = self.asking.at_mut((node, election)) else { return Ok(()) };
                asking.successor = None;
                asking.waits.clear();
                if let Some(last) = asking.last.as_ref().filter(|_| asking.asked) {
                    let on_purpose = *end != End::Lost(Loss::Expired);
                    asking.owed = on_purpose.then_some((last.start, MemberSet::EMPTY));
                }
                asking.asked = false;
                Ok(())
            }
            Fact::Claimed(Claimed { node, election, ends, .. }) => {
                let config = &check.plan.nodes[node].config;
                let parts = 1_000_000_000 - u128::from(config.drift.parts_per_billion());
                let fits = |(start, delta): &(Time, u64)| {
                    let length = u128::from(*delta) * parts / 1_000_000_000;
                    u128::from(start.as_nanos()) + length == u128::from(ends.as_nanos())
                };
                let asking = self.asking.at((node, election)).as_ref();
                if asking.is_some_and(|asking| asking.sent.iter().any(fits)) {
                    return Ok(());
                }
                let who = &check.own.who[node];
                Err(format!("{who} claims until {ends}, which none of its requests gives it"))
            }
            _ => Ok(()),
        }
    }
}

impl Asking {
    fn ask(&mut self, check: &Check<'_>, node: usize, request: &Request) -> Result<(), String> {
        if let Some(last) = self.last.as_ref().filter(|last| last.start >= request.start) {
            return match last == request {
                true => Ok(()),
                false => Err("and has used that or a later one for something else".to_owned()),
            };
        }
        let config = &check.plan.nodes[node].config;
        let before = self.last.replace(request.clone());
        self.asked = true;
        if self.sent.len() == KEPT {
            self.sent.pop_front();
        }
        self.sent.push_back((request.start, request.delta.as_nanos() as u64));
        if !request.leading {
            let short = config.lease_first();
            if request.delta > short {
                return Err(format!("for {:?} at first, and not {short:?}", request.delta));
            }
            if let Some(heard) = self.heard.filter(|heard| *heard >= request.fence) {
                return Err(format!("with fence {}, and has heard of {heard}", request.fence));
            }
        }
        if let Some((start, arrived)) = self.owed.take() {
            let longest = config.lease.max(config.lease_first());
            let until = start.after(config.drift.stretch(config.drift.stretch(longest)));
            if before.is_some() && !config.quorums.is_quorum(arrived) && request.start < until {
                return Err(format!("and no quorum has confirmed its release of {start}"));
            }
        }
        let Some(next) = request.next.as_ref().filter(|next| self.successor.as_ref() != Some(next))
        else {
            return Ok(());
        };
        let lately = config.heard_within();
        let heard =
            |(name, at): &&(NodeName, Time)| name == next && request.start.since(*at) < lately;
        match self.waits.iter().find(heard) {
            Some(_) => Ok(()),
            None => Err(format!("and names {next}, of whom no grantor has spoken in {lately:?}")),
        }
    }

    fn hear(&mut self, inc: Inc, member: usize, message: &Message, local: Time) {
        match message {
            Message::Granted(ok) if ok.asker == inc => {
                self.hear_fence(ok.seen);
                let Some(name) = &ok.waiting else { return };
                self.waits.retain(|(other, _)| other != name);
                self.waits.push((name.clone(), local));
            }
            Message::Refused(refused) if refused.asker == inc => {
                self.hear_fence(refused.seen);
                if refused.refusal == Refusal::FenceTooFar {
                    self.heard = None;
                }
            }
            Message::Released(released) if released.asker == inc => {
                // It may name a later Start, with which nobody was left to be asked.
                if let Some((start, arrived)) = &mut self.owed
                    && *start <= released.start
                {
                    *arrived = arrived.with(member);
                }
            }
            _ => {}
        }
    }

    fn hear_fence(&mut self, seen: Fence) {
        self.heard = Some(self.heard.map_or(seen, |heard| heard.max(seen)));
    }
}
