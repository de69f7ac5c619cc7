//! The messages of `batches.proto`, which says what they mean.
//!
//! They are what `protoc-gen-prost` 0.5 makes of it. In the folder of the project:
//!   `python -m grpc_tools.protoc -I. --prost_out=vec_env/remote/messages --prost_opt=bytes=.,flat_output_dir
//!   atari_wrappers/remote/batches.proto`
#![allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    missing_docs,
    reason = "it is generated"
)]

include!("../messages/atari_wrappers.batches.v1.rs");
