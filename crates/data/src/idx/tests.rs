use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

use super::*;

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn sample() -> Vec<u8> {
    let bytes = (0..24).collect();
    Idx {
        dims: vec![2, 3, 4],
        bytes,
    }
    .encode()
    .unwrap()
}

proptest! {
    #[test]
    fn what_is_encoded_parses_back(dims in prop::collection::vec(0usize..6, 1..5), fill: u8, packed: bool) {
        let size = dims.iter().product::<usize>();
        let idx = Idx { dims, bytes: (0..size).map(|i| fill.wrapping_add(i as u8)).collect() };
        let mut file = idx.encode().unwrap();
        if packed {
            file = gzip(&file);
        }
        prop_assert_eq!(parse("f", &file, idx.dims.len()).unwrap(), idx);
    }

    /// Whatever the bytes, parsing ends in a value or an error, never in a panic.
    #[test]
    fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..64), start in 0..3) {
        if start == 1 {
            bytes.splice(0..bytes.len().min(4), [0, 0, 8, 3]);
        } else if start == 2 {
            bytes.splice(0..bytes.len().min(2), [0x1f, 0x8b]);
        }
        let _ = parse("f", &bytes, 3);
    }

    /// No prefix of a file is taken for the file, whether plain or packed.
    #[test]
    fn every_truncation_is_refused(share in 0.0f64..1.0, packed: bool) {
        let whole = if packed { gzip(&sample()) } else { sample() };
        let cut = (whole.len() as f64 * share) as usize;
        prop_assert!(parse("f", &whole[..cut], 3).is_err());
    }
}

#[test]
fn a_wrong_magic_is_named_with_both_values() {
    let error = parse("t10k-images", &[0, 0, 8, 1, 0, 0, 0, 0], 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t10k-images: magic 0x00000803 expected at offset 0, found 0x00000801"
    );
    assert!(error.help().contains("t10k-images"));
}

#[test]
fn a_short_file_says_where_it_ends_and_how_long_it_should_be() {
    let file = sample();
    let error = parse("images", &file[..30], 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "images: file ends at offset 30, expected 40 bytes: 16 of header and 2 x 3 x 4"
    );
    let error = parse("images", &file[..10], 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "images: file ends at offset 10, expected a 4-byte size of dimension 1"
    );
    assert_eq!(
        parse("images", &[], 3).unwrap_err().to_string(),
        "images: file ends at offset 0, expected a 4-byte magic number"
    );
}

#[test]
fn a_long_file_is_refused() {
    let mut file = sample();
    file.push(0);
    let expected = "images: file should end at offset 40 (40 bytes: 16 of header and 2 x 3 x 4), but goes on after it";
    assert_eq!(parse("images", &file, 3).unwrap_err().to_string(), expected);
    assert_eq!(
        parse("images", &gzip(&file), 3).unwrap_err().to_string(),
        expected
    );
}

#[test]
fn a_header_that_lies_about_its_size_is_refused_before_memory_is_taken() {
    let huge = [
        0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 9,
    ];
    let error = parse("images", &huge, 3).unwrap_err();
    assert!(
        matches!(error, DataError::Corrupt { offset: 4, .. }),
        "{error}"
    );
}

#[test]
fn faults_of_the_gzip_stream_are_told_apart_from_faults_of_the_format() {
    let whole = gzip(&sample());
    let cut = parse("f.gz", &whole[..whole.len() - 12], 3).unwrap_err();
    assert!(
        cut.to_string().contains("the gzip stream breaks off"),
        "{cut}"
    );

    // The last 8 bytes are checksum and length.
    let mut flipped = whole.clone();
    let at = whole.len() - 6;
    flipped[at] ^= 1;
    let checksum = parse("f.gz", &flipped, 3).unwrap_err();
    assert!(
        matches!(checksum, DataError::Compression { .. }),
        "{checksum}"
    );

    let mut tail = whole;
    tail.extend_from_slice(b"more");
    let tail = parse("f.gz", &tail, 3).unwrap_err();
    assert!(matches!(tail, DataError::Compression { .. }), "{tail}");
}

#[test]
fn encoding_checks_that_the_bytes_fill_the_dimensions() {
    let idx = Idx {
        dims: vec![2, 3],
        bytes: vec![0; 5],
    };
    let error = idx.encode().unwrap_err();
    assert!(error.to_string().contains("product is 5"), "{error}");
}
