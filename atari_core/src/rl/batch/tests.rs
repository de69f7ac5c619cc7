//! What a panic of the emulator leaves behind: nobody gets at it, and everybody is told.

use vec_env::{Actions, EnvError, StepBatch, VecEnv};

use super::{AtariVecEnv, BatchOptions};
use crate::games::Game;
use crate::rl::{Preset, Recipe, game::PoweredOn};
use crate::{Cartridge, Console, Mapper, games};

/// Counts its frames in $80, from 0 on, and ends them: WSYNC and VSYNC.
const PROGRAM: &[u8] = &[
    0xa9, 0, 0x85, 0x80, 0xe6, 0x80, 0xa9, 2, 0x85, 0, 0x85, 2, 0x85, 2, 0xa9, 0, 0x85, 0, 0x4c, 4,
    0xf0,
];

/// Its rules fail once some frames are counted.
fn broken() -> &'static Game {
    let game = games::game("broken", "", Mapper::Flat)
        .score(|ram| {
            assert!(ram.at(0x80) < 250, "it came to frame 250");
            0
        })
        .over(|_, _| false);
    let actions = games::by_name("freeway").unwrap().actions;
    Box::leak(Box::new(Game { actions, ..game }))
}

#[test]
fn an_emulator_that_panicked_is_handed_out_to_nobody_and_says_why() {
    let mut rom = [0; 4096];
    rom[..PROGRAM.len()].copy_from_slice(PROGRAM);
    rom[0xffc..0xffe].copy_from_slice(&[0x00, 0xf0]);
    let cartridge = Cartridge::with_mapper("broken", &rom, Mapper::Flat).unwrap();
    let console = Console::off(cartridge, broken(), None).unwrap();
    let recipe = Recipe::preset(Preset::Default);
    let powered_on = PoweredOn::of(console, &recipe).unwrap();
    let options = BatchOptions::new(recipe);
    let mut envs = AtariVecEnv::of(&[powered_on], 2, 2, &options).unwrap();
    let (mut obs, mut step) = (vec![0; 2 * 4 * 84 * 84], StepBatch::default());
    VecEnv::reset(&mut envs, Some(0), &mut obs).unwrap();
    assert!(envs.env(1).is_ok());
    let failed = (0..100).find_map(|_| {
        let stepped = envs.step(Actions::Discrete(&[0, 0]), &mut obs, &mut step);
        stepped.err()
    });
    let failed = failed.unwrap();
    assert!(
        failed.to_string().contains("it came to frame 250"),
        "{failed}"
    );
    assert!(matches!(
        failed,
        EnvError::Backend {
            is_usage: false,
            ..
        }
    ));
    for index in 0..2 {
        assert_eq!(envs.env(index).err().as_ref(), Some(&failed));
        assert_eq!(envs.render(index).err().as_ref(), Some(&failed));
        assert_eq!(envs.save_states(&[index]).err().as_ref(), Some(&failed));
    }
}
