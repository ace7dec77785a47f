#!/bin/sh
# This command runs while this machine leads billing. Send $TENURE_FENCE with each write, so that
# the resource can refuse an earlier leader.
exec sleep infinity
