//! The same batch twice, from Rust and from Python, and what each call of both must agree in.

use python_shim::{
    MakeOptions, ResetRequest, Value,
    pyo3::{prelude::*, types::PyDict},
};
use vec_env::{ActionBatch, Episode, StepBatch, VecEnv};

use super::{Rollout, bytes, items, make, python_make};

/// A batch made from Rust, and one that Python code made with the same settings.
pub struct Twin {
    pub rust: Rollout,
    pub python: Py<PyAny>,
}

impl Twin {
    pub fn new(id: &str, num_envs: usize, options: &MakeOptions) -> Self {
        let rust = Rollout::new(make(id, num_envs, options).unwrap());
        let python = Python::attach(|py| python_make(py, id, num_envs, options).unbind());
        Self { rust, python }
    }

    /// Resets both as the request says.
    pub fn reset(&mut self, request: &ResetRequest) {
        let rust = &mut self.rust;
        rust.env
            .reset_with(request, &mut rust.obs, &mut rust.batch)
            .unwrap();
        Python::attach(|py| {
            let kwargs = PyDict::new(py);
            kwargs.set_item("seed", request.seeds.clone()).unwrap();
            if let Some(mask) = &request.mask {
                let mask = numpy_array(py, mask.clone(), "bool");
                kwargs.set_item("mask", mask).unwrap();
            }
            let options = PyDict::new(py);
            for (name, value) in &request.options {
                let Value::Int(value) = value else {
                    unreachable!("tests have whole numbers as options")
                };
                options.set_item(name, value).unwrap();
            }
            kwargs.set_item("options", options).unwrap();
            let result = self.python.bind(py).call_method("reset", (), Some(&kwargs));
            self.compare_reset(&result.unwrap());
        });
    }

    /// Steps both; `actions` for all environments, or for those that `env_ids` names.
    pub fn step(&mut self, actions: &ActionBatch, env_ids: Option<&[usize]>) {
        let rust = &mut self.rust;
        rust.env.send_to(actions.as_actions(), env_ids).unwrap();
        Python::attach(|py| {
            let array = match actions {
                ActionBatch::Discrete(values) => numpy_array(py, values.clone(), "int64"),
                ActionBatch::Continuous(values) => numpy_array(py, values.clone(), "float32"),
            };
            let count = env_ids.map_or(self.rust.batch.env_ids.len(), <[usize]>::len);
            let shape = self.python.getattr(py, "single_action_space").unwrap();
            let shape: Vec<usize> = shape.getattr(py, "shape").unwrap().extract(py).unwrap();
            let shape = [&[count], shape.as_slice()].concat();
            let array = array.call_method1("reshape", (shape,)).unwrap();
            let env_ids = env_ids.map(|ids| numpy_array(py, ids.to_vec(), "int64"));
            self.python
                .call_method1(py, "send", (array, env_ids))
                .unwrap();
        });
        self.recv();
    }

    /// Receives from both, and compares.
    pub fn recv(&mut self) {
        let result = Python::attach(|py| self.python.call_method0(py, "recv").unwrap());
        let rows = Python::attach(|py| {
            let obs = result.bind(py).get_item(0).unwrap();
            obs.len().unwrap()
        });
        let rust = &mut self.rust;
        let row_bytes = rust.env.obs_spec().num_bytes();
        rust.env
            .recv_into(&mut rust.obs[..rows * row_bytes], &mut rust.batch, None)
            .unwrap();
        Python::attach(|py| {
            compare_step(&rust.obs[..rows * row_bytes], &rust.batch, result.bind(py));
        });
    }

    /// Compares what a reset, or bringing states back, gave: `(obs, info)`.
    pub fn compare_reset(&self, result: &Bound<'_, PyAny>) {
        assert!(
            self.rust.obs == bytes(&result.get_item(0).unwrap()),
            "observations differ"
        );
        let info = result.get_item(1).unwrap().cast_into().unwrap();
        compare_info(&self.rust.batch, &info);
        assert!(self.rust.batch.reward.iter().all(|reward| *reward == 0.0));
    }
}

