//! Texts with the URLs of voters.

use std::fmt;

use tenure::driver::host_and_port;
use tenure_core::voter::{Listed, VoterUrl};

use crate::settings::{Refusal, parse};

/// The voter's own URL, or only the path of that URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallAddress {
    Url(VoterUrl),
    /// The path; the address is that of `--listen`.
    Path(String),
}

impl fmt::Display for CallAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::Path(path) => f.write_str(path),
        }
    }
}

/// Reads `http://10.0.0.1:7001/voter`, or `/voter`.
pub(super) fn called(text: &str) -> Result<CallAddress, Refusal> {
    let fix = "write http:// or https:// with a host and, where needed, a port and a path, such \
               as http://10.0.0.1:7001; or the path alone, such as /voter";
    if text.contains("://") {
        return url(text).map(CallAddress::Url);
    }
    let right = text.starts_with('/') && !text.contains(['?', '#', ' ', '@']);
    if right && !text.chars().any(char::is_control) {
        Ok(CallAddress::Path(text.to_owned()))
    } else {
        Err(Refusal::new("it is neither a URL nor a path that begins with a slash", fix))
    }
}

fn url(text: &str) -> Result<VoterUrl, Refusal> {
    let fix = "write http:// or https:// with a host and, where needed, a port and a path, such \
               as http://10.0.0.1:7001";
    // Check for `@` first: other refusals repeat the text, with the password in it.
    if text.contains('@') {
        let fix = "remove the user and the password; --secret-file is for secrets";
        return Err(Refusal::of_secret("a voter's URL must not hold a user or a password", fix));
    }
    let url = VoterUrl::new(text).map_err(|error| Refusal::new(error.to_string(), fix))?;
    if text.contains(['?', '#']) {
        return Err(Refusal::new("a voter's URL has no query and no fragment", fix));
    }
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // Refuse other separators: with these, a list would be one long URL.
    if let Some(c) = rest.chars().find(|c| "=,;|&<>\"\\".contains(*c)) {
        let fix = "write a comma between two voters, and nothing else";
        return Err(Refusal::new(format!("a voter's URL holds no {c:?}"), fix));
    }
    if path.contains("//") {
        return Err(Refusal::new("a voter's URL has no empty part in its path", fix));
    }
    if !is_authority(authority) {
        let what = format!("{authority:?} is no host with a port from 1 to 65535");
        return Err(Refusal::new(what, fix));
    }
    Ok(url)
}

/// Whether `text` is a host by name or address, with or without a port.
fn is_authority(text: &str) -> bool {
    // For a host without a port, check with any port.
    host_and_port(text).is_some() || host_and_port(&format!("{text}:1")).is_some()
}

/// Reads `west=http://10.0.0.1:7001,east=…`, or a list of JSON objects as in the source.
pub(super) fn voters(text: &str) -> Result<Vec<Listed>, Refusal> {
    if text.trim().is_empty() {
        let fix = "write ID=URL for each voter, with commas between, or remove --voter-list";
        return Err(Refusal::new("the list is empty", fix));
    }
    let list = if text.trim_start().starts_with('[') {
        json(text)?
    } else {
        text.split(',').map(one).collect::<Result<_, _>>()?
    };
    list.iter().try_for_each(|listed| url(listed.url.as_str()).map(drop))?;
    let mut ids: Vec<_> = list.iter().map(|listed| &listed.id).collect();
    ids.sort();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        let what = format!("voter {} is in the list twice", pair[0]);
        return Err(Refusal::new(what, "name each voter once, each with a name of its own"));
    }
    let called = |listed: &Listed| listed.url.as_str().trim_end_matches('/').to_ascii_lowercase();
    let mut by_url: Vec<_> = list.iter().map(|listed| (called(listed), &listed.id)).collect();
    by_url.sort();
    match by_url.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let what =
                format!("voters {} and {} have the same URL, {}", pair[0].1, pair[1].1, pair[0].0);
            Err(Refusal::new(what, "give each voter a URL of its own"))
        }
        None => Ok(list),
    }
}

