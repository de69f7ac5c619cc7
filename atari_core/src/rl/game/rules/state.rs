//! The rules' part of a state: everything that decides how a game goes on, but the recipe.

use super::GameRules;
use crate::{
    rl::{
        game::{emulator::EmulatorState, observations::ObservationsState},
        random::Draws,
    },
    state::{BadState, Reader, Writer, check},
};

impl GameRules {
    pub(in crate::rl::game) fn save(&self, state: &mut Writer) {
        self.emulator.save(state);
        self.observations.save(state);
        self.draws.save(state);
        for flag in [self.terminated, self.truncated, self.life_lost] {
            state.bool(flag);
        }
        let [first, second] = self.score;
        for number in [self.lives.into(), first, second, self.steps, self.limit] {
            state.i64(number);
        }
    }

    pub(in crate::rl::game) fn read<'a>(
        &self,
        state: &mut Reader<'a>,
    ) -> Result<RulesState<'a>, BadState> {
        let emulator = self.emulator.read(state)?;
        let observations = self.observations.read(state)?;
        let draws = self.draws.read(state)?;
        let [terminated, truncated, life_lost] = [state.bool()?, state.bool()?, state.bool()?];
        let lives = i32::try_from(state.i64()?).map_err(|_| BadState::Range("the lives"))?;
        let score = [state.sum()?, state.sum()?];
        let (steps, limit) = (state.count()?, state.i64()?);
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

    pub(in crate::rl::game) fn put(&mut self, state: RulesState<'_>) {
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
pub(in crate::rl::game) struct RulesState<'a> {
    emulator: EmulatorState<'a>,
    observations: ObservationsState<'a>,
    draws: Draws,
    terminated: bool,
    truncated: bool,
    life_lost: bool,
    lives: i32,
    score: [i64; 2],
    steps: i64,
    limit: i64,
}

impl RulesState<'_> {
    /// Whether a step can be taken.
    pub(in crate::rl::game) fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }
}
