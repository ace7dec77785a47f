//! The answer as text for people, the most important facts first.

use std::fmt::Write;

use tenure_sim::forecast::{Answer, Cause, Spread};

use super::words::{cause, counted, digits, percent, rate, span};
use super::{Report, advice};
use crate::invocation::nerio::simulate::LOSS;

/// Column of the values.
const INDENT: usize = 21;
const WIDTH: usize = 100;

pub(super) fn text(report: &Report) -> String {
    let answer = &report.answer;
    let mut text = heading(answer);
    text += "\n";
    let _ = writeln!(text, "{:INDENT$}{:>9} {:>9} {:>9}", "without a leader", "p50", "p99", "max");
    text += &spread("  after a crash", &answer.crash, "crash", "crashes");
    text += &spread("  after a resignation", &answer.handover, "resignation", "resignations");
    text += "\n";
    for (name, value) in facts(answer) {
        text += &block(&format!("{name:INDENT$}"), &value);
    }
    text += "\n";
    text += &trials(answer);
    for sentence in advice::sentences(answer) {
        text += &block("* ", &sentence);
    }
    text += "\n";
    text += &block("", &effort(report));
    let _ = writeln!(text, "again: {}", report.again);
    text
}

fn heading(answer: &Answer) -> String {
    let question = &answer.question;
    let config = &answer.question.config;
    format!(
        "{}, lease {}, round trips {} at p50 and {} at p99, loss {}\n",
        counted(question.nodes(), "node", "nodes"),
        advice::lease(config.lease),
        span(question.trips.quantile(0.5)),
        span(question.trips.quantile(0.99)),
        (LOSS.show)(&question.loss),
    )
}

fn spread(name: &str, spread: &Spread, one: &str, many: &str) -> String {
    let at = |part| span(spread.quantile(part));
    format!(
        "{name:INDENT$}{:>9} {:>9} {:>9}   {}\n",
        at(0.5),
        at(0.99),
        span(spread.max()),
        counted(spread.count(), one, many)
    )
}

/// Facts other than the failover times: name and sentence.
pub(super) fn facts(answer: &Answer) -> Vec<(&'static str, String)> {
    let availability = &answer.availability;
    vec![
        (
            "availability",
            format!(
                "{} expected, {} without a leader in 30 days; {}",
                percent(availability.expected),
                span(availability.down_in_month()),
                seen(answer)
            ),
        ),
        ("needless changes", needless(answer)),
        ("messages", messages(answer)),
    ]
}

fn seen(answer: &Answer) -> String {
    let kinds: Vec<String> = Cause::ALL
        .into_iter()
        .map(|kind| (answer.figures.count(kind), cause(kind)))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} by {name}"))
        .collect();
    let hours = answer.question.hours;
    if kinds.is_empty() {
        format!("a leader led throughout all {hours} hours")
    } else {
        format!("{} in {hours} hours ({})", percent(answer.availability.seen), kinds.join(", "))
    }
}

fn needless(answer: &Answer) -> String {
    let needless = &answer.needless;
    let hours = answer.question.hours;
    if needless.seen == 0 {
        return format!(
            "none in {hours} hours, so at most {} in 30 days (95 %); {} if attempts to renew \
             fail independently",
            digits(needless.in_month_at_most),
            rate(needless)
        );
    }
    format!(
        "{} in {hours} hours, {} in 30 days (at most {}, 95 %); {} because the lease ran out, the \
         rest because less than the grace was left of the lease; {} in any 30 days",
        needless.seen,
        digits(needless.in_month),
        digits(needless.in_month_at_most),
        needless.lapsed,
        format_args!("probability {}", digits(needless.probability())),
    )
}

fn messages(answer: &Answer) -> String {
    let figures = &answer.figures;
    let nodes = answer.question.nodes();
    let counted = figures.traffic.counted.as_secs_f64().max(1e-9);
    let leader = figures.traffic.by_leader as f64 / counted;
    let other = figures.traffic.by_others as f64 / counted / (nodes.max(2) - 1) as f64;
    format!(
        "{} a second, {} bytes a second between all nodes, for one election whose {} all contend; \
         {} of them sent by the leader's node, {} by each of the other nodes; elections of one \
         node share datagrams",
        digits(figures.messages_per_second()),
        digits(figures.bytes_per_second()),
        format_args!("{nodes} nodes"),
        digits(leader),
        digits(other)
    )
}

fn trials(answer: &Answer) -> String {
    let row = |cells: [String; 7]| {
        let [mark, nodes, lease, p99, down, needless, messages] = cells;
        format!(
            "{mark:9} {nodes:>5} {lease:>8} {p99:>12} {down:>14} {needless:>14} {messages:>11}\n"
        )
    };
    let head = ["", "nodes", "lease", "crash p99", "down in 30 d", "needless 30 d", "messages/s"];
    let mut text = row(head.map(String::from));
    for (at, trial) in answer.advice.trials.iter().enumerate() {
        let mark = match (trial.asked, answer.advice.best == Some(at)) {
            (true, true) => "yours, >",
            (true, false) => "yours",
            (false, true) => ">",
            (false, false) => "",
        };
        text += &row([
            mark.into(),
            trial.nodes().to_string(),
            advice::lease(trial.config.lease),
            span(trial.crash.quantile(0.99)),
            span(trial.availability.down_in_month()),
            rate(&trial.needless),
            digits(trial.messages_per_second),
        ]);
    }
    text
}

/// The simulated time, and the speed of the simulation.
pub(super) fn effort(report: &Report) -> String {
    let effort = &report.answer.effort;
    let question = &report.answer.question;
    let seconds = report.took.as_secs_f64();
    format!(
        "{} hours, {} drills and {} other settings: {:.1} million events in {seconds:.1} s, {:.1} \
         million a second",
        question.hours,
        report.answer.drills.len(),
        effort.trials,
        effort.events as f64 / 1e6,
        effort.events as f64 / 1e6 / seconds.max(1e-9),
    )
}

/// `words` after `label`, in lines of at most [`WIDTH`], the further lines indented.
fn block(label: &str, words: &str) -> String {
    let indent = label.chars().count();
    let mut text = label.to_owned();
    let mut column = indent;
    for (at, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length > WIDTH {
            text += &format!("\n{:indent$}", "");
            column = indent;
        } else if at > 0 {
            text += " ";
            column += 1;
        }
        text += word;
        column += length;
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn long_sentences_hang_below_their_label() {
        let text = block("name  ", &"word ".repeat(40));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= 100));
        assert!(lines[0].starts_with("name  word") && lines[1].starts_with("      word"));
    }
}
