//! Steps an environment with random actions through the tensor interface and tells what came.
//!
//! `cargo run --release -p python_shim --example random_policy -- BreakoutNoFrameskip-v4 4 200`

use python_shim::{PyResult, VecGymEnv};
use tch::{Kind, Tensor};

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() -> PyResult<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let name = name.unwrap_or_else(|| "SpaceInvadersNoFrameskip-v4".to_owned());
    let mut count = |or| {
        arguments
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(or)
    };
    let (nprocesses, num_steps) = (count(8), count(1000));

    let env = VecGymEnv::new(&name, None, nprocesses)?;
    println!(
        "{name}: {} actions, observations {:?}",
        env.action_space(),
        env.observation_space()
    );
    let mut obs = env.reset()?;
    let (mut reward, mut ends) = (0.0, 0.0);
    for _ in 0..num_steps {
        let actions = Tensor::randint(
            env.action_space(),
            [nprocesses],
            (Kind::Int64, tch::Device::Cpu),
        );
        let step = env.step(Vec::try_from(actions).unwrap_or_default())?;
        reward += step.reward.sum(Kind::Float).double_value(&[]);
        ends += step.is_done.sum(Kind::Float).double_value(&[]);
        obs = step.obs;
    }
    println!("{num_steps} steps: reward {reward}, {ends} episodes ended");
    println!(
        "last observation: mean {:.2}",
        obs.mean(Kind::Float).double_value(&[])
    );
    drop(env);
    python_shim::shutdown().map_err(|error| python_shim::py_err(&error))
}
