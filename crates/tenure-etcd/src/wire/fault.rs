//! The meaning of the client library's errors for a request.

use std::error::Error as _;
use std::fmt::Display;
use std::sync::Arc;

use etcd_client::Error;
use tenure_core::etcd::{Refusal, Reply};

/// The maximum number of bytes of a foreign text that are passed on.
const SAID_MAX: usize = 512;

/// A part of the client library's text for an answer above its limit. Such an answer has a value of
/// another client, from a server that allows larger values than etcd's default.
const TOO_LARGE: &str = "decoded message length too large";

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// etcd itself has answered, or an answer above the limit came, so that the outcome is unknown.
    /// The link is good.
    Answer(Reply),
    /// etcd does not accept the login, or requires a login; nothing was carried out.
    Login(Arc<str>),
    /// Users or rights have changed since the login; nothing was carried out. A new login works,
    /// unless users or rights change again before it is used.
    Outdated(Arc<str>),
    /// The outcome of the request is unknown. Another endpoint may do better.
    Lost(Arc<str>),
}

mod code {
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const INVALID_ARGUMENT: i32 = 3;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const FAILED_PRECONDITION: i32 = 9;
    pub(super) const OUT_OF_RANGE: i32 = 11;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

impl Fault {
    /// The meaning of the error of a call or of a stream.
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::GRpcStatus(status)
                if i32::from(status.code()) == code::OUT_OF_RANGE
                    && status.message().contains(TOO_LARGE) =>
            {
                let why = format!("an answer of etcd cannot be used: {}", words(error));
                Self::Answer(Reply::Unknown { why: shorten(&why) })
            }
            Error::GRpcStatus(status) => {
                let known = Self::known(i32::from(status.code()), status.message());
                known.unwrap_or_else(|| Self::Lost(words(error)))
            }
            _ => Self::Lost(words(error)),
        }
    }

    /// The meaning of etcd's reason to end a watch. The reason has no code, and begins with words
    /// of gRPC in some versions.
    pub(super) fn of_cancelled(reason: &str) -> Self {
        let said = reason.find("etcdserver: ").map_or(reason, |at| &reason[at..]);
        let code = if said.contains("permission denied") {
            code::PERMISSION_DENIED
        } else {
            code::UNKNOWN
        };
        let unsure = || Self::Lost(shorten(&format!("etcd has ended the watch: {reason}")));
        Self::known(code, said).unwrap_or_else(unsure)
    }

    /// The meaning of errors after which etcd has certainly carried nothing out. The codes alone do
    /// not show this. gRPC and proxies use the same codes, sometimes for requests that etcd *has*
    /// carried out.
    fn known(code: i32, message: &str) -> Option<Self> {
        let what = message.strip_prefix("etcdserver: ")?;
        let said = shorten(message);
        let is = |words| what.contains(words);
        if is("auth store is old") {
            return Some(Self::Outdated(said));
        }
        if is("invalid auth token") || is("user name is empty") {
            return Some(Self::Login(said));
        }
        Some(Self::Answer(match code {
            code::NOT_FOUND if is("requested lease not found") => Reply::LeaseGone,
            code::FAILED_PRECONDITION if is("lease already exists") => Reply::LeaseExists,
            code::INVALID_ARGUMENT if is("authentication failed") => {
                Reply::Refused(Refusal::Unauthenticated { said })
            }
            code::UNAUTHENTICATED => Reply::Refused(Refusal::Unauthenticated { said }),
            code::PERMISSION_DENIED => Reply::Refused(Refusal::Denied { said }),
            code::RESOURCE_EXHAUSTED => Reply::Refused(Refusal::NoSpace { said }),
            code::INVALID_ARGUMENT if is("too many operations") => {
                Reply::Refused(Refusal::TooManyOperations { said })
            }
            // Another member may be the leader, and may carry the request out.
            code::FAILED_PRECONDITION if is("not leader") => return None,
            code::INVALID_ARGUMENT
            | code::NOT_FOUND
            | code::FAILED_PRECONDITION
            | code::OUT_OF_RANGE => Reply::Refused(Refusal::Other { said }),
            _ => return None,
        }))
    }
}

pub(crate) fn words(error: &Error) -> Arc<str> {
    let (mut said, mut below) = match error {
        Error::GRpcStatus(status) => (plain(status.message()), status.source()),
        Error::TransportError(transport) => (transport.to_string(), transport.source()),
        other => (other.to_string(), other.source()),
    };
    while let Some(source) = below {
        let more = source.to_string();
        if !said.contains(&more) {
            let separator = if said.is_empty() { "" } else { ": " };
            said = said + separator + &more;
        }
        below = source.source();
    }
    shorten(&said)
}

