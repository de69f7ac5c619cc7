//! A game by the rules of a recipe: how it starts, what a step of the agent is, and when it ends.
//!
//! What is observed of it is in `observations`, which are told of each frame that counts and of each start of an
//! episode; what a learner is told is in `env`.

use super::{
    emulator::{Emulator, EmulatorState},
    film::Film,
    observations::{Observations, ObservationsState},
};
use crate::{
    Action,
    rl::{
        random::Draws,
        recipe::{AfterLifeLoss, EndPrecedence, FireReset, LifeLoss, Recipe},
    },
    state::{BadState, Reader, Writer, check},
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
    /// Sum of its raw rewards.
    pub episode_return: f64,
    /// Agent steps.
    pub episode_length: i64,
    /// Emulator frames, those of no-ops and FIRE included.
    pub episode_frames: i64,
}

/// Plays games, one after the other.
#[expect(clippy::struct_excessive_bools, reason = "each is of its own")]
pub(super) struct GameRules {
    pub(super) emulator: Emulator,
    pub(super) observations: Observations,
    recipe: Recipe,
    actions: &'static [Action],
    draws: Draws,
    fire_reset: FireReset,
    watches_lives: bool,
    fewest_lives: i32,
    /// Whether every frame is drawn, and not only those that are observed.
    pub(super) draws_all: bool,
    /// Takes every frame, if there is one.
    pub(super) film: Option<Film>,
    /// Those left; 0 where the game has none.
    pub(super) lives: i32,
    /// The game has ended by itself.
    pub(super) terminated: bool,
    /// It has reached its limit of time.
    pub(super) truncated: bool,
    /// The last step has cost a life, in the terms of [`LifeLoss`].
    pub(super) life_lost: bool,
    /// Sum of the rewards of the agent's steps, and of resets if the recipe says so.
    score: i64,
    steps: i64,
    limit: i64,
    /// The record of a game that ended while a reset was to go on with it.
    pub(super) cut_off: Option<Record>,
}

