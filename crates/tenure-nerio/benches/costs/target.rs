//! Targets of measurements, and the missed targets.

pub(crate) struct Targets {
    part: &'static str,
    missed: Vec<String>,
}

impl Targets {
    pub(crate) const fn of(part: &'static str) -> Self {
        Self { part, missed: Vec::new() }
    }

    /// Requires `found` to be at most `target`, both in `unit`.
    pub(crate) fn at_most(&mut self, what: &str, found: f64, target: f64, unit: &str) {
        let said = format!("{what}: {found:.3}{unit}, target ≤ {target}{unit}");
        self.judge(said, found <= target);
    }

    /// Requires `found` to be all of `count`.
    pub(crate) fn all(&mut self, what: &str, found: usize, count: usize) {
        self.judge(format!("{what}: {found} of {count}, target all"), found == count);
    }

    fn judge(&mut self, said: String, is_met: bool) {
        println!("  {said}: {}", if is_met { "met" } else { "NOT MET" });
        if !is_met {
            self.missed.push(format!("{}: {said}", self.part));
        }
    }
}

/// Returns the missed targets of all parts as an error.
pub(crate) fn conclude(parts: impl IntoIterator<Item = Targets>) -> Result<(), String> {
    let missed: Vec<_> = parts.into_iter().flat_map(|targets| targets.missed).collect();
    if missed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "not met: {}\n  {}\nOn a busy machine, measure again before looking for the reason: \
         docs/internals/simulation.md.",
        missed.len(),
        missed.join("\n  ")
    ))
}
