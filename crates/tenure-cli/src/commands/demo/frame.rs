//! One picture of the demo for a terminal.

use std::path::Path;
use std::time::Duration;

use super::place::CANDIDATES;
use super::script::Fault;
use super::tally::Failover;
use super::words::seconds;
use crate::failure::{one_line, shell_word};

/// What a picture shows.
pub(super) struct Picture<'a> {
    pub(super) elapsed: Duration,
    pub(super) run_for: Option<Duration>,
    pub(super) lease: Duration,
    pub(super) grace: Duration,
    /// Name and service.
    pub(super) grantors: Vec<(&'a str, &'a str)>,
    pub(super) candidates: Vec<Candidate<'a>>,
    /// How many lines the file has.
    pub(super) lines: u64,
    /// What is going on, or about to, in a word and in full.
    pub(super) now: (String, String),
    /// The latest thing that nobody asked for.
    pub(super) note: Option<&'a str>,
    /// The latest failovers, the oldest first.
    pub(super) past: Vec<&'a Failover>,
    /// The leadership that has not been followed by another yet.
    pub(super) present: Option<Present<'a>>,
    pub(super) settings: &'a Path,
}

/// A candidate in the picture.
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    pub(super) state: &'a str,
    /// What is left of its lease, and its fence, if it holds one.
    pub(super) holds: Option<(Duration, Option<u64>)>,
}

/// The latest leadership in the picture.
pub(super) struct Present<'a> {
    pub(super) id: &'a str,
    pub(super) fence: u64,
    pub(super) led: Duration,
    /// What was done to it, if anything was.
    pub(super) fault: Option<Fault>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Alarm,
    First,
    Second,
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Alarm => "33",
            Self::First => "36",
            Self::Second => "35",
        }
    }
}

type Row = Vec<(Style, String)>;

/// How wide the words at the left are.
const LABEL: usize = 12;
/// Narrower terminals see the right end cut off.
const NARROW: usize = 20;
/// How many rows the past has at most.
const PAST: usize = 8;

impl Picture<'_> {
    /// The rows of a terminal with this many columns and lines, without line ends.
    pub(super) fn rows(&self, columns: usize, height: usize, colored: bool) -> Vec<String> {
        let columns = columns.max(NARROW);
        let mut rows = self.head(columns);
        let tail = self.tail(columns);
        // What is not the past is worth more; a head for the past takes two rows.
        let room = height.saturating_sub(rows.len() + tail.len() + 3).min(PAST);
        if room > 0 {
            rows.extend(self.history(columns, room));
        }
        rows.extend(tail);
        rows.truncate(height);
        rows.iter().map(|row| paint(row, columns, colored)).collect()
    }

    fn head(&self, columns: usize) -> Vec<Row> {
        let elapsed = match self.run_for {
            Some(all) => {
                format!("{:.0} s of {:.0} s", self.elapsed.as_secs_f64(), all.as_secs_f64())
            }
            None => format!("{:.0} s, Ctrl-C ends it", self.elapsed.as_secs_f64()),
        };
        let title = vec![
            (Style::Bold, "tenure demo".to_owned()),
            (Style::Dim, format!("  lease {:?}, {elapsed}", self.lease)),
        ];
        let mut rows = vec![title, Row::new(), self.grantors()];
        rows.extend(self.candidates.iter().enumerate().map(|(n, c)| self.candidate(n, c, columns)));
        rows.push(Row::new());
        rows.push(labelled("work", format!("{} lines in the file", thousands(self.lines))));
        let (label, text) = &self.now;
        rows.extend(wrapped(label, text, columns));
        if let Some(note) = self.note {
            rows.extend(wrapped("note", note, columns));
        }
        rows
    }

    fn grantors(&self) -> Row {
        let mut row = label("grantors");
        for (name, service) in &self.grantors {
            let style = if *service == "serving" { Style::Good } else { Style::Alarm };
            row.push((Style::Plain, format!("{name} ")));
            row.push((style, format!("{service:<11} ")));
        }
        row
    }

    fn candidate(&self, nth: usize, candidate: &Candidate<'_>, columns: usize) -> Row {
        let mut row = label(if nth == 0 { "candidates" } else { "" });
        let own = style_of(nth);
        let weight = if candidate.holds.is_some() { own } else { Style::Dim };
        row.push((own, format!("{:<5}", candidate.name)));
        row.push((weight, format!("{:<9} ", candidate.state)));
        let Some((left, fence)) = candidate.holds else { return row };
        let width = columns.saturating_sub(LABEL + 15 + 20).clamp(8, 40);
        let (full, empty) = bar(left, self.lease, width);
        row.push((if left <= self.grace { Style::Alarm } else { own }, full));
        row.push((Style::Dim, empty));
        row.push((Style::Plain, format!(" {:4.1} s", left.as_secs_f64())));
        if let Some(fence) = fence {
            row.push((Style::Dim, format!("  fence {fence}")));
        }
        row
    }

    fn history(&self, columns: usize, room: usize) -> Vec<Row> {
        let wide = columns >= 74;
        let mut titles = format!(
            "{:>5}  {:6}  {:>8}  {:9} {:>9}",
            "fence", "leader", "led", "ended by", "failover"
        );
        if wide {
            titles += &format!("  {:>10}  {:>9}", "lease left", "idle");
        }
        let mut rows = vec![Row::new(), vec![(Style::Dim, titles)]];
        let present = usize::from(self.present.is_some());
        let shown = self.past.len().min(room - present.min(room));
        for failover in &self.past[self.past.len() - shown..] {
            rows.push(past(failover, wide));
        }
        if let Some(present) = &self.present {
            let mut row = leadership(present.fence, present.id, present.led);
            row.push(match present.fault {
                None => (Style::Good, "leads".to_owned()),
                Some(fault) => (Style::Alarm, fault.name().to_owned()),
            });
            rows.push(row);
        }
        rows
    }

    fn tail(&self, columns: usize) -> Vec<Row> {
        let settings = self.settings.display().to_string();
        let command = format!("tenure observe --config {}", shell_word(&settings));
        let mut rows = vec![Row::new()];
        rows.extend(wrapped("join in", &one_line(&command), columns));
        rows.iter_mut().flatten().for_each(|(style, _)| *style = Style::Dim);
        rows
    }
}

