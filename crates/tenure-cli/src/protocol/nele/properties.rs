//! Settings of the client library, by its own names.

use crate::settings::Refusal;

/// Names and values, in the order in which they were given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Given(pub Vec<(String, String)>);

/// `client.rack=b,debug=cgrp,topic`: what has no `=` belongs to the value before it.
pub(super) fn parse(text: &str) -> Result<Given, Refusal> {
    let mut given: Vec<(String, String)> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), given.last_mut()) {
            (Some((name, value)), _) if !name.trim().is_empty() => {
                given.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(part);
            }
            // The whole may be a secret whose name is wrong.
            _ => {
                let fix = "write NAME=VALUE, with commas between several: client.rack=b";
                return Err(Refusal::of_secret("it is no name and value", fix));
            }
        }
    }
    Ok(Given(given))
}

/// As [`parse`] reads it, but for what may be a secret.
pub(super) fn shown(given: &Given) -> String {
    let hidden = |name: &str| ["secret", "password", "token"].iter().any(|it| name.contains(it));
    let one = |(name, value): &(String, String)| match hidden(name) {
        true => format!("{name}=(not shown)"),
        false => format!("{name}={value}"),
    };
    given.0.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_have_commas_and_a_secret_is_not_shown() {
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
}
