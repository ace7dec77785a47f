//! Where the servers of a protocol answer, as URLs.

use std::net::Ipv6Addr;

use crate::settings::Refusal;

/// How a protocol writes where its servers are.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What one is called: `an endpoint`.
    pub what: &'static str,
    /// What answers there.
    pub service: &'static str,
    /// The scheme without TLS.
    pub plain: &'static str,
    /// The scheme with TLS.
    pub secure: &'static str,
    /// The port if none is given.
    pub port: u16,
    /// How one is written, in words.
    pub rule: &'static str,
}

/// An URL of a server: a scheme, a host and a port. Written in one way, so that two that are the
/// same are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Url {
    /// Whether the scheme is that with TLS.
    pub tls: bool,
    /// `http://10.0.0.1:2379`
    pub url: String,
}

/// As [`Form::list`] reads it.
#[must_use]
pub fn shown(list: &[Url]) -> String {
    list.iter().map(|one| one.url.as_str()).collect::<Vec<_>>().join(",")
}

impl Form {
    /// `http://10.0.0.1:2379,http://10.0.0.2`: without a port it is the default one. An address
    /// without a scheme is refused: whether a password goes over the network in the clear is not
    /// left to guessing.
    pub fn list(self, text: &str) -> Result<Vec<Url>, Refusal> {
        let Self { what, service, plain, secure, rule, .. } = self;
        // Before anything else is refused: the text would be repeated, with the password in it.
        if text.contains('@') {
            let what = format!("{what} holds no user and no password; --user is for that");
            return Err(Refusal::of_secret(what, rule));
        }
        let mut list: Vec<Url> = Vec::new();
        let are_several = text.contains(',');
        for one in text.split(',') {
            if one.trim().is_empty() && are_several {
                return Err(Refusal::new(
                    format!("{what} is empty"),
                    "leave it out, and its comma",
                ));
            }
            let one = self.one(one.trim())?;
            if list.contains(&one) {
                let fix = format!("name each server of {service} once");
                return Err(Refusal::new(format!("{} is in it twice", one.url), fix));
            }
            if list.first().is_some_and(|first| first.tls != one.tls) {
                let what = format!("some begin with {plain}:// and some with {secure}://");
                let fix = format!("give all of them the scheme that {service} speaks");
                return Err(Refusal::new(what, fix));
            }
            list.push(one);
        }
        Ok(list)
    }

    fn one(self, text: &str) -> Result<Url, Refusal> {
        let Self { what, service, plain, secure, port, rule } = self;
        let refuse = |what: String| Err(Refusal::new(what, rule));
        if text.is_empty() {
            return refuse(format!("{what} is empty"));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse(format!("{what} has no scheme"));
        };
        let tls = match scheme {
            _ if scheme == plain => false,
            _ if scheme == secure => true,
            "unix" | "unixs" => {
                return refuse(format!("Unix sockets of {service} are not supported"));
            }
            _ => return refuse(format!("the scheme {scheme:?} is not one that {service} speaks")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some(more) = authority.find(['/', '?', '#']) {
            return refuse(format!("{:?} does not belong to {what}", &authority[more..]));
        }
        let (host, given) = self.split(authority)?;
        let port = match given {
            None => port,
            Some(text) => match text.parse() {
                Ok(port) if port != 0 => port,
                _ => return refuse(format!("the port {text:?} is not a number from 1 to 65535")),
            },
        };
        let url = format!("{scheme}://{}:{port}", host.to_ascii_lowercase());
        Ok(Url { tls, url })
    }

    /// Host and port.
    fn split(self, authority: &str) -> Result<(&str, Option<&str>), Refusal> {
        let Self { what, plain, port, .. } = self;
        let fix = format!(
            "write an IP address or a name, and IPv6 addresses in brackets, such as \
             {plain}://[::1]:{port}"
        );
        let refuse = |what: String| Err(Refusal::new(what, fix.as_str()));
        if authority.starts_with('[') {
            let Some((address, rest)) = authority.split_once(']') else {
                return refuse(format!("the bracket of {authority:?} is not closed"));
            };
            if address[1..].parse::<Ipv6Addr>().is_err() {
                return refuse(format!("{:?} is not an IPv6 address", &address[1..]));
            }
            let host = &authority[..=address.len()];
            return match rest.strip_prefix(':') {
                Some(port) => Ok((host, Some(port))),
                None if rest.is_empty() => Ok((host, None)),
                None => refuse(format!("{rest:?} stands behind the bracket")),
            };
        }
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if host.is_empty() {
            return refuse(format!("{what} has no host"));
        }
        if port.is_some_and(|port| port.contains(':')) {
            return refuse(format!("the IPv6 address {authority:?} needs brackets"));
        }
        match host.chars().find(|c| !allowed(*c)) {
            Some(found) => refuse(format!("{found:?} is not part of a host's name")),
            None => Ok((host, port)),
        }
    }
}
