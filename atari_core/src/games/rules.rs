//! How reward, lives and the end of a game follow from its RAM, as the Arcade Learning Environment defines them.
//!
//! Every rule here was read out of ale-py 0.12.1, which was given a ROM that leaves RAM alone and asked what it
//! makes of each value of each byte. So invalid digits count as they do there, not as a player would read them.

/// RAM by its addresses, $80 to $ff.
#[derive(Clone, Copy)]
pub struct Ram<'a> {
    console: &'a [u8; 128],
    cartridge: &'a [u8; 128],
}

impl<'a> Ram<'a> {
    pub(crate) fn new(console: &'a [u8; 128], cartridge: &'a [u8; 128]) -> Self {
        Self { console, cartridge }
    }

    /// The byte of the cartridge's own RAM that is read at $f000 and this address, $80 to $ff.
    #[must_use]
    pub fn in_cartridge(self, address: u8) -> i32 {
        self.cartridge[usize::from(address & 0x7f)].into()
    }

    /// The byte at an address.
    #[must_use]
    pub fn at(self, address: u8) -> i32 {
        self.console[usize::from(address & 0x7f)].into()
    }

    /// Two decimal digits of a byte, the upper nibble the tens.
    #[must_use]
    pub fn bcd_of(self, byte: i32) -> i32 {
        (byte >> 4) * 10 + (byte & 15)
    }

    /// A number of two decimal digits a byte, the most significant byte first.
    #[must_use]
    pub fn bcd(self, addresses: &[u8]) -> i32 {
        addresses.iter().fold(0, |number, &address| {
            number * 100 + self.bcd_of(self.at(address))
        })
    }

    /// A nibble that shows a digit; 10 is a blank.
    #[must_use]
    pub fn digit(self, nibble: i32) -> i32 {
        if nibble == 10 { 0 } else { nibble }
    }

    /// A number of one digit in the lower nibble of each byte, the most significant first.
    #[must_use]
    pub fn digits(self, addresses: &[u8]) -> i32 {
        addresses.iter().fold(0, |number, &address| {
            number * 10 + self.digit(self.at(address) & 15)
        })
    }

    /// A number whose digits are bytes that point to shapes of eight lines; $80 is a blank.
    #[must_use]
    pub fn shapes(self, addresses: &[u8]) -> i32 {
        addresses.iter().fold(0, |number, &address| {
            let shape = self.at(address);
            number * 10 + if shape == 0x80 { 0 } else { shape >> 3 }
        })
    }
}

/// What the rules remember from one frame to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The score as it was last seen.
    pub score: i32,
    /// Points of the last frame.
    pub reward: i32,
    /// Lives left.
    pub lives: i32,
    /// The game is over.
    pub over: bool,
    /// Whatever else a game's rules have to remember.
    pub memory: [i32; 2],
    /// The same of the second player; nothing in a game for one.
    pub second: Second,
}

/// What the rules of a game for two remember of the second player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// The score as it was last seen.
    pub score: i32,
    /// Points of the last frame.
    pub reward: i32,
    /// Lives left.
    pub lives: i32,
    /// Whatever else.
    pub memory: [i32; 2],
}

impl Second {
    /// All of it.
    pub(crate) fn numbers(self) -> [i32; 5] {
        let [first, second] = self.memory;
        [self.score, self.reward, self.lives, first, second]
    }
}

impl Progress {
    /// Before the first frame.
    pub(super) const fn at_start(lives: i32, score: i32) -> Self {
        Self {
            score,
            reward: 0,
            lives,
            over: false,
            memory: [0; 2],
            second: Second {
                score: 0,
                reward: 0,
                lives: 0,
                memory: [0; 2],
            },
        }
    }
}

/// How the reward of a frame follows from the score.
#[derive(Clone, Copy, Debug)]
pub enum Score {
    /// It is what the score grew by, less where the score fell.
    Of(fn(Ram) -> i32),
    /// The same, for a counter that starts again at 0 when it reaches the number.
    Wraps(fn(Ram) -> i32, i32),
    /// The same while the game lasts; the frame that ends it gives nothing.
    UntilOver(fn(Ram) -> i32),
    /// The same, but a score that falls costs nothing.
    Gains(fn(Ram) -> i32),
    /// The same, but one point at most.
    AtMostOne(fn(Ram) -> i32),
    /// One point whenever the score rises.
    Rises(fn(Ram) -> i32),
    /// One point for a quest that is fulfilled, in a game whose one life ale-py counts to the end and beyond it.
    Quest(fn(Ram) -> bool),
    /// The game tells the reward itself.
    Rewards(fn(Ram, &mut Progress) -> i32),
}

/// The rules of a game.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What a game begins with.
    pub start: Progress,
    /// Where the reward comes from.
    pub score: Score,
    /// Lives left after a frame that did not end the game.
    pub lives: fn(Ram, &mut Progress) -> i32,
    /// Whether the game has ended.
    pub over: fn(Ram, &Progress) -> bool,
}

impl Rules {
    /// Takes in the RAM after a frame, address 0 being $80, and the cartridge's own, which is not looked at where it has
    /// none.
    pub fn step(&self, console: &[u8; 128], cartridge: &[u8; 128], progress: &mut Progress) {
        let ram = Ram::new(console, cartridge);
        progress.over = (self.over)(ram, progress);
        let before = progress.score;
        progress.reward = match self.score {
            Score::Of(score) => {
                progress.score = score(ram);
                progress.score - before
            }
            Score::Wraps(score, limit) => {
                progress.score = score(ram);
                let grown = progress.score - before;
                if grown < 0 { grown + limit } else { grown }
            }
            Score::UntilOver(_) if progress.over => 0,
            Score::UntilOver(score) => {
                progress.score = score(ram);
                progress.score - before
            }
            Score::Gains(score) => {
                progress.score = score(ram);
                (progress.score - before).max(0)
            }
            Score::AtMostOne(score) => {
                progress.score = score(ram);
                (progress.score - before).min(1)
            }
            Score::Rises(score) => {
                progress.score = score(ram);
                i32::from(progress.score > before)
            }
            Score::Quest(fulfilled) => fulfilled(ram).into(),
            Score::Rewards(reward) => reward(ram, progress),
        };
        let lives = (self.lives)(ram, progress);
        let lost = progress.over && !matches!(self.score, Score::Quest(_));
        progress.lives = if lost { 0 } else { lives };
    }
}

/// The RAM of cartridges that have none, as those of games for two.
static NO_RAM: [u8; 128] = [0; 128];

/// The rules of a game for two.
#[derive(Clone, Copy, Debug)]
pub struct RulesForTwo {
    /// The mode in which a ROM that was loaded waits for another to be chosen.
    pub loaded_mode: u32,
    /// What a game begins with.
    pub start: Progress,
    /// Rewards, lives and end after a frame, in a mode.
    pub after_frame: fn(Ram, u32, &mut Progress),
}

impl RulesForTwo {
    /// Takes in the RAM after a frame, address 0 being $80.
    pub fn step(&self, ram: &[u8; 128], mode: u32, progress: &mut Progress) {
        (self.after_frame)(Ram::new(ram, &NO_RAM), mode, progress);
    }
}

/// The lives of a game that has none.
pub(super) fn no_lives(_: Ram, _: &mut Progress) -> i32 {
    0
}

/// The lives of a game that is played once.
pub(super) fn one_life(_: Ram, _: &mut Progress) -> i32 {
    1
}
