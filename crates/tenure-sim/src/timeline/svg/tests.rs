//! The picture as a parser and a person see it.

use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use super::*;
use crate::timeline::{Arrow, Lane, Mark, Span, SpanKind};

mod story;

use story::{arrow, crowd, delayed_release, mark, paused_leader, span};

/// Every text that can be seen, with the room it takes at most.
fn texts(document: &Document<'_>) -> Vec<(String, Rect)> {
    let number = |node: &Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name).expect(name).parse().expect(name)
    };
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts
        .map(|node| {
            let text = node.text().unwrap_or_default().to_owned();
            let size = number(&node, "font-size");
            let width = text::width(&text, size, node.attribute("font-weight") == Some("bold"));
            let x = number(&node, "x")
                - match node.attribute("text-anchor") {
                    Some("end") => width,
                    Some("middle") => width / 2.0,
                    _ => 0.0,
                };
            let y = number(&node, "y") - size * 0.78;
            (text, Rect { x, y, width, height: size * 0.98 })
        })
        .collect()
}

fn has_text(document: &Document<'_>, wanted: &str) -> bool {
    texts(document).iter().any(|(text, _)| text.contains(wanted))
}

#[track_caller]
fn assert_readable(timeline: &Timeline) {
    let svg = draw(timeline);
    let document = Document::parse(&svg).expect("well-formed");
    let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
    let texts = texts(&document);
    for (i, (text, at)) in texts.iter().enumerate() {
        assert!(at.x >= 0.0 && at.right() <= WIDTH + 0.5, "{text:?} leaves the picture: {at:?}");
        assert!(at.y >= 0.0 && at.bottom() <= height, "{text:?} leaves the picture: {at:?}");
        for (other, there) in &texts[i + 1..] {
            assert!(!at.overlaps(there), "{text:?} {at:?} overlaps {other:?} {there:?}");
        }
    }
}

#[test]
fn no_two_texts_overlap() {
    assert_readable(&delayed_release());
    assert_readable(&paused_leader());
    for (nodes, messages) in [(2, 5), (3, 25), (4, 60), (5, 110), (9, 200), (9, 5_000)] {
        assert_readable(&crowd(nodes, messages));
    }
}

