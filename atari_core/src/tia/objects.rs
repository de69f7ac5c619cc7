//! Where the objects of a line are: one mask of 160 bits for each, and which of them touch.

use super::{BALL, MISSILE, NOTHING, PLAYER, PLAYFIELD, State, stars};

/// A line's pixels, bit 0 of word 0 leftmost; the upper half of word 2 is empty.
pub(super) type Line = [u64; 3];

/// The masks of players 0 and 1, missiles 0 and 1, ball and playfield, kept until a register changes them.
#[derive(Clone, Default)]
pub(super) struct Objects {
    pub(super) lines: [Line; 6],
    /// Pixels that more than one object has, if they were asked for since the masks were made.
    shared: Line,
    any_shared: bool,
    knows_shared: bool,
    /// One bit for each mask that must be made anew.
    stale: u8,
    /// One bit for each object that is drawn anywhere.
    drawn: u8,
}

/// Where the copies of a player or missile begin, by NUSIZ: multiplying a pattern by this repeats it. The second
/// word holds the copy at 64.
const COPIES: [[u64; 2]; 8] = [
    [1, 0],
    [1 | 1 << 16, 0],
    [1 | 1 << 32, 0],
    [1 | 1 << 16 | 1 << 32, 0],
    [1, 1],
    [1, 0],
    [1 | 1 << 32, 1],
    [1, 0],
];

/// Each bit of a byte two and four times.
static DOUBLE: [u64; 256] = widened(2);
static QUAD: [u64; 256] = widened(4);