fn leadership(fence: u64, id: &str, led: Duration) -> Row {
    let nth = CANDIDATES.iter().position(|name| *name == id).unwrap_or(0);
    vec![
        (Style::Plain, format!("{fence:>5}  ")),
        (style_of(nth), format!("{id:6}  ")),
        (Style::Plain, format!("{:>6.1} s  ", led.as_secs_f64())),
    ]
}

fn past(failover: &Failover, wide: bool) -> Row {
    let from = &failover.from;
    let mut row = leadership(from.fence, &from.id, from.last.since(from.first));
    let by = failover.fault.map_or("by itself", Fault::name);
    let or_none = |span: Option<Duration>| span.map_or_else(|| "-".to_owned(), seconds);
    row.push((Style::Plain, format!("{by:9} ")));
    row.push((Style::Bold, format!("{:>9}", or_none(failover.took))));
    if wide {
        let (left, idle) = (or_none(failover.left), seconds(failover.idle));
        row.push((Style::Plain, format!("  {left:>10}  {idle:>9}")));
    }
    row
}

const fn style_of(nth: usize) -> Style {
    if nth == 0 { Style::First } else { Style::Second }
}

fn label(text: &str) -> Row {
    vec![(Style::Dim, format!("{text:<LABEL$}"))]
}

fn labelled(name: &str, text: String) -> Row {
    let mut row = label(name);
    row.push((Style::Plain, text));
    row
}

/// `text` in as many rows as it needs, beside `name`.
fn wrapped(name: &str, text: &str, columns: usize) -> Vec<Row> {
    let width = columns.saturating_sub(LABEL).max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            *line += " ";
            *line += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    let names = [name].into_iter().chain(std::iter::repeat(""));
    names.zip(lines).map(|(name, line)| labelled(name, line)).collect()
}

/// The full and the empty part of a bar.
fn bar(left: Duration, of: Duration, width: usize) -> (String, String) {
    let share = (left.as_secs_f64() / of.as_secs_f64()).clamp(0.0, 1.0);
    let full = (0..width).filter(|nth| (*nth as f64) < share * width as f64).count();
    ("█".repeat(full), "░".repeat(width - full))
}

