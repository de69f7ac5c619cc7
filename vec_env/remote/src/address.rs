//! [`Address`]: where a server listens, and whether what is sent there leaves this machine.

use std::{fmt, net::IpAddr, path};

use crate::error::RemoteError;

/// Most bytes of the path of a Unix socket.
const MOST_PATH_BYTES: usize = 107;

/// `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    /// # Errors
    /// [`RemoteError::Address`] for what is none.
    pub(crate) fn parse(text: &str) -> Result<Self, RemoteError> {
        let refuse = || Err(RemoteError::Address(text.to_owned()));
        if let Some(path) = text.strip_prefix("unix:") {
            let Ok(absolute) = path::absolute(path) else {
                return refuse();
            };
            if path.contains('\0') || absolute.as_os_str().len() > MOST_PATH_BYTES {
                return refuse();
            }
            return Ok(Self(format!("unix:{}", absolute.display())));
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            return refuse();
        };
        let is_bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        let is_port =
            port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok();
        let is_host = |letter: char| letter.is_ascii_alphanumeric() || ".-_[]:".contains(letter);
        if host.is_empty() || !is_port || is_bare_ipv6 || !host.chars().all(is_host) {
            return refuse();
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether nothing that is sent there leaves this machine.
    pub(crate) fn stays_here(&self) -> bool {
        if self.0.starts_with("unix:") {
            return true;
        }
        let host = self.0.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// As gRPC names it, with or without TLS.
    pub(crate) fn uri(&self, tls: bool) -> String {
        match (self.0.starts_with("unix:"), tls) {
            (true, _) => self.0.clone(),
            (false, false) => format!("http://{}", self.0),
            (false, true) => format!("https://{}", self.0),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_are_those_of_the_python_client() {
        for good in [
            "127.0.0.1:1",
            "[::1]:50051",
            "localhost:0",
            "host.example:65535",
            "unix:a b",
        ] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
        let long = format!("unix:/{}", "a".repeat(107));
        for bad in [
            "",
            "host",
            ":1",
            "host:",
            "host:65536",
            "host:+1",
            "::1:5",
            "http://a:1",
            "a/b:1",
            "unix:",
            &long,
        ] {
            let error = Address::parse(bad).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{bad:?} is no address: HOST:PORT, [IPV6]:PORT or unix:PATH")
            );
        }
    }

    #[test]
    fn loopback_and_sockets_stay_here() {
        let stays = |text: &str| Address::parse(text).unwrap().stays_here();
        assert!(
            ["localhost:1", "127.8.0.1:1", "[::1]:1", "unix:x"]
                .into_iter()
                .all(stays)
        );
        assert!(
            ![
                "0.0.0.0:1",
                "192.168.0.2:1",
                "[::2]:1",
                "localhost.example:1"
            ]
            .into_iter()
            .any(stays)
        );
    }
}
