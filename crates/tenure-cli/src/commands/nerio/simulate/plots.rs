//! The plots of the page, drawn from the answer.

use std::time::Duration;

use tenure_sim::forecast::{Answer, Cause, Drill, Spread, Trial};

use super::advice::lease;
use super::drawing::{Anchor, Drawing, Scale};
use super::words::{cause, rate, span};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 16.0;

/// Time without a leader after each crash.
pub(super) fn histogram(spread: &Spread) -> String {
    const BARS: usize = 44;
    const TOP: f64 = 34.0;
    const BOTTOM: f64 = 190.0;
    let mut drawing = Drawing::new(WIDTH, 232.0);
    let most = spread.max().as_secs_f64().max(1e-9) * 1.02;
    let x = Scale { from: 0.0, to: most, start: LEFT, end: RIGHT };
    let mut counts = [0_usize; BARS];
    for gap in spread.sorted() {
        let bar = (gap.as_secs_f64() / most * BARS as f64) as usize;
        counts[bar.min(BARS - 1)] += 1;
    }
    let highest = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let y = Scale { from: 0.0, to: highest, start: BOTTOM, end: TOP };
    let width = (RIGHT - LEFT) / BARS as f64;
    for (bar, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let at = (LEFT + bar as f64 * width + 0.5, y.at(*count as f64));
        let from = Duration::from_secs_f64(most * bar as f64 / BARS as f64);
        let to = Duration::from_secs_f64(most * (bar + 1) as f64 / BARS as f64);
        let tip = format!("{count} from {} to {}", span(from), span(to));
        drawing.bar("fill", at, (width - 1.0, BOTTOM - at.1), &tip);
    }
    time_axis(&mut drawing, x, BOTTOM);
    for (part, name) in [(0.5, "p50"), (0.99, "p99")] {
        let value = spread.quantile(part);
        let at = x.at(value.as_secs_f64());
        drawing.line("mark", (at, TOP - 8.0), (at, BOTTOM));
        let text = format!("{name} {}", span(value));
        drawing.text("strong", (at - 5.0, TOP - 12.0), Anchor::End, &text);
    }
    drawing.text(
        "label",
        ((LEFT + RIGHT) / 2.0, 226.0),
        Anchor::Middle,
        "seconds without a leader",
    );
    drawing.text("label", (LEFT - 8.0, TOP + 4.0), Anchor::End, &format!("{highest:.0}"));
    drawing.finish("Histogram of the time without a leader after a crash")
}

/// Plots a typical drill: the old leader, the end of its lease, and the next leader.
pub(super) fn failover(answer: &Answer) -> String {
    const TOP: f64 = 40.0;
    const ROW: f64 = 34.0;
    let Some(drill) = median(answer) else { return String::new() };
    let names: Vec<&str> =
        answer.question.config.members.iter().map(|member| member.name.as_str()).collect();
    let bottom = TOP + ROW * names.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + 42.0);
    let gap = drill.gap.as_secs_f64();
    let left = drill.left.as_secs_f64();
    let before = drill.renewed_before.as_secs_f64();
    let around = answer.question.config.lease.as_secs_f64() * 0.25;
    let x = Scale { from: -before - around, to: gap + around, start: LEFT, end: RIGHT };
    for (at, name) in names.iter().enumerate() {
        let y = TOP + at as f64 * ROW;
        drawing.text("strong", (LEFT - 12.0, y + 21.0), Anchor::End, name);
        drawing.line("grid", (LEFT, y + ROW), (RIGHT, y + ROW));
        if at == drill.leader {
            let crash = x.at(0.0);
            drawing.bar("fill", (LEFT, y + 7.0), (crash - LEFT, 20.0), "leads");
            drawing.text("inside", (LEFT + 8.0, y + 21.0), Anchor::Start, "leads");
            let width = x.at(left) - crash;
            drawing.bar("ghost", (crash, y + 7.0), (width, 20.0), "rest of the lease");
            drawing.text("strong", (crash + 6.0, y + 21.0), Anchor::Start, "✕ crash");
            if width > 190.0 {
                let middle = (crash + 68.0 + x.at(left)) / 2.0;
                drawing.text("label", (middle, y + 21.0), Anchor::Middle, "rest of its lease");
            }
        } else if at == drill.next {
            let from = x.at(gap);
            drawing.bar("fill", (from, y + 7.0), (RIGHT - from, 20.0), "leads");
            drawing.text("inside", (from + 8.0, y + 21.0), Anchor::Start, "leads");
        } else {
            drawing.text("label", (LEFT + 8.0, y + 21.0), Anchor::Start, "waits");
        }
    }
    let renewed = x.at(-before);
    for (at, text, anchor) in
        [(renewed, "last renewal", Anchor::Middle), (x.at(gap), "next leader", Anchor::End)]
    {
        drawing.line("mark", (at, TOP - 10.0), (at, bottom));
        drawing.text("label", (at, TOP - 16.0), anchor, text);
    }
    time_axis(&mut drawing, x, bottom);
    drawing.text(
        "label",
        ((LEFT + RIGHT) / 2.0, bottom + 36.0),
        Anchor::Middle,
        "seconds since the crash",
    );
    drawing.finish("Timeline of one failover")
}

