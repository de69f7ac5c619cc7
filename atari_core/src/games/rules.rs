//! How reward, lives and the end of a game follow from its RAM, as the Arcade Learning Environment defines them.
//!
//! Every rule was read out of ale-py 0.12.1, which was given a ROM that leaves RAM alone and asked what it
//! makes of each value of each byte. So invalid digits count as they do there, not as a player would read them.

use super::ram::Ram;

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

impl Progress {
    /// Neither points nor lives.
    pub(super) const NONE: Self = Self {
        score: 0,
        reward: 0,
        lives: 0,
        over: false,
        memory: [0; 2],
        second: Second {
            score: 0,
            reward: 0,
            lives: 0,
            memory: [0; 2],
        },
    };

    /// Takes in a score, and returns what it has grown by.
    pub(super) fn grow_to(&mut self, score: i32) -> i32 {
        score - std::mem::replace(&mut self.score, score)
    }
}

/// How the reward of a frame follows from the score.
#[derive(Clone, Copy, Debug)]
pub enum Reward {
    /// It is what the score grew by, less where the score fell.
    Growth(fn(Ram) -> i32),
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
    Told(fn(Ram, &mut Progress) -> i32),
}

/// The rules of a game for one.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Where the reward comes from.
    pub reward: Reward,
    /// Lives left after a frame that did not end the game.
    pub lives: fn(Ram, &mut Progress) -> i32,
    /// Whether the game has ended; none where it ends with the last life.
    pub over: Option<fn(Ram, &Progress) -> bool>,
}

impl Rules {
    pub(super) fn after_frame(&self, ram: Ram, progress: &mut Progress) {
        progress.over = match self.over {
            Some(over) => over(ram, progress),
            None => (self.lives)(ram, progress) == 0,
        };
        progress.reward = match self.reward {
            Reward::Growth(score) => progress.grow_to(score(ram)),
            Reward::Wraps(score, limit) => match progress.grow_to(score(ram)) {
                fallen @ ..0 => fallen + limit,
                grown => grown,
            },
            Reward::UntilOver(_) if progress.over => 0,
            Reward::UntilOver(score) => progress.grow_to(score(ram)),
            Reward::Gains(score) => progress.grow_to(score(ram)).max(0),
            Reward::AtMostOne(score) => progress.grow_to(score(ram)).min(1),
            Reward::Rises(score) => i32::from(progress.grow_to(score(ram)) > 0),
            Reward::Quest(fulfilled) => fulfilled(ram).into(),
            Reward::Told(reward) => reward(ram, progress),
        };
        let lives = (self.lives)(ram, progress);
        let lost = progress.over && !matches!(self.reward, Reward::Quest(_));
        progress.lives = if lost { 0 } else { lives };
    }
}

/// The rules of a game for two.
#[derive(Clone, Copy, Debug)]
pub struct RulesForTwo {
    /// The mode in which a ROM that was loaded waits for another to be chosen.
    pub loaded_mode: u32,
    /// Rewards, lives and end after a frame, in a mode.
    pub after_frame: fn(Ram, u32, &mut Progress),
}
