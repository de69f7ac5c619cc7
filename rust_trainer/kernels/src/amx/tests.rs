//! Single products in the processor's tiles beside emulated ones, and the vector versions of what surrounds them
//! beside the plain ones: bit for bit.

use super::{
    blocks::{self, BLOCK, Bytes, Pixel, Target},
    hardware::Hardware,
    tiles::{Emulated, Factors, Step, Sums, Tiles},
};

/// Bits that look random (Marsaglia's xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Any float32, a number that is not normal, one halfway between two of bfloat16, or a zero.
    pub fn single(&mut self) -> f32 {
        let masks = [!0, 0x807f_ffff, 0xffff_8000, 1 << 31];
        f32::from_bits(self.bits() as u32 & masks[self.bits() as usize % 4])
    }

    pub fn blocks(&mut self, kind: fn(u64) -> u64) -> [u16; 2 * BLOCK] {
        std::array::from_fn(|_| kind(self.bits()) as u16)
    }
}

pub type Kind = (&'static str, fn(u64) -> u64);
pub const KINDS: [Kind; 7] = [
    ("from 1 to 2", |bits| bits & 0x807f | 0x3f80),
    ("from 2^-31 to 2", |bits| bits & 0x8fff | 0x3000),
    ("products about 2^-126", |bits| (bits & 0x83ff) + 0x1e00),
    // 2^-126 and products about 2^-150, half a place less.
    ("rounded to 2^-126", |bits| {
        let small = 0x1a00 | bits & 0x7f;
        bits & 0x8000 | if bits >> 16 & 7 == 7 { 0x2000 } else { small }
    }),
    ("about 2^-126", |bits| bits & 0x81ff),
    ("tiny and large ones", |bits| {
        (bits & 0x807f) | ((bits >> 16 & 1) * 0x7e80)
    }),
    ("any bits, NaNs, too", |bits| bits),
];

/// Two steps of a product, `from + a · b`; what tiles leave out is zero. NaNs are all the same.
fn product<T: Tiles>(tiles: &mut T, [a, b]: &[[u16; 2 * BLOCK]; 2], from: &[u16]) -> Vec<u32> {
    let from: Vec<f32> = from
        .iter()
        .map(|&bits| f32::from_bits(u32::from(bits) << 16))
        .collect();
    let mut to = [0.0_f32; BLOCK];
    // The second step's blocks are not in the order of the first one's.
    let steps = [Step { a: 2048, b: 0 }, Step { a: 0, b: 2048 }];
    let factors = Factors {
        a: a.as_ptr(),
        a_second: 1024,
        b: b.as_ptr(),
    };
    let from = Sums::block(from.as_ptr().cast_mut());
    // SAFETY: there are two blocks of each, and matrices of 32 by 32.
    unsafe { tiles.product(from, Sums::block(to.as_mut_ptr()), factors, &steps) };
    let bits = |sum: &f32| if sum.is_nan() { !0 } else { sum.to_bits() };
    to.iter().map(bits).collect()
}

#[test]
fn emulated_tiles_are_the_processors() {
    let mut random = Random(11);
    // Of all that follows, as the processor's tiles have it: for where there are none.
    let mut sum_of_bits = 0_u64;
    for (rows, (name, kind)) in [8, 16]
        .into_iter()
        .flat_map(|rows| KINDS.map(|kind| (rows, kind)))
    {
        for turn in 0..50 {
            let factors = [random.blocks(kind), random.blocks(kind)];
            // Every other time what is added to is zero, so that small sums are seen.
            let from = random.blocks(kind).map(|bits| bits * (turn % 2));
            let theirs = product(&mut Emulated(rows), &factors, &from[..BLOCK]);
            for bits in &theirs {
                sum_of_bits = sum_of_bits.wrapping_mul(31).wrapping_add(u64::from(*bits));
            }
            if let Some(mut tiles) = Hardware::new(rows) {
                let ours = product(&mut tiles, &factors, &from[..BLOCK]);
                drop(tiles);
                assert_eq!(ours, theirs, "{rows} rows, {name}");
            }
        }
    }
    assert_eq!(sum_of_bits, 0x1ef7_1a62_5306_55e3, "{sum_of_bits:#x}");
}

/// What every function around the products makes of random numbers, by name.
fn surroundings<T: Tiles>(seed: u64, kind: fn(u64) -> u64) -> Vec<(&'static str, Vec<u32>)> {
    let mut random = Random(seed);
    let numbers = random.blocks(kind);
    let singles: Vec<f32> = (0..64 * 49).map(|_| random.single()).collect();
    let bytes: Vec<u8> = (0..1000).map(|_| random.bits() as u8).collect();
    let images: [_; 32] = std::array::from_fn(|_| bytes[random.bits() as usize % 900..].as_ptr());
    let places = Bytes {
        halves: [3, 50],
        ahead: 7,
    };
    let (numbers, outputs) = (numbers.as_ptr(), numbers[BLOCK..].as_ptr());
    let from = singles.as_ptr();
    let bits = |sum: &f32| if sum.is_nan() { !0 } else { sum.to_bits() };
    let halves = |work: &dyn Fn(*mut u16)| {
        let mut to = [7; 2 * BLOCK];
        work(to.as_mut_ptr());
        to.map(u32::from).to_vec()
    };
    let floats = |work: &dyn Fn(*mut f32)| {
        let mut to = singles.clone();
        work(to.as_mut_ptr());
        to.iter().map(bits).collect()
    };
    // SAFETY: there is what is read, and room for what is written; who calls knows that `T` has its vectors.
    unsafe {
        vec![
            ("pairs", halves(&|to| blocks::to_pairs::<T>(numbers, to))),
            ("turned", halves(&|to| blocks::turn::<T>(numbers, to))),
            (
                "rounded",
                halves(&|to| blocks::round::<T>(from, 49, 1.0, to)),
            ),
            (
                "divided",
                halves(&|to| blocks::round::<T>(from, 40, 255.0, to)),
            ),
            (
                "rows",
                halves(&|to| blocks::bytes_to_rows::<T>(&images[..5], places, to)),
            ),
            (
                "pairs of bytes",
                halves(&|to| blocks::bytes_to_pairs::<T>(&images, places, to)),
            ),
            (
                "finished",
                halves(&|to| blocks::finish::<T>(from, 19, 0.0, to, 96)),
            ),
            (
                "finished, not rectified",
                halves(&|to| blocks::finish::<T>(from, 5, f32::NEG_INFINITY, to, 32)),
            ),
            ("passed", halves(&|to| blocks::pass::<T>(from, outputs, to))),
            (
                "columns",
                floats(&|to| blocks::add_columns::<T>(numbers, to)),
            ),
            (
                "transposed",
                floats(&|to| blocks::transpose::<T>(from, 64, 49, to, 3136)),
            ),
            (
                "transposed, square",
                floats(&|to| blocks::transpose::<T>(from, 16, 32, to, 0)),
            ),
            (
                "transposed, narrow",
                floats(&|to| blocks::transpose::<T>(from, 64, 9, to, 0)),
            ),
        ]
    }
}

/// What layer normalization makes of a pixel of so many rows of so many blocks, NaNs all the same.
fn norms<T: Tiles>(seed: u64, kind: fn(u64) -> u64, [blocks, rows]: [usize; 2]) -> Vec<Vec<u32>> {
    let mut random = Random(seed);
    let mut numbers = || -> Vec<u16> {
        (0..blocks * BLOCK)
            .map(|_| kind(random.bits()) as u16)
            .collect()
    };
    let (mut sums, mut of, mut y) = (numbers(), numbers(), vec![7; blocks * BLOCK]);
    let mut singles = || -> Vec<f32> { (0..blocks * 32).map(|_| random.single()).collect() };
    let [scale, shift, mut of_scale, mut of_shift] = [(); 4].map(|()| singles());
    let pixel = Pixel {
        start: sums.as_mut_ptr(),
        blocks,
        rows,
    };
    let target = Target {
        start: y.as_mut_ptr(),
        rows: rows.min(19),
        to_row: 32 * blocks,
        to_block: 32,
    };
    let mut factors = [7.0; 64];
    let of_params = [of_scale.as_mut_ptr(), of_shift.as_mut_ptr()];
    // SAFETY: as above; there are 32 rows of each block.
    unsafe {
        blocks::moments::<T>(pixel, factors.as_mut_ptr());
        let params = [scale.as_ptr(), shift.as_ptr()];
        blocks::normalize::<T>(pixel, factors.as_ptr(), params, target);
        if rows == 32 {
            let of = of.as_mut_ptr();
            blocks::of_norm::<T>(pixel, factors.as_ptr(), scale.as_ptr(), of, of_params);
        }
    }
    let bits = |number: &f32| {
        if number.is_nan() {
            !0
        } else {
            number.to_bits()
        }
    };
    let half = |number: &u16| bits(&f32::from_bits(u32::from(*number) << 16));
    let singles = [&factors[..], &of_scale, &of_shift].map(|to| to.iter().map(bits).collect());
    let halves = [y, of].map(|to| to.iter().map(half).collect());
    singles.into_iter().chain(halves).collect()
}

pub fn has_vectors() -> bool {
    is_x86_feature_detected!("avx512bf16")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

#[test]
fn vectors_normalize_as_plain_rust_does() {
    if !has_vectors() {
        return;
    }
    let extents = [[1, 32], [2, 32], [3, 17], [16, 32], [2, 1], [1, 16]];
    for (turn, (name, kind)) in (1..100).zip(KINDS.into_iter().cycle()) {
        for extents in extents {
            let ours = norms::<Hardware>(turn, kind, extents);
            let theirs = norms::<Emulated>(turn, kind, extents);
            for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                let place = (0..ours.len()).find(|&place| ours[place] != theirs[place]);
                let differ = place.map(|place| (place, ours[place], theirs[place]));
                assert_eq!(
                    differ, None,
                    "{number} of {extents:?}, {name}: place, ours, theirs"
                );
            }
        }
    }
}

#[test]
fn vectors_compute_what_plain_rust_does() {
    if !has_vectors() {
        return;
    }
    for (turn, (name, kind)) in (1..100).zip(KINDS.into_iter().cycle()) {
        let ours = surroundings::<Hardware>(turn, kind);
        let theirs = surroundings::<Emulated>(turn, kind);
        for ((function, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            let place = (0..ours.len()).find(|&place| ours[place] != theirs[place]);
            let differ = place.map(|place| (place, ours[place], theirs[place]));
            assert_eq!(differ, None, "{function}, {name}: place, ours, theirs");
        }
    }
}
