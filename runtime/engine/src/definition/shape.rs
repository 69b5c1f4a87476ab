//! How what people write is described: one description of a file's keys, which both the checker (`table`) and the
//! JSON Schema (`schema`) follow, so that the two cannot say different things.

/// One key of a table.
#[derive(Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What it is for, shown by editors.
    pub about: &'static str,
    /// What may stand there.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
    /// Whether this version has it.
    pub status: Status,
    /// The default, as JSON.
    pub default: Option<&'static str>,
}

/// Whether this version has a key or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Built,
    /// Known, not built yet: an error where it stands, so that nobody waits for something that never happens.
    Refused,
    /// Known, not built yet, and harmless to leave out: a warning where it stands.
    Passed,
}

impl Key {
    /// A key that may be left out.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str, shape: Shape) -> Self {
        Self { name, about, shape, required: false, status: Status::Built, default: None }
    }

    /// It must be there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Its default, as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    /// Known, not built yet.
    #[must_use]
    pub const fn status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }
}

/// What may stand at a place.
#[derive(Debug)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A switch of which only `false` is built.
    OnlyFalse,
    /// `false`, beside other shapes.
    False,
    /// A whole number within bounds, both included.
    Integer(i64, i64),
    /// A number within bounds, both included.
    Number(f64, f64),
    /// Any string.
    Text,
    /// A string of a form.
    Rule(&'static TextRule),
    /// One of some strings.
    Choice(&'static [(&'static str, Status)]),
    /// A list.
    List(&'static ListShape),
    /// A table with known keys.
    Table(&'static TableShape),
    /// The first of these that fits the type written.
    Either(&'static [Shape]),
    /// Anything that JSON can say too.
    Any,
}

/// A list.
#[derive(Debug)]
pub struct ListShape {
    /// Its items.
    pub item: Shape,
    /// The fewest items.
    pub least: usize,
    /// Whether an item may stand there once only (strings).
    pub unique: bool,
}

/// A table.
#[derive(Debug)]
pub struct TableShape {
    /// The keys it knows, in the order a person would write them.
    pub keys: &'static [Key],
    /// What other keys may hold; `None`: there are no others.
    pub others: Option<&'static Key>,
    /// What the names of other keys must be; `None`: anything.
    pub names: Option<&'static TextRule>,
    /// True when the names of other keys are a person's own, so that one that is a key elsewhere is no slip.
    pub own_names: bool,
}

impl TableShape {
    /// A table that knows these keys and no other.
    #[must_use]
    pub const fn closed(keys: &'static [Key]) -> Self {
        Self { keys, others: None, names: None, own_names: false }
    }

    /// A table with any keys, all of one kind.
    #[must_use]
    pub const fn open(others: &'static Key) -> Self {
        Self { keys: &[], others: Some(others), names: None, own_names: false }
    }

    /// With keys of its own, known by name.
    #[must_use]
    pub const fn knowing(mut self, keys: &'static [Key]) -> Self {
        self.keys = keys;
        self
    }

    /// Whose other keys are named by a person.
    #[must_use]
    pub const fn own_names(mut self) -> Self {
        self.own_names = true;
        self
    }

    /// With a rule for the names of the other keys.
    #[must_use]
    pub const fn named(mut self, names: &'static TextRule) -> Self {
        self.names = Some(names);
        self
    }
}

/// A string of a form: checked by a function, described to editors by a pattern. A test holds the two together.
#[derive(Debug)]
pub struct TextRule {
    /// The form in words, after "expected": "a time such as `\"30s\"`".
    pub noun: &'static str,
    /// Machine code of the problem.
    pub code: &'static str,
    /// ECMA regular expression that accepts the same strings.
    pub pattern: &'static str,
    /// Says what is wrong.
    pub check: fn(&str) -> Result<(), Fault>,
}

/// What is wrong with a string. Never quotes it: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Fits after the key's name: "is empty".
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Fault {
    /// Without help.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// With help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Shape {
    /// What fits here, in words, after "must be".
    #[must_use]
    pub fn noun(&self) -> String {
        match self {
            Self::Bool => "`true` or `false`".to_owned(),
            Self::OnlyFalse | Self::False => "`false`".to_owned(),
            Self::Integer(least, most) => match (*least, *most) {
                (i64::MIN, i64::MAX) => "a whole number".to_owned(),
                (least, i64::MAX) => format!("a whole number of at least {least}"),
                (least, most) => format!("a whole number from {least} to {most}"),
            },
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Text => "a string".to_owned(),
            Self::Rule(rule) => rule.noun.to_owned(),
            Self::Choice(choices) => choices_in_words(choices),
            Self::List(list) => match list.item {
                Self::Text | Self::Rule(_) | Self::Choice(_) => "a list of strings".to_owned(),
                Self::Table(_) => "a list of tables".to_owned(),
                _ => "a list".to_owned(),
            },
            Self::Table(_) => "a table".to_owned(),
            Self::Either(shapes) => either_in_words(shapes),
            Self::Any => "a value".to_owned(),
        }
    }
}

fn choices_in_words(choices: &[(&str, Status)]) -> String {
    let built: Vec<String> = choices
        .iter()
        .filter(|(_, status)| *status == Status::Built)
        .map(|(name, _)| format!("`\"{name}\"`"))
        .collect();
    joined(&built, "or")
}

fn either_in_words(shapes: &[Shape]) -> String {
    let nouns: Vec<String> = shapes.iter().map(Shape::noun).collect();
    joined(&nouns, "or")
}

/// `a`, `a or b`, `a, b or c`.
#[must_use]
pub fn joined(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}
