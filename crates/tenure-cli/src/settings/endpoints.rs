//! Where etcd answers.

use std::net::Ipv6Addr;

use super::Refusal;

/// How one is written.
const FORM: &str =
    "write http://HOST:PORT, or https:// where etcd speaks TLS, such as http://127.0.0.1:2379";

/// The port that etcd listens on for clients unless it is told otherwise.
const PORT: u16 = 2379;

/// An URL of a member of etcd: a scheme, a host and a port. Written in one way, so that two that
/// are the same are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Whether the scheme is `https`.
    pub tls: bool,
    /// `http://10.0.0.1:2379`
    pub url: String,
}

/// `http://10.0.0.1:2379,http://10.0.0.2`: without a port it is 2379, which `etcdctl` wants to be
/// written. What it takes for plain text, an address without a scheme, is refused: whether a
/// password goes over the network in the clear is not left to guessing.
pub fn endpoints(text: &str) -> Result<Vec<Endpoint>, Refusal> {
    // Before anything else is refused: the text would be repeated, with the password in it.
    if text.contains('@') {
        let what = "an endpoint holds no user and no password; --user is for that";
        return Err(Refusal::of_secret(what, FORM));
    }
    let mut list: Vec<Endpoint> = Vec::new();
    let are_several = text.contains(',');
    for one in text.split(',') {
        if one.trim().is_empty() && are_several {
            return Err(Refusal::new("an endpoint is empty", "leave it out, and its comma"));
        }
        let endpoint = endpoint(one.trim())?;
        if list.contains(&endpoint) {
            let what = format!("{} is in it twice", endpoint.url);
            return Err(Refusal::new(what, "name each member of etcd once"));
        }
        if list.first().is_some_and(|first| first.tls != endpoint.tls) {
            let what = "some begin with http:// and some with https://";
            return Err(Refusal::new(what, "give all of them the scheme that etcd speaks"));
        }
        list.push(endpoint);
    }
    Ok(list)
}

/// As [`endpoints`] reads it.
#[must_use]
pub fn shown(list: &[Endpoint]) -> String {
    list.iter().map(|endpoint| endpoint.url.as_str()).collect::<Vec<_>>().join(",")
}

fn endpoint(text: &str) -> Result<Endpoint, Refusal> {
    let refuse = |what: String| Err(Refusal::new(what, FORM));
    if text.is_empty() {
        return refuse("an endpoint is empty".into());
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return refuse("an endpoint has no scheme".into());
    };
    let tls = match scheme {
        "http" => false,
        "https" => true,
        "unix" | "unixs" => return refuse("Unix sockets of etcd are not supported".into()),
        _ => return refuse(format!("the scheme {scheme:?} is not one that etcd speaks")),
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if let Some(more) = authority.find(['/', '?', '#']) {
        return refuse(format!("{:?} does not belong to an endpoint", &authority[more..]));
    }
    let (host, port) = split(authority)?;
    let port = match port {
        None => PORT,
        Some(text) => match text.parse() {
            Ok(port) if port != 0 => port,
            _ => return refuse(format!("the port {text:?} is not a number from 1 to 65535")),
        },
    };
    let url = format!("{scheme}://{}:{port}", host.to_ascii_lowercase());
    Ok(Endpoint { tls, url })
}

/// Host and port.
fn split(authority: &str) -> Result<(&str, Option<&str>), Refusal> {
    let fix = "write an IP address or a name, and IPv6 addresses in brackets, such as \
               http://[::1]:2379";
    if authority.starts_with('[') {
        let Some((address, rest)) = authority.split_once(']') else {
            return Err(Refusal::new(format!("the bracket of {authority:?} is not closed"), fix));
        };
        if address[1..].parse::<Ipv6Addr>().is_err() {
            let what = format!("{:?} is not an IPv6 address", &address[1..]);
            return Err(Refusal::new(what, fix));
        }
        let host = &authority[..=address.len()];
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(Refusal::new(format!("{rest:?} stands behind the bracket"), fix)),
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if host.is_empty() {
        return Err(Refusal::new("an endpoint has no host", fix));
    }
    if port.is_some_and(|port| port.contains(':')) {
        let what = format!("the IPv6 address {authority:?} needs brackets");
        return Err(Refusal::new(what, fix));
    }
    match host.chars().find(|c| !allowed(*c)) {
        Some(found) => Err(Refusal::new(format!("{found:?} is not part of a host's name"), fix)),
        None => Ok((host, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_written_in_one_way() {
        for (text, url) in [
            ("http://127.0.0.1:2379", "http://127.0.0.1:2379"),
            ("https://etcd-0.Example.org/", "https://etcd-0.example.org:2379"),
            ("http://[::1]", "http://[::1]:2379"),
            ("http://[fe80::1]:1", "http://[fe80::1]:1"),
        ] {
            assert_eq!(endpoints(text).unwrap()[0].url, url);
        }
        let list = endpoints("http://a, http://b:1").unwrap();
        assert_eq!(shown(&list), "http://a:2379,http://b:1");
        assert_eq!(endpoints(&shown(&list)), Ok(list));
    }

    #[test]
    fn what_is_none_is_refused_with_the_rule() {
        for (text, what) in [
            ("", "an endpoint is empty"),
            ("http://a,", "an endpoint is empty"),
            ("127.0.0.1:2379", "an endpoint has no scheme"),
            ("ftp://a", "the scheme \"ftp\" is not one that etcd speaks"),
            ("unix://a", "Unix sockets of etcd are not supported"),
            ("http://root:pw@a", "an endpoint holds no user and no password; --user is for that"),
            ("http://a/v3", "\"/v3\" does not belong to an endpoint"),
            ("http://:1", "an endpoint has no host"),
            ("http://a:0", "the port \"0\" is not a number from 1 to 65535"),
            ("http://a:", "the port \"\" is not a number from 1 to 65535"),
            ("http://::1:2379", "an endpoint has no host"),
            ("http://fe80::1:2379", "the IPv6 address \"fe80::1:2379\" needs brackets"),
            ("http://[::1", "the bracket of \"[::1\" is not closed"),
            ("http://[x]", "\"x\" is not an IPv6 address"),
            ("http://[::1]x", "\"x\" stands behind the bracket"),
            ("http://a b", "' ' is not part of a host's name"),
            ("http://a,http://A:2379/", "http://a:2379 is in it twice"),
            ("http://a,https://b", "some begin with http:// and some with https://"),
        ] {
            assert_eq!(endpoints(text).unwrap_err().what, what, "{text}");
        }
    }

    #[test]
    fn a_password_is_not_repeated_whatever_else_is_wrong() {
        for text in [
            "http://root:secret@a",
            "root:secret@a:2379",
            "etcd://root:secret@a",
            "unix://root:secret@a",
            "root:secret@http://a",
            "http://root:sec,ret@a",
            "a,http://root:secret@b",
            ",http://root:secret@b",
        ] {
            let refusal = endpoints(text).unwrap_err();
            assert!(refusal.hides_text, "{text}");
            assert!(!format!("{refusal:?}").contains("sec"), "{refusal:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(https?://)?(\\[|\\]|:|/|@|,|[a-f0-9]|\\PC){0,20}") {
            if let Ok(list) = endpoints(&text) {
                proptest::prop_assert_eq!(endpoints(&shown(&list)), Ok(list));
            }
        }
    }
}
