//! Text in pictures: how wide it is about, and what XML takes.

use tracewright_core::text::is_unprintable;

/// As XML takes it in text and in attributes. What XML cannot say, and what changes the direction of the text around it,
/// becomes U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if is_unprintable(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// About how wide a character is, in parts of the font's size. Fonts differ: these are of a wide one.
fn width_of(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.41,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.98,
        '<' | '>' | '=' | '+' | '&' | '~' => 0.84,
        'A'..='Z' => 0.72,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{1100}'.. => 1.05,
        _ => 0.62,
    }
}

/// About how wide a text is in a font of this size.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(width_of).sum::<f64>() * size
}

/// The text, or its beginning and end with an ellipsis between them, if it is wider than `room`: of a qualified name both
/// ends tell most.
pub fn cut(text: &str, room: f64, size: f64) -> String {
    // Of a text that is too long for any room, no more is looked at than could matter.
    let most = (room.max(0.0) / (0.34 * size)) as usize + 1;
    if text.chars().nth(most).is_none() && width(text, size) <= room {
        return text.to_owned();
    }
    let mut left = room - width("…", size);
    let (mut head, mut tail) = (String::new(), Vec::new());
    let mut chars = text.chars();
    loop {
        let at_head = head.chars().count() <= tail.len();
        let Some(c) = (if at_head { chars.next() } else { chars.next_back() }) else { break };
        left -= width_of(c) * size;
        if left < 0.0 {
            break;
        }
        if at_head { head.push(c) } else { tail.push(c) }
    }
    head + "…" + &tail.iter().rev().collect::<String>()
}
