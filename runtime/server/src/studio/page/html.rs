//! Writing HTML: what is ours as it is, what comes from files escaped. There is no third way.

/// A piece of a page.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, safe between tags and inside quoted attributes.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                letter => self.0.push(letter),
            }
        }
        self
    }

    /// A sentence of a problem: what stands in backticks is a name.
    pub(super) fn prose(&mut self, text: &str) -> &mut Self {
        // An odd backtick at the end is only a backtick.
        let names = text.matches('`').count() / 2;
        for (at, piece) in text.splitn(2 * names + 1, '`').enumerate() {
            if at % 2 == 1 {
                self.raw("<code>").text(piece).raw("</code>");
            } else {
                self.text(piece);
            }
        }
        self
    }

    /// A number.
    pub(super) fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        self.text(&number.into().to_string())
    }

    /// The piece as text.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}
