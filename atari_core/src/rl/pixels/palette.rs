//! The 128 colours of the consoles for NTSC and for PAL as ale-py shows them, and the grays of PAL's where they are lost,
//! read out of its pictures.

use std::sync::LazyLock;

use super::gray_of_rgb;
use crate::Game;
use crate::games::Standard;
use crate::simd::Simd;

/// `0xrr_ggbb`, a row for each hue and a column for each brightness.
#[rustfmt::skip]
const NTSC: [u32; 128] = [
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

/// The same of a console for PAL.
#[rustfmt::skip]
const PAL: [u32; 128] = [
    0x00_0000, 0x2b_2b2b, 0x52_5252, 0x76_7676, 0x97_9797, 0xb6_b6b6, 0xd2_d2d2, 0xec_ecec,
    0x00_0000, 0x2b_2b2b, 0x52_5252, 0x76_7676, 0x97_9797, 0xb6_b6b6, 0xd2_d2d2, 0xec_ecec,
    0x80_5800, 0x96_711a, 0xab_8732, 0xbe_9c48, 0xcf_af5c, 0xdf_c06f, 0xee_d180, 0xfc_e090,
    0x44_5c00, 0x5e_791a, 0x76_9332, 0x8c_ac48, 0xa0_c25c, 0xb3_d76f, 0xc4_ea80, 0xd4_fc90,
    0x70_3400, 0x89_511a, 0xa0_6b32, 0xb6_8448, 0xc9_9a5c, 0xdc_af6f, 0xec_c280, 0xfc_d490,
    0x00_6414, 0x1a_8035, 0x32_9852, 0x48_b06e, 0x5c_c587, 0x6f_d99e, 0x80_ebb4, 0x90_fcc8,
    0x70_0014, 0x89_1a35, 0xa0_3252, 0xb6_486e, 0xc9_5c87, 0xdc_6f9e, 0xec_80b4, 0xfc_90c8,
    0x00_5c5c, 0x1a_7676, 0x32_8e8e, 0x48_a4a4, 0x5c_b8b8, 0x6f_cbcb, 0x80_dcdc, 0x90_ecec,
    0x70_005c, 0x84_1a74, 0x96_3289, 0xa8_489e, 0xb7_5cb0, 0xc6_6fc1, 0xd3_80d1, 0xe0_90e0,
    0x00_3c70, 0x19_5a89, 0x2f_75a0, 0x44_8eb6, 0x57_a5c9, 0x68_badc, 0x79_ceec, 0x88_e0fc,
    0x58_0070, 0x6e_1a89, 0x83_32a0, 0x96_48b6, 0xa7_5cc9, 0xb7_6fdc, 0xc6_80ec, 0xd4_90fc,
    0x00_2070, 0x19_3f89, 0x2f_5aa0, 0x44_74b6, 0x57_8bc9, 0x68_a1dc, 0x79_b5ec, 0x88_c8fc,
    0x34_0080, 0x4a_1a96, 0x5f_32ab, 0x72_48be, 0x83_5ccf, 0x93_6fdf, 0xa2_80ee, 0xb0_90fc,
    0x00_0088, 0x1a_1a9d, 0x32_32b0, 0x48_48c2, 0x5c_5cd2, 0x6f_6fe1, 0x80_80ef, 0x90_90fc,
    0x00_0000, 0x2b_2b2b, 0x52_5252, 0x76_7676, 0x97_9797, 0xb6_b6b6, 0xd2_d2d2, 0xec_ecec,
    0x00_0000, 0x2b_2b2b, 0x52_5252, 0x76_7676, 0x97_9797, 0xb6_b6b6, 0xd2_d2d2, 0xec_ecec,
];

/// A number for each palette entry.
#[derive(Clone, Debug)]
pub struct Table {
    /// For the even entries, by their half: the colours.
    pub(super) colours: [u8; 128],
    /// For the odd ones, colours that were lost, in a picture for PAL.
    pub(super) lost: Option<[u8; 128]>,
}

impl Table {
    /// The number for an entry.
    #[must_use]
    pub fn at(&self, entry: u8) -> u8 {
        let colour = usize::from(entry >> 1);
        match &self.lost {
            Some(lost) if entry & 1 == 1 => lost[colour],
            _ => self.colours[colour],
        }
    }

    /// Whether a screen has lost colours: few games lose them, and then in most pixels.
    pub(super) fn has_lost(&self, screen: &[u8]) -> bool {
        self.lost.is_some() && screen.iter().fold(0, |any, entry| any | entry) & 1 == 1
    }
}

/// What each palette entry looks like.
#[derive(Clone, Debug)]
pub struct Palette {
    /// Red, green and blue.
    pub rgb: [Table; 3],
    /// ALE's gray.
    pub gray: Table,
    /// OpenCV's gray of the colour: the same but for one of PAL's, and for lost ones.
    pub gray_of_rgb: Table,
    maxima: &'static LazyLock<Maxima>,
}

impl Palette {
    /// The palette of games for NTSC consoles.
    #[must_use]
    pub fn ntsc() -> Self {
        Self::of_colours(&NTSC, &NTSC_MAXIMA, false)
    }

    /// The palette of games for PAL consoles.
    #[must_use]
    pub fn pal() -> Self {
        Self::of_colours(&PAL, &PAL_MAXIMA, true)
    }

    /// The palette that ale-py shows a game in.
    #[must_use]
    pub fn of(game: &Game) -> Self {
        match game.standard {
            Standard::Ntsc => Self::ntsc(),
            Standard::Pal => Self::pal(),
        }
    }

    /// A lost colour is seen as its gray. ale-py's own gray of it is another: the blue of the colour that follows.
    fn of_colours(
        colours: &[u32; 128],
        maxima: &'static LazyLock<Maxima>,
        may_be_lost: bool,
    ) -> Self {
        let rgb = parts(colours);
        let [red, green, blue] = &rgb;
        let mut gray_of_rgb = [0; 128];
        super::gray_of_rgb(red, green, blue, &mut gray_of_rgb);
        let gray = std::array::from_fn(|at| ale_gray(red[at], green[at], blue[at]));
        let next_blue = std::array::from_fn(|at| blue.get(at + 1).copied().unwrap_or(0));
        let table = |colours, lost| Table {
            colours,
            lost: may_be_lost.then_some(lost),
        };
        Self {
            rgb: rgb.map(|part| table(part, gray)),
            gray: table(gray, next_blue),
            gray_of_rgb: table(gray_of_rgb, gray),
            maxima,
        }
    }

    /// A screen in colours: `[height, width, 3]`.
    #[must_use]
    pub fn rgb_of(&self, screen: &[u8]) -> Vec<u8> {
        let colours = screen.iter();
        colours
            .flat_map(|&colour| [0, 1, 2].map(|part: usize| self.rgb[part].at(colour)))
            .collect()
    }

    /// OpenCV's gray of the maximum of two entries, each of red, green and blue taken alone.
    fn gray_of_pair(&self, first: u8, second: u8) -> u8 {
        if (first | second) & 1 == 0 {
            return self.maxima[usize::from(first >> 1)][usize::from(second >> 1)];
        }
        let [red, green, blue] = [0, 1, 2].map(|part: usize| {
            let part = &self.rgb[part];
            [part.at(first).max(part.at(second))]
        });
        let mut gray = [0];
        gray_of_rgb(&red, &green, &blue, &mut gray);
        gray[0]
    }
}

/// Red, green and blue.
fn parts(colours: &[u32; 128]) -> [[u8; 128]; 3] {
    [16, 8, 0].map(|shift| colours.map(|colour| (colour >> shift) as u8))
}

/// ALE's gray of a colour: weights 0.2989, 0.587 and 0.114, rounded.
fn ale_gray(red: u8, green: u8, blue: u8) -> u8 {
    let sum = 4897 * u32::from(red) + 9617 * u32::from(green) + 1868 * u32::from(blue);
    ((sum + (1 << 13)) >> 14) as u8
}

/// OpenCV's gray of two colours' maximum, each of red, green and blue taken alone: by half of ALE's number of either.
type Maxima = Vec<[u8; 128]>;

static NTSC_MAXIMA: LazyLock<Maxima> = LazyLock::new(|| maxima(&NTSC));
static PAL_MAXIMA: LazyLock<Maxima> = LazyLock::new(|| maxima(&PAL));

fn maxima(colours: &[u32; 128]) -> Maxima {
    let rgb = parts(colours);
    let row = |first: usize| {
        let [red, green, blue] = rgb.map(|part| part.map(|value| value.max(part[first])));
        let mut gray = [0; 128];
        gray_of_rgb(&red, &green, &blue, &mut gray);
        gray
    };
    (0..128).map(row).collect()
}

impl Simd {
    /// Writes the gray of the maximum of two screens, taken in colours. Most pixels are the same in both.
    pub fn gray_of_maximum(self, palette: &Palette, first: &[u8], second: &[u8], out: &mut [u8]) {
        /// Pixels that are compared at once.
        const BLOCK: usize = 32;
        self.look_up(&palette.gray_of_rgb, first, out);
        let blocks = first.chunks(BLOCK).zip(second.chunks(BLOCK));
        for ((first, second), out) in blocks.zip(out.chunks_mut(BLOCK)) {
            if first == second {
                continue;
            }
            for ((first, second), gray) in first.iter().zip(second).zip(out) {
                *gray = palette.gray_of_pair(*first, *second);
            }
        }
    }
}
