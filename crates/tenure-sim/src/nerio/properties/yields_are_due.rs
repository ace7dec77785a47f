use std::time::Duration;

use tenure_core::Time;
use tenure_core::nerio::{Holder, Inc, MemberSet, Message, Refusal, Refused, Release, Request};

use super::{Check, Claimed, Fact, Own, Plan, Property, QuorumLeases};

/// Who is next 4: a candidate gives up what it was granted only when it cannot win, to somebody in
/// its way who ranks no lower; it says for whom, and does not ask again at once.
///
/// What the candidate has forgotten since counts here, too: this allows more than it may.
#[derive(Debug, Default)]
pub(super) struct YieldsAreDue {
    elections: usize,
    campaigns: Vec<Campaign>,
    /// Whether each node gave something up that may not be judged yet.
    gave: Vec<bool>,
}

#[derive(Debug, Default)]
struct Campaign {
    /// The Start and the priority of the last request.
    asked: Option<(Time, u8)>,
    /// The first Start of the campaign.
    began: Time,
    leads: bool,
    /// Whether a lease was too long for somebody: then others may get back what they granted.
    too_long: bool,
    heard: Vec<Heard>,
    /// When the last answer came: only answers make it yield.
    heard_at: Time,
    rivals: Vec<Rival>,
    /// What it gave up with its last input, until it is known why.
    gave: Option<(Release, MemberSet)>,
}

/// What one member answered last.
#[derive(Clone, Debug, Default)]
struct Heard {
    start: Time,
    able: bool,
    /// Who is in the way there, as the answer to the request of this Start told.
    holder: Option<Inc>,
    told: Time,
    /// Who was in the way there, as answers to earlier requests told that came after that one.
    late: Vec<Inc>,
    /// When its grant ends at the latest.
    until: Time,
    /// Nothing is asked there before.
    held_off: Time,
}

/// Somebody who is or was in the way.
#[derive(Debug)]
struct Rival {
    holder: Holder,
}

