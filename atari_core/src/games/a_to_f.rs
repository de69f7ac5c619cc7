//! The games from A to F.

use super::actions::{
    EIGHT_WAYS, FOUR_WAYS, FOUR_WAYS_OR_FIRE, FOUR_WAYS_WITH_FIRE, SIDEWAYS_OR_FIRE,
    SIDEWAYS_WITH_FIRE, UP_DOWN_OR_FIRE, UP_DOWN_WITH_FIRE, all_but,
};
use super::game::{Game, game, paddles, paddles_to, pal};
use super::ram::{digit, signed};
use super::rules::Reward::{Gains, Quest, Rises, Told, UntilOver, Wraps};
use super::select::{Held, Select, Shown, Switch, modes_from, select, select_as, switch};
use super::special::{
    beam_rider_lives, blackjack_chips, blackjack_is_broke, boxing_points, casino, casino_is_over,
    dark_chambers, dark_chambers_is_over, demon_attack_score, enduro_cars,
};
use crate::action::Action::{
    Down, DownLeft, DownLeftFire, DownRight, DownRightFire, Fire, Left, LeftFire, Noop, Right,
    RightFire, Up, UpFire, UpLeft, UpRight,
};
use crate::input::{BLACKJACK_PADDLE_MAX, LONGEST_PADDLE_MAX};
use crate::mapper::Mapper::{F6, F6Ram, F8, F8Ram, Flat};

