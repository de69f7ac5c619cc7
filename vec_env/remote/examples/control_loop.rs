//! A control loop that asks a policy of another machine, with no Python in the program.
//!
//! ```sh
//! export ATARI_WRAPPERS_TOKEN=$(openssl rand -hex 16)
//! rust_trainer serve-policy runs/cartpole --listen unix:policy.socket
//! cargo run --release --locked --example control_loop -p vec_env_remote unix:policy.socket
//! ```

use std::{error::Error, io::Write, time::Duration};

use vec_env_remote::{
    Choice, RemotePolicy, Server,
    vec_env::{Env, envs::CartPole},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .ok_or("usage: control_loop ADDRESS [SECONDS]")?;
    let seconds = arguments.next().unwrap_or_else(|| "1".to_owned()).parse()?;
    let server = Server::at(&address)
        .timeout(Duration::from_secs(seconds)) // no action is better than one that comes too late
        .reconnect(Duration::from_secs(10));
    let mut policy = RemotePolicy::connect(&server)?;
    // The plant: here a simulated pole, which gives its sensors' readings as bytes.
    let mut plant = CartPole::new(0);
    let mut readings = [0; 16];
    plant.reset(Some(0), &mut readings);
    let (mut starts, mut steps) = (true, 0);
    loop {
        let choice = Choice {
            greedy: true,
            episode_start: &[starts], // where a recurrent policy forgets what was
        };
        let decision = policy.decide(&readings[..], choice)?;
        let transition = plant.step(decision.actions.as_actions(), &mut readings);
        (starts, steps) = (false, steps + 1);
        if transition.terminated || transition.truncated {
            break;
        }
    }
    writeln!(
        std::io::stdout(),
        "{} balanced for {steps} steps",
        policy.env_name()
    )?;
    Ok(())
}
