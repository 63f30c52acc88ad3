//! Numbers as text, fast and exact.

/// The powers of ten that a double holds exactly.
pub(super) const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The number that a field is: what `str::parse::<f64>` gives, or `None`.
///
/// A decimal m * 10^e with m <= 2^53 and |e| <= 22 is one product or quotient of two doubles that are exact, so that
/// the processor rounds it correctly (Clinger 1990, "How to read floating point numbers accurately"). All others are
/// left to the standard library.
#[inline]
pub(crate) fn number(field: &[u8]) -> Option<f64> {
    short_decimal(field).or_else(|| std::str::from_utf8(field).ok()?.parse().ok())
}

#[inline]
fn short_decimal(field: &[u8]) -> Option<f64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, field),
    };
    // Nineteen digits fit into 64 bits.
    if digits.len() > 19 {
        return None;
    }
    let mut mantissa = 0u64;
    let mut any_digit = false;
    let mut exponent = 0i32;
    let mut after_point = false;
    let mut rest = digits;
    while let [byte, tail @ ..] = rest {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            mantissa = mantissa * 10 + u64::from(digit);
            any_digit = true;
            exponent -= i32::from(after_point);
        } else if *byte == b'.' && !after_point {
            after_point = true;
        } else {
            break;
        }
        rest = tail;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        exponent += small_integer(tail)?;
    } else if !rest.is_empty() {
        return None;
    }
    if !any_digit || mantissa > 1 << 53 {
        return None;
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    let magnitude = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    Some(if negative { -magnitude } else { magnitude })
}

/// An exponent of at most three digits.
fn small_integer(field: &[u8]) -> Option<i32> {
    let (sign, digits) = match field {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, field),
    };
    if digits.is_empty() || digits.len() > 3 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(sign * digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0')))
}

/// The whole number that a field is, if it has no sign and is at most 2^64 - 1.
#[inline]
pub(crate) fn whole(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    for byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Whether a field of a text table says that its entry is missing: it is empty, `NA` or `NaN` in any case.
#[inline]
pub(crate) fn is_missing(field: &[u8]) -> bool {
    field.is_empty() || field.eq_ignore_ascii_case(b"na") || field.eq_ignore_ascii_case(b"nan")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let expected = text.parse::<f64>().ok();
        assert_eq!(number(text.as_bytes()).map(f64::to_bits), expected.map(f64::to_bits), "{text:?}");
    }

    #[test]
    fn numbers_are_read_as_by_the_standard_library() {
        let texts = "0 -0 +0 1 -1 +1 007 1. .5 -.5 . - + e5 1e5 1E5 1e+5 1e-5 1e 1e+ 1.5e22 1.5e23 1e400 -1e400 1e-400 \
             9007199254740992 9007199254740993 9007199254740994 9223372036854775807 18446744073709551616 \
             0.1 0.3 123.456 1.7976931348623157e308 2.2250738585072014e-308 4.9e-324 1e22 1e23 8.5e-23 \
             inf -inf +inf Infinity nan -nan NaN 1_000 1,5 0x10 1f 1d 1e5.0 1.2.3 --1 +-1 1e0005 1e-0022 \
             0.000000000000000000000001 1234567890123456789 99999999999999999999 \u{661}";
        texts.split(' ').for_each(check);
        check("");
        check(" 1");
        check("1 ");
    }

    proptest! {
        #[test]
        fn any_double_is_read_exactly(bits: u64) {
            let value = f64::from_bits(bits);
            check(&format!("{value}"));
            check(&format!("{value:e}"));
            check(&format!("{value:.3}"));
        }

        #[test]
        fn any_short_decimal_is_read_exactly(mantissa in 0u64..u64::MAX, shift in 0u32..64, places in 0usize..12, power in -40i32..40) {
            let digits = format!("{:0width$}", mantissa >> shift, width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            check(&format!("{whole}.{fraction}"));
            check(&format!("-{whole}.{fraction}e{power}"));
        }

        #[test]
        fn any_text_is_read_as_by_the_standard_library(text in "[-+0-9.eEinfa]{0,12}") {
            check(&text);
        }

        #[test]
        fn whole_numbers_are_those_without_sign(text in "[-+0-9 ]{0,21}") {
            let expected = text.parse::<u64>().ok().filter(|_| !text.starts_with('+'));
            if text.len() <= 20 {
                prop_assert_eq!(whole(text.as_bytes()), expected);
            }
        }
    }
}
