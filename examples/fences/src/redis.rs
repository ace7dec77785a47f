//! Redis: a script compares the fence and writes, in one step.
//!
//! A replica that takes over may have missed the last writes, and the fence with them. Use `WAIT`,
//! or another store, if such a loss matters.

use redis::{Commands, Connection, RedisError, Script};

use crate::Superseded;

// Lua compares numbers exactly only up to 2^53, and texts exactly.
const WRITE: &str = "\
local known = redis.call('GET', KEYS[1])
if known and (#known > #ARGV[1] or #known == #ARGV[1] and known > ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
return 1";

/// Sets `key` to `value`, unless a later leader of `election` has written.
///
/// # Errors
///
/// Errors of the server or of the connection.
pub fn set_as_leader(
    connection: &mut Connection,
    election: &str,
    fence: u64,
    key: &str,
    value: &str,
) -> Result<Result<(), Superseded>, RedisError> {
    let script = Script::new(WRITE);
    let mut call = script.key(format!("fence:{election}"));
    let written: bool = call.key(key).arg(fence).arg(value).invoke(connection)?;
    Ok(if written { Ok(()) } else { Err(Superseded) })
}

/// The value of `key`.
///
/// # Errors
///
/// Errors of the server or of the connection.
pub fn get(connection: &mut Connection, key: &str) -> Result<Option<String>, RedisError> {
    connection.get(key)
}
