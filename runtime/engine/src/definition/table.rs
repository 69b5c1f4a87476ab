//! The checker: walks a spanned TOML tree along its description and collects every problem with its place.

mod value;

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::path::Path;
use super::problem::Problem;
use super::shape::{Key, Shape, Status, TableShape};
use super::suggest::suggest;
use super::syntax::{self, Parsed};

/// A value and where it stands.
pub type Node<'t> = Spanned<DeValue<'t>>;

/// Checks one file and collects what is wrong with it.
#[derive(Debug)]
pub struct Checker<'a> {
    file: &'a str,
    source: &'a str,
    lines: Lines<'a>,
    root: &'static TableShape,
    first_header: Option<Range<usize>>,
    incomplete: bool,
    /// Whether a table may have been written twice, so that one of the two is not in the tree.
    duplicates: bool,
    /// Past this nothing in the tree is believed.
    believed_to: usize,
    /// Starts of values that came from the environment; they are never quoted.
    secret: HashSet<usize>,
    /// Starts of values that are not known, and therefore not checked.
    unknown: HashSet<usize>,
    /// The problems so far.
    pub problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    /// For `parsed`, the tree of `source`; takes its syntax problems over.
    pub fn new(file: &'a str, source: &'a str, root: &'static TableShape, parsed: &mut Parsed<'_>) -> Self {
        Self {
            file,
            source,
            lines: Lines::new(source),
            root,
            first_header: parsed.first_header.clone(),
            incomplete: parsed.incomplete,
            duplicates: parsed.problems.iter().any(|problem| problem.code == syntax::DUPLICATE_KEY),
            believed_to: parsed.believed_to,
            secret: HashSet::new(),
            unknown: HashSet::new(),
            problems: std::mem::take(&mut parsed.problems),
        }
    }

    /// Marks the value that starts at byte `start`: no message quotes it.
    pub fn keep_secret(&mut self, start: usize) {
        self.secret.insert(start);
    }

    /// Whether the value at `start` is shown nowhere.
    #[must_use]
    pub fn is_secret(&self, start: usize) -> bool {
        self.secret.contains(&start)
    }

    /// Leaves the value that starts at byte `start` unchecked: what it will be is not known.
    pub fn leave_out(&mut self, start: usize) {
        self.unknown.insert(start);
    }

    /// Adds an error at `span`.
    pub fn error(&mut self, code: &'static str, span: Range<usize>, message: impl Into<String>) -> &mut Problem {
        self.add(self.lines.place(Problem::error(code, self.file, message), span))
    }

    /// Adds a warning at `span`.
    pub fn warning(&mut self, code: &'static str, span: Range<usize>, message: impl Into<String>) -> &mut Problem {
        self.add(self.lines.place(Problem::warning(code, self.file, message), span))
    }

    fn add(&mut self, problem: Problem) -> &mut Problem {
        let at = self.problems.len();
        self.problems.push(problem);
        &mut self.problems[at]
    }

    /// Whether nothing stops what the file is about.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.problems.iter().any(Problem::is_error)
    }

    /// Checks the whole tree. What the syntax broke is not reported as missing.
    pub fn check(&mut self, root: &Spanned<DeTable<'_>>) {
        let broken: HashSet<Option<usize>> = self.problems.iter().map(|problem| problem.line).collect();
        let before = self.problems.len();
        self.table(root.get_ref(), self.root, &Path::ROOT, 0..0);
        let found = self.problems.split_off(before);
        let believed = |problem: &Problem| {
            let before_the_break = problem.span.as_ref().is_none_or(|span| span.start <= self.believed_to);
            !self.incomplete || (before_the_break && !broken.contains(&problem.line))
        };
        self.problems.extend(found.into_iter().filter(believed));
    }

    fn table(&mut self, table: &DeTable<'_>, shape: &'static TableShape, path: &Path<'_>, span: Range<usize>) {
        for (key, value) in in_order(table) {
            match shape.keys.iter().find(|known| known.name == key.get_ref().as_ref()) {
                Some(known) => self.known(key, value, known, path),
                None => self.unknown(key, value, shape, path, &span),
            }
        }
        for missing in shape.keys.iter().filter(|known| known.required && !table.contains_key(known.name)) {
            self.missing(missing, path, span.clone());
        }
    }

    fn missing(&mut self, key: &Key, path: &Path<'_>, span: Range<usize>) {
        if self.incomplete || (self.duplicates && !path.is_root()) {
            return;
        }
        let message = format!("`{}` is missing", path.key(key.name));
        let help = format!("add {} = …  # {}", key.name, key.about);
        self.error("missing_key", span, message).help = Some(help);
    }

    fn known(&mut self, key: &Spanned<impl AsRef<str>>, value: &Node<'_>, known: &'static Key, path: &Path<'_>) {
        let name = path.key(known.name);
        match known.status {
            Status::Built => self.value(value, &known.shape, &path.child(known.name)),
            Status::Refused => {
                let problem =
                    self.error("not_available_yet", key.span(), format!("this version does not have `{name}` yet"));
                problem.help = Some("take it out; nothing would act on it".to_owned());
            }
            Status::Passed => {
                let problem =
                    self.warning("not_available_yet", key.span(), format!("this version does not have `{name}` yet"));
                problem.help = Some("the runtime serves without it".to_owned());
            }
        }
    }

    fn unknown(
        &mut self,
        key: &Spanned<impl AsRef<str>>,
        value: &Node<'_>,
        shape: &'static TableShape,
        path: &Path<'_>,
        span: &Range<usize>,
    ) {
        let written = key.get_ref().as_ref();
        let strayed =
            !path.is_root() && self.is_header(span) && self.root.keys.iter().any(|known| known.name == written);
        if let Some(others) = shape.others {
            if let Some(Err(fault)) = shape.names.map(|rule| (rule.check)(written)) {
                let code = shape.names.map_or("unknown_key", |rule| rule.code);
                self.error(code, key.span(), format!("`{}` {}", brief(written), fault.message)).help = fault.help;
                return;
            }
            if strayed && !shape.own_names {
                let help = self.move_up(written, span);
                let message = format!("`{written}` stands under `{path}`; at the top level it would mean something");
                self.warning("misplaced_key", key.span(), message).help = Some(help);
            }
            self.value(value, &others.shape, &path.child(written));
            return;
        }
        if strayed {
            let help = self.move_up(written, span);
            let message = format!("`{written}` is a key of the top level, but stands under `{path}`");
            self.error("misplaced_key", key.span(), message).help = Some(help);
            return;
        }
        let place = if path.is_root() { String::new() } else { format!(" in `{path}`") };
        let help = self.instead(written, shape, path);
        self.error("unknown_key", key.span(), format!("unknown key `{written}`{place}")).help = Some(help);
    }

    /// What to write instead of an unknown key.
    fn instead(&self, written: &str, shape: &'static TableShape, path: &Path<'_>) -> String {
        let below = |key: &&Key| match key.shape {
            Shape::Table(table) => table.keys.iter().any(|inner| inner.name == written),
            Shape::Either(shapes) => shapes.iter().any(
                |shape| matches!(shape, Shape::Table(table) if table.keys.iter().any(|inner| inner.name == written)),
            ),
            _ => false,
        };
        if path.is_root()
            && let Some(home) = shape.keys.iter().find(below)
        {
            return format!("it is a key of [{}]: move it below that line", home.name);
        }
        match suggest(written, shape.keys.iter().map(|key| key.name)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                let built = shape.keys.iter().filter(|key| key.status != Status::Refused);
                let known: Vec<&str> = built.map(|key| key.name).collect();
                format!("known here: {}", known.join(", "))
            }
        }
    }

    /// TOML has no way back to the top level once a table has begun.
    fn move_up(&self, written: &str, span: &Range<usize>) -> String {
        let header = self.first_header.clone().unwrap_or_else(|| span.clone());
        let (line, _) = super::problem::line_and_column(self.source, header.start);
        let text = self.source.get(header).unwrap_or_default();
        format!("move `{written}` above line {line}, `{text}`: what follows a table header belongs to that table")
    }

    fn is_header(&self, span: &Range<usize>) -> bool {
        self.source.as_bytes().get(span.start) == Some(&b'[')
    }
}

/// A value's type, in words.
#[must_use]
pub fn type_in_words(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "`true`",
        DeValue::Boolean(false) => "`false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The first characters of a text, for quoting.
#[must_use]
pub fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// The entries in the order they stand in the file; the tree itself keeps them by name.
pub fn in_order<'m, 't>(table: &'m DeTable<'t>) -> Vec<(&'m Spanned<std::borrow::Cow<'t, str>>, &'m Node<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A whole number, when it fits.
#[must_use]
pub fn integer_of(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a person's temperature has no 53 significant bits")]
pub fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        other => integer_of(other).map(|integer| integer as f64),
    }
}
