//! The vector versions of what only a residual network computes beside the plain ones, bit for bit.

use crate::amx::{
    blocks::{self, BLOCK, Seen},
    hardware::Hardware,
    tests::{KINDS, Random, has_vectors},
    tiles::{Emulated, Tiles},
};

/// What each function makes of random numbers, by name; NaNs are all the same, for of two of them the sum is either.
fn made<T: Tiles>(seed: u64, kind: fn(u64) -> u64) -> [(&'static str, Vec<u16>); 4] {
    let mut random = Random(seed);
    let numbers = random.blocks(kind);
    let singles: Vec<f32> = (0..BLOCK).map(|_| random.single()).collect();
    let (sums, x) = (singles.as_ptr(), numbers.as_ptr());
    let halves = |work: &dyn Fn(*mut u16)| {
        let mut to = [7; 2 * BLOCK];
        work(to.as_mut_ptr());
        let alike = |number: u16| if number & 0x7fff > 0x7f80 { !0 } else { number };
        to.map(alike).to_vec()
    };
    // SAFETY: there is what is read, and room for what is written; who calls knows that `T` has its vectors.
    unsafe {
        [
            (
                "pass_onto",
                halves(&|to| blocks::pass_onto::<T>(sums, x.add(BLOCK), to)),
            ),
            (
                "join",
                halves(&|to| blocks::join::<T>(sums, x, 9, [to, to.add(BLOCK)])),
            ),
            (
                "pool",
                halves(&|to| {
                    let keys = to.add(BLOCK + 512);
                    keys.copy_from_nonoverlapping(x, 512);
                    blocks::to_keys::<T>(keys, 16);
                    let windows = [[0, 16], [80, 2], [32, 7]].map(|begin| Seen {
                        halves: begin.map(|begin| keys.add(begin).cast_const()),
                        places: [begin[0] as u8, 3],
                    });
                    let (rectified, chosen) = (to.add(512), to.add(BLOCK).cast());
                    blocks::pool::<T>(&windows, 13, [to, rectified], chosen);
                }),
            ),
            (
                "of_pool",
                halves(&|to| {
                    let chosen = x.cast::<u8>();
                    let windows = [0, 16, 32].map(|at| {
                        let place = *chosen.add(7 * at);
                        (x.add(BLOCK - 64 + at), chosen.add(at), place)
                    });
                    blocks::of_pool::<T>(&windows, to);
                }),
            ),
        ]
    }
}

#[test]
fn vectors_compute_what_plain_rust_does() {
    if !has_vectors() {
        return;
    }
    for (turn, (name, kind)) in (1..100).zip(KINDS.into_iter().cycle()) {
        let (ours, theirs) = (made::<Hardware>(turn, kind), made::<Emulated>(turn, kind));
        for ((function, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            assert!(ours == theirs, "{function}, {name}");
        }
    }
}
