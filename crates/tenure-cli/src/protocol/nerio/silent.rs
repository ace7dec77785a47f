//! The addresses of silent members, for lines that name these members: so an operator notices a
//! wrong address.

use tenure_core::nerio::{FoundingTrouble, Member};
use tenure_core::{NodeName, Waiting};
use tenure_nerio::{Notice, OwnEvent};

/// The end of a line about silent members: where this process asks each of them, by its list of
/// members. Empty if the list has none of them.
pub(super) fn asked_at<'a>(members: &[Member], silent: impl Iterator<Item = &'a str>) -> String {
    let place = |name: &str| {
        let member = members.iter().find(|member| member.name.as_str() == name)?;
        Some(format!("{name} at {}", member.address))
    };
    let places: Vec<_> = silent.filter_map(place).collect();
    match &places[..] {
        [] => String::new(),
        places => format!("; this process asks {}", places.join(", ")),
    }
}

/// The end of a line about the silent members of a waiting reason. Empty while a candidate gives up
/// its lease: its members have answered before, so their addresses are right.
pub(super) fn of_waiting(members: &[Member], waiting: &Waiting) -> String {
    match waiting {
        Waiting::NoQuorum { missing }
        | Waiting::OldLeases { missing, .. }
        | Waiting::Fences { missing, .. }
        | Waiting::Refused { missing, .. } => asked_at(members, missing.iter().map(AsRef::as_ref)),
        _ => String::new(),
    }
}

/// The end of a line about the silent members of a notice.
pub(super) fn of_notice(members: &[Member], notice: &Notice) -> String {
    let Notice::Protocol { event, .. } = notice else { return String::new() };
    match event {
        OwnEvent::RecoveryWaits { silent, .. }
        | OwnEvent::JoinWaits { silent, .. }
        | OwnEvent::NoSpare { silent, .. }
        | OwnEvent::Founding(FoundingTrouble::Waits { silent }) => {
            asked_at(members, silent.iter().map(NodeName::as_str))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_members_have_their_addresses() {
        let members = tenure_core::nerio::members("a=10.0.0.1:7101,b=db-2:7101").unwrap();
        let told = |missing: &[&str]| {
            let missing = missing.iter().map(|name| (*name).into()).collect();
            of_waiting(&members, &Waiting::NoQuorum { missing })
        };
        assert_eq!(told(&["a", "b"]), "; this process asks a at 10.0.0.1:7101, b at db-2:7101");
        // z may be a member of a later epoch, so the list of this process lacks it.
        assert_eq!(told(&["z"]), "");
        let silent = vec!["b".parse().unwrap()];
        let event = OwnEvent::JoinWaits { epoch: 1, silent };
        let told = of_notice(&members, &Notice::Protocol { election: None, event });
        assert_eq!(told, "; this process asks b at db-2:7101");
    }
}
