//! The URL of a member.

use std::fmt;
use std::str::FromStr;

use tenure::driver::{ServerUrl, UrlError, UrlForm};

const FORM: UrlForm = UrlForm {
    what: "an endpoint",
    service: "etcd",
    plain: "http",
    secure: "https",
    port: 2379,
    rule: "write http://HOST:PORT, or https:// where etcd speaks TLS, and give a user and a \
           password as Credentials in the Options",
};

/// The URL of one member for its clients: `http://10.0.0.7:2379`, or `https://` for TLS. The URL
/// must have a scheme, and cannot have a user: see
/// [`Options::credentials`](crate::Options::credentials).
///
/// ```
/// use tenure_etcd::Endpoint;
///
/// let endpoint: Endpoint = "https://etcd-1.example.com".parse()?;
/// assert!(endpoint.is_secure());
/// assert_eq!(endpoint.as_str(), "https://etcd-1.example.com:2379");
/// let error = "etcd-1.example.com:2379".parse::<Endpoint>().unwrap_err();
/// assert_eq!(error.what, "an endpoint has no scheme");
/// # Ok::<(), tenure_etcd::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint(ServerUrl);

impl Endpoint {
    /// Whether the client reaches the member by TLS.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.0.is_secure()
    }

    pub(crate) fn other_scheme(&self) -> Self {
        Self(FORM.other_scheme(&self.0))
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl From<ServerUrl> for Endpoint {
    fn from(url: ServerUrl) -> Self {
        Self(url)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Endpoint {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        FORM.read(text).map(Self)
    }
}
