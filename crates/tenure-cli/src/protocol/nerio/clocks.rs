//! The clocks of members compared with the clock of this process, for the status.

use serde_json::{Value, json};
use tenure_core::nerio::{Apart, MemberClock, Rate};
use tenure_nerio::{Clocks, Node};

use crate::control::Answer;
use crate::output::millis;

/// The clocks as an object, whose `text` is for people; `None` if there is nothing to say.
pub(super) async fn of(node: &Node) -> Option<Value> {
    shown(&node.clocks().await?, node.config().drift)
}

/// A node that takes its own clock to be wrong reports this even without comparisons. After a
/// change of members, the node may have no comparison with the present members.
fn shown(clocks: &Clocks, drift: tenure_core::Drift) -> Option<Value> {
    (clocks.is_wrong || !clocks.members.is_empty()).then(|| object(clocks, drift))
}

/// Makes the node compare all clocks anew.
pub(super) async fn clear(node: &Node) -> Answer {
    match node.clear_breach().await {
        Some(was_wrong) => {
            let text = match was_wrong {
                true => "compares all clocks anew, and leads and grants again",
                false => "compares all clocks anew; it had not taken its own clock to be wrong",
            };
            Answer::Done(json!({"cleared": was_wrong, "text": text}))
        }
        None => Answer::Refused {
            what: "the node has been closed".to_owned(),
            fix: "start it again: each start compares all clocks anew".to_owned(),
        },
    }
}

fn object(clocks: &Clocks, drift: tenure_core::Drift) -> Value {
    let allowed = ppm(i64::try_from(drift.apart_max()).unwrap_or(i64::MAX));
    let members: Vec<_> = clocks.members.iter().map(member).collect();
    let own = clocks.is_wrong.then(|| "this process takes its own clock to be wrong".to_owned());
    let told: Vec<_> = clocks.members.iter().map(told).collect();
    let told = (!told.is_empty()).then(|| told.join(", "));
    let bound = format!("drift {drift} allows ±{allowed:.0} ppm");
    let text: Vec<_> = own.into_iter().chain(told).chain([bound]).collect();
    let text = text.join("; ");
    json!({
        "text": text,
        "wrong": clocks.is_wrong,
        "allowed_ppm": allowed,
        "members": members,
    })
}

fn member(clock: &MemberClock) -> Value {
    let rate = clock.rate.as_ref();
    json!({
        "name": clock.member.as_str(),
        "ppm": rate.map(|rate| middle(rate).0),
        "margin_ppm": rate.map(|rate| middle(rate).1),
        "over_ms": rate.map(|rate| millis(rate.over)),
        "apart": clock.apart.first().map(direction),
    })
}

fn told(clock: &MemberClock) -> String {
    let name = &clock.member;
    let apart = clock.apart.first().map(direction);
    let apart = apart.map(|direction| format!(" ({direction} than drift allows)"));
    let apart = apart.unwrap_or_default();
    match &clock.rate {
        Some(rate) => {
            let (ppm, margin) = middle(rate);
            format!("{name} {ppm:+.1} ppm ±{margin:.1} in {:.0?}{apart}", rate.over)
        }
        None => format!("{name} not measured yet{apart}"),
    }
}

const fn direction(apart: &Apart) -> &'static str {
    if apart.is_faster { "faster" } else { "slower" }
}

/// The middle of the bounds, and the distance to each.
fn middle(Rate { low, high, .. }: &Rate) -> (f64, f64) {
    (ppm(low / 2 + high / 2), ppm((high / 2 - low / 2).abs()))
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn ppm(parts_per_billion: i64) -> f64 {
    parts_per_billion as f64 / 1_000.
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn status_has_rate_and_margin() {
        let rate = Rate { low: 11_000, high: 13_000, over: Duration::from_secs(3_600) };
        let apart = Apart { is_faster: true, theirs: Duration::ZERO, ours: Duration::ZERO };
        let clock =
            |name: &str, rate, apart| MemberClock { member: name.parse().unwrap(), rate, apart };
        let members = vec![clock("b", Some(rate), vec![]), clock("c", None, vec![apart])];
        let drift = "0.001".parse().unwrap();
        let told = object(&Clocks { members, is_wrong: true }, drift);
        assert_eq!(
            told["text"],
            "this process takes its own clock to be wrong; b +12.0 ppm ±1.0 in 3600s, c not \
             measured yet (faster than drift allows); drift 0.001 allows ±2002 ppm"
        );
        assert_eq!(told["members"][0]["margin_ppm"], 1.0);
        assert_eq!(
            (&told["members"][1]["apart"], &told["wrong"]),
            (&json!("faster"), &json!(true))
        );
    }

    #[test]
    fn wrong_clock_shows_without_comparisons() {
        let drift = "0.001".parse().unwrap();
        let told = shown(&Clocks { members: vec![], is_wrong: true }, drift).unwrap();
        let text = "this process takes its own clock to be wrong; drift 0.001 allows ±2002 ppm";
        assert_eq!((&told["text"], &told["wrong"]), (&json!(text), &json!(true)));
        assert_eq!(shown(&Clocks { members: vec![], is_wrong: false }, drift), None);
    }
}
