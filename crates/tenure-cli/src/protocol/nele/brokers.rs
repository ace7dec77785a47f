//! Addresses of brokers: hosts and ports, without schemes.

use tenure::driver::host_and_port;

use crate::settings::Refusal;

const RULE: &str = "write HOST:PORT for each, such as kafka-1:9092,kafka-2:9092";

/// Reads `kafka-1:9092,[fd00::7]:9092`.
pub(super) fn list(text: &str) -> Result<Vec<String>, Refusal> {
    // Check for `@` first: other refusals repeat the text, with the password in it.
    if text.contains('@') {
        let what = "a broker must not hold a user or a password; --user is for that";
        return Err(Refusal::of_secret(what, RULE));
    }
    let mut list: Vec<String> = Vec::new();
    for one in text.split(',').map(str::trim) {
        if let Some((scheme, _)) = one.split_once("://") {
            let what = format!("a broker has no scheme, but an address begins with {scheme}://");
            let fix = format!("{RULE}; --cacert is for TLS and --user for a login");
            return Err(Refusal::new(what, fix));
        }
        if host_and_port(one).is_none() {
            return Err(Refusal::new(format!("{one:?} is no host and port"), RULE));
        }
        if list.iter().any(|other| other.eq_ignore_ascii_case(one)) {
            let what = format!("{one} is in the list twice");
            return Err(Refusal::new(what, "name each broker once"));
        }
        list.push(one.to_owned());
    }
    Ok(list)
}

/// Writes a list in the form that [`list`] reads.
#[expect(clippy::ptr_arg, reason = "the type of the setting")]
pub(super) fn shown(list: &Vec<String>) -> String {
    list.join(",")
}
