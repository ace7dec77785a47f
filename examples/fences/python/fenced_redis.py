"""Sets a key in Redis, unless a later leader has written.

    tenure run --election prices … -- python3 fenced_redis.py redis://localhost price 42
"""

import os
import sys

import redis

# Redis runs a script as one step. Lua compares numbers exactly only up to 2^53, and texts exactly.
WRITE = """
local known = redis.call('GET', KEYS[1])
if known and (#known > #ARGV[1] or #known == #ARGV[1] and known > ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
return 1
"""


def main(url, key, value):
    election, fence = os.environ["TENURE_ELECTION"], os.environ["TENURE_FENCE"]
    server = redis.Redis.from_url(url)
    if not server.eval(WRITE, 2, f"fence:{election}", key, fence, value):
        sys.exit(f"a later leader of {election} has written: fence {fence} is over")


main(*sys.argv[1:])
