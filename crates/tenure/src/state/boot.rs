//! A key of the boot and its clock: a `Time` on disk has a meaning only under the same key.

use std::path::Path;

use super::error::StateError;

/// A key that differs whenever `CLOCK_BOOTTIME` may have another origin.
///
/// The boot id differs from boot to boot. Within one boot, a process in another time namespace sees
/// the clock with an offset. Numbers of namespaces are reused, so the key contains the offset, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BootKey(String);

impl BootKey {
    /// Reads the key of this process.
    pub fn current() -> Result<Self, StateError> {
        let path = Path::new("/proc/sys/kernel/random/boot_id");
        let boot = std::fs::read_to_string(path)
            .map_err(|source| StateError::Boot { path: path.to_owned(), source })?;
        // Kernels without time namespaces have neither of these files, and one clock for all.
        let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        let offset = offsets.lines().find(|line| line.starts_with("boottime")).unwrap_or_default();
        let parts = [boot.trim(), &namespace.to_string_lossy()];
        let parts = parts.into_iter().chain(offset.split_whitespace());
        Ok(Self(parts.collect::<Vec<_>>().join(" ")))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A key that no machine has, for tests of another boot.
    #[must_use]
    pub fn made_up(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_key_is_stable_within_boot() {
        let key = BootKey::current().unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert!(key.as_str().starts_with(boot.trim()), "{key:?}");
        assert_eq!(key, BootKey::current().unwrap());
    }
}
