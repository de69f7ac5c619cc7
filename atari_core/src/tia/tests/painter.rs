//! A painter that knows nothing of masks, words or what may be left out: it asks every object at every pixel whether it
//! is there. What the registers mean is Wright's "Stella Programmer's Guide" (1979); when a write shows, and what strobes
//! and HMOVE do to positions, are the measured facts that [`super::super::registers`] and [`super::super::motion`] document.

use super::{HEIGHT, TOP};
use crate::tia::{CLOCKS_PER_LINE, MAX_HEIGHT, WIDTH, motion};

/// A sprite's copies start at these pixels, by the low bits of NUSIZ.
const OFFSETS: [&[i32]; 8] = [
    &[0],
    &[0, 16],
    &[0, 32],
    &[0, 16, 32],
    &[0, 64],
    &[0],
    &[0, 32, 64],
    &[0],
];

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)]
struct Sprite {
    nusiz: u8,
    colour: u8,
    reflected: bool,
    /// `GRPx` as written, as the other player's write hands it on, and which of the two is shown.
    graphics: [u8; 2],
    delayed: bool,
    position: i32,
    suppressed: bool,
    missile: bool,
    missile_position: i32,
    locked: bool,
    motion: [u8; 2],
}

impl Sprite {
    fn shown(&self) -> u8 {
        self.graphics[usize::from(self.delayed)]
    }

    fn missile_enabled(&self) -> bool {
        self.missile && !self.locked
    }

    /// The end of the first copy's doubled or quadrupled pixels, and the pixel at which these begin.
    fn stretch(&self) -> (i32, i32) {
        match self.nusiz & 7 {
            5 => (2, 1),
            7 => (4, 1),
            _ => (1, 0),
        }
    }

    fn player_at(&self, x: i32) -> bool {
        let (stretch, late) = self.stretch();
        let copies = OFFSETS[usize::from(self.nusiz & 7)];
        copies[usize::from(self.suppressed)..].iter().any(|copy| {
            let into = (x - self.position - copy - late).rem_euclid(160) / stretch;
            let bit = if self.reflected { into } else { 7 - into };
            into < 8 && self.shown() >> bit & 1 == 1
        })
    }

    fn missile_at(&self, x: i32) -> bool {
        let width = 1 << (self.nusiz >> 4 & 3);
        self.missile_enabled()
            && OFFSETS[usize::from(self.nusiz & 7)]
                .iter()
                .any(|copy| (x - self.missile_position - copy).rem_euclid(160) < width)
    }

    fn lock_to_player(&mut self) {
        let middle = match self.nusiz & 7 {
            5 => 8,
            7 => 16,
            _ => 4,
        };
        self.missile_position = (self.position + middle) % 160;
    }
}

#[derive(Default)]
pub(super) struct Painter {
    clock: i32,
    sprites: [Sprite; 2],
    ball: [bool; 2],
    ball_delayed: bool,
    ball_position: i32,
    ball_motion: u8,
    field: [u8; 3],
    field_colour: u8,
    background: u8,
    ctrlpf: u8,
    mirrored: bool,
    blank: bool,
    comb: [bool; 2],
    moved_at: i32,
    /// As the eight registers from CXM0P on show them, 7 and 6 of each.
    collisions: [[bool; 2]; 8],
    pub(super) picture: Vec<u8>,
}

impl Painter {
    pub(super) fn new() -> Self {
        Self {
            clock: TOP * CLOCKS_PER_LINE,
            moved_at: -1_000_000,
            picture: vec![0; WIDTH * MAX_HEIGHT],
            ..Self::default()
        }
    }

    pub(super) fn paint_to(&mut self, clock: i32) {
        while self.clock < clock.min((TOP + HEIGHT) * CLOCKS_PER_LINE) {
            let x = self.clock % CLOCKS_PER_LINE - 68;
            if x >= 0 {
                self.pixel(x);
            }
            self.clock += 1;
            if self.clock % CLOCKS_PER_LINE == 0 {
                self.mirrored = self.ctrlpf & 1 == 1;
                self.comb = [self.comb[1], false];
                self.sprites
                    .iter_mut()
                    .for_each(|sprite| sprite.suppressed = false);
            }
        }
    }

