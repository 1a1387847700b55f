//! Makes the MNIST subset that travels with the program from the four original files:
//!
//!     cargo run --release -p data --no-default-features --example make_mnist_subset -- FOLDER crates/data/assets/mnist-subset
//!
//! It takes the first 500 training and 100 test images of each digit, in the order of the files.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use data::{Splits, mnist};
use flate2::{Compression, write::GzEncoder};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        return Err("usage: make_mnist_subset FOLDER_OF_ORIGINALS FOLDER_TO_WRITE".into());
    };
    let whole = mnist::from_dir(Path::new(from))?;
    let subset = Splits {
        train: whole.train.first_of_each_class(500),
        test: whole.test.first_of_each_class(100),
    };
    for (name, content) in mnist::FILE_NAMES.iter().zip(mnist::to_bytes(&subset)?) {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&content)?;
        let packed = packed.finish()?;
        println!(
            "{name}.gz: {} bytes, {} unpacked",
            packed.len(),
            content.len()
        );
        std::fs::write(Path::new(to).join(format!("{name}.gz")), packed)?;
    }
    Ok(())
}
