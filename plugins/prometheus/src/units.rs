//! Durations, sizes and quantities as Prometheus and Kubernetes write them.

/// Milliseconds of a duration such as `1h30m`, as Prometheus reads it.
///
/// # Errors
/// In words, when it is none.
pub fn duration(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("y", 31_536_000_000),
        ("w", 604_800_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
        ("ms", 1),
    ];
    let wrong = || format!("\"{text}\" is not a duration such as 30s");
    if text == "0" {
        return Ok(0);
    }
    let (mut rest, mut total, mut next) = (text, 0u64, 0);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        let at = UNITS.iter().position(|(unit, _)| *unit == &rest[..letters]);
        let at = at.filter(|at| *at >= next).ok_or_else(wrong)?;
        total = number
            .checked_mul(UNITS[at].1)
            .and_then(|part| total.checked_add(part))
            .filter(|total| i64::try_from(*total).is_ok_and(|ms| ms <= i64::MAX / 1_000_000))
            .ok_or_else(|| format!("\"{text}\" is too long"))?;
        (rest, next) = (&rest[letters..], at + 1);
    }
    match text.is_empty() {
        true => Err("the duration is empty".to_owned()),
        false => Ok(total),
    }
}

/// Checks that a scrape may not take longer than the time between two.
///
/// # Errors
/// In words, when it may, or one of them is no duration.
pub fn timeout_within(timeout: &str, interval: &str) -> Result<(), String> {
    let every = duration(interval).map_err(|why| format!("scrape interval: {why}"))?;
    let within = duration(timeout).map_err(|why| format!("scrape timeout: {why}"))?;
    match within > every {
        true => Err(format!(
            "the scrape timeout {timeout} is longer than the scrape interval {interval}"
        )),
        false => Ok(()),
    }
}

/// Bytes of a size such as `10MB`, all units powers of 1024; 0 where it is none.
#[must_use]
pub fn size(text: &str) -> f64 {
    let digits = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "E" => 6,
        _ => return 0.0,
    };
    number.parse::<f64>().unwrap_or(0.0) * 1024f64.powi(power)
}

/// The number of a Kubernetes quantity such as `1.1` or `1100m`.
#[must_use]
pub fn quantity(text: &str) -> Option<f64> {
    let unit_at = text
        .find(|character: char| !character.is_ascii_digit() && !"+-.".contains(character))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    if let Some(exponent) = unit
        .strip_prefix(['e', 'E'])
        .filter(|rest| !rest.is_empty())
    {
        return format!("{number}e{exponent}").parse().ok();
    }
    let factor: f64 = match unit {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    // Dividing is exact where multiplying by a fraction is not: 1100m is 1.1.
    Some(match factor < 1.0 {
        true => number / (1.0 / factor).round(),
        false => number * factor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_prometheus_does() {
        for (text, milliseconds) in [
            ("30s", 30_000),
            ("1h30m", 5_400_000),
            ("5m10ms", 300_010),
            ("0", 0),
            ("1y", 31_536_000_000),
        ] {
            assert_eq!(duration(text), Ok(milliseconds), "{text}");
        }
        for text in ["", "30", "s", "1m1h", "1s1s", "-1s", "1.5h", "99999999y"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_timeout_fits_into_its_interval() {
        assert!(timeout_within("30s", "30s").is_ok());
        assert!(timeout_within("31s", "30s").unwrap_err().contains("longer"));
    }

    #[test]
    fn sizes_and_quantities_have_units() {
        assert!(size("2KB") < size("1MiB") && size("1.5GB") > size("1GiB"));
        assert_eq!(quantity("1100m"), Some(1.1));
        assert_eq!(quantity("1.1"), Some(1.1));
        assert_eq!(quantity("2k"), Some(2000.0));
        assert_eq!(quantity("x"), None);
    }
}
