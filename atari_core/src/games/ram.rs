//! RAM as the rules of games read it.

/// RAM by its addresses, $80 to $ff.
#[derive(Clone, Copy)]
pub struct Ram<'a> {
    console: &'a [u8; 128],
    cartridge: &'a [u8; 128],
}

impl<'a> Ram<'a> {
    /// RAM of the console, address $80 first, and the cartridge's own, which is not looked at where it has none.
    #[must_use]
    pub fn new(console: &'a [u8; 128], cartridge: &'a [u8; 128]) -> Self {
        Self { console, cartridge }
    }

    /// The byte at an address.
    #[must_use]
    pub fn at(self, address: u8) -> i32 {
        self.console[usize::from(address & 0x7f)].into()
    }

    /// The byte of the cartridge's own RAM that is read at $f000 and this address, $80 to $ff.
    #[must_use]
    pub fn in_cartridge(self, address: u8) -> i32 {
        self.cartridge[usize::from(address & 0x7f)].into()
    }

    /// A number of two decimal digits a byte, the most significant byte first.
    #[must_use]
    pub fn bcd(self, addresses: &[u8]) -> i32 {
        addresses.iter().fold(0, |number, &address| {
            number * 100 + bcd_of(self.at(address))
        })
    }

    /// A number of one digit in the lower nibble of each byte, the most significant first.
    #[must_use]
    pub fn digits(self, addresses: &[u8]) -> i32 {
        addresses.iter().fold(0, |number, &address| {
            number * 10 + digit(self.at(address) & 15)
        })
    }

    /// A number whose digits are bytes that point to shapes of eight lines; $80 is a blank.
    #[must_use]
    pub fn shapes(self, addresses: &[u8]) -> i32 {
        addresses.iter().fold(0, |number, &address| {
            let shape = self.at(address);
            number * 10 + if shape == 0x80 { 0 } else { shape >> 3 }
        })
    }
}

/// Two decimal digits of a byte, the upper nibble the tens.
pub(super) fn bcd_of(byte: i32) -> i32 {
    (byte >> 4) * 10 + (byte & 15)
}

/// A number below 100 as two decimal digits of a byte.
pub(super) fn to_bcd(number: i32) -> i32 {
    number / 10 * 16 + number % 10
}

/// A nibble that shows a digit; 10 is a blank.
pub(super) fn digit(nibble: i32) -> i32 {
    if nibble == 10 { 0 } else { nibble }
}

/// A byte that counts below zero.
pub(super) fn signed(byte: i32) -> i32 {
    if byte < 0x80 { byte } else { byte - 0x100 }
}
