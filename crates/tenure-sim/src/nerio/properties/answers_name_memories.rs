use tenure_core::nerio::{
    Entry, FenceSeen, Granted, Instance, Message, Roster, ToAsker, ToCandidate,
};

use super::{Check, Disk, Fact, Own, Plan, Property, QuorumLeases};

/// Names, instances: an answer names only written memories of other members, and never names an
/// earlier memory of a member after a later one. After a change of members, the document names the
/// memories, and oks name none: the marks of epoch 0 would deny members that were replaced since.
#[derive(Debug, Default)]
pub(super) struct AnswersNameMemories {
    /// Last answer of each node, and the node's memory at that time.
    said: Vec<Option<(Instance, Roster)>>,
}

impl Property<QuorumLeases> for AnswersNameMemories {
    const NAME: &'static str =
        "An answer names memories that are written down, and no earlier ones";
    const SOURCE: &'static str = "names: instances";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.said = vec![None; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Sent {
                node,
                message: Message::Candidate(ToCandidate::Granted(ok)),
                ..
            }) => granted(check, node, ok),
            // Skip worlds whose members change: there, members that the settings do not name
            // answer, too.
            _ if check.plan.own.focus.changes() => Ok(()),
            Fact::Own(Own::Sent {
                node,
                message: Message::Asker(ToAsker::FenceSeen(answer)),
                disk,
            }) => self.answers(check, node, answer, disk),
            _ => Ok(()),
        }
    }
}

impl AnswersNameMemories {
    fn answers(
        &mut self,
        check: &Check<'_>,
        node: usize,
        answer: &FenceSeen,
        disk: &Disk,
    ) -> Result<(), String> {
        let membership = check.plan.membership();
        let by = check.name(node);
        let kept = disk.kept.durable();
        let before = self.said[node].take().filter(|(memory, _)| *memory == kept.instance);
        for (member, other) in membership.names().iter().enumerate() {
            let said = answer.roster.at(member);
            let last = before.as_ref().and_then(|(_, roster)| roster.at(member));
            if member == check.plan.place(node) {
                continue;
            }
            if is_before(said, last) {
                return Err(format!("{by} names {said:?} of {other}, and named {last:?}"));
            }
            let known = kept.roster.iter().find(|(name, _)| name == other);
            let known = known.map(|(_, entry)| *entry);
            if is_before(known, said) {
                return Err(format!("{by} names {said:?} of {other}, and has written {known:?}"));
            }
        }
        self.said[node] = Some((kept.instance, answer.roster.clone()));
        Ok(())
    }
}

/// Judges the marks of an ok.
fn granted(check: &Check<'_>, node: usize, ok: &Granted) -> Result<(), String> {
    let Some(epochs) = &check.own.epochs else { return Ok(()) };
    let number = epochs.of(node).number;
    if number > 0 && !ok.memories.is_empty() {
        let by = check.name(node);
        return Err(format!("{by} names memories of epoch 0 with an ok of epoch {number}"));
    }
    Ok(())
}

/// Whether `one` is an earlier memory than `other`, or is the same without the mark of founders.
fn is_before(one: Option<Entry>, other: Option<Entry>) -> bool {
    let rank = |entry: Option<Entry>| entry.map(|entry| (entry.instance, entry.founder));
    rank(one) < rank(other)
}