/// Compares a step with Python's `(obs, reward, terminated, truncated, info)`.
pub fn compare_step(obs: &[u8], batch: &StepBatch, python: &Bound<'_, PyAny>) {
    let field = |index: usize| python.get_item(index).unwrap();
    assert!(obs == bytes(&field(0)), "observations differ");
    assert_eq!(batch.reward, items::<f32>(&field(1)));
    assert_eq!(batch.terminated, items::<bool>(&field(2)));
    assert_eq!(batch.truncated, items::<bool>(&field(3)));
    let info = field(4).cast_into::<PyDict>().unwrap();
    compare_info(batch, &info);
    compare_finals(batch, &info);
}

/// Compares what a step or a reset says of the games.
pub fn compare_info(batch: &StepBatch, info: &Bound<'_, PyDict>) {
    let array = |name: &str| info.get_item(name).unwrap().unwrap();
    assert_eq!(batch.env_ids, items::<usize>(&array("env_id")));
    assert_eq!(batch.raw_reward, items::<f32>(&array("raw_reward")));
    assert_eq!(batch.lives, items::<i32>(&array("lives")));
    assert_eq!(
        batch.game_terminated,
        items::<bool>(&array("game_terminated"))
    );
    assert_eq!(
        batch.game_truncated,
        items::<bool>(&array("game_truncated"))
    );
    assert_eq!(batch.episode_return, items::<f64>(&array("episode_return")));
    assert_eq!(batch.episode_length, items::<i64>(&array("episode_length")));
    assert_eq!(batch.episode_frames, items::<i64>(&array("episode_frames")));
    let restarted = info.get_item("worker_restarted").unwrap();
    let none = || vec![false; batch.env_ids.len()];
    assert_eq!(
        batch.worker_restarted,
        restarted.map_or_else(none, |mask| items::<bool>(&mask))
    );
    let games: Vec<Episode> = marked(info, "_episode")
        .into_iter()
        .map(|row| {
            let record = info.get_item("episode").unwrap().unwrap();
            let column = |key: &str| record.get_item(key).unwrap().get_item(row).unwrap();
            Episode {
                env: batch.env_ids[row],
                raw_return: items::<f64>(&column("r"))[0],
                length: column("l").extract().unwrap(),
                frames: column("frames").extract().unwrap(),
            }
        })
        .collect();
    assert_eq!(batch.episodes, games);
}

fn compare_finals(batch: &StepBatch, info: &Bound<'_, PyDict>) {
    let rows = marked(info, "_final_obs");
    assert_eq!(rows, marked(info, "_final_info"));
    let last_obs: Vec<(usize, Vec<u8>)> = rows
        .iter()
        .map(|&row| {
            let array = info.get_item("final_obs").unwrap().unwrap();
            (row, bytes(&array.get_item(row).unwrap()))
        })
        .collect();
    assert!(batch.final_obs == last_obs, "last observations differ");
    let Some(last) = info.get_item("final_info").unwrap() else {
        return assert!(batch.final_lives.is_empty());
    };
    let of_row = |info: &Bound<'_, PyAny>, name: &str, row: usize| {
        bytes(&info.get_item(name).unwrap().get_item(row).unwrap())
    };
    for (&row, lives) in rows.iter().zip(&batch.final_lives) {
        assert_eq!(of_row(&last, "lives", row), lives.to_ne_bytes());
        // Of all else the info of the step says the same, so that Rust has it once.
        for name in [
            "raw_reward",
            "game_terminated",
            "game_truncated",
            "episode_return",
            "episode_length",
            "episode_frames",
        ] {
            let same = of_row(info, name, row);
            assert_eq!(of_row(&last, name, row), same, "{name}");
        }
    }
    assert_eq!(batch.final_lives.len(), rows.len());
}

/// The rows that a mask in `info` marks; none without the mask.
fn marked(info: &Bound<'_, PyDict>, mask: &str) -> Vec<usize> {
    let mask = info.get_item(mask).unwrap();
    let mask = mask.map_or_else(Vec::new, |mask| items::<bool>(&mask));
    (0..mask.len()).filter(|&row| mask[row]).collect()
}

pub fn numpy_array<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    values: Vec<T>,
    dtype: &str,
) -> Bound<'py, PyAny> {
    let numpy = py.import("numpy").unwrap();
    numpy.call_method1("array", (values, dtype)).unwrap()
}
