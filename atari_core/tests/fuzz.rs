//! Random ROMs under every bank switching, for one player and for two: they neither crash nor run for ever, and a
//! restored state goes on exactly as the console did that it was taken from.

use atari_core::{Action, Cartridge, Console, Game, Mapper, games};
use vec_env::env::Random;

/// Bytes that make a program likelier: half of them write to the TIA, touch a hot spot, or read the timer.
fn program(length: usize, random: &mut Random) -> Vec<u8> {
    let mut rom = Vec::with_capacity(length + 5);
    while rom.len() < length {
        let [first, second, third, kind, ..] = random.next_u64().to_le_bytes();
        match kind % 8 {
            0 | 1 => rom.extend([
                [0x85, 0x86, 0x84, 0x95][usize::from(third & 3)],
                second & 0x3f,
            ]),
            2 => rom.extend([0xad, 0xe0 | second & 0x1f, 0x1f]),
            3 => rom.extend([0x8d, 0x94 | second & 3, 0x02]),
            4 => rom.extend([0xad, 0x84, 0x02, 0xd0, 0xfb]),
            _ => rom.push(first),
        }
    }
    rom.truncate(length);
    rom
}

/// One frame of a game for one, or of one for two in which both do the same.
fn act(console: &mut Console, action: Action, draw: bool) {
    if console.game().rules_for_two.is_some() {
        console.act_both([action; 2], draw);
    } else {
        console.act(action, draw);
    }
}

#[test]
fn random_roms_neither_crash_nor_hang() {
    let mut random = Random::new(0x2600);
    let (mut num_damaged, mut num_restored) = (0, 0);
    let kind = |game: &Game| (game.mapper, game.rules_for_two.is_some());
    let mut found: Vec<&'static Game> = Vec::new();
    for game in games::all().chain(games::two::all()) {
        if !found.iter().any(|known| kind(known) == kind(game)) {
            found.push(game);
        }
    }
    for game in found {
        let (mapper, is_for_two) = kind(game);
        let length = match mapper {
            Mapper::Flat => 4096,
            Mapper::F6 | Mapper::F6Ram => 16384,
            Mapper::Dpc => 10240,
            _ => 8192,
        };
        for _ in 0..12 {
            let rom = program(length, &mut random);
            let cartridge =
                Cartridge::with_mapper("random", &rom, mapper).expect("a length that fits");
            let console = if is_for_two {
                Console::for_two(cartridge, game, 1)
            } else {
                Console::new(cartridge, game)
            };
            let mut console = console.expect("the mapper is the game's");
            for _ in 0..20 {
                let action = Action::ALL[random.below(18)];
                act(&mut console, action, random.below(2) == 0);
            }
            let mut twin = console.clone();
            let state = console.save_state();
            for _ in 0..3 {
                act(&mut twin, Action::Fire, true);
            }
            twin.restore_state(&state).expect("its own state");
            for _ in 0..3 {
                act(&mut console, Action::Up, true);
                act(&mut twin, Action::Up, false);
                twin.draw_last();
                assert_eq!(console.ram(), twin.ram(), "{}", game.name);
                assert!(console.screen() == twin.screen(), "{}", game.name);
            }
            assert!(console.restore_state(&state[1..]).is_err());
            // Whatever a state's numbers say, the console stays within its memory, and a frame ends.
            for _ in 0..20 {
                let mut damaged = state.clone();
                for _ in 0..=random.below(3) {
                    // Its pictures may be any.
                    let pictures = 2 * console.screen().len();
                    let place = random.below(damaged.len() - pictures);
                    damaged[place] ^= 1 << random.below(8);
                }
                let before = console.save_state();
                num_damaged += 1;
                if console.restore_state(&damaged).is_ok() {
                    num_restored += 1;
                    (0..2).for_each(|_| act(&mut console, Action::Noop, true));
                } else {
                    assert!(
                        console.save_state() == before,
                        "a refused state left traces"
                    );
                }
            }
        }
    }
    // Most bytes are RAM, the cartridge's or the console's, and as good as others.
    assert!(
        num_restored * 3 > num_damaged && num_restored < num_damaged,
        "{num_restored} of {num_damaged} damaged states are states"
    );
}
