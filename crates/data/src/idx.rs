//! The IDX format of MNIST: a magic number, big-endian dimensions, then bytes.

use crate::error::DataError;
use crate::unpack::Unpacked;

/// The largest content accepted: twenty times MNIST, so that a damaged or hostile header is refused and not obeyed.
const LARGEST: u64 = 1 << 30;

/// An array of bytes with its dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// The dimensions, outermost first.
    pub dims: Vec<usize>,
    /// The elements, row-major.
    pub bytes: Vec<u8>,
}

/// The first four bytes of a file of unsigned bytes with `rank` dimensions.
fn magic(rank: usize) -> u32 {
    0x0800 | (rank as u32 & 0xff)
}

/// Parses an IDX file of unsigned bytes with `rank` dimensions, gzipped or plain. `file` is its name for errors.
///
/// # Errors
/// When the file is of another kind, too short, too long, or does not unpack.
pub fn parse(file: &str, bytes: &[u8], rank: usize) -> Result<Idx, DataError> {
    let mut input = Unpacked::new(file, bytes);
    let word = read_word(&mut input, "a 4-byte magic number")?;
    if word != magic(rank) {
        return Err(DataError::Corrupt {
            file: file.to_owned(),
            offset: 0,
            expected: format!("magic 0x{:08x}", magic(rank)),
            found: format!("0x{word:08x}"),
        });
    }
    let mut dims = Vec::with_capacity(rank);
    let mut size = 1u64;
    for axis in 0..rank {
        let offset = input.offset();
        let dim = read_word(&mut input, &format!("a 4-byte size of dimension {axis}"))?;
        size = size.saturating_mul(u64::from(dim));
        if size > LARGEST {
            return Err(DataError::Corrupt {
                file: file.to_owned(),
                offset,
                expected: format!("dimension {axis} of an array of at most {LARGEST} bytes"),
                found: dim.to_string(),
            });
        }
        dims.push(dim as usize);
    }
    let header = input.offset();
    let product = dims
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(" x ");
    let expected = format!("{} bytes: {header} of header and {product}", header + size);
    let bytes = input.read(size, &expected)?;
    input.end(&expected)?;
    Ok(Idx { dims, bytes })
}

fn read_word(input: &mut Unpacked<'_>, expected: &str) -> Result<u32, DataError> {
    let bytes = input.read(4, expected)?;
    Ok(bytes
        .iter()
        .fold(0, |word, byte| word << 8 | u32::from(*byte)))
}

impl Idx {
    /// The file, not compressed.
    ///
    /// # Errors
    /// When the bytes do not fill the dimensions, or a dimension does not fit the format's four bytes.
    pub fn encode(&self) -> Result<Vec<u8>, DataError> {
        let size = self
            .dims
            .iter()
            .try_fold(1usize, |size, dim| size.checked_mul(*dim));
        if size != Some(self.bytes.len()) || self.dims.len() > 255 {
            return Err(DataError::InvalidSetting {
                name: "dims",
                value: format!("{:?}", self.dims),
                expected: format!(
                    "at most 255 dimensions whose product is {}",
                    self.bytes.len()
                ),
            });
        }
        let mut file = magic(self.dims.len()).to_be_bytes().to_vec();
        for &dim in &self.dims {
            let dim = u32::try_from(dim).map_err(|_| DataError::InvalidSetting {
                name: "dims",
                value: dim.to_string(),
                expected: "below 2^32".to_owned(),
            })?;
            file.extend_from_slice(&dim.to_be_bytes());
        }
        file.extend_from_slice(&self.bytes);
        Ok(file)
    }
}

#[cfg(test)]
pub(crate) mod tests;
