//! What was seen, as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use tenure_services::etcd::Version;
use tokio::runtime;

use crate::NOT_TRIED;
use crate::fact::{Fact, LIMIT};
use crate::stage::Stage;

/// By fact and version.
type AllSeen = BTreeMap<(&'static str, Version), Result<String, String>>;

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Report {
    seen: Mutex<AllSeen>,
}

impl Report {
    /// Checks `fact` and keeps what was seen.
    pub(crate) fn take(&self, fact: &'static Fact, stage: Stage) -> Result<(), Failed> {
        let version = stage.version();
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let checked = runtime.block_on(async {
            let checked = tokio::time::timeout(LIMIT, (fact.check)(stage)).await;
            checked.unwrap_or_else(|_| Err(format!("not done after {LIMIT:?}").into()))
        });
        let seen = checked.map_err(|error| error.to_string());
        let expected = fact.expected.on(version);
        let complaint = match &seen {
            Ok(seen) if seen == expected => None,
            Ok(seen) => Some(format!("expected \"{expected}\", seen \"{seen}\"")),
            Err(error) => Some(format!("expected \"{expected}\", and then: {error}")),
        };
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((fact.name, version), seen);
        complaint.map_or(Ok(()), |complaint| Err(complaint.into()))
    }

    /// A row for each of `facts` that was checked.
    pub(crate) fn table(&self, facts: impl Iterator<Item = &'static Fact>) -> String {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = vec![["fact", "3.4", "", ""].map(str::to_owned)];
        rows[0][2] = Version::Newest.number();
        let mut changed = Vec::new();
        for fact in facts {
            let of = |version| seen.get(&(fact.name, version));
            let is = |version| match of(version) {
                Some(Ok(seen)) => seen.as_str(),
                Some(Err(_)) => "(failed)",
                None => "",
            };
            let differs = |version: &Version| {
                of(*version).is_some_and(|seen| seen.as_deref() != Ok(fact.expected.on(*version)))
            };
            if Version::ALL.map(of) == [None, None] {
                continue;
            }
            let different: Vec<_> = Version::ALL.into_iter().filter(differs).collect();
            let verdict = if different.is_empty() { "as expected" } else { "CHANGED" };
            let [old, mut new] = Version::ALL.map(is);
            if new == old {
                new = "same";
            }
            rows.push([fact.name, old, new, verdict].map(str::to_owned));
            changed.extend(different.into_iter().map(|version| explained(fact, version, of)));
        }
        let not_tried = NOT_TRIED.map(|(what, why)| format!("not tried: {what} ({why})\n"));
        aligned(&rows) + "\n" + &not_tried.concat() + &changed.concat()
    }
}

fn explained<'a>(
    fact: &Fact,
    version: Version,
    of: impl Fn(Version) -> Option<&'a Result<String, String>>,
) -> String {
    let seen = match of(version) {
        Some(Ok(seen)) => seen.clone(),
        Some(Err(error)) => format!("(failed) {error}"),
        None => String::new(),
    };
    let Fact { name, sentence, expected, .. } = fact;
    let expected = expected.on(version);
    format!(
        "\nCHANGED on {version}: {name}\n  {sentence}\n  expected: {expected}\n  seen: {seen}\n"
    )
}

fn aligned(rows: &[[String; 4]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..3).map(width).collect();
    let mut text = String::new();
    for [fact, old, new, verdict] in rows {
        let (a, b, c) = (widths[0], widths[1], widths[2]);
        let line = format!("{fact:a$}  {old:b$}  {new:c$}  {verdict}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
