//! Connections of others, for authors of servers: how many there are, and how long they may stall.

mod connection_room;
mod write_timeout;

pub use connection_room::{Place, Room};
pub use write_timeout::WriteTimeout;
