//! Options of the ledger: brokers, topic, group protocol, TLS, a login.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use tenure_tls::{Identity, Pem, PemError};

use crate::broker::Broker;
use crate::login::{Login, LoginError};
use crate::property::Property;
use crate::{client_settings, explain};

/// The options of a ledger. Checked by [`check`](Self::check); cheap to clone afterwards.
///
/// ```
/// use tenure_kafka::Options;
///
/// let options = Options::new(vec!["127.0.0.1:9092".parse()?], "prices").check()?;
/// assert_eq!(options.topic, "prices");
/// assert_eq!(
///     Options::new(vec![], "prices").check().unwrap_err().to_string(),
///     "no broker is given: give at least one, such as kafka-1:9092",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Some of the brokers, from which the client learns the others.
    pub brokers: Vec<Broker>,
    pub topic: String,
    /// The copies of each partition of a topic that the node makes; `None`: the node makes no
    /// topic.
    pub create: Option<u16>,
    /// Accepts a topic that can lose acknowledged records with one broker. After such a loss two
    /// leaders are possible for up to T (`takeover`), in `at_most_one`, too.
    pub allow_unreplicated: bool,
    /// The protocol by which members join their group.
    pub group_protocol: GroupProtocol,
    /// The strategy by which partitions are assigned, in the classic protocol.
    pub assignor: Assignor,
    /// Certificates for TLS; `None`: no encryption.
    pub tls: Option<Tls>,
    /// The login, if brokers ask for one.
    pub login: Option<Login>,
    pub properties: Vec<Property>,
    /// Whether this process only queries leaders, and so needs no right to write.
    pub only_asks: bool,
    /// The maximum number of roles for which this process will stand, if fewer than [`Config`]'s
    /// limits allow. A topic is refused if its largest record cannot hold all these roles.
    ///
    /// [`Config`]: tenure_core::nele::Config
    pub roles: Option<u32>,
}

/// The protocol by which members join their group. All members of a group must use the same
/// protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum GroupProtocol {
    /// The protocol of all brokers: members choose their session timeout, and one member assigns
    /// the partitions.
    #[default]
    Classic,
    /// The newer protocol of Kafka 4: the coordinator assigns the partitions, and brokers set the
    /// session timeout of the group.
    Consumer,
}

/// The strategy by which one member assigns the partitions in the classic protocol. All members of
/// a group must use the same strategy: the coordinator refuses members with another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Assignor {
    /// A rebalance takes only the partitions that it moves; other owners go on.
    #[default]
    CooperativeSticky,
    /// Deals all partitions anew at each rebalance. Whenever a process comes or goes, every owner
    /// loses all its partitions. In `at_least_one` each moved role then has two leaders for up to T
    /// (`takeover`). In `at_most_one` all roles are without a leader for more than the grace
    /// period.
    RoundRobin,
}

/// Certificates for TLS. Each client reads the files when it is made: a renewed certificate is used
/// after the next start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tls {
    /// The certificates of the authority that signs the brokers' certificates. `None`: the
    /// system's.
    pub authority: Option<Pem>,
    /// The client's certificate and key, where brokers ask for them (mTLS).
    pub identity: Option<Identity>,
}

impl Options {
    /// Options with these brokers and this topic.
    #[must_use]
    pub fn new(brokers: Vec<Broker>, topic: &str) -> Self {
        Self {
            brokers,
            topic: topic.to_owned(),
            create: None,
            allow_unreplicated: false,
            group_protocol: GroupProtocol::Classic,
            assignor: Assignor::CooperativeSticky,
            tls: None,
            login: None,
            properties: Vec::new(),
            only_asks: false,
            roles: None,
        }
    }

    /// Checks that the options can work, and reads the certificates and the file of the password.
    ///
    /// # Errors
    ///
    /// Options that cannot work, with the remedy.
    pub fn check(self) -> Result<CheckedOptions, OptionsError> {
        if self.brokers.is_empty() {
            return Err(OptionsError::NoBroker);
        }
        let is_right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let topic = &self.topic;
        let shaped = (1..=TOPIC_MAX).contains(&topic.len()) && topic.chars().all(is_right);
        if !shaped || matches!(topic.as_str(), "." | "..") {
            return Err(OptionsError::Topic { given: topic.chars().take(256).collect() });
        }
        if self.group_protocol == GroupProtocol::Consumer && self.assignor.is_eager() {
            return Err(OptionsError::NoAssignor { assignor: self.assignor });
        }
        if self.create == Some(0) {
            return Err(OptionsError::NoCopy);
        }
        // Skip an encrypted key, because only the client library can read the key.
        let encrypted = self.properties.iter().any(|one| one.name() == "ssl.key.password");
        if let Some(tls) = self.tls.as_ref().filter(|_| !encrypted) {
            tenure_tls::client_config(tls.authority.as_ref(), tls.identity.as_ref())?;
        }
        if let Some(login) = &self.login {
            login.password.read()?;
        }
        for (nth, property) in self.properties.iter().enumerate() {
            client_settings::take(property).map_err(|code| OptionsError::Property {
                nth,
                why: explain::refused(property.name(), code),
                unknown: explain::is_unknown(code),
            })?;
        }
        Ok(CheckedOptions(Arc::new(self)))
    }

    /// The id of a static member, if the properties set an id: the group keeps this member's place
    /// during a restart.
    #[must_use]
    pub fn static_id(&self) -> Option<&str> {
        let of_it = |property: &&Property| property.name() == "group.instance.id";
        let last = self.properties.iter().rev().find(of_it);
        last.map(Property::value).filter(|id| !id.is_empty())
    }

