//! [`Server`]: where a server is, and how it is talked to.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tonic::transport::Endpoint;

use crate::{address::Address, error::RemoteError};

const TOKEN_VARIABLE: &str = "ATARI_WRAPPERS_TOKEN";
const CA_VARIABLE: &str = "ATARI_WRAPPERS_CA_FILE";
/// A server that is gone without a word, as behind a cut cable, is told within twice this.
const PING: Duration = Duration::from_secs(10);
/// How much may be under way before the reader has taken it: the observations of a large batch.
const WINDOW_BYTES: u32 = 1 << 23;

type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// Where a server is, who asks, and how long is waited for it.
#[derive(Clone)]
pub struct Server {
    address: String,
    token: Option<String>,
    tls: bool,
    ca_file: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) reconnect: Duration,
    pub(crate) listener: Option<Listener>,
}

impl Server {
    /// The server at `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`.
    #[must_use]
    pub fn at(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            token: None,
            tls: false,
            ca_file: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(300),
            reconnect: Duration::ZERO,
            listener: None,
        }
    }

    /// The server's token; by default that of the environment variable `ATARI_WRAPPERS_TOKEN`.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Encrypt, and check the server's certificate against those that this machine trusts. It needs the feature `tls`.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Encrypt, and check the server's certificate against those of a PEM file; by default, for other machines, that of
    /// the environment variable `ATARI_WRAPPERS_CA_FILE`. It needs the feature `tls`.
    #[must_use]
    pub fn ca_file(mut self, path: impl AsRef<Path>) -> Self {
        self.ca_file = Some(path.as_ref().to_owned());
        self
    }

    /// How long the server may take to be there; 5 seconds by default.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long a reply may take before the server is given up; 300 seconds by default.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How long a connection that is lost is made anew, while the server keeps what the client has; its own limit is
    /// `--keep-lost`. By default not at all, and a client that is lost leaves nothing.
    #[must_use]
    pub fn reconnect(mut self, limit: Duration) -> Self {
        self.reconnect = limit;
        self
    }

    /// Who is told, in a line each, that a connection is lost, and that it is back.
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// # Errors
    /// [`RemoteError::Address`].
    pub(crate) fn address(&self) -> Result<Address, RemoteError> {
        Address::parse(&self.address)
    }

    /// What the header `authorization` says, if there is a token.
    ///
    /// # Errors
    /// [`RemoteError::Token`].
    pub(crate) fn authorization(&self) -> Result<Option<String>, RemoteError> {
        let token = self.token.clone().or_else(|| env::var(TOKEN_VARIABLE).ok());
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        if token.bytes().all(|letter| letter.is_ascii_graphic()) {
            return Ok(Some(format!("Bearer {token}")));
        }
        Err(RemoteError::Token)
    }

    /// What connects to the server.
    ///
    /// # Errors
    /// [`RemoteError::Address`], [`RemoteError::Unencrypted`], [`RemoteError::Tls`].
    pub(crate) fn endpoint(&self) -> Result<Endpoint, RemoteError> {
        let address = self.address()?;
        let of_variable = || env::var(CA_VARIABLE).ok().filter(|path| !path.is_empty());
        let ca_file = match &self.ca_file {
            None if !address.stays_here() => of_variable().map(PathBuf::from),
            given => given.clone(),
        };
        let is_encrypted = self.tls || ca_file.is_some();
        if !is_encrypted && !address.stays_here() {
            return Err(RemoteError::Unencrypted(self.address.clone()));
        }
        let endpoint = Endpoint::from_shared(address.uri(is_encrypted))
            .map_err(|_| RemoteError::Address(self.address.clone()))?
            .connect_timeout(self.connect_timeout.max(Duration::from_secs(1)))
            .http2_keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES);
        if !is_encrypted {
            return Ok(endpoint);
        }
        let pem = ca_file.map(|path| {
            let say = |error| format!("{}: {error}", path.display());
            fs::read(&path).map_err(say)
        });
        let encrypted = pem.transpose().and_then(|pem| encrypted(endpoint, pem));
        encrypted.map_err(|reason| RemoteError::Tls {
            address: self.address.clone(),
            reason,
        })
    }
}

#[cfg(feature = "tls")]
fn encrypted(endpoint: Endpoint, trusted: Option<Vec<u8>>) -> Result<Endpoint, String> {
    use tonic::transport::{Certificate, ClientTlsConfig};

    let config = match trusted {
        None => ClientTlsConfig::new().with_native_roots(),
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
    };
    let say = |error| crate::call::cause(&error);
    endpoint.tls_config(config).map_err(say)
}

#[cfg(not(feature = "tls"))]
fn encrypted(_: Endpoint, _: Option<Vec<u8>>) -> Result<Endpoint, String> {
    Err("this program was built without the feature `tls` of vec_env_remote".to_owned())
}

impl fmt::Debug for Server {
    /// Without the token.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("address", &self.address)
            .field("tls", &self.tls)
            .field("ca_file", &self.ca_file)
            .field("timeout", &self.timeout)
            .field("reconnect", &self.reconnect)
            .finish_non_exhaustive()
    }
}