pub(super) static GAMES: &[Game] = &[
    pal("adventure", "4b27f5397c442d25f0c418ccdacf1926", Flat)
        .modes(
            &[0, 1, 2],
            Select::Switch(Switch {
                held: Held::Random,
                shows: Shown::If(|ram, mode| ram.at(0xdd) >> 1 & 3 == mode),
                ..switch(0, 0)
            }),
        )
        .difficulties(&[0, 1, 2, 3])
        .reward(Quest(|ram| ram.at(0xb9) == 0x12))
        .one_life()
        .over(|ram, _| ram.at(0xe0) == 2 || ram.at(0xb9) == 0x12),
    pal("air_raid", "35be55426c1fec32dfb503b4f0651572", Flat)
        .modes(
            &[1, 2, 3, 4, 5, 6, 7, 8],
            Select::Switch(Switch {
                first_press: 20,
                ..switch(10, 0xaa)
            }),
        )
        .start(&[(Fire, 1)])
        .actions(SIDEWAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0xa8, 0xa9, 0xaa]))
        .one_life()
        .over(|ram, _| ram.at(0xa7) == 0xff),
    game("alien", "f1a0a23e6464d954e3a9579c4ccd01c8", Flat)
        .modes(&[0, 1, 2, 3], select(1, 0x81))
        .difficulties(&[0, 1, 2, 3])
        .score(|ram| ram.shapes(&[0x83, 0x85, 0x87, 0x89, 0x8b]) * 10)
        .lives(3, |ram, _| ram.at(0xc0) & 15),
    game("amidar", "acb7750b4d0c4bd34969802a7deb2990", Flat)
        .difficulties(&[0, 3])
        .actions(FOUR_WAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0xdb, 0xda, 0xd9]))
        .lives(0, |ram, _| ram.at(0xd6) & 15)
        .over(|ram, _| ram.at(0xd6) == 0x80),
    game("assault", "de78b3a064d374390ac0710f95edde92", Flat)
        .actions(&[Noop, Fire, Up, Right, Left, RightFire, LeftFire])
        .score(|ram| ram.bcd(&[0x80, 0x81, 0x82]))
        .lives(4, |ram, _| ram.at(0xe5)),
    game("asterix", "89a68746eff7f266bbf08de2483abe55", F8)
        .start(&[(Fire, 1)])
        .actions(EIGHT_WAYS)
        .score(|ram| ram.bcd(&[0xde, 0xdf, 0xe0]))
        .lives(3, |ram, _| ram.at(0xd3) & 15)
        .over(|ram, _| ram.at(0xc7) == 1 && ram.at(0xd3) & 15 == 1),
    game("asteroids", "ccbd36746ed4525821a8083b0d6d2c2c", F8)
        .no_comb(true)
        .modes(
            &[
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                23, 24, 25, 26, 27, 28, 29, 30, 31, 128,
            ],
            select(2, 0x80),
        )
        .difficulties(&[0, 3])
        .actions(&all_but::<14>(&[
            DownRight,
            DownLeft,
            DownRightFire,
            DownLeftFire,
        ]))
        .reward(Wraps(|ram| ram.bcd(&[0xbd, 0xbe]) * 10, 100_000))
        .lives(4, |ram, _| ram.at(0xbc) >> 4),
    game("atlantis", "9ad36e699ef6f45d9eb6c4cf90475c9f", Flat)
        .modes(&[0, 1, 2, 3], select(2, 0x8d))
        .actions(&[Noop, Fire, RightFire, LeftFire])
        .reward(UntilOver(|ram| ram.bcd(&[0xa1, 0xa3, 0xa2]) * 100))
        .lives(6, |ram, _| ram.at(0xf1))
        .over(|ram, _| ram.at(0xf1) == 0xff),
    game("atlantis2", "826481f6fc53ea47c9f272f7050eedf7", Flat)
        .actions(&[Noop, Fire, RightFire, LeftFire])
        .reward(UntilOver(|ram| ram.bcd(&[0xa3, 0xa2, 0xa1])))
        .lives(6, |ram, _| ram.at(0xf1))
        .over(|ram, _| ram.at(0xf1) == 0xff),
    game("backgammon", "8556b42aa05f94bc29ff39c39b11bff4", Flat)
        .controller(paddles_to(LONGEST_PADDLE_MAX))
        .modes(&[0], select_as(1, 0xdc, |_| 3))
        .difficulties(&[0, 3])
        .actions(&[Fire, Right, Left])
        .over(|_, _| false)
        .unproved("how its reward follows from RAM"),
    game("bank_heist", "00ce0bdd43aed84a983bef38fe7f5ee3", Flat)
        .modes(&[0, 4, 8, 12, 16, 20, 24, 28], select(1, 0x80))
        .difficulties(&[0, 1, 2, 3])
        .score(|ram| ram.bcd(&[0xd8, 0xd9, 0xda]))
        .lives(4, |ram, _| ram.at(0xd5))
        .over(|ram, _| ram.at(0xce) == 1 && ram.at(0xd5) == 0),
    game("basic_math", "819aeeb9a2e11deb54e6de334f843894", Flat)
        .modes(&[5, 6, 7, 8], select(2, 0xc5))
        .difficulties(&[0, 2, 3])
        .actions(FOUR_WAYS_OR_FIRE)
        .score(|ram| ram.bcd(&[0x84]))
        .one_life()
        .over(|ram, _| ram.at(0x86) != 0),
    game("battle_zone", "41f252a66c6301f1e8ab3612c19bc5d4", F8)
        .no_comb(true)
        .modes(&[1, 2, 3], select(2, 0xa1))
        .score(|ram| {
            digit(ram.at(0x9d) >> 4) * 1_000
                + digit(ram.at(0x9e) & 15) * 10_000
                + digit(ram.at(0x9e) >> 4) * 100_000
        })
        .lives(5, |ram, _| ram.at(0xba) & 15),
    game("beam_rider", "79ab4123a83dc11d468fb2108ea09e2e", F8)
        .difficulties(&[0, 1])
        .start(&[(Right, 1)])
        .actions(&[
            Noop, Fire, Up, Right, Left, UpRight, UpLeft, RightFire, LeftFire,
        ])
        .score(|ram| ram.bcd(&[0x8b, 0x8a, 0x89]))
        .lives(3, beam_rider_lives)
        .over(|ram, _| ram.at(0x85) == 0xff),
    game("berzerk", "136f75c4dd02c29283752b7e5799f978", Flat)
        .modes(
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18],
            Select::Switch(Switch {
                idle_frames: 20,
                ..switch(2, 0x80)
            }),
        )
        .score(|ram| ram.bcd(&[0xdd, 0xde, 0xdf]))
        .lives(3, |ram, _| ram.at(0xda) + 1)
        .over(|ram, _| ram.at(0xda) == 0xff),
    game("blackjack", "0a981c03204ac2b278ba392674682560", Flat)
        .controller(paddles_to(BLACKJACK_PADDLE_MAX))
        .difficulties(&[0, 1, 2, 3])
        .actions(UP_DOWN_OR_FIRE)
        .first_score(200)
        .score(blackjack_chips)
        .one_life()
        .over(|ram, _| blackjack_chips(ram) >= 1000 || blackjack_is_broke(ram)),
    game("bowling", "c9b7afad3bfd922e006a6bfc1d4f3fe7", Flat)
        .modes(&[0, 2, 4], select(2, 0x82))
        .difficulties(&[0, 1])
        .actions(UP_DOWN_WITH_FIRE)
        .score(|ram| ram.bcd(&[0xa6, 0xa1]))
        .over(|ram, _| ram.at(0xa4) > 0x10),
    game("boxing", "c3ef5c4653212088eda54dc91d787870", Flat)
        .difficulties(&[0, 1, 2, 3])
        .score(|ram| boxing_points(ram.at(0x92)) - boxing_points(ram.at(0x93)))
        .over(|ram, _| {
            boxing_points(ram.at(0x92)) == 100
                || boxing_points(ram.at(0x93)) == 100
                || ram.at(0x90) >> 4 == 0 && ram.at(0x91) == 0
        }),
    game("breakout", "f34f08e5eb96e500e851a80be3277a56", Flat)
        .controller(paddles(0, None))
        .modes(
            &[0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44],
            select(1, 0xb2),
        )
        .difficulties(&[0, 1])
        .actions(SIDEWAYS_OR_FIRE)
        .score(|ram| (ram.at(0xcc) & 15) * 100 + ram.bcd(&[0xcd]))
        .lives(5, |ram, _| ram.at(0xb9)),
    game("carnival", "028024fb8e5e5f18ea586652f9799c96", Flat)
        .picture(26, 214)
        .actions(SIDEWAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0xad, 0xae]) * 10)
        .over(|ram, _| ram.at(0x83) == 0),
    game("casino", "b816296311019ab69a21cb9e9e235d12", Flat)
        .controller(paddles(0, None))
        .modes(&[0, 2, 3], select(2, 0xd4))
        .difficulties(&[0, 1, 2, 3])
        .start(&[(Noop, 60), (Fire, 2)])
        .actions(UP_DOWN_OR_FIRE)
        .first_score(1000)
        .reward(Told(casino))
        .one_life()
        .over(casino_is_over),
    game("centipede", "91c2098e88a6b13f977af8c003e0bca5", F8)
        .modes(&[22, 86], select(2, 0xa7))
        .reward(Gains(|ram| ram.bcd(&[0xf4, 0xf5, 0xf6])))
        .lives(3, |ram, _| (ram.at(0xed) >> 4 & 7) + 1)
        .over(|ram, _| ram.at(0xa6) & 0x40 != 0),
    game("chopper_command", "c1cb228470a87beb5f36e90ac745da26", Flat)
        .modes(&[0, 2], select(2, 0xe0))
        .difficulties(&[0, 1])
        .score(|ram| ram.bcd(&[0xec, 0xee]) * 100)
        .lives(3, |ram, _| ram.at(0xe4) & 15),
    game("crazy_climber", "55ef7b65066428367844342ed59f956c", F8)
        .modes(&[0, 1, 2, 3], select(2, 0x80))
        .difficulties(&[0, 1])
        .actions(EIGHT_WAYS)
        .reward(Gains(|ram| {
            ram.at(0x82) * 100
                + ram.at(0x83) * 1_000
                + ram.at(0x84) * 10_000
                + ram.at(0x85) * 100_000
        }))
        .lives(5, |ram, _| ram.at(0xaa)),
    game("crossbow", "8cd26dcf249456fe4aeb8db42d49df74", F6)
        .modes(&[0, 2, 4, 6], select_as(2, 0x8d, |mode| mode + 1))
        .difficulties(&[0, 1])
        .score(|ram| ram.bcd(&[0x8b, 0x8c, 0x8d]))
        .one_life()
        .over(|ram, _| ram.at(0xe7) == 0x82),
    game("darkchambers", "106855474c69d08c8ffa308d47337269", F6Ram)
        .no_comb(true)
        .start(&[(Noop, 486)])
        .reward(Told(dark_chambers))
        .one_life()
        .over(dark_chambers_is_over),
    game("defender", "0f643c34e40e3f1daafd9c524d3ffe64", Flat)
        .modes(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 16], select(2, 0x9b))
        .difficulties(&[0, 1])
        .score(|ram| ram.digits(&[0xa1, 0xa0, 0x9f, 0x9e, 0x9d, 0x9c]))
        .lives(3, |ram, _| ram.at(0xc2)),
    game("demon_attack", "f0e0addc07971561ab80d9abe1b8d333", Flat)
        .modes(&[1, 3, 5, 7], select(1, 0xea))
        .difficulties(&[0, 1])
        .actions(SIDEWAYS_WITH_FIRE)
        .score(demon_attack_score)
        .lives(1, |ram, _| ram.at(0xf2) + 1)
        .over(|ram, _| ram.at(0xf1) == 0xbd && ram.at(0xf2) == 0),
    game("donkey_kong", "36b20c427975760cb9cf4a47e41369e4", Flat)
        .score(|ram| ram.bcd(&[0x87, 0x88]) * 100)
        .lives(2, |ram, _| ram.at(0xa3))
        .over(|ram, _| ram.at(0xa3) == 0 && ram.at(0x8b) == 0x1f && ram.at(0x8f) == 3),
    game("double_dunk", "368d88a6c071caba60b4f778615aae94", F6)
        .modes(
            &modes_from::<16>(0),
            Select::Menu {
                row: 0xb0,
                byte: 0x80,
                options: &[(2, 1, 0x08), (3, 2, 0x10), (4, 4, 0x04), (5, 8, 0x20)],
                then: Some(UpFire),
            },
        )
        .reset_frames(4)
        .start(&[(UpFire, 1)])
        .score(|ram| ram.bcd(&[0xf6]) - ram.bcd(&[0xf7]))
        .over(|ram, _| ram.at(0xfe) == 0xe7 && (ram.bcd(&[0xf6]) >= 24 || ram.bcd(&[0xf7]) >= 24)),
    game("earthworld", "5aea9974b975a6a844e6df10d2b861c4", F8)
        .score(|ram| ram.bcd(&[0xa7]))
        .one_life()
        .over(|ram, _| ram.bcd(&[0xa7]) == 10),
    game("elevator_action", "71f8bacfbdca019113f3f0801849057e", F8Ram)
        .start(&[(Fire, 16)])
        .score(|ram| ram.bcd(&[0x87, 0x88, 0x89]))
        .lives(4, |ram, _| ram.at(0x83))
        .over(|ram, _| ram.at(0x83) == 0 && ram.at(0x81) != 0),
    game("enduro", "94b92a882f6dbaa6993a46e2dcc58402", Flat)
        .start(&[(Fire, 1)])
        .actions(&[
            Noop, Fire, Right, Left, Down, DownRight, DownLeft, RightFire, LeftFire,
        ])
        .score(enduro_cars)
        .over(|ram, _| ram.at(0xaf) == 0xff),
    game("entombed", "6b683be69f92958abe0e2a9945157ad5", Flat)
        .difficulties(&[0, 2])
        .start(&[(Fire, 1), (Noop, 5)])
        .score(|ram| ram.at(0xe3))
        .one_life()
        .over(|ram, _| ram.at(0xc7) & 3 == 0),
    game("et", "615a3bf251a38eb6638cdc7ffbde5480", F8)
        .modes(&[0, 1, 2], select_as(25, 0xea, |mode| mode + 1))
        .difficulties(&[0, 1, 2, 3])
        .score(|ram| ram.bcd(&[0xdf, 0xe0, 0xe1]))
        .lives(3, |ram, _| signed((ram.at(0xe5) + 1) & 0xff))
        .over(|_, _| false),
    game("fishing_derby", "b8865f05676e64f3bec72b9defdacfa7", Flat)
        .difficulties(&[0, 1, 2, 3])
        .score(|ram| ram.bcd(&[0xbd]) - ram.bcd(&[0xbe]))
        .over(|ram, _| ram.at(0xbd) == 0x99 || ram.at(0xbe) == 0x99),
    game("flag_capture", "30512e0e83903fc05541d2f6a6a62654", Flat)
        .modes(&[8, 9, 10], select(2, 0xd6))
        .score(|ram| ram.bcd(&[0xea]))
        .one_life()
        .over(|ram, _| ram.at(0xeb) == 0),
    game("freeway", "8e0ab801b1705a740b476b7f588c6d16", Flat)
        .modes(&[0, 1, 2, 3, 4, 5, 6, 7], select(1, 0x80))
        .difficulties(&[0, 1])
        .actions(&[Noop, Up, Down])
        .reward(Rises(|ram| ram.bcd(&[0xe7])))
        .over(|ram, _| ram.at(0x96) == 1),
    game("frogger", "081e2c114c9c20b61acf25fc95c71bf4", Flat)
        .modes(&[0, 1, 2], select_as(2, 0xdd, |mode| 2 * mode + 1))
        .difficulties(&[0, 1])
        .actions(FOUR_WAYS)
        .score(|ram| ram.bcd(&[0xcc, 0xce]))
        .lives(4, |ram, _| ram.at(0xd0))
        .over(|ram, _| ram.at(0xd0) == 0xff),
    game("frostbite", "4ca73eb959299471788f0b685c3ba0b5", Flat)
        .modes(&[0, 2], select(1, 0x80))
        .score(|ram| ram.bcd(&[0xc8, 0xc9, 0xca]))
        .lives(4, |ram, _| (ram.at(0xcc) & 15) + 1)
        .over(|ram, _| ram.at(0xf1) & 0x80 != 0 && ram.at(0xcc) & 15 == 0),
];
