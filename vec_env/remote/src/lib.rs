//! Batches of environments, and policies, of another process or machine, without Python in this one.
//!
//! [`RemoteVecEnv`] is a batch that `python -m atari_wrappers serve` makes for this client, behind the trait
//! [`VecEnv`](vec_env::VecEnv); [`RemotePolicy`] asks what `rust_trainer serve-policy` serves. [`Server`] says where, and
//! with which token, limits and encryption:
//!
//! ```no_run
//! use vec_env_remote::{RemoteVecEnv, Server, vec_env::{Actions, StepBatch, VecEnv}};
//!
//! let server = Server::at("127.0.0.1:50051").token("a-token");
//! let mut envs = RemoteVecEnv::connect(&server, 8, &[("preset", "cleanrl".into())])?;
//! let mut obs = vec![0; envs.spec().obs_bytes()];
//! envs.reset(Some(0), &mut obs)?;
//! envs.step(Actions::Discrete(&[1; 8]), &mut obs, &mut StepBatch::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Calls block, as those of every batch do; what the network does meanwhile is done in a thread of each client. The
//! protocol is gRPC's with the messages of `atari_wrappers/remote/batches.proto`.

mod address;
mod call;
mod env;
mod error;
mod messages;
mod policy;
mod server;
mod session;
mod step;
mod values;

pub use env::RemoteVecEnv;
pub use error::{Failure, RemoteError};
pub use policy::{Choice, Decision, Observations, RemotePolicy};
pub use server::Server;
pub use values::Setting;
pub use vec_env;
