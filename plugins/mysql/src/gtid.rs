//! Sets of transactions, as MySQL writes them: `UUID:1-5:7,UUID:TAG:1-3`.

use std::collections::BTreeMap;
use std::fmt;

/// A set of global transaction identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet {
    /// By source: its uuid, or its uuid and tag. Never an empty list.
    sources: BTreeMap<String, Intervals>,
}

/// Sorted, apart from each other, and never empty: first and last number.
type Intervals = Vec<(u64, u64)>;

impl GtidSet {
    /// Reads a set; `None` when the text is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut set = Self::default();
        let members = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        for member in members {
            set.read_member(member)?;
        }
        Some(set)
    }

    /// `UUID`, then intervals; a word that is no interval is a tag, and names the source of those after it.
    fn read_member(&mut self, member: &str) -> Option<()> {
        let mut words = member.split(':').map(str::trim);
        let uuid = words.next()?.to_ascii_lowercase();
        let mut source = uuid.clone();
        for word in words {
            match read_interval(word) {
                Some((first, last)) if first <= last && first > 0 => self.add(&source, first, last),
                Some(_) => return None,
                None if is_tag(word) => source = format!("{uuid}:{}", word.to_ascii_lowercase()),
                None => return None,
            }
        }
        Some(())
    }

    fn add(&mut self, source: &str, first: u64, last: u64) {
        let list = self.sources.entry(source.to_owned()).or_default();
        list.push((first, last));
        *list = normal(std::mem::take(list));
    }

    /// True when it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// How many transactions it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        let lengths = self.sources.values().flatten();
        lengths.fold(0, |sum: u64, (first, last)| {
            sum.saturating_add(last - first).saturating_add(1)
        })
    }

    /// Whether every transaction of `other` is in this set.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.minus(self).is_empty()
    }

    /// The transactions of either.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (source, list) in &other.sources {
            let joined = sum.sources.remove(source).unwrap_or_default();
            let joined = normal([joined, list.clone()].concat());
            sum.sources.insert(source.clone(), joined);
        }
        sum
    }

    /// The transactions of this set that `other` lacks.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let rest = self.sources.iter().filter_map(|(source, list)| {
            let taken = other.sources.get(source).map_or(&[][..], Vec::as_slice);
            let rest = subtract(list, taken);
            (!rest.is_empty()).then(|| (source.clone(), rest))
        });
        Self {
            sources: rest.collect(),
        }
    }

    /// The set without the transactions that this server began.
    #[must_use]
    pub fn without_source(&self, uuid: &str) -> Self {
        let of = |source: &str| source.split(':').next().unwrap_or_default().to_owned();
        let rest = self.sources.iter();
        let rest = rest.filter(|(source, _)| !of(source).eq_ignore_ascii_case(uuid));
        Self {
            sources: rest
                .map(|(key, list)| (key.clone(), list.clone()))
                .collect(),
        }
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (source, list)) in self.sources.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            f.write_str(source)?;
            for (first, last) in list {
                match first == last {
                    true => write!(f, ":{first}")?,
                    false => write!(f, ":{first}-{last}")?,
                }
            }
        }
        Ok(())
    }
}

fn read_interval(word: &str) -> Option<(u64, u64)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

/// A tag begins with a letter or an underscore.
fn is_tag(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Sorted, with neighbours joined.
fn normal(mut list: Intervals) -> Intervals {
    list.sort_unstable();
    let mut joined: Intervals = Vec::with_capacity(list.len());
    for (first, last) in list {
        match joined.last_mut() {
            Some(previous) if first <= previous.1.saturating_add(1) => {
                previous.1 = previous.1.max(last);
            }
            _ => joined.push((first, last)),
        }
    }
    joined
}

fn subtract(list: &[(u64, u64)], taken: &[(u64, u64)]) -> Intervals {
    let mut rest = Vec::new();
    for &(first, last) in list {
        let mut next = first;
        for &(from, to) in taken
            .iter()
            .filter(|(from, to)| *from <= last && *to >= first)
        {
            if from > next {
                rest.push((next, from - 1));
            }
            next = next.max(to.saturating_add(1));
        }
        if next <= last {
            rest.push((next, last));
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::GtidSet;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> GtidSet {
        GtidSet::parse(&text.replace('A', A).replace('B', B)).unwrap()
    }

    fn short(set: &GtidSet) -> String {
        set.to_string().replace(A, "A").replace(B, "B")
    }

    #[test]
    fn sets_are_read_as_mysql_writes_them() {
        for (text, normal) in [
            ("", ""),
            ("A:1", "A:1"),
            ("A:5-7:1-4", "A:1-7"),
            ("A:1-3:7,\nB:1", "A:1-3:7,B:1"),
            ("A:1:tag:1-2:4", "A:1,A:tag:1-2:4"),
        ] {
            assert_eq!(short(&set(text)), normal, "{text}");
        }
    }

    #[test]
    fn what_is_no_set_is_not_read() {
        for text in ["A:0", "A:5-3", "A:x-y", "A:1-2-3"] {
            assert_eq!(GtidSet::parse(text), None, "{text}");
        }
    }

    #[test]
    fn subtraction_leaves_what_the_other_lacks() {
        for (from, taken, rest) in [
            ("A:1-10", "A:3-4:8", "A:1-2:5-7:9-10"),
            ("A:1-10", "B:1-10", "A:1-10"),
            ("A:1-10,B:1", "A:1-20", "B:1"),
            ("A:5", "A:1-4:6", "A:5"),
            ("A:1-3", "A:1-3", ""),
            ("A:tag:1-3", "A:1-3", "A:tag:1-3"),
        ] {
            assert_eq!(
                short(&set(from).minus(&set(taken))),
                rest,
                "{from} - {taken}"
            );
        }
    }

    #[test]
    fn the_sum_holds_both_and_counts_each_once() {
        let sum = set("A:1-3").and(&set("A:3-5,B:1"));
        assert_eq!(short(&sum), "A:1-5,B:1");
        assert_eq!(sum.count(), 6);
        assert!(sum.contains(&set("A:2-4")) && !sum.contains(&set("B:2")));
    }

    #[test]
    fn a_source_is_left_out_with_its_tags() {
        assert_eq!(short(&set("A:1,A:tag:2,B:3").without_source(A)), "B:3");
    }
}
