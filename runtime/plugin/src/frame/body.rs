//! The bodies of CALL, REQUEST and REPLY.

use roster_abi::frame::{CALL, REQUEST};

use super::FrameError;

/// The body of a CALL, borrowed from its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallBody<'a> {
    /// Milliseconds from now; 0: none.
    pub deadline_ms: u64,
    /// Of the input.
    pub encoding: u32,
    /// `CALL_*`.
    pub flags: u32,
    /// Which contribution.
    pub component: &'a str,
    /// What of it.
    pub method: &'a str,
    /// JSON.
    pub context: &'a [u8],
    /// The input.
    pub input: &'a [u8],
}

impl<'a> CallBody<'a> {
    /// As it goes over the channel.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let texts = [self.component.as_bytes(), self.method.as_bytes(), self.context];
        let length = 28 + texts.iter().map(|text| text.len()).sum::<usize>() + self.input.len();
        let mut out = Vec::with_capacity(length);
        out.extend_from_slice(&self.deadline_ms.to_le_bytes());
        out.extend_from_slice(&self.encoding.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        texts.iter().for_each(|text| put(&mut out, text));
        out.extend_from_slice(self.input);
        out
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`FrameError::Body`].
    pub fn of(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let mut rest = Rest { bytes, kind: CALL };
        let (deadline_ms, encoding, flags) = (rest.u64()?, rest.u32()?, rest.u32()?);
        let (component, method, context) = (rest.text()?, rest.text()?, rest.bytes()?);
        Ok(Self { deadline_ms, encoding, flags, component, method, context, input: rest.bytes })
    }
}

/// The body of a REQUEST, borrowed from its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBody<'a> {
    /// Chosen by the plugin.
    pub request: u64,
    /// Which service.
    pub service: &'a str,
    /// What is asked.
    pub input: &'a [u8],
}

impl<'a> RequestBody<'a> {
    /// As it goes over the channel.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12 + self.service.len() + self.input.len());
        out.extend_from_slice(&self.request.to_le_bytes());
        put(&mut out, self.service.as_bytes());
        out.extend_from_slice(self.input);
        out
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`FrameError::Body`].
    pub fn of(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let mut rest = Rest { bytes, kind: REQUEST };
        Ok(Self { request: rest.u64()?, service: rest.text()?, input: rest.bytes })
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// What of a body is not read yet.
struct Rest<'a> {
    bytes: &'a [u8],
    kind: u16,
}

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], FrameError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(FrameError::Body(self.kind))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        let mut number = [0; 4];
        number.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(number))
    }

    fn u64(&mut self) -> Result<u64, FrameError> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(number))
    }

    fn bytes(&mut self) -> Result<&'a [u8], FrameError> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, FrameError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| FrameError::Body(self.kind))
    }
}
