//! The trunk as a whole: its extents, and the passes through all layers.

use std::iter;

use half::{bf16, slice::HalfFloatSliceExt};

#[cfg(target_arch = "x86_64")]
use super::hardware::{self, Hardware};
use super::{
    activations::Activations,
    blocks::{self, BLOCK},
    conv::{Conv, Layer, Squares},
    conv_passes::{Input, Room, Weights},
    linear::Linear,
    packed::PackedTrunk,
    tiles::{Emulated, Tiles},
};
use crate::tile::Scratch;

/// What multiplies tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileUnit(Unit);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    #[cfg(target_arch = "x86_64")]
    Processor,
    Emulated,
}

impl TileUnit {
    /// The processor's own tiles, where it has them and the system permits them to this process.
    #[must_use]
    pub fn processor() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return hardware::is_there().then_some(Self(Unit::Processor));
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }

    /// Plain Rust that computes the same bits, a thousand times slower.
    #[must_use]
    pub fn emulated() -> Self {
        Self(Unit::Emulated)
    }
}

/// Runs `$work` with `$tiles` of so many rows.
macro_rules! with_tiles {
    ($unit:expr, $rows:expr, $tiles:ident => $work:expr) => {
        match $unit.0 {
            #[cfg(target_arch = "x86_64")]
            Unit::Processor => {
                let $tiles =
                    &mut Hardware::new($rows).expect("a unit was made only where they are");
                $work
            }
            Unit::Emulated => {
                let $tiles = &mut Emulated($rows);
                $work
            }
        }
    };
}

/// The extents of a trunk.
#[derive(Clone, Copy, Debug)]
pub struct TrunkShape<'a> {
    /// Numbers of a pixel.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Outputs, kernel and stride of each convolution.
    pub convolutions: &'a [[usize; 3]],
    /// Outputs of a fully connected layer behind them.
    pub hidden: Option<usize>,
    /// Layer normalization between each layer's sums and its rectified units (Ba et al. 2016): over all outputs of a pixel,
    /// and of an image behind the fully connected layer.
    pub norm: bool,
}

impl TrunkShape<'_> {
    /// What layer normalization adds to the variance under the root.
    pub const EPS: f64 = blocks::EPS;
}

/// Convolutions with rectified units over bytes that count as 0 to 1, and a fully connected rectified layer behind them.
///
/// Its parameters are weight and bias of each layer in turn, with layer normalization its scale and shift behind them, as
/// PyTorch orders them: weights are `[outputs, channels, kernel, kernel]`, and `[outputs, channels · height · width]` of
/// the last, all others `[outputs]`. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Trunk {
    unit: TileUnit,
    pub(super) layers: Vec<Layer>,
    pub(super) linear: Option<Linear>,
    pub(super) norm: bool,
    /// Bytes of an image.
    image: usize,
}

/// Images, `[height][width][channels]` bytes each, anywhere among `bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// Where they lie.
    pub bytes: &'a [u8],
    /// Where each begins.
    pub places: &'a [usize],
}

/// Up to how many images are acted for in tiles of so many rows.
const FEW: usize = 16;

impl Trunk {
    /// A trunk of such extents; none for extents that do not fill tiles: the stride of the first layer must divide its
    /// kernel and the images' sides, and outputs must be multiples of 32.
    #[must_use]
    pub fn new(shape: TrunkShape<'_>, unit: TileUnit) -> Option<Self> {
        let (&[outputs, kernel, stride], rest) = shape.convolutions.split_first()?;
        let TrunkShape {
            channels,
            height,
            width,
            ..
        } = shape;
        let line = stride * channels;
        let fits = stride > 0
            && line > 0
            && [kernel, height, width]
                .iter()
                .all(|length| length.is_multiple_of(stride))
            && line.is_multiple_of(16)
            && (line * stride).is_multiple_of(32);
        if !fits {
            return None;
        }
        let first = Conv {
            height: height / stride,
            width: width / stride,
            channels: line * stride,
            kernel: kernel / stride,
            stride: 1,
            outputs,
        };
        let squares = Squares {
            side: stride,
            channels,
        };
        let (mut convs, mut squares) = (vec![first], Some(squares));
        for &[outputs, kernel, stride] in rest {
            let before = convs.last().filter(|conv| is_possible(conv))?;
            convs.push(Conv {
                height: before.out_height(),
                width: before.out_width(),
                channels: before.outputs,
                kernel,
                stride,
                outputs,
            });
        }
        let last = convs.last().filter(|conv| is_possible(conv))?;
        let linear = shape.hidden.map(|outputs| Linear {
            pixels: last.out_pixels(),
            channels: last.outputs,
            outputs,
        });
        let whole = |outputs: usize| outputs > 0 && outputs.is_multiple_of(32);
        shape.hidden.is_none_or(whole).then(|| Self {
            unit,
            layers: convs
                .into_iter()
                .map(|conv| Layer::new(conv, squares.take()))
                .collect(),
            linear,
            norm: shape.norm,
            image: height * width * channels,
        })
    }

