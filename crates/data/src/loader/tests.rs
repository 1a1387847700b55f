use proptest::prelude::*;

use super::*;
use crate::set::{ImageShape, Split};

/// Image `i` is one pixel of value `i`, of class `i % 3`.
fn counting_set(len: usize) -> ImageSet {
    let shape = ImageShape {
        channels: 1,
        height: 1,
        width: 1,
    };
    let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
    let images = (0..len).map(|i| i as u8).collect();
    let labels = (0..len).map(|i| (i % 3) as i64).collect();
    ImageSet::new("counting", Split::Train, shape, images, labels, classes).unwrap()
}

fn loader(len: usize, options: LoaderOptions) -> Loader {
    Loader::new(&counting_set(len), Transform::to_tensor(), options).unwrap()
}

fn options(batch_size: usize, seed: u64) -> LoaderOptions {
    LoaderOptions {
        batch_size,
        shuffle: true,
        seed,
        ..LoaderOptions::default()
    }
}

proptest! {
    #[test]
    fn an_epoch_has_each_index_once(
        len in 0usize..200,
        batch_size in 1usize..70,
        seed: u64,
        epoch in 0u64..9,
        shuffle: bool,
        drop_last: bool,
        workers in 0usize..4,
    ) {
        let options = LoaderOptions { batch_size, shuffle, seed, drop_last, workers };
        let loader = loader(len, options);
        let batches: Vec<Batch> = loader.epoch(epoch).collect();
        prop_assert_eq!(batches.len(), loader.batches_per_epoch());

        let mut seen: Vec<usize> = batches.iter().flat_map(|b| b.indices.clone()).collect();
        if !shuffle {
            prop_assert!(seen.is_sorted());
        }
        let expected = if drop_last { len - len % batch_size } else { len };
        prop_assert_eq!(seen.len(), expected);
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), expected, "an index came twice");

        for (at, batch) in batches.iter().enumerate() {
            if at + 1 < batches.len() || drop_last {
                prop_assert_eq!(batch.len(), batch_size);
            }
            prop_assert_eq!(&batch.shape, &vec![batch.len(), 1, 1, 1]);
            for ((&index, &label), &pixel) in batch.indices.iter().zip(&batch.labels).zip(&batch.images) {
                prop_assert_eq!(label, (index % 3) as i64);
                prop_assert_eq!(pixel, index as f32 / 255.0);
            }
        }
    }
}

#[test]
fn threads_change_neither_values_nor_order() {
    let epoch = |workers| -> Vec<Batch> {
        loader(
            250,
            LoaderOptions {
                workers,
                ..options(7, 3)
            },
        )
        .epoch(2)
        .collect()
    };
    let alone = epoch(0);
    for workers in [1, 2, 3, 8, 100] {
        assert_eq!(epoch(workers), alone, "{workers} workers");
    }
}

#[test]
fn seed_and_epoch_decide_the_order() {
    let order = |seed, epoch| -> Vec<usize> {
        loader(100, options(9, seed))
            .epoch(epoch)
            .flat_map(|b| b.indices)
            .collect()
    };
    assert_eq!(order(5, 1), order(5, 1));
    assert_ne!(order(5, 1), order(5, 2));
    assert_ne!(order(5, 1), order(7, 1));
    assert_ne!(order(5, 0), (0..100).collect::<Vec<_>>());
}

#[test]
fn an_epoch_dropped_early_ends_its_threads() {
    let loader = loader(
        250,
        LoaderOptions {
            workers: 3,
            ..options(1, 0)
        },
    );
    let mut epoch = loader.epoch(0);
    assert!(epoch.next().is_some());
    assert_eq!(epoch.len(), 249);
    // Would hang here if a worker waited for a reader that is gone.
    drop(epoch);
}

#[test]
fn a_batch_size_of_zero_is_refused() {
    let options = LoaderOptions {
        batch_size: 0,
        ..LoaderOptions::default()
    };
    let error = Loader::new(&counting_set(3), Transform::to_tensor(), options).unwrap_err();
    assert_eq!(error.to_string(), "batch_size = 0: expected 1 or more");
}
