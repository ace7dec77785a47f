//! The summary of the demo, and its verdict.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::failover::{Failover, Spread};
use super::fault::Fault;
use super::judge::Judge;
use super::news::{millis, seconds};
use crate::exit::Exit;
use crate::failure::{Failure, one_line};

pub(super) struct Summary {
    pub(super) elapsed: Duration,
    pub(super) judge: Judge,
    pub(super) failovers: Vec<Failover>,
    /// Errors that the file does not show, such as a process that did not end.
    pub(super) wrong: Vec<String>,
    /// The directory, if the user keeps it.
    pub(super) kept: Option<PathBuf>,
}

impl Summary {
    pub(super) fn exit(&self) -> Exit {
        if self.everything_wrong().is_empty() { Exit::Done } else { Exit::Wrong }
    }

    pub(super) fn failure(&self) -> Failure {
        let what = format!("the demo went wrong: {}", self.everything_wrong().join("; "));
        let fix = match &self.kept {
            Some(kept) => format!("read the logs in {}", kept.display()),
            None => "start the demo with --keep, and read the logs in its directory".to_owned(),
        };
        Failure::new(Exit::Wrong, what, fix)
    }

    fn after(&self, fault: Fault) -> impl Iterator<Item = &Failover> {
        self.failovers.iter().filter(move |failover| failover.fault == Some(fault))
    }

    fn took(&self, fault: Fault) -> Option<Spread> {
        Spread::of(self.after(fault).filter_map(|failover| failover.took))
    }

    fn idle(&self, fault: Fault) -> Option<Spread> {
        Spread::of(self.after(fault).map(|failover| failover.idle))
    }

    fn beyond(&self, fault: Fault) -> Option<Spread> {
        Spread::of(self.after(fault).filter_map(Failover::beyond))
    }

    /// Number of leaderships that ended without a fault of the demo.
    fn unprovoked(&self) -> u64 {
        self.failovers.iter().filter(|failover| failover.fault.is_none()).count() as u64
    }

    fn everything_wrong(&self) -> Vec<String> {
        let mut all = self.wrong.clone();
        all.extend_from_slice(&self.judge.flaws);
        let more = self.judge.flaw_count - self.judge.flaws.len() as u64;
        if more > 0 {
            all.push(format!("{more} more of this kind"));
        }
        if self.judge.leaderships == 0 {
            all.push(format!("no candidate led within {}", seconds(self.elapsed)));
        }
        all
    }

    pub(super) fn object(&self) -> Value {
        let wrong = self.everything_wrong();
        let failovers = Fault::ALL.map(|fault| {
            json!({
                "fault": fault.key(),
                "count": self.after(fault).count(),
                "took_ms": object(self.took(fault)),
                "idle_ms": object(self.idle(fault)),
                "beyond_lease_ms": object(self.beyond(fault)),
            })
        });
        json!({
            "event": "summary",
            "ok": wrong.is_empty(),
            "wrong": wrong,
            "elapsed_ms": millis(self.elapsed),
            "leaderships": self.judge.leaderships,
            "lines": self.judge.lines,
            "failovers": failovers,
            "unprovoked": self.unprovoked(),
            "kept": self.kept.as_ref().map(|path| path.display().to_string()),
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "\n{} in {:.1} s, {} of work\n",
            counted(self.judge.leaderships, "leadership"),
            self.elapsed.as_secs_f64(),
            counted(self.judge.lines, "line"),
        );
        text += &self.failovers();
        match self.unprovoked() {
            0 => {}
            count => {
                let _ = writeln!(
                    text,
                    "{} a leader lost its lease by itself: is this machine busy?",
                    counted(count, "time")
                );
            }
        }
        let wrong = self.everything_wrong();
        if wrong.is_empty() {
            text += "\
right: fences only grow; no older leader wrote after a newer one, none after the end
       of its lease, and never two at once
";
        }
        for wrong in wrong {
            let _ = writeln!(text, "WRONG: {}", one_line(&wrong));
        }
        if let Some(kept) = &self.kept {
            let _ = writeln!(text, "kept:  {}", one_line(&kept.display().to_string()));
        }
        text
    }

    /// A table with a line for each kind of fault that was done.
    fn failovers(&self) -> String {
        let row = |cells: [&str; 7]| {
            let [fault, times, least, mean, most, idle, expected] = cells;
            format!(
                "{fault:8} {times:>6}  {least:>6} {mean:>6} {most:>6}  {idle:>6}   {expected}\n"
            )
        };
        let line = |fault: Fault| {
            let took = self.took(fault)?;
            let expected = match self.beyond(fault) {
                Some(beyond) => format!("rest of the lease (+ {} s)", figure(beyond.most)),
                None => "round trip + process start".to_owned(),
            };
            let [least, mean, most, idle] =
                [took.least, took.mean, took.most, self.idle(fault)?.mean].map(figure);
            let times = self.after(fault).count().to_string();
            Some(row([fault.name(), &times, &least, &mean, &most, &idle, &expected]))
        };
        let mut rows: Vec<String> = Fault::ALL.into_iter().filter_map(line).collect();
        if rows.is_empty() {
            return "no failover was measured: there was no time for one\n".to_owned();
        }
        rows.insert(0, row(["seconds", "times", "least", "mean", "most", "idle", "expected"]));
        format!("\n{}\n", rows.concat())
    }
}

/// `1 line`, `2 lines`.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn figure(span: Duration) -> String {
    format!("{:.3}", span.as_secs_f64())
}