/// Each bit of a byte so many `times`, at most eight.
pub(super) const fn widened(times: u32) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 != 0 {
                table[byte] |= ((1 << times) - 1) << (times * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

impl Objects {
    #[inline(always)]
    pub(super) fn changed(&mut self, object: usize) {
        self.stale |= 1 << object;
    }

    pub(super) fn all_changed(&mut self, state: &State) {
        self.stale = 0x3f;
        self.drawn = 0;
        for side in 0..2 {
            self.set_drawn(PLAYER + side, graphics(state, side) != 0);
            self.set_drawn(MISSILE + side, missile_shown(state, side));
        }
        self.set_drawn(BALL, ball_shown(state));
        self.set_drawn(PLAYFIELD, state.playfield != 0);
    }

    #[inline(always)]
    pub(super) fn set_drawn(&mut self, object: usize, drawn: bool) {
        self.drawn = self.drawn & !(1 << object) | u8::from(drawn) << object;
    }

    #[inline(always)]
    pub(super) fn is_drawn(&self, object: usize) -> bool {
        self.drawn >> object & 1 != 0
    }

    /// The collisions that there can be of the objects that are drawn.
    #[inline(always)]
    pub(super) fn possible_collisions(&self) -> u16 {
        POSSIBLE[usize::from(self.drawn & 0x3f)]
    }

    /// Whether no two objects touch anywhere on the line.
    #[inline(always)]
    pub(super) fn apart(&mut self) -> bool {
        if !self.knows_shared {
            self.look_for_shared();
        }
        !self.any_shared
    }

    #[inline(never)]
    fn look_for_shared(&mut self) {
        self.knows_shared = true;
        let [p0, p1, m0, m1, ball, field] = &self.lines;
        let two = |part: fn(&Line) -> u128| {
            let (p0, p1, m0, m1) = (part(p0), part(p1), part(m0), part(m1));
            let (ball, field) = (part(ball), part(field));
            let (players, missiles) = (p0 | p1, m0 | m1);
            p0 & p1
                | m0 & m1
                | ball & field
                | players & missiles
                | (players | missiles) & (ball | field)
        };
        // As whole numbers, not as vectors: these would have to wait for the words that were just written.
        let left = two(|line| u128::from(line[0]) | u128::from(line[1]) << 64);
        let right = two(|line| line[2].into());
        self.shared = [left as u64, (left >> 64) as u64, right as u64];
        self.any_shared = left | right != 0;
    }

    /// Makes the masks that registers have changed.
    #[inline(always)]
    pub(super) fn update(&mut self, state: &State) {
        if self.stale != 0 {
            self.rebuild(state);
        }
    }

    #[inline(never)]
    fn rebuild(&mut self, state: &State) {
        let objects = std::mem::take(&mut self.stale);
        for side in 0..2 {
            if objects >> (PLAYER + side) & 1 != 0 {
                self.lines[PLAYER + side] = player(state, side);
            }
            if objects >> (MISSILE + side) & 1 != 0 {
                self.lines[MISSILE + side] = missile(state, side);
            }
        }
        if objects >> BALL & 1 != 0 {
            self.lines[BALL] = ball(state);
        }
        if objects >> PLAYFIELD & 1 != 0 {
            self.lines[PLAYFIELD] = playfield(state.playfield, state.reflect);
        }
        self.knows_shared = false;
    }

    /// The collisions in pixels `from..until`, as the bits of the collision registers.
    #[inline(always)]
    pub(super) fn collisions(&self, from: usize, until: usize) -> u16 {
        let mut found = 0;
        for word in from / 64..=(until - 1) / 64 {
            let mask = word_mask(word, from, until);
            if self.shared[word] & mask != 0 {
                found |= self.collisions_in(word, mask);
            }
        }
        found
    }

    #[inline(never)]
    fn collisions_in(&self, word: usize, mask: u64) -> u16 {
        let mut found = 0;
        for (bit, pair) in PAIRS.iter().enumerate() {
            if let Some((one, other)) = *pair {
                let both = self.lines[one][word] & self.lines[other][word] & mask;
                found |= u16::from(both != 0) << bit;
            }
        }
        found
    }
}

/// The pairs of the collision registers, CXM0P to CXPPMM: of each bit 6, then bit 7. One of them has no meaning.
const PAIRS: [Option<(usize, usize)>; 16] = [
    Some((MISSILE, PLAYER)),
    Some((MISSILE, PLAYER + 1)),
    Some((MISSILE + 1, PLAYER + 1)),
    Some((MISSILE + 1, PLAYER)),
    Some((PLAYER, BALL)),
    Some((PLAYER, PLAYFIELD)),
    Some((PLAYER + 1, BALL)),
    Some((PLAYER + 1, PLAYFIELD)),
    Some((MISSILE, BALL)),
    Some((MISSILE, PLAYFIELD)),
    Some((MISSILE + 1, BALL)),
    Some((MISSILE + 1, PLAYFIELD)),
    None,
    Some((BALL, PLAYFIELD)),
    Some((MISSILE, MISSILE + 1)),
    Some((PLAYER, PLAYER + 1)),
];

/// The collisions that there can be when only some objects are drawn, one bit for each of these.
static POSSIBLE: [u16; 64] = {
    let mut table = [0; 64];
    let mut drawn = 0;
    while drawn < 64 {
        let mut pair = 0;
        while pair < 16 {
            if let Some((one, other)) = PAIRS[pair]
                && drawn >> one & 1 != 0
                && drawn >> other & 1 != 0
            {
                table[drawn] |= 1 << pair;
            }
            pair += 1;
        }
        drawn += 1;
    }
    table
};

/// The bits of `from..until` that lie in a word.
#[inline(always)]
pub(super) fn word_mask(word: usize, from: usize, until: usize) -> u64 {
    let low = from.saturating_sub(word * 64);
    let high = (until - word * 64).min(64);
    (!0 >> (64 - (high - low))) << low
}

/// The graphics of a player as shown: with vertical delay, those that were written before the other player's.
#[inline(always)]
pub(super) fn graphics(state: &State, side: usize) -> u8 {
    if state.delay[side] {
        state.delayed[side]
    } else {
        state.graphics[side]
    }
}

#[inline(always)]
pub(super) fn missile_shown(state: &State, side: usize) -> bool {
    state.missile[side] && !state.locked[side]
}

#[inline(always)]
pub(super) fn ball_shown(state: &State) -> bool {
    if state.delay_ball {
        state.delayed_ball
    } else {
        state.ball
    }
}

fn player(state: &State, side: usize) -> Line {
    let graphics = graphics(state, side);
    if graphics == 0 {
        return NOTHING;
    }
    // Bit 7 is drawn first, and masks have their first pixel in bit 0.
    let pattern = if state.reflected[side] {
        graphics
    } else {
        graphics.reverse_bits()
    };
    let position = u32::from(state.position[PLAYER + side]);
    let suppressed = state.suppressed[side];
    match state.nusiz[side] & 7 {
        // Wide players are one copy, and begin a pixel late.
        mode @ (5 | 7) => {
            if suppressed {
                return NOTHING;
            }
            let table = if mode == 5 { &DOUBLE } else { &QUAD };
            place([table[usize::from(pattern)], 0], (position + 1) % 160)
        }
        mode => {
            let [first, second] = COPIES[usize::from(mode)];
            let first = first & !u64::from(suppressed);
            place(
                [u64::from(pattern) * first, u64::from(pattern) * second],
                position,
            )
        }
    }
}

fn missile(state: &State, side: usize) -> Line {
    if !missile_shown(state, side) {
        return NOTHING;
    }
    let mut width = state.nusiz[side] >> 4 & 3;
    if state.stars && side == 0 && !state.star_restored {
        match state.star_line {
            stars::WIDE => width |= 1,
            stars::DARK => return NOTHING,
            _ => {}
        }
    }
    let pattern = (1u64 << (1 << width)) - 1;
    let [first, second] = COPIES[usize::from(state.nusiz[side] & 7)];
    place(
        [pattern * first, pattern * second],
        state.position[MISSILE + side].into(),
    )
}

fn ball(state: &State) -> Line {
    if !ball_shown(state) {
        return NOTHING;
    }
    let width = 1 << ((state.ctrlpf >> 4) & 3);
    place([(1 << width) - 1, 0], state.position[BALL].into())
}

/// A pattern of up to 128 pixels, moved right to `position` and around the end of the line.
#[inline(always)]
fn place(pattern: [u64; 2], position: u32) -> Line {
    let shift = position & 63;
    let carry = |word: u64| (word >> 1) >> (63 - shift);
    let [a, b, c] = [
        pattern[0] << shift,
        carry(pattern[0]) | pattern[1] << shift,
        carry(pattern[1]),
    ];
    // Bit 160 is bit 0 again.
    match position >> 6 {
        0 => [a | c >> 32, b, c & 0xffff_ffff],
        1 => [b >> 32 | c << 32, a | c >> 32, b & 0xffff_ffff],
        _ => [a >> 32 | b << 32, b >> 32 | c << 32, a & 0xffff_ffff],
    }
}

/// Twenty bits of four pixels each, twice; the right half reflected or not.
fn playfield(bits: u32, reflect: bool) -> Line {
    if bits == 0 {
        return NOTHING;
    }
    let quad = |bits: u32| u128::from(QUAD[(bits & 0xff) as usize]);
    let half = |bits: u32| quad(bits) | quad(bits >> 8) << 32 | quad(bits >> 16) << 64;
    let left = half(bits);
    let right = if reflect {
        half(bits.reverse_bits() >> 12)
    } else {
        left
    };
    [
        left as u64,
        (left >> 64) as u64 | (right << 16) as u64,
        (right >> 48) as u64,
    ]
}
