//! The default `--id`: a unique name that shows people where the process runs.

use std::fs;
use std::hash::Hasher;
use std::path::Path;

use siphasher::sip::SipHasher13;
use tenure_core::{NameError, NodeName};

use super::Layers;
use crate::failure::Failure;
use crate::settings::{Setting, table};

/// The first PID namespace of a machine, whose process numbers are unique on it
/// (`PROC_PID_INIT_INO` of `linux/proc_ns.h`).
const MACHINE: &str = "pid:[4026531836]";
/// The 32 letters of a tag, five bits each, all easy to distinguish.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Thirty bits: among 100 containers two collide once in 200,000 starts, and the protocol notices a
/// collision.
const TAG_LETTERS: u32 = 6;

/// The candidate's name from the setting `own` or from `id`. If both are set, they must agree;
/// `None` if neither is set.
pub(crate) fn own(
    layers: &mut Layers<'_>,
    own: &Setting<NodeName>,
) -> Result<Option<NodeName>, Failure> {
    let name = layers.optional(own)?;
    let id = layers.optional(&table::ID)?;
    match (name, id) {
        (Some(name), Some(id)) if name != id => {
            let what = format!("--{} and --id are set, and differ", own.spec.name);
            let fix = format!("set either --{} or --id", own.spec.name);
            Err(layers.origins.usage(what, fix, &[own.spec.name, "id"]))
        }
        (name, id) => Ok(name.or(id)),
    }
}

/// `web-1-4711` for process 4711 of host `web-1`. In a container, where process numbers repeat, the
/// name gets a random tag: `billing-7d9f-1-k3f9qa`.
pub(crate) fn of_this_process() -> Result<NodeName, NameError> {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let process = std::process::id();
    let numbers = fs::read_link("/proc/self/ns/pid").ok();
    let tag = (!is_told_by_number(process, numbers.as_deref())).then(|| tag(random()));
    NodeName::new(&id(&host, process, tag.as_deref()))
}

/// Whether the process number is unique on this host, as far as known.
fn is_told_by_number(process: u32, numbers: Option<&Path>) -> bool {
    process != 1 && numbers.is_some_and(|numbers| numbers.as_os_str() == MACHINE)
}

/// A random number from the hash keys of the standard library, which the system draws for each
/// process.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().build_hasher().finish()
}

fn tag(number: u64) -> String {
    let letter = |nth| char::from(LETTERS[(number >> (5 * nth)) as usize % LETTERS.len()]);
    (0..TAG_LETTERS).map(letter).collect()
}

/// The host's name, cut to its allowed characters and length. A cut name ends in a hash of the
/// whole name.
fn id(host: &str, process: u32, tag: Option<&str>) -> String {
    let behind = match tag {
        Some(tag) => format!("-{process}-{tag}"),
        None => format!("-{process}"),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let room = NodeName::MAX_BYTES - behind.len();
    if host.len() <= room && host.chars().all(allowed) {
        return format!("{host}{behind}");
    }
    let mut hasher = SipHasher13::new();
    hasher.write(host.as_bytes());
    let hash = format!("-{:08x}", hasher.finish() & 0xffff_ffff);
    let host: String =
        host.chars().map(|c| if allowed(c) { c } else { '-' }).take(room - hash.len()).collect();
    format!("{host}{hash}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_has_host_and_process_number() {
        assert!(is_told_by_number(4711, Some(Path::new(MACHINE))));
        assert_eq!(id("web-1", 4711, None), "web-1-4711");
        assert_eq!(id("web-1.example.org", 4711, None), "web-1.example.org-4711");
    }

    #[test]
    fn containers_have_distinct_ids() {
        let theirs = Some(Path::new("pid:[4026532241]"));
        for (process, numbers) in
            [(1, Some(Path::new(MACHINE))), (1, theirs), (7, theirs), (7, None)]
        {
            assert!(!is_told_by_number(process, numbers), "{process} {numbers:?}");
        }
        let ids: Vec<_> = (0..2).map(|_| id("pod", 1, Some(&tag(random())))).collect();
        assert_ne!(ids[0], ids[1]);
        assert_eq!(id("pod", 1, Some(&tag(0x0123_4567))), "pod-1-hmtgua");
        assert_eq!(tag(u64::MAX), "999999");
    }

    #[test]
    fn cut_names_stay_different() {
        let pod = |end: char| format!("{}{end}", "settlement-and-reconciliation-".repeat(3));
        let [a, b] = ['a', 'b'].map(|end| id(&pod(end), 1, Some("k3f9qa")));
        assert_ne!(a, b);
        assert!(a.starts_with("settlement-and-reconciliation-"), "{a}");
        assert!(a.ends_with("-1-k3f9qa"), "{a}");
        assert_eq!(a.len(), NodeName::MAX_BYTES);
    }

    #[test]
    fn any_host_name_makes_an_id() {
        assert_ne!(id("größe", 1, None), id("grüße", 1, None));
        for host in ["", "größe", &"x".repeat(64), &"ü".repeat(64), "(none)"] {
            for tag in [None, Some("zzzzzz")] {
                let id = id(host, u32::MAX, tag);
                assert!(NodeName::new(&id).is_ok(), "{id}");
                assert!(id.contains("-4294967295"), "{id}");
            }
        }
    }
}