impl GameRules {
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
            draws_all: false,
            film: None,
            lives: 0,
            terminated: false,
            truncated: false,
            life_lost: false,
            score: 0,
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
            episode_return: self.score as f64,
            episode_length: self.steps,
            episode_frames: self.emulator.frames,
        }
    }

    /// Takes a step of the agent, and returns its reward. `strength` is how far a paddle turns, 0 to 1.
    pub(super) fn step(&mut self, action: Action, strength: f32) -> i32 {
        self.steps += 1;
        let reward = self.skip(action, strength);
        self.score += i64::from(reward);
        self.observations.push();
        let most = i64::from(self.recipe.max_episode_steps);
        if most > 0 && self.steps >= most {
            self.truncated = true;
            self.decide_end();
        }
        reward
    }

    /// Emulates the frames of one step, and returns their reward. Only those that may be observed are drawn.
    fn skip(&mut self, action: Action, strength: f32) -> i32 {
        let (mut reward, mut left, mut ends) = (0, self.recipe.frame_skip, false);
        let draws = self.observations.are_pictures();
        self.life_lost = false;
        while left > 0 && !ends {
            left -= 1;
            let draw = self.draws_all || (draws && left < 2);
            reward += self.emulator.act(action, strength, draw);
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
        reward
    }

    fn film_frame(&mut self) {
        if let Some(film) = &mut self.film {
            let ended_in_reset = self.cut_off.is_some();
            film.frame(&self.emulator.console, self.emulator.frames, ended_in_reset);
        }
    }

    /// Notes the lives, and returns whether one is lost and `fewest` at least are left.
    fn check_lives(&mut self, fewest: i32) -> bool {
        let lives = self.emulator.console.lives();
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

    /// Begins a game; a seed begins all random numbers anew.
    pub(super) fn new_game(&mut self, seed: Option<u64>) {
        self.steps = 0;
        self.cut_off = None;
        self.begin(seed);
        self.no_ops(seed);
        self.observations.restarted(&self.emulator.console);
        self.fire_steps(seed);
        self.settle(self.most_frames());
        self.observations.begin();
    }

    fn most_frames(&self) -> i64 {
        match self.recipe.max_episode_frames {
            0 => NEVER,
            frames => frames.into(),
        }
    }

    /// Goes on after a lost life.
    pub(super) fn next_life(&mut self) {
        let way = self.recipe.after_life_loss;
        self.cut_off = None;
        if way == AfterLifeLoss::NewGame {
            self.new_game(None);
            return;
        }
        self.life_lost = false;
        if way == AfterLifeLoss::GoOn {
            return;
        }
        let left = match self.limit {
            NEVER => NEVER,
            limit => limit - self.emulator.frames,
        };
        if !self.recipe.count_reset_frames {
            self.limit = NEVER;
        }
        if way == AfterLifeLoss::Noops {
            self.no_ops(None);
            self.observations.restarted(&self.emulator.console);
        } else {
            self.no_op_step(None);
            let is_frame = matches!(
                self.fire_reset,
                FireReset::BeforeNoops | FireReset::AfterNoops
            );
            if is_frame && self.cut_off.is_none() {
                self.frame(Action::Fire, true, None);
                self.observations.restarted(&self.emulator.console);
            }
        }
        self.fire_steps(None);
        let is_new = self.cut_off.is_some();
        self.settle(if is_new { self.most_frames() } else { left });
        if is_new || way == AfterLifeLoss::NoopStep {
            self.observations.begin();
        } else {
            self.observations.push();
        }
    }

    /// Ends a reset; the game may last `frames` more, unless those of the reset count too.
    fn settle(&mut self, frames: i64) {
        if !self.recipe.count_reset_frames {
            self.limit = self.emulator.frames.saturating_add(frames);
        }
        self.lives = self.emulator.console.lives();
        self.life_lost = false;
    }

    fn begin(&mut self, seed: Option<u64>) {
        if self.steps > 0 {
            self.cut_off = Some(self.record());
        }
        if let Some(seed) = seed {
            let (console_seed, draws) = Draws::new(self.recipe.seeding, seed);
            self.draws = draws;
            self.emulator.load(console_seed);
        }
        self.emulator.new_game();
        self.terminated = false;
        self.truncated = false;
        self.life_lost = false;
        self.steps = 0;
        self.score = 0;
        self.limit = if self.recipe.count_reset_frames {
            self.most_frames()
        } else {
            NEVER
        };
        self.lives = self.emulator.console.lives();
    }

    /// Takes the no-ops, and the FIRE that is a single frame.
    fn no_ops(&mut self, seed: Option<u64>) {
        let mut count = self
            .draws
            .between(self.recipe.noop_min, self.recipe.noop_max);
        let (before, after) = (
            self.fire_reset == FireReset::BeforeNoops,
            self.fire_reset == FireReset::AfterNoops,
        );
        if before || after {
            count = count.saturating_sub(1);
        }
        if before {
            self.frame(Action::Fire, count == 0, seed);
        }
        for left in (0..count).rev() {
            self.frame(Action::Noop, left == 0 && !after, seed);
        }
        if after {
            self.frame(Action::Fire, true, seed);
        }
    }

    /// Emulates one frame of a start; where the game ends with it, another one begins.
    fn frame(&mut self, action: Action, is_seen: bool, seed: Option<u64>) {
        let draw = self.draws_all || (is_seen && self.observations.are_pictures());
        let reward = self.emulator.act(action, 1.0, draw);
        self.film_frame();
        self.count_reset_reward(reward);
        self.terminated = self.emulator.console.game_over();
        self.truncated = self.emulator.frames >= self.limit;
        if self.is_over() {
            self.decide_end();
            self.begin(seed);
        }
    }

    fn count_reset_reward(&mut self, reward: i32) {
        if self.recipe.count_reset_rewards {
            self.score += i64::from(reward);
        }
    }

    /// Takes a step of no-op in a game that goes on; begins another where it has ended.
    fn no_op_step(&mut self, seed: Option<u64>) {
        if !self.is_over() {
            let reward = self.skip(Action::Noop, 1.0);
            self.count_reset_reward(reward);
            if !self.is_over() {
                return;
            }
        }
        self.begin(seed);
        self.no_ops(seed);
        self.lives = self.emulator.console.lives();
        self.observations.restarted(&self.emulator.console);
    }

    /// Takes a step each of actions 1 and 2 if the recipe says so.
    ///
    /// Where one costs a life or ends the game there is a reset in between, whose picture, as in stable-baselines3,
    /// nobody sees.
    fn fire_steps(&mut self, seed: Option<u64>) {
        if self.fire_reset != FireReset::Steps {
            return;
        }
        for &action in self.actions.iter().skip(1).take(2) {
            let reward = self.skip(action, 1.0);
            self.count_reset_reward(reward);
            if self.is_over() || self.life_lost {
                let shown = self.observations.shown();
                self.no_op_step(seed);
                self.observations.show_again(shown);
            }
        }
    }

    pub(super) fn save(&self, state: &mut Writer) {
        self.emulator.save(state);
        self.observations.save(state);
        self.draws.save(state);
        for flag in [self.terminated, self.truncated, self.life_lost] {
            state.bool(flag);
        }
        for number in [self.lives.into(), self.score, self.steps, self.limit] {
            state.i64(number);
        }
    }

    pub(super) fn read<'a>(&self, state: &mut Reader<'a>) -> Result<RulesState<'a>, BadState> {
        let emulator = self.emulator.read(state)?;
        let observations = self.observations.read(state)?;
        let draws = self.draws.read(state)?;
        let [terminated, truncated, life_lost] = [state.bool()?, state.bool()?, state.bool()?];
        let lives = i32::try_from(state.i64()?).map_err(|_| BadState::Range("the lives"))?;
        let (score, steps, limit) = (state.sum()?, state.sum()?, state.i64()?);
        check(limit >= 0, "the limit")?;
        Ok(RulesState {
            emulator,
            observations,
            draws,
            terminated,
            truncated,
            life_lost,
            lives,
            score,
            steps,
            limit,
        })
    }

    pub(super) fn put(&mut self, state: RulesState<'_>) {
        self.emulator.put(state.emulator);
        self.observations.put(&state.observations);
        self.draws = state.draws;
        self.terminated = state.terminated;
        self.truncated = state.truncated;
        self.life_lost = state.life_lost;
        self.lives = state.lives;
        self.score = state.score;
        self.steps = state.steps;
        self.limit = state.limit;
        self.cut_off = None;
    }
}

/// What [`GameRules::read`] has found, to be put in place.
pub(super) struct RulesState<'a> {
    emulator: EmulatorState,
    observations: ObservationsState<'a>,
    draws: Draws,
    terminated: bool,
    truncated: bool,
    life_lost: bool,
    lives: i32,
    score: i64,
    steps: i64,
    limit: i64,
}

impl RulesState<'_> {
    /// Whether a step can be taken.
    pub(super) fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }
}