impl Property<QuorumLeases> for YieldsAreDue {
    const NAME: &'static str = "A candidate yields when it cannot win, and to somebody above it";
    const SOURCE: &'static str = "who is next 4";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let elections = plan.elections.len();
        let nodes = plan.nodes.len();
        let campaigns = (0..nodes * elections).map(|_| Campaign::default()).collect();
        *self = Self { elections, campaigns, gave: vec![false; nodes] };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => {
                let places = node * self.elections..(node + 1) * self.elections;
                self.campaigns[places].fill_with(Campaign::default);
                Ok(())
            }
            // What it gave up with the input before was not the end of its campaign.
            Fact::Handled { node, .. } if self.gave[node] => {
                self.gave[node] = false;
                let places = node * self.elections..(node + 1) * self.elections;
                for campaign in &mut self.campaigns[places] {
                    if let Some(gave) = campaign.gave.take() {
                        campaign.judge(check, node, gave)?;
                    }
                }
                Ok(())
            }
            Fact::Ended { node, election, .. } => {
                *self.at(node, election) = Campaign::default();
                Ok(())
            }
            Fact::Claimed(Claimed { node, election, .. }) => {
                self.at(node, election).leads = true;
                Ok(())
            }
            Fact::Own(Own::Answered { node, election, member, message, local }) => {
                if asker(message) != check.history.lives[node].map(Inc) {
                    return Ok(());
                }
                let config = check.plan.config();
                let campaign = self.at(node, election);
                if let Some(gave) = campaign.gave.take() {
                    campaign.judge(check, node, gave)?;
                }
                campaign.hear(member, message, local, |span| config.drift.stretch(span));
                Ok(())
            }
            Fact::Own(Own::Sent {
                node, to: Some(to), message: Message::Request(request), ..
            }) => {
                let Some(election) = check.number(&request.election) else { return Ok(()) };
                let members = check.plan.members();
                self.at(node, election).ask(request, to, members).map_err(|why| {
                    let (name, to) = (&check.plan.nodes[node].name, &check.plan.nodes[to].name);
                    format!("{name} asks {to} for {}, {why}", request.election)
                })
            }
            Fact::Own(Own::Sent {
                node, to: Some(to), message: Message::Release(release), ..
            }) => {
                let Some(election) = check.number(&release.election) else { return Ok(()) };
                let campaign = self.at(node, election);
                let of_now = campaign.asked.is_some() && release.start >= campaign.began;
                if of_now && !campaign.leads {
                    let gave = &mut campaign.gave;
                    let (_, to_whom) =
                        gave.get_or_insert_with(|| (release.clone(), MemberSet::EMPTY));
                    *to_whom = to_whom.with(to);
                    self.gave[node] = true;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl YieldsAreDue {
    fn at(&mut self, node: usize, election: usize) -> &mut Campaign {
        &mut self.campaigns[node * self.elections + election]
    }
}

impl Campaign {
    fn ask(&mut self, request: &Request, to: usize, members: usize) -> Result<(), String> {
        if self.asked.is_none() {
            self.began = request.start;
            self.heard = vec![Heard::default(); members];
        }
        self.asked = Some((request.start, request.priority));
        self.leads |= request.leading;
        let held_off = self.heard.get(to).map_or(Time::ZERO, |heard| heard.held_off);
        match request.start < held_off && !self.leads {
            true => Err(format!("and yielded there until {held_off}")),
            false => Ok(()),
        }
    }

    fn hear(
        &mut self,
        member: usize,
        message: &Message,
        local: Time,
        stretch: impl Fn(Duration) -> Duration,
    ) {
        let Some((last, _)) = self.asked else { return };
        self.heard_at = local;
        match message {
            Message::Granted(ok) if ok.start <= last => {
                let heard = &mut self.heard[member];
                (heard.start, heard.able) = (heard.start.max(ok.start), true);
                if ok.waited {
                    // Whoever was in the way has gone.
                    self.heard.iter_mut().for_each(|heard| heard.held_off = Time::ZERO);
                }
            }
            Message::Refused(refused) if refused.start <= last => {
                let heard = &mut self.heard[member];
                heard.start = heard.start.max(refused.start);
                heard.able = matches!(refused.refusal, Refusal::Held { .. } | Refusal::FenceTooFar);
                self.too_long |= matches!(refused.refusal, Refusal::TooLong { .. });
                self.hear_holder(member, refused, local, stretch);
            }
            _ => {}
        }
    }

    fn hear_holder(
        &mut self,
        member: usize,
        refused: &Refused,
        local: Time,
        stretch: impl Fn(Duration) -> Duration,
    ) {
        let Refusal::Held { holder, .. } = &refused.refusal else { return };
        let inc = holder.who.inc;
        let heard = &mut self.heard[member];
        let until = local.after(stretch(holder.remaining));
        let another = heard.late.iter().chain(&heard.holder).any(|other| *other != inc);
        if refused.start < heard.told {
            // News only to one who has forgotten the rest: then it may ask again at the earlier.
            heard.until = heard.until.min(until);
            if !heard.late.contains(&inc) {
                heard.late.push(inc);
            }
        } else {
            (heard.told, heard.until, heard.holder) = (refused.start, until, Some(inc));
            heard.late.clear();
        }
        if another {
            self.heard.iter_mut().for_each(|heard| heard.held_off = Time::ZERO);
        }
        match self.rivals.iter_mut().find(|rival| rival.holder.who == holder.who) {
            Some(rival) => {
                let known = &mut rival.holder;
                known.priority = known.priority.max(holder.priority);
                known.leading |= holder.leading;
                known.next |= holder.next;
            }
            None => self.rivals.push(Rival { holder: Holder::clone(holder) }),
        }
    }

    fn judge(
        &mut self,
        check: &Check<'_>,
        node: usize,
        (release, to): (Release, MemberSet),
    ) -> Result<(), String> {
        let Some((_, asked)) = self.asked else { return Ok(()) };
        if self.too_long {
            return Ok(());
        }
        let config = &check.plan.nodes[node].config;
        let now = self.heard_at;
        let wrong = |why: String| {
            let (name, of) = (&check.plan.nodes[node].name, &release.election);
            Err(format!("{name} yields {of} up to Start {}, {why}", release.start))
        };
        let lost = |heard: &Heard| {
            !heard.able && heard.start > Time::ZERO
                || now.since(heard.start.max(self.began)) >= config.parked_for()
        };
        let away = self.heard.iter().enumerate();
        let away = away.filter(|(_, heard)| heard.holder.is_some() || lost(heard));
        if config.quorums.is_possible(away.map(|(member, _)| member).collect()) {
            return wrong("and may still win".to_owned());
        }
        let Some(next) = &release.next else {
            return wrong("and does not say for whom".to_owned());
        };
        let above = |rival: &&Rival| {
            let Holder { next, leading, priority, .. } = rival.holder;
            (next, leading, priority) >= (false, false, asked)
        };
        // Of that name there may be several lives.
        let named = |rival: &&Rival| rival.holder.who.name == *next && above(rival);
        let rivals: Vec<&Rival> = self.rivals.iter().filter(named).collect();
        if rivals.is_empty() {
            return wrong(format!("and {next} ranks below it"));
        }
        let is_it = |inc: Inc| rivals.iter().any(|rival| rival.holder.who.inc == inc);
        let own = self.heard.iter().filter(|heard| heard.holder.is_some_and(is_it));
        let lasts = own.map(|heard| heard.until).min().unwrap_or(Time::ZERO);
        let until = lasts.min(now.after(config.refresh));
        for member in to.iter() {
            if let Some(heard) = self.heard.get_mut(member) {
                heard.held_off = until;
            }
        }
        Ok(())
    }
}

/// The life that is answered.
fn asker(message: &Message) -> Option<Inc> {
    match message {
        Message::Granted(ok) => Some(ok.asker),
        Message::Refused(refused) => Some(refused.asker),
        _ => None,
    }
}
