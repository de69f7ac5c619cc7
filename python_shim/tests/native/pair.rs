//! One batch on each side, and what each call of both must agree in.

use std::{ops::AddAssign, path::PathBuf, sync::Arc};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Recipe},
};
use python_shim::pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use vec_env::{ActionBatch, ActionSpace, AutoresetMode, StepBatch, VecEnv, env::Random};

use crate::common::{
    self,
    twin::{compare_info, compare_step, numpy_array},
};

pub const NUM_ENVS: usize = 2;

/// The ROM of a game, as ale-py ships it.
pub fn cartridge(game: &str) -> Arc<Cartridge> {
    common::start();
    let path: PathBuf = Python::attach(|py| {
        let roms = py.import("ale_py.roms").unwrap();
        let path = roms.call_method1("get_rom_path", (game,)).unwrap();
        path.str().unwrap().to_string().into()
    });
    Cartridge::load(&path).unwrap()
}

/// `"space_invaders"` as `"ALE/SpaceInvaders-v5"`.
fn id(game: &str) -> String {
    let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
    let name: String = game.split('_').map(upper).collect();
    format!("ALE/{name}-v5")
}

/// The recipe as `atari_wrappers` has it, every part given.
pub fn python_recipe<'py>(py: Python<'py>, recipe: &Recipe) -> Bound<'py, PyAny> {
    let parts = PyDict::new(py);
    let json = py.import("json").unwrap();
    for (name, value) in recipe.parts() {
        let mut value = json.call_method1("loads", (value.to_string(),)).unwrap();
        if name == "screen_size" {
            let sides: Vec<u32> = value.extract().unwrap();
            value = PyTuple::new(py, sides).unwrap().into_any();
        }
        parts.set_item(name, value).unwrap();
    }
    let recipes = py.import("atari_wrappers.recipes").unwrap();
    recipes
        .getattr("Recipe")
        .unwrap()
        .call((), Some(&parts))
        .unwrap()
}

/// One batch on each side.
pub struct Pair {
    pub native: AtariVecEnv,
    python: Py<PyAny>,
    obs: Vec<u8>,
    step: StepBatch,
    random: Random,
}

impl Pair {
    pub fn new(game: &str, options: &BatchOptions) -> Self {
        let native = AtariVecEnv::new(&[cartridge(game)], NUM_ENVS, options).unwrap();
        let python = Python::attach(|py| {
            let settings = PyDict::new(py);
            settings
                .set_item("recipe", python_recipe(py, &options.recipe))
                .unwrap();
            settings.set_item("backend", "sync").unwrap();
            settings
                .set_item("num_players", options.num_players)
                .unwrap();
            let mode = match options.autoreset {
                AutoresetMode::SameStep => "same-step",
                AutoresetMode::NextStep => "next-step",
                AutoresetMode::Disabled => "disabled",
            };
            settings.set_item("autoreset", mode).unwrap();
            let module = py.import("atari_wrappers").unwrap();
            let result = module.call_method("make_vec", (id(game), NUM_ENVS), Some(&settings));
            result.unwrap().unbind()
        });
        Self {
            obs: vec![0; NUM_ENVS * native.obs_spec().num_bytes()],
            native,
            python,
            step: StepBatch::default(),
            random: Random::new(7),
        }
    }

    /// Restarts all, or those that `mask` says, which go on after a lost life as the recipe says.
    pub fn reset(&mut self, seeds: Option<Seeds>, mask: Option<&[bool; NUM_ENVS]>) {
        let all: Vec<usize> = (0..NUM_ENVS).collect();
        let is_chosen = |&index: &usize| mask.is_none_or(|mask| mask[index]);
        let chosen: Vec<usize> = all.iter().copied().filter(is_chosen).collect();
        let seed_of = |&index: &usize| seeds.and_then(|seeds| seeds[index]);
        let own_seeds: Vec<_> = chosen.iter().map(seed_of).collect();
        let native = &mut self.native;
        native.drain();
        native
            .begin_reset(&chosen, &own_seeds, mask.is_none())
            .unwrap();
        native.receive(chosen.len()).unwrap();
        let took_part = mask.map(<[bool; NUM_ENVS]>::as_slice);
        native
            .read(&all, took_part, Some(&mut self.obs), &mut self.step)
            .unwrap();
        Python::attach(|py| {
            let kwargs = PyDict::new(py);
            kwargs.set_item("seed", seeds.map(Vec::from)).unwrap();
            if let Some(mask) = mask {
                kwargs
                    .set_item("mask", numpy_array(py, mask.to_vec(), "bool"))
                    .unwrap();
            }
            let result = self
                .python
                .bind(py)
                .call_method("reset", (), Some(&kwargs))
                .unwrap();
            let obs = common::bytes(&result.get_item(0).unwrap());
            assert!(self.obs == obs, "observations of a reset differ");
            compare_info(
                &self.step,
                &result.get_item(1).unwrap().cast_into().unwrap(),
            );
        });
    }

