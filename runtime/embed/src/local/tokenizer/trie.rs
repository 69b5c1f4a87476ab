//! A trie over the bytes of the pieces, in three flat arrays: about 4 MB for 128,000 pieces.

use std::collections::VecDeque;

/// A place in the trie.
pub(super) type Node = u32;

/// The place everything begins at.
pub(super) const ROOT: Node = 0;

/// No piece ends here.
const NONE: u32 = u32::MAX;

/// The trie. Nodes are numbered level by level, so the children of a node stand together, ordered by their bytes.
#[derive(Debug)]
pub(super) struct Trie {
    /// The byte that leads to a node.
    labels: Vec<u8>,
    /// A node's first child; its last is before the next node's first.
    children: Vec<Node>,
    /// The piece that ends at a node.
    pieces: Vec<u32>,
}

/// Texts of a stretch of the sorted list that begin with the same `depth` bytes; they share a node.
struct Stretch {
    from: usize,
    to: usize,
    depth: usize,
}

impl Trie {
    /// A trie of these texts with their ids; of equal texts the last one counts. Empty texts are left out.
    pub(super) fn new<'a>(texts: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut sorted: Vec<(&[u8], u32)> =
            texts.filter(|(text, _)| !text.is_empty()).map(|(text, id)| (text.as_bytes(), id)).collect();
        sorted.sort_unstable();
        let mut trie = Self { labels: vec![0], children: Vec::new(), pieces: Vec::new() };
        let mut waiting = VecDeque::from([Stretch { from: 0, to: sorted.len(), depth: 0 }]);
        while let Some(stretch) = waiting.pop_front() {
            trie.add_node(&sorted, &stretch, &mut waiting);
        }
        trie.children.push(trie.count());
        trie.labels.shrink_to_fit();
        trie.children.shrink_to_fit();
        trie.pieces.shrink_to_fit();
        trie
    }

    /// Adds what is known of a node, and makes its children.
    fn add_node(&mut self, sorted: &[(&[u8], u32)], stretch: &Stretch, waiting: &mut VecDeque<Stretch>) {
        let Stretch { mut from, to, depth } = *stretch;
        self.children.push(self.count());
        let mut piece = NONE;
        // Texts that end here stand first.
        while let Some((_, id)) = sorted[from..to].first().filter(|(text, _)| text.len() == depth) {
            piece = *id;
            from += 1;
        }
        self.pieces.push(piece);
        while from < to {
            let byte = sorted[from].0[depth];
            let end = from + sorted[from..to].partition_point(|(text, _)| text[depth] == byte);
            self.labels.push(byte);
            waiting.push_back(Stretch { from, to: end, depth: depth + 1 });
            from = end;
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.labels.len()).unwrap_or(NONE)
    }

    /// The child that a byte leads to.
    pub(super) fn step(&self, node: Node, byte: u8) -> Option<Node> {
        let node = usize::try_from(node).ok()?;
        let begin = *self.children.get(node)?;
        let end = *self.children.get(node + 1)?;
        let labels = self.labels.get(usize::try_from(begin).ok()?..usize::try_from(end).ok()?)?;
        let place = labels.binary_search(&byte).ok()?;
        Some(begin + u32::try_from(place).ok()?)
    }

    /// The piece that ends at a node.
    pub(super) fn piece(&self, node: Node) -> Option<u32> {
        self.pieces.get(usize::try_from(node).ok()?).copied().filter(|piece| *piece != NONE)
    }
}
