//! Sender and network: the headers of each request and answer of a voter.

use http::{HeaderMap, HeaderName, HeaderValue};
use tenure_core::voter::{Fingerprint, Header, Identity, Mode, Participant, VoterUrl, parse_hex};
use tenure_core::{ElectionName, NodeName};

use super::Unread;

pub(crate) mod names {
    use http::HeaderName;

    pub(crate) const ELECTION: HeaderName = HeaderName::from_static("tenure-election");
    /// `majority` or `available`.
    pub(crate) const MODE: HeaderName = HeaderName::from_static("tenure-mode");
    /// `ID~IDENTITY~INCARNATION`.
    pub(crate) const VOTER: HeaderName = HeaderName::from_static("tenure-voter");
    /// `voter-url`.
    pub(crate) const URL: HeaderName = HeaderName::from_static("tenure-voter-url");
    /// `FINGERPRINT accepted` or `FINGERPRINT founded`, or absent.
    pub(crate) const FOUNDING: HeaderName = HeaderName::from_static("tenure-founding");
    /// The `voter-url` of the called voter, in a request with a MAC.
    pub(crate) const TO: HeaderName = HeaderName::from_static("tenure-to");
    /// The headers of a sender, in the order in which they are authenticated.
    pub(crate) const ALL: [HeaderName; 5] = [ELECTION, MODE, VOTER, URL, FOUNDING];
}

/// The sender of a message, by its headers.
///
/// | header | is |
/// |---|---|
/// | `Tenure-Election` | the election |
/// | `Tenure-Mode` | `majority` or `available` |
/// | `Tenure-Voter` | `ID~IDENTITY~INCARNATION`, of a voter |
/// | `Tenure-Voter-Url` | its `voter-url` |
/// | `Tenure-Founding` | absent, or the fingerprint of its founding and `accepted` or `founded` |
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Head {
    Voter(Header),
    /// A sender that is no voter, possibly with an election.
    Other(Option<ElectionName>),
}

impl Head {
    pub(crate) fn put(&self, headers: &mut HeaderMap) {
        match self {
            Self::Voter(header) => Self::write(header, headers),
            Self::Other(election) => {
                let election = election.as_ref().map(|election| election.as_str().as_bytes());
                let election = election.and_then(|bytes| HeaderValue::from_bytes(bytes).ok());
                election.map(|election| headers.insert(names::ELECTION, election));
            }
        }
    }

    pub(crate) fn write(header: &Header, headers: &mut HeaderMap) {
        let Header { election, mode, sender, url, founding } = header;
        let Participant { id, identity, incarnation } = sender;
        let voter = format!("{id}~{:032x}~{incarnation:032x}", identity.0);
        let founding = founding.map(|(fingerprint, founded)| {
            let word = if founded { "founded" } else { "accepted" };
            format!("{:032x} {word}", fingerprint.0)
        });
        let all = [
            (names::ELECTION, Some(election.to_string())),
            (names::MODE, Some(mode.to_string())),
            (names::VOTER, Some(voter)),
            (names::URL, Some(url.to_string())),
            (names::FOUNDING, founding),
        ];
        for (name, value) in all {
            // Names and URLs have no control characters, so each is a valid header value.
            let value = value.and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }

    /// Reads the headers of a message.
    ///
    /// # Errors
    ///
    /// When a header is there twice or cannot be read, or some are there and others missing.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Unread> {
        let election = parsed::<ElectionName>(headers, &names::ELECTION)?;
        let Some(voter) = text(headers, &names::VOTER)? else {
            return Ok(Self::Other(election));
        };
        let missing = |name: HeaderName| Unread::new(format!("the header {name} is missing"));
        let founding = text(headers, &names::FOUNDING)?.map(founding).transpose()?;
        Ok(Self::Voter(Header {
            election: election.ok_or_else(|| missing(names::ELECTION))?,
            mode: parsed::<Mode>(headers, &names::MODE)?.ok_or_else(|| missing(names::MODE))?,
            sender: participant(voter)?,
            url: parsed::<VoterUrl>(headers, &names::URL)?.ok_or_else(|| missing(names::URL))?,
            founding,
        }))
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Unread> {
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else { return Ok(None) };
    match (all.next(), std::str::from_utf8(value.as_bytes())) {
        (None, Ok(text)) => Ok(Some(text)),
        (None, Err(_)) => Err(Unread::new(format!("the header {name} is no UTF-8"))),
        (Some(_), _) => Err(Unread::new(format!("the header {name} is there twice"))),
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<Option<T>, Unread> {
    let parse = |text: &str| {
        text.parse().map_err(|error| Unread::new(format!("the header {name}: {error}")))
    };
    text(headers, name)?.map(parse).transpose()
}

fn participant(text: &str) -> Result<Participant, Unread> {
    let wrong = || {
        Unread::new(
            "the header tenure-voter must be ID~IDENTITY~INCARNATION, with 32 hexadecimal digits \
             for each of the last two",
        )
    };
    let mut parts = text.split('~');
    let id = parts.next();
    let identity = parts.next();
    let incarnation = parts.next();
    let number = |part: Option<&str>| part.and_then(parse_hex).ok_or_else(wrong);
    let id = id.and_then(|id| NodeName::new(id).ok()).ok_or_else(wrong)?;
    let identity = Identity(number(identity)?);
    let incarnation = number(incarnation)?;
    match parts.next() {
        None => Ok(Participant { id, identity, incarnation }),
        Some(_) => Err(wrong()),
    }
}

fn founding(text: &str) -> Result<(Fingerprint, bool), Unread> {
    let read = text.split_once(' ').and_then(|(fingerprint, word)| {
        let founded = match word {
            "founded" => true,
            "accepted" => false,
            _ => return None,
        };
        Some((Fingerprint(parse_hex(fingerprint)?), founded))
    });
    read.ok_or_else(|| {
        Unread::new(
            "the header tenure-founding must be 32 hexadecimal digits, a space, and \
                     accepted or founded",
        )
    })
}
