//! Any changes to a console's state: it is refused and the console as before, or it is the console's state, and frames
//! end whatever it says.
#![no_main]

mod input;

use std::cell::RefCell;

use atari_core::{Action, Cartridge, Console, Mapper, games};
use input::Input;
use libfuzzer_sys::fuzz_target;

/// Before the numbers: the version, and what the state is of.
const HEADER: usize = 8 + "rom=".len() + 32;

/// A console whose cartridge is all of one mapper's quirks: it writes to each register of the TIA and the RIOT in turn,
/// reads what can be read, touches the hot spots, and ends its frames.
fn console() -> Console {
    let mut rom = Vec::new();
    for register in 0..0x2d_u8 {
        // INC zp; LDA zp; STA register
        rom.extend([0xe6, 0x80, 0xa5, 0x80, 0x85, register]);
    }
    rom.extend([
        0xad, 0x84, 0x02, 0x10, 0xfb, 0xad, 0xe4, 0x1f, 0x8d, 0x00, 0x10,
    ]);
    for address in 0x94..0x98 {
        rom.extend([0x8d, address, 0x02, 0xa5, 0x0c, 0x05, 0x02]);
    }
    // LDA #2; STA VSYNC; STA WSYNC; LDA #0; STA VSYNC; JMP $f000
    rom.extend([0xa9, 2, 0x85, 0, 0x85, 2, 0xa9, 0, 0x85, 0, 0x4c, 0, 0xf0]);
    rom.resize(8192, 0xea);
    for bank in [4096, 8192] {
        rom[bank - 4..bank].copy_from_slice(&[0, 0xf0, 0, 0xf0]);
    }
    let game = games::all().find(|game| game.mapper == Mapper::F8Ram);
    let cartridge = Cartridge::with_mapper("fuzz", &rom, Mapper::F8Ram).expect("8 KiB");
    let mut console = Console::new(cartridge, game.expect("a game with cartridge RAM"))
        .expect("the cartridge is switched as the game's");
    (0..30).for_each(|_| _ = console.act(Action::Fire, true));
    console
}

thread_local! {
    static CONSOLE: RefCell<Console> = RefCell::new(console());
}

fuzz_target!(|data: &[u8]| {
    CONSOLE.with_borrow_mut(|console| {
        let before = console.save_state();
        let mut state = before.clone();
        let mut input = Input(data);
        // One in sixteen may change the header, too.
        let first = if input.byte() < 16 { 0 } else { HEADER };
        input.damage(&mut state, first);
        let restored = console.restore_state(&state);
        let now = console.save_state();
        if restored.is_err() {
            assert!(now == before, "a refused state left traces");
            return;
        }
        assert!(now == state, "a state was taken for another one");
        for _ in 0..2 {
            console.act(Action::ALL[input.below(18)], input.byte() < 128);
        }
        console.restore_state(&before).expect("its own state");
    });
});
