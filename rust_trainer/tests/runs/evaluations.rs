//! Evaluation during training: what it finds, what it keeps, and that the run does not notice.

use std::{fs, sync::Arc, time::Duration};

use rust_trainer::report::{Evaluation, read_rows};
use vec_env::{Actions, EnvError, ObsSlot, StepBatch};

use super::{
    variants::{Stopping, cart_poles},
    *,
};

/// Plays [`Contexts`], but every game of the n-th evaluation is worth the n-th of `scores`.
struct Scored {
    env: Contexts,
    scores: Vec<f64>,
    resets: usize,
    /// Called with each step and the number of the evaluation, from 1.
    on_step: Box<dyn FnMut(usize) -> Result<(), EnvError> + Send>,
}

fn scored(scores: &[f64]) -> Scored {
    Scored {
        env: Contexts::new(false, 9, End::Terminated),
        scores: scores.to_vec(),
        resets: 0,
        on_step: Box::new(|_| Ok(())),
    }
}

impl VecEnv for Scored {
    as_inside!(env);

    fn reset(&mut self, seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        assert_eq!(seed, Some(1 + (1 << 29)), "the same games each time");
        self.resets += 1;
        self.env.reset(seed, obs)
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        self.env.send(actions, obs)
    }

    fn recv_timeout(
        &mut self,
        step: &mut StepBatch,
        timeout: Option<Duration>,
    ) -> Result<(), EnvError> {
        (self.on_step)(self.resets)?;
        self.env.recv_timeout(step, timeout)?;
        for episode in &mut step.episodes {
            episode.raw_return = self.scores[self.resets - 1] + episode.env as f64;
        }
        Ok(())
    }

    fn restart_workers(&mut self) -> Result<Vec<usize>, EnvError> {
        self.resets -= 1;
        Ok(vec![2])
    }
}

fn evaluated(folder: &Path, name: &str) -> Settings {
    with(
        &settings(Algorithm::A2c, folder, name),
        "total_steps = 640\ncheckpoint_every = 64\nkeep_checkpoints = 1\n\
         eval_every = 200\neval_episodes = 4",
    )
}

fn train_in(
    settings: &Settings,
    evaluation: impl VecEnv + 'static,
    stop: &StopRequest,
) -> Result<Summary, TrainerError> {
    let env = Contexts::new(false, 9, End::Terminated);
    let mut run = Run::create(settings.clone(), Box::new(env), stop)?;
    run.evaluate_in(Box::new(evaluation))?;
    run.train(stop)
}

fn go_on(
    settings: &Settings,
    changes: &str,
    evaluation: impl VecEnv + 'static,
) -> Result<Summary, TrainerError> {
    let stop = StopRequest::never();
    let resume = RunStart::open(&folder_of(settings), &toml::from_str(changes).unwrap())?;
    let env = Contexts::new(false, 9, End::Terminated);
    let mut run = Run::start(resume, Box::new(env), &stop)?;
    run.evaluate_in(Box::new(evaluation))?;
    run.train(&stop)
}

fn rows(settings: &Settings) -> Vec<Evaluation> {
    read_rows::<Evaluation>(&folder_of(settings).join("evaluations.csv")).unwrap()
}

fn steps_and_means(settings: &Settings) -> Vec<(u64, f64)> {
    let rows = rows(settings).into_iter();
    rows.map(|row| (row.step, row.mean)).collect()
}

fn best(settings: &Settings) -> Checkpoint {
    let found = checkpoints::find_best(&folder_of(settings)).unwrap();
    found.checkpoint
}

/// What a run leaves, without the times.
fn learned(settings: &Settings) -> (Checkpoint, Vec<String>) {
    let mut lines = Vec::new();
    for table in ["episodes.csv", "updates.csv"] {
        let mut reader = csv::Reader::from_path(folder_of(settings).join(table)).unwrap();
        let names = reader.headers().unwrap().clone();
        for row in reader.records().map(Result::unwrap) {
            let cells = names.iter().zip(&row);
            let cells = cells.filter(|(name, _)| !name.contains("second"));
            lines.push(format!("{:?}", cells.collect::<Vec<_>>()));
        }
    }
    (newest(settings), lines)
}

