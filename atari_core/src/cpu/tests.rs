//! Every opcode against an interpreter of its own ([`oracle`]), decimal arithmetic against what ALE gave, and loops
//! that wait for the timer against the same loops without a short cut.

mod oracle;

use oracle::Oracle;

use super::{Program, Registers, decimal, flag};
use crate::cartridge::Cartridge;
use crate::machine::Machine;
use crate::mapper::Mapper;
use crate::tia::Television;

/// Marsaglia's xorshift.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A machine with a ROM in it.
fn machine(rom: &[u8], mapper: Mapper, ram: [u8; 128]) -> Machine {
    let cartridge = Cartridge::with_mapper("test", rom, mapper).expect("a length that fits");
    let television = Television {
        top: 34,
        height: 210,
        is_pal: false,
        no_comb: false,
    };
    Machine::new(Program::new(&cartridge), television, ram)
}

#[test]
fn every_opcode_does_what_the_data_sheet_says() {
    let mut seed = 1;
    for opcode in 0..=255u8 {
        let mut compared = 0;
        while compared < 25 {
            let mut rom: Vec<u8> = (0..4096).map(|_| random(&mut seed) as u8).collect();
            for _ in 0..40 {
                let pc = 0x1000 | random(&mut seed) as u16;
                // Short of the end, where the fetch of an operand would leave the cartridge.
                if pc & 0xfff > 0xff0 {
                    continue;
                }
                rom[usize::from(pc & 0xfff)] = opcode;
                // Operands that mean RAM are rare among random ones.
                rom[usize::from(pc & 0xfff) + 1] |= 0x80;
                rom[usize::from(pc & 0xfff) + 2] &= if random(&mut seed) & 1 == 0 {
                    0x1d
                } else {
                    0xff
                };
                let registers = Registers {
                    a: random(&mut seed) as u8,
                    x: random(&mut seed) as u8,
                    y: random(&mut seed) as u8,
                    sp: random(&mut seed) as u8 | 0x80,
                    p: random(&mut seed) as u8 | flag::ALWAYS as u8,
                    pc,
                    cycle: 5,
                };
                let ram: [u8; 128] = std::array::from_fn(|_| random(&mut seed) as u8);
                let mut oracle = Oracle {
                    r: registers,
                    ram,
                    rom: &rom,
                };
                if oracle.step().is_none() {
                    continue;
                }
                let mut machine = machine(&rom, Mapper::Flat, ram);
                machine.cpu = registers;
                machine.run(1);
                assert_eq!(
                    machine.cpu, oracle.r,
                    "opcode {opcode:02x} from {registers:x?}"
                );
                assert_eq!(
                    machine.riot.ram, oracle.ram,
                    "opcode {opcode:02x} from {registers:x?}"
                );
                compared += 1;
            }
        }
    }
}

/// What a program on ale-py 0.12.1 wrote for each A, operand and carry, in this order: a CRC-32 of result and N, V, Z
/// and C, two bytes each. Digits beyond 9 are among them.
#[test]
fn decimal_arithmetic_is_that_of_ale() {
    for (arithmetic, measured) in [
        (
            decimal::add as fn(u32, u32, u32) -> (u32, u32, u32),
            0xd628_856f,
        ),
        (decimal::subtract, 0x290c_f1ca),
    ] {
        let mut checksum = crc32fast::Hasher::new();
        for case in 0..1 << 17 {
            let (result, overflow, carry) = arithmetic(case >> 9, case >> 1 & 0xff, case & 1);
            let zero = if result == 0 { flag::ZERO } else { 0 };
            let flags = result & flag::NEGATIVE | overflow | zero | carry;
            checksum.update(&[result as u8, flags as u8]);
        }
        assert_eq!(checksum.finalize(), measured);
    }
}

