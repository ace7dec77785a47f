//! Authentication: a MAC by a shared secret over each request and each answer (V11).
//!
//! With a secret a request carries
//!
//! ```text
//! Authorization: TENURE-HMAC-SHA256 date=1790000000, nonce=0123…, mac=89ab…
//! ```
//!
//! `date` is in seconds since 1970. `nonce` is 32 hexadecimal digits that were never used before.
//! `mac` is HMAC-SHA-256 in hexadecimal digits, over these lines, each ended by a line feed, and
//! then the body:
//!
//! | request | answer |
//! |---|---|
//! | `tenure-voter request 1` | `tenure-voter answer 1` |
//! | the method, as `POST` | the request's nonce |
//! | the path below the voter URL with its query, as `/status?suspect=a` | the status, as `200` |
//! | the date | |
//! | the nonce | |
//! | five headers: `Tenure-Election`, `-Mode`, `-Voter`, `-Voter-Url`, `-Founding` | the same |
//! | `Tenure-To`: the `voter-url` of the request | |
//!
//! An absent header is an empty line. An answer to a request with a right MAC carries a MAC by the
//! same secret, in `Tenure-Mac`.
//!
//! A voter refuses a request whose date is further than [`WINDOW`] from the voter's clock, or
//! earlier than the voter's start. A voter also refuses a request that it has carried out before:
//! the voter remembers each nonce for twice the window. Only the voter in `Tenure-To` accepts a
//! request that changes the voter's state; a request to a seed may name the seed's URL instead.
//!
//! # What authentication does not do
//!
//! Bodies travel in the clear, unless TLS is used. An attacker that captures a request to a voter
//! in the second of the voter's start can replay that request once. Each holder of the secret can
//! take part.

mod mac;
mod replay;
mod secret;
#[cfg(test)]
mod tests;

use std::sync::Mutex;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use tenure_core::{Time, WallTime};

use self::mac::Stamp;
pub(crate) use self::replay::room;
use self::replay::{NonceState, Replays};
pub use self::secret::{SecretError, Secrets};
use crate::wire::Problem;

/// The largest difference between the clocks of two voters, the time of the request included.
pub const WINDOW: Duration = Duration::from_secs(30);

const MAC: HeaderName = HeaderName::from_static("tenure-mac");

/// The parts of a request that its MAC covers.
#[derive(Clone, Copy)]
pub(crate) struct SignedRequest<'a> {
    pub(crate) method: &'a str,
    /// The path below the voter URL, with the query.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

/// The proof of a request's sender. The answer is authenticated by the same proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Proof {
    /// The request needs no MAC: TLS shows the sender, or no authentication is configured.
    Elsewhere,
    /// The sender is not known.
    None,
    /// The sender has the secret of this number.
    Secret { number: usize, nonce: u128 },
}

/// The reason why a request is refused, and the sender's proof: with a proof, the refusal has a
/// MAC, too.
pub(crate) struct AuthFailure {
    pub(crate) problem: Box<Problem>,
    pub(crate) proof: Proof,
}

pub(crate) struct Guard {
    secrets: Option<Secrets>,
    started: Time,
    replays: Mutex<Replays>,
}

impl Guard {
    /// Without secrets this guard admits every request: TLS or loopback protects the voter.
    ///
    /// `room` is the number of nonces that the guard can remember. The guard knows no requests
    /// before `started`.
    pub(crate) fn new(secrets: Option<Secrets>, room: usize, started: Time) -> Self {
        Self { secrets, started, replays: Mutex::new(Replays::new(room)) }
    }

    /// Whether every sender that reaches the voter may take part.
    pub(crate) const fn is_open(&self) -> bool {
        self.secrets.is_none()
    }

