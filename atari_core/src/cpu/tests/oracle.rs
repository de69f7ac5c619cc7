//! An interpreter of its own: mnemonics and cycles as data sheets print them, modes from the opcode's bits, one
//! byte-wise operation after the other.

use crate::cpu::{Registers, flag};

#[rustfmt::skip]
const MNEMONICS: [&str; 16] = [
    "BRK ORA JAM SLO NOP ORA ASL SLO PHP ORA ASL ANC NOP ORA ASL SLO",
    "BPL ORA JAM SLO NOP ORA ASL SLO CLC ORA NOP SLO NOP ORA ASL SLO",
    "JSR AND JAM RLA BIT AND ROL RLA PLP AND ROL ANC BIT AND ROL RLA",
    "BMI AND JAM RLA NOP AND ROL RLA SEC AND NOP RLA NOP AND ROL RLA",
    "RTI EOR JAM SRE NOP EOR LSR SRE PHA EOR LSR ALR JMP EOR LSR SRE",
    "BVC EOR JAM SRE NOP EOR LSR SRE CLI EOR NOP SRE NOP EOR LSR SRE",
    "RTS ADC JAM RRA NOP ADC ROR RRA PLA ADC ROR ARR JMP ADC ROR RRA",
    "BVS ADC JAM RRA NOP ADC ROR RRA SEI ADC NOP RRA NOP ADC ROR RRA",
    "NOP STA NOP SAX STY STA STX SAX DEY NOP TXA ANE STY STA STX SAX",
    "BCC STA JAM SHA STY STA STX SAX TYA STA TXS SHS SHY STA SHX SHA",
    "LDY LDA LDX LAX LDY LDA LDX LAX TAY LDA TAX LXA LDY LDA LDX LAX",
    "BCS LDA JAM LAX LDY LDA LDX LAX CLV LDA TSX LAS LDY LDA LDX LAX",
    "CPY CMP NOP DCP CPY CMP DEC DCP INY CMP DEX SBX CPY CMP DEC DCP",
    "BNE CMP JAM DCP NOP CMP DEC DCP CLD CMP NOP DCP NOP CMP DEC DCP",
    "CPX SBC NOP ISB CPX SBC INC ISB INX SBC NOP SBC CPX SBC INC ISB",
    "BEQ SBC JAM ISB NOP SBC INC ISB SED SBC NOP ISB NOP SBC INC ISB",
];

#[rustfmt::skip]
const CYCLES: [[i32; 16]; 16] = [
    [7,6,2,8,3,3,5,5,3,2,2,2,4,4,6,6], [2,5,2,8,4,4,6,6,2,4,2,7,4,4,7,7],
    [6,6,2,8,3,3,5,5,4,2,2,2,4,4,6,6], [2,5,2,8,4,4,6,6,2,4,2,7,4,4,7,7],
    [6,6,2,8,3,3,5,5,3,2,2,2,3,4,6,6], [2,5,2,8,4,4,6,6,2,4,2,7,4,4,7,7],
    [6,6,2,8,3,3,5,5,4,2,2,2,5,4,6,6], [2,5,2,8,4,4,6,6,2,4,2,7,4,4,7,7],
    [2,6,2,6,3,3,3,3,2,2,2,2,4,4,4,4], [2,6,2,6,4,4,4,4,2,5,2,5,5,5,5,5],
    [2,6,2,6,3,3,3,4,2,2,2,2,4,4,4,4], [2,5,2,5,4,4,4,4,2,4,2,4,4,4,4,4],
    [2,6,2,8,3,3,5,5,2,2,2,2,4,4,6,6], [2,5,2,8,4,4,6,6,2,4,2,7,4,4,7,7],
    [2,6,2,8,3,3,5,5,2,2,2,2,4,4,6,6], [2,5,2,8,4,4,6,6,2,4,2,7,4,4,7,7],
];

/// The oracle: one instruction on 128 bytes of RAM and a ROM.
pub(super) struct Oracle<'a> {
    pub(super) r: Registers,
    pub(super) ram: [u8; 128],
    pub(super) rom: &'a [u8],
}

