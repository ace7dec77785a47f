//! The description of all requests and answers, which is served.
//!
//! It is kept by hand, because it is read by people; tests hold it against what is written.

#[cfg(test)]
pub(crate) mod check;
#[cfg(test)]
mod run;

/// OpenAPI 3.1.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");
