//! Vectors that the compiler makes of what every processor has: what the others are compared with.

use std::array::from_fn;

use crate::vectors::Vectors;

/// Arrays of 8 numbers.
pub struct Plain;

type Eight = [f32; 8];

impl Vectors for Plain {
    type Vector = Eight;
    type Square = [Eight; 8];
    const LANES: usize = 8;
    const MOST_ROWS: usize = 6;
    const MOST_OUTPUTS: usize = 6;

    #[inline(always)]
    unsafe fn zero() -> Eight {
        [0.0; 8]
    }

    #[inline(always)]
    unsafe fn square() -> [Eight; 8] {
        [[0.0; 8]; 8]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Eight {
        from.cast::<Eight>().read_unaligned()
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, numbers: Eight) {
        to.cast::<Eight>().write_unaligned(numbers);
    }

    #[inline(always)]
    unsafe fn broadcast(unit: *const u32) -> Eight {
        [f32::from_bits(unit.read_unaligned()); 8]
    }

    #[inline(always)]
    unsafe fn of_bytes(bytes: *const u8) -> Eight {
        (*bytes.cast::<[u8; 8]>()).map(f32::from)
    }

    #[inline(always)]
    unsafe fn add(a: Eight, b: Eight) -> Eight {
        from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    unsafe fn divide(a: Eight, b: f32) -> Eight {
        a.map(|number| number / b)
    }

    #[inline(always)]
    unsafe fn multiply_add(a: Eight, b: Eight, sums: Eight) -> Eight {
        from_fn(|lane| sums[lane] + a[lane] * b[lane])
    }

    #[inline(always)]
    unsafe fn rectified(sums: Eight) -> Eight {
        Self::passed(sums, sums)
    }

    #[inline(always)]
    unsafe fn passed(gradient: Eight, y: Eight) -> Eight {
        from_fn(|lane| if y[lane] <= 0.0 { 0.0 } else { gradient[lane] })
    }

    #[inline(always)]
    unsafe fn sum_of_lanes(numbers: Eight) -> f32 {
        numbers.iter().sum()
    }

    #[inline(always)]
    unsafe fn transposed(rows: [Eight; 8]) -> [Eight; 8] {
        from_fn(|column| from_fn(|row| rows[row][column]))
    }
}