/// Loops that wait for the timer are run to their end at once; one instruction at a time, nothing is left out.
#[test]
fn waiting_for_the_timer_takes_the_instructions_and_cycles_that_it_takes() {
    let mut seed = 3;
    for load in [0xad, 0xae, 0xac, 0x2c] {
        for branch in [0xd0, 0x10, 0x30, 0xf0, 0x50] {
            for page in [0x100, 0x1fd] {
                let mut rom = vec![0xea; 4096];
                rom[page..page + 5].copy_from_slice(&[load, 0x84, 0x02, branch, 0xfb]);
                let off = machine(&rom, Mapper::Flat, [0; 128]);
                for _ in 0..100 {
                    let mut machine = off.clone();
                    machine.riot.ram = std::array::from_fn(|_| random(&mut seed) as u8);
                    let [a, timer, shift, cycle, length, ..] = random(&mut seed).to_le_bytes();
                    machine.cpu = Registers {
                        a: a & 3,
                        pc: 0xf000 | page as u16,
                        cycle: 1000 + i32::from(cycle),
                        ..Registers::power_on(0)
                    };
                    machine
                        .riot
                        .write(0x294 | u32::from(shift & 3), timer, 1000);
                    let mut stepped = machine.clone();
                    let instructions = 1 + u32::from(length) * 8;
                    machine.run(instructions);
                    (0..instructions).for_each(|_| stepped.run(1));
                    assert_eq!(machine.cpu, stepped.cpu, "{load:02x} {branch:02x} {timer}");
                    assert_eq!(
                        machine.riot, stepped.riot,
                        "{load:02x} {branch:02x} {timer}"
                    );
                }
            }
        }
    }
}

/// Parker Brothers' slices lie next to others in the ROM than in the windows.
#[test]
fn a_program_goes_on_in_the_next_window_and_not_in_the_next_slice() {
    const JAM: u8 = 0x02;
    let mut rom = [JAM; 8192];
    // Slice 7, always at $1c00: slice 2 to $1000, slice 0 to $1400, LDX #0, and to $13f0.
    let start = [
        0xad, 0xe2, 0x1f, 0xad, 0xe8, 0x1f, 0xa2, 0x00, 0x4c, 0xf0, 0x13,
    ];
    rom[0x1c00..][..start.len()].copy_from_slice(&start);
    // 15 INX, and INC $80 with its operand in the next window.
    rom[0x800 + 0x3f0..][..15].fill(0xe8);
    rom[0x800 + 0x3ff] = 0xe6;
    // INX, CPX #48, BNE $13f0.
    let end = [0x80, 0xe8, 0xe0, 0x30, 0xd0, 0xea];
    rom[..end.len()].copy_from_slice(&end);
    let mut machine = machine(&rom, Mapper::E0, [0; 128]);
    machine.cpu = Registers {
        pc: 0x1c00,
        ..Registers::default()
    };
    let turn = 15 + 1 + 3;
    machine.run(4 + 3 * turn);
    assert_eq!(machine.riot.ram[0], 3);
    assert_eq!((machine.cpu.x, machine.cpu.pc), (48, 0x1406));
    // Taken branches go to another page.
    assert_eq!(machine.cpu.cycle, 13 + 3 * (30 + 5 + 2 + 2 + 2) + 2 * 2);
}

/// Loops that only count are run to their last turn at once, as far as there are instructions left.
#[test]
fn loops_that_count_take_the_instructions_and_cycles_that_they_take() {
    let mut seed = 4;
    for counter in [0xca, 0x88, 0xe8, 0xc8] {
        for branch in [0xd0, 0x10] {
            for page in [0x100, 0x1fe, 0xffb] {
                let mut rom = vec![0xea; 4096];
                rom[page..page + 3].copy_from_slice(&[counter, branch, 0xfd]);
                let off = machine(&rom, Mapper::Flat, [0; 128]);
                for start in 0..=255 {
                    let registers = Registers {
                        x: start,
                        y: start,
                        p: flag::ALWAYS as u8,
                        pc: 0xf000 | page as u16,
                        ..Registers::default()
                    };
                    let mut machine = off.clone();
                    machine.cpu = registers;
                    let mut oracle = Oracle {
                        r: registers,
                        ram: [0; 128],
                        rom: &rom,
                    };
                    let length = random(&mut seed) as u32 % 600;
                    machine.run(length);
                    let steps = (0..length).map_while(|_| oracle.step()).count();
                    if steps == length as usize {
                        let case = (counter, branch, page, start, length);
                        assert_eq!(machine.cpu, oracle.r, "{case:x?}");
                    }
                }
            }
        }
    }
}
