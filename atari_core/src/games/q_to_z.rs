//! The games from Q to Z.

use super::actions::{
    DIAGONALS_OR_FIRE, EIGHT_WAYS_OR_FIRE, FOUR_WAYS, FOUR_WAYS_OR_FIRE, FOUR_WAYS_WITH_FIRE,
    SIDEWAYS_WITH_FIRE, UP_DOWN_WITH_FIRE,
};
use super::game::{Game, game, pal};
use super::ram::to_bcd;
use super::rules::Reward::{Gains, Told, UntilOver, Wraps};
use super::select::{Select, Switch, modes_from, select, select_as, switch};
use super::special::{
    VIDEO_CUBE_MODES, checkers_result, qbert_lives, qbert_over, river_raid_lives, river_raid_over,
    river_raid_score, star_gunner_lives, tennis, tennis_is_over, tic_tac_toe_is_lost,
    time_pilot_lives, video_cube, video_cube_is_over, wizard_of_wor_lives, wizard_of_wor_score,
    word_zapper,
};
use crate::action::Action::{
    Down, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire, UpLeft,
    UpRight,
};
use crate::input::Controller;
use crate::mapper::Mapper::{E0, F6, F8, Fe, Flat};

pub(super) static GAMES: &[Game] = &[
    game("qbert", "484b0076816a104875e00467d431c2d2", Flat)
        .picture(40, 210)
        .difficulties(&[0, 1])
        .actions(FOUR_WAYS_OR_FIRE)
        .reward(UntilOver(|ram| ram.bcd(&[0xd9, 0xda, 0xdb])))
        .lives(4, qbert_lives)
        .over(qbert_over),
    game("riverraid", "393948436d1f4cc3192410bb918f9724", Flat)
        .difficulties(&[0, 1])
        .score(river_raid_score)
        .lives(4, river_raid_lives)
        .over(river_raid_over),
    game("road_runner", "ce5cc62608be2cd3ed8abd844efb8919", F6)
        .score(|ram| ram.digits(&[0xcc, 0xcb, 0xca, 0xc9]) * 100)
        .lives(3, |ram, _| (ram.at(0xc4) & 7) + 1)
        .over(|ram, _| (ram.at(0xb9) != 0 || ram.at(0xbd) != 0) && ram.at(0xc4) & 7 == 0),
    game("robotank", "4f618c2429138e0280969193ed6c107e", Fe)
        .score(|ram| ram.at(0xb5) + 12 * ram.at(0xb6))
        .lives(4, |ram, _| (ram.at(0xa8) & 15) + 1)
        .over(|ram, _| ram.at(0xb4) == 0xff && ram.at(0xa8) == 0),
    game("seaquest", "240bfbac5163af4df5ae713985386f92", Flat)
        .difficulties(&[0, 1])
        .score(|ram| ram.bcd(&[0xb8, 0xb9, 0xba]))
        .lives(4, |ram, _| ram.at(0xbb) + 1)
        .over(|ram, _| ram.at(0xa3) != 0),
    pal("sir_lancelot", "dd0cbe5351551a538414fb9e37fc56e8", F8)
        .reset_frames(9)
        .start(&[(Left, 1)])
        .actions(SIDEWAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0x9e, 0x9f, 0xa0]))
        .lives(3, |ram, _| ram.at(0xa9))
        .over(|ram, _| ram.at(0xa9) == 0 && ram.at(0xa7) == 0xa0),
    game("skiing", "b76fbadc8ffb1f83e2ca08b6fb4d6c9f", Flat)
        .no_button(true)
        .start(&[(Down, 16)])
        .actions(&[Noop, Right, Left])
        .score(|ram| -(ram.at(0xe8) * 6_000 + ram.bcd(&[0xe9, 0xea])))
        .over(|ram, _| ram.at(0x91) == 0xff),
    game("solaris", "e72eb8d4410152bdcb69e7fba327b420", F6)
        .score(|ram| ram.bcd(&[0xde, 0xdd, 0xdc]) * 10)
        .lives(3, |ram, _| ram.at(0xd9) & 15)
        .over(|ram, _| ram.at(0xd9) == 0),
    game("space_invaders", "72ffbef6504b75e69ee1045af9075f66", Flat)
        .modes(&modes_from::<16>(0), select(2, 0xdc))
        .difficulties(&[0, 1])
        .actions(SIDEWAYS_WITH_FIRE)
        .reward(Wraps(|ram| ram.bcd(&[0xe6, 0xe8]), 10_000))
        .lives(3, |ram, _| ram.at(0xc9))
        .over(|ram, _| ram.at(0x98) & 0x80 != 0 || ram.at(0xc9) == 0),
    pal("space_war", "b702641d698c60bcdc922dbd8c9dd49c", Flat)
        .modes(
            &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
            select_as(2, 0xa7, to_bcd),
        )
        .score(|ram| ram.bcd(&[0xa7]))
        .one_life()
        .over(|ram, _| ram.at(0x80) == 0 || ram.bcd(&[0xa7]) == 10),
    game("star_gunner", "a3c1c70024d7aabb41381adbfb6d3b25", Flat)
        .modes(&[0, 1, 2, 3], select(15, 0xf4))
        .score(|ram| ram.digits(&[0x86, 0x85, 0x84, 0x83]) * 100)
        .lives(5, star_gunner_lives)
        .over(|ram, _| ram.at(0x87) == 0),
    game("superman", "a9531c763077464307086ec9a1fd057d", Flat)
        .difficulties(&[0, 1, 2, 3])
        .over(|_, _| false)
        .unproved("its score, lives and end are not known"),
    game("surround", "4d7517ae69f95cfbc053be01312b7dba", Flat)
        .controller(Controller::RightJoystick)
        .modes(&[0, 2], select_as(2, 0xf9, |mode| mode + 1))
        .difficulties(&[0, 1, 2, 3])
        .actions(FOUR_WAYS)
        .score(|ram| ram.bcd(&[0xf7]) - ram.bcd(&[0xf6]))
        .one_life()
        .over(|ram, _| ram.bcd(&[0xf6]) == 10 || ram.bcd(&[0xf7]) == 10),
    game("tennis", "42cdd6a9e42a3639e190722b8ea3fc51", Flat)
        .modes(&[0, 2], select(2, 0x80))
        .difficulties(&[0, 1, 2, 3])
        .reward(Told(tennis))
        .over(|ram, _| tennis_is_over(ram.at(0xc7), ram.at(0xc8))),
    game("tetris", "b0e1ee07fbc73493eac5651a52f90f00", Flat)
        .actions(&[Noop, Fire, Right, Left, Down])
        .reward(Gains(|ram| ram.bcd(&[0xf2, 0xf1])))
        .over(|ram, _| ram.at(0xf3) & 0x80 != 0),
    game("tic_tac_toe_3d", "0db4f4150fecf77e4ce72ca4d04c052f", Flat)
        .modes(&[0, 1, 2, 3, 4, 5, 6, 7, 8], select(2, 0x88))
        .difficulties(&[0, 2])
        .actions(EIGHT_WAYS_OR_FIRE)
        .reward(Told(|ram, _| -i32::from(tic_tac_toe_is_lost(ram))))
        .one_life()
        .over(|ram, _| tic_tac_toe_is_lost(ram) || (0x9a..0xda).all(|square| ram.at(square) != 0)),
    game("time_pilot", "fc2104dd2dadf9a6176c1c1c8f87ced9", F8)
        .difficulties(&[0, 1, 2])
        .actions(FOUR_WAYS_WITH_FIRE)
        .score(|ram| ram.bcd(&[0x8f, 0x8d]) * 100)
        .lives(5, time_pilot_lives)
        .over(|ram, _| ram.at(0xa0) != 0),
    game("trondead", "fb27afe896e7c928089307b32e5642ee", Flat)
        .difficulties(&[0, 1])
        .score(|ram| ram.bcd(&[0xbd, 0xbe, 0xbf]))
        .lives(5, |ram, _| 5 - ram.at(0xc8))
        .over(|ram, _| ram.at(0xc8) == 5),
    game("turmoil", "7a5463545dfb2dcfdafa6074b2f2c15e", Flat)
        .modes(&[0, 1, 2, 3, 4, 5, 6, 7, 8], select(2, 0xea))
        .start(&[(Fire, 1)])
        .actions(&[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft, RightFire,
            LeftFire,
        ])
        .score(|ram| (ram.bcd(&[0x8a, 0x89]) + ram.at(0xd3)) * 10)
        .lives(3, |ram, _| ram.at(0xb9))
        .over(|ram, _| ram.at(0xb9) == 0 && ram.at(0xc5) == 1),
    game("tutankham", "085322bae40d904f53bdcc56df0593fc", E0)
        .modes(&[0, 4, 8, 12], select(2, 0xab))
        .actions(&[Noop, Up, Right, Left, Down, UpFire, RightFire, LeftFire])
        .score(|ram| ram.bcd(&[0x9a, 0x9c]))
        .lives(3, |ram, _| ram.at(0x9e) & 3)
        .over(|ram, _| ram.at(0x9e) == 0 && ram.at(0x81) != 0x84),
    game("up_n_down", "a499d720e7ee35c62424de882a3351b6", F8)
        .picture(30, 210)
        .difficulties(&[0, 1, 2, 3])
        .start(&[(Fire, 1)])
        .actions(UP_DOWN_WITH_FIRE)
        .score(|ram| ram.bcd(&[0x80, 0x81, 0x82]))
        .lives(5, |ram, _| (ram.at(0x86) & 15) + 1)
        .over(|ram, _| ram.at(0x94) > 0x40 && ram.at(0x86) & 15 == 0),
    game("venture", "3e899eba0ca8cd2972da1ae5479b4f0d", Flat)
        .difficulties(&[0, 1, 2, 3])
        .score(|ram| ram.bcd(&[0xc7, 0xc8]) * 100)
        .lives(4, |ram, _| (ram.at(0xc6) & 7) + 1)
        .over(|ram, _| ram.at(0xcd) == 0xff && ram.at(0xbf) & 0x80 != 0 && ram.at(0xc6) == 0),
    game("video_checkers", "539d26b6e9df0da8e7465f0f5ad863b7", Flat)
        .modes(
            &[
                1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19,
            ],
            select_as(1, 0xf6, to_bcd),
        )
        .actions(DIAGONALS_OR_FIRE)
        .reward(Told(|ram, _| checkers_result(ram)))
        .one_life()
        .over(|ram, _| checkers_result(ram) != 0),
    game("video_chess", "f0b7db930ca0e548c41a97160b9f6275", Flat)
        .modes(&[0, 1, 2, 3, 4], select(1, 0xea))
        .actions(EIGHT_WAYS_OR_FIRE)
        .reward(Told(|ram, _| match (ram.at(0xe1), ram.at(0xee)) {
            (0x82, 0) => 1,
            (0x82, 1) => -1,
            _ => 0,
        }))
        .one_life()
        .over(|ram, _| ram.at(0xe1) == 0x82 && ram.at(0xee) < 2),
    game("video_cube", "3f540a30fdee0b20aed7288e4a5ea528", Flat)
        .modes(
            &VIDEO_CUBE_MODES,
            Select::Stick {
                select_frames: 2,
                shows: |ram, mode| {
                    ram.at(0xfb) & 31 == [0, 2, 8][(mode % 100).clamp(0, 2) as usize]
                },
                points: |ram, mode| ram.bcd(&[0x9f]) == (mode / 100).max(1),
            },
        )
        .difficulties(&[0, 1])
        .reset_frames(4)
        .start(&[(Noop, 61), (Fire, 1), (Noop, 2)])
        .reward(Told(video_cube))
        .one_life()
        .over(video_cube_is_over),
    game("video_pinball", "107cc025334211e6d29da0b6be46aec7", Flat)
        .modes(&[0, 2], select(2, 0xc1))
        .difficulties(&[0, 1])
        .actions(&[
            Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire,
        ])
        .score(|ram| ram.bcd(&[0xb4, 0xb2, 0xb0]))
        .lives(3, |ram, _| 4 - (ram.at(0x99) & 7) + (ram.at(0xa8) & 1))
        .over(|ram, _| ram.at(0xaf) & 1 != 0),
    game("wizard_of_wor", "7e8aa18bc9502eb57daaf5e7c1e94da7", Flat)
        .controller(Controller::RightJoystick)
        .difficulties(&[0, 1])
        .actions(FOUR_WAYS_WITH_FIRE)
        .score(|ram| wizard_of_wor_score(ram, [0x88, 0x86]))
        .lives(3, wizard_of_wor_lives)
        .over(|ram, _| ram.at(0x8d) & 15 == 0 && ram.at(0xf4) == 0xf8),
    game("word_zapper", "ec3beb6d8b5689e867bafb5d5f507491", Flat)
        .modes(&modes_from::<24>(0), select(2, 0xdb))
        .difficulties(&[0, 1, 2, 3])
        .start(&[(Noop, 486), (Fire, 1), (Noop, 2)])
        .first_score(2)
        .reward(Told(word_zapper))
        .one_life()
        .over(|ram, _| ram.at(0xcf) != 0 && (ram.at(0xdc) == 0xff || ram.at(0xde) == 0)),
    game("yars_revenge", "c5930d0e8cdae3e037349bfa08e871be", Flat)
        .modes(
            &[0, 32, 64, 96],
            Select::Switch(Switch {
                first_press: 2,
                ..switch(1, 0xe3)
            }),
        )
        .difficulties(&[0, 1])
        .start(&[(Fire, 1)])
        .score(|ram| ram.bcd(&[0xe0, 0xe1, 0xe2]))
        .lives(4, |ram, _| ram.at(0x9e) >> 4),
    game("zaxxon", "eea0da9b987d661264cce69a7c13c3bd", F8)
        .modes(&[0, 8, 16, 24], select(10, 0x82))
        .score(|ram| ram.bcd(&[0xe8, 0xe9]) * 100)
        .lives(5, |ram, _| ram.at(0xea) & 7),
];
