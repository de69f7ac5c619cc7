//! [`DrawnOpponents`]: for each new game a past self is drawn.

use std::{collections::BTreeMap, sync::Arc};

use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use vec_env::{ActionBatch, EnvError, ObsSpec};

use super::{PastSelf, PastSelves, win_rates::WinRates};
use crate::{
    envs::opponent::{Opponent, Score},
    error::TrainerError,
    nn::Memory,
    random::opponent_rng,
    settings::{EnvSettings, OpponentDraw},
    tensors::{obs_tensor, to_vec},
};

/// Past selves on the other side of games: one of the newest is drawn for each game, which it plays to its end.
pub struct DrawnOpponents {
    past_selves: PastSelves,
    /// How many of the newest there are to draw from.
    count: usize,
    how: OpponentDraw,
    obs_spec: ObsSpec,
    rng: Pcg64,
    places: Vec<Place>,
}

/// Where one game follows another.
#[derive(Default)]
struct Place {
    /// Who plays the present game; nobody before the first step.
    playing: Option<Playing>,
    /// What the games in this place came to.
    win_rates: WinRates,
}

struct Playing {
    past_self: Arc<PastSelf>,
    memory: Memory,
}

/// A place, and the random numbers of all of them, as they are saved with its game.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The agent step of the past self that plays.
    past_self: Option<u64>,
    /// The state of its LSTM.
    memory: Vec<f32>,
    win_rates: WinRates,
    /// As text: JSON's numbers have 64 bits.
    rng: String,
}

impl DrawnOpponents {
    /// Opponents in `num_games` games out of `past_selves`, as `settings` draw them.
    #[must_use]
    pub fn new(
        past_selves: PastSelves,
        settings: &EnvSettings,
        obs_spec: ObsSpec,
        num_games: usize,
    ) -> Self {
        Self {
            past_selves,
            count: settings.opponent_pool,
            how: settings.opponent_draw,
            obs_spec,
            rng: opponent_rng(0),
            places: (0..num_games).map(|_| Place::default()).collect(),
        }
    }

    /// Draws who plays a new game in the place of `index`.
    fn begin(&mut self, index: usize) -> Result<(), EnvError> {
        let steps = self.past_selves.newest(self.count);
        if steps.is_empty() {
            return Err(EnvError::Order("there is no past self yet".to_owned()));
        }
        let all = self.places.iter().map(|place| &place.win_rates);
        let drawn = WinRates::of_all(all).draw(&steps, self.how, &mut self.rng);
        let place = &mut self.places[index];
        place.win_rates.retain(&steps);
        place.playing = self.past_selves.of_step(drawn).map(Playing::new);
        Ok(())
    }

    /// The past self of `step` in the midst of a game, with this in its `memory`.
    fn resumed(&self, step: u64, memory: &[f32]) -> Result<Playing, EnvError> {
        let missing = || refused(&format!("the past self of agent step {step} is missing"));
        let mut playing = Playing::new(self.past_selves.of_step(step).ok_or_else(missing)?);
        let size = || refused("a past self's memory is of another size");
        playing.memory = playing.memory.with_numbers(memory).ok_or_else(size)?;
        Ok(playing)
    }

    /// The actions of one past self in the games of `indices`.
    fn choose(&mut self, indices: &[usize], obs: &[u8]) -> Result<Vec<i64>, TrainerError> {
        let bytes = self.obs_spec.num_bytes();
        let rows = indices.iter().map(|&index| &obs[index * bytes..][..bytes]);
        let rows = rows.collect::<Vec<_>>().concat();
        let playing = |index: &usize| self.places[*index].playing.as_ref();
        let memories = indices.iter().filter_map(playing);
        let memories: Vec<_> = memories.map(|playing| playing.memory.clone()).collect();
        let Some(first) = indices.first().and_then(playing) else {
            return Ok(Vec::new());
        };
        let past_self = Arc::clone(&first.past_self);
        let policy = past_self.policy();
        let obs = obs_tensor(&rows, indices.len(), &self.obs_spec)?.f_to_device(policy.device())?;
        let mut memory = Memory::joined(&memories);
        let actions = policy.act(&obs, &mut memory, &mut self.rng, false);
        for (&index, memory) in indices.iter().zip(memory.split(indices.len())) {
            if let Some(playing) = &mut self.places[index].playing {
                playing.memory = memory;
            }
        }
        match actions {
            ActionBatch::Discrete(actions) => Ok(actions),
            ActionBatch::Continuous(_) => {
                let problem =
                    "a past self has continuous actions; games for two need discrete ones";
                Err(TrainerError::Usage(problem.to_owned()))
            }
        }
    }
}

