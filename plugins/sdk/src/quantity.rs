//! Amounts of storage, as Kubernetes writes them.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

/// Bytes of `10Gi`, `500M` or `1000`; `None` for anything else.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    let unit = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let factor: u64 = match &text[unit..] {
        "" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    let (whole, fraction) = text[..unit].split_once('.').unwrap_or((&text[..unit], ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    whole.checked_add(fraction_of(factor, fraction)?)
}

/// `25` of a unit of 1000 bytes is 250.
fn fraction_of(factor: u64, digits: &str) -> Option<u64> {
    let digits = &digits[..digits.len().min(6)];
    if digits.is_empty() {
        return Some(0);
    }
    let scale = 10u64.pow(u32::try_from(digits.len()).ok()?);
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .map(|parts| parts / scale)
}

/// The size that a claim asks for, in bytes.
#[must_use]
pub fn requested(claim: &PersistentVolumeClaim) -> Option<u64> {
    let resources = claim.spec.as_ref()?.resources.as_ref()?;
    bytes(&resources.requests.as_ref()?.get("storage")?.0)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn amounts_are_read_as_kubernetes_reads_them() {
        for (text, expected) in [
            ("1Gi", Some(1 << 30)),
            ("1.5Ki", Some(1536)),
            ("500M", Some(500_000_000)),
            ("1000", Some(1000)),
            ("1Qi", None),
            ("", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
