//! What stands in a file of weights, and the reading of it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use super::matrix::Matrix;
use super::network::{Branch, Network, Norm, Tail, WINDOWS};
use super::table::{Table, packed_bytes};
use super::tensors::{TensorError, TensorFile};
use super::tokenizer::{ModelError, Tokenizer};

/// The file's name in its folder. One file holds weights and vocabulary, so the two always belong together.
pub(super) const FILE: &str = "use-multilingual.safetensors";
/// The note in the file that says what is in it, and its value.
pub(super) const FORMAT: (&str, &str) = ("format", "roster-use-1");
/// The tensor that holds the SentencePiece model as it came.
pub(super) const VOCABULARY: &str = "sentencepiece";
/// The tensor that holds the packed table.
pub(super) const TABLE: &str = "table";
/// Every tensor of floats, under the package's own names.
pub(super) const FLOATS: [&str; 37] = [
    "scale", "lo", "eps", "proj2", "proj3", "proj5", "proj_b2", "proj_b3", "proj_b5", "ln_g2", "ln_g3", "ln_g5",
    "ln_b2", "ln_b3", "ln_b5", "w1_2", "w1_3", "w1_5", "b1_2", "b1_3", "b1_5", "w2_2", "w2_3", "w2_5", "b2_2", "b2_3",
    "b2_5", "ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "p1", "d2", "p3", "d3",
];

/// Why weights cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file is not there.
    #[error("the weights of the embedder `local` are not there")]
    Missing,
    /// The file cannot be read from the disk.
    #[error("the weights of the embedder `local` cannot be read: {0}")]
    Io(#[source] io::Error),
    /// The file is not what it should be.
    #[error("the weights of the embedder `local` are damaged: {0}")]
    Damaged(String),
}

impl From<TensorError> for WeightsError {
    fn from(error: TensorError) -> Self {
        match error {
            // A file that is too short is damaged; a disk that fails is not the file's fault.
            TensorError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => Self::Io(error),
            error => Self::Damaged(error.to_string()),
        }
    }
}

impl From<ModelError> for WeightsError {
    fn from(error: ModelError) -> Self {
        Self::Damaged(format!("its vocabulary cannot be read: {error}"))
    }
}

/// Reads tokenizer and network from the folder.
///
/// # Errors
/// [`WeightsError`] when the file is not there, cannot be read, or does not hold a network of so many dimensions.
pub(super) fn load(folder: &Path, dimensions: usize) -> Result<(Tokenizer, Network), WeightsError> {
    #[expect(clippy::disallowed_methods, reason = "the folder of weights is handed in by the host")]
    let file = File::open(folder.join(FILE)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => WeightsError::Missing,
        _ => WeightsError::Io(error),
    })?;
    read(BufReader::new(file), dimensions)
}

/// The same from an open file.
pub(super) fn read(reader: impl Read + Seek, dimensions: usize) -> Result<(Tokenizer, Network), WeightsError> {
    let mut file = TensorFile::open(reader)?;
    if file.note(FORMAT.0) != Some(FORMAT.1) {
        return Err(WeightsError::Damaged("it is in another format; import the weights again".to_owned()));
    }
    let tokenizer = Tokenizer::from_model(&file.bytes(VOCABULARY)?)?;
    let network = Reading { file }.network()?;
    if network.pooled.columns() != dimensions {
        return Err(WeightsError::Damaged(format!("its vectors have {} numbers", network.pooled.columns())));
    }
    if tokenizer.pieces() > network.table.rows() {
        return Err(WeightsError::Damaged("its vocabulary has more pieces than its table".to_owned()));
    }
    Ok((tokenizer, network))
}

/// A file being read.
struct Reading<R> {
    file: TensorFile<R>,
}

