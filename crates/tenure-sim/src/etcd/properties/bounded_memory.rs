use super::{Court, Fact, Plan, Property};

/// How many inputs pass between two looks at a core.
const EVERY: u32 = 1_024;

/// Memory is bounded by the number of elections, however long it goes on.
#[derive(Debug)]
pub(super) struct BoundedMemory {
    seen: u32,
}

impl Property for BoundedMemory {
    const NAME: &'static str = "Memory is bounded";
    const SOURCE: &'static str = "the contract";

    fn new(_: &Plan) -> Self {
        Self { seen: 0 }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        let Fact::Handled { node, core, .. } = fact else { return Ok(()) };
        self.seen += 1;
        if !self.seen.is_multiple_of(EVERY) {
            return Ok(());
        }
        // What a core prints of itself grows with everything that it keeps: an election prints in
        // less than three kilobytes, an old lease in less than a quarter of one.
        let most = 8_192 + court.plan.elections.len() * 3_072;
        let size = format!("{core:?}").len();
        if size <= most {
            return Ok(());
        }
        let name = court.name(*node);
        Err(format!("{name} prints itself in {size} bytes; {most} are enough for its elections"))
    }
}
