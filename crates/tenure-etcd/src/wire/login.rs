//! The login on a connection. The driver can log in anew and keep the connection open.
//!
//! etcd checks the token of each call, and from 3.4.42, 3.5.28, 3.6.9 and 3.7 of each renewal of a
//! lease. etcd checks the token of a watch only when the watch is opened. So later requests carry
//! the new token, and open watches go on. A simple token lasts for an unknown time since its last
//! use; a signed token (JWT) names its end.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{Channel, Client, ConnectOptions, Error};
use http::HeaderValue;
use tonic::transport::Channel as Plain;
use tower::BoxError;
use tower::util::{BoxCloneSyncService, ServiceExt};

use crate::options::Credentials;

/// etcd's text for a login when authentication is off.
const NO_LOGINS: &str = "authentication is not enabled";
/// The only call that needs no token.
const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
/// The header that etcd reads.
const HEADER: &str = "token";

#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) client: Client,
    /// The channel below the client, for calls that the client library does not offer.
    pub(super) channel: Channel,
    token: Token,
}

/// The token of a connection. Clones share the token.
#[derive(Clone, Default)]
struct Token(Arc<RwLock<Option<HeaderValue>>>);

impl Token {
    fn get(&self) -> Option<HeaderValue> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, token: Option<HeaderValue>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = token;
    }
}

impl Login {
    /// A client over this channel, not logged in yet.
    pub(super) async fn new(channel: Plain) -> Result<Self, Error> {
        let token = Token::default();
        let channel = bearing(channel, token.clone());
        // Calls and streams that need a leader fail at once on a member without one: another member
        // may have a leader.
        let settings = ConnectOptions::new().with_require_leader(true);
        let client = Client::from_channel(channel.clone(), Some(settings)).await?;
        Ok(Self { client, channel, token })
    }

    /// Logs in, and sends the new token with all later requests. Returns the time for which the
    /// token is good, if known. Without authentication there is no token.
    pub(super) async fn renew(&self, of: &Credentials) -> Result<Option<Duration>, Error> {
        let mut client = self.client.auth_client();
        let answer = match client.authenticate(of.user.clone(), of.password.clone()).await {
            Ok(answer) => answer,
            Err(Error::GRpcStatus(status)) if status.message().contains(NO_LOGINS) => {
                self.token.set(None);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let token = answer.token();
        let mut header = HeaderValue::from_str(token)
            .map_err(|_| Error::InvalidArgs("the token is no text of one line".to_owned()))?;
        // Logs leave out a header that is marked as sensitive.
        header.set_sensitive(true);
        self.token.set(Some(header));
        Ok(left(token, wall_time()))
    }
}

/// Adds the token to each request.
fn bearing(plain: Plain, token: Token) -> Channel {
    let bearing = plain.map_err(BoxError::from).map_request(
        move |mut request: http::Request<tonic::body::Body>| {
            if request.uri().path() != AUTHENTICATE
                && let Some(token) = token.get()
            {
                request.headers_mut().insert(HEADER, token);
            }
            request
        },
    );
    Channel::Custom(BoxCloneSyncService::new(bearing))
}

#[expect(clippy::disallowed_methods, reason = "etcd says in wall time when a token ends")]
fn wall_time() -> SystemTime {
    // If this machine's clock differs from etcd's clock, the driver logs in too early, or only
    // after etcd has refused the token.
    SystemTime::now()
}

/// The time for which a signed token is good after `now`, by this machine's clock. `None` for other
/// tokens, and for a token whose time is over.
fn left(token: &str, now: SystemTime) -> Option<Duration> {
    let mut parts = token.split('.');
    let claims = parts.nth(1)?;
    let signature = parts.next()?;
    if signature.is_empty() || parts.next().is_some() {
        return None;
    }
    // A JSON string cannot hold the pattern `"exp":`, because a backslash precedes each quote in a
    // string.
    let claims = String::from_utf8(decoded(claims)?).ok()?;
    let (_, said) = claims.split_once(r#""exp":"#)?;
    let said = said.trim_start();
    let digits = said.find(|c: char| !c.is_ascii_digit()).map_or(said, |end| &said[..end]);
    let until = UNIX_EPOCH.checked_add(Duration::from_secs(digits.parse().ok()?))?;
    until.duration_since(now).ok().filter(|left| !left.is_zero())
}

/// Decodes URL-safe base64 without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token of 3.7.3: `{"exp":1790000000,"revision":9,"username":"poor"}`, signed with HS256.
    const SIGNED: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
                          eyJleHAiOjE3OTAwMDAwMDAsInJldmlzaW9uIjo5LCJ1c2VybmFtZSI6InBvb3IifQ.\
                          c2lnbmF0dXJl";

    #[test]
    fn signed_token_names_its_end() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(left(SIGNED, at(1_789_999_700)), Some(Duration::from_secs(300)));
        // By a clock that is far ahead of etcd's clock, the time of the token is over.
        assert_eq!(left(SIGNED, at(1_790_000_000)), None);
        assert_eq!(left(SIGNED, at(1_790_000_001)), None);
        for other in ["", "FXvpVZaKTzGGfFsA.12", "a.b.c", "..", "a.!.c", "eyJh.eyJh.", "a.e30.c.d"]
        {
            assert_eq!(left(other, at(0)), None, "{other}");
        }
    }

    #[test]
    fn name_is_not_an_end() {
        // {"exp2":1,"username":"\"exp\":5,","revision":1,"exp":7}
        let claims = "eyJleHAyIjoxLCJ1c2VybmFtZSI6IlwiZXhwXCI6NSwiLCJyZXZpc2lvbiI6MSwiZXhwIjo3fQ";
        let token = format!("a.{claims}.c");
        assert_eq!(left(&token, UNIX_EPOCH), Some(Duration::from_secs(7)));
    }
}