fn object(spread: Option<Spread>) -> Option<Value> {
    let Spread { least, mean, most } = spread?;
    Some(json!({"least": millis(least), "mean": millis(mean), "most": millis(most)}))
}

#[cfg(test)]
mod tests {
    use tenure::Time;

    use super::super::judge::Leadership;
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn led(fence: u64, id: &str, first: u64, last: u64) -> Leadership {
        let (first, last, until) = (at(first), at(last), at(last + 500));
        Leadership { fence, id: id.into(), pid: 7, first, last, until }
    }

    fn summary(lines: &[&str], wrong: &[&str]) -> Summary {
        let mut judge = Judge::default();
        lines.iter().for_each(|line| drop(judge.read(line.as_bytes())));
        let ann = led(1, "ann", 0, 1_000);
        let ben = led(2, "ben", 1_530, 1_530);
        let failovers = vec![Failover::new(Some((Fault::Kill, at(1_010))), ann, at(1_500), &ben)];
        let wrong = wrong.iter().map(ToString::to_string).collect();
        Summary { elapsed: Duration::from_secs(12), judge, failovers, wrong, kept: None }
    }

    const GOOD: [&str; 2] = ["10 1 ann 7 90", "20 2 ben 8 90"];

    #[test]
    fn good_end_names_the_checks() {
        let summary = summary(&GOOD, &[]);
        assert_eq!(
            summary.text(),
            "
2 leaderships in 12.0 s, 2 lines of work

seconds   times   least   mean   most    idle   expected
kill -9       1   0.520  0.520  0.520   0.530   rest of the lease (+ 0.030 s)

right: fences only grow; no older leader wrote after a newer one, none after the end
       of its lease, and never two at once
"
        );
        assert_eq!(summary.exit(), Exit::Done);
        let object = summary.object();
        assert_eq!((&object["ok"], &object["leaderships"]), (&json!(true), &json!(2)));
        assert_eq!(object["failovers"][1]["took_ms"]["most"], json!(520.0));
        assert_eq!(object["failovers"][0]["took_ms"], Value::Null);
    }

    #[test]
    fn every_fault_sets_the_exit_code() {
        let stale = summary(&["10 2 ann 7 90", "20 1 ben 8 90"], &[]);
        assert_eq!(stale.exit(), Exit::Wrong);
        let text = stale.text();
        assert!(text.contains("WRONG: line 2: ben with the fence 1 wrote after"), "{text}");
        assert!(!text.contains("right:"));
        assert_eq!(stale.object()["ok"], json!(false));

        let overdue = summary(&GOOD, &["nobody took over"]);
        assert_eq!(overdue.exit(), Exit::Wrong);
        assert!(overdue.text().contains("WRONG: nobody took over\n"));

        let empty = summary(&[], &[]);
        assert_eq!(empty.exit(), Exit::Wrong);
        assert!(empty.text().contains("WRONG: no candidate led within 12.000 s\n"));

        let many = summary(&["nonsense"; 20], &[]);
        assert!(many.text().contains("WRONG: 12 more of this kind\n"));
    }
}