    fn field_at(&self, x: i32) -> bool {
        let quad = match x / 4 {
            left @ 0..20 => left,
            right if self.mirrored => 39 - right,
            right => right - 20,
        };
        match quad {
            0..4 => self.field[0] >> (4 + quad) & 1 == 1,
            4..12 => self.field[1] >> (11 - quad) & 1 == 1,
            _ => self.field[2] >> (quad - 12) & 1 == 1,
        }
    }

    fn pixel(&mut self, x: i32) {
        let [p0, p1] = [0, 1].map(|side: usize| self.sprites[side].player_at(x));
        let [m0, m1] = [0, 1].map(|side: usize| self.sprites[side].missile_at(x));
        let ball_on = self.ball[usize::from(self.ball_delayed)];
        let ball_width = 1 << (self.ctrlpf >> 4 & 3);
        let ball = ball_on && (x - self.ball_position).rem_euclid(160) < ball_width;
        let field = self.field_at(x);
        if !self.blank {
            let now = [
                [m0 & p1, m0 & p0],
                [m1 & p0, m1 & p1],
                [p0 & field, p0 & ball],
                [p1 & field, p1 & ball],
                [m0 & field, m0 & ball],
                [m1 & field, m1 & ball],
                [ball & field, false],
                [p0 & p1, m0 & m1],
            ];
            for (latch, now) in self
                .collisions
                .as_flattened_mut()
                .iter_mut()
                .zip(now.as_flattened())
            {
                *latch |= now;
            }
        }
        let score = self.ctrlpf & 2 != 0;
        let alone = !ball_on
            && self
                .sprites
                .iter()
                .all(|s| s.shown() == 0 && !s.missile_enabled());
        let first = self.ctrlpf & 4 != 0 && !(score && alone);
        let (colour0, colour1) = (self.sprites[0].colour, self.sprites[1].colour);
        let side = usize::from(x >= 80);
        let scored = score && !first && field;
        let colour = if self.blank || self.comb[0] && x < 8 {
            0
        } else if first && (field || ball) {
            self.field_colour
        } else if p0 || m0 || scored && side == 0 {
            colour0
        } else if p1 || m1 || scored {
            colour1
        } else if field || ball {
            self.field_colour
        } else {
            self.background
        };
        let row = self.clock / CLOCKS_PER_LINE - TOP;
        self.picture[row as usize * WIDTH + x as usize] = colour;
    }

