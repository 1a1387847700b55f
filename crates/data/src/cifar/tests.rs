use std::path::Path;

use super::*;
use crate::idx::tests::gzip;

fn sample(split: Split, count: usize, seed: u64) -> ImageSet {
    let set = crate::synthetic::generate(split, count, seed).unwrap();
    parse("sample", &to_bytes(&set).unwrap(), split).unwrap()
}

/// The archive as its makers packed it: a folder with a text file and the batches.
fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let path = format!("cifar-10-batches-bin/{name}");
        builder
            .append_data(&mut header, path, content.as_slice())
            .unwrap();
    }
    builder.into_inner().unwrap()
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("batches.meta.txt", b"airplane\n".to_vec()),
        // Out of order: the numbers count, not the order in the archive.
        (
            "data_batch_2.bin",
            to_bytes(&sample(Split::Train, 7, 2)).unwrap(),
        ),
        (
            "data_batch_1.bin",
            to_bytes(&sample(Split::Train, 20, 1)).unwrap(),
        ),
        (
            "test_batch.bin",
            to_bytes(&sample(Split::Test, 10, 3)).unwrap(),
        ),
    ]
}

fn assert_is_sample(splits: &Splits) {
    let (first, second) = (sample(Split::Train, 20, 1), sample(Split::Train, 7, 2));
    assert_eq!(
        splits.train.images(),
        [first.images(), second.images()].concat()
    );
    assert_eq!(
        splits.train.labels(),
        [first.labels(), second.labels()].concat()
    );
    assert_eq!(splits.test.images(), sample(Split::Test, 10, 3).images());
    assert_eq!(splits.test.classes()[9], "truck");
}

#[test]
fn a_folder_an_unpacked_folder_and_the_archive_give_the_same_set() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("cifar-10-batches-bin");
    std::fs::create_dir(&inner).unwrap();
    for (name, content) in files() {
        std::fs::write(inner.join(name), content).unwrap();
    }
    assert_is_sample(&from_path(&inner).unwrap());
    assert_is_sample(&from_path(dir.path()).unwrap());

    let packed = tempfile::tempdir().unwrap();
    let file = packed.path().join(ARCHIVE_NAME);
    std::fs::write(&file, gzip(&archive(&files()))).unwrap();
    assert_is_sample(&from_path(&file).unwrap());
    assert_is_sample(&from_path(packed.path()).unwrap());
    assert_is_sample(&from_archive("cifar.tar", &archive(&files())).unwrap());
}

#[test]
fn a_file_that_ends_within_a_record_is_refused_with_the_place() {
    let bytes = to_bytes(&sample(Split::Train, 3, 0)).unwrap();
    assert_eq!(
        parse("data_batch_1.bin", &bytes[..7000], Split::Train)
            .unwrap_err()
            .to_string(),
        "data_batch_1.bin: file ends at offset 7000, expected whole records of 3073 bytes: record 2 begins at offset 6146"
    );
    let error = parse("data_batch_1.bin", &[], Split::Train).unwrap_err();
    assert!(
        matches!(error, DataError::Truncated { offset: 0, .. }),
        "{error}"
    );
}

#[test]
fn a_label_beyond_nine_is_refused_with_the_place() {
    let mut bytes = to_bytes(&sample(Split::Train, 3, 0)).unwrap();
    bytes[2 * RECORD] = 77;
    assert_eq!(
        parse("test_batch.bin", &bytes, Split::Test)
            .unwrap_err()
            .to_string(),
        "test_batch.bin: label 0 to 9 expected at offset 6146, found 77"
    );
}

#[test]
fn damaged_archives_are_refused_whatever_is_damaged() {
    let tar = archive(&files());
    let packed = gzip(&tar);
    let error = from_archive("c.tar.gz", &packed[..packed.len() / 2]).unwrap_err();
    assert!(matches!(error, DataError::Compression { .. }), "{error}");

    let error = from_archive("c.tar", &tar[..tar.len() / 2]).unwrap_err();
    assert!(error.to_string().starts_with("c.tar"), "{error}");

    let mut flipped = tar.clone();
    flipped[3] ^= 0x40; // within the first header, which has a checksum
    let error = from_archive("c.tar", &flipped).unwrap_err();
    assert!(matches!(error, DataError::Corrupt { .. }), "{error}");

    let without_test: Vec<_> = files()
        .into_iter()
        .filter(|(name, _)| *name != TEST_FILE)
        .collect();
    let error = from_archive("c.tar", &archive(&without_test)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing to load in c.tar: looked for data_batch_1.bin ... data_batch_5.bin, test_batch.bin"
    );
    let error = from_archive("c.tar", b"no archive at all").unwrap_err();
    assert!(error.to_string().starts_with("c.tar"), "{error}");
}

#[test]
fn an_empty_folder_says_what_was_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    let error = from_path(dir.path()).unwrap_err().to_string();
    for name in [TEST_FILE, ARCHIVE_NAME] {
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn the_sample_of_real_images_loads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cifar10-sample");
    if !path.is_dir() {
        println!("skipped: no sample of CIFAR-10 beside the repository");
        return;
    }
    let splits = from_path(&path).unwrap();
    assert_eq!(splits.train.class_counts(), [500; 10]);
    assert_eq!(splits.test.class_counts(), [100; 10]);
    for channel in 0..3 {
        let plane = SHAPE.height * SHAPE.width;
        let bytes: Vec<u8> = splits
            .train
            .images()
            .chunks_exact(plane)
            .skip(channel)
            .step_by(3)
            .flatten()
            .copied()
            .collect();
        let (mean, std) = crate::transform::tests::moments(&bytes);
        assert!(
            (mean - f64::from(MEAN[channel])).abs() < 0.01,
            "channel {channel}: mean {mean}"
        );
        assert!(
            (std - f64::from(STD[channel])).abs() < 0.01,
            "channel {channel}: deviation {std}"
        );
    }
}
