//! The games for two.

use super::special::{
    double_dunk, entombed, in_reserve, maze_craze, othello, own_lives, own_scores, punish,
    punish_waiting, video_checkers, warlords, zero_sum,
};
use crate::action::Action::{
    Down, DownFire, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire,
};
use crate::games::actions::{DIAGONALS_OR_FIRE, EIGHT_WAYS_OR_FIRE, FOUR_WAYS, SIDEWAYS_WITH_FIRE};
use crate::games::game::{Game, game, paddles, pal};
use crate::games::ram::{signed, to_bcd};
use crate::games::select::{Select, modes_from, select, select_as};
use crate::games::special::{boxing_points, tennis, tennis_is_over, wizard_of_wor_score};
use crate::input::{Controller, PADDLE_MIDDLE};
use crate::mapper::Mapper::{F6, F8, Flat};

pub(super) static GAMES: &[Game] = &[
    game("boxing", "c3ef5c4653212088eda54dc91d787870", Flat)
        .modes(&[2], select(1, 0x92))
        .difficulties(&[0, 1, 2, 3])
        .for_two(1, |ram, _, progress| {
            let [first, second] = [0x92, 0x93].map(|address| boxing_points(ram.at(address)));
            zero_sum(first - second, progress);
            let time_is_over = ram.at(0x90) >> 4 == 0 && ram.at(0x91) == 0;
            progress.over = first == 100 || second == 100 || time_is_over;
        }),
    pal("combat", "0ef64cdbecccb7049752a3de0b7ade14", Flat)
        .picture(39, 256)
        .modes(&modes_from::<27>(1), select_as(1, 0x80, |mode| mode - 1))
        .difficulties(&[0, 1, 2, 3])
        .for_two(1, |ram, _, progress| {
            zero_sum(ram.bcd(&[0xa1]) - ram.bcd(&[0xa2]), progress);
            progress.over = ram.at(0x88) == 0 || ram.at(0xa1) == 0x99 || ram.at(0xa2) == 0x99;
        }),
    game("double_dunk", "368d88a6c071caba60b4f778615aae94", F6)
        .modes(
            &modes_from::<16>(16),
            Select::Menu {
                row: 0xb0,
                byte: 0x80,
                options: &[
                    (0, 16, 0x40),
                    (2, 1, 0x08),
                    (3, 2, 0x10),
                    (4, 4, 0x04),
                    (5, 8, 0x20),
                ],
                then: None,
            },
        )
        .reset_frames(4)
        .start(&[(UpFire, 1)])
        .for_two(0, double_dunk),
    game("entombed", "6b683be69f92958abe0e2a9945157ad5", Flat)
        .modes(&[2, 3], select_as(1, 0xf4, |mode| i32::from(mode == 1)))
        .difficulties(&[0, 2])
        .start(&[(Fire, 1), (Noop, 5)])
        .lives_of_each(3)
        .for_two(1, entombed),
    game("fishing_derby", "b8865f05676e64f3bec72b9defdacfa7", Flat)
        .modes(&[2], select_as(1, 0x80, |mode| mode - 1))
        .difficulties(&[0, 1, 2, 3])
        .for_two(1, |ram, _, progress| {
            zero_sum(ram.bcd(&[0xbd]) - ram.bcd(&[0xbe]), progress);
            progress.over = ram.at(0xbd) == 0x99 || ram.at(0xbe) == 0x99;
        }),
    game("flag_capture", "30512e0e83903fc05541d2f6a6a62654", Flat)
        .modes(&[1, 2, 3, 4], select(10, 0xd6))
        .start(&[(Fire, 10)])
        .actions(EIGHT_WAYS_OR_FIRE)
        .for_two(8, |ram, _, progress| {
            own_scores([ram.bcd(&[0xab]), ram.bcd(&[0xeb])], progress);
            progress.over = ram.at(0xab) == 0x99 || ram.at(0xeb) == 0x99;
        }),
    game("ice_hockey", "a4c08c4994eb9d24fb78be1793e82e26", Flat)
        .modes(&[1, 3], select(2, 0x80))
        .difficulties(&[0, 1, 2, 3])
        .for_two(0, |ram, _, progress| {
            zero_sum(ram.bcd(&[0x8a]) - ram.bcd(&[0x8b]), progress);
            progress.over = ram.at(0x86) == 0 && ram.at(0x87) == 0;
        }),
    game("joust", "3276c777cbe97cdd2b4a63ffc16b7151", F8)
        .modes(&[1, 3], select(1, 0xf8))
        .lives_of_each(4)
        .lives_of_both(in_reserve)
        .for_two(0, |ram, _, progress| {
            own_scores(
                [ram.bcd(&[0x83, 0x85, 0x87]), ram.bcd(&[0x84, 0x86, 0x88])],
                progress,
            );
            own_lives(
                [0x81, 0x82].map(|address| signed(ram.at(address))),
                progress,
            );
            let are_lost = [progress.lives, progress.second.lives] == [-1; 2];
            progress.over = are_lost || progress.score.max(progress.second.score) >= 990_000;
        }),
    game("mario_bros", "e908611d99890733be31733a979c62d8", F8)
        .modes(&[2, 4, 6, 8], select_as(5, 0x80, |mode| mode - 1))
        .start(&[(Noop, 10), (Fire, 7)])
        .lives_of_each(4)
        .lives_of_both(in_reserve)
        .for_two(1, |ram, _, progress| {
            own_scores(
                [ram.bcd(&[0x89, 0x8a]) * 100, ram.bcd(&[0x8b, 0x8c]) * 100],
                progress,
            );
            own_lives([0x87, 0x88].map(|address| ram.at(address) - 1), progress);
            progress.over = progress.lives < 0 && progress.second.lives < 0;
        }),
    pal("maze_craze", "ed2218b3075d15eaa34e3356025ccca3", Flat)
        .modes(&modes_from::<64>(0), select(2, 0xbd))
        .for_two(0, maze_craze),
    game("othello", "113cd09c9771ac278544b7e90efe7df2", Flat)
        .modes(&[4], select(2, 0xde))
        .difficulties(&[0, 2])
        .actions(EIGHT_WAYS_OR_FIRE)
        .for_two(1, othello),
    game("pong", "60e0ea3cbe0913d39803477945e9e5ec", Flat)
        .controller(paddles(1, Some(PADDLE_MIDDLE)))
        .modes(
            &[
                3, 4, 9, 10, 13, 14, 19, 20, 23, 24, 25, 26, 27, 28, 35, 36, 39, 40, 43, 44, 45, 46,
            ],
            select_as(2, 0x96, |mode| mode - 1),
        )
        .default_mode(4)
        .difficulties(&[0, 1, 2, 3])
        .actions(SIDEWAYS_WITH_FIRE)
        .for_two(1, |ram, _, progress| {
            zero_sum(ram.at(0x8e) - ram.at(0x8d), progress);
            let serves = ram.at(0x8c) & 0xf0 == 0;
            punish_waiting(
                serves.then(|| usize::from(ram.at(0x92) == 0)),
                120,
                progress,
            );
            progress.over = ram.at(0x8d) == 21 || ram.at(0x8e) == 21;
        }),
    game("space_invaders", "72ffbef6504b75e69ee1045af9075f66", Flat)
        .modes(&modes_from::<32>(33), select_as(2, 0xdc, |mode| mode - 1))
        .default_mode(34)
        .difficulties(&[0, 1])
        .actions(SIDEWAYS_WITH_FIRE)
        .lives_of_each(2)
        .lives_of_both(|[shared, _]| shared + 1)
        .for_two(1, |ram, _, progress| {
            own_scores([ram.bcd(&[0xe6, 0xe8]), ram.bcd(&[0xe7, 0xe9])], progress);
            for reward in [&mut progress.reward, &mut progress.second.reward] {
                // The counter of four digits begins anew.
                *reward += if *reward < 0 { 10_000 } else { 0 };
            }
            own_lives([ram.at(0xc9) - 1; 2], progress);
            progress.over = ram.at(0x98) & 0x80 != 0 || ram.at(0xc9) == 0;
        }),
    pal("space_war", "b702641d698c60bcdc922dbd8c9dd49c", Flat)
        .modes(&[1, 2, 3, 4, 5], select_as(2, 0xa7, to_bcd))
        .for_two(6, |ram, _, progress| {
            let [first, second] = [0xa7, 0xa8].map(|address| ram.bcd(&[address]));
            zero_sum(first - second, progress);
            progress.over = ram.at(0x80) == 0 || first == 10 || second == 10;
        }),
    game("surround", "4d7517ae69f95cfbc053be01312b7dba", Flat)
        .controller(Controller::RightJoystick)
        .modes(
            &[1, 5, 6, 7, 8, 9, 10, 11, 12],
            select_as(2, 0xf9, |mode| mode - 1),
        )
        .difficulties(&[0, 1, 2, 3])
        .actions(FOUR_WAYS)
        .for_two(2, |ram, _, progress| {
            let [first, second] = [0xf7, 0xf6].map(|address| ram.bcd(&[address]));
            zero_sum(first - second, progress);
            progress.over = first == 10 || second == 10;
        }),
    game("tennis", "42cdd6a9e42a3639e190722b8ea3fc51", Flat)
        .modes(&[2, 4], select_as(2, 0x80, |mode| mode - 1))
        .difficulties(&[0, 1, 2, 3])
        .for_two(1, |ram, _, progress| {
            let games = progress.memory[1];
            progress.reward = tennis(ram, progress);
            progress.second.reward = -progress.reward;
            // Who serves changes with each game.
            let [server, waited] = &mut progress.second.memory;
            *server ^= i32::from(progress.memory[1] != games);
            let serves = ram.at(0xcc) != 0;
            *waited = if serves { *waited + 1 } else { 1 };
            if *waited == 180 {
                *waited = 0;
                let server = (*server & 1) as usize; // of a state, any number
                punish(server, progress);
            }
            progress.over = tennis_is_over(ram.at(0xc7), ram.at(0xc8));
        }),
    game("video_checkers", "539d26b6e9df0da8e7465f0f5ad863b7", Flat)
        .modes(&[10], select_as(1, 0xf6, to_bcd))
        .actions(DIAGONALS_OR_FIRE)
        .for_two(1, video_checkers),
    game("warlords", "cbe5a166550a8129a5e6d374901dffad", Flat)
        .controller(paddles(0, Some(PADDLE_MIDDLE)))
        .modes(
            &[3, 5, 8, 10, 13, 15, 18, 20, 23],
            select_as(1, 0xd9, |mode| mode - 1),
        )
        .actions(SIDEWAYS_WITH_FIRE)
        .for_two(4, warlords),
    game("wizard_of_wor", "7e8aa18bc9502eb57daaf5e7c1e94da7", Flat)
        .controller(Controller::RightJoystick)
        .modes(&[1], select(1, 0x81))
        .difficulties(&[0, 1])
        .actions(&[
            Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ])
        .lives_of_each(2)
        .lives_of_both(in_reserve)
        .for_two(0, |ram, _, progress| {
            own_scores(
                [[0x88, 0x86], [0x87, 0x85]].map(|digits| wizard_of_wor_score(ram, digits)),
                progress,
            );
            let left = [0x8d, 0x8c].map(|address| ram.at(address) & 15);
            // A worrior lost counts once the next has left the cage.
            if ram.at(0xd7) & 1 == 0 {
                progress.lives = left[0] - 1;
            }
            if ram.at(0xd6) & 1 == 0 {
                progress.second.lives = left[1] - 1;
            }
            progress.over = left == [0; 2] && ram.at(0xf4) == 0xf8;
        }),
];
