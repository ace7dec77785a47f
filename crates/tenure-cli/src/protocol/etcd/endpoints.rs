use tenure::driver::ServerUrl;

use super::FORM;
use crate::protocol::urls::{self, shown};
use crate::settings::Refusal;

fn endpoints(text: &str) -> Result<Vec<ServerUrl>, Refusal> {
    urls::list(&FORM, text)
}

#[test]
fn endpoint_has_one_form() {
    for (text, url) in [
        ("http://127.0.0.1:2379", "http://127.0.0.1:2379"),
        ("https://etcd-0.Example.org/", "https://etcd-0.example.org:2379"),
        ("http://[::1]", "http://[::1]:2379"),
        ("http://[fe80::1]:1", "http://[fe80::1]:1"),
    ] {
        assert_eq!(endpoints(text).unwrap()[0].as_str(), url);
    }
    let list = endpoints("http://a, http://b:1").unwrap();
    assert_eq!(shown(&list), "http://a:2379,http://b:1");
    assert_eq!(endpoints(&shown(&list)), Ok(list));
}

#[test]
fn wrong_endpoints_name_the_rule() {
    for (text, what) in [
        ("", "an endpoint is empty"),
        ("http://a,", "an endpoint is empty"),
        ("127.0.0.1:2379", "an endpoint has no scheme"),
        ("ftp://a", "the scheme \"ftp\" is not one that etcd speaks"),
        ("unix://a", "Unix sockets of etcd are not supported"),
        ("http://root:pw@a", "an endpoint must not hold a user or a password; --user is for that"),
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
        ("http://a,http://A:2379/", "http://a:2379 is in the list twice"),
        ("http://a,https://b", "some begin with http:// and some with https://"),
    ] {
        assert_eq!(endpoints(text).unwrap_err().what, what, "{text}");
    }
}

#[test]
fn password_is_never_repeated() {
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
