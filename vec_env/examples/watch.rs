//! Random play in a window: Escape or Q ends it.
//!
//! ```sh
//! cargo run --release -p vec_env --features window --example watch -- mountain-car
//! ```

use vec_env::{
    ActionBatch, ActionSpace, Env, EnvError, Window,
    env::Random,
    envs::{CartPole, MountainCar, MountainCarContinuous, Pendulum},
};

fn main() -> Result<(), EnvError> {
    let name = std::env::args().nth(1).unwrap_or_default();
    match &*name {
        "cart-pole" => watch(&name, CartPole::new(0)),
        "mountain-car" => watch(&name, MountainCar::new(0)),
        "mountain-car-continuous" => watch(&name, MountainCarContinuous::new(0)),
        "pendulum" => watch(&name, Pendulum::new(0)),
        _ => Err(EnvError::Unsupported(
            "name cart-pole, mountain-car, mountain-car-continuous or pendulum".to_owned(),
        )),
    }
}

fn watch(name: &str, mut env: impl Env) -> Result<(), EnvError> {
    let mut window = Window::new(name, env.render_fps());
    let mut obs = vec![0; env.obs_spec().num_bytes()];
    let (space, mut random) = (env.action_space(), Random::new(0));
    env.reset(Some(0), &mut obs);
    while let Some(picture) = env.render() {
        if !window.show(&picture)? {
            break;
        }
        let transition = env.step(drawn(&space, &mut random).as_actions(), &mut obs);
        if transition.terminated || transition.truncated {
            env.reset(None, &mut obs);
        }
    }
    Ok(())
}

fn drawn(space: &ActionSpace, random: &mut Random) -> ActionBatch {
    let mut below = |count: i64| random.below(count as usize) as i64;
    match space {
        ActionSpace::Discrete { n } => ActionBatch::Discrete(vec![below(*n)]),
        ActionSpace::MultiDiscrete { nvec } => {
            ActionBatch::Discrete(nvec.iter().map(|&count| below(count)).collect())
        }
        ActionSpace::Box { low, high, .. } => {
            let bounds = low.iter().zip(high);
            let number = |(low, high): (&f32, &f32)| {
                random.uniform(f64::from(*low), f64::from(*high)) as f32
            };
            ActionBatch::Continuous(bounds.map(number).collect())
        }
    }
}
