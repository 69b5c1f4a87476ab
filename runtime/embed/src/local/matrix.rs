//! Dense matrices of 32-bit floats, row by row in one piece of memory, and the few things the network does with them.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

/// For so few rows the library would take longer to arrange the weights than to multiply.
const FEW_ROWS: usize = 2;

/// A matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f32>,
}

impl Matrix {
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// `None` unless the values fill the shape exactly.
    pub(super) fn from_values(rows: usize, columns: usize, values: Vec<f32>) -> Option<Self> {
        (rows.checked_mul(columns) == Some(values.len())).then_some(Self { rows, columns, values })
    }

    /// The matrices side by side; all have the same number of rows.
    pub(super) fn beside(parts: &[Self]) -> Self {
        let rows = parts.first().map_or(0, Self::rows);
        let columns = parts.iter().map(Self::columns).sum();
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for part in parts {
                values.extend_from_slice(part.row(row));
            }
        }
        Self { rows, columns, values }
    }

    /// A copy of some of the columns.
    pub(super) fn columns_of(&self, columns: Range<usize>) -> Self {
        let mut values = Vec::with_capacity(self.rows * columns.len());
        for row in 0..self.rows {
            values.extend_from_slice(&self.row(row)[columns.clone()]);
        }
        Self { rows: self.rows, columns: columns.len(), values }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    pub(super) fn each_row_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        // A matrix without columns has no values either, so the width of a row does not matter.
        self.values.chunks_exact_mut(self.columns.max(1))
    }

    /// `self` times `weights`.
    pub(super) fn times(&self, weights: &Self) -> Self {
        let mut product = Self::zeros(self.rows, weights.columns);
        product.add_product(self, weights);
        product
    }

    /// Adds `left` times `right`.
    pub(super) fn add_product(&mut self, left: &Self, right: &Self) {
        if left.rows <= FEW_ROWS {
            for row in 0..left.rows {
                add_combination(self.row_mut(row), left.row(row), right);
            }
            return;
        }
        general_mat_mul(1.0, &left.view(), &right.view(), 1.0, &mut self.view_mut());
    }

    /// Adds the same to each row.
    pub(super) fn add_to_rows(&mut self, bias: &[f32]) {
        for row in self.each_row_mut() {
            add(row, bias);
        }
    }

    /// Negative values become 0.
    pub(super) fn rectify(&mut self) {
        for value in &mut self.values {
            *value = value.max(0.0);
        }
    }

    pub(super) fn map(&mut self, function: impl Fn(f32) -> f32) {
        for value in &mut self.values {
            *value = function(*value);
        }
    }

    /// Each row gets mean 0 and variance 1, then is scaled and moved, column by column.
    pub(super) fn normalise_rows(&mut self, scale: &[f32], shift: &[f32], epsilon: f32) {
        for row in self.each_row_mut() {
            let count = row.len() as f32;
            let mean = sum(row) / count;
            row.iter_mut().for_each(|value| *value -= mean);
            let factor = (dot(row, row) / count + epsilon).sqrt().recip();
            for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
                *value = *value * factor * scale + shift;
            }
        }
    }

    fn view(&self) -> ArrayView2<'_, f32> {
        // The shape always fits the values, so the empty view is never what is used.
        ArrayView2::from_shape((self.rows, self.columns), &self.values).unwrap_or_else(|_| ArrayView2::from(&[[]; 0]))
    }

    fn view_mut(&mut self) -> ArrayViewMut2<'_, f32> {
        let shape = (self.rows, self.columns);
        ArrayViewMut2::from_shape(shape, &mut self.values).unwrap_or_else(|_| ArrayViewMut2::from(&mut [[]; 0]))
    }
}

/// Adds the rows of `matrix`, each times its factor. Four rows go at a time, so that the sum is fetched and stored less
/// often than the rows; those with factor 0, half of them after a rectification, are not fetched at all.
fn add_combination(to: &mut [f32], factors: &[f32], matrix: &Matrix) {
    let used: Vec<(f32, &[f32])> = (0..)
        .zip(factors)
        .filter(|(_, factor)| **factor != 0.0)
        .map(|(row, factor)| (*factor, matrix.row(row)))
        .collect();
    let (fours, rest) = used.as_chunks::<4>();
    for [(a, first), (b, second), (c, third), (d, fourth)] in fours {
        let rows = first.iter().zip(*second).zip(third.iter().zip(*fourth));
        for (sum, ((first, second), (third, fourth))) in to.iter_mut().zip(rows) {
            *sum += (a * first + b * second) + (c * third + d * fourth);
        }
    }
    for (factor, row) in rest {
        for (sum, value) in to.iter_mut().zip(*row) {
            *sum += factor * value;
        }
    }
}

/// Adds `more` to `values`, one by one.
pub(super) fn add(values: &mut [f32], more: &[f32]) {
    for (value, more) in values.iter_mut().zip(more) {
        *value += more;
    }
}

/// Independent partial sums, which the compiler keeps in vector registers and which lose less than one long sum.
const LANES: usize = 16;

fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// The dot product.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (left_blocks, left_rest) = left.as_chunks::<LANES>();
    let (right_blocks, right_rest) = right.as_chunks::<LANES>();
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        for ((lane, left), right) in lanes.iter_mut().zip(left).zip(right) {
            *lane += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests;
