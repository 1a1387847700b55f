use super::*;
use crate::idx::tests::gzip;

/// `count` small images with labels 0, 1, 2...
fn sample(count: usize) -> Splits {
    let half = |split| {
        let shape = ImageShape {
            channels: 1,
            height: SIDE,
            width: SIDE,
        };
        let images = (0..count * SIDE * SIDE).map(|i| (i * 7) as u8).collect();
        let labels = (0..count).map(|i| (i % CLASSES) as i64).collect();
        let classes = (0..CLASSES).map(|digit| digit.to_string()).collect();
        ImageSet::new("sample", split, shape, images, labels, classes).unwrap()
    };
    Splits {
        train: half(Split::Train),
        test: half(Split::Test),
    }
}

fn load(files: &[Vec<u8>; 4]) -> Result<Splits, DataError> {
    from_bytes("sample", [&files[0], &files[1], &files[2], &files[3]])
}

fn assert_same(left: &Splits, right: &Splits) {
    for (left, right) in [(&left.train, &right.train), (&left.test, &right.test)] {
        assert_eq!(left.images(), right.images());
        assert_eq!(left.labels(), right.labels());
        assert_eq!(left.shape(), right.shape());
        assert_eq!(left.split(), right.split());
    }
}

#[test]
fn files_go_round_plain_packed_and_through_folders() {
    let splits = sample(12);
    let files = to_bytes(&splits).unwrap();
    assert_same(&load(&files).unwrap(), &splits);
    assert_same(
        &load(&files.clone().map(|file| gzip(&file))).unwrap(),
        &splits,
    );

    let dir = tempfile::tempdir().unwrap();
    let nested = dir.path().join("MNIST/raw");
    std::fs::create_dir_all(&nested).unwrap();
    for (at, (name, file)) in FILE_NAMES.iter().zip(&files).enumerate() {
        // Plain and packed side by side, as a half unpacked folder is.
        if at % 2 == 0 {
            std::fs::write(nested.join(name), file).unwrap();
        } else {
            std::fs::write(nested.join(format!("{name}.gz")), gzip(file)).unwrap();
        }
    }
    assert_same(&from_dir(&nested).unwrap(), &splits);
    assert_same(&from_dir(dir.path()).unwrap(), &splits);
}

#[test]
fn a_missing_folder_or_file_says_what_was_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    let error = from_dir(&dir.path().join("nowhere"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("nowhere (no such folder)"), "{error}");
    for place in [
        "train-images-idx3-ubyte",
        "train-images-idx3-ubyte.gz",
        "MNIST/raw/",
    ] {
        assert!(error.contains(place), "{error}");
    }
    let files = to_bytes(&sample(1)).unwrap();
    std::fs::write(dir.path().join(FILE_NAMES[0]), &files[0]).unwrap();
    let error = from_dir(dir.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("looked for train-labels-idx1-ubyte"),
        "{error}"
    );
    assert!(error.help().contains("--data-dir"), "{}", error.help());
}

#[test]
fn images_and_labels_must_belong_together() {
    let (ten, nine) = (
        to_bytes(&sample(10)).unwrap(),
        to_bytes(&sample(9)).unwrap(),
    );
    let mixed = [
        ten[0].clone(),
        nine[1].clone(),
        ten[2].clone(),
        ten[3].clone(),
    ];
    assert_eq!(
        load(&mixed).unwrap_err().to_string(),
        "train-images-idx3-ubyte holds 10 images, but train-labels-idx1-ubyte holds 9 labels"
    );
    let swapped = [
        ten[1].clone(),
        ten[0].clone(),
        ten[2].clone(),
        ten[3].clone(),
    ];
    assert_eq!(
        load(&swapped).unwrap_err().to_string(),
        "train-images-idx3-ubyte: magic 0x00000803 expected at offset 0, found 0x00000801"
    );
}

#[test]
fn a_label_beyond_nine_and_another_size_are_refused_with_their_place() {
    let mut files = to_bytes(&sample(10)).unwrap();
    files[3][8 + 4] = 10;
    assert_eq!(
        load(&files).unwrap_err().to_string(),
        "t10k-labels-idx1-ubyte: label 0 to 9 expected at offset 12, found 10"
    );
    let narrow = Idx {
        dims: vec![10, 28, 27],
        bytes: vec![0; 10 * 28 * 27],
    };
    files[0] = narrow.encode().unwrap();
    assert_eq!(
        load(&files).unwrap_err().to_string(),
        "train-images-idx3-ubyte: 28 columns expected at offset 12, found 27"
    );
}

#[cfg(feature = "embed-mnist")]
#[test]
fn the_embedded_subset_is_balanced_and_unchanged() {
    use sha2::{Digest, Sha256};

    let splits = embedded().unwrap();
    assert_eq!(splits.train.class_counts(), [500; 10]);
    assert_eq!(splits.test.class_counts(), [100; 10]);
    // MNIST begins with these digits; the subset keeps the order.
    assert_eq!(splits.train.labels()[..8], [5, 0, 4, 1, 9, 2, 1, 3]);
    assert_eq!(splits.test.labels()[..8], [7, 2, 1, 0, 4, 1, 4, 9]);

    let sums = to_bytes(&splits).unwrap().map(|file| {
        Sha256::digest(&file)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    });
    let notice = include_str!("../../assets/mnist-subset/NOTICE.md");
    for (name, sum) in FILE_NAMES.iter().zip(&sums) {
        assert!(
            notice.contains(&format!("{sum}  {name}")),
            "{name}: {sum} is not in NOTICE.md"
        );
    }
}

#[cfg(feature = "embed-mnist")]
#[test]
fn the_published_mean_and_deviation_are_near_those_of_the_subset() {
    let set = embedded().unwrap().train;
    let (mean, std) = crate::transform::tests::moments(set.images());
    // The published figures are those of all 60,000 images.
    assert!((mean - f64::from(MEAN[0])).abs() < 0.01, "{mean}");
    assert!((std - f64::from(STD[0])).abs() < 0.01, "{std}");
}
