//! Which of several labels is the last one.

/// For each of these texts a number that orders them: their own where all are numbers, and their rank where all are dates of ISO 8601,
/// from the year on (`2024-05`, `2024-05-31`, `2024-05-31T12:30:00Z`); else the position of one that is neither, if there is one.
pub(super) fn ordered<T: AsRef<str>>(texts: &[T]) -> Result<Vec<f64>, usize> {
    let number = |text: &T| text.as_ref().trim().parse::<f64>().ok().filter(|own| !own.is_nan());
    let numbers: Vec<Option<f64>> = texts.iter().map(number).collect();
    if numbers.iter().all(Option::is_some) {
        return Ok(numbers.into_iter().flatten().collect());
    }
    let dates: Vec<bool> = texts.iter().map(|text| is_date(text.as_ref().trim())).collect();
    let other = || (0..texts.len()).find(|place| numbers[*place].is_none() && !dates[*place]);
    if let Some(first) = dates.iter().position(|is_date| !is_date) {
        return Err(other().unwrap_or(first));
    }
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|place| texts[*place].as_ref().trim());
    let mut ranks = vec![0.0; texts.len()];
    order.into_iter().enumerate().for_each(|(rank, place)| ranks[place] = rank as f64);
    Ok(ranks)
}

/// Whether a text is a date of ISO 8601 without an offset from universal time: such texts are in the order of the times that they name.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let (Some(year), Some(month)) = (bytes.get(..4), bytes.get(5..7)) else { return false };
    let (day, time) = bytes[7..].split_at(bytes[7..].len().min(3));
    let is_time = time.is_empty()
        || matches!(time[0], b'T' | b' ')
            && time[1..].iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'Z'));
    digits(year)
        && bytes[4] == b'-'
        && digits(month)
        && (day.is_empty() || day.len() == 3 && day[0] == b'-' && digits(&day[1..]))
        && is_time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_have_an_order_and_other_texts_have_none() {
        assert_eq!(ordered(&["9", "10", "-1.5"]), Ok(vec![9.0, 10.0, -1.5]));
        assert_eq!(ordered(&["2024-05-31", "2023-12-01", "2024-05-31T10:00:00Z"]), Ok(vec![1.0, 0.0, 2.0]));
        assert_eq!(ordered(&["2024-05", "2024-04"]), Ok(vec![1.0, 0.0]));
        for other in ["31/05/2024", "May", "", "2024-5-1", "2024-05-31T10:00+02:00", "2024-05-3"] {
            assert_eq!(ordered(&["2024-05-31", other]), Err(1), "{other}");
            assert_eq!(ordered(&["12", "13", other]), Err(2), "{other}");
        }
        assert_eq!(ordered(&["2024-05-31", "12"]), Err(1));
    }
}