fn median(answer: &Answer) -> Option<Drill> {
    let median = answer.crash.quantile(0.5);
    let crashes = answer.drills.iter().filter(|drill| drill.crash && drill.leader != drill.next);
    crashes.min_by_key(|drill| drill.gap.abs_diff(median)).copied()
}

/// Plots the gains and costs of leases: failover time above, needless changes below.
pub(super) fn trade_off(answer: &Answer) -> String {
    const TOP: f64 = 30.0;
    const MIDDLE: f64 = 170.0;
    const LOW: (f64, f64) = (200.0, 300.0);
    let mut drawing = Drawing::new(WIDTH, 348.0);
    let trials = &answer.advice.trials;
    let step = (RIGHT - LEFT) / trials.len().max(1) as f64;
    let x = |at: usize| LEFT + (at as f64 + 0.5) * step;
    let highest = trials.iter().map(|t| t.crash.quantile(0.99).as_secs_f64()).fold(0.0, f64::max);
    let y = Scale { from: 0.0, to: highest.max(1e-9) * 1.1, start: MIDDLE, end: TOP };
    for tick in y.ticks() {
        drawing.line("grid", (LEFT, y.at(tick)), (RIGHT, y.at(tick)));
        drawing.text("label", (LEFT - 8.0, y.at(tick) + 4.0), Anchor::End, &short(tick));
    }
    let points = |part: f64| -> Vec<(f64, f64)> {
        let value = |t: &Trial| t.crash.quantile(part).as_secs_f64();
        trials.iter().enumerate().map(|(at, t)| (x(at), y.at(value(t)))).collect()
    };
    drawing.path("faint", &points(0.5));
    drawing.path("curve", &points(0.99));
    drawing.text(
        "strong",
        (LEFT, TOP - 12.0),
        Anchor::Start,
        "seconds to the next leader, p99 (thin: p50)",
    );
    let rates = Scale { from: -4.0, to: 3.0, start: LOW.1, end: LOW.0 };
    let target = answer.question.target.max(1e-4).log10().min(3.0);
    drawing.line("axis", (LEFT, LOW.1), (RIGHT, LOW.1));
    drawing.line("target", (LEFT, rates.at(target)), (RIGHT, rates.at(target)));
    drawing.text("label", (RIGHT, rates.at(target) - 4.0), Anchor::End, "target");
    drawing.text(
        "strong",
        (LEFT, LOW.0 - 6.0),
        Anchor::Start,
        "needless changes of leader in 30 days (logarithmic)",
    );
    for (power, text) in [(-4.0, "≤ 0.0001"), (-2.0, "0.01"), (0.0, "1"), (2.0, "100")] {
        drawing.text("label", (LEFT - 8.0, rates.at(power) + 4.0), Anchor::End, text);
    }
    for (at, trial) in trials.iter().enumerate() {
        let best = answer.advice.best == Some(at);
        let tip = tip(trial);
        let p99 = trial.crash.quantile(0.99).as_secs_f64();
        let class = if best { "best" } else { "dot" };
        drawing.dot(class, (x(at), y.at(p99)), if best { 7.0 } else { 4.0 }, &tip);
        let needless = trial.needless.estimate().max(1e-4).log10().min(3.0);
        let top = rates.at(needless);
        let class = if needless <= target { "fill" } else { "over" };
        drawing.bar(
            class,
            (x(at) - 12.0, top.min(LOW.1 - 2.0)),
            (24.0, (LOW.1 - top).max(2.0)),
            &tip,
        );
        name_trial(&mut drawing, answer, at, (x(at), LOW.1));
    }
    drawing.finish("Failover time and needless changes by lease")
}

