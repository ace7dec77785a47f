//! Timelines as the simulator would hand them over.

use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const LEASE: u64 = 5_000 * MS;

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const P: usize = 3;
const R: usize = 4;

fn lane(name: &str, role: &str, clock: &str) -> Lane {
    Lane { name: name.into(), role: role.into(), clock: format!("{clock} of true time") }
}

pub(super) fn span(lane: usize, kind: SpanKind, holder: &str, (from, until): (u64, u64)) -> Span {
    let label = match kind {
        SpanKind::Claim => format!("{holder} leads"),
        SpanKind::Grant => holder.to_owned(),
        SpanKind::Quarantine => "quarantine".to_owned(),
        SpanKind::Down => "down".to_owned(),
        SpanKind::Paused => "paused".to_owned(),
    };
    let (election, holder) = match kind {
        SpanKind::Claim | SpanKind::Grant => (Some("e1".into()), Some(holder.to_owned())),
        _ => (None, None),
    };
    Span { lane, kind, election, holder, from, until, label }
}

pub(super) fn arrow(from: usize, to: usize, sent: u64, took: Option<u64>, label: &str) -> Arrow {
    Arrow { from, sent, to, arrived: took.map(|took| sent + took), label: label.into() }
}

pub(super) fn mark(lane: usize, at: u64, fault: bool, label: &str) -> Mark {
    Mark { lane, at, label: label.into(), fault }
}

fn claim(lane: usize, holder: &str, fence: u64, during: (u64, u64)) -> Span {
    Span { label: format!("{holder} fence {fence}"), ..span(lane, SpanKind::Claim, holder, during) }
}

fn nodes() -> Vec<Lane> {
    vec![
        lane("a", "grantor", "1.0010"),
        lane("b", "grantor", "1.0010"),
        lane("c", "grantor", "1.0000"),
        lane("p", "candidate", "0.9990"),
        lane("r", "candidate", "1.0004"),
    ]
}

/// Erratum 4 turned off: a release that names no Start frees a grantor of a later grant.
pub(super) fn delayed_release() -> Timeline {
    let (one, two, late) = (12_000 * MS, 12_140 * MS, 12_171 * MS + 250 * US);
    let end = late + 1_700 * US;
    Timeline {
        title: "seed 0x5eed0017, mutant release-without-start: Leader Uniqueness of e1".into(),
        lanes: nodes(),
        spans: vec![
            span(C, SpanKind::Down, "", (0, 1_200 * MS)),
            span(C, SpanKind::Quarantine, "", (1_200 * MS, 11_210 * MS)),
            span(A, SpanKind::Grant, "p#1", (one + 900 * US, two - 38 * MS)),
            span(B, SpanKind::Grant, "p#1", (one + 1_100 * US, two + 1_200 * US)),
            claim(P, "p#1", 7, (one + 2_300 * US, two - 40 * MS)),
            span(A, SpanKind::Grant, "p#1", (two + MS, two + LEASE)),
            span(B, SpanKind::Grant, "p#1", (two + 1_200 * US, late)),
            span(B, SpanKind::Grant, "r#1", (late, late + LEASE)),
            span(C, SpanKind::Grant, "r#1", (late - 8 * MS, late + LEASE - 8 * MS)),
            claim(P, "p#1", 8, (two + 2_900 * US, two + LEASE)),
            claim(R, "r#1", 9, (end, late + LEASE - 9 * MS)),
        ],
        arrows: vec![
            arrow(P, A, one, Some(900 * US), "request 1"),
            arrow(P, B, one, Some(1_100 * US), "request 1"),
            arrow(P, C, one, None, "request 1"),
            arrow(A, P, one + 900 * US, Some(1_300 * US), "ok 1 fence 7"),
            arrow(B, P, one + 1_100 * US, Some(1_200 * US), "ok 1 fence 7"),
            arrow(P, A, two - 40 * MS, Some(2 * MS), "release 1"),
            arrow(P, B, two - 40 * MS, Some(late + 40 * MS - two), "release 1"),
            arrow(P, A, two, Some(MS), "request 2"),
            arrow(P, B, two, Some(1_200 * US), "request 2"),
            arrow(P, C, two, None, "request 2"),
            arrow(A, P, two + MS, Some(1_500 * US), "ok 2 fence 8"),
            arrow(B, P, two + 1_200 * US, Some(1_700 * US), "ok 2 fence 8"),
            arrow(R, A, late - 9 * MS, Some(900 * US), "request 1"),
            arrow(R, B, late - 9 * MS, Some(1_300 * US), "request 1"),
            arrow(R, C, late - 9 * MS, Some(MS), "request 1"),
            arrow(A, R, late - 8_100 * US, Some(800 * US), "refused: held by p#1 for 4.98 s"),
            arrow(B, R, late - 7_700 * US, Some(1_500 * US), "refused: held by p#1 for 4.98 s"),
            arrow(C, R, late - 8 * MS, Some(MS), "ok 1 fence 9"),
            arrow(B, R, late, Some(1_700 * US), "ok 1 fence 9"),
        ],
        marks: vec![
            mark(C, 0, true, "crash"),
            mark(C, 1_200 * MS, true, "restart with its disk"),
            mark(P, two - 40 * MS, false, "resigns"),
            mark(P, two - 40 * MS, true, "release to b delayed by 71 ms"),
            mark(P, two, false, "campaigns again"),
            mark(R, late - 9 * MS, false, "campaigns"),
            mark(B, late - 7_700 * US, false, "parks r#1"),
            mark(B, late, false, "freed by release 1, grants parked r#1"),
            mark(P, two + 2_900 * US, false, "elected, fence 8"),
            mark(R, end, false, "elected, fence 9"),
        ],
        violation: Some((
            end,
            "Leader Uniqueness: p#1 leads e1 by {a, b} until 17.14 s (fence 8) and r#1 leads e1 by \
             {b, c} from 12.17295 s (fence 9). Both count on b, whose grant to p#1 of Start 2 was \
             ended by the release of Start 1, sent 71 ms before by p."
                .into(),
        )),
    }
}

