//! Postgres: the fence is a row, checked in the transaction of the write.

use postgres::{Client, Error, Transaction};

use crate::Superseded;

pub const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS fences (election text PRIMARY KEY, fence bigint NOT NULL)";

const ADMIT: &str = "\
INSERT INTO fences (election, fence) VALUES ($1, $2)
ON CONFLICT (election) DO UPDATE SET fence = excluded.fence WHERE fences.fence <= excluded.fence";

/// Runs `write` in a transaction. After its commit no earlier leader can write. The row of the
/// election stays locked until the end of the transaction, so that two leaders never write at once.
///
/// # Errors
///
/// Errors of the server. After an error nothing was written, unless the commit itself failed.
pub fn write_as_leader(
    client: &mut Client,
    election: &str,
    fence: i64,
    write: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>,
) -> Result<Result<(), Superseded>, Error> {
    let mut transaction = client.transaction()?;
    if transaction.execute(ADMIT, &[&election, &fence])? == 0 {
        return Ok(Err(Superseded));
    }
    write(&mut transaction)?;
    transaction.commit().map(Ok)
}
