//! The waiting reason of a campaign as JSON.

use std::sync::Arc;

use crate::output::millis;
use serde_json::{Value, json};
use tenure::{Obstacle, Time, Waiting};

/// An object: `waiting` names the kind, `text` says all, and the other fields depend on the kind.
pub(super) fn object(waiting: &Waiting, now: Time) -> Value {
    let mut object = json!({
        "waiting": waiting.label(),
        "text": waiting.told(now).to_string(),
    });
    match waiting {
        Waiting::Connecting { obstacles } => object["obstacles"] = places(obstacles),
        Waiting::NoQuorum { missing } => object["missing"] = names(missing),
        Waiting::OldLeases { at, until, missing } => {
            object["at"] = names(at);
            object["remaining_ms"] = millis(until.since(now)).into();
            object["missing"] = names(missing);
        }
        Waiting::Fences { at, known: _, missing } => {
            object["at"] = names(at);
            object["missing"] = names(missing);
        }
        Waiting::Behind { who, leading } => {
            object["behind"] = who.as_ref().into();
            object["leading"] = (*leading).into();
        }
        Waiting::Foreign { key, why } => {
            object["behind"] = key.as_ref().into();
            object["why"] = why.as_ref().into();
        }
        Waiting::Refused { obstacles, missing } => {
            object["obstacles"] = places(obstacles);
            object["missing"] = names(missing);
        }
        Waiting::Promised { who, until } => {
            object["behind"] = who.as_ref().into();
            object["remaining_ms"] = millis(until.since(now)).into();
        }
        Waiting::GivingUp { missing, until } => {
            object["remaining_ms"] = millis(until.since(now)).into();
            object["missing"] = names(missing);
        }
        Waiting::Listening { until } => {
            object["remaining_ms"] = millis(until.since(now)).into();
        }
        Waiting::NameInUse { by, other } => {
            object["by"] = names(by);
            object["other"] = other.to_string().into();
        }
        // A later version of the library may have other kinds; `text` says all.
        _ => {}
    }
    object
}

fn names(names: &[Arc<str>]) -> Value {
    names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().into()
}

fn places(obstacles: &[Obstacle]) -> Value {
    let place = |place: &Obstacle| {
        let by = place.by.as_ref();
        let why = place.why.as_ref();
        json!({"by": by, "label": place.label, "why": why})
    };
    obstacles.iter().map(place).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_get_the_same() {
        let now = Time::from_nanos(1_000_000_000);
        let until = Time::from_nanos(3_400_000_000);
        let waiting = Waiting::OldLeases { at: vec!["b".into()], until, missing: vec!["c".into()] };
        assert_eq!(
            object(&waiting, now),
            json!({
                "waiting": "old-leases",
                "text": "old leases may still run: b grants nothing for 2.4s more; no answer from \
                         c",
                "at": ["b"],
                "remaining_ms": 2400,
                "missing": ["c"],
            })
        );
        let disk = Obstacle::new("a", "disk", "full");
        let waiting = Waiting::Refused { obstacles: vec![disk], missing: Vec::new() };
        assert_eq!(
            object(&waiting, now)["obstacles"],
            json!([{"by": "a", "label": "disk", "why": "full"}])
        );
    }
}
