//! The 128 colours of the NTSC console as ale-py shows them, read out of its pictures.

use std::sync::LazyLock;

use super::{Simd, gray_of_rgb};

/// `0xrr_ggbb`, a row for each hue and a column for each brightness.
#[rustfmt::skip]
const COLOURS: [u32; 128] = [
    0x00_0000, 0x4a_4a4a, 0x6f_6f6f, 0x8e_8e8e, 0xaa_aaaa, 0xc0_c0c0, 0xd6_d6d6, 0xec_ecec,
    0x48_4800, 0x69_690f, 0x86_861d, 0xa2_a22a, 0xbb_bb35, 0xd2_d240, 0xe8_e84a, 0xfc_fc54,
    0x7c_2c00, 0x90_4811, 0xa2_6221, 0xb4_7a30, 0xc3_903d, 0xd2_a44a, 0xdf_b755, 0xec_c860,
    0x90_1c00, 0xa3_3915, 0xb5_5328, 0xc6_6c3a, 0xd5_824a, 0xe3_9759, 0xf0_aa67, 0xfc_bc74,
    0x94_0000, 0xa7_1a1a, 0xb8_3232, 0xc8_4848, 0xd6_5c5c, 0xe4_6f6f, 0xf0_8080, 0xfc_9090,
    0x84_0064, 0x97_197a, 0xa8_308f, 0xb8_46a2, 0xc6_59b3, 0xd4_6cc3, 0xe0_7cd2, 0xec_8ce0,
    0x50_0084, 0x68_199a, 0x7d_30ad, 0x92_46c0, 0xa4_59d0, 0xb5_6ce0, 0xc5_7cee, 0xd4_8cfc,
    0x14_0090, 0x33_1aa3, 0x4e_32b5, 0x68_48c6, 0x7f_5cd5, 0x95_6fe3, 0xa9_80f0, 0xbc_90fc,
    0x00_0094, 0x18_1aa7, 0x2d_32b8, 0x42_48c8, 0x54_5cd6, 0x65_6fe4, 0x75_80f0, 0x84_90fc,
    0x00_1c88, 0x18_3b9d, 0x2d_57b0, 0x42_72c2, 0x54_8ad2, 0x65_a0e1, 0x75_b5ef, 0x84_c8fc,
    0x00_3064, 0x18_5080, 0x2d_6d98, 0x42_88b0, 0x54_a0c5, 0x65_b7d9, 0x75_cceb, 0x84_e0fc,
    0x00_4030, 0x18_624e, 0x2d_8169, 0x42_9e82, 0x54_b899, 0x65_d1ae, 0x75_e7c2, 0x84_fcd4,
    0x00_4400, 0x1a_661a, 0x32_8432, 0x48_a048, 0x5c_ba5c, 0x6f_d26f, 0x80_e880, 0x90_fc90,
    0x14_3c00, 0x35_5f18, 0x52_7e2d, 0x6e_9c42, 0x87_b754, 0x9e_d065, 0xb4_e775, 0xc8_fc84,
    0x30_3800, 0x50_5916, 0x6d_762b, 0x88_923e, 0xa0_ab4f, 0xb7_c25f, 0xcc_d86e, 0xe0_ec7c,
    0x48_2c00, 0x69_4d14, 0x86_6a26, 0xa2_8638, 0xbb_9f47, 0xd2_b656, 0xe8_cc63, 0xfc_e070,
];

/// What each colour looks like; tables are indexed by half of ALE's number of it.
#[derive(Clone, Debug)]
pub struct Palette {
    /// Red, green and blue.
    pub rgb: [[u8; 128]; 3],
    /// ALE's gray, which is OpenCV's of the same RGB.
    pub gray: [u8; 128],
}

impl Palette {
    /// The palette of games for NTSC consoles.
    #[must_use]
    pub fn ntsc() -> Self {
        let rgb = [16, 8, 0].map(|shift| COLOURS.map(|colour| (colour >> shift) as u8));
        let mut gray = [0; 128];
        gray_of_rgb(&rgb[0], &rgb[1], &rgb[2], &mut gray);
        Self { rgb, gray }
    }

    /// A screen in colours: `[height, width, 3]`.
    #[must_use]
    pub fn rgb_of(&self, screen: &[u8]) -> Vec<u8> {
        let colours = screen.iter().map(|colour| usize::from(colour >> 1));
        colours
            .flat_map(|colour| [0, 1, 2].map(|part: usize| self.rgb[part][colour]))
            .collect()
    }
}

/// The gray of two colours' maximum, each of red, green and blue taken alone: by half of ALE's number of either.
static GRAY_OF_MAXIMUM: LazyLock<Vec<[u8; 128]>> = LazyLock::new(|| {
    let Palette { rgb, .. } = Palette::ntsc();
    let row = |first: usize| {
        let [red, green, blue] = rgb.map(|part| part.map(|value| value.max(part[first])));
        let mut gray = [0; 128];
        gray_of_rgb(&red, &green, &blue, &mut gray);
        gray
    };
    (0..128).map(row).collect()
});

impl Simd {
    /// Writes the gray of the maximum of two screens, taken in colours. Most pixels are the same in both.
    pub fn gray_of_maximum(self, palette: &Palette, first: &[u8], second: &[u8], out: &mut [u8]) {
        /// Pixels that are compared at once.
        const BLOCK: usize = 32;
        self.look_up(&palette.gray, first, out);
        let blocks = first.chunks(BLOCK).zip(second.chunks(BLOCK));
        for ((first, second), out) in blocks.zip(out.chunks_mut(BLOCK)) {
            if first == second {
                continue;
            }
            for ((first, second), gray) in first.iter().zip(second).zip(out) {
                *gray = GRAY_OF_MAXIMUM[usize::from(first >> 1)][usize::from(second >> 1)];
            }
        }
    }
}
