//! The games from R to S.

use super::odd::{river_raid_lives, river_raid_over, river_raid_score, star_gunner_lives};
use super::rules::{Progress, Rules, Score, no_lives, one_life};
use super::{Controller, Game, bcd, game, pal, select};
use crate::Action::{Down, Fire, Left, LeftFire, Noop, Right, RightFire, Up};
use crate::Mapper;

pub(super) static GAMES: &[Game] = &[
    Game {
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(river_raid_score),
            lives: river_raid_lives,
            over: river_raid_over,
        }),
        proved: true,
        ..game(
            "riverraid",
            "393948436d1f4cc3192410bb918f9724",
            Mapper::Flat,
        )
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.digits(&[0xcc, 0xcb, 0xca, 0xc9]) * 100),
            lives: |ram, _| (ram.at(0xc4) & 7) + 1,
            over: |ram, _| (ram.at(0xb9) != 0 || ram.at(0xbd) != 0) && ram.at(0xc4) & 7 == 0,
        }),
        proved: true,
        ..game(
            "road_runner",
            "ce5cc62608be2cd3ed8abd844efb8919",
            Mapper::F6,
        )
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.at(0xb5) + 12 * ram.at(0xb6)),
            lives: |ram, _| (ram.at(0xa8) & 15) + 1,
            over: |ram, _| ram.at(0xb4) == 0xff && ram.at(0xa8) == 0,
        }),
        proved: true,
        ..game("robotank", "4f618c2429138e0280969193ed6c107e", Mapper::Fe)
    },
    Game {
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xb8, 0xb9, 0xba])),
            lives: |ram, _| ram.at(0xbb) + 1,
            over: |ram, _| ram.at(0xa3) != 0,
        }),
        proved: true,
        ..game("seaquest", "240bfbac5163af4df5ae713985386f92", Mapper::Flat)
    },
    Game {
        reset_frames: 9,
        start: &[(Left, 1)],
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x9e, 0x9f, 0xa0])),
            lives: |ram, _| ram.at(0xa9),
            over: |ram, _| ram.at(0xa9) == 0 && ram.at(0xa7) == 0xa0,
        }),
        proved: true,
        ..pal(
            "sir_lancelot",
            "dd0cbe5351551a538414fb9e37fc56e8",
            Mapper::F8,
        )
    },
    Game {
        no_button: true,
        start: &[(Down, 16)],
        actions: &[Noop, Right, Left],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| -(ram.at(0xe8) * 6_000 + ram.bcd(&[0xe9, 0xea]))),
            lives: no_lives,
            over: |ram, _| ram.at(0x91) == 0xff,
        }),
        proved: true,
        ..game("skiing", "b76fbadc8ffb1f83e2ca08b6fb4d6c9f", Mapper::Flat)
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xde, 0xdd, 0xdc]) * 10),
            lives: |ram, _| ram.at(0xd9) & 15,
            over: |ram, _| ram.at(0xd9) == 0,
        }),
        proved: true,
        ..game("solaris", "e72eb8d4410152bdcb69e7fba327b420", Mapper::F6)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xdc) == mode)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Wraps(|ram| ram.bcd(&[0xe6, 0xe8]), 10_000),
            lives: |ram, _| ram.at(0xc9),
            over: |ram, _| ram.at(0x98) & 0x80 != 0 || ram.at(0xc9) == 0,
        }),
        proved: true,
        ..game(
            "space_invaders",
            "72ffbef6504b75e69ee1045af9075f66",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xa7) == bcd(mode))),
        modes: &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xa7])),
            lives: one_life,
            over: |ram, _| ram.at(0x80) == 0 || ram.bcd(&[0xa7]) == 10,
        }),
        proved: true,
        ..pal(
            "space_war",
            "b702641d698c60bcdc922dbd8c9dd49c",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(15, |ram, mode| ram.at(0xf4) == mode)),
        modes: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.digits(&[0x86, 0x85, 0x84, 0x83]) * 100),
            lives: star_gunner_lives,
            over: |ram, _| ram.at(0x87) == 0,
        }),
        proved: true,
        ..game(
            "star_gunner",
            "a3c1c70024d7aabb41381adbfb6d3b25",
            Mapper::Flat,
        )
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        ..game("superman", "a9531c763077464307086ec9a1fd057d", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xf9) == mode + 1)),
        controller: Controller::RightJoystick,
        actions: &[Noop, Up, Right, Left, Down],
        modes: &[0, 2],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xf7]) - ram.bcd(&[0xf6])),
            lives: one_life,
            over: |ram, _| ram.bcd(&[0xf6]) == 10 || ram.bcd(&[0xf7]) == 10,
        }),
        proved: true,
        ..game("surround", "4d7517ae69f95cfbc053be01312b7dba", Mapper::Flat)
    },
];
