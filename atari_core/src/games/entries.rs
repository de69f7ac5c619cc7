//! The games that are known.

use super::{Controller, Game};
use crate::{Action, Mapper};

const ACTIONS_0: [Action; 6] = [
    Action::Noop,
    Action::Fire,
    Action::Right,
    Action::Left,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_1: [Action; 10] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpFire,
    Action::RightFire,
    Action::LeftFire,
    Action::DownFire,
];
const ACTIONS_2: [Action; 7] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_3: [Action; 9] = [
    Action::Noop,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpRight,
    Action::UpLeft,
    Action::DownRight,
    Action::DownLeft,
];
const ACTIONS_4: [Action; 14] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpRight,
    Action::UpLeft,
    Action::UpFire,
    Action::RightFire,
    Action::LeftFire,
    Action::DownFire,
    Action::UpRightFire,
    Action::UpLeftFire,
];
const ACTIONS_5: [Action; 4] = [
    Action::Noop,
    Action::Fire,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_6: [Action; 3] = [Action::Fire, Action::Right, Action::Left];
const ACTIONS_7: [Action; 6] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
];
const ACTIONS_8: [Action; 9] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::UpRight,
    Action::UpLeft,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_9: [Action; 4] = [Action::Noop, Action::Fire, Action::Up, Action::Down];
const ACTIONS_10: [Action; 6] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Down,
    Action::UpFire,
    Action::DownFire,
];
const ACTIONS_11: [Action; 4] = [Action::Noop, Action::Fire, Action::Right, Action::Left];
const ACTIONS_12: [Action; 9] = [
    Action::Noop,
    Action::Fire,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::DownRight,
    Action::DownLeft,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_13: [Action; 3] = [Action::Noop, Action::Up, Action::Down];
const ACTIONS_14: [Action; 5] = [
    Action::Noop,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
];
const ACTIONS_15: [Action; 8] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::UpFire,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_16: [Action; 16] = [
    Action::Noop,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpRight,
    Action::UpLeft,
    Action::DownRight,
    Action::DownLeft,
    Action::RightFire,
    Action::LeftFire,
    Action::DownFire,
    Action::UpRightFire,
    Action::UpLeftFire,
    Action::DownRightFire,
    Action::DownLeftFire,
];
const ACTIONS_17: [Action; 14] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpRight,
    Action::UpLeft,
    Action::DownRight,
    Action::DownLeft,
    Action::UpFire,
    Action::RightFire,
    Action::LeftFire,
    Action::DownFire,
];
const ACTIONS_18: [Action; 14] = [
    Action::Noop,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::DownRight,
    Action::DownLeft,
    Action::RightFire,
    Action::LeftFire,
    Action::DownFire,
    Action::UpRightFire,
    Action::UpLeftFire,
    Action::DownRightFire,
    Action::DownLeftFire,
];
const ACTIONS_19: [Action; 10] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpRight,
    Action::UpLeft,
    Action::DownRight,
    Action::DownLeft,
];
const ACTIONS_20: [Action; 8] = [
    Action::Noop,
    Action::Fire,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::RightFire,
    Action::LeftFire,
    Action::DownFire,
];
const ACTIONS_21: [Action; 3] = [Action::Noop, Action::Right, Action::Left];
const ACTIONS_22: [Action; 5] = [
    Action::Noop,
    Action::Fire,
    Action::Right,
    Action::Left,
    Action::Down,
];
const ACTIONS_23: [Action; 12] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpRight,
    Action::UpLeft,
    Action::DownRight,
    Action::DownLeft,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_24: [Action; 8] = [
    Action::Noop,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpFire,
    Action::RightFire,
    Action::LeftFire,
];
const ACTIONS_25: [Action; 5] = [
    Action::Fire,
    Action::UpRight,
    Action::UpLeft,
    Action::DownRight,
    Action::DownLeft,
];
const ACTIONS_26: [Action; 9] = [
    Action::Noop,
    Action::Fire,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::Down,
    Action::UpFire,
    Action::RightFire,
    Action::LeftFire,
];

/// What most games have in common.
const fn game(name: &'static str, md5: &'static str, mapper: Mapper) -> Game {
    Game {
        name,
        md5,
        mapper,
        controller: Controller::Joystick,
        top: 34,
        height: 210,
        no_comb: false,
        no_button: false,
        reset_frames: 8,
        start: &[],
        actions: &Action::ALL,
        rules: None,
        modes: &[0],
        difficulties: &[0],
    }
}

