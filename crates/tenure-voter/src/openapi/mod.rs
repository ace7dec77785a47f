//! The description of all requests and answers, which the voter serves.
//!
//! People keep and read the description; tests compare it with the messages.

#[cfg(test)]
pub(crate) mod check;

pub(crate) const OPENAPI: &str = include_str!("openapi.json");
