//! Markdown cut into passages: what stands below one heading, in pieces that a model can be given.

/// A passage of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    /// The line it begins in, from 1.
    pub(super) line: usize,
    /// The headings above it, outermost first, joined by ` > `.
    pub(super) heading: String,
    /// Its text, without the heading.
    pub(super) text: String,
}

/// A passage ends at the next empty line after this many bytes …
const ENOUGH: usize = 1200;
/// … or at any line after this many.
const TOO_MUCH: usize = 2400;

/// Cuts a file.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    let mut cutter = Cutter::default();
    let mut lines = body(text).peekable();
    while let Some((number, line)) = lines.next() {
        if let Some(fence) = cutter.fence {
            cutter.fence = (!line.trim_start().starts_with(fence)).then_some(fence);
            cutter.line(number, line);
            continue;
        }
        let trimmed = line.trim_start();
        if let Some(fence) = ["```", "~~~"].into_iter().find(|fence| trimmed.starts_with(fence)) {
            cutter.fence = Some(fence);
            cutter.line(number, line);
            continue;
        }
        let underline = lines.peek().and_then(|(_, next)| level_of_underline(line, next));
        match heading(line).or_else(|| underline.map(|level| (level, line.trim()))) {
            Some((level, title)) => {
                cutter.heading(level, title);
                if underline.is_some() && heading(line).is_none() {
                    lines.next();
                }
            }
            None => cutter.line(number, line),
        }
    }
    cutter.close();
    cutter.passages
}

/// The lines with their numbers, without the front matter.
fn body(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_fence = |line: &str| line.trim_end() == "---";
    let front = match text.lines().next() {
        Some(first) if is_fence(first) => text.lines().skip(1).position(is_fence).map_or(0, |at| at + 2),
        _ => 0,
    };
    text.lines().enumerate().skip(front).map(|(at, line)| (at + 1, line))
}

/// `## Title ##`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line
        .get(level..)
        .filter(|rest| (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t'])))?;
    Some((level, title.trim().trim_end_matches('#').trim_end()))
}

/// A line of `=` or `-` below words makes them a heading.
fn level_of_underline(line: &str, next: &str) -> Option<usize> {
    let next = next.trim_end();
    let is_of = |mark: char| next.len() >= 2 && next.chars().all(|c| c == mark);
    let words = !line.trim().is_empty() && !line.starts_with([' ', '\t', '>', '|', '-', '*', '+']);
    match words {
        true if is_of('=') => Some(1),
        true if is_of('-') => Some(2),
        _ => None,
    }
}

#[derive(Default)]
struct Cutter {
    passages: Vec<Passage>,
    /// The headings above this line, each with its level.
    above: Vec<(usize, String)>,
    /// What closes the block of code this line is in.
    fence: Option<&'static str>,
    text: String,
    /// The line `text` begins in.
    line: usize,
}

impl Cutter {
    fn heading(&mut self, level: usize, title: &str) {
        self.close();
        self.above.retain(|(other, _)| *other < level);
        self.above.push((level, title.to_owned()));
    }

    fn line(&mut self, number: usize, line: &str) {
        let blank = line.trim().is_empty();
        let full = self.text.len() >= ENOUGH && blank && self.fence.is_none();
        if full || self.text.len() + line.len() > TOO_MUCH {
            self.close();
        }
        if self.text.is_empty() {
            if blank {
                return;
            }
            self.line = number;
        }
        // One line may be a book; a passage is not.
        let end = line.floor_char_boundary(2 * TOO_MUCH);
        self.text.push_str(line[..end].trim_end());
        self.text.push('\n');
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.text).trim_end().to_owned();
        if !text.is_empty() {
            let heading = self.above.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ");
            self.passages.push(Passage { line: self.line, heading, text });
        }
    }
}