pub(super) static GAMES: &[Game] = &[
    Game {
        height: 250,
        start: &[(Action::Fire, 16)],
        modes: &[0, 1, 2],
        difficulties: &[0, 1, 2, 3],
        ..game(
            "adventure",
            "4b27f5397c442d25f0c418ccdacf1926",
            Mapper::Flat,
        )
    },
    Game {
        height: 250,
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_0,
        modes: &[1, 2, 3, 4, 5, 6, 7, 8],
        ..game("air_raid", "35be55426c1fec32dfb503b4f0651572", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 1, 2, 3],
        difficulties: &[0, 1, 2, 3],
        ..game("alien", "f1a0a23e6464d954e3a9579c4ccd01c8", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_1,
        difficulties: &[0, 3],
        ..game("amidar", "acb7750b4d0c4bd34969802a7deb2990", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_2,
        ..game("assault", "de78b3a064d374390ac0710f95edde92", Mapper::Flat)
    },
    Game {
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_3,
        ..game("asterix", "89a68746eff7f266bbf08de2483abe55", Mapper::F8)
    },
    Game {
        no_comb: true,
        reset_frames: 12,
        actions: &ACTIONS_4,
        modes: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
            24, 25, 26, 27, 28, 29, 30, 31, 128,
        ],
        difficulties: &[0, 3],
        ..game("asteroids", "ccbd36746ed4525821a8083b0d6d2c2c", Mapper::F8)
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_5,
        modes: &[0, 1, 2, 3],
        ..game("atlantis", "9ad36e699ef6f45d9eb6c4cf90475c9f", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_5,
        ..game(
            "atlantis2",
            "826481f6fc53ea47c9f272f7050eedf7",
            Mapper::Flat,
        )
    },
    Game {
        controller: Controller::Paddles { player: 1 },
        start: &[(Action::Left, 16)],
        actions: &ACTIONS_6,
        difficulties: &[3],
        ..game(
            "backgammon",
            "8556b42aa05f94bc29ff39c39b11bff4",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        modes: &[0, 4, 8, 12, 16, 20, 24, 28],
        difficulties: &[0, 1, 2, 3],
        ..game(
            "bank_heist",
            "00ce0bdd43aed84a983bef38fe7f5ee3",
            Mapper::Flat,
        )
    },
    Game {
        actions: &ACTIONS_7,
        modes: &[5, 6, 7, 8],
        difficulties: &[0, 2, 3],
        ..game(
            "basic_math",
            "819aeeb9a2e11deb54e6de334f843894",
            Mapper::Flat,
        )
    },
    Game {
        no_comb: true,
        reset_frames: 12,
        modes: &[1, 2, 3],
        ..game(
            "battle_zone",
            "41f252a66c6301f1e8ab3612c19bc5d4",
            Mapper::F8,
        )
    },
    Game {
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_8,
        difficulties: &[0, 1],
        ..game("beam_rider", "79ab4123a83dc11d468fb2108ea09e2e", Mapper::F8)
    },
    Game {
        start: &[(Action::Noop, 24)],
        modes: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18],
        ..game("berzerk", "136f75c4dd02c29283752b7e5799f978", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_9,
        difficulties: &[0, 1, 2, 3],
        ..game(
            "blackjack",
            "0a981c03204ac2b278ba392674682560",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_10,
        modes: &[0, 2, 4],
        difficulties: &[0, 1],
        ..game("bowling", "c9b7afad3bfd922e006a6bfc1d4f3fe7", Mapper::Flat)
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        ..game("boxing", "c3ef5c4653212088eda54dc91d787870", Mapper::Flat)
    },
    Game {
        controller: Controller::Paddles { player: 0 },
        actions: &ACTIONS_11,
        modes: &[0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44],
        difficulties: &[0, 1],
        ..game("breakout", "f34f08e5eb96e500e851a80be3277a56", Mapper::Flat)
    },
    Game {
        top: 26,
        height: 214,
        start: &[(Action::Up, 2)],
        actions: &ACTIONS_0,
        ..game("carnival", "028024fb8e5e5f18ea586652f9799c96", Mapper::Flat)
    },
    Game {
        controller: Controller::Paddles { player: 0 },
        start: &[(Action::Fire, 16)],
        actions: &ACTIONS_9,
        modes: &[0, 2, 3],
        difficulties: &[0, 1, 2, 3],
        ..game("casino", "b816296311019ab69a21cb9e9e235d12", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        modes: &[22, 86],
        ..game("centipede", "91c2098e88a6b13f977af8c003e0bca5", Mapper::F8)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 2],
        difficulties: &[0, 1],
        ..game(
            "chopper_command",
            "c1cb228470a87beb5f36e90ac745da26",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_3,
        modes: &[0, 1, 2, 3],
        difficulties: &[0, 1],
        ..game(
            "crazy_climber",
            "55ef7b65066428367844342ed59f956c",
            Mapper::F8,
        )
    },
    Game {
        modes: &[0, 2, 4, 6],
        difficulties: &[0, 1],
        ..game("crossbow", "8cd26dcf249456fe4aeb8db42d49df74", Mapper::F6)
    },
    Game {
        start: &[(Action::Fire, 5)],
        ..game(
            "darkchambers",
            "106855474c69d08c8ffa308d47337269",
            Mapper::F6Ram,
        )
    },
    Game {
        reset_frames: 12,
        modes: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 16],
        difficulties: &[0, 1],
        ..game("defender", "0f643c34e40e3f1daafd9c524d3ffe64", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_0,
        modes: &[1, 3, 5, 7],
        difficulties: &[0, 1],
        ..game(
            "demon_attack",
            "f0e0addc07971561ab80d9abe1b8d333",
            Mapper::Flat,
        )
    },
    Game {
        ..game(
            "donkey_kong",
            "36b20c427975760cb9cf4a47e41369e4",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        start: &[(Action::UpFire, 4)],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        ..game(
            "double_dunk",
            "368d88a6c071caba60b4f778615aae94",
            Mapper::F6,
        )
    },
    Game {
        ..game("earthworld", "5aea9974b975a6a844e6df10d2b861c4", Mapper::F8)
    },
    Game {
        start: &[(Action::Fire, 16)],
        ..game(
            "elevator_action",
            "71f8bacfbdca019113f3f0801849057e",
            Mapper::F8Ram,
        )
    },
    Game {
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_12,
        ..game("enduro", "94b92a882f6dbaa6993a46e2dcc58402", Mapper::Flat)
    },
    Game {
        difficulties: &[0, 2],
        ..game("entombed", "6b683be69f92958abe0e2a9945157ad5", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 1, 2],
        difficulties: &[0, 1, 2, 3],
        ..game("et", "615a3bf251a38eb6638cdc7ffbde5480", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        ..game(
            "fishing_derby",
            "b8865f05676e64f3bec72b9defdacfa7",
            Mapper::Flat,
        )
    },
    Game {
        modes: &[8, 9, 10],
        ..game(
            "flag_capture",
            "30512e0e83903fc05541d2f6a6a62654",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_13,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7],
        difficulties: &[0, 1],
        ..game("freeway", "8e0ab801b1705a740b476b7f588c6d16", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_14,
        modes: &[0, 1, 2],
        difficulties: &[0, 1],
        ..game("frogger", "081e2c114c9c20b61acf25fc95c71bf4", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 2],
        ..game(
            "frostbite",
            "4ca73eb959299471788f0b685c3ba0b5",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_0,
        modes: &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        difficulties: &[0, 1],
        ..game("galaxian", "211774f4c5739042618be8ff67351177", Mapper::F8)
    },
    Game {
        start: &[(Action::Fire, 1)],
        reset_frames: 16,
        actions: &ACTIONS_15,
        modes: &[0, 2],
        difficulties: &[0, 1],
        ..game("gopher", "c16c79aad6272baffb8aae9a7fff0864", Mapper::Flat)
    },
    Game {
        start: &[(Action::Fire, 16)],
        modes: &[0, 1, 2, 3, 4],
        ..game("gravitar", "8ac18076d01a6b63acf6e2cab4968940", Mapper::F8)
    },
    Game {
        modes: &[0, 1, 2, 3],
        difficulties: &[0, 1],
        ..game("hangman", "f16c709df0a6c52f47ff52b9d95b7d8d", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        difficulties: &[0, 1],
        ..game(
            "haunted_house",
            "f0a6e99f5875891246c3dbecbf2d2cea",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        modes: &[0, 1, 2, 3, 4],
        ..game("hero", "fca4a5be1251927027f2c24774a02160", Mapper::F8)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7],
        difficulties: &[0, 1],
        ..game(
            "human_cannonball",
            "7972e5101fa548b952d852db24ad6060",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        modes: &[0, 2],
        difficulties: &[0, 1, 2, 3],
        ..game(
            "ice_hockey",
            "a4c08c4994eb9d24fb78be1793e82e26",
            Mapper::Flat,
        )
    },
    Game {
        modes: &[0, 1],
        ..game("jamesbond", "e51030251e440cffaab1ac63438b44ae", Mapper::E0)
    },
    Game {
        height: 230,
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_16,
        difficulties: &[0, 1],
        ..game(
            "journey_escape",
            "718ae62c70af4e5fd8e932fee216948a",
            Mapper::Flat,
        )
    },
    Game {
        controller: Controller::Paddles { player: 0 },
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_11,
        ..game("kaboom", "5428cdfada281c569c74c7308c7f2c26", Mapper::Flat)
    },
    Game {
        modes: &[0, 1],
        ..game("kangaroo", "4326edb70ff20d0ee5ba58fa5cb09d60", Mapper::F8)
    },
    Game {
        height: 250,
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_17,
        ..game(
            "keystone_kapers",
            "6c1f3f2e359dbf55df462ccbcdd2f6bf",
            Mapper::Flat,
        )
    },
    Game {
        height: 250,
        reset_frames: 12,
        actions: &ACTIONS_7,
        modes: &[0, 1, 2, 3],
        ..game(
            "king_kong",
            "0dd4c69b5f9a7ae96a7a08329496779a",
            Mapper::Flat,
        )
    },
    Game {
        height: 250,
        start: &[(Action::Fire, 16)],
        modes: &[0, 1, 2],
        ..game("klax", "eed9eaf1a0b6a2b9bc4c8032cb43e3fb", Mapper::F6Ram)
    },
    Game {
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_3,
        ..game("koolaid", "534e23210dd1993c828d944c6ac4d9fb", Mapper::Flat)
    },
    Game {
        ..game("krull", "4baada22435320d185c95b7dd2bcdb24", Mapper::F8)
    },
    Game {
        actions: &ACTIONS_18,
        ..game(
            "kung_fu_master",
            "5b92a93b23523ff16e2789b820e2a4c5",
            Mapper::F8,
        )
    },
    Game {
        height: 250,
        start: &[(Action::Fire, 1)],
        ..game(
            "laser_gates",
            "8e4cd60d93fcde8065c1a2b972a26377",
            Mapper::Flat,
        )
    },
    Game {
        actions: &ACTIONS_3,
        modes: &[0, 1],
        difficulties: &[0, 1],
        ..game(
            "lost_luggage",
            "2d76c5d1aad506442b9e9fb67765e051",
            Mapper::Flat,
        )
    },
    Game {
        start: &[(Action::Fire, 17)],
        modes: &[0, 2, 4, 6],
        ..game("mario_bros", "e908611d99890733be31733a979c62d8", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1],
        ..game(
            "miniature_golf",
            "df62a658496ac98a3aa4a6ee5719c251",
            Mapper::Flat,
        )
    },
    Game {
        ..game(
            "montezuma_revenge",
            "3347a6dd59049b15a38394aa2dafa585",
            Mapper::E0,
        )
    },
    Game {
        height: 250,
        start: &[(Action::Fire, 10)],
        actions: &ACTIONS_1,
        modes: &[0, 1, 2, 3],
        ..game("mr_do", "aa7bb54d2c189a31bb1fa20099e42859", Mapper::F8)
    },
    Game {
        no_comb: true,
        start: &[(Action::Fire, 4)],
        actions: &ACTIONS_3,
        modes: &[0, 1, 2, 3],
        ..game("ms_pacman", "87e79cd41ce136fd4f72cc6e2c161bee", Mapper::F8)
    },
    Game {
        actions: &ACTIONS_0,
        modes: &[8, 24, 40],
        difficulties: &[0, 1],
        ..game(
            "name_this_game",
            "36306070f0c90a72461551a7a4f3a209",
            Mapper::Flat,
        )
    },
    Game {
        start: &[(Action::Noop, 16)],
        actions: &ACTIONS_19,
        modes: &[0, 1, 2],
        difficulties: &[0, 2],
        ..game("othello", "113cd09c9771ac278544b7e90efe7df2", Mapper::Flat)
    },
    Game {
        height: 250,
        start: &[(Action::Noop, 7)],
        actions: &ACTIONS_14,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7],
        difficulties: &[0, 1],
        ..game("pacman", "fc2233fc116faef0d3c31541717ca2db", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_20,
        ..game("phoenix", "7e52a95074a66640fcfde124fffd491a", Mapper::F8)
    },
    Game {
        start: &[(Action::Up, 1)],
        ..game("pitfall", "3e90cf23106f2e08b2781e41299de556", Mapper::Flat)
    },
    Game {
        ..game("pitfall2", "6d842c96d5a01967be9680080dd5be54", Mapper::Dpc)
    },
    Game {
        controller: Controller::Paddles { player: 1 },
        reset_frames: 12,
        actions: &ACTIONS_0,
        modes: &[0, 1],
        difficulties: &[0, 1, 2, 3],
        ..game("pong", "60e0ea3cbe0913d39803477945e9e5ec", Mapper::Flat)
    },
    Game {
        top: 26,
        height: 220,
        actions: &ACTIONS_10,
        modes: &[10, 30, 50, 70],
        ..game("pooyan", "4799a40b6e889370b7ee55c17ba65141", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        start: &[(Action::Up, 1)],
        modes: &[0, 1, 2, 3, 4],
        difficulties: &[0, 1, 2, 3],
        ..game(
            "private_eye",
            "ef3a4f64b6494ba770862768caf04b86",
            Mapper::F8,
        )
    },
    Game {
        top: 40,
        actions: &ACTIONS_7,
        difficulties: &[0, 1],
        ..game("qbert", "484b0076816a104875e00467d431c2d2", Mapper::Flat)
    },
    Game {
        difficulties: &[0, 1],
        ..game(
            "riverraid",
            "393948436d1f4cc3192410bb918f9724",
            Mapper::Flat,
        )
    },
    Game {
        ..game(
            "road_runner",
            "ce5cc62608be2cd3ed8abd844efb8919",
            Mapper::F6,
        )
    },
    Game {
        ..game("robotank", "4f618c2429138e0280969193ed6c107e", Mapper::Fe)
    },
    Game {
        difficulties: &[0, 1],
        ..game("seaquest", "240bfbac5163af4df5ae713985386f92", Mapper::Flat)
    },
    Game {
        height: 250,
        start: &[(Action::Up, 16)],
        actions: &ACTIONS_0,
        ..game(
            "sir_lancelot",
            "dd0cbe5351551a538414fb9e37fc56e8",
            Mapper::F8,
        )
    },
    Game {
        no_button: true,
        start: &[(Action::Down, 16)],
        actions: &ACTIONS_21,
        ..game("skiing", "b76fbadc8ffb1f83e2ca08b6fb4d6c9f", Mapper::Flat)
    },
    Game {
        ..game("solaris", "e72eb8d4410152bdcb69e7fba327b420", Mapper::F6)
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_0,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        difficulties: &[0, 1],
        ..game(
            "space_invaders",
            "72ffbef6504b75e69ee1045af9075f66",
            Mapper::Flat,
        )
    },
    Game {
        height: 250,
        modes: &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
        ..game(
            "space_war",
            "b702641d698c60bcdc922dbd8c9dd49c",
            Mapper::Flat,
        )
    },
    Game {
        modes: &[0, 1, 2, 3],
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
        actions: &ACTIONS_14,
        modes: &[0, 2],
        difficulties: &[0, 1, 2, 3],
        ..game("surround", "4d7517ae69f95cfbc053be01312b7dba", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        modes: &[0, 2],
        difficulties: &[0, 1, 2, 3],
        ..game("tennis", "42cdd6a9e42a3639e190722b8ea3fc51", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_22,
        ..game("tetris", "b0e1ee07fbc73493eac5651a52f90f00", Mapper::Flat)
    },
    Game {
        actions: &ACTIONS_19,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        difficulties: &[0, 2],
        ..game(
            "tic_tac_toe_3d",
            "0db4f4150fecf77e4ce72ca4d04c052f",
            Mapper::Flat,
        )
    },
    Game {
        actions: &ACTIONS_1,
        difficulties: &[0, 1, 2],
        ..game("time_pilot", "fc2104dd2dadf9a6176c1c1c8f87ced9", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1],
        ..game("trondead", "fb27afe896e7c928089307b32e5642ee", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_23,
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        ..game("turmoil", "7a5463545dfb2dcfdafa6074b2f2c15e", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_24,
        modes: &[0, 4, 8, 12],
        ..game("tutankham", "085322bae40d904f53bdcc56df0593fc", Mapper::E0)
    },
    Game {
        top: 30,
        start: &[(Action::Fire, 1)],
        actions: &ACTIONS_10,
        difficulties: &[0, 1, 2, 3],
        ..game("up_n_down", "a499d720e7ee35c62424de882a3351b6", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        ..game("venture", "3e899eba0ca8cd2972da1ae5479b4f0d", Mapper::Flat)
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_25,
        modes: &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19,
        ],
        ..game(
            "video_checkers",
            "539d26b6e9df0da8e7465f0f5ad863b7",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_19,
        modes: &[0, 1, 2, 3, 4],
        ..game(
            "video_chess",
            "f0b7db930ca0e548c41a97160b9f6275",
            Mapper::Flat,
        )
    },
    Game {
        start: &[(Action::Fire, 2)],
        modes: &[
            0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302, 400, 401, 402, 500, 501, 502,
            600, 601, 602, 700, 701, 702, 800, 801, 802, 900, 901, 902, 1000, 1001, 1002, 1100,
            1101, 1102, 1200, 1201, 1202, 1300, 1301, 1302, 1400, 1401, 1402, 1500, 1501, 1502,
            1600, 1601, 1602, 1700, 1701, 1702, 1800, 1801, 1802, 1900, 1901, 1902, 2000, 2001,
            2002, 2100, 2101, 2102, 2200, 2201, 2202, 2300, 2301, 2302, 2400, 2401, 2402, 2500,
            2501, 2502, 2600, 2601, 2602, 2700, 2701, 2702, 2800, 2801, 2802, 2900, 2901, 2902,
            3000, 3001, 3002, 3100, 3101, 3102, 3200, 3201, 3202, 3300, 3301, 3302, 3400, 3401,
            3402, 3500, 3501, 3502, 3600, 3601, 3602, 3700, 3701, 3702, 3800, 3801, 3802, 3900,
            3901, 3902, 4000, 4001, 4002, 4100, 4101, 4102, 4200, 4201, 4202, 4300, 4301, 4302,
            4400, 4401, 4402, 4500, 4501, 4502, 4600, 4601, 4602, 4700, 4701, 4702, 4800, 4801,
            4802, 4900, 4901, 4902, 5000, 5001, 5002,
        ],
        difficulties: &[0, 1],
        ..game(
            "video_cube",
            "3f540a30fdee0b20aed7288e4a5ea528",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        actions: &ACTIONS_26,
        modes: &[0, 2],
        difficulties: &[0, 1],
        ..game(
            "video_pinball",
            "107cc025334211e6d29da0b6be46aec7",
            Mapper::Flat,
        )
    },
    Game {
        actions: &ACTIONS_1,
        difficulties: &[0, 1],
        ..game(
            "wizard_of_wor",
            "7e8aa18bc9502eb57daaf5e7c1e94da7",
            Mapper::Flat,
        )
    },
    Game {
        start: &[(Action::Noop, 12)],
        modes: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
        ],
        difficulties: &[0, 1, 2, 3],
        ..game(
            "word_zapper",
            "ec3beb6d8b5689e867bafb5d5f507491",
            Mapper::Flat,
        )
    },
    Game {
        start: &[(Action::Fire, 1)],
        modes: &[0, 32, 64, 96],
        difficulties: &[0, 1],
        ..game(
            "yars_revenge",
            "c5930d0e8cdae3e037349bfa08e871be",
            Mapper::Flat,
        )
    },
    Game {
        reset_frames: 12,
        modes: &[0, 8, 16, 24],
        ..game("zaxxon", "eea0da9b987d661264cce69a7c13c3bd", Mapper::F8)
    },
];
