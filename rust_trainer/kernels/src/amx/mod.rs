//! The trunk of a network for images, convolutions with rectified units and a fully connected layer behind them, in
//! tiles of bfloat16 (AMX): forward and backward pass as a whole, so that what is between layers need not be put in
//! order for anybody else. Layer normalization may stand before the units.
//!
//! Numbers are rounded to bfloat16 between layers and where they are multiplied; sums and the gradients of weights are
//! float32. Tiles are the processor's, or [emulated](TileUnit::emulated), which is slow and equal bit for bit.

mod activations;
mod blocks;
mod conv;
mod conv_passes;
mod end;
#[cfg(target_arch = "x86_64")]
mod hardware;
mod images;
mod layers;
mod linear;
mod network;
mod norm;
mod packed;
mod passes;
mod rate;
mod residual;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod tiles;
mod trunk;
mod unit;

pub use activations::Activations;
pub use images::Images;
pub use layers::TrunkShape;
pub use packed::PackedTrunk;
pub use rate::BlockProducts;
pub use residual::ResidualShape;
pub use trunk::Trunk;
pub use unit::TileUnit;
