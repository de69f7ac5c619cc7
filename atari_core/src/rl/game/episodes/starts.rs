//! How games begin: no-ops and FIRE, and what follows a lost life.

use super::{Episodes, NEVER};
use crate::{
    Action,
    rl::{
        game::emulator::Pressed,
        random::Draws,
        recipe::{AfterLifeLoss, FireReset},
    },
};

impl Episodes {
    /// Begins a game; a seed begins all random numbers anew.
    pub(in crate::rl::game) fn new_game(&mut self, seed: Option<u64>) {
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
    pub(in crate::rl::game) fn next_life(&mut self) {
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
        self.lives = self.emulator.lives();
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
        if let Some(camera) = &mut self.camera {
            camera.begin_game(self.cut_off.is_some());
        }
        self.terminated = false;
        self.truncated = false;
        self.life_lost = false;
        self.steps = 0;
        self.score = [0; 2];
        self.limit = if self.recipe.count_reset_frames {
            self.most_frames()
        } else {
            NEVER
        };
        self.lives = self.emulator.lives();
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
        let draw = self.draws_every_frame() || (is_seen && self.observations.are_pictures());
        let rewards = self.emulator.act(Pressed::by_all(action), draw);
        self.film_frame();
        self.count_reset_rewards(rewards);
        self.terminated = self.emulator.console.game_over();
        self.truncated = self.emulator.frames >= self.limit;
        if self.is_over() {
            self.decide_end();
            self.begin(seed);
        }
    }

    fn count_reset_rewards(&mut self, rewards: [i32; 2]) {
        if self.recipe.count_reset_rewards {
            self.count(rewards);
        }
    }

    /// Takes a step of no-op in a game that goes on; begins another where it has ended.
    fn no_op_step(&mut self, seed: Option<u64>) {
        if !self.is_over() {
            let rewards = self.skip(Pressed::by_all(Action::Noop));
            self.count_reset_rewards(rewards);
            if !self.is_over() {
                return;
            }
        }
        self.begin(seed);
        self.no_ops(seed);
        self.lives = self.emulator.lives();
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
            let rewards = self.skip(Pressed::by_all(action));
            self.count_reset_rewards(rewards);
            if self.is_over() || self.life_lost {
                let shown = self.observations.shown();
                self.no_op_step(seed);
                self.observations.show_again(shown);
            }
        }
    }
}
