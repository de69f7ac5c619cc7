//! The arithmetic of learning on a CPU: convolutions and large fully connected layers with their gradients
//! ([`Kernels`]), steps of optimizers ([`AdamStep`], [`RmsPropStep`]).
//!
//! Slices in, slices out: no tensors, no settings, and no threads. Who has several threads calls these functions
//! in each of them with a part of the images, or of the parameters. Each is compiled for several
//! [`Instructions`], and gives the same result bit for bit whenever it is called with the same one.

#![expect(
    unsafe_code,
    reason = "functions compiled for one processor, on pointers into slices"
)]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "below the public functions, which check everything, all is unsafe for the same reason"
)]
#![expect(
    clippy::inline_always,
    reason = "what is generic is compiled for the processor by who calls it"
)]

mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod backward;
mod convolution;
mod few_rows;
mod forward;
mod instructions;
mod kernels;
mod of_inputs;
mod of_outputs;
mod of_weights;
mod pack;
mod plain;
mod steps;
mod tile;
mod vectors;

pub use amx::{
    Activations, BlockProducts, Images, PackedTrunk, ResidualShape, TileUnit, Trunk, TrunkShape,
};
pub use convolution::{Convolution, Pixels};
pub use half::bf16;
pub use instructions::Instructions;
pub use kernels::{Gradients, Kernels};
pub use steps::{AdamStep, RmsPropStep, add, are_finite, sum_of_squares};
