//! What the kernels ask of an instruction set, and of a type of numbers.

use std::marker::PhantomData;

/// An instruction set: vectors of float32 that fill its registers. All methods need a processor that has it, and
/// pointers to as many numbers as a vector has lanes where nothing else is said.
pub trait Vectors {
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
    #[inline(always)]
    unsafe fn store_some(to: *mut f32, _count: usize, numbers: Self::Vector) {
        Self::store(to, numbers);
    }
    /// One unit of 32 bits, which need not lie on a multiple of four bytes, in all lanes.
    unsafe fn broadcast(unit: *const u32) -> Self::Vector;
    unsafe fn of_bytes(bytes: *const u8) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn divide(a: Self::Vector, b: f32) -> Self::Vector;
    /// `sums + a · b`, rounded once where the set has an instruction for it.
    unsafe fn multiply_add(a: Self::Vector, b: Self::Vector, sums: Self::Vector) -> Self::Vector;
    /// `sums` where they are above zero or no numbers, else zero.
    unsafe fn rectified(sums: Self::Vector) -> Self::Vector;
    /// `gradient` where `y` is above zero or no number, else zero.
    unsafe fn passed(gradient: Self::Vector, y: Self::Vector) -> Self::Vector;
    unsafe fn sum_of_lanes(numbers: Self::Vector) -> f32;
    /// Rows as columns.
    unsafe fn transposed(rows: Self::Square) -> Self::Square;
}

/// A vector of the set in which `N` is computed.
pub type Vector<N> = <<N as Numbers>::Set as Vectors>::Vector;

/// How numbers of a type are held, multiplied and rounded in an instruction set; sums are float32. A unit is what
/// a lane of 32 bits holds: one float32, or two bfloat16 that are multiplied and added at once.
///
/// All methods need a processor that has what [`Numbers::Set`] is, bfloat16 `avx512_bf16` besides, and pointers to
/// a vector of numbers where nothing else is said.
pub trait Numbers {
    type Set: Vectors;
    /// A number in a tensor.
    type Stored: Copy;
    /// Numbers in a unit.
    const PER_UNIT: usize;

    /// `sums + a · b`, over the numbers of each unit.
    unsafe fn multiply_add(a: Vector<Self>, b: Vector<Self>, sums: Vector<Self>) -> Vector<Self>;
    unsafe fn load(from: *const Self::Stored) -> Vector<Self>;
    /// Rounds numbers and writes them.
    unsafe fn store(to: *mut Self::Stored, numbers: Vector<Self>);
    /// The same of two vectors.
    #[inline(always)]
    unsafe fn store_two(to: *mut Self::Stored, [first, second]: [Vector<Self>; 2]) {
        Self::store(to, first);
        Self::store(to.add(Self::Set::LANES), second);
    }
    /// Units of numbers that follow one another in memory, rounded: `PER_UNIT` vectors of float32.
    unsafe fn row(from: *const f32) -> Vector<Self>;
    /// Units of which each holds one number of every row, rounded.
    unsafe fn columns(rows: [Vector<Self>; 2]) -> Vector<Self>;
    /// Two vectors of units, of which each holds one number of every row: two rows of as many numbers.
    unsafe fn stored_columns(rows: [*const Self::Stored; 2]) -> [Vector<Self>; 2];
}

/// float32 in any set.
pub struct Float32<S>(PhantomData<S>);

impl<S: Vectors> Numbers for Float32<S> {
    type Set = S;
    type Stored = f32;
    const PER_UNIT: usize = 1;

    #[inline(always)]
    unsafe fn multiply_add(a: S::Vector, b: S::Vector, sums: S::Vector) -> S::Vector {
        S::multiply_add(a, b, sums)
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> S::Vector {
        S::load(from)
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, numbers: S::Vector) {
        S::store(to, numbers);
    }

    #[inline(always)]
    unsafe fn row(from: *const f32) -> S::Vector {
        S::load(from)
    }

    #[inline(always)]
    unsafe fn columns([row, _]: [S::Vector; 2]) -> S::Vector {
        row
    }

    #[inline(always)]
    unsafe fn stored_columns([row, _]: [*const f32; 2]) -> [S::Vector; 2] {
        [S::load(row), S::load(row.add(S::LANES))]
    }
}
