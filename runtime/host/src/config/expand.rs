//! `${NAME}` in the string values of `config/runtime.toml`: only the braced form, only in values, once.

use roster_engine::definition::table::Checker;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Environment;

/// Replaces every variable in the values of `table`; what cannot be replaced is a problem that names variable and key.
pub(super) fn expand(table: &mut Spanned<DeTable<'_>>, environment: Environment<'_>, checker: &mut Checker<'_>) {
    in_table(table.get_mut(), "", environment, checker);
}

fn in_table(table: &mut DeTable<'_>, path: &str, environment: Environment<'_>, checker: &mut Checker<'_>) {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    for (key, value) in table.iter_mut() {
        in_value(value, &format!("{prefix}{}", key.get_ref()), environment, checker);
    }
}

fn in_value(value: &mut Spanned<DeValue<'_>>, path: &str, environment: Environment<'_>, checker: &mut Checker<'_>) {
    let span = value.span();
    match value.get_mut() {
        DeValue::String(text) if text.contains("${") => {
            let (expanded, faults) = expanded(text, environment);
            if expanded != *text {
                checker.keep_secret(span.start);
            }
            *text = expanded.into();
            for fault in faults {
                checker.leave_out(span.start);
                fault.report(path, span.clone(), checker);
            }
        }
        DeValue::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                in_value(item, &format!("{path}[{index}]"), environment, checker);
            }
        }
        DeValue::Table(table) => in_table(table, path, environment, checker),
        _ => {}
    }
}

/// What stands between `${` and `}` and cannot be replaced.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Unset(String),
    NoName,
}

impl Fault {
    fn report(self, path: &str, span: std::ops::Range<usize>, checker: &mut Checker<'_>) {
        match self {
            Self::Unset(name) => {
                let message = format!("the variable `{name}`, needed by `{path}`, is not set");
                checker.error("variable_missing", span, message).help = Some(format!("set {name} before starting"));
            }
            Self::NoName => {
                let message = format!("`${{` in `{path}` is followed by no name and `}}`");
                let help = "write ${NAME} for a variable, $${ for the characters themselves";
                checker.error("bad_variable", span, message).help = Some(help.to_owned());
            }
        }
    }
}

/// `$NAME`, `$` and `$$` stay as written, `$${` gives `${`; what came from a variable is not looked at again.
fn expanded(text: &str, environment: Environment<'_>) -> (String, Vec<Fault>) {
    let (mut out, mut faults, mut rest) = (String::with_capacity(text.len()), Vec::new(), text);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("$${") {
            out.push_str("${");
            rest = after;
        } else if let Some(after) = from.strip_prefix("${") {
            // Without an end there is no name either.
            let (name, after) = after.split_once("}").unwrap_or(("", ""));
            match (is_name(name), environment(name)) {
                (false, _) => faults.push(Fault::NoName),
                (true, None) => faults.push(Fault::Unset(name.to_owned())),
                (true, Some(value)) => out.push_str(&value),
            }
            rest = after;
        } else {
            out.push('$');
            rest = &from[1..];
        }
    }
    out.push_str(rest);
    (out, faults)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let environment = |name: &str| match name {
            "USER" => Some("x".to_owned()),
            "KEY_A" => Some("k$USER".to_owned()),
            "KEY_B" => Some("${USER}".to_owned()),
            _ => None,
        };
        let (found, faults) = expanded(text, &environment);
        assert_eq!((found.as_str(), faults.as_slice()), (expected, [].as_slice()), "{text}");
    }

    #[test]
    fn only_the_braced_form_expands_and_only_once() {
        check("S3cret$USER!", "S3cret$USER!");
        check("pa$$word", "pa$$word");
        check("${KEY_A}", "k$USER");
        check("${KEY_B}", "${USER}");
        check("a${USER}b${USER}c", "axbxc");
        check("$${USER}", "${USER}");
        check("$$${USER}", "$${USER}");
        check("$", "$");
        check("{USER}", "{USER}");
    }

    #[test]
    fn what_cannot_be_replaced_is_said() {
        let none = |_: &str| None;
        assert_eq!(expanded("${KEY_MISSING}", &none).1, vec![Fault::Unset("KEY_MISSING".to_owned())]);
        assert_eq!(expanded("${}", &none).1, vec![Fault::NoName]);
        assert_eq!(expanded("${USER", &none).1, vec![Fault::NoName]);
        assert_eq!(expanded("${a b}", &none).1, vec![Fault::NoName]);
    }
}