#[test]
fn the_picture_of_a_delayed_release() {
    let svg = draw(&delayed_release());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/timeline/svg/tests/release.svg");
    if std::env::var_os("TENURE_BLESS").is_some() {
        std::fs::write(&path, &svg).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(svg == known, "not {}: look at it, then TENURE_BLESS=1 rewrites it", path.display());
}

/// `TENURE_PICTURES=DIR` has the examples drawn into files, for eyes.
#[test]
fn the_same_timeline_gives_the_same_bytes() {
    for (name, make) in [
        ("release", delayed_release as fn() -> Timeline),
        ("paused", paused_leader),
        ("crowd60", || crowd(4, 60)),
        ("crowd200", || crowd(9, 200)),
        ("crowd5000", || crowd(9, 5_000)),
        ("empty", Timeline::default),
    ] {
        let svg = draw(&make());
        assert!(svg == draw(&make()), "{name}");
        if let Some(folder) = std::env::var_os("TENURE_PICTURES") {
            let file = PathBuf::from(folder).join(format!("{name}.svg"));
            std::fs::write(file, svg).unwrap();
        }
    }
}

#[test]
fn the_violated_moment_is_one_red_line_through_every_lane() {
    let svg = draw(&delayed_release());
    let document = Document::parse(&svg).unwrap();
    let attribute =
        |node: &Node<'_, '_>, name: &str| -> f64 { node.attribute(name).unwrap().parse().unwrap() };
    let is_red = |node: &Node<'_, '_>| {
        node.has_tag_name("line") && node.attribute("stroke") == Some(paint::RED)
    };
    let red: Vec<_> = document.descendants().filter(is_red).collect();
    assert_eq!(red.len(), 1);
    assert_eq!(attribute(&red[0], "x1"), attribute(&red[0], "x2"));
    let (top, bottom) = (attribute(&red[0], "y1"), attribute(&red[0], "y2"));
    for name in ["a", "b", "c", "p", "r"] {
        let all = texts(&document);
        let (_, at) = all.iter().find(|(text, _)| text == name).expect(name);
        assert!(top < at.y && at.bottom() < bottom, "{name}");
    }
    assert!(has_text(&document, "violated at 12.17295 s"));
    let conflict =
        |node: &Node<'_, '_>| node.text().is_some_and(|t| t.starts_with("two claims at"));
    assert!(document.descendants().any(|node| node.has_tag_name("title") && conflict(&node)));
}

#[test]
fn a_claim_and_its_grants_share_a_colour_and_two_holders_do_not() {
    let svg = draw(&delayed_release());
    let document = Document::parse(&svg).unwrap();
    let fill = |start: &str, holder: &str| -> Vec<String> {
        let titles = document.descendants().filter(|node| node.has_tag_name("title"));
        let of = titles.filter(|node| {
            let text = node.text().unwrap_or_default();
            text.starts_with(start) && text.contains(&format!("holder {holder}\n"))
        });
        let bars = of.filter_map(|title| {
            let mut rects = title.parent()?.children().filter(|node| node.has_tag_name("rect"));
            Some(rects.next_back()?.attribute("fill")?.to_owned())
        });
        let mut fills: Vec<String> = bars.filter(|fill| fill != "#f3f5f8").collect();
        fills.dedup();
        fills
    };
    for (i, holder) in ["p#1", "r#1"].into_iter().enumerate() {
        assert_eq!(fill("leads", holder), [paint::COLOURS[i]], "{holder}");
        assert_eq!(fill("grant", holder), [paint::COLOURS[i]], "{holder}");
    }
}

#[test]
fn a_wait_that_is_cut_out_says_how_long_it_was() {
    let document = draw(&delayed_release());
    let document = Document::parse(&document).unwrap();
    assert!(has_text(&document, "4.97 s cut"));
    assert!(has_text(&document, "a wait, cut out"));
    let even = Timeline {
        marks: (0..6).map(|i| mark(0, i * 1_000_000, false, "tick")).collect(),
        lanes: delayed_release().lanes,
        ..Timeline::default()
    };
    let even = draw(&even);
    assert!(!has_text(&Document::parse(&even).unwrap(), "cut"));
}

#[test]
fn nothing_in_a_text_breaks_out() {
    let nasty = "</text><script>alert('&')</script>\"\u{0}\u{1b}\u{ffff}\u{85} → 漢字";
    let timeline = Timeline {
        title: nasty.into(),
        lanes: vec![
            Lane { name: nasty.into(), role: nasty.into(), clock: nasty.into() },
            Lane { name: "b".into(), role: String::new(), clock: String::new() },
        ],
        spans: [SpanKind::Claim, SpanKind::Grant, SpanKind::Paused]
            .map(|kind| Span {
                label: nasty.into(),
                election: Some(nasty.into()),
                ..span(0, kind, nasty, (0, 5_000))
            })
            .into(),
        arrows: vec![arrow(0, 1, 100, Some(50), nasty), arrow(1, 0, 300, None, nasty)],
        marks: vec![mark(0, 7, true, nasty), mark(1, 9, false, nasty)],
        violation: Some((4_000, nasty.repeat(40))),
    };
    let svg = draw(&timeline);
    let document = Document::parse(&svg).expect("well-formed");
    assert!(!document.descendants().any(|node| node.has_tag_name("script")));
    assert!(has_text(&document, "<script>"), "it is still shown, as text");
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn the_ends_of_what_can_be_given_are_drawn_too() {
    let lanes = delayed_release().lanes;
    let ends = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let mut spans = Vec::new();
    let mut arrows = Vec::new();
    for from in ends {
        for until in ends {
            spans.push(span(0, SpanKind::Claim, &format!("h{from}"), (from, until)));
            spans.push(span(1, SpanKind::Down, "", (from, until)));
            arrows.push(Arrow { arrived: Some(until), ..arrow(0, 4, from, None, "far") });
        }
        arrows.push(arrow(2, 2, from, None, "itself"));
    }
    let marks: Vec<Mark> = ends.map(|at| mark(3, at, true, "fault")).into();
    let all = Timeline {
        lanes: lanes.clone(),
        spans,
        arrows,
        marks,
        violation: Some((u64::MAX, "the end".into())),
        ..Timeline::default()
    };
    let instant = |at: u64| Timeline {
        lanes: lanes.clone(),
        marks: vec![mark(0, at, false, "once")],
        violation: Some((at, String::new())),
        ..Timeline::default()
    };
    let only_lanes = Timeline { lanes: lanes.clone(), ..Timeline::default() };
    let no_lanes = Timeline { lanes: Vec::new(), ..delayed_release() };
    for timeline in
        [Timeline::default(), only_lanes, no_lanes, instant(0), instant(5), instant(u64::MAX), all]
    {
        let svg = draw(&timeline);
        Document::parse(&svg).expect("well-formed");
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
    }
}

#[test]
fn what_is_left_out_is_said() {
    let svg = draw(&crowd(9, 5_000));
    let document = Document::parse(&svg).unwrap();
    assert!(has_text(&document, "240 of 5000 messages are drawn"));
    assert!(svg.len() < 1_000_000, "{}", svg.len());
    let mut timeline = delayed_release();
    timeline.arrows.push(arrow(0, 77, 0, None, "to nobody"));
    let svg = draw(&timeline);
    let document = Document::parse(&svg).unwrap();
    assert!(has_text(&document, "1 not drawn: of a lane that is not in the timeline"));
}