impl Playing {
    fn new(past_self: Arc<PastSelf>) -> Self {
        let memory = past_self.policy().new_memory(1);
        Self { past_self, memory }
    }
}

impl Opponent for DrawnOpponents {
    fn reset(&mut self, seed: Option<u64>) {
        if let Some(seed) = seed {
            self.rng = opponent_rng(seed);
        }
        for place in &mut self.places {
            place.playing = None;
        }
    }

    fn act(&mut self, obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError> {
        let mut games: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, &began) in began.iter().enumerate() {
            if began || self.places[index].playing.is_none() {
                self.begin(index)?;
            }
            if let Some(playing) = &self.places[index].playing {
                games.entry(playing.past_self.step).or_default().push(index);
            }
        }
        let mut actions = vec![0; began.len()];
        for indices in games.into_values() {
            let chosen = self.choose(&indices, obs);
            let chosen = chosen.map_err(|error| EnvError::Backend {
                message: format!("a past self: {error}"),
                details: None,
                is_usage: false,
            })?;
            for (index, action) in indices.into_iter().zip(chosen) {
                actions[index] = action;
            }
        }
        Ok(actions)
    }

    fn ended(&mut self, game: usize, score: &Score) {
        let place = &mut self.places[game];
        if let Some(playing) = &place.playing {
            let lead = score.points[0] - score.points[1];
            let points = if lead == 0.0 {
                0.5
            } else {
                f64::from(u8::from(lead > 0.0))
            };
            place.win_rates.note(playing.past_self.step, points);
        }
    }

    fn save(&self) -> Result<Vec<serde_json::Value>, EnvError> {
        let rng = serde_json::to_string(&self.rng).map_err(|error| refused(&error))?;
        let saved = self.places.iter().map(|place| {
            let playing = place.playing.as_ref();
            let state = playing.and_then(|playing| playing.memory.state());
            serde_json::to_value(Saved {
                past_self: playing.map(|playing| playing.past_self.step),
                memory: state.map(to_vec).unwrap_or_default(),
                win_rates: place.win_rates.clone(),
                rng: rng.clone(),
            })
        });
        saved
            .collect::<Result<_, _>>()
            .map_err(|error| refused(&error))
    }

    fn restore(&mut self, states: &[serde_json::Value]) -> Result<(), EnvError> {
        let mut places = Vec::new();
        let mut rng = self.rng.clone();
        for state in states {
            let saved: Saved =
                serde_json::from_value(state.clone()).map_err(|error| refused(&error))?;
            rng = serde_json::from_str(&saved.rng).map_err(|error| refused(&error))?;
            let playing = saved
                .past_self
                .map(|step| self.resumed(step, &saved.memory));
            places.push(Place {
                playing: playing.transpose()?,
                win_rates: saved.win_rates,
            });
        }
        if places.len() != self.places.len() {
            return Err(refused(
                "it is of another number of games against past selves",
            ));
        }
        (self.places, self.rng) = (places, rng);
        Ok(())
    }
}

/// The agent step of the past self that plays a game whose opponent was saved as `state`.
pub(crate) fn past_self_of(state: serde_json::Value) -> Option<u64> {
    serde_json::from_value::<Saved>(state).ok()?.past_self
}

fn refused(problem: &(impl ToString + ?Sized)) -> EnvError {
    EnvError::State(problem.to_string())
}
