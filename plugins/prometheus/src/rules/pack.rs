//! Files spread over ConfigMaps, which can hold so much only.

use std::collections::BTreeMap;

/// How much of files one ConfigMap holds: half of what etcd takes, which leaves room for everything else.
const MOST: usize = 512 * 1024;

/// Files by name, each into the last ConfigMap as long as it has room. There is always one.
#[must_use]
pub fn pack(files: BTreeMap<String, String>) -> Vec<BTreeMap<String, String>> {
    let mut packed = vec![BTreeMap::new()];
    let mut size = 0;
    for (name, text) in files {
        if size + text.len() > MOST && size > 0 {
            packed.push(BTreeMap::new());
            size = 0;
        }
        size += text.len();
        if let Some(last) = packed.last_mut() {
            last.insert(name, text);
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_megabyte_take_several() {
        let files = (0..11).map(|number| (format!("{number:02}"), "x".repeat(100 * 1024)));
        let packed = pack(files.collect());
        let sizes: Vec<usize> = packed.iter().map(BTreeMap::len).collect();
        assert_eq!(sizes, [5, 5, 1]);
        assert_eq!(pack(BTreeMap::new()), [BTreeMap::new()]);
    }
}
