//! Table of observations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use tokio::runtime;

use super::{Fact, LIMIT, Stage};

/// Observations by fact and version.
type AllSeen = BTreeMap<(&'static str, usize), Result<String, String>>;

#[derive(Default)]
pub(super) struct Report {
    seen: Mutex<AllSeen>,
}

impl Report {
    /// Checks `fact`, and keeps the observation.
    pub(super) fn take<S: Stage>(&self, fact: &'static Fact<S>, stage: S) -> Result<(), Failed> {
        let version = stage.version();
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let checked = runtime.block_on(async {
            let checked = tokio::time::timeout(LIMIT, (fact.check)(stage)).await;
            checked.unwrap_or_else(|_| Err(format!("not done after {LIMIT:?}").into()))
        });
        let seen = checked.map_err(|error| error.to_string());
        let expected = fact.expected;
        let complaint = match &seen {
            Ok(seen) if seen == expected => None,
            Ok(seen) => Some(format!("expected \"{expected}\", seen \"{seen}\"")),
            Err(error) => Some(format!("expected \"{expected}\", and then: {error}")),
        };
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((fact.name, version), seen);
        complaint.map_or(Ok(()), |complaint| Err(complaint.into()))
    }

    /// The table of the observations, a row for each fact that was checked.
    pub(super) fn table<S: Stage>(
        &self,
        facts: impl Iterator<Item = &'static Fact<S>>,
        not_tried: &[(&str, &str)],
    ) -> String {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = S::versions();
        let [oldest, newest] = numbers.clone();
        let mut rows = vec![["fact".to_owned(), oldest, newest, String::new()]];
        let mut changed = Vec::new();
        for fact in facts {
            let of = [0, 1].map(|version| seen.get(&(fact.name, version)));
            if of == [None, None] {
                continue;
            }
            let [old, mut new] = of.map(|seen| match seen {
                Some(Ok(seen)) => seen.as_str(),
                Some(Err(_)) => "(failed)",
                None => "",
            });
            let mut verdict = "as expected";
            for (seen, number) in of.into_iter().zip(&numbers) {
                let Some(seen) = seen else { continue };
                if seen.as_deref() != Ok(fact.expected) {
                    verdict = "CHANGED";
                    changed.push(explained(fact, number, seen));
                }
            }
            if new == old {
                new = "same";
            }
            rows.push([fact.name, old, new, verdict].map(str::to_owned));
        }
        let not_tried = not_tried.iter().map(|(what, why)| format!("not tried: {what} ({why})\n"));
        aligned(&rows) + "\n" + &not_tried.collect::<String>() + &changed.concat()
    }
}

fn explained<S>(fact: &Fact<S>, number: &str, seen: &Result<String, String>) -> String {
    let seen = match seen {
        Ok(seen) => seen.clone(),
        Err(error) => format!("(failed) {error}"),
    };
    let Fact { name, sentence, expected, .. } = fact;
    format!("\nCHANGED on {number}: {name}\n  {sentence}\n  expected: {expected}\n  seen: {seen}\n")
}

fn aligned(rows: &[[String; 4]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..3).map(width).collect();
    let mut text = String::new();
    for [fact, old, new, verdict] in rows {
        let a = widths[0];
        let b = widths[1];
        let c = widths[2];
        let line = format!("{fact:a$}  {old:b$}  {new:c$}  {verdict}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
