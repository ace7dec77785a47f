"""Adds an entry to a ledger in Postgres, unless a later leader has written.

    tenure run --election billing … -- python3 fenced_postgres.py 'dbname=shop' 'invoice 7'
"""

import os
import sys

import psycopg2

TABLES = """
CREATE TABLE IF NOT EXISTS fences (election text PRIMARY KEY, fence bigint NOT NULL);
CREATE TABLE IF NOT EXISTS ledger (entry text NOT NULL);
"""

# The row stays locked until the end of the transaction: two leaders never write at once.
ADMIT = """
INSERT INTO fences (election, fence) VALUES (%s, %s)
ON CONFLICT (election) DO UPDATE SET fence = excluded.fence WHERE fences.fence <= excluded.fence
"""


def main(database, entry):
    election, fence = os.environ["TENURE_ELECTION"], int(os.environ["TENURE_FENCE"])
    connection = psycopg2.connect(database)
    with connection, connection.cursor() as cursor:
        cursor.execute(TABLES)
    with connection, connection.cursor() as cursor:  # One transaction: the check and the write.
        cursor.execute(ADMIT, (election, fence))
        if cursor.rowcount == 0:
            sys.exit(f"a later leader of {election} has written: fence {fence} is over")
        cursor.execute("INSERT INTO ledger (entry) VALUES (%s)", (entry,))


main(*sys.argv[1:])
