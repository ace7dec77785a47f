use tenure_core::Standing;

use super::{Check, Fact, Property, Scenario};

/// Handle and core agree at any moment whether this process leads, and with which fence.
#[derive(Debug, Default)]
pub struct HandlesAgree;

impl<S: Scenario> Property<S> for HandlesAgree {
    const NAME: &'static str = S::SENTENCES.handles_agree.0;
    const SOURCE: &'static str = S::SENTENCES.handles_agree.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Asked { node, election, handle, standing } = fact else { return Ok(()) };
        let fence = |standing| match standing {
            Standing::Leading { fence, .. } => Some(fence),
            Standing::NotLeading => None,
        };
        let (shown, decided) = (fence(handle), fence(standing));
        // The core goes by the reading of the wall clock at its last input, and the handle by its
        // reading now.
        let is_only_one = shown.is_none() || decided.is_none();
        if shown == decided || check.compares_wall() && is_only_one {
            return Ok(());
        }
        let says = |standing: Standing| match fence(standing) {
            Some(fence) => format!("it leads{}", super::super::history::under(fence)),
            None => "it does not lead".to_owned(),
        };
        let name = check.name(node);
        let election = check.election(election);
        Err(format!(
            "the handle of {name} in {election} says {}, and the core {}",
            says(handle),
            says(standing)
        ))
    }
}
