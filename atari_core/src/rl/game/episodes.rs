//! [`Episodes`]: how a game by a recipe becomes episodes: what a step of the agent is, and when they end. How they start is
//! in `starts`. What is observed of a game is in `observations`, which are told of each frame that counts and of each start
//! of an episode; what a learner is told is in `env`.

mod starts;

use super::{
    emulator::{Emulator, Pressed},
    film::Camera,
    observations::Observations,
};
use crate::{
    Action,
    rl::{
        random::Draws,
        recipe::{AfterLifeLoss, EndPrecedence, FireReset, LifeLoss, Recipe},
    },
    state::{BadState, Tape},
};

/// No limit.
const NEVER: i64 = i64::MAX;

/// What infos say of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Record {
    /// The true game ended by its own rules, or was given up for a life.
    pub game_terminated: bool,
    /// The true game was cut by a limit.
    pub game_truncated: bool,
    /// Sum of its raw rewards, for each player; the second's is 0 in a game for one.
    pub episode_return: [f64; 2],
    /// Agent steps.
    pub episode_length: i64,
    /// Emulator frames, those of no-ops and FIRE included.
    pub episode_frames: i64,
}

/// Plays games, one after the other.
#[expect(clippy::struct_excessive_bools, reason = "each is of its own")]
pub(super) struct Episodes {
    pub(super) emulator: Emulator,
    pub(super) observations: Observations,
    recipe: Recipe,
    actions: &'static [Action],
    draws: Draws,
    fire_reset: FireReset,
    watches_lives: bool,
    fewest_lives: i32,
    /// Takes frames, if there is one.
    pub(super) camera: Option<Camera>,
    /// Those left; 0 where the game has none.
    pub(super) lives: i32,
    /// The game has ended by itself.
    pub(super) terminated: bool,
    /// It has reached its limit of time.
    pub(super) truncated: bool,
    /// The last step has cost a life, in the terms of [`LifeLoss`].
    pub(super) life_lost: bool,
    /// Sum of the rewards of the agent's steps, and of resets if the recipe says so.
    score: [i64; 2],
    steps: i64,
    limit: i64,
    /// The record of a game that ended while a reset was to go on with it.
    pub(super) cut_off: Option<Record>,
}

impl Episodes {
    pub(super) fn new(
        mut emulator: Emulator,
        observations: Observations,
        recipe: Recipe,
        actions: &'static [Action],
        seed: u64,
    ) -> Self {
        let (console_seed, draws) = Draws::new(recipe.seeding, seed);
        emulator.load(console_seed);
        let has_fire = actions.contains(&Action::Fire);
        Self {
            fire_reset: if has_fire {
                recipe.fire_reset
            } else {
                FireReset::Off
            },
            watches_lives: recipe.episodic_life && recipe.life_loss != LifeLoss::AfterSkip,
            fewest_lives: i32::from(recipe.life_loss != LifeLoss::AnyDrop),
            emulator,
            observations,
            recipe,
            actions,
            draws,
            camera: None,
            lives: 0,
            terminated: false,
            truncated: false,
            life_lost: false,
            score: [0; 2],
            steps: 0,
            limit: NEVER,
            cut_off: None,
        }
    }

    pub(super) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Whether the game has ended in one way or the other.
    pub(super) fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }

    /// Whether a lost life ends the game, because another one follows.
    fn gives_up(&self) -> bool {
        self.life_lost && self.recipe.after_life_loss == AfterLifeLoss::NewGame
    }

    pub(super) fn record(&self) -> Record {
        Record {
            game_terminated: self.terminated || self.gives_up(),
            game_truncated: self.truncated,
            episode_return: self.score.map(|score| score as f64),
            episode_length: self.steps,
            episode_frames: self.emulator.frames,
        }
    }

    /// Takes a step of the agent, or of both, and returns the reward of each.
    pub(super) fn step(&mut self, pressed: Pressed) -> [i32; 2] {
        self.steps += 1;
        let rewards = self.skip(pressed);
        self.count(rewards);
        self.observations.push();
        let most = i64::from(self.recipe.max_episode_steps);
        if most > 0 && self.steps >= most {
            self.truncated = true;
            self.decide_end();
        }
        rewards
    }

    fn count(&mut self, rewards: [i32; 2]) {
        for (score, reward) in self.score.iter_mut().zip(rewards) {
            *score += i64::from(reward);
        }
    }

    /// Emulates the frames of one step, and returns their rewards. Only those that may be observed are drawn.
    fn skip(&mut self, pressed: Pressed) -> [i32; 2] {
        let (mut rewards, mut left, mut ends) = ([0; 2], self.recipe.frame_skip, false);
        let draws = self.observations.are_pictures();
        self.life_lost = false;
        while left > 0 && !ends {
            left -= 1;
            let draw = self.draws_every_frame() || (draws && left < 2);
            for (sum, reward) in rewards.iter_mut().zip(self.emulator.act(pressed, draw)) {
                *sum += reward;
            }
            self.film_frame();
            if self.emulator.console.game_over() {
                self.terminated = true;
                ends = true;
            }
            if self.emulator.frames >= self.limit {
                self.truncated = true;
                ends = true;
            }
            if self.watches_lives && self.check_lives(self.fewest_lives) {
                ends = true;
            }
            if left < 2 {
                self.observations.kept(&self.emulator.console, left, ends);
            }
        }
        if !self.watches_lives {
            self.check_lives(1);
        }
        if ends {
            self.decide_end();
            if draws {
                // A reset that takes no frame observes it.
                self.emulator.console.draw_last();
            }
        }
        self.observations.step_done(&self.emulator.console);
        rewards
    }

    fn film_frame(&mut self) {
        if let Some(camera) = &mut self.camera {
            camera.frame(&self.emulator.console, self.cut_off.is_some());
        }
    }

    fn draws_every_frame(&self) -> bool {
        self.camera.as_ref().is_some_and(Camera::is_running)
    }

    /// Notes the lives, and returns whether one is lost and `fewest` at least are left.
    fn check_lives(&mut self, fewest: i32) -> bool {
        let lives = self.emulator.lives();
        self.life_lost = self.recipe.episodic_life && fewest <= lives && lives < self.lives;
        self.lives = lives;
        self.life_lost
    }

    /// Says how a game has ended that did so in both ways.
    fn decide_end(&mut self) {
        if self.truncated && (self.terminated || self.gives_up()) {
            let first = self.recipe.end_precedence;
            if first == EndPrecedence::Truncated {
                self.terminated = false;
                self.life_lost = false;
            }
            self.truncated = first != EndPrecedence::Terminated;
        }
    }

    /// Goes over everything that decides how a game goes on, but the recipe; whether the game has ended.
    pub(super) fn walk(&mut self, tape: &mut Tape<'_>) -> Result<bool, BadState> {
        self.emulator.walk(tape)?;
        self.observations.walk(tape)?;
        self.draws.walk(tape)?;
        let terminated = tape.number(&mut self.terminated)?;
        let truncated = tape.number(&mut self.truncated)?;
        tape.number(&mut self.life_lost)?;
        tape.number(&mut self.lives)?;
        for score in &mut self.score {
            tape.sum(score)?;
        }
        tape.count(&mut self.steps)?;
        tape.within(&mut self.limit, 0.., "the limit")?;
        if tape.reads() {
            self.cut_off = None;
        }
        Ok(terminated || truncated)
    }
}
