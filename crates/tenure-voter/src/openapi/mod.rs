//! The description of all requests and answers, which is served.
//!
//! The description is kept by hand, because people read it; tests compare it with the messages.

#[cfg(test)]
pub(crate) mod check;

/// OpenAPI 3.1.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");
