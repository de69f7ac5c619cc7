//! Random ROMs under every bank switching: they neither crash nor run for ever, and a restored state goes on exactly
//! as the console did that it was taken from.

use atari_core::{Action, Cartridge, Console, Mapper, games};

/// Marsaglia's xorshift.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Bytes that make a program likelier: half of them write to the TIA, touch a hot spot, or read the timer.
fn program(length: usize, seed: &mut u64) -> Vec<u8> {
    let mut rom = Vec::with_capacity(length + 3);
    while rom.len() < length {
        let [first, second, third, kind, ..] = random(seed).to_le_bytes();
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

#[test]
fn random_roms_neither_crash_nor_hang() {
    let mut seed = 0x2600;
    let mut mappers: Vec<(Mapper, &'static games::Game)> = Vec::new();
    for game in games::all() {
        if !mappers.iter().any(|(mapper, _)| *mapper == game.mapper) {
            mappers.push((game.mapper, game));
        }
    }
    for (mapper, game) in mappers {
        let length = match mapper {
            Mapper::Flat => 4096,
            Mapper::F6 | Mapper::F6Ram => 16384,
            Mapper::Dpc => continue,
            _ => 8192,
        };
        for _ in 0..12 {
            let rom = program(length, &mut seed);
            let cartridge =
                Cartridge::with_mapper("random", &rom, mapper).expect("a length that fits");
            let mut console = Console::new(cartridge, game).expect("the mapper is the game's");
            for _ in 0..20 {
                let choice = random(&mut seed);
                console.act(Action::ALL[choice as usize % 18], choice >> 40 & 1 == 0);
            }
            let mut twin = console.clone();
            let state = console.save_state();
            for _ in 0..3 {
                twin.act(Action::Fire, true);
            }
            twin.restore_state(&state).expect("its own state");
            for _ in 0..3 {
                console.act(Action::Up, true);
                twin.act(Action::Up, false);
                assert_eq!(
                    console.save_state()[20..],
                    twin.save_state()[20..],
                    "{mapper:?}"
                );
            }
            assert!(console.restore_state(&state[1..]).is_err());
            // Whatever a state's numbers say, the console stays within its memory.
            let mut broken = state.clone();
            for byte in &mut broken[20..] {
                *byte = random(&mut seed) as u8;
            }
            if console.restore_state(&broken).is_ok() {
                (0..3).for_each(|_| _ = console.act(Action::Noop, true));
            }
        }
    }
}
