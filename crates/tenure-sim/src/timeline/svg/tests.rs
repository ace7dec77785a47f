//! The picture, read by a parser.

use roxmltree::{Document, Node};

use super::*;
use crate::timeline::{Lane, Mark};

const MS: u64 = 1_000_000;

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const P: usize = 3;
const R: usize = 4;

fn lane(name: &str) -> Lane {
    Lane { name: name.into(), role: "grantor".into(), clock: "1.0010 of true time".into() }
}

fn span(lane: usize, kind: SpanKind, holder: &str, from: u64, until: u64) -> Span {
    let election = Some("e1".into());
    let holder = Some(holder.into());
    let label = "fence 7".into();
    Span { lane, kind, election, holder, from, until, label }
}

fn arrow(from: usize, to: usize, sent: u64, arrived: Option<u64>) -> Arrow {
    Arrow { from, sent, to, arrived, label: "request 1".into() }
}

/// Two overlapping leaders, because b grants twice; c was down.
fn story() -> Timeline {
    let down = Span { election: None, holder: None, ..span(C, SpanKind::Down, "", MS, 7 * MS) };
    Timeline {
        title: "seed 23".into(),
        lanes: ["a", "b", "c", "p", "r"].map(lane).into(),
        spans: vec![
            span(A, SpanKind::Grant, "p#1", MS, 5_000 * MS),
            span(B, SpanKind::Grant, "p#1", 2 * MS, 10 * MS),
            span(P, SpanKind::Claim, "p#1", 4 * MS, 5_000 * MS),
            span(B, SpanKind::Grant, "r#1", 10 * MS, 5_010 * MS),
            span(R, SpanKind::Claim, "r#1", 12 * MS, u64::MAX),
            down,
        ],
        arrows: vec![
            arrow(P, A, 0, Some(MS)),
            arrow(P, B, 0, Some(2 * MS)),
            arrow(P, C, 0, None),
            arrow(A, P, MS, Some(3 * MS)),
            arrow(B, P, 2 * MS, Some(4 * MS)),
            arrow(R, B, 8 * MS, Some(10 * MS)),
            arrow(B, R, 10 * MS, Some(12 * MS)),
        ],
        marks: vec![Mark { lane: C, at: MS, label: "ends".into() }],
        violation: Some((12 * MS, "At most one leader: p#1 and r#1 lead e1.".into())),
    }
}

/// More messages than can be shown.
fn crowd() -> Timeline {
    let arrows = (0..5_000).map(|i: usize| {
        let sent = i as u64 * MS;
        arrow(i % 5, i % 3, sent, (!i.is_multiple_of(7)).then_some(sent + 300_000))
    });
    Timeline { arrows: arrows.collect(), violation: None, ..story() }
}

fn shapes<'a, 'i>(document: &'a Document<'i>, tag: &str, class: &str) -> Vec<Node<'a, 'i>> {
    let is = |node: &Node<'_, '_>| node.has_tag_name(tag) && node.attribute("class") == Some(class);
    document.descendants().filter(is).collect()
}

fn number(node: &Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).expect(name).parse().expect(name)
}

/// Horizontal and vertical extent of a rectangle.
fn extent(node: &Node<'_, '_>) -> (Range<f64>, Range<f64>) {
    let x = number(node, "x");
    let y = number(node, "y");
    (x..x + number(node, "width"), y..y + number(node, "height"))
}

/// The tooltip of a shape.
fn title<'a>(node: &Node<'a, '_>) -> &'a str {
    let title = node.prev_sibling_element().expect("a title");
    title.text().unwrap_or_default()
}

fn says(document: &Document<'_>, wanted: &str) -> bool {
    let mut texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.any(|node| node.text().is_some_and(|text| text.contains(wanted)))
}

