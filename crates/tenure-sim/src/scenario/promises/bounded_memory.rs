use std::fmt::Write;

use super::{Check, Fact, PlanOf, Property, Scenario};

/// Bounds on a core's debug output, which grows with its memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Inputs between two checks, at least one.
    pub every: u32,
    /// Largest output in bytes.
    pub bytes: usize,
}

/// Memory is bounded by the configuration and by the number of participants, however long a core
/// runs.
#[derive(Debug, Default)]
pub struct BoundedMemory {
    /// Inputs until the next check.
    left: u32,
    pub(super) limit: Memory,
    /// Debug output of a core, in a reused buffer.
    printed: String,
}

impl<S: Scenario> Property<S> for BoundedMemory {
    const NAME: &'static str = S::SENTENCES.bounded_memory.0;
    const SOURCE: &'static str = S::SENTENCES.bounded_memory.1;
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &PlanOf<S>) {
        let limit = S::memory(plan);
        *self = Self { left: limit.every, limit, printed: String::new() };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        let Fact::Handled { node, core, .. } = fact else { return Ok(()) };
        self.left -= 1;
        if self.left > 0 {
            return Ok(());
        }
        self.left = self.limit.every;
        self.printed.clear();
        write!(self.printed, "{core:?}").map_err(|_| "a core that does not print".to_owned())?;
        let name = check.name(node);
        let size = self.printed.len();
        let most = self.limit.bytes;
        match S::overfull(check, node, &self.printed) {
            Some(too_much) => Err(format!("{name} {too_much}")),
            None if size > most => Err(format!(
                "{name} prints itself in {size} bytes; {most} are enough for its limits"
            )),
            None => Ok(()),
        }
    }
}
