//! The segmentation: of all sequences of pieces that make up a text, the one with the highest sum of scores.

use super::UNKNOWN;
use super::model::Piece;
use super::trie::{ROOT, Trie};

/// What a letter without a piece scores below the worst piece: it is taken only where nothing else covers the letter.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Vocabulary and scores.
#[derive(Debug)]
pub(super) struct Unigram {
    trie: Trie,
    scores: Vec<f32>,
    unknown_score: f64,
}

/// The best way known to a place in the text.
#[derive(Debug, Clone, Copy)]
struct Best {
    score: f64,
    /// Where its last piece begins.
    from: usize,
    piece: u32,
}

impl Unigram {
    /// Only pieces of text can be found; marks have ids and scores, but no text turns into them.
    pub(super) fn new(pieces: &[Piece<'_>]) -> Self {
        let texts = (0..).zip(pieces).filter(|(_, piece)| piece.is_text).map(|(id, piece)| (piece.text, id));
        let scores: Vec<f32> = pieces.iter().map(|piece| piece.score).collect();
        let worst = scores.iter().copied().fold(f32::INFINITY, f32::min);
        Self { trie: Trie::new(texts), unknown_score: f64::from(worst) - UNKNOWN_PENALTY, scores }
    }

    /// How many pieces there are, marks among them.
    pub(super) fn pieces(&self) -> usize {
        self.scores.len()
    }

    /// The ids of the best pieces; one unknown for each letter that no piece covers. Of equally good ways the one whose
    /// last piece is longest.
    pub(super) fn segment(&self, text: &str) -> Vec<u32> {
        let nowhere = Best { score: f64::NEG_INFINITY, from: 0, piece: UNKNOWN };
        let mut best = vec![nowhere; text.len() + 1];
        best[0].score = 0.0;
        for (from, letter) in text.char_indices() {
            let after_letter = from + letter.len_utf8();
            let is_covered = self.extend(text, from, after_letter, &mut best);
            if !is_covered {
                let score = best[from].score + self.unknown_score;
                improve(&mut best[after_letter], Best { score, from, piece: UNKNOWN });
            }
        }
        way_back(&best)
    }

    /// Tries every piece that begins here; tells whether one of them is the letter alone.
    fn extend(&self, text: &str, from: usize, after_letter: usize, best: &mut [Best]) -> bool {
        let mut is_covered = false;
        let mut node = ROOT;
        for (end, byte) in (from + 1..).zip(&text.as_bytes()[from..]) {
            let Some(next) = self.trie.step(node, *byte) else { break };
            node = next;
            let Some(piece) = self.trie.piece(node) else { continue };
            let score = best[from].score + f64::from(self.scores[piece as usize]);
            improve(&mut best[end], Best { score, from, piece });
            is_covered |= end == after_letter;
        }
        is_covered
    }
}

fn improve(best: &mut Best, other: Best) {
    if other.score > best.score {
        *best = other;
    }
}

fn way_back(best: &[Best]) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut end = best.len() - 1;
    while end > 0 {
        ids.push(best[end].piece);
        end = best[end].from;
    }
    ids.reverse();
    ids
}
