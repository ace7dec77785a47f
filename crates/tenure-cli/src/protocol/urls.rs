//! Lists of URLs of a protocol's servers.

use tenure::driver::{ServerUrl, UrlForm};

use crate::settings::Refusal;

/// Writes a list in the form that [`list`] reads.
#[must_use]
#[expect(clippy::ptr_arg, reason = "the type of the setting")]
pub fn shown(list: &Vec<ServerUrl>) -> String {
    list.iter().map(ServerUrl::as_str).collect::<Vec<_>>().join(",")
}

/// Reads `http://10.0.0.1:2379,http://10.0.0.2`; an address without a port gets the default port.
pub fn list(form: &UrlForm, text: &str) -> Result<Vec<ServerUrl>, Refusal> {
    let UrlForm { what, service, plain, secure, rule, .. } = *form;
    // Check for `@` first: other refusals repeat the text, with the password in it.
    if text.contains('@') {
        let what = format!("{what} must not hold a user or a password; --user is for that");
        return Err(Refusal::of_secret(what, rule));
    }
    let mut list: Vec<ServerUrl> = Vec::new();
    let are_several = text.contains(',');
    for one in text.split(',') {
        if one.trim().is_empty() && are_several {
            return Err(Refusal::new(format!("{what} is empty"), "remove the extra comma"));
        }
        let one = form.read(one.trim()).map_err(|error| Refusal::new(error.what, error.fix))?;
        if list.contains(&one) {
            let fix = format!("name each server of {service} once");
            return Err(Refusal::new(format!("{one} is in the list twice"), fix));
        }
        if list.first().is_some_and(|first| first.is_secure() != one.is_secure()) {
            let what = format!("some begin with {plain}:// and some with {secure}://");
            let fix = format!("give every address the scheme that {service} speaks");
            return Err(Refusal::new(what, fix));
        }
        list.push(one);
    }
    Ok(list)
}
