//! Leaving: no key stays behind.
