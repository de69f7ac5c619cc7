//! What a trunk asks of its layers, whichever they are.

use super::{
    activations::Activations, end::End, images::Images, packed::PackedTrunk, tiles::Tiles,
};

/// Layers from bytes of images to features.
pub trait Network {
    /// Bytes of an image.
    fn image(&self) -> usize;

    /// How many convolutions there are. Each has as many parameters as what follows them, weights first.
    fn num_convs(&self) -> usize;

    /// What follows the convolutions.
    fn end(&self) -> &End;

    /// Lengths of the parameters.
    fn lengths(&self) -> Vec<usize>;

    /// Numbers of each layer's packed weights, for the forward pass and for the backward pass.
    fn room(&self) -> Vec<[usize; 2]>;

    /// Packs the weights of a convolution.
    ///
    /// # Safety
    /// All lengths are the network's, and nobody else packs this layer.
    unsafe fn pack_conv<T: Tiles>(&self, number: usize, weight: &[f32], to: [*mut u16; 2]);

    /// Into how many pieces the packing of all weights is divided.
    fn num_pieces(&self) -> usize {
        self.num_convs() + self.end().num_pieces()
    }

    /// Packs a piece; the large ones come first.
    ///
    /// # Safety
    /// As there.
    unsafe fn pack<T: Tiles>(
        &self,
        _: &mut T,
        piece: usize,
        packed: &PackedTrunk,
        params: &[&[f32]],
    ) {
        let (num_convs, linear) = (self.num_convs(), &self.end().linear);
        let per_layer = params.len() / (num_convs + usize::from(linear.is_some()));
        let conv = piece.checked_sub(self.end().num_pieces());
        let number = conv.unwrap_or(num_convs);
        let (weight, to) = (params[number * per_layer], packed.layer(number));
        match (conv, linear) {
            (Some(number), _) => self.pack_conv::<T>(number, weight, to),
            (None, Some(linear)) => linear.pack::<T>(piece, weight, to),
            (None, None) => {}
        }
    }

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
