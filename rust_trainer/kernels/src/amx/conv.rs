//! Convolutions without padding over a block of images: their extents, and what is known of them before there are
//! numbers.
//!
//! Rows of tiles are images, not pixels: there are always 16 of them, however many pixels a row of the output has, and
//! at the edges of the gradient of the inputs no product is in vain. Activations lie
//! `[pixel][channels / 32][images of the block][32 channels]`, so that a tile is a kibibyte in a row.
//!
//! A first layer whose stride divides its kernel is one without stride over pixels that are squares of its images'.

use super::{
    blocks::{BYTES, Bytes},
    tiles::Step,
};

/// The extents. Channels and outputs are multiples of 32.
#[derive(Clone, Copy, Debug)]
pub struct Conv {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub kernel: usize,
    pub stride: usize,
    pub outputs: usize,
}

impl Conv {
    pub fn out_height(&self) -> usize {
        (self.height - self.kernel) / self.stride + 1
    }

    pub fn out_width(&self) -> usize {
        (self.width - self.kernel) / self.stride + 1
    }

    pub fn out_pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// Blocks of channels, and of outputs.
    pub fn blocks(&self) -> (usize, usize) {
        (self.channels / 32, self.outputs / 32)
    }

    /// Places of the kernel.
    pub fn places(&self) -> usize {
        self.kernel * self.kernel
    }

    /// Numbers that an output is made of.
    pub fn terms(&self) -> usize {
        self.places() * self.channels
    }

    pub fn weights(&self) -> usize {
        self.outputs * self.terms()
    }

    /// Numbers of an image, and of its outputs.
    pub fn image(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Pixels of its outputs, and how many outputs each has.
    pub fn pixels_out(&self) -> (usize, usize) {
        (self.out_pixels(), self.outputs)
    }

    pub fn image_out(&self) -> usize {
        self.out_pixels() * self.outputs
    }

    /// Steps of an output in blocks of so many images, if `rows` rows of the image are there and what is seen begins in
    /// that at `first`.
    pub fn forward_steps(&self, images: usize, rows: usize, first: usize) -> Vec<Step> {
        let ins = self.blocks().0;
        let step = |number: usize| {
            let (place, channel) = (number / ins, number % ins);
            let (y, x) = (place / self.kernel, place % self.kernel);
            let at = ((first + y) % rows * self.width + x) * ins + channel;
            Step {
                a: (at * images * 64) as u32,
                b: (number * BYTES) as u32,
            }
        };
        (0..self.places() * ins).map(step).collect()
    }

    /// Those of the gradient of an input's pixel.
    fn input_steps(&self, pixel: usize) -> Vec<Step> {
        let (outs, out_width) = (self.blocks().1, self.out_width());
        let output = |at: usize, inner: usize, count: usize| {
            let at = at.checked_sub(inner)?;
            (at.is_multiple_of(self.stride) && at / self.stride < count).then_some(at / self.stride)
        };
        let mut steps = Vec::new();
        for place in 0..self.places() {
            let y = output(pixel / self.width, place / self.kernel, self.out_height());
            let x = output(pixel % self.width, place % self.kernel, out_width);
            if let (Some(y), Some(x)) = (y, x) {
                let at = |pixel: usize, output: usize| ((pixel * outs + output) * BYTES) as u32;
                steps.extend((0..outs).map(|output| Step {
                    a: at(y * out_width + x, output),
                    b: at(place, output),
                }));
            }
        }
        steps
    }

    /// Those of the gradient of the weights, over a row of outputs.
    fn weight_steps(&self) -> Vec<Step> {
        let (ins, outs) = self.blocks();
        let bytes = |blocks: usize| (blocks * BYTES) as u32;
        let step = |x: usize| Step {
            a: bytes(x * outs),
            b: bytes(x * self.stride * ins),
        };
        (0..self.out_width()).map(step).collect()
    }
}

/// The images' own squares of pixels that a first layer takes for one pixel.
#[derive(Clone, Copy, Debug)]
pub struct Squares {
    /// Pixels of a side.
    pub side: usize,
    /// Bytes of a pixel.
    pub channels: usize,
}

/// A layer, and where its products find what they multiply.
#[derive(Debug)]
pub struct Layer {
    pub conv: Conv,
    /// Of a layer whose images come as bytes.
    pub squares: Option<Squares>,
    pub of_inputs: Vec<Vec<Step>>,
    pub of_weights: Vec<Step>,
    /// For each weight as it is multiplied, `[outputs][place][channels]`, its place in `[outputs, channels, kernel, kernel]`.
    pub order: Vec<u32>,
}

impl Layer {
    pub fn new(conv: Conv, squares: Option<Squares>) -> Self {
        let is_first = squares.is_some();
        let pixels = if is_first {
            0
        } else {
            conv.height * conv.width
        };
        Self {
            of_inputs: (0..pixels).map(|pixel| conv.input_steps(pixel)).collect(),
            of_weights: conv.weight_steps(),
            order: order(&conv, squares),
            conv,
            squares,
        }
    }

    /// What the numbers of its images are divided by, and so its weights instead.
    pub fn divisor(&self) -> f32 {
        if self.squares.is_some() { 255.0 } else { 1.0 }
    }

    /// Rows of an image that are there at once: those that the kernel sees, if it comes as bytes.
    pub fn rows(&self) -> usize {
        match self.squares {
            Some(_) => self.conv.kernel,
            None => self.conv.height,
        }
    }

    /// Where the bytes of the 32 numbers of a block of an image's pixel begin; blocks are counted along a row of pixels.
    pub fn bytes(&self, squares: Squares, row: usize, block: usize) -> Bytes {
        let ins = self.conv.blocks().0;
        let (column, pieces) = (block / ins, squares.side * squares.channels / 16);
        let next = self.conv.width * squares.side * squares.channels;
        let half = |half: usize| {
            let piece = block % ins * 2 + half;
            let line = row * squares.side + piece / pieces;
            line * next + column * squares.side * squares.channels + piece % pieces * 16
        };
        Bytes {
            halves: [half(0), half(1)],
            ahead: squares.side * next,
        }
    }
}

fn order(conv: &Conv, squares: Option<Squares>) -> Vec<u32> {
    // A layer of images that are numbers has squares of one pixel.
    let Squares { side, channels } = squares.unwrap_or(Squares {
        side: 1,
        channels: conv.channels,
    });
    let kernel = conv.kernel * side;
    let place = |number: usize| {
        let (output, term) = (number / conv.terms(), number % conv.terms());
        let (place, inner) = (term / conv.channels, term % conv.channels);
        let (pixel, channel) = (inner / channels, inner % channels);
        let y = place / conv.kernel * side + pixel / side;
        let x = place % conv.kernel * side + pixel % side;
        (((output * channels + channel) * kernel + y) * kernel + x) as u32
    };
    (0..conv.weights()).map(place).collect()
}
