//! States as plain data: a version, the ROM's MD5, then every number in a fixed order, little endian. The picture is
//! not in it; the next frame that is drawn draws it whole.

use crate::console::Console;
use crate::machine::{LONGEST_FRAME, Machine};
use crate::tia::NEVER;
use crate::{CoreError, cpu, tia};

/// Changes with every change of the order below.
const VERSION: u32 = 1;

/// Walks over the numbers of a state, writing them or replacing them.
enum Tape<'a> {
    Write(Vec<u8>),
    Read { bytes: &'a [u8], short: bool },
}

impl Tape<'_> {
    fn bytes(&mut self, numbers: &mut [u8]) {
        match self {
            Tape::Write(out) => out.extend_from_slice(numbers),
            Tape::Read { bytes, short } => match bytes.split_at_checked(numbers.len()) {
                Some((first, rest)) => {
                    numbers.copy_from_slice(first);
                    *bytes = rest;
                }
                None => *short = true,
            },
        }
    }

    fn byte(&mut self, number: &mut u8) {
        self.bytes(std::slice::from_mut(number));
    }

    fn flag(&mut self, value: &mut bool) {
        let mut byte = u8::from(*value);
        self.byte(&mut byte);
        *value = byte != 0;
    }

    fn int(&mut self, value: &mut i32) {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes);
        *value = i32::from_le_bytes(bytes);
    }

    fn word(&mut self, value: &mut u32) {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes);
        *value = u32::from_le_bytes(bytes);
    }

    fn half(&mut self, value: &mut u16) {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes);
        *value = u16::from_le_bytes(bytes);
    }
}

impl Console {
    /// Everything that decides how the game goes on, but the picture: about 600 bytes.
    #[must_use]
    pub fn save_state(&self) -> Vec<u8> {
        let mut tape = Tape::Write(Vec::with_capacity(1024));
        let mut copy = self.clone();
        let mut version = VERSION;
        tape.word(&mut version);
        let mut md5 = self.md5_bytes();
        tape.bytes(&mut md5);
        copy.walk(&mut tape);
        match tape {
            Tape::Write(bytes) => bytes,
            Tape::Read { .. } => Vec::new(),
        }
    }

    /// Goes on from a state of [`Console::save_state`]; the picture is the old one until a frame is drawn.
    ///
    /// # Errors
    /// The bytes are no state, or one of another game or version; the console is as before.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), CoreError> {
        let refuse = |reason: String| CoreError::State {
            game: self.game.name,
            reason,
        };
        let mut tape = Tape::Read {
            bytes: state,
            short: false,
        };
        let mut version = 0;
        tape.word(&mut version);
        if version != VERSION {
            return Err(refuse(format!("version {version}, known is {VERSION}")));
        }
        let mut md5 = [0; 16];
        tape.bytes(&mut md5);
        if md5 != self.md5_bytes() {
            return Err(refuse("it was saved with another ROM".to_owned()));
        }
        let mut restored = self.clone();
        restored.walk(&mut tape);
        match tape {
            Tape::Read {
                bytes: [],
                short: false,
            } => {}
            _ => {
                return Err(refuse(format!(
                    "{} bytes are too few or too many",
                    state.len()
                )));
            }
        }
        if !plausible(&restored.machine) {
            return Err(refuse("its clocks are those of no frame".to_owned()));
        }
        restored.machine.tia.objects_changed();
        *self = restored;
        Ok(())
    }

    fn md5_bytes(&self) -> [u8; 16] {
        let digits = self.cartridge.md5();
        std::array::from_fn(|at| {
            digits
                .get(2 * at..2 * at + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .unwrap_or(0)
        })
    }

    fn walk(&mut self, tape: &mut Tape<'_>) {
        walk_machine(&mut self.machine, tape);
        let progress = &mut self.progress;
        tape.int(&mut progress.score);
        tape.int(&mut progress.reward);
        tape.int(&mut progress.lives);
        tape.flag(&mut progress.over);
        progress.memory.iter_mut().for_each(|value| tape.int(value));
        for count in [
            &mut self.frame,
            &mut self.episode_frame,
            &mut self.power_ons,
            &mut self.mode,
            &mut self.difficulty,
        ] {
            tape.word(count);
        }
    }
}

/// Whether every clock is one that a frame can reach: arithmetic on them is not checked.
fn plausible(machine: &Machine) -> bool {
    let tia = &machine.tia;
    let clocks = [
        tia.clock,
        tia.line_clock,
        tia.sync_end,
        tia.registers.moved_at,
    ];
    (0..=LONGEST_FRAME).contains(&machine.cpu.cycle)
        && clocks.iter().all(|clock| (-NEVER..=NEVER).contains(clock))
        && u16::try_from(tia.row).is_ok()
}

fn walk_machine(machine: &mut Machine, tape: &mut Tape<'_>) {
    let cpu::Registers {
        a,
        x,
        y,
        sp,
        p,
        pc,
        cycle,
    } = &mut machine.cpu;
    for register in [a, x, y, sp, p] {
        tape.byte(register);
    }
    tape.half(pc);
    tape.int(cycle);

    let riot = &mut machine.riot;
    tape.bytes(&mut riot.ram);
    tape.byte(&mut riot.timer);
    tape.byte(&mut riot.shift);
    tape.int(&mut riot.set_at);
    tape.flag(&mut riot.read_after_end);
    tape.int(&mut riot.read_at);
    tape.bytes(&mut riot.direction);
    tape.bytes(&mut riot.output);
    riot.shift = riot.shift.min(10);

    machine
        .banks
        .windows
        .iter_mut()
        .for_each(|window| tape.half(window));
    tape.bytes(&mut machine.banks.ram);

    let input = &mut machine.input;
    tape.byte(&mut input.swcha);
    tape.byte(&mut input.swchb);
    tape.bytes(&mut input.buttons);
    input
        .charge_cycles
        .iter_mut()
        .for_each(|cycles| tape.int(cycles));
    tape.int(&mut input.paddle);

    let tia = &mut machine.tia;
    walk_tia(&mut tia.registers, tape);
    tape.flag(&mut tia.picture_begins);
    for clock in [
        &mut tia.clock,
        &mut tia.line_clock,
        &mut tia.row,
        &mut tia.sync_end,
    ] {
        tape.int(clock);
    }
}

fn walk_tia(registers: &mut tia::Registers, tape: &mut Tape<'_>) {
    let tia::Registers {
        vsync,
        vblank,
        nusiz,
        colour,
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
        latch,
        grounded,
        released_at,
        moved_at,
    } = registers;
    for register in [vsync, vblank, ctrlpf] {
        tape.byte(register);
    }
    for pair in [nusiz, graphics, delayed, latch] {
        tape.bytes(pair);
    }
    tape.bytes(colour);
    tape.bytes(motion);
    tape.bytes(position);
    for pixel in position {
        *pixel %= tia::WIDTH as u8;
    }
    for pair in [reflected, delay, missile, locked, suppressed] {
        for flag in pair {
            tape.flag(flag);
        }
    }
    for flag in [
        reflect,
        ball,
        delayed_ball,
        delay_ball,
        comb,
        comb_next,
        grounded,
    ] {
        tape.flag(flag);
    }
    tape.word(playfield);
    tape.half(collisions);
    tape.int(released_at);
    tape.int(moved_at);
}
