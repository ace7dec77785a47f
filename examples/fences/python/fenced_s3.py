"""Writes an object to S3, unless a later leader has written it.

    tenure run --election report … -- python3 fenced_s3.py reports today.csv < today.csv
"""

import os
import sys

import boto3
from botocore.exceptions import ClientError

ATTEMPTS = 5


def fence_and_condition(s3, bucket, key):
    """The fence of the present object, and the condition that no other write comes between."""
    try:
        head = s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] == "404":
            return 0, {"IfNoneMatch": "*"}
        raise
    return int(head["Metadata"].get("fence", 0)), {"IfMatch": head["ETag"]}


def main(bucket, key):
    election, fence = os.environ["TENURE_ELECTION"], int(os.environ["TENURE_FENCE"])
    body, s3 = sys.stdin.buffer.read(), boto3.client("s3")
    for _ in range(ATTEMPTS):
        known, condition = fence_and_condition(s3, bucket, key)
        if known > fence:
            sys.exit(f"a later leader of {election} has written: fence {fence} is over")
        try:
            metadata = {"fence": str(fence)}
            s3.put_object(Bucket=bucket, Key=key, Body=body, Metadata=metadata, **condition)
            return
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("PreconditionFailed", "ConditionalRequestConflict"):
                raise
    sys.exit(f"{bucket}/{key} was written {ATTEMPTS} times meanwhile")


main(*sys.argv[1:])
