//! `tenure node status --remote`: asks the members over the network for their state.

use serde_json::{Value, json};

use crate::commands::members::objects;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::invocation::nerio::node::HealthSettings;
use crate::output::{self, millis};
use crate::protocol::nerio::health::{self, Health, MemberHealth};
use crate::settings::Context;

pub(in crate::commands) async fn run(
    settings: HealthSettings,
    context: Context,
) -> Result<Exit, Failure> {
    let HealthSettings { cluster, name } = settings;
    let mut seen = health::ask(&cluster, &context.origins).await?;
    if let Some(name) = name {
        seen.members.retain(|one| one.member.name == name);
        seen.failure = seen.members.first().and_then(silent);
    }
    let text = if context.json {
        format!("{}\n", object(&seen))
    } else {
        seen.members.iter().map(|one| line(one, &seen)).collect()
    };
    output::print(&text)?;
    for MemberHealth { member, fix, .. } in &seen.members {
        let warning = fix.iter().map(|fix| format!("{} {}: {fix}", member.name, member.text));
        warning.for_each(|warning| failure::warn(&warning));
    }
    seen.failure.map_or(Ok(Exit::Done), Err)
}

fn silent(one: &MemberHealth) -> Option<Failure> {
    let member = &one.member;
    let is_silent = one.longest.is_none() && member.state != "serving";
    is_silent.then(|| {
        let what = format!("{} at {} {}", member.name, member.address, member.text);
        let fix = match member.state {
            "outside" => "give the name of a member: tenure members lists them".to_owned(),
            _ => format!(
                "start {}, or check the network to it; on its machine tenure node status says more",
                member.name
            ),
        };
        Failure::new(Exit::Unreachable, what, fix)
    })
}

fn object(seen: &Health) -> Value {
    let member = |one: &MemberHealth| {
        let mut told = objects(std::slice::from_ref(&one.member)).pop().unwrap_or_default();
        told["lease_max_ms"] = one.longest.map(millis).into();
        told["granted"] = one.granted.into();
        told["fix"] = one.fix.as_deref().into();
        if let Some(raising) = one.raising {
            told["raising"] = json!({
                "before_ms": millis(raising.before),
                "remaining_ms": millis(raising.remaining),
            });
        }
        told
    };
    json!({
        "members": seen.members.iter().map(member).collect::<Vec<_>>(),
        "age_ms": millis(seen.at.since(seen.asked)),
        "quorum": seen.quorum,
    })
}

fn line(one: &MemberHealth, seen: &Health) -> String {
    let MemberHealth { member, longest, raising, granted, fix: _ } = one;
    let mut parts = vec![format!("{} at {} {}", member.name, member.address, member.text)];
    match (raising, longest) {
        (Some(raising), Some(longest)) => parts.push(format!(
            "grants leases up to {:?}, and up to {longest:?} in {:.1?}",
            raising.before, raising.remaining
        )),
        (None, Some(longest)) => parts.push(format!("grants leases up to {longest:?}")),
        (_, None) => {}
    }
    match granted {
        Some(1) => parts.push("has granted leases in 1 election".to_owned()),
        Some(count) => parts.push(format!("has granted leases in {count} elections")),
        None => {}
    }
    let age = seen.at.since(seen.asked);
    format!("{}; asked {age:.1?} ago\n", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure::Time;
    use tenure_core::nerio::Raising;

    use super::*;
    use crate::protocol::Member;

    #[test]
    fn each_member_has_a_line() {
        let one = |name: &str, state, text: &str, longest: Option<u64>| MemberHealth {
            member: Member {
                name: name.parse().unwrap(),
                address: "10.0.0.1:7101".into(),
                state,
                text: text.into(),
                cure: None,
            },
            longest: longest.map(Duration::from_secs),
            raising: None,
            granted: longest.map(|_| 1),
            fix: None,
        };
        let mut raised = one("b", "serving", "serves", Some(60));
        let before = Duration::from_secs(10);
        let remaining = Duration::from_millis(2_500);
        raised.raising = Some(Raising { before, remaining });
        let members = vec![
            one("a", "serving", "serves", Some(10)),
            raised,
            one("c", "silent", "does not answer", None),
        ];
        let asked = Time::ZERO;
        let at = Time::ZERO.after(Duration::from_millis(300));
        let seen = Health { members, asked, at, quorum: true, failure: None };
        let lines: String = seen.members.iter().map(|one| line(one, &seen)).collect();
        assert_eq!(
            lines,
            "a at 10.0.0.1:7101 serves; grants leases up to 10s; has granted leases in 1 election; \
             asked 300.0ms ago\n\
             b at 10.0.0.1:7101 serves; grants leases up to 10s, and up to 60s in 2.5s; has \
             granted leases in 1 election; asked 300.0ms ago\n\
             c at 10.0.0.1:7101 does not answer; asked 300.0ms ago\n"
        );
        let told = object(&seen);
        assert_eq!((&told["age_ms"], &told["quorum"]), (&300.into(), &true.into()));
        assert_eq!(told["members"][1]["raising"]["remaining_ms"], 2_500);
        assert_eq!(told["members"][2]["lease_max_ms"], Value::Null);
        let failed: Vec<_> = seen.members.iter().map(|one| silent(one).is_some()).collect();
        assert_eq!(failed, [false, false, true]);
    }
}