    /// Numbers that it makes of an image.
    #[must_use]
    pub fn features(&self) -> usize {
        match (&self.linear, self.layers.last()) {
            (Some(linear), _) => linear.outputs,
            (None, last) => last.map_or(0, |layer| layer.conv.image_out()),
        }
    }

    /// Room for packed weights.
    #[must_use]
    pub fn room_for_weights(&self) -> PackedTrunk {
        PackedTrunk::new(self)
    }

    /// Packs weights once, whoever else takes part; they are whole when this returns.
    ///
    /// # Panics
    /// If a parameter is of another length than the trunk's, or the room is another trunk's.
    pub fn pack(&self, packed: &PackedTrunk, params: &[&[f32]]) {
        self.check(params.iter().map(|param| param.len()));
        assert!(packed.is_for(self), "room for other weights");
        // SAFETY: the parameters are as long as the layers say.
        with_tiles!(self.unit, 16, tiles => unsafe { packed.take_part(tiles, self, params) });
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
        with_tiles!(self.unit, 16, tiles => {
            // SAFETY: all lengths are checked; the unit is there.
            unsafe { self.through(tiles, (images, true), packed, params, features.reinterpret_cast_mut()) }
        })
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
        if rows == 0 {
            return;
        }
        let rows = if images.places.len() > FEW { 16 } else { rows };
        with_tiles!(self.unit, rows, tiles => {
            // SAFETY: as above.
            unsafe { self.through(tiles, (images, false), packed, params, features.reinterpret_cast_mut()) }
        });
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
        assert!(
            activations.is_whole(self, images.places.len().div_ceil(32)),
            "activations"
        );
        let features = [features, of_features].map(HalfFloatSliceExt::reinterpret_cast);
        with_tiles!(self.unit, 16, tiles => {
            // SAFETY: all lengths are checked; the unit is there.
            unsafe { self.back(tiles, images, packed, activations, features, of_params) }
        });
    }

