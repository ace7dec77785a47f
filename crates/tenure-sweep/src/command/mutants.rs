//! One rule broken after the other.

use std::time::Instant;

use clap::Args;
use tenure_core::planted::{Planted, RULES as ROUNDING};
use tenure_sim::sweep::{Duty, Source, Sweep};

use super::Protocol;

#[derive(Debug, Args)]
pub(super) struct Mutants {
    /// Whose rules.
    #[arg(long, value_enum, default_value_t = Protocol::Nerio)]
    protocol: Protocol,
    /// Give each bug that random worlds must find so many events.
    #[arg(long, value_name = "N", default_value = "1e8", value_parser = super::sweep::number)]
    events: u64,
    /// Give each bug that has a story by hand so many: they may find it, too.
    #[arg(long, value_name = "N", default_value = "3e6", value_parser = super::sweep::number)]
    directed_events: u64,
    /// The seed of the first world.
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = super::sweep::seed)]
    seed: u64,
    /// Only these rules.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    only: Vec<String>,
    /// On so many threads.
    #[arg(long, value_name = "N", default_value_t = super::threads())]
    threads: usize,
    /// Print the table as Markdown.
    #[arg(long)]
    markdown: bool,
}

/// What became of one bug.
pub(super) struct Verdict {
    rule: String,
    source: &'static str,
    /// The property that noticed, among those that were meant to, and how many worlds it took.
    caught: Option<(&'static str, u64)>,
    /// A property that noticed earlier, though it was not meant to.
    other: Option<(&'static str, u64)>,
    /// Whether a story by hand notices.
    directed: bool,
    seconds: f64,
}

impl Mutants {
    pub(super) fn run(&self) -> Result<bool, String> {
        std::panic::set_hook(Box::new(|_| {}));
        println!("seed {}, tenure {}", self.seed, env!("CARGO_PKG_VERSION"));
        let all = self.protocol.hunt(self);
        if all.is_empty() {
            return Err(format!("none of {:?} is a rule", self.only));
        }
        Ok(self.report(&all))
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// The rules of a core, those of rounding, and the duties of its driver.
    pub(super) fn of<S: Source + Default>(&self, rules: &[Planted]) -> Vec<Verdict> {
        let wanted = rules.iter().chain(ROUNDING).filter(|rule| self.is_wanted(rule.name));
        let of_core = wanted.map(|rule: &Planted| {
            let _broken = rule.break_it();
            let (name, worlds) = (rule.name.to_owned(), S::default());
            self.hunt(name, (rule.source, rule.meant), worlds, rule.by_hand)
        });
        let duties = S::default().duties().into_iter();
        let wanted = duties.filter(|duty| self.is_wanted(&duty.name));
        let of_driver = wanted.map(|Duty { name, source, meant, worlds }| {
            self.hunt(name, (source, meant), worlds, false)
        });
        of_core.chain(of_driver).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "how long it took is for people to read")]
    fn hunt<S: Source>(
        &self,
        rule: String,
        (source, meant): (&'static str, &[&str]),
        worlds: S,
        directed: bool,
    ) -> Verdict {
        let began = Instant::now();
        let (mut caught, mut other) = (None, None);
        let mut first = self.seed;
        let mut left = if directed { self.directed_events } else { self.events };
        while left > 0 && caught.is_none() {
            let (source, threads) = (worlds, self.threads);
            let sweep = Sweep { first, worlds: u64::MAX, events: left, source, threads };
            let found = sweep.run();
            left = left.saturating_sub(found.events.max(1));
            let Some((seed, violation)) = found.violation else { break };
            first = seed + 1;
            let worlds = first - self.seed;
            if meant.contains(&violation.property) {
                caught = Some((violation.property, worlds));
            } else {
                other.get_or_insert((violation.property, worlds));
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        let verdict = Verdict { rule, source, caught, other, directed, seconds };
        if !self.markdown {
            println!("{}", verdict.line(" "));
        }
        verdict
    }

    fn report(&self, all: &[Verdict]) -> bool {
        if self.markdown {
            println!("| bug | source | property | worlds | seconds | by hand | noticed also by |");
            println!("|---|---|---|---|---|---|---|");
            all.iter().for_each(|verdict| println!("{}", verdict.line("|")));
        }
        let count = |is: fn(&Verdict) -> bool| all.iter().filter(|v| is(v)).count();
        let survivors: Vec<&str> =
            all.iter().filter(|v| v.survived()).map(|v| v.rule.as_str()).collect();
        println!(
            "\n{} bugs: {} caught by the property meant, {} of the others by hand, {} not",
            all.len(),
            count(|v| v.caught.is_some()),
            count(|v| v.caught.is_none() && v.directed),
            survivors.len()
        );
        if !survivors.is_empty() {
            println!("not caught as they should be: {}", survivors.join(", "));
        }
        survivors.is_empty()
    }
}

impl Verdict {
    const fn survived(&self) -> bool {
        self.caught.is_none() && !self.directed
    }

    fn line(&self, bar: &str) -> String {
        let (property, worlds) = match self.caught {
            Some((property, worlds)) => (property, worlds.to_string()),
            None => ("-", String::new()),
        };
        let directed = if self.directed { "yes" } else { "" };
        let other = self.other.map_or_else(String::new, |(other, n)| format!("{other} ({n})"));
        let Self { rule, source, seconds, .. } = self;
        if bar == " " {
            let directed = if self.directed { " [by hand]" } else { "" };
            let other = if other.is_empty() { other } else { format!(" after {other}") };
            return format!("{rule:22} {property} {worlds}{other}{directed} {seconds:.1} s");
        }
        format!(
            "| `{rule}` | {source} | {property} | {worlds} | {seconds:.1} | {directed} | {other} |"
        )
    }
}
