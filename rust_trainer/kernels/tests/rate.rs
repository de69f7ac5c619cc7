//! Products of blocks, emulated and the processor's where it has tiles: beside sums in float64 and beside one another, and
//! what is refused.

mod numbers;

use learner_kernels::{BlockProducts, TileUnit, bf16};
use numbers::uniform;

const BLOCK: usize = 32 * 32;

fn blocks(count: usize, seed: u64) -> Vec<bf16> {
    let numbers = uniform(count * BLOCK, seed).into_iter();
    numbers.map(bf16::from_f32).collect()
}

fn first_sums() -> [[f32; 32]; 32] {
    let numbers = uniform(BLOCK, 3);
    std::array::from_fn(|row| std::array::from_fn(|column| numbers[row * 32 + column]))
}

fn added(unit: TileUnit, factors: [&[bf16]; 2], count: usize) -> [[f32; 32]; 32] {
    let mut sums = first_sums();
    BlockProducts::new(unit, factors, count).add_to(&mut sums);
    sums
}

/// The sum of one row and column, from the definition of the blocks' orders.
fn expected([a, b]: [&[bf16]; 2], count: usize, [row, column]: [usize; 2]) -> f64 {
    let mut sum = f64::from(first_sums()[row][column]);
    for number in 0..count {
        let [a, b] = [a, b].map(|row| &row[number * BLOCK % row.len()..]);
        for term in 0..32 {
            let pair = column / 16 * 512 + term / 2 * 32;
            let b = b[pair + column % 16 * 2 + term % 2];
            sum += f64::from(a[row * 32 + term]) * f64::from(b);
        }
    }
    sum
}

#[test]
fn products_are_those_of_float64_and_of_the_emulator() {
    // Rows as long as one another; rows that begin again, one of them more often; nothing to add.
    for (a, b, count) in [(1, 1, 1), (5, 5, 5), (3, 2, 7), (1, 4, 9), (2, 2, 0)] {
        let (a, b) = (blocks(a, 1), blocks(b, 2));
        let factors = [&*a, &*b];
        let emulated = added(TileUnit::emulated(), factors, count);
        for at in (0..BLOCK).map(|at| [at / 32, at % 32]) {
            let (ours, theirs) = (emulated[at[0]][at[1]], expected(factors, count, at));
            // Of numbers up to a half: some last places of sums of some units.
            let difference = (f64::from(ours) - theirs).abs();
            assert!(difference < 2e-6, "{ours}, not {theirs}: {count} at {at:?}");
        }
        if let Some(unit) = TileUnit::processor() {
            let bits = |sums: [[f32; 32]; 32]| sums.map(|row| row.map(f32::to_bits));
            let is_same = bits(added(unit, factors, count)) == bits(emulated);
            assert!(is_same, "{count} products: not as emulated");
        }
    }
}

#[test]
#[should_panic(expected = "0 numbers are no blocks")]
fn a_row_without_blocks_is_refused() {
    added(TileUnit::emulated(), [&blocks(1, 1), &[]], 1);
}

#[test]
#[should_panic(expected = "2047 numbers are no blocks")]
fn a_piece_of_a_block_is_refused() {
    added(TileUnit::emulated(), [&blocks(2, 1)[1..], &blocks(1, 2)], 1);
}