    unsafe fn through<T: Tiles>(
        &self,
        tiles: &mut T,
        (images, is_kept): (Images<'_>, bool),
        packed: &PackedTrunk,
        params: &[&[f32]],
        features: &mut [u16],
    ) -> Activations {
        let count = images.places.len();
        let of_block = if is_kept || count > FEW { 32 } else { count };
        let blocks = count.div_ceil(of_block.max(1));
        let last = self.layers.len() - 1;
        // What is not kept stays in the caches.
        let blocks_of = |layer: usize| if is_kept || layer >= last { blocks } else { 1 };
        let mut made = Activations::new(self, params, blocks_of, of_block);
        let Activations { outputs, norms } = &mut made;
        let mut room = Room::new(&self.layers, of_block, false);
        for block in 0..blocks {
            let pointers = self.pointers(images, block, of_block);
            let mut x = Input::Bytes(&pointers[..of_block]);
            for (number, layer) in self.layers.iter().enumerate() {
                let block = block.min(blocks_of(number) - 1);
                let y = outputs[number]
                    .start()
                    .add(block * of_block * layer.conv.image_out());
                let norm = norms.get_mut(number);
                let weights = Weights {
                    packed: packed.layer(number, layer.conv.weights())[0],
                    bias: self.of_layer(params, number)[1],
                    norm: norm.map(|norm| norm.from(block * layer.conv.out_pixels())),
                };
                layer.forward(tiles, &mut room, x, weights, y);
                x = Input::Blocks(y, of_block);
            }
        }
        let x = outputs[last].start();
        match &self.linear {
            Some(linear) => {
                let number = self.layers.len();
                let weights = Weights {
                    packed: packed.layer(number, linear.terms() * linear.outputs)[0],
                    bias: self.of_layer(params, number)[1],
                    norm: norms.get_mut(number).map(|norm| norm.from(0)),
                };
                if of_block == 32 {
                    linear.forward(tiles, x, weights, features);
                } else {
                    linear.act(tiles, count, x, weights, features.as_mut_ptr());
                }
            }
            None => flatten(&self.layers[last].conv, of_block, x, features),
        }
        made
    }

    unsafe fn back<T: Tiles>(
        &self,
        tiles: &mut T,
        images: Images<'_>,
        packed: &PackedTrunk,
        Activations { outputs, norms }: &mut Activations,
        [features, of_features]: [&[u16]; 2],
        of_params: &mut [&mut [f32]],
    ) {
        let blocks = images.places.len().div_ceil(32);
        let last = self.layers.len() - 1;
        // The gradient of a layer's outputs before the rectified units; of all but the last one, that of one block, which
        // stays in the cache.
        let of_outputs = self.layers.iter().enumerate().map(|(number, layer)| {
            Scratch::new(if number == last { blocks } else { 1 } * 32 * layer.conv.image_out())
        });
        let mut of_outputs: Vec<Scratch<u16>> = of_outputs.collect();
        for of_layer in of_params.chunks_exact_mut(self.per_layer()) {
            of_layer[1..].iter_mut().for_each(|of| of.fill(0.0));
        }
        let (x, to) = (outputs[last].start(), of_outputs[last].start());
        match &self.linear {
            Some(linear) => {
                let number = self.layers.len();
                let of_layer = self.of_layer_mut(of_params, number);
                let norm = norms.get_mut(number).map(|norm| norm.from(0));
                let norm = norm.zip(of_norm(of_layer));
                let of_bias = of_layer[1].as_mut_ptr();
                let mut of = linear.of_outputs::<T>(features, of_features, norm, of_bias);
                let packed = packed.layer(number, linear.terms() * linear.outputs)[1];
                linear.of_weights(tiles, blocks, (x, &mut of), of_layer[0]);
                linear.of_inputs(tiles, blocks, (&mut of, packed), x, to);
            }
            None => unflatten(&self.layers[last].conv, blocks, [features, of_features], to),
        }
        let sums = self
            .layers
            .iter()
            .map(|layer| Scratch::zeros(layer.conv.weights()));
        let mut sums: Vec<Scratch<f32>> = sums.collect();
        let mut room = Room::new(&self.layers, 32, true);
        for block in 0..blocks {
            let pointers = self.pointers(images, block, 32);
            for (number, layer) in self.layers.iter().enumerate().rev() {
                let mut of_y = of_outputs[number].start();
                if number == last {
                    of_y = of_y.add(block * 32 * layer.conv.image_out());
                }
                let of_layer = self.of_layer_mut(of_params, number);
                let pixels = layer.conv.out_pixels();
                let norm = norms.get_mut(number).map(|norm| norm.from(block * pixels));
                if let Some((norm, of_params)) = norm.zip(of_norm(of_layer)) {
                    for pixel in 0..pixels {
                        let of_y = of_y.add(pixel * 32 * layer.conv.outputs);
                        norm.backward::<T>(pixel, of_y, of_params);
                    }
                }
                let x = number
                    .checked_sub(1)
                    .map(|before| outputs[before].start().add(block * 32 * layer.conv.image()));
                let input = x.map_or(Input::Bytes(&pointers), |x| Input::Blocks(x, 32));
                let to = (sums[number].start(), of_layer[1].as_mut_ptr());
                layer.of_weights(tiles, &mut room, input, of_y, to);
                if let Some(x) = x {
                    let packed = packed.layer(number, layer.conv.weights())[1];
                    let to = of_outputs[number - 1].start();
                    layer.of_inputs(tiles, &mut room, (of_y, packed), x, to);
                }
            }
        }
        for ((layer, sums), to) in self
            .layers
            .iter()
            .zip(&mut sums)
            .zip(of_params.iter_mut().step_by(self.per_layer()))
        {
            ordered(layer, sums.start(), to);
        }
    }

    /// Where each image of a block begins; the last one fills it.
    fn pointers(&self, images: Images<'_>, block: usize, of_block: usize) -> [*const u8; 32] {
        let last = images.places.len() - 1;
        std::array::from_fn(|number| {
            let place = images.places[(block * of_block + number).min(last)];
            images.bytes[place..place + self.image].as_ptr()
        })
    }

    /// Parameters of a layer.
    fn per_layer(&self) -> usize {
        if self.norm { 4 } else { 2 }
    }

    /// Those of this layer: weight, bias and, with a norm, scale and shift.
    pub(super) fn of_layer<'a, 'b>(
        &self,
        params: &'a [&'b [f32]],
        layer: usize,
    ) -> &'a [&'b [f32]] {
        let count = self.per_layer();
        &params[layer * count..][..count]
    }

    fn of_layer_mut<'a, 'b>(
        &self,
        of_params: &'a mut [&'b mut [f32]],
        layer: usize,
    ) -> &'a mut [&'b mut [f32]] {
        let count = self.per_layer();
        &mut of_params[layer * count..][..count]
    }

    /// Pixels of each layer's outputs, and how many outputs a pixel has.
    pub(super) fn extents(&self) -> impl Iterator<Item = (usize, usize)> {
        let convs = self.layers.iter().map(|layer| &layer.conv);
        let linear = self.linear.iter().map(|linear| (1, linear.outputs));
        let convs = convs.map(|conv| (conv.out_pixels(), conv.outputs));
        convs.chain(linear)
    }

    /// Lengths of the parameters.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        let convs = self.layers.iter().map(|layer| layer.conv.terms());
        let terms = convs.chain(self.linear.iter().map(Linear::terms));
        let others = self.per_layer() - 1;
        terms
            .zip(self.extents())
            .flat_map(move |(terms, (_, outputs))| {
                let others = iter::repeat_n(outputs, others);
                iter::once(terms * outputs).chain(others)
            })
    }

    fn check(&self, lengths: impl Iterator<Item = usize>) {
        assert!(
            lengths.eq(self.lengths()),
            "parameters are of other lengths"
        );
    }

    fn check_images(&self, images: Images<'_>, packed: &PackedTrunk) {
        let is_there = |place: &usize| images.bytes.len().checked_sub(*place) >= Some(self.image);
        assert!(
            !images.places.is_empty() && images.places.iter().all(is_there),
            "images"
        );
        assert!(packed.is_for(self), "other weights");
        assert!(packed.is_whole(self), "weights are not packed");
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

/// Gradients of scale and shift among those of a layer.
fn of_norm(of_layer: &mut [&mut [f32]]) -> Option<[*mut f32; 2]> {
    match of_layer {
        [_, _, scale, shift] => Some([scale.as_mut_ptr(), shift.as_mut_ptr()]),
        _ => None,
    }
}

fn is_possible(conv: &Conv) -> bool {
    let whole = |length: usize| length > 0 && length.is_multiple_of(32);
    conv.kernel > 0
        && conv.stride > 0
        && conv.kernel <= conv.height.min(conv.width)
        && whole(conv.channels)
        && whole(conv.outputs)
}

/// Puts the sums of a convolution's gradient, `[outputs / 32][terms / 32]` blocks, in PyTorch's order.
unsafe fn ordered(layer: &Layer, sums: *const f32, to: &mut [f32]) {
    let columns = layer.conv.terms() / 32;
    for (number, order) in layer.order.chunks_exact(32).enumerate() {
        let (output, column) = (number / columns, number % columns);
        let at = sums.add((output / 32 * columns + column) * BLOCK + output % 32 * 32);
        for (inner, place) in order.iter().enumerate() {
            to[*place as usize] = *at.add(inner) / layer.divisor();
        }
    }
}

/// Where in blocks of so many images the number at `at` of `[image][outputs][pixels]` lies.
fn in_blocks(conv: &Conv, of_block: usize, at: usize) -> usize {
    let (image, at) = (at / conv.image_out(), at % conv.image_out());
    let (output, pixel) = (at / conv.out_pixels(), at % conv.out_pixels());
    let (block, row) = (image / of_block, image % of_block);
    let line = (block * conv.out_pixels() + pixel) * conv.blocks().1 + output / 32;
    (line * of_block + row) * 32 + output % 32
}

/// Outputs in blocks → `[image][outputs][pixels]`.
unsafe fn flatten(conv: &Conv, of_block: usize, from: *const u16, to: &mut [u16]) {
    for (at, to) in to.iter_mut().enumerate() {
        *to = *from.add(in_blocks(conv, of_block, at));
    }
}

/// The gradient of `[image][outputs][pixels]` through rectified units → blocks, with zeros where they are not filled.
unsafe fn unflatten(conv: &Conv, blocks: usize, [y, of_y]: [&[u16]; 2], to: *mut u16) {
    to.write_bytes(0, blocks * 32 * conv.image_out());
    for (at, (y, of_y)) in y.iter().zip(of_y).enumerate() {
        if y.cast_signed() > 0 {
            *to.add(in_blocks(conv, 32, at)) = *of_y;
        }
    }
}