impl<R: Read + Seek> Reading<R> {
    fn network(&mut self) -> Result<Network, WeightsError> {
        let (embedding, branch) = self.sides("proj2")?;
        let (_, hidden) = self.sides("d0")?;
        let all = embedding.saturating_add(branch.saturating_mul(3));
        let projections = [
            self.matrix("proj2", embedding, branch)?,
            self.matrix("proj3", embedding, branch)?,
            self.matrix("proj5", embedding, branch)?,
        ];
        Ok(Network {
            table: self.table(embedding)?,
            projection: Matrix::beside(&projections),
            projection_bias: self.three_vectors("proj_b", branch)?,
            projection_norm: Norm {
                scale: self.three_vectors("ln_g", branch)?,
                shift: self.three_vectors("ln_b", branch)?,
            },
            branches: [self.branch(0, branch)?, self.branch(1, branch)?, self.branch(2, branch)?],
            feature_norm: Norm { scale: self.vector("ln_g", all)?, shift: self.vector("ln_b", all)? },
            pooled: self.matrix("cnn_W", all, embedding)?,
            pooled_bias: self.vector("cnn_b", embedding)?,
            tail: self.tail(embedding, hidden)?,
            epsilon: self.vector("eps", 1)?.first().copied().unwrap_or_default(),
        })
    }

    fn table(&mut self, embedding: usize) -> Result<Table, WeightsError> {
        let damaged = || WeightsError::Damaged("the parts of its table do not fit together".to_owned());
        let (_, row_bytes) = self.sides(TABLE)?;
        if packed_bytes(embedding) != Some(row_bytes) {
            return Err(damaged());
        }
        let chunks = usize_of(self.file.shape("scale")?.first().copied().unwrap_or_default());
        let (scale, lowest) = (self.vector("scale", chunks)?, self.vector("lo", chunks)?);
        Table::new(self.file.bytes(TABLE)?, embedding, scale, lowest).ok_or_else(damaged)
    }

    fn branch(&mut self, number: usize, columns: usize) -> Result<Branch, WeightsError> {
        let (width, _) = WINDOWS[number];
        let rows = width.saturating_mul(columns);
        Ok(Branch {
            first: self.matrix(&format!("w1_{width}"), rows, columns)?,
            first_bias: self.vector(&format!("b1_{width}"), columns)?,
            second: self.matrix(&format!("w2_{width}"), rows, columns)?,
            second_bias: self.vector(&format!("b2_{width}"), columns)?,
        })
    }

    fn tail(&mut self, embedding: usize, hidden: usize) -> Result<Tail, WeightsError> {
        Ok(Tail {
            first: self.matrix("d0", embedding, hidden)?,
            second: self.matrix("d1", hidden, hidden)?,
            second_around: self.matrix("p1", embedding, hidden)?,
            third: self.matrix("d2", hidden, embedding)?,
            fourth: self.matrix("d3", embedding, embedding)?,
            fourth_around: self.matrix("p3", hidden, embedding)?,
        })
    }

    /// Rows and columns of a tensor of two sides.
    fn sides(&self, name: &str) -> Result<(usize, usize), WeightsError> {
        match self.file.shape(name)? {
            [rows, columns] => Ok((usize_of(*rows), usize_of(*columns))),
            _ => Err(WeightsError::Damaged(format!("`{name}` is no matrix"))),
        }
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Matrix, WeightsError> {
        let values = self.file.floats(name, &[rows as u64, columns as u64])?;
        Matrix::from_values(rows, columns, values)
            .ok_or_else(|| WeightsError::Damaged(format!("`{name}` is not whole")))
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, WeightsError> {
        Ok(self.file.floats(name, &[length as u64])?)
    }

    /// The vectors of the three branches one after another.
    fn three_vectors(&mut self, name: &str, length: usize) -> Result<Vec<f32>, WeightsError> {
        let mut joined = Vec::new();
        for (width, _) in WINDOWS {
            joined.extend(self.vector(&format!("{name}{width}"), length)?);
        }
        Ok(joined)
    }
}

/// A side that does not fit this machine's addresses fits no file either: the shape is refused later.
fn usize_of(side: u64) -> usize {
    usize::try_from(side).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
