//! Stories about regional voters: a few cores, with a network of HTTP exchanges, clocks and
//! directories that do what the story wants.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]

mod apart;
mod asking;
mod attacks;
mod available;
mod changes;
mod condition;
mod contract;
mod conversations;
mod drawing;
mod founding;
mod leasing;
mod restart;
mod source;
mod stage;
mod strangers;
mod vacancy;