#[test]
fn a_run_learns_bit_for_bit_what_it_would_learn_without_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let variants = [
        (Algorithm::Ppo, "num_steps = 16\nnorm_obs = true"),
        (Algorithm::A2c, "num_steps = 16\nlstm_size = 8"),
        (Algorithm::Pqn, "num_steps = 16\nnum_minibatches = 4"),
        (
            Algorithm::Dqn,
            "steps_per_update = 64\nlearning_starts = 64\nreplay_capacity = 400\nnoisy = true",
        ),
    ];
    for (algorithm, own) in variants {
        let [plain, watched] = [0, 100].map(|every| {
            let name = format!("{algorithm:?}-{every}");
            let changes = format!("total_steps = 640\neval_every = {every}\n");
            let shared = format!("num_envs = {NUM_ENVS}\n");
            let mut settings = Settings::defaults(algorithm);
            folder.path().clone_into(&mut settings.run.runs_dir);
            settings.run.run_name = name;
            with(&settings, &(shared + &changes + own))
        });
        train(&plain, Contexts::new(false, 9, End::Terminated)).unwrap();
        let evaluation = Contexts::new(false, 5, End::Terminated);
        train_in(&watched, evaluation, &StopRequest::never()).unwrap();
        assert_eq!(rows(&watched).len(), 6);
        let [(plain, plain_rows), (watched, watched_rows)] = [&plain, &watched].map(learned);
        assert_eq!(plain_rows, watched_rows);
        assert_eq!(plain.state.values, watched.state.values);
        for (one, other) in plain.state.tensors.iter().zip(&watched.state.tensors) {
            assert!(one.1 == other.1, "{algorithm:?}: {} differs", one.0);
        }
    }
}

#[test]
fn evaluations_come_every_so_many_steps_and_the_best_checkpoint_stays() {
    let folder = tempfile::tempdir().unwrap();
    let settings = evaluated(folder.path(), "run");
    let summary = train_in(&settings, scored(&[3.0, 7.0, 7.0]), &StopRequest::never()).unwrap();
    let found = rows(&settings);
    assert_eq!(
        steps_and_means(&settings),
        [(256, 4.5), (448, 8.5), (640, 8.5)]
    );
    let Evaluation {
        std,
        min,
        max,
        episodes,
        length,
        ..
    } = found[0];
    assert_eq!((std, min, max), (1.25_f64.sqrt(), 3.0, 6.0));
    assert_eq!((episodes, length), (4, 9.0));

    assert_eq!(
        summary.best.map(|best| best.step),
        Some(448),
        "the first of equals"
    );
    let best = best(&settings);
    assert_eq!((best.counters.step, best.evaluation), (448, Some(found[1])));
    let kept = checkpoints::list(&folder_of(&settings).join("checkpoints")).unwrap();
    assert_eq!(kept.len(), 1, "and it counts for none of the newest");
    assert_eq!(
        (
            newest(&settings).counters.step,
            newest(&settings).evaluation
        ),
        (640, None)
    );
}

#[test]
fn a_resumed_run_evaluates_no_step_twice_and_knows_the_best() {
    let folder = tempfile::tempdir().unwrap();
    let settings = evaluated(folder.path(), "run");
    let half = with(&settings, "total_steps = 448");
    train_in(&half, scored(&[3.0, 7.0]), &StopRequest::never()).unwrap();
    let summary = go_on(&half, "total_steps = 1100", scored(&[5.0, 6.0, 6.5])).unwrap();
    let expected = [(256, 4.5), (448, 8.5), (640, 6.5), (832, 7.5), (1024, 8.0)];
    assert_eq!(steps_and_means(&half), expected);
    assert_eq!(summary.best.map(|best| best.step), Some(448));
    assert_eq!(best(&half).counters.step, 448);

    // Means of other games are not compared.
    let changes = "total_steps = 1300\neval_episodes = 8";
    let summary = go_on(&half, changes, scored(&[1.0])).unwrap();
    assert_eq!(summary.best.map(|best| best.step), Some(1216));

    // A best checkpoint that is damaged is said, and found anew.
    let path = folder_of(&half).join("checkpoints/best.safetensors");
    fs::write(&path, "{}").unwrap();
    let message = checkpoints::find_best(&folder_of(&half)).unwrap_err();
    assert!(
        message.to_string().contains("best.safetensors"),
        "{message}"
    );
    let summary = go_on(&half, "total_steps = 1500", scored(&[0.0])).unwrap();
    assert_eq!(summary.best.map(|best| best.step), Some(1408));
}

