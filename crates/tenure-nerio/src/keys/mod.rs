//! Keys: the key of a cluster, which only its members hold, and keys of applications, which are
//! made from the cluster's key.
//!
//! A key is a line of text, so that it can be kept in a file or a variable:
//!
//! ```text
//! tenure-cluster-key-1 CLUSTER SECRET
//! tenure-application-key-1 CLUSTER APPLICATION ELECTIONS SECRET MEMBERS
//! tenure-application-key-2 CLUSTER APPLICATION ELECTIONS RIGHTS SECRET MEMBERS
//! ```
//!
//! Keys with other [`Rights`] than to contend and to ask have the last form, which earlier versions
//! do not read. The secret is derived from the rights, so that no holder can add a right. SECRET
//! and MEMBERS are 64 hexadecimal digits. MEMBERS is the public key of the members: an application
//! uses it to seal datagrams that only members can open, and to recognize answers of members. A
//! text has two lines while one key replaces another. The process then uses the first key and
//! accepts both.
//!
//! A line `accept-unsealed` beside the keys is for the time in which the processes of a cluster get
//! their keys one after the other: see [`Keys::accept_unsealed`].

mod derive;
mod elections;
mod rights;
mod text;

use std::fmt;
use std::sync::Arc;

use tenure::SystemError;
use tenure_core::{ClusterName, ElectionName, NodeName};
use x25519_dalek::{PublicKey, StaticSecret};

pub(super) use self::derive::{Secret, expand, extract};
pub use self::elections::{Elections, ElectionsError};
pub use self::rights::{Right, Rights, RightsError};
pub use self::text::KeyError;

/// The maximum number of keys of a node: the key that it uses, and another key that it accepts.
pub const KEYS_MAX: usize = 2;

/// The key of a cluster. For other nodes, every holder of this key is a member.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey {
    cluster: ClusterName,
    secret: Secret,
    /// Public half of the key pair of [`private`](Self::private).
    public: [u8; 32],
    id: KeyId,
}

/// Name, elections and rights of an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Grant {
    pub application: NodeName,
    pub elections: Elections,
    pub rights: Rights,
}

impl Grant {
    /// Whether the application may do this in `election`.
    #[must_use]
    pub fn allows(&self, right: Right, election: &ElectionName) -> bool {
        self.rights.allow(right) && self.elections.cover(election)
    }
}

/// The key of an application, which allows its rights in its elections, and no more.
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
pub struct Keys {
    held: HeldKeys,
    accept_unsealed: bool,
}

/// The keys. The first one is in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum HeldKeys {
    Cluster(Vec<ClusterKey>),
    Application(Vec<ApplicationKey>),
}

