//! Any bytes as a cartridge, switched in any way: frames end, drawn frames and others give the same console, and a
//! console that was brought back goes on as the one it was saved from. The bytes of a real ROM are an input, too.
#![no_main]

mod input;

use std::sync::LazyLock;

use atari_core::{Action, Cartridge, Console, Game, games};
use input::Input;
use libfuzzer_sys::fuzz_target;

/// A game for each way of switching, each standard of television and each number of players.
static GAMES: LazyLock<Vec<&'static Game>> = LazyLock::new(|| {
    let kind = |game: &Game| (game.mapper, game.standard, game.rules_for_two.is_some());
    let mut found: Vec<&Game> = Vec::new();
    for game in games::all().chain(games::two::all()) {
        match found.iter_mut().find(|known| kind(known) == kind(game)) {
            // The one that begins soonest.
            Some(known) if frames(known) > frames(game) => *known = game,
            Some(_) => {}
            None => found.push(game),
        }
    }
    found
});

/// About how long it takes to begin a game: a program that is not the game's never shows its mode.
fn frames(game: &Game) -> u32 {
    let start: u16 = game.start.iter().map(|(_, frames)| frames).sum();
    let presses = if game.select.is_some() { 1 << 16 } else { 0 };
    presses + u32::from(game.reset_frames + start)
}

/// One frame; of a game for two the other player does the opposite.
fn act(console: &mut Console, action: Action, draw: bool) {
    if console.game().rules_for_two.is_some() {
        let other = Action::ALL[Action::ALL.len() - 1 - action as usize];
        console.act_both([action, other], draw);
    } else {
        console.act(action, draw);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((bytes, settings)) = data.split_last_chunk::<16>() else {
        return;
    };
    let mut settings = Input(settings);
    let game = GAMES[settings.below(GAMES.len())];
    let lengths = [2048, 4096, 8192, 10240, 16384];
    let cartridge = lengths.into_iter().find_map(|length| {
        let rom: Vec<u8> = bytes.iter().copied().cycle().take(length).collect();
        Cartridge::with_mapper("fuzz", &rom, game.mapper).ok()
    });
    let Some(cartridge) = cartridge else {
        return;
    };
    let console = if game.rules_for_two.is_some() {
        Console::for_two(cartridge, game, settings.byte().into())
    } else {
        Console::new(cartridge, game)
    };
    let mut console = console.expect("the cartridge is switched as the game's");
    for _ in 0..6 {
        let choice = settings.byte();
        act(
            &mut console,
            Action::ALL[usize::from(choice % 18)],
            choice >= 128,
        );
    }
    let state = console.save_state();
    let mut twin = console.clone();
    act(&mut twin, Action::Fire, true);
    twin.restore_state(&state).expect("its own state");
    for _ in 0..3 {
        if console.game_over() {
            // No frame follows, so there is none to be drawn in the one and left undrawn in the other.
            return;
        }
        let action = Action::ALL[usize::from(settings.byte() % 18)];
        act(&mut console, action, true);
        act(&mut twin, action, false);
        assert!(console.ram() == twin.ram(), "drawing changes the game");
        twin.draw_last();
        assert!(console.screen() == twin.screen(), "drawn later, it differs");
    }
});