impl Oracle<'_> {
    /// None where neither RAM nor ROM is: other chips are not the processor's.
    fn read(&self, address: u16) -> Option<u8> {
        match address {
            a if a & 0x1000 != 0 => Some(self.rom[usize::from(a & 0xfff)]),
            a if a & 0x280 == 0x80 => Some(self.ram[usize::from(a & 0x7f)]),
            _ => None,
        }
    }

    fn word(&self, low: u16, high: u16) -> Option<u16> {
        Some(u16::from_le_bytes([self.read(low)?, self.read(high)?]))
    }

    fn write(&mut self, address: u16, value: u8) -> Option<()> {
        match address {
            a if a & 0x1000 != 0 => {}
            a if a & 0x280 == 0x80 => self.ram[usize::from(a & 0x7f)] = value,
            _ => return None,
        }
        Some(())
    }

    fn push(&mut self, value: u8) -> Option<()> {
        self.write(0x100 | u16::from(self.r.sp), value)?;
        self.r.sp = self.r.sp.wrapping_sub(1);
        Some(())
    }

    fn pull(&mut self) -> Option<u8> {
        self.r.sp = self.r.sp.wrapping_add(1);
        self.read(0x100 | u16::from(self.r.sp))
    }

    fn has(&self, bit: u32) -> bool {
        u32::from(self.r.p) & bit != 0
    }

    fn put(&mut self, bit: u32, on: bool) {
        self.r.p = self.r.p & !(bit as u8) | if on { bit as u8 } else { 0 };
    }

    fn show(&mut self, value: u8) -> u8 {
        self.put(flag::ZERO, value == 0);
        self.put(flag::NEGATIVE, value >= 128);
        value
    }

    /// ADC and SBC in decimal mode, digits of 0 to 9: the sum or difference modulo 100; flags as ALE sets them.
    fn add_decimal(&mut self, operand: u8, subtracts: bool) {
        let number = |byte: u8| i32::from(byte >> 4) * 10 + i32::from(byte & 15);
        let carry = i32::from(self.has(flag::CARRY));
        let a = self.r.a;
        let sum = if subtracts {
            number(a) - number(operand) - 1 + carry
        } else {
            number(a) + number(operand) + carry
        };
        let result = sum.rem_euclid(100) as u8;
        let result = ((result / 10) << 4) | (result % 10);
        self.put(flag::CARRY, (sum > 99) != (subtracts && sum >= 0));
        self.put(
            flag::OVERFLOW,
            (a ^ result) & (result ^ operand) & 0x80 != 0,
        );
        self.r.a = self.show(result);
    }

    /// None for what data sheets do not say: decimal digits beyond 9.
    fn add_or_subtract(&mut self, operand: u8, subtracts: bool) -> Option<()> {
        if !self.has(flag::DECIMAL) {
            self.add(if subtracts { !operand } else { operand });
            return Some(());
        }
        let are_digits = [self.r.a, operand]
            .iter()
            .all(|byte| byte >> 4 < 10 && byte & 15 < 10);
        are_digits.then(|| self.add_decimal(operand, subtracts))
    }

    fn add(&mut self, operand: u8) {
        let signed =
            i32::from(self.r.a as i8) + i32::from(operand as i8) + i32::from(self.has(flag::CARRY));
        let sum = u32::from(self.r.a) + u32::from(operand) + u32::from(self.has(flag::CARRY));
        self.put(flag::OVERFLOW, !(-128..128).contains(&signed));
        self.put(flag::CARRY, sum > 255);
        self.r.a = self.show(sum as u8);
    }

    fn compare(&mut self, register: u8, operand: u8) {
        self.put(flag::CARRY, register >= operand);
        self.show(register.wrapping_sub(operand));
    }

    fn shift(&mut self, name: &str, value: u8) -> u8 {
        let carry = u8::from(self.has(flag::CARRY));
        let (out, result) = match name {
            "ASL" => (value >> 7, value << 1),
            "ROL" => (value >> 7, value << 1 | carry),
            "LSR" => (value & 1, value >> 1),
            _ => (value & 1, value >> 1 | carry << 7),
        };
        self.put(flag::CARRY, out == 1);
        self.show(result)
    }

    /// The instruction at the program counter; None when it touches another chip.
    #[allow(clippy::too_many_lines)]
    pub(super) fn step(&mut self) -> Option<()> {
        let pc = self.r.pc;
        let opcode = self.read(pc)?;
        let (row, column) = (usize::from(opcode >> 4), usize::from(opcode & 15));
        let name = MNEMONICS[row].split(' ').nth(column)?;
        let (first, operand) = (
            self.read(pc.wrapping_add(1))?,
            self.word(pc.wrapping_add(1), pc.wrapping_add(2))?,
        );
        let mut cycles = CYCLES[row][column];
        let by_y = matches!(
            opcode,
            0x96 | 0x97 | 0xb6 | 0xb7 | 0x9e | 0x9f | 0xbe | 0xbf
        );
        let index = if by_y || (row % 2 == 1 && matches!(column, 1 | 3 | 9 | 11)) {
            self.r.y
        } else {
            self.r.x
        };
        let zero = |offset: u8| u16::from(first.wrapping_add(offset));
        // Address, length, and the address before indexing for those that may cross a page.
        let (address, length, base) = match (row % 2, column) {
            (0, 0) if matches!(opcode, 0x80 | 0xa0 | 0xc0 | 0xe0) => (pc.wrapping_add(1), 2, None),
            (0, 2) if matches!(opcode, 0x82 | 0xa2 | 0xc2 | 0xe2) => (pc.wrapping_add(1), 2, None),
            (0, 9 | 11) => (pc.wrapping_add(1), 2, None),
            (0, 1 | 3) => (
                self.word(zero(self.r.x), zero(self.r.x.wrapping_add(1)))?,
                2,
                None,
            ),
            (1, 1 | 3) => {
                let base = self.word(zero(0), zero(1))?;
                (base.wrapping_add(index.into()), 2, Some(base))
            }
            (0, 4..=7) => (zero(0), 2, None),
            (1, 4..=7) => (zero(index), 2, None),
            (1, 9 | 11..=15) => (operand.wrapping_add(index.into()), 3, Some(operand)),
            (0, 12..=15) => (operand, 3, None),
            _ => (0, 1, None),
        };
        let reads = !matches!(
            name,
            "STA" | "STX" | "STY" | "SAX" | "SHA" | "SHX" | "SHY" | "SHS"
        );
        let modifies = matches!(
            name,
            "ASL"
                | "LSR"
                | "ROL"
                | "ROR"
                | "INC"
                | "DEC"
                | "SLO"
                | "RLA"
                | "SRE"
                | "RRA"
                | "DCP"
                | "ISB"
        );
        let crossed = base.is_some_and(|base| base >> 8 != address >> 8);
        cycles += i32::from(crossed && reads && !modifies);
        let m = if length > 1 && reads && !matches!(name, "JMP" | "JSR") {
            self.read(address)?
        } else {
            0
        };
        let mut next = pc.wrapping_add(length);
        let high = (address >> 8) as u8;
        let (a, x, y) = (self.r.a, self.r.x, self.r.y);
        match name {
            "LDA" => self.r.a = self.show(m),
            "LDX" => self.r.x = self.show(m),
            "LDY" => self.r.y = self.show(m),
            "LAX" => (self.r.a, self.r.x) = (m, self.show(m)),
            "STA" => self.write(address, a)?,
            "STX" => self.write(address, x)?,
            "STY" => self.write(address, y)?,
            "SAX" => self.write(address, a & x)?,
            "SHA" => self.write(address, a & x & high.wrapping_add(1))?,
            "SHX" => self.write(address, x & high.wrapping_add(1))?,
            "SHY" => self.write(address, y & high.wrapping_add(1))?,
            "SHS" => {
                self.r.sp = a & x;
                self.write(address, a & x & high.wrapping_add(1))?;
            }
            "LAS" => {
                self.r.sp &= m;
                self.r.x = self.r.sp;
                self.r.a = self.show(self.r.sp);
            }
            "ORA" => self.r.a = self.show(a | m),
            "AND" => self.r.a = self.show(a & m),
            "EOR" => self.r.a = self.show(a ^ m),
            "ADC" => self.add_or_subtract(m, false)?,
            "SBC" => self.add_or_subtract(m, true)?,
            "CMP" => self.compare(a, m),
            "CPX" => self.compare(x, m),
            "CPY" => self.compare(y, m),
            "BIT" => {
                self.show(a & m);
                self.put(flag::NEGATIVE, m & 0x80 != 0);
                self.put(flag::OVERFLOW, m & 0x40 != 0);
            }
            "ASL" | "LSR" | "ROL" | "ROR" if length == 1 => self.r.a = self.shift(name, a),
            "ASL" | "LSR" | "ROL" | "ROR" => {
                let result = self.shift(name, m);
                self.write(address, result)?;
            }
            "INC" => {
                let result = self.show(m.wrapping_add(1));
                self.write(address, result)?;
            }
            "DEC" => {
                let result = self.show(m.wrapping_sub(1));
                self.write(address, result)?;
            }
            "SLO" | "RLA" | "SRE" | "RRA" => {
                let shift = ["ASL", "ROL", "LSR", "ROR"][["SLO", "RLA", "SRE", "RRA"]
                    .iter()
                    .position(|&n| n == name)?];
                let result = self.shift(shift, m);
                self.write(address, result)?;
                match name {
                    "SLO" => self.r.a = self.show(a | result),
                    "RLA" => self.r.a = self.show(a & result),
                    "SRE" => self.r.a = self.show(a ^ result),
                    _ => self.add_or_subtract(result, false)?,
                }
            }
            "DCP" => {
                self.write(address, m.wrapping_sub(1))?;
                self.compare(a, m.wrapping_sub(1));
            }
            "ISB" => {
                self.write(address, m.wrapping_add(1))?;
                self.add_or_subtract(m.wrapping_add(1), true)?;
            }
            "ANC" => {
                self.r.a = self.show(a & m);
                self.put(flag::CARRY, self.r.a >= 128);
            }
            "ALR" => self.r.a = self.shift("LSR", a & m),
            "ARR" if self.has(flag::DECIMAL) => return None,
            "ARR" => {
                self.r.a = self.shift("ROR", a & m);
                self.put(flag::CARRY, self.r.a & 0x40 != 0);
                self.put(flag::OVERFLOW, (self.r.a >> 6 ^ self.r.a >> 5) & 1 != 0);
            }
            "SBX" => {
                self.compare(a & x, m);
                self.r.x = (a & x).wrapping_sub(m);
            }
            "ANE" => self.r.a = self.show((a | 0xee) & x & m),
            "LXA" => {
                self.r.a = self.show((a | 0xee) & m);
                self.r.x = self.r.a;
            }
            "TAX" => self.r.x = self.show(a),
            "TAY" => self.r.y = self.show(a),
            "TXA" => self.r.a = self.show(x),
            "TYA" => self.r.a = self.show(y),
            "TSX" => self.r.x = self.show(self.r.sp),
            "TXS" => self.r.sp = x,
            "INX" => self.r.x = self.show(x.wrapping_add(1)),
            "INY" => self.r.y = self.show(y.wrapping_add(1)),
            "DEX" => self.r.x = self.show(x.wrapping_sub(1)),
            "DEY" => self.r.y = self.show(y.wrapping_sub(1)),
            "PHA" => self.push(a)?,
            "PHP" => self.push(self.r.p | 0x30)?,
            "PLA" => {
                let value = self.pull()?;
                self.r.a = self.show(value);
            }
            "PLP" => self.r.p = self.pull()? | 0x30,
            "CLC" => self.put(flag::CARRY, false),
            "SEC" => self.put(flag::CARRY, true),
            "CLI" => self.put(flag::INTERRUPT, false),
            "SEI" => self.put(flag::INTERRUPT, true),
            "CLV" => self.put(flag::OVERFLOW, false),
            "CLD" => self.put(flag::DECIMAL, false),
            "SED" => self.put(flag::DECIMAL, true),
            "BPL" | "BMI" | "BVC" | "BVS" | "BCC" | "BCS" | "BNE" | "BEQ" => {
                let bit = [flag::NEGATIVE, flag::OVERFLOW, flag::CARRY, flag::ZERO][row / 4];
                next = pc.wrapping_add(2);
                if self.has(bit) == (row % 4 == 3) {
                    let target = next.wrapping_add_signed((first as i8).into());
                    cycles += 1 + i32::from(target >> 8 != next >> 8);
                    next = target;
                }
            }
            "JMP" if opcode == 0x4c => next = operand,
            "JMP" => {
                next = self.word(
                    operand,
                    operand & 0xff00 | u16::from((operand as u8).wrapping_add(1)),
                )?;
            }
            "JSR" | "BRK" => {
                let [low, high] = pc.wrapping_add(2).to_le_bytes();
                self.push(high)?;
                self.push(low)?;
                next = operand;
                if name == "BRK" {
                    self.push(self.r.p | 0x30)?;
                    self.put(flag::INTERRUPT, true);
                    next = self.word(0xfffe, 0xffff)?;
                }
            }
            "RTS" => next = u16::from_le_bytes([self.pull()?, self.pull()?]).wrapping_add(1),
            "RTI" => {
                self.r.p = self.pull()? | 0x30;
                next = u16::from_le_bytes([self.pull()?, self.pull()?]);
            }
            "JAM" => next = pc,
            "NOP" => {}
            _ => unreachable!("{name}"),
        }
        self.r.pc = next;
        self.r.cycle += cycles;
        Some(())
    }
}