/// `1234567` as `1 234 567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A row as it goes to the terminal, no wider than `columns`.
fn paint(row: &Row, columns: usize, colored: bool) -> String {
    let mut room = columns;
    let mut text = String::new();
    for (style, part) in row {
        let part: String = part.chars().take(room).collect();
        room -= part.chars().count();
        match style {
            Style::Plain => text += &part,
            _ if colored => text += &format!("\x1b[{}m{part}\x1b[0m", style.code()),
            _ => text += &part,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use tenure::Time;

    use super::super::judge::Leadership;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn failover(fault: Option<Fault>) -> Failover {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let from = Leadership {
            fence: 1,
            id: "ann".into(),
            pid: 7,
            first: at(0),
            last: at(1_500),
            until: at(3_000),
            lines: 75,
        };
        let to = Leadership { fence: 2, id: "ben".into(), first: at(3_020), ..from.clone() };
        Failover::new(fault.map(|fault| (fault, at(1_510))), from, at(0), &to)
    }

    fn picture<'a>(past: &'a [Failover], settings: &'a Path) -> Picture<'a> {
        Picture {
            elapsed: SECOND * 4,
            run_for: Some(SECOND * 30),
            lease: SECOND * 2,
            grace: SECOND / 5,
            grantors: vec![("a", "serving"), ("b", "quarantine"), ("c", "no answer")],
            candidates: vec![
                Candidate { name: "ann", state: "waits", holds: None },
                Candidate { name: "ben", state: "leads", holds: Some((SECOND, Some(2))) },
            ],
            lines: 1_234,
            now: ("in 1.0 s".into(), "something happens, and why it does is explained".into()),
            note: None,
            past: past.iter().collect(),
            present: Some(Present { id: "ben", fence: 2, led: SECOND, fault: None }),
            settings,
        }
    }

    #[test]
    fn a_picture_of_eighty_columns() {
        let past = [failover(Some(Fault::Kill))];
        let rows = picture(&past, Path::new("/tmp/d/tenure.toml")).rows(80, 24, false);
        let expected = "\
tenure demo  lease 2s, 4 s of 30 s

grantors    a serving     b quarantine  c no answer  
candidates  ann  waits     
            ben  leads     █████████████████░░░░░░░░░░░░░░░░  1.0 s  fence 2

work        1 234 lines in the file
in 1.0 s    something happens, and why it does is explained

fence  leader       led  ended by   failover  lease left       idle
    1  ann        1.5 s  kill -9     1.510 s     1.490 s    1.520 s
    2  ben        1.0 s  leads

join in     tenure observe --config /tmp/d/tenure.toml";
        let rows: Vec<_> = rows.iter().map(|row| row.trim_end()).collect();
        let expected: Vec<_> = expected.lines().map(str::trim_end).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn any_terminal_is_neither_overrun_nor_scrolled() {
        let past: Vec<_> = (0..20).map(|_| failover(None)).collect();
        let settings = "/tmp/".to_owned() + &"d".repeat(90);
        let picture = picture(&past, Path::new(&settings));
        for columns in [20, 40, 60, 73, 74, 80, 300] {
            for height in 1..40 {
                let rows = picture.rows(columns, height, false);
                assert!(rows.len() <= height, "{columns}x{height}");
                assert!(rows.iter().all(|row| row.chars().count() <= columns));
                assert!(rows.iter().all(|row| !row.contains('\x1b')));
                assert!(rows[0].contains("tenure demo"));
            }
        }
        let all = picture.rows(60, 40, false).join("\n");
        assert_eq!(all.matches("by itself").count(), PAST - 1);
        assert!(!all.contains("lease left"));
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let past = [failover(Some(Fault::Stop))];
        let picture = picture(&past, Path::new("/tmp/d"));
        let colored = picture.rows(80, 24, true).join("\n");
        assert!(colored.contains("\x1b[32mserving"));
        let mut plain = String::new();
        let mut parts = colored.split('\x1b');
        plain += parts.next().unwrap();
        for part in parts {
            plain += part.split_once('m').unwrap().1;
        }
        assert_eq!(plain, picture.rows(80, 24, false).join("\n"));
    }

    #[test]
    fn a_bar_is_full_at_the_whole_lease_and_empty_at_its_end() {
        let bars = |left: u32| bar(SECOND * left, SECOND * 2, 8);
        assert_eq!(bars(0), (String::new(), "░".repeat(8)));
        assert_eq!(bars(1), ("█".repeat(4), "░".repeat(4)));
        assert_eq!(bars(2), ("█".repeat(8), String::new()));
        assert_eq!(bars(3), ("█".repeat(8), String::new()));
        assert_eq!(thousands(1_234_567), "1 234 567");
        assert_eq!((thousands(0), thousands(123)), ("0".into(), "123".into()));
    }

    #[test]
    fn the_command_of_a_strange_place_can_be_pasted() {
        let rows = picture(&[], Path::new("/tmp/a b/tenure.toml")).rows(80, 24, false);
        let expected = "join in     tenure observe --config '/tmp/a b/tenure.toml'";
        assert!(rows.iter().any(|row| row.trim_end() == expected), "{rows:#?}");
    }
}
