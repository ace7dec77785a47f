//! The bytes that a MAC covers.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;

use super::SignedRequest;
use super::secret::Secrets;
use crate::wire::names;

const SCHEME: &str = "TENURE-HMAC-SHA256 ";

pub(super) struct Stamp {
    pub(super) date: u64,
    pub(super) nonce: u128,
    mac: [u8; 32],
}

impl Stamp {
    pub(super) fn read(value: &HeaderValue) -> Option<Self> {
        let mut parts = value.to_str().ok()?.strip_prefix(SCHEME)?.split(',').map(str::trim);
        let date = digits(parts.next()?.strip_prefix("date=")?)?.parse().ok()?;
        let nonce = unhex::<16>(parts.next()?.strip_prefix("nonce=")?.as_bytes())?;
        let mac = unhex::<32>(parts.next()?.strip_prefix("mac=")?.as_bytes())?;
        let stamp = Self { date, nonce: u128::from_be_bytes(nonce), mac };
        parts.next().is_none().then_some(stamp)
    }
}

impl Secrets {
    /// The `Authorization` of a request, by the first secret.
    pub(super) fn request(&self, said: SignedRequest<'_>, date: u64, nonce: u128) -> String {
        let mac = hmac::sign(self.first(), &request_bytes(said, date, nonce));
        format!("{SCHEME}date={date}, nonce={nonce:032x}, mac={}", hex(mac.as_ref()))
    }

    /// Returns the number of the secret that authenticates the request.
    pub(super) fn verify_request(&self, said: SignedRequest<'_>, stamp: &Stamp) -> Option<usize> {
        let bytes = request_bytes(said, stamp.date, stamp.nonce);
        self.all().iter().position(|key| hmac::verify(key, &bytes, &stamp.mac).is_ok())
    }

    pub(super) fn answer(
        &self,
        number: usize,
        nonce: u128,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> String {
        let key = self.all().get(number).unwrap_or_else(|| self.first());
        hex(hmac::sign(key, &answer_bytes(nonce, status, headers, body)).as_ref())
    }

    pub(super) fn verify_answer(
        &self,
        mac: &[u8],
        nonce: u128,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> bool {
        let Some(mac) = unhex::<32>(mac) else { return false };
        let bytes = answer_bytes(nonce, status, headers, body);
        self.all().iter().any(|key| hmac::verify(key, &bytes, &mac).is_ok())
    }
}

/// The bytes of a request. No part but the body, which comes last, can hold a line feed. So two
/// different requests never have the same bytes.
fn request_bytes(said: SignedRequest<'_>, date: u64, nonce: u128) -> Vec<u8> {
    let SignedRequest { method, path, headers, body } = said;
    let head = format!("tenure-voter request 1\n{method}\n{path}\n{date}\n{nonce:032x}\n");
    with_headers(head, &[&names::ALL[..], &[names::TO]].concat(), headers, body)
}

fn answer_bytes(nonce: u128, status: u16, headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let head = format!("tenure-voter answer 1\n{nonce:032x}\n{status}\n");
    with_headers(head, &names::ALL, headers, body)
}

fn with_headers(head: String, names: &[HeaderName], headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let mut bytes = head.into_bytes();
    for name in names {
        bytes.extend_from_slice(headers.get(name).map_or(b"", HeaderValue::as_bytes));
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(body);
    bytes
}

fn digits(text: &str) -> Option<&str> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then_some(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to memory cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(bytes)
}
