//! Which of several labels is the last one.

/// For each of these texts a number that orders them: their own where all are numbers, and the rank of the times that they name where all are dates of
/// ISO 8601, from the year on (`2024-05`, `2024-W09`, `2024-05-31`, `2024-05-31T12:30:00Z`, `2024-05-31 9:30`); else the position of one that is neither,
/// if there is one. A month, a week and a day are their beginnings.
pub(super) fn ordered<T: AsRef<str>>(texts: &[T]) -> Result<Vec<f64>, usize> {
    let number = |text: &T| text.as_ref().trim().parse::<f64>().ok().filter(|own| !own.is_nan());
    let numbers: Vec<Option<f64>> = texts.iter().map(number).collect();
    if numbers.iter().all(Option::is_some) {
        return Ok(numbers.into_iter().flatten().collect());
    }
    let times: Vec<Option<Time>> = texts.iter().map(|text| time_of(text.as_ref().trim())).collect();
    let other = || (0..texts.len()).find(|place| numbers[*place].is_none() && times[*place].is_none());
    if let Some(first) = times.iter().position(Option::is_none) {
        return Err(other().unwrap_or(first));
    }
    let mut all: Vec<Time> = times.iter().flatten().copied().collect();
    all.sort_by(|one, other| one.partial_cmp(other).expect("times are finite"));
    let rank = |own: &Time| all.partition_point(|other| other < own) as f64;
    Ok(times.iter().flatten().map(rank).collect())
}

/// A day, counted from a fixed one on, and the seconds since it began.
pub(in crate::bind) type Time = (i64, f64);

/// The time that a text of ISO 8601 names, without an offset from universal time.
pub(in crate::bind) fn time_of(text: &str) -> Option<Time> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, seconds(time.trim_start())?),
        None => (text, 0.0),
    };
    let day = day_of(date)?;
    // A time is that of a day.
    (time == 0.0 || date.len() == "2024-05-31".len()).then_some((day, time))
}

/// A number of so many digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// The day on which `2024-05-31`, `2024-05`, `2024-W09-5` or `2024-W09` begins.
fn day_of(date: &str) -> Option<i64> {
    let (year, rest) = date.split_once('-')?;
    let year = digits(year, 4)?;
    if let Some(week) = rest.strip_prefix('W') {
        let (week, weekday) = week.split_once('-').unwrap_or((week, "1"));
        let (week, weekday) = (digits(week, 2)?, digits(weekday, 1)?);
        // The first week has the fourth of January; days since a Monday are weekdays.
        let fourth = days_before(year, 1, 4);
        let monday = fourth - (fourth - MONDAY).rem_euclid(7);
        let is_one = (1..=53).contains(&week) && (1..=7).contains(&weekday);
        return is_one.then(|| monday + 7 * (week - 1) + weekday - 1);
    }
    let (month, day) = rest.split_once('-').unwrap_or((rest, "01"));
    let (month, day) = (digits(month, 2)?, digits(day, 2)?);
    let is_one = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_one.then(|| days_before(year, month, day))
}

/// A Monday in the count of [`days_before`]: the first of January 2024.
const MONDAY: i64 = days_before(2024, 1, 1);

/// The days before this one, counted in the Gregorian calendar from the first of March of the year 0 on: years that begin with March have their leap day at
/// their end, and before a month the days `(153 m + 2) / 5` with m = 0 in March (Richards 2013, Calendars, in: Explanatory Supplement to the
/// Astronomical Almanac).
const fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let month = (month + 9) % 12;
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
}

/// The seconds of `12:30:00.25Z`, `12:30:00`, `12:30`, `9:30` or `12`.
fn seconds(time: &str) -> Option<f64> {
    let time = time.strip_suffix('Z').unwrap_or(time);
    let mut parts = time.split(':');
    let hour = parts.next()?;
    let hour = digits(hour, 2).or_else(|| digits(hour, 1))?;
    let minute = parts.next().map_or(Some(0), |own| digits(own, 2))?;
    let second = match parts.next() {
        None => 0.0,
        Some(own) => {
            let (whole, part) = own.split_once('.').unwrap_or((own, "0"));
            digits(whole, 2)?;
            let is_part = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            is_part.then(|| format!("{whole}.{part}").parse::<f64>().ok()).flatten()?
        }
    };
    let is_one = parts.next().is_none() && hour <= 24 && minute < 60 && second < 61.0;
    is_one.then(|| (3600 * hour + 60 * minute) as f64 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_have_an_order_and_other_texts_have_none() {
        assert_eq!(ordered(&["9", "10", "-1.5"]), Ok(vec![9.0, 10.0, -1.5]));
        assert_eq!(ordered(&["2024-05-31", "2023-12-01", "2024-05-31T10:00:00Z"]), Ok(vec![1.0, 0.0, 2.0]));
        assert_eq!(ordered(&["2024-05", "2024-04"]), Ok(vec![1.0, 0.0]));
        assert_eq!(
            ordered(&["2024-04-01 9:00", "2024-04-01 10:00", "2024-03-01 8:00"]),
            Ok(vec![1.0, 2.0, 0.0])
        );
        assert_eq!(
            ordered(&["2024-01-01T10:00:00Z", "2024-01-01T10:00:00.5Z", "2024-01-01T10:00Z"]),
            Ok(vec![0.0, 2.0, 0.0])
        );
        // Weeks 9 of 2024 and 1 of 2021 begin on 26 February 2024 and 4 January 2021; 2020 has 53 weeks (ISO 8601).
        assert_eq!(
            ordered(&["2024-W09", "2024-02-26", "2024-02-25", "2021-01-04", "2021-W01", "2020-W53-7"]),
            Ok(vec![4.0, 4.0, 3.0, 1.0, 1.0, 0.0])
        );
        for other in [
            "31/05/2024",
            "May",
            "",
            "2024-5-1",
            "2024-05-31T10:00+02:00",
            "2024-05-3",
            "2024-13-01",
            "2024-W54",
        ] {
            assert_eq!(ordered(&["2024-05-31", other]), Err(1), "{other}");
            assert_eq!(ordered(&["12", "13", other]), Err(2), "{other}");
        }
        assert_eq!(ordered(&["2024-05-31", "12"]), Err(1));
    }
}
