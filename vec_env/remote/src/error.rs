//! What can go wrong between a client and its server, each in a line.

use std::time::Duration;

use vec_env::EnvError;

use crate::messages;

/// An error of a client. Its message is one line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RemoteError {
    /// An address that is none.
    #[error("{0:?} is no address: HOST:PORT, [IPV6]:PORT or unix:PATH")]
    Address(String),
    /// An address of another machine, and no encryption.
    #[error(
        "{0} may be another machine: give Server::ca_file, or Server::tls, to encrypt what is sent (this crate's feature \
         `tls`), or forward a port of 127.0.0.1 by ssh"
    )]
    Unencrypted(String),
    /// A token that no header carries.
    #[error("a token is printable ASCII without spaces")]
    Token,
    /// Certificates that cannot be used.
    #[error("TLS to {address}: {reason}")]
    Tls {
        /// Of the server.
        address: String,
        /// What is in the way.
        reason: String,
    },
    /// Nobody listens there.
    #[error("no server at {address}: {details}")]
    Absent {
        /// Where.
        address: String,
        /// What the network says.
        details: String,
    },
    /// The server does not serve this client: another token, too many clients, another service.
    #[error("the server at {address}: {reason}")]
    Refused {
        /// Of the server.
        address: String,
        /// Why.
        reason: String,
    },
    /// The connection has ended, and with it what the client had.
    #[error("the server at {address}: {details}")]
    Lost {
        /// Of the server.
        address: String,
        /// How.
        details: String,
    },
    /// A reply took longer than [`Server::timeout`](crate::Server::timeout), and the connection was given up.
    #[error("the server at {address} gave no answer for {} s", .waited.as_secs_f64())]
    Silent {
        /// Of the server.
        address: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A reply was not there in the time that a call may take; it can be waited for again.
    #[error("not ready in time")]
    Timeout,
    /// The server's own code refused a request, or failed.
    #[error("{}", .0.message)]
    Failed(Box<Failure>),
    /// The server sent what cannot be.
    #[error("the server at {address} sent {what}")]
    Broken {
        /// Of the server.
        address: String,
        /// What that is.
        what: String,
    },
    /// What this crate does not carry, or what a policy does not take.
    #[error("{0}")]
    Unsupported(String),
    /// [`RemotePolicy::close`](crate::RemotePolicy::close) was called before, or the connection ended.
    #[error("the connection is closed")]
    Closed,
}

/// An exception of the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// Its name, such as `ValueError`.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// Of a `WorkerError`: which environments failed.
    pub env_ids: Vec<usize>,
    /// Why.
    pub reason: String,
    /// What they were doing.
    pub doing: String,
    /// Where in the server's code, if it says so.
    pub traceback: Option<String>,
}

impl RemoteError {
    /// Whether the connection is gone for good.
    pub(crate) fn is_end(&self) -> bool {
        !matches!(self, Self::Timeout | Self::Failed(_) | Self::Unsupported(_))
    }
}

impl From<messages::Failure> for RemoteError {
    fn from(failure: messages::Failure) -> Self {
        Self::Failed(Box::new(Failure {
            kind: failure.kind,
            message: failure.message.lines().collect::<Vec<_>>().join(" "),
            env_ids: failure.env_ids.into_iter().map(|id| id as usize).collect(),
            reason: failure.reason,
            doing: failure.doing,
            traceback: Some(failure.traceback).filter(|text| !text.is_empty()),
        }))
    }
}

impl From<RemoteError> for EnvError {
    fn from(error: RemoteError) -> Self {
        let message = error.to_string();
        match error {
            RemoteError::Timeout => Self::Timeout,
            RemoteError::Closed => Self::Closed,
            RemoteError::Unsupported(_) => Self::Unsupported(message),
            RemoteError::Failed(failure) => (*failure).into(),
            _ => Self::Backend {
                message,
                details: None,
                is_usage: true,
            },
        }
    }
}

impl From<Failure> for EnvError {
    fn from(failure: Failure) -> Self {
        match failure.kind.as_str() {
            "ClosedError" => Self::Closed,
            "StepTimeoutError" => Self::Timeout,
            "UnsupportedError" => Self::Unsupported(failure.message),
            "PendingStepError" | "NoPendingStepError" | "ResetNeededError" => {
                Self::Order(failure.message)
            }
            "WorkerError" => Self::Worker {
                env_indices: failure.env_ids,
                doing: failure.doing,
                message: failure.reason,
                details: failure.traceback,
            },
            kind => Self::Backend {
                is_usage: matches!(kind, "ValueError" | "TypeError"),
                message: failure.message,
                details: failure.traceback,
            },
        }
    }
}
