//! Any changes to the state of one of three consoles: it is refused and the console as before, or it is the console's state, and frames
//! end whatever it says.
#![no_main]

mod input;

use std::cell::RefCell;

use atari_core::{Action, Cartridge, Console, Game, Mapper, games};
use input::Input;
use libfuzzer_sys::fuzz_target;

/// Before the numbers: the version, and what the state is of.
fn header(console: &Console) -> usize {
    let players = if console.game().rules_for_two.is_some() {
        " players=2".len()
    } else {
        0
    };
    8 + "rom=".len() + 32 + players
}

/// A console whose program writes to each register of the TIA and the RIOT in turn, and to each of the cartridge's chip
/// or to its RAM, reads what can be read, touches the hot spots of `F8`, and ends its frames.
fn console(game: &'static Game) -> Console {
    let mut program = Vec::new();
    for register in 0..0x2d_u8 {
        // INC zp; LDA zp; STA register
        program.extend([0xe6, 0x80, 0xa5, 0x80, 0x85, register]);
    }
    // LDA $0284; BPL -5; LDA $1ff8; LDA $1ff9
    program.extend([
        0xad, 0x84, 0x02, 0x10, 0xfb, 0xad, 0xf8, 0x1f, 0xad, 0xf9, 0x1f,
    ]);
    // LDX #$40; INC zp; LDA zp; STA $1040,X (the last of them $107f); LDA $1000,X; DEX; BPL
    program.extend([
        0xa2, 0x3f, 0xe6, 0x80, 0xa5, 0x80, 0x9d, 0x40, 0x10, 0xbd, 0x00, 0x10, 0xca, 0x10, 0xf3,
    ]);
    for address in 0x94..0x98 {
        program.extend([0x8d, address, 0x02, 0xa5, 0x0c, 0x05, 0x02]);
    }
    // LDA #2; STA VSYNC; STA WSYNC; LDA #0; STA VSYNC; JMP $f100
    program.extend([0xa9, 2, 0x85, 0, 0x85, 2, 0xa9, 0, 0x85, 0, 0x4c, 0, 0xf1]);
    // Below $100 lie the registers and the RAM of cartridges.
    let mut bank = vec![0xea; 0x100];
    bank.extend(program);
    bank.resize(4096, 0xea);
    bank[4092..].copy_from_slice(&[0, 0xf1, 0, 0xf1]);
    let (length, seed) = match game.mapper {
        Mapper::Flat => (4096, Some(7)),
        Mapper::Dpc => (10240, None),
        _ => (8192, None),
    };
    let rom: Vec<u8> = bank.into_iter().cycle().take(length).collect();
    let cartridge = Cartridge::with_mapper("fuzz", &rom, game.mapper).expect("its length");
    let console = match seed {
        Some(seed) => Console::for_two(cartridge, game, seed),
        None => Console::new(cartridge, game),
    };
    let mut console = console.expect("the cartridge is switched as the game's");
    (0..30).for_each(|_| act(&mut console, Action::Fire, true));
    assert!(console.ram()[0] != 0, "the program runs");
    console
}

fn act(console: &mut Console, action: Action, draw: bool) {
    if console.game().rules_for_two.is_some() {
        console.act_both([action, Action::Down], draw);
    } else {
        console.act(action, draw);
    }
}

/// RAM in the cartridge, a chip there, and a game for two.
fn consoles() -> [Console; 3] {
    let with = |mapper| games::all().find(|game| game.mapper == mapper);
    let for_two = games::two::by_name("surround");
    [with(Mapper::F8Ram), with(Mapper::Dpc), for_two].map(|game| console(game.expect("a game")))
}

thread_local! {
    static CONSOLES: RefCell<[Console; 3]> = RefCell::new(consoles());
}

fuzz_target!(|data: &[u8]| {
    CONSOLES.with_borrow_mut(|consoles| {
        let mut input = Input(data);
        let console = &mut consoles[usize::from(input.byte() % 3)];
        let before = console.save_state();
        let mut state = before.clone();
        // One in sixteen may change the header, too.
        let first = if input.byte() < 16 {
            0
        } else {
            header(console)
        };
        // Its pictures, at the end, may be any.
        let numbers = state.len() - 2 * console.screen().len();
        input.damage(&mut state[..numbers], first);
        let restored = console.restore_state(&state);
        let now = console.save_state();
        if restored.is_err() {
            assert!(now == before, "a refused state left traces");
            return;
        }
        assert!(now == state, "a state was taken for another one");
        for _ in 0..2 {
            act(console, Action::ALL[input.below(18)], input.byte() < 128);
        }
        console.restore_state(&before).expect("its own state");
    });
});
