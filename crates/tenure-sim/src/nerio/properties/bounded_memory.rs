use std::fmt::Write;

use super::{Court, Fact, Plan, Property};

/// How many inputs pass between two looks at a core.
const EVERY: u32 = 8_192;
/// And where there is room for few who wait.
const EVERY_FEW: u32 = 1_024;

/// Memory is bounded by the configuration and by how many take part, however long it goes on.
#[derive(Debug)]
pub(super) struct BoundedMemory {
    seen: u32,
    /// What a core prints of itself: one buffer for all of them.
    printed: String,
}

impl Property for BoundedMemory {
    const NAME: &'static str = "Memory is bounded";
    const SOURCE: &'static str = "the contract";
    const NEEDS_BOUND: bool = false;

    fn new(_: &Plan) -> Self {
        Self { seen: 0, printed: String::new() }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Handled { node, core, .. } = fact else { return Ok(()) };
        self.seen += 1;
        let limits = &court.plan.config().limits;
        let few = limits.parked < court.plan.nodes.len();
        if !self.seen.is_multiple_of(if few { EVERY_FEW } else { EVERY }) {
            return Ok(());
        }
        // What a core prints of itself grows with everything that it keeps. An entry prints in
        // less than a kilobyte, a grant with all around it in less than eight.
        let each = 8_192 + (limits.watermarks + court.plan.nodes.len()) * 1_024;
        let most = 65_536 + court.plan.elections.len() * each;
        self.printed.clear();
        write!(self.printed, "{core:?}").map_err(|_| "a core that does not print".to_owned())?;
        let waiting = self.printed.matches("Parked {").count();
        if waiting > limits.parked * court.plan.elections.len() {
            let (name, room) = (&court.plan.nodes[node].name, limits.parked);
            return Err(format!("{waiting} wait at {name}, which has room for {room} in each"));
        }
        let size = self.printed.len();
        if size <= most {
            return Ok(());
        }
        let name = &court.plan.nodes[node].name;
        Err(format!("{name} prints itself in {size} bytes; {most} are enough for its limits"))
    }
}