    pub(super) fn write(&mut self, register: u32, value: u8, cycle: i32) {
        let clock = 3 * cycle;
        let x = clock % CLOCKS_PER_LINE - 68;
        let side = (register & 1) as usize;
        // From which clock on the write shows, but for the strobes of players.
        let delay = match register {
            0x01 | 0x0b | 0x0c | 0x1b | 0x1c => 1,
            0x04 | 0x05 | 0x12 | 0x13 => 8,
            0x0d..=0x0f => [4, 5, 2, 3][(cycle % 4) as usize],
            _ => 0,
        };
        if !matches!(register, 0x10 | 0x11) {
            self.paint_to(clock + delay);
        }
        match register {
            0x01 => self.blank = value & 2 != 0,
            0x04 | 0x05 => {
                self.sprites[side].nusiz = value;
                self.sprites[side].suppressed = false;
            }
            0x06 | 0x07 => self.sprites[side].colour = value & 0xfe,
            0x08 => self.field_colour = value & 0xfe,
            0x09 => self.background = value & 0xfe,
            0x0a => {
                self.ctrlpf = value;
                // The right half is fixed once it is being drawn.
                if x < 79 {
                    self.mirrored = value & 1 == 1;
                }
            }
            0x0b | 0x0c => self.sprites[1 - side].reflected = value & 8 != 0,
            0x0d..=0x0f => self.field[(register - 0x0d) as usize] = value,
            0x10 | 0x11 => self.strobe_player(side, clock, x),
            0x12 | 0x13 => self.sprites[side].missile_position = self.strobe(side, clock, x),
            0x14 => self.ball_position = self.strobe(2, clock, x),
            0x1b | 0x1c => {
                let own = 1 - side;
                self.sprites[own].graphics[0] = value;
                self.sprites[side].graphics[1] = self.sprites[side].graphics[0];
                if own == 1 {
                    self.ball[1] = self.ball[0];
                }
            }
            0x1d | 0x1e => self.sprites[1 - side].missile = value & 2 != 0,
            0x1f => self.ball[0] = value & 2 != 0,
            0x20 | 0x21 => self.sprites[side].motion[0] = value >> 4,
            0x22 | 0x23 => self.sprites[side].motion[1] = value >> 4,
            0x24 => self.ball_motion = value >> 4,
            0x25 | 0x26 => self.sprites[1 - side].delayed = value & 1 == 1,
            0x27 => self.ball_delayed = value & 1 == 1,
            0x28 | 0x29 => {
                let sprite = &mut self.sprites[side];
                if sprite.locked && value & 2 == 0 {
                    sprite.lock_to_player();
                }
                sprite.locked = value & 2 != 0;
            }
            0x2a => self.hmove(clock),
            0x2b => {
                self.sprites.iter_mut().for_each(|s| s.motion = [0; 2]);
                self.ball_motion = 0;
            }
            0x2c => self.collisions = [[false; 2]; 8],
            _ => {}
        }
    }

    fn strobe_player(&mut self, side: usize, clock: i32, x: i32) {
        let position = if x < 0 { 3 } else { (x + 5) % 160 };
        let sprite = &self.sprites[side];
        let end = 4 + 8 * sprite.stretch().0;
        let mut old = OFFSETS[usize::from(sprite.nusiz & 7)]
            .iter()
            .map(|copy| (position - sprite.position - copy).rem_euclid(160))
            .filter(|&into| into < end);
        let (suppressed, shown_at) = match old.next() {
            Some(0..4) => (false, clock),
            Some(_) => (true, clock + 11),
            None => (true, clock),
        };
        self.paint_to(shown_at);
        self.sprites[side].position = position;
        self.sprites[side].suppressed = suppressed && x > -68;
    }

    /// Where a strobe of missile 0, missile 1 or the ball puts it.
    fn strobe(&self, object: usize, clock: i32, x: i32) -> i32 {
        let case = (object, (x + 68) / 3, (clock - self.moved_at) / 3);
        match case {
            (1 | 2, 6, 3) => 3,
            (2, 9, 6) => 5,
            (2, 10, 7) => 6,
            (2, 20 | 23, 18) => 10,
            (0, 23, 20) => 8,
            _ if x < 0 => 2,
            _ => (x + 4) % 160,
        }
    }

    fn hmove(&mut self, clock: i32) {
        self.moved_at = clock;
        let cycle = (clock % CLOCKS_PER_LINE / 3) as usize;
        let (now, next) = motion::comb(cycle);
        self.comb = [self.comb[0] | now, self.comb[1] | next];
        let moved = |position: i32, motion| {
            (position - i32::from(motion::distances(cycle)[usize::from(motion)])).rem_euclid(160)
        };
        for sprite in &mut self.sprites {
            sprite.position = moved(sprite.position, sprite.motion[0]);
            sprite.missile_position = moved(sprite.missile_position, sprite.motion[1]);
            sprite.suppressed = false;
            if sprite.locked {
                sprite.lock_to_player();
            }
        }
        self.ball_position = moved(self.ball_position, self.ball_motion);
    }

    pub(super) fn end_frame(&mut self, cycle: i32) {
        self.paint_to(3 * cycle);
        self.moved_at -= cycle / 76 * CLOCKS_PER_LINE;
        self.clock = TOP * CLOCKS_PER_LINE;
    }

    pub(super) fn collisions(&self) -> [u8; 8] {
        self.collisions
            .map(|[high, low]| u8::from(high) << 7 | u8::from(low) << 6)
    }
}