    /// The brokers, in the form of the client library and of Kafka's tools.
    #[must_use]
    pub fn addresses(&self) -> String {
        let brokers: Vec<_> = self.brokers.iter().map(Broker::as_str).collect();
        brokers.join(",")
    }
}

/// The maximum number of characters of a topic that Kafka allows.
const TOPIC_MAX: usize = 249;

/// [`Options`] that [`Options::check`] has let pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedOptions(Arc<Options>);

#[cfg(test)]
impl CheckedOptions {
    /// Options whose files need not exist.
    pub(crate) fn unchecked(options: Options) -> Self {
        Self(Arc::new(options))
    }
}

impl Deref for CheckedOptions {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.0
    }
}

impl GroupProtocol {
    /// The name of the protocol in Kafka.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }
}

impl Assignor {
    /// The name of the strategy in Kafka.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CooperativeSticky => "cooperative-sticky",
            Self::RoundRobin => "roundrobin",
        }
    }

    /// Whether a rebalance takes all partitions from all members.
    pub(crate) const fn is_eager(self) -> bool {
        matches!(self, Self::RoundRobin)
    }
}

impl fmt::Display for Assignor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Assignor {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let all = [Self::CooperativeSticky, Self::RoundRobin];
        all.into_iter().find(|one| one.as_str() == text).ok_or(OptionsError::Assignor)
    }
}

impl fmt::Display for GroupProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for GroupProtocol {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        match text {
            "classic" => Ok(Self::Classic),
            "consumer" => Ok(Self::Consumer),
            _ => Err(OptionsError::GroupProtocol),
        }
    }
}

/// Options that cannot work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("no broker is given: give at least one, such as kafka-1:9092")]
    NoBroker,
    #[error(
        "topic {given:?} must be 1 to {TOPIC_MAX} letters, digits, dots, underscores and hyphens"
    )]
    Topic { given: String },
    #[error("a new topic needs at least one copy of each partition; 3 copies outlive a broker")]
    NoCopy,
    #[error("a group protocol is one of: classic, consumer")]
    GroupProtocol,
    #[error("an assignor is one of: cooperative-sticky, roundrobin")]
    Assignor,
    #[error(
        "assignor {assignor} is for group protocol classic: with group protocol consumer the \
         coordinator assigns the partitions"
    )]
    NoAssignor { assignor: Assignor },
    /// The client library refuses a property. The error hides the value, which may be a secret.
    #[error("{why}")]
    Property {
        /// Position in the list, from 0.
        nth: usize,
        why: String,
        unknown: bool,
    },
    #[error(transparent)]
    Pem(#[from] PemError),
    #[error(transparent)]
    Login(#[from] LoginError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::{Mechanism, Password};

    #[test]
    fn options_that_cannot_work_are_told() {
        let right = || Options::new(vec!["host:9092".parse().unwrap()], "prices");
        let told = |options: Options| options.check().unwrap_err().to_string();
        for topic in ["", "..", "a b", "a/b", &"x".repeat(250)] {
            let said = told(Options { topic: topic.to_owned(), ..right() });
            assert!(said.ends_with("letters, digits, dots, underscores and hyphens"), "{said}");
        }
        assert!(told(Options { create: Some(0), ..right() }).contains("at least one copy"));
        let missing = Tls { authority: Some(Pem::File("/nowhere/ca".into())), ..Tls::default() };
        assert_eq!(
            told(Options { tls: Some(missing), ..right() }),
            "cannot read /nowhere/ca: No such file or directory (os error 2)"
        );
        let password = Password::File("/nowhere/password".into());
        let login = Login { mechanism: Mechanism::Plain, user: "ann".into(), password };
        assert!(told(Options { login: Some(login), ..right() }).contains("cannot be read"));
        let two =
            Options { brokers: vec!["a:1".parse().unwrap(), "b:2".parse().unwrap()], ..right() };
        assert_eq!(two.check().unwrap().addresses(), "a:1,b:2");
        assert_eq!(right().static_id(), None);
        let properties = ["group.instance.id=a", "group.instance.id=b"].map(|it| it.parse());
        let properties = properties.into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(Options { properties, ..right() }.static_id(), Some("b"));
        assert!("eager".parse::<GroupProtocol>().is_err());
        assert!("range".parse::<Assignor>().is_err());
        let assignor = "roundrobin".parse().unwrap();
        let group_protocol = GroupProtocol::Consumer;
        let said = told(Options { assignor, group_protocol, ..right() });
        assert!(said.starts_with("assignor roundrobin is for group protocol classic"), "{said}");
    }

    #[test]
    fn refused_property_hides_value() {
        for (second, wrong) in [
            ("ssl.keystore.pasword", "the client library has no property ssl.keystore.pasword"),
            ("debug", "the client library does not take the value of debug"),
        ] {
            let mut options = Options::new(vec!["host:9092".parse().unwrap()], "prices");
            options.properties.push("client.rack=b".parse().unwrap());
            options.properties.push(format!("{second}=S3cret").parse().unwrap());
            let error = options.check().unwrap_err();
            assert!(matches!(error, OptionsError::Property { nth: 1, .. }), "{error}");
            assert_eq!(error.to_string(), wrong);
            assert!(!format!("{error:?}").contains("S3cret"), "{error:?}");
        }
    }
}