/// The id of a key in logs and datagrams, which reveals nothing about the secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub(super) [u8; 4]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl ClusterKey {
    /// Draws a new key at random.
    pub fn generate(cluster: ClusterName) -> Result<Self, SystemError> {
        let [low, high] = [tenure::driver::random()?, tenure::driver::random()?];
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

    /// The cluster of the key.
    #[must_use]
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// The id of the key.
    #[must_use]
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// The key of `application` for `elections`, to contend and to ask; the same for each call.
    #[must_use]
    pub fn issue(&self, application: NodeName, elections: Elections) -> ApplicationKey {
        self.key_of(Grant { application, elections, rights: Rights::USUAL })
    }

    /// The key of an application with this grant. Other rights than the usual ones take room in
    /// each hello, so the name and the elections must be shorter.
    pub fn issue_with(&self, grant: Grant) -> Result<ApplicationKey, ElectionsError> {
        elections::check_room(&grant)?;
        Ok(self.key_of(grant))
    }

    fn key_of(&self, grant: Grant) -> ApplicationKey {
        let grant = Arc::new(grant);
        let secret = self.of_application(&grant);
        let cluster = self.cluster.clone();
        let members = self.public;
        let id = self.id;
        ApplicationKey { cluster, grant, secret, members, id }
    }

    pub(super) fn of_application(&self, grant: &Grant) -> Secret {
        let name = grant.application.as_str();
        let elections = grant.elections.as_str();
        let parts = [name.as_bytes(), b"\0", elections.as_bytes()];
        match grant.rights {
            Rights::USUAL => expand(&self.secret, "application", &parts),
            rights => {
                let [name, zero, elections] = parts;
                let parts = [name, zero, elections, zero, &[rights.byte()]];
                expand(&self.secret, "application with rights", &parts)
            }
        }
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The private key with which members open datagrams of applications.
    pub(super) fn private(&self) -> StaticSecret {
        private(&self.secret)
    }
}

fn private(secret: &Secret) -> StaticSecret {
    StaticSecret::from(expand(secret, "members", &[]).0)
}

impl ApplicationKey {
    /// The cluster of the key.
    #[must_use]
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// The grant of the key.
    #[must_use]
    pub fn grant(&self) -> &Arc<Grant> {
        &self.grant
    }

    /// The id of the cluster's key.
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
    /// Reads one key, or two, each on a line of its own. Skips empty lines and lines that begin
    /// with `#`. A line `accept-unsealed` makes the keys [accept unsealed
    /// datagrams](Self::accept_unsealed).
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        text::parse(text)
    }

    /// Sets whether this process also reads and answers unsealed datagrams. Every host that reaches
    /// the process can then speak as any node, as without keys. So use this only while the
    /// processes of a cluster get keys one after the other. Datagrams to nodes that have shown a
    /// key stay sealed.
    #[must_use]
    pub fn accept_unsealed(mut self, accept: bool) -> Self {
        self.accept_unsealed = accept;
        self
    }

    /// Whether unsealed datagrams are read as well.
    #[must_use]
    pub const fn accepts_unsealed(&self) -> bool {
        self.accept_unsealed
    }

    pub(super) const fn held(&self) -> &HeldKeys {
        &self.held
    }

    /// The cluster of the keys.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterName> {
        self.held.cluster()
    }

    /// The ids of the keys; the first one is used.
    #[must_use]
    pub fn ids(&self) -> Vec<KeyId> {
        match &self.held {
            HeldKeys::Cluster(keys) => keys.iter().map(ClusterKey::id).collect(),
            HeldKeys::Application(keys) => keys.iter().map(ApplicationKey::id).collect(),
        }
    }

    /// The grant of the application; `None` for keys of a member.
    #[must_use]
    pub fn application(&self) -> Option<&Grant> {
        match &self.held {
            HeldKeys::Cluster(_) => None,
            HeldKeys::Application(keys) => keys.first().map(|key| &**key.grant()),
        }
    }

    /// Whether `later` may take the place of these keys in a running process.
    pub(super) fn may_become(&self, later: &Self) -> bool {
        let name = |keys: &Self| keys.application().map(|grant| grant.application.clone());
        self.cluster() == later.cluster() && name(self) == name(later)
    }

    /// The key of `application` for `elections`, to contend and to ask, from the first of these
    /// keys; `None` for keys of an application.
    #[must_use]
    pub fn issue(&self, application: NodeName, elections: Elections) -> Option<ApplicationKey> {
        match &self.held {
            HeldKeys::Cluster(keys) => keys.first().map(|key| key.issue(application, elections)),
            HeldKeys::Application(_) => None,
        }
    }

    /// The key of an application with this grant: see [`ClusterKey::issue_with`].
    #[must_use]
    pub fn issue_with(&self, grant: Grant) -> Option<Result<ApplicationKey, ElectionsError>> {
        match &self.held {
            HeldKeys::Cluster(keys) => keys.first().map(|key| key.issue_with(grant)),
            HeldKeys::Application(_) => None,
        }
    }

    /// Whether the keys allow this in `election`.
    #[must_use]
    pub fn allow(&self, right: Right, election: &ElectionName) -> bool {
        self.application().is_none_or(|grant| grant.allows(right, election))
    }

    /// Whether the keys allow questions about all elections.
    #[must_use]
    pub fn allow_all(&self) -> bool {
        self.application().is_none_or(|grant| grant.elections.cover_all())
    }
}

