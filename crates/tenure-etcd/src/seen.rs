//! What the core tells, in the words of the handles.

use std::sync::Arc;

use tenure::{LeaderView, Loss, View};
use tenure_core::ElectionName;
use tenure_core::etcd::{self, Bytes, End, Lost};

/// What names the owner of a key: what comes after the election's name, which is the id of its
/// lease.
pub(crate) fn id(namespace: &str, election: &ElectionName, key: &Bytes) -> Arc<str> {
    let prefix = format!("{namespace}{election}/");
    let own = key.as_slice().strip_prefix(prefix.as_bytes());
    own.unwrap_or(key.as_slice()).escape_ascii().to_string().into()
}

pub(crate) fn view(namespace: &str, election: &ElectionName, view: etcd::View) -> View {
    match view {
        etcd::View::Leader { key, value, fence } => View::Leader(LeaderView {
            id: id(namespace, election, &key),
            value: value.as_slice().into(),
            fence,
            until: None,
            incarnation: None,
            address: None,
            leaving: None,
        }),
        etcd::View::Vacant => View::Vacant,
        etcd::View::Unknown { since } => View::Unknown { since },
    }
}

/// What an end means for the handle: a loss, or why it can never be won.
pub(crate) fn end(end: &End) -> Result<Loss, String> {
    match end {
        End::Lost(Lost::Expired) => Ok(Loss::Expired),
        End::Lost(Lost::LeaseGone | Lost::KeyGone) => Ok(Loss::Revoked),
        End::Lost(Lost::History | Lost::Cluster) => Ok(Loss::Reset),
        End::Resigned | End::Withdrawn => Ok(Loss::Resigned),
        End::Refused(_)
        | End::Nested { .. }
        | End::EndsInSlash
        | End::Full { .. }
        | End::RevisionTooHigh { .. } => Err(end.to_string()),
    }
}

/// Whether there never was a candidate, so that nothing will be released.
pub(crate) const fn is_objection(end: &End) -> bool {
    matches!(end, End::Nested { .. } | End::EndsInSlash | End::Full { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_is_called_by_its_lease() {
        let election = "shop/billing".parse().unwrap();
        assert_eq!(&*id("app/", &election, &"app/shop/billing/694d0a".into()), "694d0a");
        assert_eq!(&*id("", &election, &"elsewhere/1".into()), "elsewhere/1");
        assert_eq!(&*id("", &election, &Bytes::new(b"shop/billing/\xff")), "\\xff");
    }
}
