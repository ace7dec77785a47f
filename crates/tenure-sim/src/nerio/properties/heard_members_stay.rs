use std::collections::BTreeMap;

use tenure_core::nerio::{Admission, Current, Hindrance, Instance, Message, ToAsker, ToGrantor};
use tenure_core::{NodeName, Time};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Lost directories 4.2 and 4.4: no member agrees to a replacement within the span of silence after
/// it last heard the present memory. A member gives a replacement up if the present memory answers,
/// or a third member objects, before the first question to accept.
#[derive(Debug, Default)]
pub(super) struct HeardMembersStay {
    nodes: Vec<Ears>,
}

/// The members that a node has heard since its start.
#[derive(Clone, Debug, Default)]
struct Ears {
    /// Memory of each member, and the time at which the node itself or another member heard it.
    heard: BTreeMap<NodeName, (Instance, Time)>,
    /// Start of the last round of questions about each member.
    asked: BTreeMap<NodeName, Time>,
    /// Start of the last round about each member in which the node found an objection.
    objected: BTreeMap<NodeName, Time>,
    /// The member that the node replaces by itself, and the first objection to this replacement.
    replaces: Option<(NodeName, Option<String>)>,
}

impl Property<QuorumLeases> for HeardMembersStay {
    const NAME: &'static str = "A member that another one hears is not replaced by the members";
    const SOURCE: &'static str = "section 10.6; lost directories 4.2, 4.4";

    fn begin(&mut self, plan: &Plan) {
        self.nodes = vec![Ears::default(); plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        if check.plan.config().replace.is_none() {
            return Ok(());
        }
        match fact {
            Fact::Crashed { node } => self.nodes[node] = Ears::default(),
            Fact::Own(Own::Told { grantor, from, message, local }) => {
                self.told(check, grantor, &from.who.name, message, local);
            }
            Fact::Own(Own::Accepts { grantor, .. } | Own::Enters { grantor, .. }) => {
                self.nodes[grantor].replaces = None;
            }
            Fact::Own(Own::Sent {
                node,
                message: Message::Grantor(ToGrantor::Admit(asked)),
                ..
            }) => {
                self.nodes[node].asked.insert(asked.name.clone(), asked.start);
            }
            Fact::Own(Own::Sent {
                node, message: Message::Grantor(ToGrantor::Accept(_)), ..
            }) => {
                return self.proposes(check, node);
            }
            Fact::Own(Own::Agrees { grantor, name, local }) => {
                return self.has_not_heard(check, grantor, name, local, "agrees to replace");
            }
            Fact::Own(Own::Replaces { grantor, name, local }) => {
                self.has_not_heard(check, grantor, name, local, "begins to replace")?;
                return self.replaces(check, grantor, name);
            }
            _ => {}
        }
        Ok(())
    }
}

impl HeardMembersStay {
    fn told(
        &mut self,
        check: &Check<'_>,
        grantor: usize,
        from: &NodeName,
        message: &Message,
        local: Time,
    ) {
        let ears = &mut self.nodes[grantor];
        match message {
            // Count only answers to this life: an answer to an earlier life is as old as that life.
            Message::Asker(ToAsker::Current(Current {
                asker, instance, entered: true, ..
            })) if *asker == check.own.who[grantor].inc
                && present(check, grantor, from) == Some(*instance) =>
            {
                ears.heard.insert(from.clone(), (*instance, local));
                ears.objects(from, || format!("{from} itself has answered"));
            }
            Message::Asker(ToAsker::Admission(Admission {
                asker,
                start,
                name,
                hindrance: Some(why),
                ..
            })) if *asker == check.own.who[grantor].inc => {
                ears.objected.insert(name.clone(), *start);
                if let Hindrance::Heard { ago, .. } = why
                    && let Some(instance) = present(check, grantor, name)
                {
                    let at = local.before(*ago);
                    let known = ears.heard.entry(name.clone()).or_insert((instance, at));
                    *known = (instance, at.max(known.1));
                }
                if *why != Hindrance::Busy {
                    ears.objects(name, || format!("{from} objects: {why}"));
                }
            }
            // An operator asks for a change, perhaps for the same one: do not judge it as the
            // node's own.
            Message::Grantor(ToGrantor::Change(_)) => ears.replaces = None,
            _ => {}
        }
    }

    fn has_not_heard(
        &self,
        check: &Check<'_>,
        grantor: usize,
        name: &NodeName,
        local: Time,
        does: &str,
    ) -> Result<(), String> {
        let Some(rule) = check.plan.nodes[grantor].config.replace else { return Ok(()) };
        let Some((instance, at)) = self.nodes[grantor].heard.get(name) else { return Ok(()) };
        let ago = local.since(*at);
        if ago < rule.silence && present(check, grantor, name) == Some(*instance) {
            let by = check.name(grantor);
            return Err(format!(
                "{by} {does} {name}, which was heard {ago:?} ago, and must be silent for {:?}",
                rule.silence
            ));
        }
        Ok(())
    }

    fn replaces(
        &mut self,
        check: &Check<'_>,
        grantor: usize,
        name: &NodeName,
    ) -> Result<(), String> {
        let ears = &mut self.nodes[grantor];
        let asked = ears.asked.get(name);
        if asked.is_some() && asked == ears.objected.get(name) {
            let by = check.name(grantor);
            return Err(format!("{by} begins to replace {name}, although a member objects"));
        }
        ears.replaces = Some((name.clone(), None));
        Ok(())
    }

    /// Judges a proposer when it first asks members to accept the change.
    fn proposes(&mut self, check: &Check<'_>, node: usize) -> Result<(), String> {
        match self.nodes[node].replaces.take() {
            Some((name, Some(why))) => {
                let by = check.name(node);
                Err(format!("{by} proposes to replace {name} by itself, although {why}"))
            }
            _ => Ok(()),
        }
    }
}

impl Ears {
    fn objects(&mut self, member: &NodeName, why: impl FnOnce() -> String) {
        if let Some((name, objection)) = &mut self.replaces
            && name == member
        {
            objection.get_or_insert_with(why);
        }
    }
}

/// The memory of a member in the epoch of a grantor.
fn present(check: &Check<'_>, grantor: usize, name: &NodeName) -> Option<Instance> {
    let epochs = check.own.epochs.as_ref()?;
    let membership = epochs.memberships.get(&epochs.of(grantor))?;
    membership.instance(membership.position(name)?)
}
