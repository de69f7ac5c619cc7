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

pub use crate::input::Controller;
pub use rules::{Progress, Ram, Rules, Score};

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
    /// HMOVE blackens no pixels at the left.
    pub no_comb: bool,
    /// Actions with the button count as none: in Skiing it would begin the run anew.
    pub no_button: bool,
    /// How often SELECT is pressed to come to the first mode, and for how many frames each time. A free frame follows
    /// each, which counts as one of the game's.
    pub select: (u16, u16),
    /// Frames for which the RESET switch is held when a game begins.
    pub reset_frames: u16,
    /// What is pressed after that, and for how many frames.
    pub start: &'static [(Action, u16)],
    /// The actions that do something, in ale-py's order.
    pub actions: &'static [Action],
    /// Score, lives and end; none where they are not known yet.
    pub rules: Option<Rules>,
    /// Where it is known not to be what ale-py makes of it.
    pub differs: Option<&'static str>,
    /// The modes that can be set.
    pub modes: &'static [u32],
    /// The difficulties that can be set.
    pub difficulties: &'static [u32],
}

/// What most games have in common.
const fn game(name: &'static str, md5: &'static str, mapper: Mapper) -> Game {
    Game {
        name,
        md5,
        mapper,
        controller: Controller::Joystick,
        top: 34,
        height: 210,
        no_comb: false,
        no_button: false,
        select: (0, 0),
        reset_frames: 8,
        start: &[],
        actions: &Action::ALL,
        rules: None,
        differs: None,
        modes: &[0],
        difficulties: &[0],
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
