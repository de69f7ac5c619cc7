//! The table of games: for each its ROM, its actions, how it is started, and how score, lives and end follow from
//! RAM.

mod a_to_b;
mod c_to_f;
mod g_to_k;
mod l_to_q;
mod odd;
mod r_to_s;
mod rules;
mod t_to_z;
pub mod two;

pub use crate::input::Controller;
pub use rules::{Progress, Ram, Rules, RulesForTwo, Score, Second};

use crate::input::PADDLE_MAX;
use crate::{Action, Mapper};

/// What is known of a game.
#[derive(Debug)]
pub struct Game {
    /// The name that ale-py gives its ROM: "breakout".
    pub name: &'static str,
    /// MD5 of the ROM, in hexadecimal digits.
    pub md5: &'static str,
    /// How its cartridge is switched.
    pub mapper: Mapper,
    /// What it is played with.
    pub controller: Controller,
    /// The line of the frame at which the picture begins.
    pub top: u16,
    /// Lines of the picture.
    pub height: u16,
    /// The television that it was made for.
    pub standard: Standard,
    /// HMOVE blackens no pixels at the left.
    pub no_comb: bool,
    /// Actions with the button count as none: in Skiing it would begin the run anew.
    pub no_button: bool,
    /// How a mode is chosen; none where there is only one, or where it is not known how the others are begun.
    pub select: Option<Select>,
    /// Frames for which the RESET switch is held when a game begins, the mode being chosen.
    pub reset_frames: u16,
    /// What is pressed after that, and for how many frames.
    pub start: &'static [(Action, u16)],
    /// The actions that do something, in ale-py's order.
    pub actions: &'static [Action],
    /// Score, lives and end; none where they are not known yet.
    pub rules: Option<Rules>,
    /// The same of a game for two, which has no other rules.
    pub rules_for_two: Option<RulesForTwo>,
    /// Of a game for two: the mode that is played unless another is asked for, as `PettingZoo` does; none where that is the
    /// first.
    pub default_mode: Option<u32>,
    /// Of a game for two: the lives of both as the one number that is told of a game, those in play included.
    pub lives_of_both: fn([i32; 2]) -> i32,
    /// Whether the sweep found every frame equal to ale-py's, in all modes and difficulties: the ROM's line in
    /// `docs/results/atari_core/sweep.txt` says `exact`.
    pub proved: bool,
    /// Where it is known not to be what ale-py makes of it.
    pub differs: Option<&'static str>,
    /// The modes that can be set.
    pub modes: &'static [u32],
    /// The difficulties that can be set.
    pub difficulties: &'static [u32],
}

/// What a console's picture is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// North America and Japan.
    Ntsc,
    /// Europe: more lines, and other colours.
    Pal,
}

/// How a mode is chosen before a game begins, after RESET was held. The frames between the presses count as the
/// game's.
#[derive(Clone, Copy, Debug)]
pub enum Select {
    /// SELECT is pressed until RAM shows the mode, a frame in which nothing is touched after each press.
    Switch {
        /// Frames for which RESET is held before.
        reset_frames: u16,
        /// Frames that pass untouched after that, and count as the game's.
        idle_frames: u16,
        /// Frames for which SELECT is held once before RAM is looked at; 0 for not at all.
        first_press: u16,
        /// How long SELECT is held each time after that.
        held: Held,
        /// Whether RAM shows a mode.
        shows: fn(Ram, i32) -> bool,
    },
    /// SELECT is pressed until RAM shows one part of the mode, then the stick is held to the right until it shows the
    /// other. RESET is held before either.
    Stick {
        /// Frames for which SELECT is held each time.
        select_frames: u16,
        /// Whether RAM shows the part that SELECT chooses.
        shows: fn(Ram, i32) -> bool,
        /// Whether RAM shows the part that the stick chooses.
        points: fn(Ram, i32) -> bool,
    },
    /// SELECT opens a menu of options, each in a row of its own and either set (by the stick to the right) or not (to
    /// the left).
    Menu {
        /// The byte of RAM that holds the row that is pointed at.
        row: u8,
        /// The byte of RAM that shows what is set.
        byte: u8,
        /// Each option's row, its bit of the mode, and its bit of that byte.
        options: &'static [(u8, u32, u8)],
        /// What is pressed for a frame once RESET has closed the menu, if anything.
        then: Option<Action>,
    },
}

/// How long SELECT is held.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    /// For so many frames each time.
    Frames(u16),
    /// For 2 to 257 frames, which one of ALE's random numbers decides; a frame in which an agent could act follows.
    Random,
}

/// SELECT held for some frames each time, until RAM shows the mode.
const fn select(select_frames: u16, shows: fn(Ram, i32) -> bool) -> Select {
    Select::Switch {
        reset_frames: 4,
        idle_frames: 0,
        first_press: 0,
        held: Held::Frames(select_frames),
        shows,
    }
}

