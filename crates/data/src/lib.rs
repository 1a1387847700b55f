//! Data sets, samplers and loaders.
//!
//! A set is bytes in memory ([`ImageSet`]); a [`Loader`] turns it, epoch by epoch, into [`Batch`]es of numbers that any
//! tensor library can take. The same seed gives the same batches on every machine and for every number of threads.
//!
//! ```
//! # fn main() -> Result<(), data::DataError> {
//! use data::{ImageSet, ImageShape, Loader, LoaderOptions, Split, Transform};
//!
//! let shape = ImageShape { channels: 1, height: 28, width: 28 };
//! let classes = vec!["dark".to_owned(), "light".to_owned()];
//! let images = [vec![0u8; 784], vec![255u8; 784], vec![200u8; 784]].concat();
//! let set = ImageSet::new("demo", Split::Train, shape, images, vec![0, 1, 1], classes)?;
//! let options = LoaderOptions { batch_size: 2, shuffle: true, seed: 0, ..LoaderOptions::default() };
//! let loader = Loader::new(&set, Transform::to_tensor().normalize(&[0.1307], &[0.3081]).flatten(), options)?;
//! for epoch in 0..3 {
//!     for batch in loader.epoch(epoch) {
//!         assert_eq!(batch.shape, [batch.len(), 784]); // batch.images: f32, batch.labels: i64
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod cifar;
mod error;
#[cfg(not(target_arch = "wasm32"))]
mod files;
#[cfg(all(not(target_arch = "wasm32"), feature = "download"))]
pub mod get;
pub mod idx;
mod loader;
pub mod mnist;
pub mod sampler;
mod set;
mod source;
pub mod synthetic;
mod transform;
mod unpack;

pub use error::DataError;
#[cfg(not(target_arch = "wasm32"))]
pub use files::default_data_dir;
pub use loader::{Batch, Epoch, Loader, LoaderOptions};
pub use set::{ImageSet, ImageShape, Split, Splits};
pub use source::Source;
pub use transform::Transform;
