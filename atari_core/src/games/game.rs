//! [`Game`]: what is known of a game, and how a row of the table says it.

use super::actions::EIGHT_WAYS;
use super::ram::Ram;
use super::rules::{Progress, Reward, Rules, RulesForTwo};
use super::select::Select;
use crate::action::Action;
use crate::input::{Controller, PADDLE_MAX};
use crate::mapper::Mapper;

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
    /// The modes that can be set, of which a ROM for one begins with the first.
    pub modes: &'static [u32],
    /// How a mode is chosen; none where there is only one.
    pub select: Option<Select>,
    /// The difficulties that can be set.
    pub difficulties: &'static [u32],
    /// Frames for which the RESET switch is held when a game begins, the mode being chosen.
    pub reset_frames: u16,
    /// What is pressed after that, and for how many frames.
    pub start: &'static [(Action, u16)],
    /// The actions that do something, in ale-py's order.
    pub actions: &'static [Action],
    /// Score and lives that a game begins with.
    pub at_start: Progress,
    /// Score, lives and end of a game for one.
    pub rules: Rules,
    /// What a game for two has in their place.
    pub rules_for_two: Option<RulesForTwo>,
    /// Of a game for two: the mode that is played unless another is asked for, as `PettingZoo` does; none where that is the
    /// first.
    pub default_mode: Option<u32>,
    /// Of a game for two: the lives of both as the one number that is told of a game, those in play included.
    pub lives_of_both: fn([i32; 2]) -> i32,
    /// Why it might not be what ale-py makes of it. None where the sweep found every frame equal to ale-py's, in all modes
    /// and difficulties: the ROM's line in `docs/results/atari_core/sweep.txt` says `exact`.
    pub unproved: Option<&'static str>,
}

/// What a console's picture is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// North America and Japan.
    Ntsc,
    /// Europe: more lines, and other colours.
    Pal,
}

impl Game {
    /// The actions that it takes, in ale-py's order: all 18, or those that leave the button alone.
    #[must_use]
    pub fn all_actions(&self) -> &'static [Action] {
        if self.no_button {
            EIGHT_WAYS
        } else {
            &Action::ALL
        }
    }

    /// Takes in the RAM after a frame of a mode.
    pub fn after_frame(&self, ram: Ram, mode: u32, progress: &mut Progress) {
        match self.rules_for_two {
            Some(rules) => (rules.after_frame)(ram, mode, progress),
            None => self.rules.after_frame(ram, progress),
        }
    }
}

/// What most games have in common. A row of the table begins with it and says what is not so.
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
        modes: &[0],
        select: None,
        difficulties: &[0],
        reset_frames: 8,
        start: &[],
        actions: &Action::ALL,
        at_start: Progress::NONE,
        rules: Rules {
            reward: Reward::Growth(|_| 0),
            lives: |_, _| 0,
            over: None,
        },
        rules_for_two: None,
        default_mode: None,
        lives_of_both: |[first, second]| first + second,
        unproved: None,
    }
}

/// The same of a game for PAL consoles.
pub(super) const fn pal(name: &'static str, md5: &'static str, mapper: Mapper) -> Game {
    Game {
        height: 250,
        standard: Standard::Pal,
        ..game(name, md5, mapper)
    }
}

/// Paddles in the left port, and perhaps in the right one.
pub(super) const fn paddles(player: u8, others: Option<i32>) -> Controller {
    Controller::Paddles {
        player,
        others,
        max: PADDLE_MAX,
    }
}

/// Paddles in the left port whose travel ends elsewhere.
pub(super) const fn paddles_to(max: i32) -> Controller {
    Controller::Paddles {
        player: 0,
        others: None,
        max,
    }
}

/// Methods of a row that each set the field of their name.
macro_rules! set {
    ($($field:ident: $type:ty;)*) => {
        $(pub(super) const fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        })*
    };
}

/// What a row says.
impl Game {
    set! {
        controller: Controller;
        no_comb: bool;
        no_button: bool;
        difficulties: &'static [u32];
        reset_frames: u16;
        start: &'static [(Action, u16)];
        actions: &'static [Action];
        lives_of_both: fn([i32; 2]) -> i32;
    }

    /// Where the picture begins, and its lines.
    pub(super) const fn picture(mut self, top: u16, height: u16) -> Self {
        self.top = top;
        self.height = height;
        self
    }

    pub(super) const fn modes(mut self, modes: &'static [u32], select: Select) -> Self {
        self.modes = modes;
        self.select = Some(select);
        self
    }

    pub(super) const fn default_mode(mut self, mode: u32) -> Self {
        self.default_mode = Some(mode);
        self
    }

    /// The reward is what the score grows by.
    pub(crate) const fn score(self, score: fn(Ram) -> i32) -> Self {
        self.reward(Reward::Growth(score))
    }

    pub(super) const fn reward(mut self, reward: Reward) -> Self {
        self.rules.reward = reward;
        self
    }

    pub(super) const fn first_score(mut self, score: i32) -> Self {
        self.at_start.score = score;
        self
    }

    /// How many a game begins with, and those left after a frame. The game is over when none are, unless the row says more.
    pub(super) const fn lives(
        mut self,
        at_start: i32,
        left: fn(Ram, &mut Progress) -> i32,
    ) -> Self {
        self.at_start.lives = at_start;
        self.rules.lives = left;
        self
    }

    /// A game that is played once.
    pub(super) const fn one_life(self) -> Self {
        self.lives(1, |_, _| 1)
    }

    pub(crate) const fn over(mut self, over: fn(Ram, &Progress) -> bool) -> Self {
        self.rules.over = Some(over);
        self
    }

    pub(super) const fn for_two(
        mut self,
        loaded_mode: u32,
        after_frame: fn(Ram, u32, &mut Progress),
    ) -> Self {
        self.rules_for_two = Some(RulesForTwo {
            loaded_mode,
            after_frame,
        });
        self
    }

    /// How many each player of a game for two begins with.
    pub(super) const fn lives_of_each(mut self, lives: i32) -> Self {
        self.at_start.lives = lives;
        self.at_start.second.lives = lives;
        self
    }

    pub(super) const fn unproved(mut self, why: &'static str) -> Self {
        self.unproved = Some(why);
        self
    }
}
