//! Pixels and random numbers against `preprocessing.py`, which asks OpenCV, numpy and `atari_wrappers` for the same.

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
};

use atari_core::{
    MersenneTwister, Simd,
    rl::{
        pixels::{Palette, Resizer, gray_of_rgb, maximum},
        random::Draws,
        recipe::{Interpolation, Seeding},
    },
};

/// What a function of `preprocessing.py` answers.
fn ask(function: &str, request: Vec<u8>) -> Vec<u8> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/native/preprocessing.py");
    let python = std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test");
    let mut python = Command::new(python + "/bin/python")
        .args([script, function])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = python.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&request).unwrap());
    let answer = python.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(answer.status.success(), "{function} failed");
    answer.stdout
}

/// Noise, rows of which come twice and more often, as on a console's screen.
fn noise(twister: &mut MersenneTwister, height: usize, width: usize) -> Vec<u8> {
    let mut rows: Vec<Vec<u8>> = Vec::new();
    for y in 0..height {
        if y > 0 && twister.up_to(2) == 0 {
            rows.push(rows[y - 1].clone());
        } else {
            rows.push((0..width).map(|_| twister.next_u32() as u8).collect());
        }
    }
    rows.concat()
}

#[test]
fn resized_pictures_are_opencvs_in_every_pixel_and_on_every_path() {
    let mut twister = MersenneTwister::new(1);
    let mut sizes = vec![
        [210, 84, 84],
        [210, 84, 84],
        [210, 84, 84],
        [250, 84, 84],
        [214, 84, 84],
        [210, 96, 96],
        [210, 64, 64],
        [210, 210, 160],
        [210, 105, 80],
        [210, 70, 80],
        [210, 210, 80],
        [210, 42, 40],
        [210, 84, 160],
        [210, 1, 1],
        [210, 224, 224],
        [210, 256, 256],
        [210, 84, 200],
        [210, 250, 84],
    ];
    sizes.extend((0..80).map(|_| [210, 1 + twister.up_to(229), 1 + twister.up_to(179)]));
    let (mut request, mut pictures) = (Vec::new(), Vec::new());
    let ways = [Interpolation::Area, Interpolation::Linear];
    for ([height, new_height, new_width], way) in
        sizes.iter().flat_map(|&sides| ways.map(|way| (sides, way)))
    {
        let is_linear = u32::from(way == Interpolation::Linear);
        for number in [is_linear, height, 160, new_height, new_width] {
            request.extend(number.to_le_bytes());
        }
        let from = (height as usize, 160);
        let picture = noise(&mut twister, from.0, from.1);
        request.extend(&picture);
        pictures.push((
            from,
            (new_height as usize, new_width as usize),
            way,
            picture,
        ));
    }
    let answer = ask("resize", request);
    let mut answer = answer.as_slice();
    for (from, to, way, picture) in pictures {
        let (expected, rest) = answer.split_at(to.0 * to.1);
        answer = rest;
        for &simd in Simd::available() {
            let mut out = vec![0; to.0 * to.1];
            let mut resizer = Resizer::new(from, to, way, simd);
            resizer.resize(&picture, &mut out);
            resizer.resize(&picture, &mut out);
            assert!(out == expected, "{from:?} to {to:?}, {way:?} with {simd:?}");
        }
    }
    assert!(answer.is_empty());
}

#[test]
fn gray_is_opencvs_and_tables_are_looked_up_alike_on_every_path() {
    let mut twister = MersenneTwister::new(2);
    let pixels = noise(&mut twister, 1, 3 * 100_000);
    let part = |part: usize| {
        pixels
            .iter()
            .skip(part)
            .step_by(3)
            .copied()
            .collect::<Vec<u8>>()
    };
    let (red, green, blue) = (part(0), part(1), part(2));
    let mut gray = vec![0; red.len()];
    gray_of_rgb(&red, &green, &blue, &mut gray);
    assert!(gray == ask("gray", pixels));

    // Odd entries, too: colours that are lost.
    let first: Vec<u8> = (0..33_600).map(|_| twister.next_u32() as u8).collect();
    let mut second = first.clone();
    for _ in 0..2_000 {
        second[twister.up_to(33_599) as usize] = twister.next_u32() as u8;
    }
    for palette in [Palette::ntsc(), Palette::pal()] {
        let mut brightest = palette.rgb_of(&first);
        maximum(&mut brightest, &palette.rgb_of(&second));
        let expected = ask("gray", brightest);
        for &simd in Simd::available() {
            let mut out = vec![0; first.len()];
            simd.gray_of_maximum(&palette, &first, &second, &mut out);
            assert!(out == expected, "{simd:?}");
        }
    }

    let table = &Palette::ntsc().gray;
    for num_rows in [210, 1, 3] {
        let length = num_rows * atari_core::WIDTH;
        let screen: Vec<u8> = (0..length).map(|_| twister.next_u32() as u8 & !1).collect();
        let expected: Vec<u8> = screen.iter().map(|&colour| table.at(colour)).collect();
        for &simd in Simd::available() {
            let mut out = vec![0; length];
            simd.look_up(table, &screen, &mut out);
            assert!(out == expected, "{num_rows} with {simd:?}");
        }
    }
}

#[test]
fn no_ops_are_drawn_as_numpy_and_the_standard_library_of_cpp_draw_them() {
    let seeds = [0, 1, 2, 42, 123_456_789, (1 << 31) - 2];
    let ranges = [(0, 29), (1, 30), (0, 0), (5, 5), (0, 6), (3, 2_000_000_000)];
    let (mut request, mut cases) = (Vec::new(), Vec::new());
    for (way, seeding) in [(0_u64, Seeding::Hashed), (1, Seeding::Raw)] {
        for seed in seeds {
            for (low, high) in ranges {
                for number in [way, seed, u64::from(low), u64::from(high)] {
                    request.extend(number.to_le_bytes());
                }
                cases.push((seeding, seed, low, high));
            }
        }
    }
    let answer = ask("draws", request);
    let numbers: Vec<u32> = answer
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    assert_eq!(numbers.len(), 51 * cases.len());
    for ((seeding, seed, low, high), expected) in cases.into_iter().zip(numbers.chunks(51)) {
        let (console, mut draws) = Draws::new(seeding, seed);
        let numbers: Vec<u32> = (0..50).map(|_| draws.between(low, high)).collect();
        assert_eq!(
            (console, numbers.as_slice()),
            (expected[0], &expected[1..]),
            "{seeding:?} {seed}"
        );
    }
}

#[test]
fn sticky_actions_are_drawn_as_ale_draws_them() {
    let seeds = [0, 1, 4_294_967_295];
    let answer = ask(
        "doubles",
        seeds
            .iter()
            .flat_map(|seed: &u32| seed.to_le_bytes())
            .collect(),
    );
    let mut answer = answer
        .as_chunks()
        .0
        .iter()
        .map(|word| f64::from_le_bytes(*word));
    for seed in seeds {
        let mut twister = MersenneTwister::new(seed);
        for _ in 0..2000 {
            assert_eq!(Some(twister.next_f64()), answer.next());
        }
    }
    assert_eq!(answer.next(), None);
}
