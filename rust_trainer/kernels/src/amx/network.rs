//! What a trunk asks of its layers, whichever they are.

use super::{activations::Activations, images::Images, packed::PackedTrunk, tiles::Tiles};

/// Layers from bytes of images to features.
pub trait Network {
    /// Bytes of an image.
    fn image(&self) -> usize;

    /// Numbers that it makes of an image.
    fn features(&self) -> usize;

    /// Lengths of the parameters.
    fn lengths(&self) -> Vec<usize>;

    /// Numbers of each layer's packed weights, for the forward pass and for the backward pass.
    fn room(&self) -> Vec<[usize; 2]>;

    /// Into how many pieces the packing of all weights is divided.
    fn num_pieces(&self) -> usize;

    /// Packs a piece; the large ones come first.
    ///
    /// # Safety
    /// All lengths are the network's, and nobody else packs this piece.
    unsafe fn pack<T: Tiles>(
        &self,
        tiles: &mut T,
        piece: usize,
        packed: &PackedTrunk,
        params: &[&[f32]],
    );

    /// Whether there is all that the backward pass of so many blocks reads.
    fn is_whole(&self, activations: &Activations, blocks: usize) -> bool;

    /// The forward pass, for images of which all is kept for the backward pass or not.
    ///
    /// # Safety
    /// All lengths are the network's, and the processor has the tiles.
    unsafe fn through<T: Tiles>(
        &self,
        tiles: &mut T,
        images: (Images<'_>, bool),
        packed: &PackedTrunk,
        params: &[&[f32]],
        features: &mut [u16],
    ) -> Activations;

    /// The backward pass.
    ///
    /// # Safety
    /// As there.
    unsafe fn back<T: Tiles>(
        &self,
        tiles: &mut T,
        images: Images<'_>,
        packed: &PackedTrunk,
        activations: &mut Activations,
        features: [&[u16]; 2],
        of_params: &mut [&mut [f32]],
    );
}
