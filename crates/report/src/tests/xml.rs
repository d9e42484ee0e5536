//! As much of XML as says whether a picture is well-formed, and what it holds.

/// An element without what is in it.
#[derive(Clone, Debug)]
pub struct Tag {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// The text directly in it.
    pub text: String,
    /// How many elements it is in.
    pub depth: usize,
}

impl Tag {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.0 == name).map(|attribute| attribute.1.as_str())
    }

    /// A number of it.
    pub fn number(&self, name: &str) -> f64 {
        let text = self.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.name));
        text.parse().unwrap_or_else(|_| panic!("{name}={text}"))
    }
}

/// All elements in the order in which they begin, or why it is not well-formed.
pub fn parse(xml: &str) -> Result<Vec<Tag>, String> {
    let mut tags: Vec<Tag> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = xml;
    if let Some(bad) =
        xml.chars().find(|&c| !matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..))
    {
        return Err(format!("{bad:?} is no character of XML"));
    }
    loop {
        let (text, more) = rest.split_once('<').map_or((rest, None), |(text, more)| (text, Some(more)));
        let text = unescaped(text)?;
        match open.last() {
            Some(&at) => tags[at].text += &text,
            None if text.trim().is_empty() => {}
            None => return Err(format!("{text:?} is in no element")),
        }
        let Some(more) = more else { break };
        // Ours is escaped in attributes, too.
        let (tag, more) = more.split_once('>').ok_or("a tag does not end")?;
        rest = more;
        if let Some(name) = tag.strip_prefix('/') {
            let at = open.pop().ok_or_else(|| format!("</{name}> ends nothing"))?;
            if tags[at].name != name {
                return Err(format!("</{name}> ends <{}>", tags[at].name));
            }
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        if open.is_empty() && !tags.is_empty() {
            return Err(format!("<{tag}> is behind the root"));
        }
        let element = element(tag, open.len())?;
        tags.push(element);
        if !is_empty {
            open.push(tags.len() - 1);
        }
    }
    match open.last() {
        Some(&at) => Err(format!("<{}> does not end", tags[at].name)),
        None if tags.is_empty() => Err("there is no element".into()),
        None => Ok(tags),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '_'))
}

fn element(tag: &str, depth: usize) -> Result<Tag, String> {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (key, more) = rest.split_once("=\"").ok_or_else(|| format!("{rest:?} is no attribute"))?;
        let (value, more) = more.split_once('"').ok_or_else(|| format!("{rest:?} does not end"))?;
        if !is_name(key) || attributes.iter().any(|attribute| attribute.0 == key) || value.contains('<') {
            return Err(format!("{key}={value:?} is no attribute, or comes twice"));
        }
        attributes.push((key.into(), unescaped(value)?));
        if !more.is_empty() && !more.starts_with(' ') {
            return Err(format!("no space before {more:?}"));
        }
        rest = more.trim_start_matches(' ');
    }
    match is_name(name) {
        true => Ok(Tag { name: name.into(), attributes, text: String::new(), depth }),
        false => Err(format!("<{name}> is no name")),
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut parts = text.split('&');
    out += parts.next().unwrap_or_default();
    for part in parts {
        let (name, more) = part.split_once(';').ok_or_else(|| format!("&{part} does not end"))?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" | "apos" => '\'',
            _ => return Err(format!("&{name}; is not known")),
        });
        out += more;
    }
    Ok(out)
}

/// The checker finds what is wrong; if it did not, nothing that uses it would say anything.
#[test]
fn what_is_not_well_formed_is_found() {
    let good = parse("<a x=\"1\"><b y=\"&lt;\"/>t&amp;<c>u</c>v</a>\n").unwrap();
    assert_eq!(
        good.iter().map(|tag| (tag.name.as_str(), tag.depth)).collect::<Vec<_>>(),
        [("a", 0), ("b", 1), ("c", 1)]
    );
    assert_eq!((good[0].text.as_str(), good[1].get("y"), good[2].text.as_str()), ("t&v", Some("<"), "u"));
    for bad in [
        "",
        "text",
        "<a>",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>text",
        "<a x=1/>",
        "<a x=\"1\" x=\"2\"/>",
        "<a x=\"1\"y=\"2\"/>",
        "<a x=\"<\"/>",
        "<a>&</a>",
        "<a>&nbsp;</a>",
        "<a>a < b</a>",
        "<a>\u{1}</a>",
        "<a>\u{ffff}</a>",
        "<a",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
