//! The chips' part of a console's state: their numbers in order, and what these can be.

use super::{BadState, Tape, check};
use crate::cartridge::Dpc;
use crate::cpu;
use crate::input::{LONGEST_CHARGE, LONGEST_PADDLE_MAX};
use crate::machine::{Chips, LONGEST_FRAME};
use crate::riot::LONG_AGO;
use crate::tia::{self, CLOCKS_PER_LINE, NEVER, Tia};

impl Chips {
    /// Every clock is one that a frame can come to, and every table is looked up within its bounds: arithmetic on these
    /// is not checked, and a frame's length depends on them.
    pub(super) fn check(&self, tia: &Tia) -> Result<(), BadState> {
        let cycle = self.cpu.cycle;
        check((0..=LONGEST_FRAME).contains(&cycle), "the cycle")?;
        check(self.banks.are_possible(cycle), "the cartridge")?;
        self.check_beam(tia)?;
        self.check_riot(cycle)?;
        let registers = &self.registers;
        let since_when = [registers.moved_at, self.sync_end];
        let are_clocks = since_when.map(|clock| (-NEVER..=NEVER).contains(&clock));
        check(are_clocks == [true; 2], "a clock")?;
        let released = (-NEVER..=cycle).contains(&registers.released_at);
        check(released, "when the paddles were let go")?;
        let mut positions = registers.position.iter();
        let are_pixels = positions.all(|&pixel| usize::from(pixel) < tia::WIDTH);
        check(are_pixels, "a position")?;
        check(registers.playfield < 1 << 20, "the playfield")?;
        let mut paddles = self.input.paddles.iter();
        let are_turned = paddles.all(|paddle| (0..=LONGEST_PADDLE_MAX).contains(paddle));
        check(are_turned, "a paddle")?;
        let mut cycles = self.input.charge_cycles.iter();
        let are_charged = cycles.all(|cycles| (-1..=LONGEST_CHARGE).contains(cycles));
        check(are_charged, "how long a paddle takes")
    }

    fn check_beam(&self, tia: &Tia) -> Result<(), BadState> {
        check((0..=tia.height).contains(&self.row), "the row")?;
        let begins = (tia.top + self.row) * CLOCKS_PER_LINE;
        let lines = [begins, NEVER];
        check(lines.contains(&self.line_clock), "the clock of a line")?;
        let end = (begins + CLOCKS_PER_LINE).min((tia.top + tia.height) * CLOCKS_PER_LINE);
        let clocks = begins - CLOCKS_PER_LINE..=end;
        check(clocks.contains(&self.clock), "the clock")
    }

    fn check_riot(&self, cycle: i32) -> Result<(), BadState> {
        let since_when = [self.riot.set_at, self.riot.read_at];
        let are_cycles = since_when.map(|at| (-LONG_AGO..=cycle).contains(&at));
        check(are_cycles == [true; 2], "when a timer was set")?;
        check([0, 3, 6, 10].contains(&self.riot.shift), "an interval")
    }

    /// Goes over the numbers in the order of states.
    pub(super) fn walk(&mut self, tape: &mut impl Tape) -> Result<(), BadState> {
        let cpu::Registers {
            a,
            x,
            y,
            sp,
            p,
            pc,
            cycle,
        } = &mut self.cpu;
        for register in [a, x, y, sp, p] {
            tape.byte(register)?;
        }
        tape.half(pc)?;
        tape.int(cycle)?;

        let riot = &mut self.riot;
        tape.bytes(&mut riot.ram)?;
        tape.byte(&mut riot.timer)?;
        tape.byte(&mut riot.shift)?;
        tape.int(&mut riot.set_at)?;
        tape.flag(&mut riot.read_after_end)?;
        tape.int(&mut riot.read_at)?;
        tape.byte(&mut riot.direction)?;

        for window in &mut self.banks.windows {
            tape.half(window)?;
        }
        tape.bytes(&mut self.banks.ram)?;
        if let Some(dpc) = &mut self.banks.dpc {
            walk_dpc(dpc, tape)?;
        }

        let input = &mut self.input;
        tape.byte(&mut input.swcha)?;
        tape.byte(&mut input.swchb)?;
        tape.bytes(&mut input.buttons)?;
        for cycles in &mut input.charge_cycles {
            tape.int(cycles)?;
        }
        for paddle in &mut input.paddles {
            tape.int(paddle)?;
        }

        walk_tia(&mut self.registers, tape)?;
        tape.flag(&mut self.picture_begins)?;
        for clock in [
            &mut self.clock,
            &mut self.line_clock,
            &mut self.row,
            &mut self.sync_end,
        ] {
            tape.int(clock)?;
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