/// The text for a connection that ended, in plain words: perhaps a server was killed.
fn plain(said: &str) -> String {
    match said.strip_prefix("h2 protocol error: ") {
        Some(rest) => format!("the connection was lost: {rest}"),
        None => said.to_owned(),
    }
}

/// Cuts a text to `SAID_MAX` bytes.
pub(crate) fn shorten(said: &(impl Display + ?Sized)) -> Arc<str> {
    let mut said = said.to_string();
    if said.len() > SAID_MAX {
        let end = (0..=SAID_MAX).rev().find(|end| said.is_char_boundary(*end)).unwrap_or(0);
        said.truncate(end);
        said.push('…');
    }
    said.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(refusal: impl Fn(Arc<str>) -> Refusal, said: &str) -> Option<Fault> {
        Some(Fault::Answer(Reply::Refused(refusal(said.into()))))
    }

    #[test]
    fn only_etcds_refusals_are_certain() {
        let denied = "etcdserver: permission denied";
        assert_eq!(Fault::known(7, denied), refused(|said| Refusal::Denied { said }, denied));
        // HTTP/2's INADEQUATE_SECURITY and ENHANCE_YOUR_CALM, and an answer above the limit.
        assert_eq!(Fault::known(7, "permission denied"), None);
        assert_eq!(Fault::known(8, "too many pings"), None);
        assert_eq!(Fault::known(11, "Error, decoded message length too large"), None);
        for unsure in [
            (14, "etcdserver: request timed out"),
            (14, "etcdserver: leader changed"),
            (14, "etcdserver: no leader"),
            (4, "context deadline exceeded"),
            (2, "etcdserver: something new"),
            (15, "etcdserver: corrupt cluster"),
            (9, "etcdserver: not leader"),
        ] {
            assert_eq!(Fault::known(unsure.0, unsure.1), None, "{unsure:?}");
        }
    }

    #[test]
    fn each_refusal_has_its_kind() {
        let full = "etcdserver: mvcc: database space exceeded";
        assert_eq!(Fault::known(8, full), refused(|said| Refusal::NoSpace { said }, full));
        let busy = "etcdserver: too many requests";
        assert_eq!(Fault::known(8, busy), refused(|said| Refusal::NoSpace { said }, busy));
        let wrong = "etcdserver: authentication failed, invalid user ID or password";
        assert_eq!(
            Fault::known(3, wrong),
            refused(|said| Refusal::Unauthenticated { said }, wrong)
        );
        let large = "etcdserver: request is too large";
        assert_eq!(Fault::known(3, large), refused(|said| Refusal::Other { said }, large));
        let many = "etcdserver: too many operations in txn request";
        let too_many = |said| Refusal::TooManyOperations { said };
        assert_eq!(Fault::known(3, many), refused(too_many, many));
        let gone = Fault::known(5, "etcdserver: requested lease not found");
        assert_eq!(gone, Some(Fault::Answer(Reply::LeaseGone)));
        let exists = Fault::known(9, "etcdserver: lease already exists");
        assert_eq!(exists, Some(Fault::Answer(Reply::LeaseExists)));
        let old = "etcdserver: revision of auth store is old";
        assert_eq!(Fault::known(3, old), Some(Fault::Outdated(old.into())));
        assert_eq!(Fault::of_cancelled(old), Fault::Outdated(old.into()));
        for said in ["etcdserver: invalid auth token", "etcdserver: user name is empty"] {
            assert_eq!(Fault::known(3, said), Some(Fault::Login(said.into())));
            assert_eq!(Fault::of_cancelled(said), Fault::Login(said.into()));
            let wrapped = format!("rpc error: code = Unauthenticated desc = {said}");
            assert_eq!(Fault::of_cancelled(&wrapped), Fault::Login(said.into()));
        }
        assert_eq!(
            Fault::of_cancelled(denied()),
            Fault::Answer(Reply::Refused(Refusal::Denied { said: denied().into() }))
        );
        let other = Fault::of_cancelled("etcdserver: no leader");
        assert_eq!(other, Fault::Lost("etcd has ended the watch: etcdserver: no leader".into()));
    }

    fn denied() -> &'static str {
        "etcdserver: permission denied"
    }

    #[test]
    fn a_lost_connection_is_called_so() {
        let said = "h2 protocol error: error reading a body from connection";
        assert_eq!(plain(said), "the connection was lost: error reading a body from connection");
        assert_eq!(plain("etcdserver: no leader"), "etcdserver: no leader");
    }

    #[test]
    fn foreign_text_is_cut_between_characters() {
        let long = "ä".repeat(400);
        assert_eq!(shorten(&long).len(), 512 + '…'.len_utf8());
        assert_eq!(&*shorten("short"), "short");
    }
}
