//! What the kernels ask of an instruction set: vectors of float32 that fill its registers.

/// An instruction set. All methods need a processor that has it, and pointers to as many numbers as a vector
/// has lanes where nothing else is said.
pub(super) trait Vectors {
    /// Float32, or what else fills lanes of 32 bits.
    type Vector: Copy;
    /// As many vectors as one has lanes.
    type Square: AsMut<[Self::Vector]> + IntoIterator<Item = Self::Vector>;
    /// Numbers in a vector.
    const LANES: usize;
    /// Columns of a tile of sums: two vectors.
    const COLUMNS: usize = 2 * Self::LANES;
    /// Most rows of a tile of sums: two vectors and a number need registers, too.
    const MOST_ROWS: usize;
    /// The same of the gradient of the weights, which with more is no longer kept in registers by LLVM.
    const MOST_OUTPUTS: usize;

    unsafe fn zero() -> Self::Vector;
    /// Zeros.
    unsafe fn square() -> Self::Square;
    unsafe fn load(from: *const f32) -> Self::Vector;
    unsafe fn store(to: *mut f32, numbers: Self::Vector);
    /// `count` of them; what more a vector has may be written, too.
    unsafe fn store_some(to: *mut f32, count: usize, numbers: Self::Vector);
    /// One unit of 32 bits, which need not lie on a multiple of four bytes, in all lanes.
    unsafe fn broadcast(unit: *const u32) -> Self::Vector;
    unsafe fn of_bytes(bytes: *const u8) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn divide(a: Self::Vector, b: f32) -> Self::Vector;
    /// `sums + a · b`, rounded once.
    unsafe fn multiply_add(a: Self::Vector, b: Self::Vector, sums: Self::Vector) -> Self::Vector;
    /// `sums` where they are above zero or no numbers, else zero.
    unsafe fn rectified(sums: Self::Vector) -> Self::Vector;
    /// `gradient` where `y` is above zero or no number, else zero.
    unsafe fn passed(gradient: Self::Vector, y: Self::Vector) -> Self::Vector;
    unsafe fn sum_of_lanes(numbers: Self::Vector) -> f32;
    /// Rows as columns.
    unsafe fn transposed(rows: Self::Square) -> Self::Square;
}
