//! Reading a file in memory from its start, gzipped or plain, knowing how far one has come.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::error::DataError;

/// Whether the bytes begin as a gzip stream does.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// A file being read; every error says where.
pub(crate) struct Unpacked<'a> {
    file: &'a str,
    reader: Box<dyn Read + 'a>,
    offset: u64,
}

impl<'a> Unpacked<'a> {
    pub(crate) fn new(file: &'a str, bytes: &'a [u8]) -> Unpacked<'a> {
        let reader: Box<dyn Read> = if is_gzip(bytes) {
            Box::new(MultiGzDecoder::new(bytes))
        } else {
            Box::new(bytes)
        };
        Unpacked {
            file,
            reader,
            offset: 0,
        }
    }

    /// Unpacked bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Exactly `len` bytes; `expected` says what they are.
    pub(crate) fn read(&mut self, len: u64, expected: &str) -> Result<Vec<u8>, DataError> {
        let bytes = self.read_up_to(len)?;
        if bytes.len() as u64 == len {
            Ok(bytes)
        } else {
            Err(DataError::Truncated {
                file: self.file.to_owned(),
                offset: self.offset,
                expected: expected.to_owned(),
            })
        }
    }

    /// Nothing may follow; `expected` says how the length is known.
    pub(crate) fn end(&mut self, expected: &str) -> Result<(), DataError> {
        let offset = self.offset;
        if self.read_up_to(1)?.is_empty() {
            Ok(())
        } else {
            Err(DataError::Oversized {
                file: self.file.to_owned(),
                offset,
                expected: expected.to_owned(),
            })
        }
    }

    /// The buffer grows with what really comes, so a header that lies cannot fill the memory.
    pub(crate) fn read_up_to(&mut self, len: u64) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let outcome = self.reader.by_ref().take(len).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        match outcome {
            Ok(_) => Ok(bytes),
            Err(error) => Err(DataError::Compression {
                file: self.file.to_owned(),
                offset: self.offset,
                reason: if error.kind() == std::io::ErrorKind::UnexpectedEof {
                    "the gzip stream breaks off".to_owned()
                } else {
                    error.to_string()
                },
            }),
        }
    }
}
