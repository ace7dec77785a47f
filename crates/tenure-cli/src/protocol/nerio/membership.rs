//! Warnings about the members of an epoch: none may stop, or the settings lack some.

use tenure::NodeName;
use tenure_core::nerio::{Member, MemberSet, Membership};

use crate::protocol::Advice;

/// A warning if the stop of a single member ends all elections.
pub(crate) fn fragile(membership: &Membership) -> Option<Advice> {
    let quorums = membership.quorums();
    let is_needed = |member: &usize| !quorums.is_possible(MemberSet::EMPTY.with(*member));
    let needed = membership.everyone().iter().filter(is_needed);
    let needed: Vec<_> = needed.map(|member| membership.name(member).as_str()).collect();
    let count = membership.names().len();
    let text = match &needed[..] {
        [] => return None,
        [only] if count == 1 => format!(
            "{only} is the only member: when it stops, nobody leads, and its state directory is \
             the only memory of the cluster"
        ),
        [only] => format!("each quorum needs {only}: when it stops, nobody leads"),
        _ => {
            format!("each quorum needs {}: when one of them stops, nobody leads", needed.join(", "))
        }
    };
    let fix = match count {
        1 | 2 => "add members (tenure members add NAME=HOST:PORT): of three, any one may stop",
        _ => "give --quorums with the next change of members, so that any one may stop",
    };
    Some(Advice { text, fix: fix.to_owned() })
}

/// A warning if `list`, that of the settings, lacks members.
pub(super) fn unlisted(list: &[Member], membership: &Membership) -> Option<Advice> {
    let lacks = |name: &&NodeName| list.iter().all(|member| member.name != **name);
    let (mut names, mut entries) = (Vec::new(), Vec::new());
    for name in membership.names().iter().filter(lacks) {
        let host = membership.seat(name).and_then(|seat| seat.hosts.first());
        names.push(name.as_str());
        entries.push(host.map_or_else(|| name.to_string(), |host| format!("{name}={host}")));
    }
    if names.is_empty() {
        return None;
    }
    let (epoch, names) = (membership.id().number, names.join(", "));
    let text = format!("the members list here lacks members of epoch {epoch}: {names}");
    let fix = format!("write into the lists of all machines: {}", entries.join(","));
    Some(Advice { text, fix })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::nerio::{Config, Quorums};

    use super::*;

    fn membership(members: &[Member]) -> Arc<Membership> {
        let config = Config::new("x".parse().unwrap(), members.to_vec());
        Arc::clone(config.check().unwrap().membership())
    }

    fn members(names: &[&str]) -> Vec<Member> {
        let member = |name: &&str| {
            let port = u16::from(name.as_bytes()[0]);
            Member::at(name.parse().unwrap(), ([127, 0, 0, 1], port).into())
        };
        names.iter().map(member).collect()
    }

    #[test]
    fn needed_members_are_named() {
        let told = |names: &[&str]| fragile(&membership(&members(names))).map(|advice| advice.text);
        let only = "a is the only member: when it stops, nobody leads, and its state directory is \
                    the only memory of the cluster";
        assert_eq!(told(&["a"]).as_deref(), Some(only));
        let both = "each quorum needs a, b: when one of them stops, nobody leads";
        assert_eq!(told(&["a", "b"]).as_deref(), Some(both));
        assert_eq!(told(&["a", "b", "c"]), None);
        let mut config = Config::new("x".parse().unwrap(), members(&["a", "b", "c"]));
        config.quorums = Quorums::weighted(&[2, 1, 1], None).unwrap();
        let advice = fragile(config.check().unwrap().membership()).unwrap();
        assert_eq!(advice.text, "each quorum needs a: when it stops, nobody leads");
        assert!(advice.fix.starts_with("give --quorums"), "{}", advice.fix);
    }

    #[test]
    fn missing_members_are_named() {
        let now = membership(&members(&["a", "b", "c"]));
        let Advice { text, fix } = unlisted(&members(&["b", "d"]), &now).unwrap();
        assert_eq!(text, "the members list here lacks members of epoch 0: a, c");
        assert_eq!(fix, "write into the lists of all machines: a=127.0.0.1:97,c=127.0.0.1:99");
        assert_eq!(unlisted(&members(&["d", "c", "b", "a"]), &now), None);
    }
}
