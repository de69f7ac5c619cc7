//! The extents of a convolution, and where its numbers lie.

/// What extents that fill vectors are a multiple of, whatever the instruction set.
const COLUMNS: usize = 32;

/// Up to how many rows a fully connected layer is computed without putting its weights in order.
const FEW_ROWS: usize = 16;

/// Images, `[images][height][width][channels]`.
#[derive(Clone, Copy, Debug)]
pub enum Pixels<'a, N> {
    /// Bytes that count as 0 to 1: the weights are divided by 255, not the bytes, of which there are more.
    Bytes(&'a [u8]),
    /// Numbers.
    Numbers(&'a [N]),
}

impl<N> Pixels<'_, N> {
    pub(crate) fn are_bytes(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}

/// A convolution without padding, and its extents. A fully connected layer is one of 1×1 over one row of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Images.
    pub images: usize,
    /// Rows of pixels in an image.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Numbers in a pixel.
    pub channels: usize,
    /// Rows and columns of the square kernel.
    pub kernel: usize,
    /// Pixels from one place of the kernel to the next, in both directions.
    pub stride: usize,
    /// Numbers in a pixel of the output.
    pub outputs: usize,
    /// A rectified linear unit follows.
    pub rectified: bool,
    /// Outputs lie channels first.
    pub channels_first: bool,
}

impl Convolution {
    /// Whether the kernels take it: vectors are full, there are fewer than 2⁶⁰ numbers of a kind, and where the gradient of
    /// the images is wanted, neighbours in it are added to apart.
    #[must_use]
    pub fn fits(&self, needs_gradient_of_images: bool) -> bool {
        let is_countable = |extents| checked_product::<4>(extents).is_some();
        let counts = [self.images, self.kernel, self.channels, self.outputs];
        counts.iter().all(|&count| count > 0)
            && self.stride > 0
            && self.height >= self.kernel
            && self.width >= self.kernel
            && is_countable([self.images, self.height, self.width, self.channels])
            // No more pixels come out than go in.
            && is_countable([self.images, self.height, self.width, self.outputs])
            && is_countable([self.kernel, self.kernel, self.channels, self.outputs])
            && is_countable([self.stride, self.channels, 1, 1])
            && self.outputs.is_multiple_of(COLUMNS)
            && self.row().is_multiple_of(COLUMNS)
            && self.image().is_multiple_of(COLUMNS)
            && (!needs_gradient_of_images || self.step() >= COLUMNS)
            && self.step().is_multiple_of(2)
    }

    /// Rows of pixels in an image of the output; of one that [fits](Self::fits), as all below.
    #[must_use]
    pub fn out_height(&self) -> usize {
        (self.height - self.kernel) / self.stride + 1
    }

    /// Pixels in such a row.
    #[must_use]
    pub fn out_width(&self) -> usize {
        (self.width - self.kernel) / self.stride + 1
    }

    /// Numbers of an output that one row of the kernel multiplies.
    pub(crate) fn row(&self) -> usize {
        self.kernel * self.channels
    }

    /// Numbers of an output that the kernel multiplies: its weights.
    pub(crate) fn terms(&self) -> usize {
        self.kernel * self.row()
    }

    /// Numbers of a row of the image from one output to the next.
    pub(crate) fn step(&self) -> usize {
        self.stride * self.channels
    }

    /// Numbers of an image.
    pub(crate) fn image(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Pixels of an image of the output.
    pub(crate) fn pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// Where in an image what makes each pixel begins.
    pub(crate) fn places(&self) -> Vec<usize> {
        let place = |row, column| (row * self.width + column) * self.step();
        let width = self.out_width();
        let places = (0..self.pixels()).map(|pixel| place(pixel / width, pixel % width));
        places.collect()
    }

    /// The pixels in tiles of at most `most`, start and number of each: those of a row together where the tiles
    /// are tall that way, which costs least to fetch, or else tiles that go on over the ends of rows.
    pub(crate) fn tiles(&self, most: usize) -> Vec<(usize, usize)> {
        /// Two vectors by so many rows are enough sums that none is waited for.
        const TALL: usize = 7;
        let (pixels, width) = (self.pixels(), self.out_width());
        let is_tall = width / width.div_ceil(most) >= TALL;
        let run = if is_tall { width } else { pixels };
        let tiles = move |first| parts(run, most).map(move |(start, count)| (first + start, count));
        (0..pixels).step_by(run).flat_map(tiles).collect()
    }

    /// Whether each pixel is seen once, by one output.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.kernel == 1 && self.stride == 1
    }

    /// Whether it is a fully connected layer of a few rows.
    pub(crate) fn has_few_rows(&self) -> bool {
        self.is_pointwise()
            && self.images == 1
            && self.height == 1
            && self.width <= FEW_ROWS
            && !self.channels_first
    }
}

/// The product of extents, unless it is more than memory could have of numbers of eight bytes.
pub fn checked_product<const N: usize>(extents: [usize; N]) -> Option<usize> {
    let product = extents.into_iter().try_fold(1, usize::checked_mul)?;
    (product <= isize::MAX as usize / 8).then_some(product)
}

/// Splits `count` rows into as few parts of at most `most` as possible, of nearly equal length: start and
/// length of each.
pub fn parts(count: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = count.div_ceil(most);
    let start = move |part: usize| part * count / parts;
    (0..parts).map(move |part| (start(part), start(part + 1) - start(part)))
}