    /// Checks the sender of a request, and that the request is no repetition.
    pub(crate) fn check(
        &self,
        said: SignedRequest<'_>,
        now: Time,
        wall: WallTime,
    ) -> Result<Proof, AuthFailure> {
        let Some(secrets) = &self.secrets else { return Ok(Proof::Elsewhere) };
        let Some(authorization) = said.headers.get(AUTHORIZATION) else { return Ok(Proof::None) };
        let refuse = |why: &str| AuthFailure {
            problem: Problem::new(401, "unauthenticated", why).into(),
            proof: Proof::None,
        };
        let stamp = Stamp::read(authorization).ok_or_else(|| {
            refuse(
                "Authorization must be: TENURE-HMAC-SHA256 date=SECONDS, nonce=32 hexadecimal \
                    digits, mac=64 hexadecimal digits",
            )
        })?;
        let number = secrets.verify_request(said, &stamp).ok_or_else(|| {
            refuse(
                "the MAC fits none of this voter's secrets: the secrets differ, or the request \
                    was changed on its way",
            )
        })?;
        let proof = Proof::Secret { number, nonce: stamp.nonce };
        match self.is_new(&stamp, now, wall) {
            Ok(()) => Ok(proof),
            Err(problem) => Err(AuthFailure { problem: problem.into(), proof }),
        }
    }

    /// Whether a request with a right MAC is recent and no repetition.
    fn is_new(&self, stamp: &Stamp, now: Time, wall: WallTime) -> Result<(), Problem> {
        let seconds = seconds(wall);
        if stamp.date.abs_diff(seconds) > WINDOW.as_secs() {
            let detail = format!(
                "the request is dated {}, and this voter's clock shows {seconds}, {} s apart; at \
                 most {} s are allowed: set the clocks",
                stamp.date,
                stamp.date.abs_diff(seconds),
                WINDOW.as_secs()
            );
            return Err(Problem::new(401, "clock", detail));
        }
        // Convert the time of the start to the present wall clock: that clock may have been set
        // since the start.
        let started = self::seconds(wall.before(now.since(self.started)));
        if stamp.date < started {
            let detail = format!(
                "the request is dated {}, and this voter started later, at {}: it cannot know \
                 whether such a request was carried out already. Sign the request again, or set \
                 the clocks if the request is new",
                stamp.date, started
            );
            return Err(Problem::new(401, "clock", detail));
        }
        // No code panics in the middle of a change under this lock, so a panic elsewhere leaves the
        // set complete.
        let mut replays = self.replays.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match replays.see(stamp.nonce, now) {
            NonceState::New => Ok(()),
            NonceState::Before => {
                let detail = "a request with this nonce was carried out already: draw a new nonce";
                Err(Problem::new(401, "replayed", detail))
            }
            NonceState::Full => {
                let detail = format!(
                    "more than {} requests within {} s: ask later",
                    replays.room,
                    replay::REMEMBERED.as_secs()
                );
                Err(Problem::new(503, "busy", detail))
            }
        }
    }

    /// Authenticates an answer like its request.
    pub(crate) fn sign_answer(
        &self,
        proof: &Proof,
        status: u16,
        headers: &mut HeaderMap,
        body: &[u8],
    ) {
        if let (Proof::Secret { number, nonce }, Some(secrets)) = (proof, &self.secrets) {
            let mac = secrets.answer(*number, *nonce, status, headers, body);
            if let Ok(mac) = HeaderValue::from_str(&mac) {
                headers.insert(MAC, mac);
            }
        }
    }
}

fn seconds(wall: WallTime) -> u64 {
    wall.as_nanos() / 1_000_000_000
}

impl Secrets {
    /// Authenticates a request, by the first secret.
    pub(crate) fn sign(
        &self,
        method: &str,
        path: &str,
        wall: WallTime,
        nonce: u128,
        headers: &mut HeaderMap,
        body: &[u8],
    ) {
        let date = seconds(wall);
        let value = self.request(SignedRequest { method, path, headers, body }, date, nonce);
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(AUTHORIZATION, value);
        }
    }

    /// Whether the answer belongs to the request with this nonce, and comes from a holder of one of
    /// the secrets.
    pub(crate) fn is_answer(
        &self,
        nonce: u128,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> bool {
        let mac = headers.get(MAC).map(HeaderValue::as_bytes);
        mac.is_some_and(|mac| self.verify_answer(mac, nonce, status, headers, body))
    }
}
