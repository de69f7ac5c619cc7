//! Which frames are drawn changes no picture; states of consoles: the pictures that follow are those that would have
//! followed, and numbers that no console comes to are refused.

use atari_core::{Action, Cartridge, Console, Mapper, games};

/// A game that ends some of its pictures early, of lines whose colours change from frame to frame.
#[rustfmt::skip]
const SHORT_FRAMES: &[u8] = &[
    0xa9, 0x02,             // f000 LDA #2
    0x85, 0x00,             //      STA VSYNC
    0x85, 0x02, 0x85, 0x02, //      STA WSYNC, twice
    0xa9, 0x00,             //      LDA #0
    0x85, 0x00,             //      STA VSYNC
    0xe6, 0x80,             //      INC $80
    0xa6, 0x80,             //      LDX $80
    0xbc, 0x40, 0xf0,       //      LDY $f040,X
    0x98,                   // f013 TYA
    0x45, 0x80,             //      EOR $80
    0x85, 0x09,             //      STA COLUBK
    0x85, 0x02,             //      STA WSYNC
    0x88,                   //      DEY
    0xd0, 0xf6,             //      BNE $f013
    0x4c, 0x00, 0xf0,       //      JMP $f000
];

/// The game that the program is taken for: its rules read RAM, and end nothing here.
const GAME: &str = "freeway";

/// A console whose games' frames have `lines` by their number.
fn console(lines: impl Fn(u8) -> u8) -> Console {
    let mut rom = [0; 4096];
    rom[..SHORT_FRAMES.len()].copy_from_slice(SHORT_FRAMES);
    for (frame, place) in (0..=255).zip(&mut rom[0x40..]) {
        *place = lines(frame);
    }
    rom[0xffc..0xffe].copy_from_slice(&[0x00, 0xf0]);
    let cartridge = Cartridge::with_mapper("short", &rom, Mapper::Flat).expect("4 KiB");
    let game = games::by_name(GAME).expect("a game");
    Console::new(cartridge, game).expect("the mapper is the game's")
}

/// What frames show, of which some are drawn and some looked at later.
fn play(console: &mut Console, pattern: u32) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    for frame in 0..24 {
        console.act(Action::Noop, pattern >> (frame % 8) & 1 == 1);
        if pattern >> (8 + frame % 8) & 1 == 1 {
            console.draw_last();
        }
        seen.push(console.screen().to_vec());
    }
    seen
}

/// Most frames are whole pictures.
fn short(frame: u8) -> u8 {
    if frame % 7 % 3 == 2 {
        40 + (u32::from(frame) * 37 % 150) as u8
    } else {
        250
    }
}

#[test]
fn pictures_are_the_same_whichever_frames_are_drawn() {
    let (mut always, mut sometimes) = (console(short), console(short));
    let registers = |console: &mut Console| console.save_state()[CPU..SET_AT].to_vec();
    for frame in 0..200 {
        always.act(Action::Noop, true);
        let draw = frame * frame % 11 < 4;
        sometimes.act(Action::Noop, draw);
        let both = [&mut always, &mut sometimes].map(registers);
        assert_eq!(both[0], both[1], "frame {frame}");
        let looks = frame % 3 == 0;
        if looks {
            sometimes.draw_last();
        }
        if draw || looks {
            assert!(always.screen() == sometimes.screen(), "frame {frame}");
        }
    }
}

#[test]
fn what_frames_leave_out_is_restored() {
    let (mut one, mut other) = (console(short), console(short));
    for round in 0..120_u32 {
        let pattern = round.wrapping_mul(0x9e37_79b9) >> 8;
        play(&mut one, pattern);
        let state = one.save_state();
        let expected = play(&mut one, pattern >> 3);
        play(&mut other, !pattern);
        for (console, name) in [(&mut one, "itself"), (&mut other, "another")] {
            console.restore_state(&state).expect("its state");
            assert!(console.save_state() == state, "round {round}, {name}");
            let seen = play(console, pattern >> 3);
            let differs = (0..seen.len()).find(|&frame| seen[frame] != expected[frame]);
            assert_eq!(differs, None, "round {round}, {name}");
        }
    }
}

/// Where in a state some numbers lie: behind its header, as the `walk` of each chip goes over them.
const CPU: usize = 8 + "rom=".len() + 32;
const SET_AT: usize = CPU + 142;
const READ_AT: usize = CPU + 146;
const CHARGES: usize = CPU + 299;
const PLAYFIELD: usize = CPU + 333;
const RELEASED_AT: usize = CPU + 376;

#[test]
fn numbers_that_no_console_comes_to_are_refused() {
    let mut console = console(|_| 250);
    play(&mut console, 0xff);
    let state = console.save_state();
    for (place, number) in [
        (SET_AT, i32::MIN),
        (SET_AT, i32::MIN + 1_000_000),
        (SET_AT, i32::MAX),
        (READ_AT, i32::MIN),
        (CHARGES, i32::MIN),
        (CHARGES, i32::MAX),
        (CHARGES + 12, 20_000),
        (PLAYFIELD, 1 << 20),
        (RELEASED_AT, i32::MIN),
    ] {
        let mut crafted = state.clone();
        let bytes: &mut [u8; 4] = crafted[place..].first_chunk_mut().expect("four bytes");
        let before = i32::from_le_bytes(*bytes);
        assert!((-1 << 24..1 << 24).contains(&before), "{before} at {place}");
        *bytes = number.to_le_bytes();
        let refused = console.restore_state(&crafted);
        assert!(refused.is_err(), "{number} at {place} is taken");
        assert!(console.save_state() == state, "a refused state left traces");
    }
}
