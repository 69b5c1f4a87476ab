//! Where a value stands, for messages.

use super::table::brief;

/// Where a value stands, for messages: `memory.last_messages`, `tools[0]`. Built only when something is wrong.
#[derive(Debug)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Debug)]
pub(super) enum Step<'p> {
    Root,
    Key(&'p str),
    Item(usize),
}

impl Path<'_> {
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    pub(super) fn child<'c>(&'c self, key: &'c str) -> Path<'c> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    pub(super) fn item(&self, index: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Item(index) }
    }

    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    pub(super) fn key(&self, key: &str) -> String {
        self.child(key).to_string()
    }
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
            if !parent.is_root() && matches!(self.step, Step::Key(_)) {
                f.write_str(".")?;
            }
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key)
                if key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) && !key.is_empty() =>
            {
                f.write_str(key)
            }
            Step::Key(key) => write!(f, "\"{}\"", brief(key)),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}
