//! A page in one file: style, drawings and numbers.

use std::fmt::Write;

// Text of SVG and text of HTML need the same escapes.
use svg::node::Text as Escaped;

use super::words::{counted, digits, percent, rate, span};
use super::{Report, advice, plots, text};
use crate::invocation::nerio::simulate::LOSS;

const STYLE: &str = include_str!("page.css");

pub(super) fn page(report: &Report) -> String {
    let answer = &report.answer;
    let question = &answer.question;
    let title = format!(
        "{}, lease {}",
        counted(question.nodes(), "node", "nodes"),
        advice::lease(question.config.lease)
    );
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Tenure forecast: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><p class=\"eyebrow\">tenure simulate</p><h1>{title}</h1><p>{}</p></header>\n",
        Escaped::new(network(report)),
    );
    page += &tiles(report);
    let sentences = advice::sentences(answer);
    page += "<section><h2>Advice</h2><ul>\n";
    for sentence in sentences {
        let _ = writeln!(page, "<li>{}</li>", Escaped::new(capitalized(&sentence)));
    }
    page += "</ul></section>\n";
    let crashes = counted(answer.crash.count(), "crash", "crashes");
    page += &figure(
        "After a crash of the leader",
        &format!(
            "{crashes} at random moments. Nobody may lead until the rest of the lease has run \
             out, so the time depends on when the last renewal was."
        ),
        &plots::histogram(&answer.crash),
    );
    page += &figure("One of them", "The one nearest to the median.", &plots::failover(answer));
    page += &figure(
        "Other leases",
        "With a shorter lease a new leader leads sooner, and fewer lost messages end the lease.",
        &plots::trade_off(answer),
    );
    page += &figure(
        &format!("Without a leader in {} hours", question.hours),
        "Each mark is one span without a leader, whatever its length. The hours are independent \
         stretches, one after the other.",
        &plots::calendar(answer),
    );
    page += &tables(report);
    let _ = write!(
        page,
        "<footer><p>{}</p><p>The same again:</p><pre>{}</pre></footer>\n</body>\n</html>\n",
        Escaped::new(text::effort(report)),
        Escaped::new(&report.again)
    );
    page
}

fn network(report: &Report) -> String {
    let question = &report.answer.question;
    let every = |name: &str, every: Option<std::time::Duration>| {
        Some(format!("{name} every {}", advice::lease(every?)))
    };
    let mut all = vec![
        format!(
            "round trips {} at p50, {} at p99",
            span(question.trips.quantile(0.5)),
            span(question.trips.quantile(0.99))
        ),
        format!("loss {}", (LOSS.show)(&question.loss)),
    ];
    all.extend(every("a crash of each process", question.crash_every));
    all.extend(every("a reboot of each machine", question.reboot_every));
    all.extend(every("a restart on purpose", question.restart_every));
    all.extend(every("a pause of each process", question.pause_every));
    capitalized(&all.join(", "))
}

fn tiles(report: &Report) -> String {
    let answer = &report.answer;
    let needless = &answer.needless;
    let (rates, below) = match needless.seen {
        0 => ("none seen".to_owned(), format!("at most {}", digits(needless.in_month_at_most))),
        seen => (digits(needless.in_month), format!("{seen} seen")),
    };
    let tiles = [
        (
            "After a crash, p50",
            span(answer.crash.quantile(0.5)),
            format!("p99 {}, max {}", span(answer.crash.quantile(0.99)), span(answer.crash.max())),
        ),
        (
            "After a resignation, p50",
            span(answer.handover.quantile(0.5)),
            format!(
                "p99 {}, max {}",
                span(answer.handover.quantile(0.99)),
                span(answer.handover.max())
            ),
        ),
        (
            "Availability",
            percent(answer.availability.expected),
            format!("{} down in 30 days", span(answer.availability.down_in_month())),
        ),
        ("Needless changes in 30 days", rates, below),
        (
            "Messages a second",
            digits(answer.figures.messages_per_second()),
            format!("{} bytes a second", digits(answer.figures.bytes_per_second())),
        ),
    ];
    let tile = |(name, value, below): &(&str, String, String)| {
        format!(
            "<div class=\"tile\"><p>{name}</p><strong>{}</strong><p>{}</p></div>\n",
            Escaped::new(value),
            Escaped::new(below)
        )
    };
    format!("<section class=\"tiles\">\n{}</section>\n", tiles.iter().map(tile).collect::<String>())
}

fn figure(title: &str, caption: &str, drawing: &str) -> String {
    if drawing.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>{}</h2><p>{}</p>\n<figure>{drawing}</figure></section>\n",
        Escaped::new(title),
        Escaped::new(caption)
    )
}

fn tables(report: &Report) -> String {
    let answer = &report.answer;
    let mut all = String::from("<section><h2>All numbers</h2>\n<table><tbody>\n");
    for (name, value) in text::facts(answer) {
        let _ = writeln!(all, "<tr><th>{name}</th><td>{}</td></tr>", Escaped::new(value));
    }
    for (name, value) in settings(report) {
        let _ = writeln!(all, "<tr><th>{name}</th><td>{}</td></tr>", Escaped::new(value));
    }
    all += "</tbody></table>\n<div class=\"scroll\"><table><thead><tr>";
    let head = [
        "nodes",
        "lease",
        "refresh",
        "crash p50",
        "p99",
        "max",
        "needless in 30 days",
        "at most",
        "availability",
        "messages/s",
        "hours",
    ];
    all.extend(head.map(|name| format!("<th>{name}</th>")));
    all += "</tr></thead><tbody>\n";
    for (at, trial) in answer.advice.trials.iter().enumerate() {
        let cells = [
            trial.nodes().to_string(),
            advice::lease(trial.config.lease),
            advice::lease(trial.config.refresh),
            span(trial.crash.quantile(0.5)),
            span(trial.crash.quantile(0.99)),
            span(trial.crash.max()),
            rate(&trial.needless),
            digits(trial.needless.in_month_at_most),
            percent(trial.availability.expected),
            digits(trial.messages_per_second),
            digits(trial.time.as_secs_f64() / 3_600.0),
        ];
        let class = match (answer.advice.best == Some(at), trial.asked) {
            (true, _) => " class=\"chosen\"",
            (_, true) => " class=\"asked\"",
            _ => "",
        };
        let cells: String =
            cells.iter().map(|cell| format!("<td>{}</td>", Escaped::new(cell))).collect();
        let _ = writeln!(all, "<tr{class}>{cells}</tr>");
    }
    all + "</tbody></table></div>\n<p>Recommended settings are bold. Needless changes are the best \
           estimate; the simulated hours rule out more than <em>at most</em> (95 \
           %).</p></section>\n"
}

fn settings(report: &Report) -> Vec<(&'static str, String)> {
    let question = &report.answer.question;
    let config = &question.config;
    let all = [
        ("refresh", advice::lease(config.refresh)),
        ("grace", advice::lease(config.grace)),
        ("kill margin", advice::lease(config.kill_margin)),
        ("round trip (d)", advice::lease(config.round_trip)),
        ("drift (ρ)", config.drift.to_string()),
        ("longest round trip", span(question.trips.quantile(1.0))),
        ("a process is away", advice::lease(question.down)),
        ("seed", question.seed.to_string()),
    ];
    all.to_vec()
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().to_string() + chars.as_str())
}
