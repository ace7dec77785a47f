//! Answers that take a while.

use std::pin::Pin;

/// Something that is there later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What is there already.
#[must_use]
pub fn at_once<'a, T: 'a>(value: T) -> Later<'a, T> {
    Box::pin(std::future::ready(value))
}