/// A number below 100 as two decimal digits of a byte.
fn bcd(number: i32) -> i32 {
    number / 10 * 16 + number % 10
}

/// What most games have in common.
pub(crate) const fn game(name: &'static str, md5: &'static str, mapper: Mapper) -> Game {
    Game {
        name,
        md5,
        mapper,
        controller: Controller::Joystick,
        top: 34,
        height: 210,
        standard: Standard::Ntsc,
        no_comb: false,
        no_button: false,
        select: None,
        reset_frames: 8,
        start: &[],
        actions: &Action::ALL,
        rules: None,
        rules_for_two: None,
        default_mode: None,
        lives_of_both: |[first, second]| first + second,
        proved: false,
        differs: None,
        modes: &[0],
        difficulties: &[0],
    }
}

/// A game for PAL consoles.
const fn pal(name: &'static str, md5: &'static str, mapper: Mapper) -> Game {
    Game {
        height: 250,
        standard: Standard::Pal,
        ..game(name, md5, mapper)
    }
}

/// Paddles in the left port, and perhaps in the right one.
const fn paddles(player: u8, others: Option<i32>) -> Controller {
    Controller::Paddles {
        player,
        others,
        max: PADDLE_MAX,
    }
}

impl Game {
    /// The actions that it takes, in ale-py's order: all 18, or those that leave the button alone.
    #[must_use]
    pub fn all_actions(&self) -> &'static [Action] {
        if self.no_button {
            &Action::WITHOUT_FIRE
        } else {
            &Action::ALL
        }
    }

    /// What a game begins with.
    pub(crate) fn at_start(&self) -> Progress {
        let for_one = self.rules.map(|rules| rules.start);
        let for_two = self.rules_for_two.map(|rules| rules.start);
        for_one.or(for_two).unwrap_or_default()
    }

    /// Why it might not be what ale-py makes of it, if so.
    #[must_use]
    pub fn unproved(&self) -> Option<&'static str> {
        let known = self.rules.is_some() || self.rules_for_two.is_some();
        match (self.differs, known, self.proved) {
            (Some(difference), _, _) => Some(difference),
            (None, false, _) => Some("its score, lives and end are not known"),
            (None, true, false) => Some("it was not compared frame by frame"),
            (None, true, true) => None,
        }
    }
}

/// Every game, in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static Game> {
    [
        a_to_b::GAMES,
        c_to_f::GAMES,
        g_to_k::GAMES,
        l_to_q::GAMES,
        r_to_s::GAMES,
        t_to_z::GAMES,
    ]
    .into_iter()
    .flatten()
}

/// The game whose ROM has this MD5.
#[must_use]
pub fn by_md5(md5: &str) -> Option<&'static Game> {
    all().find(|game| game.md5 == md5)
}

/// The game of a name: "breakout".
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Game> {
    all().find(|game| game.name == name)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::{Game, all, two};

    /// What `scripts/atari_sweep --modes 1000` printed last.
    const SWEEP: &str = include_str!("../../../docs/results/atari_core/sweep.txt");
    /// The same with `--players 2`.
    const SWEEP_TWO: &str = include_str!("../../../docs/results/atari_core/sweep-two.txt");

    fn numbers(choices: &[u32]) -> String {
        let numbers: Vec<String> = choices.iter().map(u32::to_string).collect();
        numbers.join(" ")
    }

    fn check(game: &Game, sweep: &str) {
        let line = sweep
            .lines()
            .find(|line| line.split_whitespace().next() == Some(game.name));
        // Without a way to choose another, a game is played in its first mode.
        let known = if game.select.is_some() {
            game.modes.len()
        } else {
            1
        };
        let (modes, refused) = game.modes.split_at(known);
        let (modes, difficulties) = (numbers(modes), numbers(game.difficulties));
        let mut proof = format!("exact; modes {modes}; difficulties {difficulties}");
        if !refused.is_empty() {
            write!(proof, "; refused modes {}", numbers(refused)).expect("a string");
        }
        let proved = line.is_some_and(|line| line.ends_with(&proof));
        let frames = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        let (name, reason) = (game.name, game.unproved());
        assert_eq!(game.proved, proved, "{name}: {line:?}");
        assert!(!proved || frames >= Some(100_000), "{name}: {line:?}");
        assert_eq!(proved, reason.is_none(), "{name}: {reason:?}");
    }

    #[test]
    fn a_game_is_proved_if_the_sweep_says_so_of_all_its_modes() {
        all().for_each(|game| check(game, SWEEP));
        two::all().for_each(|game| check(game, SWEEP_TWO));
    }
}
