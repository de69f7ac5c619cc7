//! The layers of a trunk, and how its parameters are numbered.

use crate::convolution::checked_product;

use super::{
    blocks,
    conv::{Conv, Layer, Squares},
    end::End,
};

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

/// The layers.
#[derive(Debug)]
pub struct Layers {
    pub convs: Vec<Layer>,
    /// Behind them.
    pub end: End,
    pub norm: bool,
    /// Bytes of an image.
    pub image: usize,
}

impl Layers {
    /// Those of a trunk: see [`Trunk::new`](crate::Trunk::new).
    pub fn new(shape: TrunkShape<'_>) -> Option<Self> {
        let (&[outputs, kernel, stride], rest) = shape.convolutions.split_first()?;
        let TrunkShape {
            channels,
            height,
            width,
            ..
        } = shape;
        is_near([height, width, channels]).then_some(())?;
        let line = checked_product([stride, channels])?;
        let fits = stride > 0
            && line > 0
            && [kernel, height, width]
                .iter()
                .all(|length| length.is_multiple_of(stride))
            && line.is_multiple_of(16)
            && checked_product([line, stride]).is_some_and(|square| square.is_multiple_of(32));
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
        let end = End::new(last.pixels_out(), shape.hidden)?;
        let convs = convs.into_iter();
        Some(Self {
            convs: convs.map(|conv| Layer::new(conv, squares.take())).collect(),
            end,
            norm: shape.norm,
            image: height * width * channels,
        })
    }

    /// Parameters of a layer.
    pub fn per_layer(&self) -> usize {
        if self.norm { 4 } else { 2 }
    }

    /// Those of this layer: weight, bias and, with a norm, scale and shift.
    pub fn of_layer<'a, 'b>(&self, params: &'a [&'b [f32]], layer: usize) -> &'a [&'b [f32]] {
        let count = self.per_layer();
        &params[layer * count..][..count]
    }

    pub fn of_layer_mut<'a, 'b>(
        &self,
        of_params: &'a mut [&'b mut [f32]],
        layer: usize,
    ) -> &'a mut [&'b mut [f32]] {
        let count = self.per_layer();
        &mut of_params[layer * count..][..count]
    }

    /// Pixels of each layer's outputs, and how many outputs a pixel has.
    pub fn extents(&self) -> impl Iterator<Item = (usize, usize)> {
        let convs = self.convs.iter().map(|layer| &layer.conv);
        let linear = self.end.linear.iter().map(|linear| (1, linear.outputs));
        let convs = convs.map(Conv::pixels_out);
        convs.chain(linear)
    }
}

fn is_possible(conv: &Conv) -> bool {
    let whole = |length: usize| length > 0 && length.is_multiple_of(32);
    let weights = checked_product([conv.kernel, conv.kernel, conv.channels, conv.outputs]);
    conv.kernel > 0
        && conv.stride > 0
        && conv.kernel <= conv.height.min(conv.width)
        && whole(conv.channels)
        && whole(conv.outputs)
        && is_near([conv.height, conv.width, conv.channels])
        && is_near([conv.out_height(), conv.out_width(), conv.outputs])
        && is_near([conv.kernel, conv.kernel, conv.outputs])
        && weights.is_some_and(|weights| u32::try_from(weights).is_ok())
}

/// Whether offsets of steps in images of such extents, in bytes of a block of 32, are 32 bits.
pub fn is_near(extents: [usize; 3]) -> bool {
    const END: usize = (1 << 32) / (32 * size_of::<u16>());
    checked_product(extents).is_some_and(|numbers| numbers < END)
}
