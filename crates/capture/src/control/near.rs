//! Suggestions for misspelt names.

use tracewright_image::Image;

/// Returns the symbol whose name is most similar to this one, if any is similar.
pub fn near<'i>(image: &'i Image, name: &str) -> Option<&'i str> {
    let most = (name.chars().count() / 3).clamp(1, 4);
    let near = image.symbols().names().filter_map(|known| Some((distance(name, known, most)?, known)));
    near.min().map(|(_, known)| known)
}

/// Returns the edit distance: characters inserted, removed, changed, or swapped with the next; `None` if it exceeds `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_are_as_people_mistype() {
        for (a, b, expected) in [
            ("main", "main", Some(0)),
            ("mian", "main", Some(1)),
            ("man", "main", Some(1)),
            ("mainn", "main", Some(1)),
            ("mxxn", "main", Some(2)),
            ("", "ab", Some(2)),
            ("ab", "", Some(2)),
            ("exit", "main", None),
            ("x", "much longer", None),
        ] {
            assert_eq!(distance(a, b, 2), expected, "{a} {b}");
        }
    }
}
