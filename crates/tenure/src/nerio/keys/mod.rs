//! Keys: one of a cluster, held by its members only, and those of applications made from it.
//!
//! A key is a line of text, so that it can be kept in a file or a variable:
//!
//! ```text
//! tenure-cluster-key-1 CLUSTER SECRET
//! tenure-application-key-1 CLUSTER APPLICATION ELECTIONS SECRET MEMBERS
//! ```
//!
//! SECRET and MEMBERS are 64 hexadecimal digits. MEMBERS is public: with it an application seals
//! what only members can open, and knows that an answer is a member's. Two lines are two keys, the
//! first of which is used and both of which are accepted, while one takes the place of the other.

mod derive;
mod elections;
mod line;

use std::fmt;
use std::sync::Arc;

use tenure_core::{ClusterName, ElectionName, NodeName};
use x25519_dalek::{PublicKey, StaticSecret};

pub(super) use self::derive::{Secret, expand, extract};
pub use self::elections::{Elections, ElectionsError};
pub use self::line::KeyError;
use crate::error::SystemError;

/// How many keys a node has at most: the one it uses, and one that it accepts beside it.
pub const KEYS_MAX: usize = 2;

/// The key of a cluster. Whoever holds it is a member to all others.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey {
    cluster: ClusterName,
    secret: Secret,
    /// The public half of what follows from it: see [`private`](Self::private).
    public: [u8; 32],
    id: KeyId,
}

/// What an application may do, and under which name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Grant {
    /// Its name.
    pub application: NodeName,
    /// The elections in which it may contend, and of which it may ask.
    pub elections: Elections,
}

/// The key of an application: it contends in its elections and asks about them, and no more.
#[derive(Clone, PartialEq, Eq)]
pub struct ApplicationKey {
    cluster: ClusterName,
    grant: Arc<Grant>,
    secret: Secret,
    members: [u8; 32],
    id: KeyId,
}

/// The keys of one node: one or two, of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Of a member.
    #[non_exhaustive]
    Cluster(Vec<ClusterKey>),
    /// Of a process of an application.
    #[non_exhaustive]
    Application(Vec<ApplicationKey>),
}

/// By which a key is told apart from others in logs and in what travels: nothing follows from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub(super) [u8; 4]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl ClusterKey {
    /// A new one, at random.
    pub fn generate(cluster: ClusterName) -> Result<Self, SystemError> {
        let [low, high] = [crate::driver::random()?, crate::driver::random()?];
        let mut secret = [0; 32];
        secret[..16].copy_from_slice(&low.to_le_bytes());
        secret[16..].copy_from_slice(&high.to_le_bytes());
        Ok(Self::of(cluster, Secret(secret)))
    }

    fn of(cluster: ClusterName, secret: Secret) -> Self {
        let public = PublicKey::from(&private(&secret)).to_bytes();
        let id = derive::id(&public);
        Self { cluster, secret, public, id }
    }

    /// Whose it is.
    #[must_use]
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// What tells it apart.
    #[must_use]
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// The key of `application` for `elections`: the same whenever it is made.
    #[must_use]
    pub fn issue(&self, application: NodeName, elections: Elections) -> ApplicationKey {
        let grant = Arc::new(Grant { application, elections });
        let secret = self.of_application(&grant);
        let (cluster, members, id) = (self.cluster.clone(), self.public, self.id);
        ApplicationKey { cluster, grant, secret, members, id }
    }

    /// The secret of the application with this grant.
    pub(super) fn of_application(&self, grant: &Grant) -> Secret {
        let name = grant.application.as_str().as_bytes();
        expand(&self.secret, "application", &[name, b"\0", grant.elections.as_str().as_bytes()])
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// What members open with that applications have sealed.
    pub(super) fn private(&self) -> StaticSecret {
        private(&self.secret)
    }
}

fn private(secret: &Secret) -> StaticSecret {
    StaticSecret::from(expand(secret, "members", &[]).0)
}

impl ApplicationKey {
    /// Which cluster it is of.
    #[must_use]
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// What it allows.
    #[must_use]
    pub fn grant(&self) -> &Arc<Grant> {
        &self.grant
    }

    /// What tells the key of its cluster apart.
    #[must_use]
    pub const fn id(&self) -> KeyId {
        self.id
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }

    pub(super) fn members(&self) -> PublicKey {
        PublicKey::from(self.members)
    }
}

