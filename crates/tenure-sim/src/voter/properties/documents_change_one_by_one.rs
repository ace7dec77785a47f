use tenure_core::voter::{Electorate, Member};

use super::{Check, Fact, Own, Property, RegionalVoters};

/// V9: one document for each id; a leader begins with that of its ballot as (n, 0), and changes it
/// by one voter, never itself, when a quorum of the one before has stored that. Nobody goes back to
/// a lower one.
#[derive(Debug, Default)]
pub(in super::super) struct DocumentsChangeOneByOne;

impl Property<RegionalVoters> for DocumentsChangeOneByOne {
    const NAME: &'static str = "The electorate changes one by one";
    const SOURCE: &'static str = "V9";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Wrote { node, memory }) => {
                let Some(document) = &memory.electorate else { return Ok(()) };
                let name = check.name(node);
                let before = check.own.memory(node).filter(|it| it.identity == memory.identity);
                let before = before.and_then(|before| before.electorate.as_ref());
                if let Some(before) = before
                    && before.id > document.id
                {
                    return Err(format!("{name} goes back from {before} to {document}"));
                }
                let key = (document.founding, document.id);
                match check.own.account.documents.get(&key) {
                    Some(known) if known == document => Ok(()),
                    Some(known) => Err(format!("{name} writes {document}, and there is {known}")),
                    None => judge(check, node, before, document),
                }
            }
            Fact::Claimed(claim) => {
                let electorate = check.own.memory(claim.node).and_then(|it| it.electorate.as_ref());
                match (claim.fence, electorate) {
                    (Some(fence), Some(electorate)) if electorate.id.counter != fence.number() => {
                        Err(format!(
                            "{} leads with fence {fence}, and its electorate is {electorate}",
                            check.name(claim.node)
                        ))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// A document that nobody has written before.
fn judge(
    check: &Check<'_>,
    node: usize,
    before: Option<&Electorate>,
    document: &Electorate,
) -> Result<(), String> {
    let name = check.name(node);
    let id = document.id;
    if id.counter == 0 && id.change == 0 {
        return Ok(());
    }
    let Some(before) = before else {
        // One that is alone is founded, draws and wins at once.
        if id.change == 0 && document.members.len() == 1 {
            return Ok(());
        }
        return Err(format!("{name} writes {document} first of all, and had none"));
    };
    let gone: Vec<&Member> = not_in(before, document);
    let new: Vec<&Member> = not_in(document, before);
    if id.change == 0 {
        // Written anew by a winner.
        return match gone.is_empty() && new.is_empty() {
            true => Ok(()),
            false => Err(format!("{name} has won under {before}, and writes {document}")),
        };
    }
    let own = &check.plan.nodes[node].config.id;
    let next = before.id.counter == id.counter && before.id.change + 1 == id.change;
    if !next || gone.len() + new.len() != 1 || gone.iter().any(|member| member.id == *own) {
        return Err(format!("{name} changes {before} to {document}"));
    }
    let stored = before.members.iter().filter(|member| {
        let mut written = check.own.account.written.iter().flatten();
        written.any(|memory| {
            let electorate = memory.electorate.as_ref();
            memory.identity == member.identity
                && electorate.is_some_and(|it| it.founding == before.founding && it.id >= before.id)
        })
    });
    match stored.count() > before.members.len() / 2 {
        true => Ok(()),
        false => Err(format!("{name} changes {before}, which no quorum has, to {document}")),
    }
}

fn not_in<'a>(one: &'a Electorate, other: &Electorate) -> Vec<&'a Member> {
    one.members.iter().filter(|member| !other.members.contains(member)).collect()
}

/// V2: a memory accepts one founding, and takes no electorate of another but of one that a voter of
/// its own has founded: then its own can never be.
#[derive(Debug, Default)]
pub(in super::super) struct OneFounding;

impl Property<RegionalVoters> for OneFounding {
    const NAME: &'static str = "Two foundings are told apart";
    const SOURCE: &'static str = "V2";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Wrote { node, memory }) = fact else { return Ok(()) };
        let name = check.name(node);
        let before = check.own.memory(node).filter(|it| it.identity == memory.identity);
        let Some((before, own)) = before.and_then(|it| Some((it, it.electorate.as_ref()?))) else {
            return Ok(());
        };
        let Some(now) = &memory.electorate else { return Err(format!("{name} forgets {own}")) };
        let mut founded =
            own.members.iter().map(|one| check.own.account.founded.get(&one.identity));
        let instead = !before.founded && founded.any(|by| by == Some(&now.founding));
        match own.founding == now.founding || instead {
            true => Ok(()),
            false => Err(format!(
                "{name} was founded as {} with {own}, and takes {now} of {}",
                own.founding, now.founding
            )),
        }
    }
}
