//! Lines for a terminal of some width.

/// Returns lines of at most `width` characters, broken at blanks. All but the first begin with `indent` blanks. A word that is longer
/// stays whole.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let mut all = " ".repeat(blanks);
    let mut column = blanks;
    for (number, word) in text[blanks..].split(' ').enumerate() {
        let len = word.chars().count();
        if number > 0 && column + 1 + len > width && column > indent {
            all.push('\n');
            all.push_str(&" ".repeat(indent));
            column = indent;
        } else if number > 0 {
            all.push(' ');
            column += 1;
        }
        all.push_str(word);
        column += len;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks() {
        assert_eq!(wrap("short", 5, 2), "short");
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("  a  b ccc dd", 6, 4), "  a  b\n    ccc\n    dd");
        assert_eq!(wrap("/a/very/long/path: no", 10, 2), "/a/very/long/path:\n  no");
    }
}
