//! Addresses of servers, as people write them.

/// The host and the port of `10.0.0.7:80`, `db-1.example.com:80` or `[fd00::7]:80`, and
/// nothing else: an IPv6 address keeps its brackets, and the port is not 0.
#[must_use]
pub fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':').filter(|(host, _)| is_host(host))?;
    Some((host, port.parse().ok().filter(|port| *port > 0)?))
}

/// A name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let is_right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            !host.is_empty() && host.len() <= 253 && host.chars().all(is_right)
        }
    }
}

/// The given text on one line of bounded length, for an error that repeats it.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    text.chars().take(256).flat_map(char::escape_default).collect()
}
