//! Where e-mail addresses, phone and card numbers are in a text. Full-width digits and signs count as their narrow
//! forms, as they occur in Chinese text.

use crate::Kind;

/// A place in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Letters in their narrow form, with where each begins.
pub(crate) struct Letters {
    pub(crate) chars: Vec<char>,
    starts: Vec<usize>,
}

impl Letters {
    pub(crate) fn of(text: &str) -> Self {
        let chars = text.chars().map(narrow).collect();
        let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        Self { chars, starts }
    }

    /// Where the letter begins in the text.
    pub(crate) fn byte(&self, at: usize) -> usize {
        self.starts[at]
    }
}

/// `０` → `0`, `＠` → `@`, `（` → `(`; the ideographic space is a space.
fn narrow(letter: char) -> char {
    match letter {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(letter as u32 - 0xFEE0).unwrap_or(letter),
        '\u{3000}' | '\u{00A0}' => ' ',
        '\u{2010}'..='\u{2013}' => '-',
        _ => letter,
    }
}

/// What may stand before the `@` of an address, or in the middle of any of the three.
pub(crate) fn is_local(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._%+-".contains(letter)
}

fn is_domain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '.' || letter == '-'
}

/// Everything found, in order, without overlaps.
pub(crate) fn all(text: &str) -> Vec<Found> {
    let letters = Letters::of(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.chars.len() {
        let hit = email(&letters.chars, at).or_else(|| number(&letters.chars, at));
        let Some((kind, end)) = hit else {
            at += 1;
            continue;
        };
        found.push(Found { kind, start: letters.byte(at), end: letters.byte(end) });
        at = end;
    }
    found
}

/// An address that begins here.
fn email(chars: &[char], start: usize) -> Option<(Kind, usize)> {
    if !is_local(chars[start]) || start.checked_sub(1).is_some_and(|before| is_local(chars[before])) {
        return None;
    }
    let sign = start + chars[start..].iter().position(|letter| !is_local(*letter))?;
    if chars[sign] != '@' {
        return None;
    }
    let run = chars[sign + 1..].iter().take_while(|letter| is_domain(**letter)).count();
    let mut end = sign + 1 + run;
    // A full stop or a dash after the address is the sentence's.
    while end > sign + 1 && !chars[end - 1].is_ascii_alphanumeric() {
        end -= 1;
    }
    let domain: String = chars[sign + 1..end].iter().collect();
    let (_, top) = domain.rsplit_once('.')?;
    let real = top.len() >= 2 && top.chars().all(|letter| letter.is_ascii_alphabetic());
    (real && !domain.starts_with(['.', '-']) && !domain.contains("..")).then_some((Kind::Email, end))
}

/// A number written in groups: its digits, and how long each group is.
struct Grouped {
    digits: String,
    groups: Vec<usize>,
    international: bool,
    end: usize,
}

/// What joins the groups of a number.
pub(crate) fn is_joint(letter: char) -> bool {
    " -.()".contains(letter)
}

/// The groups that begin here. Between two groups stands one sign, or a closing bracket and a sign.
fn grouped(chars: &[char], start: usize) -> Option<Grouped> {
    let mut at = start;
    let international = chars[at] == '+';
    if international {
        at += 1;
    }
    if chars.get(at) == Some(&'(') {
        at += 1;
    }
    let mut whole = Grouped { digits: String::new(), groups: Vec::new(), international, end: at };
    loop {
        let group = chars[at..].iter().take_while(|letter| letter.is_ascii_digit()).count();
        if group == 0 {
            break;
        }
        whole.digits.extend(&chars[at..at + group]);
        whole.groups.push(group);
        at += group;
        whole.end = at;
        let joints = chars[at..].iter().take(3).take_while(|letter| is_joint(**letter)).count();
        let single =
            joints == 1 || (joints == 2 && chars[at..at + 2].contains(&')')) || chars[at..].starts_with(&[' ', '(']);
        if !single {
            break;
        }
        at += joints;
    }
    (!whole.groups.is_empty()).then_some(whole)
}

/// A phone or card number that begins here.
fn number(chars: &[char], start: usize) -> Option<(Kind, usize)> {
    let first = chars[start];
    let before = start.checked_sub(1).map(|at| chars[at]);
    let inside = before.is_some_and(|letter| letter.is_ascii_alphanumeric() || "_-.@/+".contains(letter));
    if inside || !(first.is_ascii_digit() || first == '+' || first == '(') {
        return None;
    }
    let mut whole = grouped(chars, start)?;
    // What follows may belong to something else: `4111 1111 1111 1111 12/27`. Longest first.
    loop {
        let next = chars.get(whole.end);
        let ends = next.is_none_or(|letter| !letter.is_ascii_alphanumeric() && *letter != '_' && *letter != '@');
        // A bracket that is not closed within the number is the sentence's.
        let bracketed = first != '(' || chars[start..whole.end].contains(&')');
        if ends
            && bracketed
            && let Some(kind) = kind_of(&whole)
        {
            return Some((kind, whole.end));
        }
        let last = whole.groups.pop()?;
        whole.digits.truncate(whole.digits.len() - last);
        whole.end -= last;
        while whole.end > start && is_joint(chars[whole.end - 1]) {
            whole.end -= 1;
        }
        if whole.groups.is_empty() {
            return None;
        }
    }
}

fn kind_of(number: &Grouped) -> Option<Kind> {
    let count = number.digits.len();
    if !number.international && (13..=19).contains(&count) && luhn(&number.digits) && is_card(number) {
        return Some(Kind::Card);
    }
    is_phone(number).then_some(Kind::Phone)
}

/// Cards are written in one piece or in groups of four to six; issuers' numbers begin with 2 to 6.
fn is_card(number: &Grouped) -> bool {
    let grouped = number.groups.len() == 1 || number.groups.iter().all(|group| (1..=6).contains(group));
    grouped && number.digits.starts_with(['2', '3', '4', '5', '6'])
}

fn is_phone(number: &Grouped) -> bool {
    let (digits, groups) = (number.digits.as_str(), number.groups.as_slice());
    if number.international {
        return (8..=15).contains(&digits.len());
    }
    let mobile = digits.strip_prefix("0086").or_else(|| digits.strip_prefix("86").filter(|rest| rest.len() == 11));
    let mobile = mobile.unwrap_or(digits);
    let chinese_mobile = mobile.len() == 11 && mobile.starts_with('1') && mobile.as_bytes()[1] >= b'3';
    let chinese_landline =
        groups.len() == 2 && digits.starts_with('0') && (3..=4).contains(&groups[0]) && (7..=8).contains(&groups[1]);
    let american = matches!(groups, [3, 3, 4] | [1, 3, 3, 4]) && (groups.len() == 3 || digits.starts_with('1'));
    let trunk = groups.len() >= 2 && digits.starts_with('0') && (9..=12).contains(&digits.len());
    chinese_mobile || chinese_landline || american || trunk
}

/// The check digit of ISO/IEC 7812-1, annex B.
fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let value = u32::from(digit - b'0') * if at % 2 == 1 { 2 } else { 1 };
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10)
}