/// Writes the name of a trial below its bar.
fn name_trial(drawing: &mut Drawing, answer: &Answer, at: usize, (x, y): (f64, f64)) {
    let trial = &answer.advice.trials[at];
    let best = answer.advice.best == Some(at);
    let nodes = if trial.nodes() == answer.question.nodes() {
        String::new()
    } else {
        format!(", {} nodes", trial.nodes())
    };
    let name = format!("{}{nodes}", lease(trial.config.lease));
    let class = if best || trial.asked { "strong" } else { "label" };
    drawing.text(class, (x, y + 18.0), Anchor::Middle, &name);
    let role = match (trial.asked, best) {
        (true, true) => "yours, recommended",
        (true, false) => "yours",
        (false, true) => "recommended",
        (false, false) => "",
    };
    drawing.text("strong", (x, y + 34.0), Anchor::Middle, role);
}

fn tip(trial: &Trial) -> String {
    format!(
        "lease {}: next leader within {} at p99, {} needless changes in 30 days",
        lease(trial.config.lease),
        span(trial.crash.quantile(0.99)),
        rate(&trial.needless)
    )
}

/// Every vacancy of the simulated hours, by cause.
pub(super) fn calendar(answer: &Answer) -> String {
    const TOP: f64 = 10.0;
    const ROW: f64 = 26.0;
    let rows: Vec<Cause> =
        Cause::ALL.into_iter().filter(|cause| answer.figures.count(*cause) > 0).collect();
    if rows.is_empty() {
        return String::new();
    }
    let bottom = TOP + ROW * rows.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + 42.0);
    let hours = answer.figures.time.as_secs_f64() / 3_600.0;
    let x = Scale { from: 0.0, to: hours, start: LEFT + 30.0, end: RIGHT };
    for (row, kind) in rows.iter().enumerate() {
        let y = TOP + row as f64 * ROW;
        drawing.text("label", (x.start - 8.0, y + 17.0), Anchor::End, cause(*kind));
        drawing.line("grid", (x.start, y + ROW), (RIGHT, y + ROW));
        // More than a few thousand ticks look like a bar, and make the page megabytes large.
        let of: Vec<_> = answer.figures.vacancies.iter().filter(|v| v.cause == *kind).collect();
        for vacancy in of.iter().step_by(of.len().div_ceil(2_000).max(1)) {
            let at = x.at(Duration::from_nanos(vacancy.since).as_secs_f64() / 3_600.0);
            let tip = format!("{}: {} without a leader", cause(*kind), span(vacancy.lasted));
            let class = if *kind == Cause::Resigned { "fill" } else { "over" };
            drawing.bar(class, (at - 1.0, y + 5.0), (2.0, ROW - 9.0), &tip);
        }
    }
    time_axis(&mut drawing, x, bottom);
    drawing.text("label", ((LEFT + RIGHT) / 2.0, bottom + 36.0), Anchor::Middle, "hours");
    drawing.finish("When there was no leader, by cause")
}

fn time_axis(drawing: &mut Drawing, x: Scale, y: f64) {
    drawing.line("axis", (x.start, y), (x.end, y));
    for tick in x.ticks() {
        let at = x.at(tick);
        drawing.line("axis", (at, y), (at, y + 4.0));
        drawing.text("label", (at, y + 18.0), Anchor::Middle, &short(tick));
    }
}

/// A tick, rounded to hide the error of its arithmetic.
fn short(tick: f64) -> String {
    let text = format!("{tick:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}
