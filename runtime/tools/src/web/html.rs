//! HTML to text, simply: tags go, blocks become lines, entities become letters. No tree is built; one pass from left to
//! right, whatever the page.

/// Elements whose content is no text for people.
const HIDDEN: &[&str] = &["script", "style", "noscript", "template", "svg", "iframe", "math", "object"];
/// Elements that begin a line of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tr",
    "ul",
    "body",
];

/// Title and text of a page.
pub(super) fn to_text(html: &str) -> (Option<String>, String) {
    let mut reader = Reader::default();
    let mut rest = html;
    let mut cut = false;
    while let Some(at) = rest.find('<') {
        // More is never told: reading on would only hold up others on this thread.
        if reader.text.len() + reader.open.len() > MOST_READ {
            (rest, cut) = ("", true);
            break;
        }
        reader.words(&rest[..at]);
        rest = reader.markup(&rest[at..]);
    }
    reader.words(rest);
    reader.line();
    let title = reader.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    // Untrimmed when cut: it stays longer than what is told, so that the answer says that its end is missing.
    let text = if cut { reader.text } else { reader.text.trim().to_owned() };
    (title.filter(|title| !title.is_empty()), text)
}

/// Bytes of text after which no more markup is read: well above what a model is told, so that a cut one is known as cut.
const MOST_READ: usize = 2 * super::page::MOST_TEXT;

#[derive(Default)]
struct Reader {
    text: String,
    /// The line being written.
    open: String,
    title: Option<String>,
    in_title: bool,
    titles: usize,
    /// Inside so many `pre`: blanks and line ends stay.
    kept: usize,
}

impl Reader {
    /// Takes what begins with `<`; gives what comes after it.
    fn markup<'h>(&mut self, html: &'h str) -> &'h str {
        if let Some(comment) = html.strip_prefix("<!--") {
            return after(comment, "-->");
        }
        if html.starts_with("<!") || html.starts_with("<?") {
            return after(html, ">");
        }
        let inner = &html[1..];
        let (closes, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.words("<");
            return &html[1..];
        }
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(inner.len());
        let name = inner[..end].to_ascii_lowercase();
        let rest = after_tag(&inner[end..]);
        if !closes && HIDDEN.contains(&name.as_str()) {
            return after_element(rest, &name);
        }
        self.tag(&name, closes);
        rest
    }

    fn tag(&mut self, name: &str, closes: bool) {
        if BLOCKS.contains(&name) {
            self.line();
        }
        match (name, closes) {
            ("title", closes) => {
                self.in_title = !closes;
                self.titles += usize::from(!closes);
            }
            ("pre", false) => self.kept += 1,
            ("pre", true) => self.kept = self.kept.saturating_sub(1),
            ("li", false) => self.open.push_str("- "),
            ("td" | "th", true) => self.open.push('\t'),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                self.text.push('\n');
                self.open.push_str(&"#".repeat(usize::from(name.as_bytes()[1] - b'0')));
                self.open.push(' ');
            }
            ("p" | "table" | "ul" | "ol", false) => self.text.push('\n'),
            _ => {}
        }
    }

    fn words(&mut self, html: &str) {
        let words = entities(html);
        if self.in_title && self.titles > 1 {
            // A page has one; a second is nobody's text.
        } else if self.in_title {
            self.title.get_or_insert_default().push_str(&words);
        } else if self.kept > 0 {
            for (at, line) in words.split('\n').enumerate() {
                if at > 0 {
                    self.line();
                }
                self.open.push_str(line);
            }
        } else {
            let blank = |c: char| c.is_whitespace();
            if words.starts_with(blank) && !self.open.is_empty() && !self.open.ends_with(blank) {
                self.open.push(' ');
            }
            self.open.push_str(&words.split_whitespace().collect::<Vec<_>>().join(" "));
            if words.ends_with(blank) && !self.open.is_empty() && !self.open.ends_with(blank) {
                self.open.push(' ');
            }
        }
    }

    /// Ends the line; never more than one empty line follows another.
    fn line(&mut self) {
        let line = std::mem::take(&mut self.open);
        let line = line.trim_end();
        if line.is_empty() && self.kept == 0 || line == "-" {
            return;
        }
        while self.text.ends_with("\n\n\n") {
            self.text.pop();
        }
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// What comes after the next `mark`; nothing when there is none.
fn after<'h>(html: &'h str, mark: &str) -> &'h str {
    html.find(mark).map_or("", |at| &html[at + mark.len()..])
}

/// What comes after the `>` of a tag; one inside quotation marks is no end.
fn after_tag(attributes: &str) -> &str {
    let mut quote = None;
    for (at, c) in attributes.char_indices() {
        match (quote, c) {
            (None, '>') => return &attributes[at + 1..],
            (None, '"' | '\'') => quote = Some(c),
            (Some(mark), c) if mark == c => quote = None,
            _ => {}
        }
    }
    ""
}

/// What comes after the element `name`, whose content is not looked at.
fn after_element<'h>(html: &'h str, name: &str) -> &'h str {
    let mut rest = html;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return after_tag(&rest[name.len()..]);
        }
    }
    ""
}

/// `&amp;`, `&#228;`, `&#xe4;`; a name nobody knows stays as it stands.
fn entities(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        // No name is longer than this.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((letter, end)) => {
                text.push(letter);
                rest = &rest[end + 1..];
            }
            None => {
                text.push('&');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || *c == '\n');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "middot" => '·',
        "bull" => '•',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "deg" => '°',
        "times" => '×',
        "euro" => '€',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        "rarr" => '→',
        "larr" => '←',
        _ => return None,
    })
}
