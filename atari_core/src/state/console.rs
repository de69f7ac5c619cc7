//! A console's numbers: all that decides how its game goes on, but the pictures. Until a frame is drawn a restored
//! console shows what it showed before.

use super::{BadState, Reader, Tape, Writer, check};
use crate::cartridge::Dpc;
use crate::console::Console;
use crate::games::Progress;
use crate::input::LONGEST_PADDLE_MAX;
use crate::machine::{Chips, LONGEST_FRAME};
use crate::mersenne_twister::MersenneTwister;
use crate::start::Chance;
use crate::tia::{self, CLOCKS_PER_LINE, NEVER};
use crate::{CoreError, cpu};

/// Scores, and what rules remember beside them, lie far below: sums of two cannot overflow.
const MOST_POINTS: i32 = 1 << 28;
/// Frames and power-ons that a state may count: 400 days of emulated time.
const MOST_FRAMES: u32 = i32::MAX as u32;

/// Some 460 bytes.
pub(crate) struct Numbers {
    chips: Chips,
    progress: Progress,
    frame: u32,
    episode_frame: u32,
    power_ons: u32,
    mode: u32,
    difficulty: u32,
    /// In a game for two.
    chance: Option<Box<Chance>>,
}

impl Console {
    /// Everything that decides how the game goes on, but the picture: about 500 bytes.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        let mut state = Writer::new(&self.kind());
        self.save(&mut state);
        state.0
    }

    /// Goes on from a state of [`Console::save_state`]; the picture is the old one until a frame is drawn.
    ///
    /// # Errors
    /// The bytes are no state, or one of another game or version; the console is as before.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), CoreError> {
        let read = || {
            let mut state = Reader::new(state, &self.kind())?;
            let numbers = self.read(&mut state)?;
            state.end()?;
            Ok(numbers)
        };
        let game = self.game.name;
        let numbers = read().map_err(|source| CoreError::State { game, source })?;
        self.put(numbers);
        Ok(())
    }

    /// What two consoles agree in that may take each other's states.
    pub(crate) fn kind(&self) -> String {
        let players = if self.chance.is_some() {
            " players=2"
        } else {
            ""
        };
        format!("rom={}{players}", self.cartridge.md5())
    }

    /// Appends the console's numbers.
    pub(crate) fn save(&self, state: &mut Writer) {
        let mut numbers = Numbers::of(self);
        // A writer takes everything.
        let _written = numbers.walk(state);
        if let Some(chance) = &numbers.chance {
            chance.twister.save(state);
            state.u32(chance.passed);
        }
    }

    /// Numbers that this console can go on from.
    pub(crate) fn read(&self, state: &mut Reader<'_>) -> Result<Numbers, BadState> {
        let mut numbers = Numbers::of(self);
        numbers.walk(state)?;
        if let Some(chance) = &mut numbers.chance {
            chance.twister = MersenneTwister::read(state)?;
            chance.passed = state.u32()?;
        }
        numbers.check(self)?;
        Ok(numbers)
    }

    /// Goes on from numbers of [`Console::read`].
    pub(crate) fn put(&mut self, numbers: Numbers) {
        self.machine.restore(numbers.chips);
        self.progress = numbers.progress;
        self.frame = numbers.frame;
        self.episode_frame = numbers.episode_frame;
        self.power_ons = numbers.power_ons;
        self.mode = numbers.mode;
        self.difficulty = numbers.difficulty;
        self.chance = numbers.chance;
    }
}

impl Numbers {
    fn of(console: &Console) -> Self {
        Self {
            chips: console.machine.chips(),
            progress: console.progress,
            frame: console.frame,
            episode_frame: console.episode_frame,
            power_ons: console.power_ons,
            mode: console.mode,
            difficulty: console.difficulty,
            chance: console.chance.clone(),
        }
    }

    /// Every clock is one that a frame can come to, and every table is looked up within its bounds: arithmetic on these
    /// is not checked, and a frame's length depends on them.
    fn check(&self, console: &Console) -> Result<(), BadState> {
        let cycle = self.chips.cpu.cycle;
        check((0..=LONGEST_FRAME).contains(&cycle), "the cycle")?;
        check(self.chips.banks.are_possible(cycle), "the cartridge")?;
        let (top, height) = (console.machine.tia.top, console.machine.tia.height);
        check((0..=height).contains(&self.chips.row), "the row")?;
        let begins = (top + self.chips.row) * CLOCKS_PER_LINE;
        check(
            [begins, NEVER].contains(&self.chips.line_clock),
            "the clock of a line",
        )?;
        let clocks = begins - CLOCKS_PER_LINE..=begins + CLOCKS_PER_LINE;
        check(clocks.contains(&self.chips.clock), "the clock")?;
        let clocks = [self.chips.sync_end, self.chips.registers.moved_at];
        let clocks = clocks.map(|clock| (-NEVER..=NEVER).contains(&clock));
        check(clocks == [true; 2], "a clock")?;
        let written = [
            self.chips.riot.set_at,
            self.chips.riot.read_at,
            self.chips.registers.released_at,
        ];
        check(
            written.iter().all(|&written| written <= cycle),
            "when a timer was set",
        )?;
        check(
            [0, 3, 6, 10].contains(&self.chips.riot.shift),
            "an interval",
        )?;
        check(
            self.chips
                .registers
                .position
                .iter()
                .all(|&pixel| usize::from(pixel) < tia::WIDTH),
            "a position",
        )?;
        check(
            self.chips
                .input
                .paddles
                .iter()
                .all(|paddle| (0..=LONGEST_PADDLE_MAX).contains(paddle)),
            "a paddle",
        )?;
        let Progress {
            score,
            reward,
            lives,
            over: _,
            memory,
            second,
        } = self.progress;
        let of_both = [
            [score, reward, lives, memory[0], memory[1]],
            second.numbers(),
        ];
        let mut points = of_both.iter().flatten();
        let are_small = points.all(|points| (-MOST_POINTS..MOST_POINTS).contains(points));
        check(are_small, "the score")?;
        let passed = self.chance.as_ref().map_or(0, |chance| chance.passed);
        let counts = [self.frame, self.episode_frame, self.power_ons, passed];
        let counts = counts.map(|count| count < MOST_FRAMES);
        check(counts == [true; 4], "a count of frames")?;
        // Loading a ROM begins a mode that a game for two has not got.
        let loaded = console.game.rules_for_two.map(|rules| rules.loaded_mode);
        let has_mode = console.game.modes.contains(&self.mode) || loaded == Some(self.mode);
        check(has_mode, "the mode")?;
        let difficulties = console.game.difficulties;
        check(difficulties.contains(&self.difficulty), "the difficulty")
    }

