//! Any recipe, autoreset mode and part of a batch, over games on the ROMs in the folder that `ATARI_ROMS` names, and any
//! changes to their states: nothing panics or hangs, and what was saved is what goes on.
#![no_main]

mod input;

use std::{cell::OnceCell, path::PathBuf, sync::Arc};

use atari_core::{
    Cartridge,
    rl::{AtariVecEnv, BatchOptions, Preset, Recipe},
};
use input::Input;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use vec_env::{ActionBatch, ActionSpace, AutoresetMode, ObsBuffer, StepBatch, VecEnv};

/// Small and large, with and without lives, paddles, the mappers, RAM and the chip in the cartridge, a game for PAL.
const GAMES: [&str; 11] = [
    "breakout",
    "pong",
    "space_invaders",
    "ms_pacman",
    "freeway",
    "seaquest",
    "tennis",
    "asteroids",
    "elevator_action",
    "pitfall2",
    "mr_do",
];

thread_local! {
    static CARTRIDGES: OnceCell<Vec<Arc<Cartridge>>> = const { OnceCell::new() };
}

fn load() -> Vec<Arc<Cartridge>> {
    let folder = std::env::var_os("ATARI_ROMS").expect("ATARI_ROMS names a folder of ROMs");
    let path = |game| PathBuf::from(&folder).join(format!("{game}.bin"));
    GAMES
        .map(|game| Cartridge::load(&path(game)).expect("a ROM of ale-py's"))
        .to_vec()
}

/// A preset with some parts changed: to another preset's value, or to any number.
fn recipe(input: &mut Input<'_>) -> Recipe {
    let mut recipe = Recipe::preset(Preset::ALL[input.below(Preset::ALL.len())]);
    for _ in 0..input.byte() % 6 {
        let parts: Vec<(String, Value)> = recipe.parts().into_iter().collect();
        let (name, now) = &parts[input.below(parts.len())];
        let other = Recipe::preset(Preset::ALL[input.below(Preset::ALL.len())]);
        let number = |input: &mut Input<'_>| match input.byte() % 8 {
            0 => json!(u32::MAX),
            1 => json!(f64::from(input.byte()) / 64.0),
            2 => json!(u32::from(input.byte()) * 1000),
            _ => json!(input.byte() % 12),
        };
        let value = match now {
            Value::Bool(flag) => json!(!flag),
            Value::Number(_) | Value::Null => number(input),
            Value::Array(_) => json!([u32::from(input.byte()) * 8, u32::from(input.byte()) * 8]),
            _ => other.parts()[name].clone(),
        };
        // A value that the part has not is refused, and the recipe as it was.
        let _refused = recipe.set(name, value);
    }
    recipe
}

fn actions(input: &mut Input<'_>, space: &ActionSpace, count: usize) -> ActionBatch {
    match space {
        ActionSpace::Box { .. } => {
            let values = (0..count).flat_map(|_| [input.byte(), input.byte(), input.byte()]);
            let values = values.zip([1.0 / 255.0, 3.0 / 255.0, 1.0 / 255.0].into_iter().cycle());
            ActionBatch::Continuous(
                values
                    .map(|(byte, scale)| f32::from(byte) * scale)
                    .collect(),
            )
        }
        space => {
            let num_actions = space.num_actions() as usize;
            ActionBatch::Discrete(
                (0..count)
                    .map(|_| input.below(num_actions) as i64)
                    .collect(),
            )
        }
    }
}

/// Observations and results of some steps.
fn play(
    envs: &mut AtariVecEnv,
    input: &mut Input<'_>,
    num_steps: usize,
) -> Vec<(Vec<u8>, StepBatch)> {
    let num_rows = envs.batch_size();
    let row_bytes = envs.obs_spec().num_bytes();
    // After a reset or a restored state it is every environment's turn.
    let mut num_actions = envs.num_envs();
    let mut seen = Vec::new();
    for _ in 0..num_steps {
        let actions = actions(input, &envs.action_space().clone(), num_actions);
        let buffer = ObsBuffer::new(num_rows * row_bytes);
        let mut step = StepBatch::default();
        if envs.send(actions.as_actions(), buffer.slot()).is_err() {
            // Episodes that ended wait for a reset by hand.
            assert!(envs.autoreset_mode() == AutoresetMode::Disabled);
            return seen;
        }
        envs.recv(&mut step).expect("a step in flight");
        num_actions = num_rows;
        seen.push((buffer.take().to_vec(), step));
    }
    seen
}

fn fuzz(data: &[u8], cartridges: &[Arc<Cartridge>]) {
    let mut input = Input(data);
    let recipe = recipe(&mut input);
    if recipe.check().is_err() {
        return;
    }
    let obs_bytes: usize = recipe.obs_shape().iter().product();
    if obs_bytes > 1 << 18 || recipe.frame_skip > 12 || recipe.noop_max > 100 {
        return; // valid, and slow
    }
    let num_envs = 1 + input.below(3);
    let modes = [
        AutoresetMode::SameStep,
        AutoresetMode::NextStep,
        AutoresetMode::Disabled,
    ];
    let options = BatchOptions {
        autoreset: modes[input.below(3)],
        num_threads: 1 + input.below(2),
        ..BatchOptions::new(recipe)
    };
    let cartridge = &cartridges[input.below(cartridges.len())];
    let Ok(mut envs) = AtariVecEnv::new(std::slice::from_ref(cartridge), num_envs, &options) else {
        return; // a mode that is not known
    };
    let mut obs = vec![0; num_envs * obs_bytes];
    envs.reset(Some(input.byte().into()), &mut obs)
        .expect("a reset");
    let num_steps = usize::from(input.byte() % 12);
    play(&mut envs, &mut input, num_steps);
    let states = envs.save_state().expect("nothing is in flight");
    let script: Vec<u8> = (0..64).map(|_| input.byte()).collect();
    let first = play(&mut envs, &mut Input(&script), 3);
    envs.restore_state(&states, &mut obs)
        .expect("its own states");
    assert!(
        play(&mut envs, &mut Input(&script), 3) == first,
        "a state goes on otherwise"
    );
    let mut damaged = states.clone();
    input.damage(&mut damaged[0], 0);
    if envs.restore_state(&damaged, &mut obs).is_err() {
        return;
    }
    assert!(
        envs.save_state().as_ref() == Ok(&damaged),
        "a state was taken for another one"
    );
    play(&mut envs, &mut input, 3);
}

fuzz_target!(|data: &[u8]| CARTRIDGES.with(|cartridges| fuzz(data, cartridges.get_or_init(load))));