    fn actions(&mut self) -> ActionBatch {
        let random = &mut self.random;
        match self.native.action_space() {
            ActionSpace::Box { low, high, .. } => {
                let bounds = low.iter().zip(high).cycle().take(NUM_ENVS * low.len());
                let mut value =
                    |(low, high): (&f32, &f32)| random.uniform((*low).into(), (*high).into());
                ActionBatch::Continuous(bounds.map(|bounds| value(bounds) as f32).collect())
            }
            space => {
                let counts = match space {
                    ActionSpace::MultiDiscrete { nvec } => nvec.clone(),
                    space => vec![space.num_actions()],
                };
                let counts = counts.iter().cycle().take(NUM_ENVS * counts.len());
                let actions = counts.map(|&count| random.below(count as usize) as i64);
                ActionBatch::Discrete(actions.collect())
            }
        }
    }

    fn step(&mut self) {
        let actions = self.actions();
        let num_values = self.native.action_space().num_values();
        self.native
            .step(actions.as_actions(), &mut self.obs, &mut self.step)
            .unwrap();
        Python::attach(|py| {
            let actions = match actions {
                ActionBatch::Discrete(values) if num_values == 1 => {
                    numpy_array(py, values, "int64")
                }
                ActionBatch::Discrete(values) => numpy_array(py, values, "int64")
                    .call_method1("reshape", ((NUM_ENVS, num_values),))
                    .unwrap(),
                ActionBatch::Continuous(values) => numpy_array(py, values, "float32")
                    .call_method1("reshape", ((NUM_ENVS, 3),))
                    .unwrap(),
            };
            let result = self
                .python
                .bind(py)
                .call_method1("step", (actions,))
                .unwrap();
            compare_step(&self.obs, &self.step, &result);
        });
    }

    /// Plays so many steps; where ended environments wait, they are reset. Returns how episodes have ended.
    pub fn play(&mut self, num_steps: usize) -> Ends {
        let mut ends = Ends::default();
        for _ in 0..num_steps {
            self.step();
            let ended = std::array::from_fn(|row| self.step.is_done(row));
            for row in (0..NUM_ENVS).filter(|&row| ended[row]) {
                ends += Ends::of(&self.step, row);
            }
            if self.native.autoreset_mode() == AutoresetMode::Disabled && ended.contains(&true) {
                self.reset(None, Some(&ended));
            }
        }
        ends
    }
}

/// How many episodes have ended in each way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    pub lives_lost: usize,
    pub games_over: usize,
    pub truncated: usize,
}

impl Ends {
    fn of(step: &StepBatch, row: usize) -> Self {
        let last = step.final_obs.iter().position(|(of, _)| *of == row);
        let lives = last.map_or(step.lives[row], |last| step.final_lives[last]);
        let is_life = step.terminated[row] && lives > 0;
        Self {
            lives_lost: is_life.into(),
            games_over: (step.terminated[row] && !is_life).into(),
            truncated: step.game_truncated[row].into(),
        }
    }
}

impl AddAssign for Ends {
    fn add_assign(&mut self, other: Self) {
        self.lives_lost += other.lives_lost;
        self.games_over += other.games_over;
        self.truncated += other.truncated;
    }
}

/// A seed for each environment, or `None` where its random numbers go on.
pub type Seeds = [Option<u64>; NUM_ENVS];

pub fn seeded(first: u64) -> Seeds {
    std::array::from_fn(|index| Some(first + index as u64))
}

/// Plays two seeds of a game for one on both sides.
pub fn compare(game: &str, recipe: Recipe, autoreset: AutoresetMode, num_steps: usize) -> Ends {
    let options = BatchOptions {
        autoreset,
        num_threads: 2,
        ..BatchOptions::new(recipe)
    };
    compare_batches(game, &options, num_steps)
}

/// Plays two seeds of a game on both sides.
pub fn compare_batches(game: &str, options: &BatchOptions, num_steps: usize) -> Ends {
    let mut pair = Pair::new(game, options);
    pair.reset(Some(seeded(1)), None);
    let mut ends = pair.play(num_steps);
    pair.reset(None, None);
    ends += pair.play(num_steps / 4);
    ends
}