    fn walk(&mut self, tape: &mut impl Tape) -> Result<(), BadState> {
        let cpu::Registers {
            a,
            x,
            y,
            sp,
            p,
            pc,
            cycle,
        } = &mut self.chips.cpu;
        for register in [a, x, y, sp, p] {
            tape.byte(register)?;
        }
        tape.half(pc)?;
        tape.int(cycle)?;

        let riot = &mut self.chips.riot;
        tape.bytes(&mut riot.ram)?;
        tape.byte(&mut riot.timer)?;
        tape.byte(&mut riot.shift)?;
        tape.int(&mut riot.set_at)?;
        tape.flag(&mut riot.read_after_end)?;
        tape.int(&mut riot.read_at)?;
        tape.byte(&mut riot.direction)?;

        for window in &mut self.chips.banks.windows {
            tape.half(window)?;
        }
        tape.bytes(&mut self.chips.banks.ram)?;
        if let Some(dpc) = &mut self.chips.banks.dpc {
            walk_dpc(dpc, tape)?;
        }

        let input = &mut self.chips.input;
        tape.byte(&mut input.swcha)?;
        tape.byte(&mut input.swchb)?;
        tape.bytes(&mut input.buttons)?;
        for cycles in &mut input.charge_cycles {
            tape.int(cycles)?;
        }
        for paddle in &mut input.paddles {
            tape.int(paddle)?;
        }

        walk_tia(&mut self.chips.registers, tape)?;
        tape.flag(&mut self.chips.picture_begins)?;
        for clock in [
            &mut self.chips.clock,
            &mut self.chips.line_clock,
            &mut self.chips.row,
            &mut self.chips.sync_end,
        ] {
            tape.int(clock)?;
        }

        let progress = &mut self.progress;
        for points in [
            &mut progress.score,
            &mut progress.reward,
            &mut progress.lives,
            &mut progress.second.score,
            &mut progress.second.reward,
            &mut progress.second.lives,
        ] {
            tape.int(points)?;
        }
        tape.flag(&mut progress.over)?;
        for number in progress
            .memory
            .iter_mut()
            .chain(&mut progress.second.memory)
        {
            tape.int(number)?;
        }
        for count in [
            &mut self.frame,
            &mut self.episode_frame,
            &mut self.power_ons,
            &mut self.mode,
            &mut self.difficulty,
        ] {
            tape.word(count)?;
        }
        Ok(())
    }
}

fn walk_dpc(chip: &mut Dpc, tape: &mut impl Tape) -> Result<(), BadState> {
    let Dpc {
        tops,
        bottoms,
        counters,
        flags,
        random,
        plays,
        followed_to,
        phase,
    } = chip;
    for registers in [tops, bottoms, flags] {
        tape.bytes(registers)?;
    }
    for counter in counters {
        tape.half(counter)?;
    }
    tape.byte(random)?;
    for voice in plays {
        tape.flag(voice)?;
    }
    tape.int(followed_to)?;
    let mut bits = phase.to_bits().to_le_bytes();
    tape.bytes(&mut bits)?;
    *phase = f64::from_bits(u64::from_le_bytes(bits));
    Ok(())
}

fn walk_tia(registers: &mut tia::Registers, tape: &mut impl Tape) -> Result<(), BadState> {
    let tia::Registers {
        vsync,
        vblank,
        nusiz,
        colour,
        colour_lost,
        ctrlpf,
        reflect,
        playfield,
        reflected,
        graphics,
        delayed,
        delay,
        missile,
        ball,
        delayed_ball,
        delay_ball,
        locked,
        motion,
        position,
        suppressed,
        collisions,
        comb,
        comb_next,
        stars,
        star_line,
        star_restored,
        grounded,
        released_at,
        moved_at,
    } = registers;
    for register in [vsync, vblank, ctrlpf, star_line] {
        tape.byte(register)?;
    }
    for pair in [nusiz, graphics, delayed] {
        tape.bytes(pair)?;
    }
    tape.bytes(colour)?;
    tape.bytes(motion)?;
    tape.bytes(position)?;
    for pair in [reflected, delay, missile, locked, suppressed] {
        for flag in pair {
            tape.flag(flag)?;
        }
    }
    for flag in [
        reflect,
        ball,
        delayed_ball,
        delay_ball,
        comb,
        comb_next,
        colour_lost,
        stars,
        star_restored,
        grounded,
    ] {
        tape.flag(flag)?;
    }
    tape.word(playfield)?;
    tape.half(collisions)?;
    tape.int(released_at)?;
    tape.int(moved_at)
}
