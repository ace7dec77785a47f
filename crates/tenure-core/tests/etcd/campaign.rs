//! Candidates: keys, queues, wins.
