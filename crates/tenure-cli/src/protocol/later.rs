//! Futures as boxed values.

use std::pin::Pin;

pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The future of a value that exists already.
#[must_use]
pub fn at_once<'a, T: 'a>(value: T) -> Later<'a, T> {
    Box::pin(std::future::ready(value))
}