impl HeldKeys {
    fn cluster(&self) -> Option<&ClusterName> {
        match self {
            Self::Cluster(keys) => keys.first().map(ClusterKey::cluster),
            Self::Application(keys) => keys.first().map(ApplicationKey::cluster),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.application, self.elections)?;
        match self.rights {
            Rights::USUAL => Ok(()),
            rights => write!(f, " with the rights {rights}"),
        }
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterKey({} {})", self.cluster, self.id())
    }
}

impl fmt::Debug for ApplicationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApplicationKey({} {} {})", self.cluster, self.grant, self.id())
    }
}

impl From<HeldKeys> for Keys {
    fn from(held: HeldKeys) -> Self {
        Self { held, accept_unsealed: false }
    }
}

impl From<ClusterKey> for Keys {
    fn from(key: ClusterKey) -> Self {
        HeldKeys::Cluster(vec![key]).into()
    }
}

impl From<ApplicationKey> for Keys {
    fn from(key: ApplicationKey) -> Self {
        HeldKeys::Application(vec![key]).into()
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
    fn application_keys_differ_by_grant() {
        let billing = issue(&cluster(), "billing", "billing/*");
        assert_eq!(billing, issue(&cluster(), "billing", "billing/*"), "the same when made again");
        for (application, elections) in
            [("billing", "billing/*,x"), ("billin", "gbilling/*"), ("other", "billing/*")]
        {
            let other = issue(&cluster(), application, elections);
            assert!(other.secret != billing.secret, "{application} {elections}");
            assert_eq!(other.members, billing.members);
        }
        let mut secrets = vec![billing.secret.0];
        for rights in ["ask", "ask,resign", "contend,ask,resign", "ask,members"] {
            let rights = rights.parse().unwrap();
            let key = cluster().issue_with(Grant { rights, ..(**billing.grant()).clone() });
            secrets.push(key.unwrap().secret.0);
        }
        let usual = cluster().issue_with((**billing.grant()).clone()).unwrap();
        assert_eq!(usual, billing, "told apart by nothing");
        let count = secrets.len();
        secrets.sort_unstable();
        secrets.dedup();
        assert_eq!(secrets.len(), count, "whoever has one cannot make another");
    }

    #[test]
    fn key_id_follows_cluster_key() {
        assert_eq!(issue(&cluster(), "a", "*").id(), cluster().id());
        let random = || ClusterKey::generate("prod".parse().unwrap()).unwrap();
        assert_ne!(random().id(), random().id());
    }

    #[test]
    fn debug_output_hides_key() {
        let shown = format!("{:?} {:?}", cluster(), issue(&cluster(), "billing", "billing/*"));
        assert!(!shown.contains("07070707"), "{shown}");
        assert!(!shown.contains(&text::hex(&issue(&cluster(), "billing", "billing/*").secret.0)));
    }

    #[test]
    fn a_key_allows_its_elections() {
        let keys = Keys::from(issue(&cluster(), "billing", "billing/*,audit"));
        let may = |right, name: &str| keys.allow(right, &name.parse().unwrap());
        let allowed = |name: &str| may(Right::Contend, name) && may(Right::Ask, name);
        assert!(!may(Right::Resign, "audit"));
        assert!(allowed("billing/eu") && allowed("audit"));
        assert!(!allowed("billing") && !allowed("auditor") && !keys.allow_all());
        let keys = Keys::from(cluster());
        assert!(keys.allow(Right::Resign, &"anything".parse().unwrap()) && keys.allow_all());
    }
}
