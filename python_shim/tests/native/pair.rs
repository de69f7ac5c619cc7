//! One batch on each side, and what each call of both must agree in.

use std::{ops::AddAssign, path::PathBuf, sync::Arc};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Part, Recipe, ResetRequest},
};
use python_shim::pyo3::{IntoPyObjectExt, prelude::*, types::PyDict};
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
    for (name, part) in recipe.parts() {
        let value = match part {
            Part::None => Ok(py.None().into_bound(py)),
            Part::Flag(flag) => flag.into_bound_py_any(py),
            Part::Number(number) if number.fract() == 0.0 => (number as i64).into_bound_py_any(py),
            Part::Number(number) => number.into_bound_py_any(py),
            Part::Size(height, width) => (height as i64, width as i64).into_bound_py_any(py),
            Part::Name(name) => name.into_bound_py_any(py),
        };
        parts.set_item(name, value.unwrap()).unwrap();
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

    pub fn reset(&mut self, request: &ResetRequest) {
        self.native
            .reset_with(request, &mut self.obs, &mut self.step)
            .unwrap();
        Python::attach(|py| {
            let kwargs = PyDict::new(py);
            kwargs.set_item("seed", request.seeds.clone()).unwrap();
            if let Some(mask) = &request.mask {
                kwargs
                    .set_item("mask", numpy_array(py, mask.clone(), "bool"))
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
            let ended: Vec<bool> = (0..NUM_ENVS).map(|row| self.step.is_done(row)).collect();
            for row in (0..NUM_ENVS).filter(|&row| ended[row]) {
                ends += Ends::of(&self.step, row);
            }
            if self.native.autoreset_mode() == AutoresetMode::Disabled && ended.contains(&true) {
                self.reset(&ResetRequest {
                    mask: Some(ended),
                    seeds: None,
                });
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
        let last = step.final_info.iter().find(|info| info.row == row);
        let (lives, truncated) = last.map_or_else(
            || (step.lives[row], step.game_truncated[row]),
            |last| (last.lives, last.game_truncated),
        );
        let is_life = step.terminated[row] && lives > 0;
        Self {
            lives_lost: is_life.into(),
            games_over: (step.terminated[row] && !is_life).into(),
            truncated: truncated.into(),
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

pub fn seeded(first: u64) -> ResetRequest {
    ResetRequest {
        seeds: Some((first..).take(NUM_ENVS).map(Some).collect()),
        mask: None,
    }
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
    pair.reset(&seeded(1));
    let mut ends = pair.play(num_steps);
    pair.reset(&seeded(11));
    ends += pair.play(num_steps / 4);
    ends
}
