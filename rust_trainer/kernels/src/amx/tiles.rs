//! The one operation that everything is made of: a matrix of 32 by 32 sums, to which products of blocks are added.
//!
//! A block is 2 KiB, two tiles of 16 rows of 64 bytes. `sums[i][j] += Σ a[i][k] · b[k][j]` over the 32 numbers that
//! `a` has in each row; `b` has them in pairs, two rows of numbers in one of the tile. Rows `i` are those of `a`'s
//! first tile, then of its second; columns `j` likewise those of `b`'s tiles.

/// Where the blocks of one step of a product are, in bytes behind where the product's begin.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Step {
    pub a: u32,
    pub b: u32,
}

/// A matrix of sums with so many numbers from one row to the next; with 0 all rows are one.
#[derive(Clone, Copy)]
pub struct Sums {
    pub start: *mut f32,
    pub stride: usize,
}

impl Sums {
    /// Zeros, which lie nowhere.
    pub const ZERO: Self = Self {
        start: std::ptr::null_mut(),
        stride: 0,
    };

    /// A block of sums.
    pub fn block(start: *mut f32) -> Self {
        Self { start, stride: 32 }
    }

    /// The biases of 32 outputs, in every row.
    pub fn bias(bias: &[f32], output: usize) -> Self {
        Self {
            start: bias[output * 32..].as_ptr().cast_mut(),
            stride: 0,
        }
    }
}

/// Where the factors of a product begin.
#[derive(Clone, Copy)]
pub struct Factors {
    pub a: *const u16,
    /// Bytes from `a`'s first tile to its second.
    pub a_second: usize,
    pub b: *const u16,
}

/// Something that multiplies tiles.
pub trait Tiles {
    /// Whether vectors may be those of the processor, too.
    const HARDWARE: bool;

    /// `to = from + Σ a · b` over the steps, of which there is one at least. It is fast if all begin on cache lines.
    ///
    /// # Safety
    /// Blocks and sums are there, and nothing else is at work on `to`.
    unsafe fn product(&mut self, from: Sums, to: Sums, factors: Factors, steps: &[Step]);
}

/// Tiles of so many rows in plain Rust, which round as the processor's do.
///
/// Of each tile's 32 terms those at even places are added up by themselves, and those at odd ones, each by fused
/// multiplications from zero on; then both to one another, and that to the sum. Numbers below 2⁻¹²⁶ are zero, before
/// and after; sums are rounded to nearest even, whatever the control register says. Only the bits of NaNs differ.
pub struct Emulated(pub usize);

/// A bfloat16 as it is multiplied.
pub fn exact(number: u16) -> f32 {
    flushed(f32::from_bits(u32::from(number) << 16))
}

/// Zero of the same sign instead of a number that is not normal.
pub fn flushed(number: f32) -> f32 {
    if number.is_subnormal() {
        0.0_f32.copysign(number)
    } else {
        number
    }
}

impl Tiles for Emulated {
    const HARDWARE: bool = false;

    unsafe fn product(&mut self, from: Sums, to: Sums, factors: Factors, steps: &[Step]) {
        let place = |sums: Sums, row: usize| sums.start.wrapping_add(row * sums.stride);
        let rows = (0..2).flat_map(|tile| (0..self.0).map(move |row| 16 * tile + row));
        let mut all = [[0.0_f32; 32]; 32];
        if !from.start.is_null() {
            for row in rows.clone() {
                all[row] = place(from, row).cast::<[f32; 32]>().read_unaligned();
            }
        }
        for step in steps {
            let b = columns(factors.b.byte_add(step.b as usize));
            let a = factors.a.byte_add(step.a as usize);
            for row in rows.clone() {
                let a = a.byte_add(row / 16 * factors.a_second).add(row % 16 * 32);
                let mut halves = [[0.0_f32; 32]; 2];
                for (term, b) in b.iter().enumerate() {
                    add_products(&mut halves[term % 2], exact(*a.add(term)), b);
                }
                for (sum, (even, odd)) in all[row].iter_mut().zip(halves[0].iter().zip(halves[1])) {
                    *sum = flushed(flushed(*sum) + flushed(even + odd));
                }
            }
        }
        for row in rows {
            let to = place(to, row).cast::<[f32; 32]>();
            to.write_unaligned(all[row]);
        }
    }
}

/// The rows of a `b`, term by term.
unsafe fn columns(b: *const u16) -> [[f64; 32]; 32] {
    let at =
        |term: usize, column: usize| column / 16 * 512 + term / 2 * 32 + column % 16 * 2 + term % 2;
    std::array::from_fn(|term| {
        std::array::from_fn(|column| f64::from(exact(*b.add(at(term, column)))))
    })
}

/// Adds `a` times `b`, each product and sum rounded once: the product is exact in float64, and so many more bits than
/// float32 has make a second rounding harmless (Figueroa 1995). Whether a sum is below 2⁻¹²⁶ is seen after it is rounded,
/// but to as many places as larger numbers have.
fn add_products(sums: &mut [f32; 32], a: f32, b: &[f64; 32]) {
    /// 2⁻¹²⁶ less half of the last place of what is just below.
    const LEAST: f64 = f64::from_bits((1023 - 126) << 52) - f64::from_bits((1023 - 151) << 52);
    for (sum, b) in sums.iter_mut().zip(b) {
        let exact = f64::from(a) * b + f64::from(*sum);
        let made = if exact.abs() < LEAST { 0.0 } else { exact };
        *sum = (made as f32).copysign(exact as f32);
    }
}
