//! Arithmetic against tables that were not made from this code.

use super::decimal;

#[test]
fn decimal_addition_is_decimal_on_valid_digits() {
    let packed = |number: u32| number / 10 * 16 + number % 10;
    for a in 0..100 {
        for b in 0..100 {
            let (sum, _, carry) = decimal::add(packed(a), packed(b), 0);
            assert_eq!(
                (sum, carry),
                (packed((a + b) % 100), u32::from(a + b > 99)),
                "{a} + {b}"
            );
            let (difference, _, carry) = decimal::subtract(packed(a), packed(b), 1);
            assert_eq!(
                (difference, carry),
                (packed((100 + a - b) % 100), u32::from(a >= b)),
                "{a} - {b}"
            );
        }
    }
}
