//! `tenure resign --remote` and `tenure transfer --remote`: the members pass the order on to the
//! leader.

use serde_json::json;
use tenure::clock;

use crate::commands::observe::tenths;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::nerio::order::OrderSettings;
use crate::output::{self, millis};
use crate::protocol::nerio::orders::{EndedLeadership, Wish, end};
use crate::settings::Context;

pub(in crate::commands) async fn run(
    settings: OrderSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let OrderSettings { grantors, wish } = settings;
    let ended = end(&grantors, &wish, &context.origins).await?;
    let (text, exit) = said(&wish, &ended);
    let text = format!("{text}; asked {} ago", tenths(clock::now().since(ended.asked)));
    let text = if context.json { object(&wish, &ended).to_string() } else { text };
    output::print(&format!("{text}\n"))?;
    Ok(exit)
}

/// The object has the field names of a runner's answer.
fn object(wish: &Wish, ended: &EndedLeadership) -> serde_json::Value {
    let (leader, fence) = ended.leader.clone().unzip();
    let seen = leader.is_some() && (wish.to.is_none() || leader == wish.to);
    json!({
        "election": wish.election.as_str(),
        "id": ended.id.as_str(),
        "ended": (!ended.unchanged).then_some(ended.fence),
        "unchanged": ended.unchanged,
        "seen": seen,
        "leader": leader.map(|leader| leader.to_string()),
        "fence": fence,
        "held_ms": ended.held.map(millis),
        "age_ms": millis(clock::now().since(ended.asked)),
    })
}

fn said(wish: &Wish, ended: &EndedLeadership) -> (String, Exit) {
    let EndedLeadership { id, fence, .. } = ended;
    let election = &wish.election;
    if ended.unchanged {
        return (format!("{id} leads already ({election}), fence {fence}"), Exit::Done);
    }
    let now = match &ended.leader {
        Some((leader, fence)) => format!("{leader} leads now, fence {fence}"),
        None => "no leader has been seen since".to_owned(),
    };
    let over = format!("{id} no longer leads {election} (fence {fence})");
    match (&wish.to, &ended.leader, ended.held) {
        (_, _, Some(held)) => {
            let next = wish.to.as_ref().map_or("another one", |to| to.as_str());
            (
                format!("{over}; {next} can lead in {held:.1?}, when the promise of {id} ends"),
                Exit::Done,
            )
        }
        (Some(to), Some((leader, _)), _) if leader != to => {
            (format!("{over}; {now}, and {to} was not seen to lead"), Exit::Wrong)
        }
        (Some(_), None, _) if wish.wait.is_some() => (format!("{over}; {now}"), Exit::Unknown),
        _ => (format!("{over}; {now}"), Exit::Done),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn result_has_text_and_exit_code() {
        let wish = |to: Option<&str>, wait: Option<u64>| Wish {
            election: "billing".parse().unwrap(),
            to: to.map(|to| to.parse().unwrap()),
            wait: wait.map(Duration::from_secs),
            timeout: Duration::from_secs(90),
        };
        let ended = |leader: Option<(&str, u64)>, held: Option<u64>| EndedLeadership {
            id: "web".parse().unwrap(),
            fence: 7,
            unchanged: false,
            held: held.map(Duration::from_millis),
            leader: leader.map(|(leader, fence)| (leader.parse().unwrap(), fence)),
            asked: clock::now(),
        };
        let over = "web no longer leads billing (fence 7)";
        let cases = [
            (wish(None, None), ended(Some(("a", 8)), None), "; a leads now, fence 8", Exit::Done),
            (
                wish(Some("b"), Some(1)),
                ended(Some(("a", 8)), None),
                "; a leads now, fence 8, and b was not seen to lead",
                Exit::Wrong,
            ),
            (
                wish(Some("b"), Some(1)),
                ended(None, None),
                "; no leader has been seen since",
                Exit::Unknown,
            ),
            (
                wish(Some("b"), None),
                ended(None, Some(1_500)),
                "; b can lead in 1.5s, when the promise of web ends",
                Exit::Done,
            ),
        ];
        for (wish, ended, text, exit) in cases {
            assert_eq!(said(&wish, &ended), (format!("{over}{text}"), exit));
            assert_eq!(object(&wish, &ended)["ended"], 7);
        }
        let to = wish(Some("b"), None);
        let done = ended(Some(("b", 9)), None);
        // Whether b won by this hand-over is not known, and does not matter.
        assert_eq!(said(&to, &done), (format!("{over}; b leads now, fence 9"), Exit::Done));
        assert_eq!(object(&to, &done)["seen"], true);
        let unchanged = EndedLeadership { unchanged: true, ..done };
        assert_eq!(
            said(&to, &unchanged),
            ("web leads already (billing), fence 7".into(), Exit::Done)
        );
        assert!(object(&to, &unchanged)["ended"].is_null());
    }
}
