//! The channel between the runtime and a plugin's own process: frames of a fixed header and a payload.

mod body;

pub use body::{CallBody, RequestBody};

use std::io::{self, Read, Write};

use roster_abi::frame::{HEADER_LEN, MAX_PAYLOAD};

/// The kind of event that tells of a completion for no call. The child alone knows: such a completion goes no further.
pub(crate) const STRAY: u32 = 0;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is: a number of `roster_abi::frame`.
    pub kind: u16,
    /// The call it belongs to, or 0.
    pub call: u64,
    /// A completion's status.
    pub status: i32,
    /// Encoding, kind of event, reason or credit.
    pub aux: u32,
    /// The rest.
    pub payload: Vec<u8>,
}

/// A frame that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload is longer than any may be.
    #[error("a frame of {0} bytes, more than {MAX_PAYLOAD}")]
    TooLong(usize),
    /// Its body is not what its kind says.
    #[error("a frame of kind {0} whose body cannot be read")]
    Body(u16),
}

impl Frame {
    /// A frame without call, status and payload.
    #[must_use]
    pub fn of(kind: u16) -> Self {
        Self { kind, call: 0, status: 0, aux: 0, payload: Vec::new() }
    }

    /// Appends it to `out`, as it goes over the channel.
    ///
    /// # Errors
    /// [`FrameError::TooLong`].
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        if self.payload.len() > MAX_PAYLOAD {
            return Err(FrameError::TooLong(self.payload.len()));
        }
        out.reserve(HEADER_LEN + self.payload.len());
        out.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        out.extend_from_slice(&self.call.to_le_bytes());
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&self.aux.to_le_bytes());
        out.extend_from_slice(&self.payload);
        Ok(())
    }

    /// The first frame of `bytes` and its length; `None` while it is not there whole.
    ///
    /// # Errors
    /// [`FrameError::TooLong`]: the channel cannot be read on.
    pub fn read_from(bytes: &[u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
        let (mut frame, length) = Self::header(header)?;
        let Some(payload) = bytes.get(HEADER_LEN..HEADER_LEN + length) else { return Ok(None) };
        frame.payload = payload.to_vec();
        Ok(Some((frame, HEADER_LEN + length)))
    }

    /// Reads one frame; `None` at the end of the channel.
    ///
    /// # Errors
    /// Those of the channel, and [`FrameError`] as `InvalidData`.
    pub fn read_blocking(channel: &mut impl Read) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER_LEN];
        let mut filled = 0;
        while let Some(rest) = header.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match channel.read(rest) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let (mut frame, length) =
            Self::header(&header).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        frame.payload.resize(length, 0);
        channel.read_exact(&mut frame.payload)?;
        Ok(Some(frame))
    }

    /// Writes one frame in one go.
    ///
    /// # Errors
    /// Those of the channel, and [`FrameError`] as `InvalidData`.
    pub fn write_blocking(&self, channel: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        channel.write_all(&bytes)
    }

    fn header(header: &[u8; HEADER_LEN]) -> Result<(Self, usize), FrameError> {
        let [l0, l1, l2, l3, k0, k1, _, _, c0, c1, c2, c3, c4, c5, c6, c7, s0, s1, s2, s3, a0, a1, a2, a3] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_PAYLOAD {
            return Err(FrameError::TooLong(length));
        }
        let frame = Self {
            kind: u16::from_le_bytes([k0, k1]),
            call: u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
            status: i32::from_le_bytes([s0, s1, s2, s3]),
            aux: u32::from_le_bytes([a0, a1, a2, a3]),
            payload: Vec::new(),
        };
        Ok((frame, length))
    }
}

#[cfg(test)]
mod tests;