#[test]
fn claims_are_bars() {
    let svg = draw(&story());
    let document = Document::parse(&svg).unwrap();
    let lanes = shapes(&document, "rect", "lane");
    let claims = shapes(&document, "rect", "leads");
    let grants = shapes(&document, "rect", "grant");
    assert_eq!((lanes.len(), claims.len(), grants.len()), (5, 2, 3));
    let bars = [(claims[0], P, 0), (claims[1], R, 1), (grants[0], A, 0), (grants[1], B, 0)];
    for (bar, lane, holder) in bars {
        assert_eq!(bar.attribute("fill"), Some(COLOURS[holder]));
        let lane = extent(&lanes[lane]).1;
        let bar = extent(&bar).1;
        assert!(lane.start < bar.start && bar.end < lane.end, "{bar:?} in {lane:?}");
    }
    let [p, r, a] = [claims[0], claims[1], grants[0]].map(|bar| extent(&bar).0);
    assert!(a.start < p.start && p.end == a.end, "{a:?} {p:?}");
    assert!(r.start < p.end && p.end < r.end, "two at once, and one without end");
    assert_eq!(title(&claims[0]), "leads e1 p#1 fence 7\n0.004000 s to 5.000000 s");
    assert!(says(&document, "p#1 fence 7"));
}

#[test]
fn faults_are_shown() {
    let svg = draw(&story());
    let document = Document::parse(&svg).unwrap();
    let violated = shapes(&document, "line", "violated");
    let begins = extent(&shapes(&document, "rect", "leads")[1]).0.start;
    assert_eq!((number(&violated[0], "x1"), number(&violated[0], "x2")), (begins, begins));
    assert!(says(&document, "violated at 0.012000 s") && says(&document, "p#1 and r#1 lead e1."));
    assert_eq!(shapes(&document, "polyline", "message").len(), 6);
    let lost = shapes(&document, "polyline", "lost");
    let story = lost[0].parent().unwrap().first_element_child().unwrap();
    assert_eq!(story.text(), Some("p to c: request 1\n0.000000 s to lost"));
    assert_eq!(title(&shapes(&document, "text", "mark")[0]), "ends\n0.001000 s");
    let down = extent(&shapes(&document, "rect", "down")[0]).1;
    assert_eq!(down, extent(&shapes(&document, "rect", "lane")[C]).1);
}

#[test]
fn labels_do_not_overlap() {
    let svg = draw(&crowd());
    let document = Document::parse(&svg).unwrap();
    assert!(says(&document, "4700 messages before these are left out"));
    assert_eq!(shapes(&document, "polyline", "reach").len(), MOST_MESSAGES);
    assert_eq!(shapes(&document, "rect", "leads").len(), 2, "they go on");
    assert_eq!(shapes(&document, "rect", "down").len(), 0, "it was over");
    let mut ends: BTreeMap<String, f64> = BTreeMap::new();
    for label in shapes(&document, "text", "label") {
        let x = number(&label, "x");
        let line = label.attribute("y").unwrap().to_owned();
        let before = ends.insert(line, x + width(label.text().unwrap().trim()));
        assert!(before.is_none_or(|before| before <= x), "{before:?} {x}");
    }
    assert!(!ends.is_empty());
}

#[test]
fn texts_cannot_break_out() {
    let nasty = "</text><script>alert('&')</script>\"\u{0}\u{1b}\u{ffff}\u{85} → 漢字";
    let mut timeline = story();
    timeline.title = nasty.into();
    timeline.lanes[P] = Lane { name: nasty.into(), role: nasty.into(), clock: nasty.into() };
    timeline.spans[0].label = nasty.into();
    timeline.spans[2].election = Some(nasty.into());
    timeline.arrows[0].label = nasty.into();
    timeline.marks[0].label = nasty.into();
    timeline.violation = Some((4 * MS, nasty.repeat(40)));
    let svg = draw(&timeline);
    let document = Document::parse(&svg).expect("well-formed");
    assert!(!document.descendants().any(|node| node.has_tag_name("script")));
    assert!(says(&document, "<script>"), "it is still shown, as text");
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn extreme_timelines_are_drawn() {
    let ends = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let mut all = Timeline { violation: Some((u64::MAX, String::new())), ..story() };
    for from in ends {
        all.spans.extend(ends.map(|until| span(A, SpanKind::Claim, "p#1", from, until)));
        all.arrows.extend(ends.map(|at| arrow(A, R, from, Some(at))));
        all.arrows.extend([arrow(C, C, from, None), arrow(C, C, from, Some(from))]);
    }
    let only_lanes = Timeline { lanes: story().lanes, ..Timeline::default() };
    for timeline in [Timeline::default(), only_lanes, all] {
        let svg = draw(&timeline);
        Document::parse(&svg).expect("well-formed");
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
    }
}
