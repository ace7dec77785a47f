//! Properties of the client library, librdkafka, by their names in the library.

use crate::settings::Refusal;

/// Names and values in the given order.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Properties(pub Vec<(String, String)>);

impl std::fmt::Debug for Properties {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Properties({})", shown(self))
    }
}

/// Properties that never hold secrets; a name that ends in a dot stands for all names that begin
/// with it.
const HARMLESS: &[&str] = &[
    "acks",
    "api.version.",
    "auto.",
    "batch.",
    "broker.address.",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.",
    "connections.max.idle.ms",
    "debug",
    "delivery.",
    "enable.",
    "fetch.",
    "group.",
    "heartbeat.",
    "isolation.level",
    "linger.ms",
    "log.",
    "max.",
    "message.",
    "metadata.",
    "partition.assignment.strategy",
    "queue.",
    "queued.",
    "receive.message.max.bytes",
    "reconnect.",
    "request.",
    "retries",
    "retry.",
    "security.protocol",
    "session.timeout.ms",
    "socket.",
    "ssl.cipher.suites",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.sigalgs.list",
    "statistics.interval.ms",
    "topic.metadata.",
];

/// Property names without a dot.
const WORDS: &[&str] = &["acks", "debug", "log_level", "partitioner", "retries"];

fn is_harmless(name: &str) -> bool {
    let covers = |it: &&str| name == *it || (it.ends_with('.') && name.starts_with(*it));
    HARMLESS.iter().any(covers)
}

/// Whether `text` can be a name; parts of a secret usually cannot.
fn is_name(text: &str) -> bool {
    let is_right = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
    WORDS.contains(&text)
        || (text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(is_right)
            && text.contains('.'))
}

/// Reads `client.rack=b,debug=cgrp,topic`. A part that does not begin with a name and `=` belongs
/// to the value before it.
pub(super) fn parse(text: &str) -> Result<Properties, Refusal> {
    let mut given: Vec<(String, String)> = Vec::new();
    for part in text.split(',') {
        let begins = part.split_once('=').filter(|(name, _)| is_name(name.trim()));
        match (begins, given.last_mut()) {
            (Some((name, value)), _) => {
                given.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            // The text before `=` may be a misspelt name, and the text after `=` a secret.
            (None, Some((name, _))) if part.contains('=') && is_harmless(name) => {
                let fix = "write NAME=VALUE, with commas between several; names are in lower case";
                return Err(Refusal::of_secret("a part of it is not NAME=VALUE", fix));
            }
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(part);
            }
            // The whole text may be a secret with a wrong name.
            (None, None) => {
                let fix = "write NAME=VALUE, with commas between several: client.rack=b";
                return Err(Refusal::of_secret("it is not NAME=VALUE", fix));
            }
        }
    }
    Ok(Properties(given))
}

const NOT_SHOWN: &str = "(not shown)";

/// Writes the properties without possible secrets. Hides the value of the first property that is
/// not known to be harmless, and all further text, because a secret may have commas.
pub(super) fn shown(given: &Properties) -> String {
    let mut shown = Vec::new();
    for (name, value) in &given.0 {
        if !is_harmless(name) {
            shown.push(format!("{name}={NOT_SHOWN}"));
            break;
        }
        shown.push(format!("{name}={value}"));
    }
    if shown.len() < given.0.len() {
        shown.push(NOT_SHOWN.to_owned());
    }
    shown.join(",")
}

impl Properties {
    /// The name of an earlier property whose value may be a secret: the text at `nth` may be a part
    /// of that secret.
    #[cfg(any(feature = "kafka", test))]
    pub(super) fn may_belong_to(&self, nth: usize) -> Option<&str> {
        let mut before = self.0.iter().take(nth).map(|(name, _)| name.as_str());
        before.find(|name| !is_harmless(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_commas_and_secrets_hide() {
        let given = parse("client.rack=b, debug=cgrp,topic,sasl.oauthbearer.client.secret=x");
        let given = given.unwrap();
        let debug = ("debug".to_owned(), "cgrp,topic".to_owned());
        assert_eq!(given.0[1], debug);
        let shown = shown(&given);
        assert!(shown.ends_with("debug=cgrp,topic,sasl.oauthbearer.client.secret=(not shown)"));
        for wrong in ["", "x", "=x", "x,a=b"] {
            assert!(parse(wrong).unwrap_err().hides_text, "{wrong}");
        }
    }

    #[test]
    fn only_harmless_values_are_shown() {
        for secret in [
            "ssl.keystore.pasword=S3cret",
            "ssl.key.password=S3cret,S3cret",
            "ssl.key.password=a,s3cret=S3cret",
            "ssl.key.password=a,S3cret=S3cret,a.s3cret=S3cret",
            "sasl.jaas.config=org.x required username=\"u\" password=\"S3cret\";",
            "sasl.jaas.config=x,password=\"S3cret\"",
            "passphrase.of.mine=S3cret,client.rack=S3cret",
        ] {
            let given = parse(&format!("client.rack=b,{secret}")).unwrap();
            let shown = shown(&given);
            assert!(shown.starts_with("client.rack=b,"), "{shown}");
            assert!(shown.contains("=(not shown)"), "{shown}");
            assert!(!shown.to_lowercase().contains("s3cret"), "{shown}");
            assert!(!format!("{given:?}").contains("S3cret"), "{given:?}");
        }
        for wrong in ["ssl-keystore-password=S3cret", "Ssl.key.password=S3cret", "password=S3cret"]
        {
            let refused = parse(&format!("client.rack=b,{wrong}")).unwrap_err();
            assert!(refused.hides_text, "{wrong}");
        }
        for whole in ["S3cret", "S3cret=", "s3cret==", "s3cret=a"] {
            assert!(parse(whole).unwrap_err().hides_text, "{whole}");
        }
        let given = parse("client.rack=a,ssl.key.password=b,c.d=e").unwrap();
        assert_eq!(given.may_belong_to(1), None);
        assert_eq!(given.may_belong_to(2), Some("ssl.key.password"));
    }
}
