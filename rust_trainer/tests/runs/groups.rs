//! Groups of environments that take turns: a run with steps in flight ends as one without.

use rust_trainer::{
    algorithms::{self, Learning, State},
    envs::{EnvGroups, env_seed},
};
use vec_env::{
    AgentRows, Env, RowLayout, StepBatch, SyncVecEnv,
    envs::{CartPole, CartPoles, GridWorld, Pendulum},
};

use super::{
    variants::{STEPS, Task, VARIANTS, run_of},
    *,
};

/// The variants that collect rollouts and learn from what a single environment shows.
const NAMES: [&str; 6] = [
    "ppo",
    "ppo-lstm",
    "a2c-bytes",
    "a2c-lstm",
    "pqn",
    "ppo-bytes",
];

/// The environments of a task in so many groups.
fn envs(task: Task, count: usize) -> EnvGroups {
    fn groups<E: Env + 'static>(count: usize, make: fn(usize) -> E) -> EnvGroups {
        let size = NUM_ENVS / count;
        let group = |group: usize| -> Box<dyn VecEnv> {
            Box::new(SyncVecEnv::new(size, |env| make(group * size + env)).unwrap())
        };
        EnvGroups::new((0..count).map(group).collect(), size).unwrap()
    }
    match task {
        Task::CartPole => groups(count, |index| CartPole::new(index as u64)),
        Task::GridWorld => groups(count, |index| GridWorld::new(3, index as u64)),
        Task::Pendulum => groups(count, |index| Pendulum::new(index as u64)),
        Task::CartPoles | Task::Spread => unreachable!("no name of these"),
    }
}

/// The end of a run in which every step is received before anything else happens.
fn in_turn(settings: &Settings, mut env: EnvGroups) -> State {
    let mut algorithm = algorithms::new(settings, &env, Device::Cpu).unwrap();
    let seed = env_seed(settings.run.seed);
    env.reset(Some(seed), &mut algorithm.next_obs()).unwrap();
    let (mut step, mut steps) = (StepBatch::default(), 0);
    loop {
        let actions = algorithm.act().unwrap();
        env.send(actions.as_actions(), algorithm.next_obs())
            .unwrap();
        env.recv(&mut step).unwrap();
        algorithm.observe(&step).unwrap();
        steps += step.reward.len() as u64;
        let learned = algorithm.learn(&mut || false).unwrap();
        if matches!(learned, Learning::Done(_)) && steps >= STEPS {
            return algorithm.state().unwrap();
        }
    }
}

#[test]
fn environments_of_several_agents_have_the_seeds_of_one_batch() {
    let agents = |num_envs, first: usize| -> Box<dyn VecEnv> {
        let make = |env: usize| CartPoles::new(2, (first + env) as u64);
        Box::new(AgentRows::new(num_envs, RowLayout::default(), make).unwrap())
    };
    let groups = (0..2).map(|group| agents(2, 2 * group)).collect();
    let mut groups = EnvGroups::new(groups, 2).unwrap();
    let mut one = agents(4, 0);
    let [mut seen, mut expected] = [0, 1].map(|_| vec![0; one.spec().obs_bytes()]);
    groups.reset(Some(7), &mut seen).unwrap();
    one.reset(Some(7), &mut expected).unwrap();
    assert_eq!(seen, expected);
    let none = groups.restore_state(&[], &mut seen);
    assert!(none.is_err(), "as many states as environments");
}

fn named(state: &State, name: &str) -> Tensor {
    let mut tensors = state.tensors.iter();
    let (_, tensor) = tensors.find(|(of, _)| of == name).unwrap();
    tensor.shallow_clone()
}

#[test]
fn groups_in_flight_end_as_groups_in_turn_and_as_one_group() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let variant = VARIANTS.iter().find(|variant| variant.0 == name).unwrap();
        let [one, two] = [1, 2].map(|count| {
            let settings = run_of(variant, folder.path(), &format!("{count}"));
            let settings = with(&settings, &format!("env_groups = {count}"));
            train(&settings, envs(variant.2, count)).unwrap();
            settings
        });
        let reference = in_turn(&two, envs(variant.2, 2));
        let [one, two] = [one, two].map(|settings| newest(&settings).state);
        assert_eq!(two.values, reference.values, "{name}");
        for (of, tensor) in &two.tensors {
            assert!(*tensor == named(&reference, of), "{name}: {of}");
            // Of half the size, acting is rounded otherwise.
            let difference = (tensor - named(&one, of)).abs().max();
            let bound = if name == "ppo-bytes" { 0.1 } else { 1e-3 };
            let difference = difference.double_value(&[]);
            assert!(difference < bound, "{name}: {of} differs by {difference:e}");
        }
    }
}

#[test]
fn a_run_in_groups_goes_on_as_if_it_had_not_been_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, broken] = ["whole", "broken"].map(|name| {
        let settings = run_of(&VARIANTS[3], folder.path(), name);
        with(&settings, "env_groups = 2")
    });
    let task = VARIANTS[3].2;
    train(&whole, envs(task, 2)).unwrap();
    let stop = StopRequest::never();
    stop.ask();
    let stopped = create(&broken, envs(task, 2))
        .unwrap()
        .train(&stop)
        .unwrap();
    assert_eq!(stopped.outcome, Outcome::Stopped);
    assert!(stopped.counters.step < STEPS);
    resume(&folder_of(&broken), envs(task, 2)).unwrap();
    let [whole, broken] = [&whole, &broken].map(|settings| newest(settings).state);
    assert_eq!(whole.values, broken.values);
    for (whole, broken) in whole.tensors.iter().zip(&broken.tensors) {
        assert!(whole.1 == broken.1, "{}", whole.0);
    }
}

#[test]
fn groups_that_cannot_be_made_are_refused_by_name() {
    let settings = Settings::defaults(Algorithm::Ppo);
    for (changes, words) in [
        ("env_groups = 3", "does not divide the 8 environments"),
        ("env_groups = 2\nnorm_reward = true", "norm_reward"),
        ("env_groups = 2\nimg_dir = 'frames'", "img_dir"),
    ] {
        let error = settings
            .with(&toml::from_str(changes).unwrap())
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("env_groups") && message.contains(words),
            "{message}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = run_of(&VARIANTS[0], folder.path(), "unfit");
    let error = create(&settings, envs(Task::CartPole, 2)).err().unwrap();
    assert!(error.to_string().contains("at once"), "{error}");
}