fn one(text: &str) -> Result<Listed, Refusal> {
    let Some((id, at)) = text.split_once('=') else {
        let fix = "write ID=URL for each voter, such as west=http://10.0.0.1:7001, with commas \
                   between them";
        return Err(Refusal::new(format!("the voter {text:?} has no `=`"), fix));
    };
    Ok(Listed { id: parse::node(id.trim())?, url: url(at.trim())? })
}

#[cfg(feature = "voter")]
fn json(text: &str) -> Result<Vec<Listed>, Refusal> {
    let fix = "write ID=URL,ID=URL, or JSON as RFC 8259 has it, with one object for each voter";
    let read = tenure_voter::wire::read_voter_list(text);
    let list = read.map_err(|error| Refusal::new(error.to_string(), fix))?;
    list.iter().try_for_each(|listed| url(listed.url.as_str()).map(drop))?;
    Ok(list)
}

/// Never runs: a build without the protocol has refused the setting before.
#[cfg(not(feature = "voter"))]
fn json(_: &str) -> Result<Vec<Listed>, Refusal> {
    Err(Refusal::new("this tenure was built without voter", "write ID=URL,ID=URL"))
}

#[expect(clippy::ptr_arg, reason = "the type of the setting")]
pub(super) fn shown(list: &Vec<Listed>) -> String {
    let pairs: Vec<_> = list.iter().map(|Listed { id, url }| format!("{id}={url}")).collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_two_forms() {
        let plain = "west=http://10.0.0.1:7001,east=https://east.example/voter";
        assert_eq!(shown(&voters(plain).unwrap()), plain);
        assert_eq!(shown(&voters(" west = http://a , east=http://b").unwrap()).len(), 27);
        #[cfg(feature = "voter")]
        {
            let json = r#"[{"voterId":"west","voterUrl":"http://10.0.0.1:7001"},
                {"voterId":"east","voterUrl":"https://east.example/voter"}]"#;
            assert_eq!(shown(&voters(json).unwrap()), plain);
            // The source has this text as an example.
            let text = r#"[{{"voterId":"region-one-voter"},{"voterUrl":"https://route"}}]"#;
            assert!(voters(text).unwrap_err().what.contains("the voter list"));
        }
    }

    #[test]
    fn wrong_lists_are_refused() {
        for (list, part) in [
            ("", "the list is empty"),
            ("west", "has no `=`"),
            ("west=http://a,", "has no `=`"),
            ("west=a", "URL"),
            ("w st=http://a", "' '"),
            ("west=http://a?b", "no query"),
            ("west=http://u:p@a", "or a password"),
            ("west=http://a,west=http://b", "twice"),
            ("west=http://a;east=http://b", "holds no"),
            ("west=http://a/east=http://b", "holds no"),
            ("west=http://a|east", "holds no"),
            ("west=http://a:70000", "1 to 65535"),
            ("west=http://a:0", "1 to 65535"),
            ("west=http://[::1", "1 to 65535"),
            ("west=http://a:", "1 to 65535"),
            ("west=http://::1:7001", "1 to 65535"),
            ("west=http://a//b", "no empty part"),
            ("west=http://a:1,east=http://A:1/", "the same URL"),
        ] {
            let told = voters(list).unwrap_err();
            assert!(told.what.contains(part), "{list}: {}", told.what);
            assert_eq!(told.hides_text, list.contains('@'));
        }
    }

    #[test]
    fn url_is_whole_or_path() {
        assert_eq!(called("/voter"), Ok(CallAddress::Path("/voter".into())));
        assert!(matches!(called("https://a:1/voter"), Ok(CallAddress::Url(_))));
        assert!(matches!(called("https://[2001:db8::1]:7001/voter"), Ok(CallAddress::Url(_))));
        for wrong in ["", "voter", "ftp://a", "/a b", "/a?b", "http://u@a"] {
            assert!(called(wrong).is_err(), "{wrong}");
        }
    }
}