/// A leader that looks at its clock only after it was stopped for longer than its lease.
pub(super) fn paused_leader() -> Timeline {
    let mut spans = vec![
        claim(P, "p#1", 3, (2 * MS, 6_400 * MS)),
        span(P, SpanKind::Paused, "", (900 * MS, 6_350 * MS)),
        claim(R, "r#1", 4, (5_012 * MS, 10_006 * MS)),
    ];
    let mut arrows = Vec::new();
    for to in [A, B, C] {
        let delay = (500 + 200 * to as u64) * US;
        spans.push(span(to, SpanKind::Grant, "p#1", (delay, 5_005 * MS)));
        spans.push(span(to, SpanKind::Grant, "r#1", (5_010 * MS, 10_020 * MS)));
        arrows.push(arrow(P, to, 0, Some(delay), "request 1"));
        arrows.push(arrow(to, P, delay, Some(700 * US), "ok 1 fence 3"));
        arrows.push(arrow(R, to, 5_009 * MS, Some(MS), "request 1"));
        arrows.push(arrow(to, R, 5_010 * MS, Some(MS + delay), "ok 1 fence 4"));
    }
    Timeline {
        title: "mutant sticky-flag: a paused leader wakes and writes".into(),
        lanes: nodes(),
        spans,
        arrows,
        marks: vec![
            mark(P, 900 * MS, true, "paused right after a clock read"),
            mark(P, 6_350 * MS, false, "acts on the old answer"),
        ],
        violation: Some((6_350 * MS, "p#1 acted as the leader 1.34 s after its lease.".into())),
    }
}

/// Many nodes and messages, from a generator of its own.
pub(super) fn crowd(nodes: usize, messages: usize) -> Timeline {
    let mut state = 0x5eed_u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let says = ["request 4", "ok 4 fence 12", "refused: held by n2#1 for 3.2 s", "release 4"];
    let lanes =
        (0..nodes).map(|i| lane(&format!("n{i}"), "grantor, candidate", "0.9995")).collect();
    let mut arrows = Vec::new();
    for i in 0..messages {
        let burst = (i / 24) as u64 * 1_700 * MS;
        let (from, to) = (draw(nodes as u64) as usize, draw(nodes as u64) as usize);
        let took = (draw(12) > 0).then(|| (300 + draw(2_500)) * US);
        arrows.push(arrow(from, to, burst + draw(9_000) * US, took, says[draw(4) as usize]));
    }
    let end = (messages / 24) as u64 * 1_700 * MS + 8 * MS;
    let mut spans = Vec::new();
    let mut marks = Vec::new();
    for lane in 0..nodes {
        for i in 0..3 {
            let from = end / 4 * i + draw(9_000) * US;
            let holder = format!("n{}#1", (i as usize + lane) % 3);
            spans.push(span(lane, SpanKind::Grant, &holder, (from, from + end / 5)));
        }
        marks.push(mark(lane, draw(9_000) * US, true, "partition begins"));
        marks.push(mark(lane, draw(9_000) * US, false, "campaigns"));
        marks.push(mark(lane, end + draw(4_000) * US, false, "refused by a quorum"));
    }
    spans.push(claim(0, "n0#1", 11, (3 * MS, end)));
    spans.push(claim(1, "n1#1", 12, (end - 2 * MS, end + 3 * MS)));
    let violation = Some((end - 2 * MS, "n0#1 and n1#1 lead e1 at the same time.".into()));
    Timeline { title: format!("{messages} messages"), lanes, spans, arrows, marks, violation }
}
