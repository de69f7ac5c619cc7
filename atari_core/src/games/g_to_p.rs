//! The games from G to P.

use super::actions::{
    EIGHT_WAYS, EIGHT_WAYS_OR_FIRE, FOUR_WAYS, FOUR_WAYS_OR_FIRE, FOUR_WAYS_WITH_FIRE,
    SIDEWAYS_OR_FIRE, SIDEWAYS_WITH_FIRE, UP_DOWN_WITH_FIRE, all_but,
};
use super::game::{Game, game, paddles, pal};
use super::rules::Reward::{AtMostOne, Told, Wraps};
use super::select::{Select, Switch, select, select_as, select_if, switch};
use super::special::{hangman_lives, hangman_over, haunted_house, klax_is_over, klax_score};
use crate::action::Action::{
    Down, DownFire, DownLeftFire, DownRightFire, Fire, Left, LeftFire, Noop, Right, RightFire, Up,
    UpFire, UpLeft, UpLeftFire, UpRight, UpRightFire,
};
use crate::mapper::Mapper::{Dpc, E0, F6Ram, F8, Flat};

pub(super) static GAMES: &[Game] = &[
    game("galaxian", "211774f4c5739042618be8ff67351177", F8)
        .modes(&[1, 2, 3, 4, 5, 6, 7, 8, 9], select(1, 0xb3))
        .difficulties(&[0, 1])
        .actions(SIDEWAYS_WITH_FIRE)
        .reward(Wraps(|ram| ram.bcd(&[0xac, 0xad, 0xae]), 1_000_000))
        .lives(4, |ram, _| ram.at(0xb9) + 1)
        .over(|ram, _| ram.at(0xbf) & 0x80 != 0),
    game("gopher", "c16c79aad6272baffb8aae9a7fff0864", Flat)
        .modes(
            &[0, 2],
            Select::Switch(Switch {
                reset_frames: 8,
                ..switch(5, 0xd3)
            }),
        )
        .difficulties(&[0, 1])
        .start(&[(Fire, 1)])
        .actions(&[Noop, Fire, Up, Right, Left, UpFire, RightFire, LeftFire])
        .score(|ram| ram.bcd(&[0xb0, 0xb1, 0xb2]))
        .lives(3, |ram, _| (ram.at(0xb4) & 7).count_ones().cast_signed())
        .over(|ram, _| ram.at(0xb4) & 7 == 0),
    game("gravitar", "8ac18076d01a6b63acf6e2cab4968940", F8)
        .modes(&[0, 1, 2, 3, 4], select(10, 0x80))
        .start(&[(Fire, 16)])
        .score(|ram| ram.bcd(&[0x87, 0x88, 0x89]))
        .lives(6, |ram, _| {
            if ram.at(0x81) == 0 {
                6
            } else {
                ram.at(0x84) + 1
            }
        })
        .over(|ram, _| ram.at(0x81) == 1),
    game("hangman", "f16c709df0a6c52f47ff52b9d95b7d8d", Flat)
        .modes(&[0, 1, 2, 3], select(2, 0xee))
        .difficulties(&[0, 1])
        .score(|ram| ram.bcd(&[0xeb]) - ram.bcd(&[0xec]))
        .lives(1, hangman_lives)
        .over(hangman_over),
    game("haunted_house", "f0a6e99f5875891246c3dbecbf2d2cea", Flat)
        .modes(&[0, 1, 2, 3, 4, 5, 6, 7, 8], select(2, 0xcc))
        .difficulties(&[0, 1])
        .reward(Told(haunted_house))
        .lives(9, |ram, _| ram.at(0x96))
        .over(|ram, _| ram.at(0x96) == 0 || ram.at(0x99) == 0x44),
    game("hero", "fca4a5be1251927027f2c24774a02160", F8)
        .modes(&[0, 1, 2, 3, 4], select(1, 0x80))
        .score(|ram| ram.bcd(&[0xb7, 0xb8, 0xb9]))
        .lives(4, |ram, _| ram.at(0xb3)),
    game("human_cannonball", "7972e5101fa548b952d852db24ad6060", Flat)
        .modes(
            &[0, 1, 2, 3, 4, 5, 6, 7],
            select_if(2, |ram, mode| ram.at(0xb6) == mode + 1 && ram.at(0xb7) == 1),
        )
        .difficulties(&[0, 1])
        .score(|ram| ram.bcd(&[0xb6]))
        .one_life()
        .over(|ram, _| ram.at(0xb6) == 7 || ram.at(0xb7) == 7),
    game("ice_hockey", "a4c08c4994eb9d24fb78be1793e82e26", Flat)
        .modes(&[0, 2], select(2, 0x80))
        .difficulties(&[0, 1, 2, 3])
        .reward(AtMostOne(|ram| ram.bcd(&[0x8a]) - ram.bcd(&[0x8b])))
        .over(|ram, _| ram.at(0x86) == 0 && ram.at(0x87) == 0),
    game("jamesbond", "e51030251e440cffaab1ac63438b44ae", E0)
        .modes(
            &[0, 1],
            select_if(20, |ram, mode| {
                ram.at(0x8c) == mode || ram.at(0x8c) == mode + 0x48
            }),
        )
        .score(|ram| ram.bcd(&[0xde, 0xdd, 0xdc]))
        .lives(6, |ram, _| (ram.at(0x86) & 15) + 1)
        .over(|ram, _| ram.at(0x8c) == 0x68 && ram.at(0x86) & 15 == 0),
    game("journey_escape", "718ae62c70af4e5fd8e932fee216948a", Flat)
        .picture(34, 230)
        .difficulties(&[0, 1])
        .start(&[(Fire, 1)])
        .actions(&all_but::<16>(&[Fire, UpFire]))
        .first_score(50000)
        .score(|ram| ram.bcd(&[0x90, 0x91, 0x92]))
        .over(|ram, _| ram.at(0x95) == 0 && ram.at(0x96) == 0),
    game("kaboom", "5428cdfada281c569c74c7308c7f2c26", Flat)
        .controller(paddles(0, None))
        .start(&[(Fire, 1)])
        .actions(SIDEWAYS_OR_FIRE)
        .score(|ram| ram.bcd(&[0xa3, 0xa4, 0xa5]))
        .one_life()
        .over(|ram, _| ram.at(0xa1) == 0),
    game("kangaroo", "4326edb70ff20d0ee5ba58fa5cb09d60", F8)
        .modes(
            &[0, 1],
            select_if(2, |ram, mode| ram.at(0xba) & 0x7f == mode),
        )
        .score(|ram| ram.bcd(&[0xa7, 0xa8]) * 100)
        .lives(3, |ram, _| (ram.at(0xad) & 7) + 1)
        .over(|ram, _| ram.at(0xad) == 0xff),
    pal("keystone_kapers", "6c1f3f2e359dbf55df462ccbcdd2f6bf", Flat)
        .reset_frames(9)
        .actions(&all_but::<14>(&[
            UpRightFire,
            UpLeftFire,
            DownRightFire,
            DownLeftFire,
        ]))
        .score(|ram| ram.bcd(&[0x9b, 0x9c]))
        .lives(3, |ram, _| ram.at(0x96))
        .over(|ram, _| ram.at(0x96) == 0 && ram.at(0x88) == 0),
    pal("king_kong", "0dd4c69b5f9a7ae96a7a08329496779a", Flat)
        .modes(&[0, 1, 2, 3], select_as(2, 0xec, |mode| 2 * mode))
        .actions(FOUR_WAYS_OR_FIRE)
        .score(|ram| ram.bcd(&[0x82, 0x83]))
        .lives(3, |ram, _| ram.at(0xee)),
    pal("klax", "eed9eaf1a0b6a2b9bc4c8032cb43e3fb", F6Ram)
        .modes(
            &[0, 1, 2],
            select_if(2, |ram, mode| ram.in_cartridge(0xea) == mode),
        )
        .start(&[(Fire, 1), (Noop, 1)])
        .score(klax_score)
        .one_life()
        .over(klax_is_over),
    game("koolaid", "534e23210dd1993c828d944c6ac4d9fb", Flat)
        .actions(EIGHT_WAYS)
        .score(|ram| ram.bcd(&[0x80, 0x81]) * 100)
        .over(|ram, _| ram.at(0xd1) == 0x80),
    game("krull", "4baada22435320d185c95b7dd2bcdb24", F8)
        .score(|ram| ram.bcd(&[0x9c, 0x9d, 0x9e]))
        .lives(3, |ram, _| (ram.at(0x9f) & 7) + 1)
        .over(|ram, _| ram.at(0x80) == 0x80 && ram.at(0x9f) == 0 && ram.at(0xa2) == 3),
    game("kung_fu_master", "5b92a93b23523ff16e2789b820e2a4c5", F8)
        .actions(&all_but::<14>(&[Fire, UpRight, UpLeft, UpFire]))
        .score(|ram| ram.bcd(&[0x98, 0x99, 0x9a]))
        .lives(4, |ram, _| (ram.at(0x9d) & 7) + 1)
        .over(|ram, _| ram.at(0x9d) == 0xff),
    pal("laser_gates", "8e4cd60d93fcde8065c1a2b972a26377", Flat)
        .reset_frames(9)
        .score(|ram| ram.bcd(&[0x80, 0x81, 0x82]))
        .over(|ram, _| ram.at(0x83) == 0),
    game("lost_luggage", "2d76c5d1aad506442b9e9fb67765e051", Flat)
        .no_button(true)
        .modes(&[0, 1], select_as(2, 0x94, |mode| 3 * mode + 1))
        .difficulties(&[0, 1])
        .start(&[(Fire, 1)])
        .actions(EIGHT_WAYS)
        .score(|ram| ram.bcd(&[0x94, 0x95, 0x96]))
        .lives(3, |ram, _| ram.at(0xca))
        .over(|ram, _| {
            ram.at(0xca) == 0 && ram.at(0xc8) == 10 && ram.at(0xa9) == 0 && ram.at(0xa5) == 0
        }),
    game("mario_bros", "e908611d99890733be31733a979c62d8", F8)
        .modes(&[0, 2, 4, 6], select(5, 0x80))
        .start(&[(Noop, 10), (Fire, 7)])
        .score(|ram| ram.bcd(&[0x89, 0x8a]) * 100)
        .lives(5, |ram, _| ram.at(0x87)),
    game("miniature_golf", "df62a658496ac98a3aa4a6ee5719c251", Flat)
        .difficulties(&[0, 1])
        .over(|_, _| false)
        .unproved("its score, lives and end are not known"),
    game("montezuma_revenge", "3347a6dd59049b15a38394aa2dafa585", E0)
        .score(|ram| ram.bcd(&[0x93, 0x94, 0x95]))
        .lives(6, |ram, _| (ram.at(0xba) & 7) + 1)
        .over(|ram, _| ram.at(0xba) == 0 && ram.at(0xfe) == 0x60),
    pal("mr_do", "aa7bb54d2c189a31bb1fa20099e42859", F8)
        .modes(&[0, 1, 2, 3], select(5, 0x80))
        .start(&[(Fire, 1)])
        .actions(FOUR_WAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0x83, 0x82]) * 10)
        .lives(4, |ram, _| ram.at(0xdb))
        .over(|ram, _| ram.at(0xda) == 0x40),
    game("ms_pacman", "87e79cd41ce136fd4f72cc6e2c161bee", F8)
        .no_comb(true)
        .modes(
            &[0, 1, 2, 3],
            select_if(10, |ram, mode| {
                ram.at(0x99) == mode.max(1) && ram.at(0xa1) == i32::from(mode == 0)
            }),
        )
        .actions(EIGHT_WAYS)
        .score(|ram| ram.bcd(&[0xfa, 0xf9, 0xf8]))
        .lives(3, |ram, _| (ram.at(0xfb) & 7) + 1)
        .over(|ram, _| ram.at(0xa7) == 0x53 && ram.at(0xfb) & 15 == 0),
    game("name_this_game", "36306070f0c90a72461551a7a4f3a209", Flat)
        .modes(&[8, 24, 40], select(2, 0xde))
        .difficulties(&[0, 1])
        .actions(SIDEWAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0xc4, 0xc5, 0xc6]))
        .lives(3, |ram, _| ram.at(0xc7) & 7),
    game("othello", "113cd09c9771ac278544b7e90efe7df2", Flat)
        .modes(&[0, 1, 2], select_as(2, 0xde, |mode| mode + 1))
        .difficulties(&[0, 2])
        .actions(EIGHT_WAYS_OR_FIRE)
        .score(|ram| ram.bcd(&[0xce]) - ram.bcd(&[0xd0]))
        .one_life()
        .over(|_, _| false),
    pal("pacman", "fc2233fc116faef0d3c31541717ca2db", Flat)
        .modes(
            &[0, 1, 2, 3, 4, 5, 6, 7],
            select_if(2, |ram, mode| ram.at(0xcc) == mode + 1 && ram.at(0xe6) == 0),
        )
        .difficulties(&[0, 1])
        .actions(FOUR_WAYS)
        .score(|ram| ram.bcd(&[0xd0, 0xce, 0xcc]))
        .lives(4, |ram, _| ram.at(0x98) + 1)
        .over(|ram, _| ram.at(0x98) == 0 && ram.at(0xe4) == 0x3f),
    game("phoenix", "7e52a95074a66640fcfde124fffd491a", F8)
        .actions(&[Noop, Fire, Right, Left, Down, RightFire, LeftFire, DownFire])
        .score(|ram| ram.bcd(&[0xc9, 0xc8]) * 100 + (ram.at(0xc7) >> 4) * 10)
        .lives(5, |ram, _| ram.at(0xcb) & 7)
        .over(|ram, _| ram.at(0xcc) == 0x80),
    game("pitfall", "3e90cf23106f2e08b2781e41299de556", Flat)
        .start(&[(Up, 1)])
        .first_score(2000)
        .score(|ram| ram.bcd(&[0xd5, 0xd6, 0xd7]))
        .lives(3, |ram, _| match ram.at(0x80) >> 4 {
            0xa => 3,
            0x8 => 2,
            _ => 1,
        })
        .over(|ram, _| ram.at(0x9e) != 0 && ram.at(0x80) >> 4 == 0),
    game("pitfall2", "6d842c96d5a01967be9680080dd5be54", Dpc)
        .start(&[(Up, 1)])
        .first_score(4000)
        .score(|ram| ram.bcd(&[0xc7, 0xc8, 0xc9]))
        .one_life()
        .over(|_, _| false),
    game("pong", "60e0ea3cbe0913d39803477945e9e5ec", Flat)
        .controller(paddles(1, Some(0)))
        .modes(&[0, 1], select(2, 0x96))
        .difficulties(&[0, 1, 2, 3])
        .actions(SIDEWAYS_WITH_FIRE)
        .score(|ram| ram.at(0x8e) - ram.at(0x8d))
        .over(|ram, _| ram.at(0x8d) == 21 || ram.at(0x8e) == 21),
    game("pooyan", "4799a40b6e889370b7ee55c17ba65141", Flat)
        .picture(26, 220)
        .modes(
            &[10, 30, 50, 70],
            Select::Switch(Switch {
                first_press: 2,
                ..switch(2, 0xbd)
            }),
        )
        .actions(UP_DOWN_WITH_FIRE)
        .score(|ram| ram.bcd(&[0x88, 0x89, 0x8a]))
        .lives(3, |ram, _| (ram.at(0x96) & 7) + 1)
        .over(|ram, _| ram.at(0x98) == 5 && ram.at(0x96) == 0),
    game("private_eye", "ef3a4f64b6494ba770862768caf04b86", F8)
        .modes(&[0, 1, 2, 3, 4], select(2, 0x80))
        .difficulties(&[0, 1, 2, 3])
        .start(&[(Up, 1)])
        .first_score(1000)
        .score(|ram| ram.bcd(&[0xc8, 0xc9, 0xca]))
        .over(|ram, _| ram.at(0xc2) > 1),
];