impl Keys {
    /// Reads one key, or two: each on a line of its own. Empty lines and those that begin with `#`
    /// are left out.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        line::parse(text)
    }

    /// Which cluster they are of.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterName> {
        match self {
            Self::Cluster(keys) => keys.first().map(ClusterKey::cluster),
            Self::Application(keys) => keys.first().map(ApplicationKey::cluster),
        }
    }

    /// What tells them apart, the one that is used first.
    #[must_use]
    pub fn ids(&self) -> Vec<KeyId> {
        match self {
            Self::Cluster(keys) => keys.iter().map(ClusterKey::id).collect(),
            Self::Application(keys) => keys.iter().map(ApplicationKey::id).collect(),
        }
    }

    /// Whether they are a member's.
    #[must_use]
    pub const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Which application they are of; `None` if they are a member's.
    #[must_use]
    pub fn application(&self) -> Option<&Grant> {
        match self {
            Self::Cluster(_) => None,
            Self::Application(keys) => keys.first().map(|key| &**key.grant()),
        }
    }

    /// Whether `later` may take the place of these in a process that runs.
    pub(super) fn may_become(&self, later: &Self) -> bool {
        let name = |keys: &Self| keys.application().map(|grant| grant.application.clone());
        self.cluster() == later.cluster() && name(self) == name(later)
    }

    /// The key of `application` for `elections`, from the first of them; `None` if they are an
    /// application's.
    #[must_use]
    pub fn issue(&self, application: NodeName, elections: Elections) -> Option<ApplicationKey> {
        match self {
            Self::Cluster(keys) => keys.first().map(|key| key.issue(application, elections)),
            Self::Application(_) => None,
        }
    }

    /// Whether they allow to contend in `election`, and to ask about it.
    #[must_use]
    pub fn allow(&self, election: &ElectionName) -> bool {
        self.application().is_none_or(|grant| grant.elections.cover(election))
    }

    /// Whether they allow to ask which elections there are.
    #[must_use]
    pub fn allow_all(&self) -> bool {
        self.application().is_none_or(|grant| grant.elections.cover_all())
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.application, self.elections)
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterKey({} {})", self.cluster, self.id())
    }
}

impl fmt::Debug for ApplicationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Grant { application, elections } = &*self.grant;
        write!(f, "ApplicationKey({} {application} {elections} {})", self.cluster, self.id())
    }
}

impl From<ClusterKey> for Keys {
    fn from(key: ClusterKey) -> Self {
        Self::Cluster(vec![key])
    }
}

impl From<ApplicationKey> for Keys {
    fn from(key: ApplicationKey) -> Self {
        Self::Application(vec![key])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> ClusterKey {
        ClusterKey::of("prod".parse().unwrap(), Secret([7; 32]))
    }

    fn issue(key: &ClusterKey, application: &str, elections: &str) -> ApplicationKey {
        key.issue(application.parse().unwrap(), elections.parse().unwrap())
    }

    #[test]
    fn keys_of_applications_differ_by_what_they_allow() {
        let billing = issue(&cluster(), "billing", "billing/*");
        assert_eq!(billing, issue(&cluster(), "billing", "billing/*"), "the same when made again");
        for (application, elections) in
            [("billing", "billing/*,x"), ("billin", "gbilling/*"), ("other", "billing/*")]
        {
            let other = issue(&cluster(), application, elections);
            assert!(other.secret != billing.secret, "{application} {elections}");
            assert_eq!(other.members, billing.members);
        }
    }

    #[test]
    fn a_key_is_known_by_its_cluster_key_and_two_clusters_differ() {
        assert_eq!(issue(&cluster(), "a", "*").id(), cluster().id());
        let random = || ClusterKey::generate("prod".parse().unwrap()).unwrap();
        assert_ne!(random().id(), random().id());
    }

    #[test]
    fn what_is_shown_of_a_key_is_not_the_key() {
        let shown = format!("{:?} {:?}", cluster(), issue(&cluster(), "billing", "billing/*"));
        assert!(!shown.contains("07070707"), "{shown}");
        assert!(!shown.contains(&line::hex(&issue(&cluster(), "billing", "billing/*").secret.0)));
    }

    #[test]
    fn a_key_allows_its_elections() {
        let keys = Keys::Application(vec![issue(&cluster(), "billing", "billing/*,audit")]);
        let allowed = |name: &str| keys.allow(&name.parse().unwrap());
        assert!(allowed("billing/eu") && allowed("audit"));
        assert!(!allowed("billing") && !allowed("auditor") && !keys.allow_all());
        let keys = Keys::Cluster(vec![cluster()]);
        assert!(keys.allow(&"anything".parse().unwrap()) && keys.allow_all());
    }
}
