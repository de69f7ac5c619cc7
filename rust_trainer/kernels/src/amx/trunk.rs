//! The trunk as others see it: what may be asked of it, and whether all lengths are right.

use half::{bf16, slice::HalfFloatSliceExt};

use super::{
    activations::Activations,
    images::{FEW, Images},
    layers::{Layers, TrunkShape},
    network::Network,
    packed::PackedTrunk,
    residual::{Residual, ResidualShape},
    unit::{TileUnit, with_tiles},
};

/// Those that there are.
#[derive(Debug)]
enum AnyNetwork {
    Plain(Layers),
    Residual(Residual),
}

/// Runs `$work` with `$network`, whichever it is.
macro_rules! with_network {
    ($any:expr, $network:ident => $work:expr) => {
        match &$any {
            AnyNetwork::Plain($network) => $work,
            AnyNetwork::Residual($network) => $work,
        }
    };
}

/// Convolutions with rectified units over bytes that count as 0 to 1, and a fully connected rectified layer behind them.
///
/// Its parameters are weight and bias of each layer in turn, with layer normalization its scale and shift behind them, as
/// PyTorch orders them: weights are `[outputs, channels, kernel, kernel]`, and `[outputs, channels · height · width]` of
/// the last, all others `[outputs]`. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Trunk {
    unit: TileUnit,
    network: AnyNetwork,
    /// Of the parameters.
    lengths: Vec<usize>,
}

impl Trunk {
    /// A trunk of such extents; none for extents that do not fill tiles: the stride of the first layer must divide its
    /// kernel and the images' sides, and outputs must be multiples of 32.
    #[must_use]
    pub fn new(shape: TrunkShape<'_>, unit: TileUnit) -> Option<Self> {
        Some(Self::of(AnyNetwork::Plain(Layers::new(shape)?), unit))
    }

    /// The residual network of IMPALA; none for extents that do not fill tiles: see [`ResidualShape`].
    #[must_use]
    pub fn residual(shape: ResidualShape<'_>, unit: TileUnit) -> Option<Self> {
        Some(Self::of(AnyNetwork::Residual(Residual::new(shape)?), unit))
    }

    fn of(network: AnyNetwork, unit: TileUnit) -> Self {
        let lengths = with_network!(network, layers => layers.lengths());
        Self {
            unit,
            network,
            lengths,
        }
    }

    /// Numbers that it makes of an image.
    #[must_use]
    pub fn features(&self) -> usize {
        with_network!(self.network, layers => layers.end().features())
    }

    /// Room for packed weights.
    #[must_use]
    pub fn room_for_weights(&self) -> PackedTrunk {
        let lengths = self.lengths.clone();
        with_network!(self.network, layers => {
            PackedTrunk::new(lengths, &layers.room(), layers.num_pieces())
        })
    }

    fn is_packed_in(&self, packed: &PackedTrunk) -> bool {
        let num_pieces = with_network!(self.network, layers => layers.num_pieces());
        packed.is_for(&self.lengths, num_pieces)
    }

    /// Packs weights once, whoever else takes part; they are whole when this returns.
    ///
    /// # Panics
    /// If a parameter is of another length than the trunk's, or the room is another trunk's.
    pub fn pack(&self, packed: &PackedTrunk, params: &[&[f32]]) {
        self.check(params.iter().map(|param| param.len()));
        assert!(self.is_packed_in(packed), "room for other weights");
        with_network!(self.network, layers => with_tiles!(self.unit, 16, tiles => {
            // SAFETY: the parameters are as long as the layers say.
            packed.take_part(|piece| unsafe { layers.pack(tiles, piece, packed, params) });
        }));
    }

    /// The forward pass: `features` become `[image][features]`. Weights are read from what is [packed](Self::pack), all else
    /// from `params`.
    ///
    /// # Panics
    /// If images lie elsewhere than in their bytes, weights are not packed, or a slice is of another length than the
    /// trunk's.
    pub fn forward(
        &self,
        images: Images<'_>,
        packed: &PackedTrunk,
        params: &[&[f32]],
        features: &mut [bf16],
    ) -> Activations {
        self.check_pass(images, packed, params, features);
        // SAFETY: all lengths are checked; the unit is there.
        with_network!(self.network, layers => with_tiles!(self.unit, 16, tiles => unsafe {
            layers.through(tiles, (images, true), packed, params, features.reinterpret_cast_mut())
        }))
    }

    /// The same, if there will be no backward pass; equal bit for bit.
    ///
    /// # Panics
    /// As there.
    pub fn act(
        &self,
        images: Images<'_>,
        packed: &PackedTrunk,
        params: &[&[f32]],
        features: &mut [bf16],
    ) {
        self.check_pass(images, packed, params, features);
        let rows = images.places.len().min(FEW);
        // SAFETY: as above.
        with_network!(self.network, layers => with_tiles!(self.unit, rows, tiles => unsafe {
            layers.through(tiles, (images, false), packed, params, features.reinterpret_cast_mut());
        }));
    }

    /// Gradients of all parameters, in their order, whatever is there before, from those of the `features`, which
    /// [`forward`](Self::forward) made with these activations.
    ///
    /// # Panics
    /// As there, and if the activations are those of fewer images.
    pub fn backward(
        &self,
        images: Images<'_>,
        packed: &PackedTrunk,
        activations: &mut Activations,
        [features, of_features]: [&[bf16]; 2],
        of_params: &mut [&mut [f32]],
    ) {
        self.check_images(images, packed);
        self.check(of_params.iter().map(|param| param.len()));
        let numbers = images.places.len() * self.features();
        assert_eq!(
            [features.len(), of_features.len()],
            [numbers; 2],
            "features"
        );
        let blocks = images.places.len().div_ceil(32);
        let is_whole = with_network!(self.network, layers => layers.is_whole(activations, blocks));
        assert!(is_whole, "activations");
        let features = [features, of_features].map(HalfFloatSliceExt::reinterpret_cast);
        // SAFETY: all lengths are checked; the unit is there.
        with_network!(self.network, layers => with_tiles!(self.unit, 16, tiles => unsafe {
            layers.back(tiles, images, packed, activations, features, of_params);
        }));
    }

    fn check(&self, lengths: impl Iterator<Item = usize>) {
        assert!(
            lengths.eq(self.lengths.iter().copied()),
            "parameters are of other lengths"
        );
    }

    fn check_images(&self, images: Images<'_>, packed: &PackedTrunk) {
        let image = with_network!(self.network, layers => layers.image());
        let is_there = |place: &usize| images.bytes.len().checked_sub(*place) >= Some(image);
        assert!(
            !images.places.is_empty() && images.places.iter().all(is_there),
            "images"
        );
        assert!(self.is_packed_in(packed), "other weights");
        assert!(packed.is_whole(), "weights are not packed");
    }

    fn check_pass(
        &self,
        images: Images<'_>,
        packed: &PackedTrunk,
        params: &[&[f32]],
        features: &[bf16],
    ) {
        self.check(params.iter().map(|param| param.len()));
        self.check_images(images, packed);
        assert_eq!(
            features.len(),
            images.places.len() * self.features(),
            "features"
        );
    }
}