/// A stop during an evaluation is heeded at once; the resumed run begins with that evaluation.
#[test]
fn a_stop_leaves_no_half_of_an_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let settings = evaluated(folder.path(), "run");
    let stop = Arc::new(StopRequest::never());
    let asking = Arc::clone(&stop);
    let mut evaluation = scored(&[3.0, 7.0]);
    let mut steps = 0;
    evaluation.on_step = Box::new(move |resets| {
        steps += usize::from(resets == 2);
        if steps == 5 {
            asking.ask();
        }
        assert!(steps <= 5, "it goes on");
        Ok(())
    });
    let summary = train_in(&settings, evaluation, &stop).unwrap();
    assert_eq!(
        (summary.outcome, summary.counters.step),
        (Outcome::Stopped, 448)
    );
    assert_eq!(steps_and_means(&settings), [(256, 4.5)]);
    assert_eq!(best(&settings).counters.step, 256);
    go_on(&settings, "", scored(&[7.0, 5.0])).unwrap();
    assert_eq!(
        steps_and_means(&settings),
        [(256, 4.5), (448, 8.5), (640, 6.5)]
    );
}

/// Where a run goes on from the midst of an update, its evaluations come at the ends of updates, as ever.
#[test]
fn a_stop_in_the_midst_of_an_update_moves_no_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::defaults(Algorithm::Dqn);
    folder.path().clone_into(&mut settings.run.runs_dir);
    let settings = with(
        &settings,
        &format!(
            "run_name = 'run'\nnum_envs = {NUM_ENVS}\nsteps_per_update = 64\nlearning_starts = 64\n\
             replay_capacity = 400\ntotal_steps = 128\neval_every = 2\neval_episodes = 4"
        ),
    );
    let stop = Arc::new(StopRequest::never().with_grace_period(Duration::ZERO));
    let env = Stopping::new(cart_poles(), 3, Arc::clone(&stop));
    let mut run = Run::create(settings.clone(), Box::new(env), &stop).unwrap();
    run.evaluate_in(Box::new(cart_poles())).unwrap();
    let stopped = run.train(&stop).unwrap();
    assert!((1..64).contains(&stopped.counters.step), "{stopped:?}");

    let never = StopRequest::never();
    let resume = RunStart::open(&folder_of(&settings), &toml::Table::new()).unwrap();
    let mut run = Run::start(resume, Box::new(cart_poles()), &never).unwrap();
    run.evaluate_in(Box::new(cart_poles())).unwrap();
    run.train(&never).unwrap();
    let steps: Vec<u64> = rows(&settings).iter().map(|row| row.step).collect();
    assert_eq!(steps, [64, 128]);
}

/// The row follows the checkpoint: were it the other way round, an end between them would lose the best.
#[test]
fn the_best_checkpoint_is_there_before_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let settings = evaluated(folder.path(), "run");
    let mut run = create(&settings, Contexts::new(false, 9, End::Terminated)).unwrap();
    run.evaluate_in(Box::new(scored(&[3.0]))).unwrap();
    fs::create_dir(folder_of(&settings).join("evaluations.csv")).unwrap();
    let error = run.train(&StopRequest::never()).err().unwrap();
    assert!(error.to_string().contains("evaluations.csv"), "{error}");
    assert_eq!(best(&settings).counters.step, 256);
}

#[test]
fn a_worker_that_fails_in_an_evaluation_costs_that_evaluation_only() {
    let folder = tempfile::tempdir().unwrap();
    for (name, failures) in [("once", 1), ("again", 2)] {
        let settings = evaluated(folder.path(), name);
        let mut evaluation = scored(&[3.0, 7.0, 5.0]);
        let mut left = failures;
        evaluation.on_step = Box::new(move |resets| {
            if resets < 2 || left == 0 {
                return Ok(());
            }
            left -= 1;
            Err(EnvError::Worker {
                env_indices: vec![2],
                doing: "step 1".to_owned(),
                message: "environment 2 died".to_owned(),
                details: None,
            })
        });
        match train_in(&settings, evaluation, &StopRequest::never()) {
            Ok(summary) => {
                assert_eq!((failures, summary.worker_restarts), (1, 1));
                let means: Vec<f64> = rows(&settings).iter().map(|row| row.mean).collect();
                assert_eq!(means, [4.5, 8.5, 6.5]);
            }
            Err(error) => {
                assert_eq!(failures, 2, "{error}");
                let message = error.to_string();
                assert!(message.contains("environment 2 died"), "{message}");
                assert!(message.contains("agent step 448"), "{message}");
                assert_eq!(newest(&settings).counters.step, 448);
            }
        }
    }
}

#[test]
fn evaluation_without_fitting_environments_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = evaluated(folder.path(), "run");
    let message = train(&settings, one_step()).err().unwrap().to_string();
    assert!(message.contains("eval_every"), "{message}");
    let mut other = one_step();
    other.spec.action_space = ActionSpace::Discrete { n: 3 };
    let settings = evaluated(folder.path(), "other");
    let error = train_in(&settings, other, &StopRequest::never())
        .err()
        .unwrap();
    assert!(error.to_string().contains("evaluation"), "{error}");
}
