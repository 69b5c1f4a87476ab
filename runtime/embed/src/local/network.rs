//! The network: piece ids in, one vector of length 1 a sentence out.
//!
//! Each piece has a vector. Three branches look at windows of 2, 3 and 5 pieces: a projection, then two convolutions,
//! each added to what it was given. The piece's vector and the branches' outputs are laid side by side, normalised,
//! summed over the sentence and divided by the root of its length; a small residual network makes the final vector.
//!
//! Sentences of a batch are laid one after another, so that each weight is fetched from memory once a batch; a window
//! that reaches over its sentence's border finds zeros there. The sum over a sentence is taken before the last
//! projection, which is linear: one row a sentence is multiplied rather than one a piece.

use std::ops::Range;

use super::matrix::{Matrix, add, dot};
use super::table::Table;

/// Pieces in a window, and how many of them stand before the piece it belongs to; one branch each.
pub(super) const WINDOWS: [(usize, usize); 3] = [(2, 0), (3, 1), (5, 2)];

/// One branch's weights: a window's rows of `branch` values, one after another, times `branch` columns.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) first: Matrix,
    pub(super) first_bias: Vec<f32>,
    pub(super) second: Matrix,
    pub(super) second_bias: Vec<f32>,
}

/// Scale and shift after a normalisation.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// The residual network at the end: `a` and `b` are the ways around.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) first: Matrix,
    pub(super) second: Matrix,
    pub(super) second_around: Matrix,
    pub(super) third: Matrix,
    pub(super) fourth: Matrix,
    pub(super) fourth_around: Matrix,
}

/// All weights. Whoever makes it has checked that the shapes fit.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) table: Table,
    /// The three branches' projections side by side, normalised together.
    pub(super) projection: Matrix,
    pub(super) projection_bias: Vec<f32>,
    pub(super) projection_norm: Norm,
    pub(super) branches: [Branch; 3],
    pub(super) feature_norm: Norm,
    pub(super) pooled: Matrix,
    pub(super) pooled_bias: Vec<f32>,
    pub(super) tail: Tail,
    /// Keeps divisions by a deviation or a length from dividing by nothing.
    pub(super) epsilon: f32,
}

impl Network {
    /// One vector a sentence. A sentence without pieces gets zeros.
    pub(super) fn encode(&self, sentences: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let spans = spans(sentences);
        let mut features = self.piece_vectors(sentences);
        let mut projected = self.project(&features);
        for (number, branch) in self.branches.iter().enumerate() {
            let (width, _) = WINDOWS[number];
            debug_assert_eq!(branch.first.rows(), width * branch.first.columns());
            self.run_branch(number, branch, &mut projected, &spans, &mut features);
        }
        let Norm { scale, shift } = &self.feature_norm;
        features.normalise_rows(scale, shift, self.epsilon);
        let finished = self.finish(&self.pool(&features, &spans));
        (0..finished.rows()).map(|row| self.unit(finished.row(row))).collect()
    }

    /// The pieces' vectors, with room for the branches' outputs beside them.
    fn piece_vectors(&self, sentences: &[Vec<u32>]) -> Matrix {
        let pieces = sentences.iter().map(Vec::len).sum();
        let mut features = Matrix::zeros(pieces, self.feature_norm.scale.len());
        for (piece, row) in sentences.iter().flatten().zip(features.each_row_mut()) {
            self.table.read(*piece, &mut row[..self.table.width()]);
        }
        features
    }

    fn project(&self, features: &Matrix) -> Matrix {
        let mut projected = features.columns_of(0..self.table.width()).times(&self.projection);
        projected.add_to_rows(&self.projection_bias);
        let Norm { scale, shift } = &self.projection_norm;
        projected.normalise_rows(scale, shift, self.epsilon);
        projected
    }

    /// Two convolutions over one branch's columns of the projection; the output goes beside the pieces' vectors.
    fn run_branch(
        &self,
        number: usize,
        branch: &Branch,
        projected: &mut Matrix,
        spans: &[Range<usize>],
        features: &mut Matrix,
    ) {
        let columns = branch.first.columns();
        let from = number * columns;
        let before = WINDOWS[number].1;
        let input = projected.columns_of(from..from + columns);
        let middle = convolve(&input, &branch.first, &branch.first_bias, before, spans);
        let output = convolve(&middle, &branch.second, &branch.second_bias, before, spans);
        let place = self.table.width() + from;
        for row in 0..output.rows() {
            features.row_mut(row)[place..place + columns].copy_from_slice(output.row(row));
        }
    }

    /// One row a sentence: the projected sum of its pieces' features over the root of their number.
    fn pool(&self, features: &Matrix, spans: &[Range<usize>]) -> Matrix {
        let mut sums = Matrix::zeros(spans.len(), features.columns());
        for (sentence, span) in spans.iter().enumerate() {
            for piece in span.clone() {
                add(sums.row_mut(sentence), features.row(piece));
            }
        }
        let mut pooled = sums.times(&self.pooled);
        for (row, span) in pooled.each_row_mut().zip(spans) {
            let length = span.len().max(1) as f32;
            let factor = length.sqrt().recip();
            for (value, bias) in row.iter_mut().zip(&self.pooled_bias) {
                *value = (*value + length * bias) * factor;
            }
        }
        pooled
    }

    fn finish(&self, pooled: &Matrix) -> Matrix {
        let tail = &self.tail;
        let mut first = pooled.times(&tail.first);
        first.rectify();
        let mut second = pooled.times(&tail.second_around);
        second.add_product(&first, &tail.second);
        second.rectify();
        let mut third = second.times(&tail.third);
        third.rectify();
        let mut fourth = second.times(&tail.fourth_around);
        fourth.add_product(&third, &tail.fourth);
        fourth.map(f32::tanh);
        fourth
    }

    fn unit(&self, vector: &[f32]) -> Vec<f32> {
        let factor = dot(vector, vector).max(self.epsilon).sqrt().recip();
        vector.iter().map(|value| value * factor).collect()
    }
}

/// Which rows belong to which sentence.
fn spans(sentences: &[Vec<u32>]) -> Vec<Range<usize>> {
    let mut end = 0;
    let span = |sentence: &Vec<u32>| {
        let begin = end;
        end += sentence.len();
        begin..end
    };
    sentences.iter().map(span).collect()
}

/// One convolution, rectified and added to its input.
fn convolve(input: &Matrix, weights: &Matrix, bias: &[f32], before: usize, spans: &[Range<usize>]) -> Matrix {
    let mut output = windows(input, weights.rows() / input.columns().max(1), before, spans).times(weights);
    output.add_to_rows(bias);
    output.rectify();
    for row in 0..output.rows() {
        add(output.row_mut(row), input.row(row));
    }
    output
}

/// For each row, the rows of its window one after another; zeros where the window leaves the sentence.
fn windows(input: &Matrix, width: usize, before: usize, spans: &[Range<usize>]) -> Matrix {
    let columns = input.columns();
    let mut gathered = Matrix::zeros(input.rows(), width * columns);
    for span in spans {
        for row in span.clone() {
            let slots = gathered.row_mut(row).chunks_exact_mut(columns.max(1));
            for (slot, place) in slots.enumerate() {
                // `before` is subtracted last, so that nothing goes below 0 on the way.
                if let Some(from) = (row + slot).checked_sub(before).filter(|from| span.contains(from)) {
                    place.copy_from_slice(input.row(from));
                }
            }
        }
    }
    gathered
}

#[cfg(test)]
mod tests;
