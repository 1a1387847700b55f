//! Data sets in the worker: files that the learner gave, and the MNIST subset, fetched when it is first asked for.

use data::{Source, Splits, mnist};
use js_sys::Uint8Array;
use lessons::{DataSets, GivenFiles, LessonError, LocalFuture, MNIST_SUBSET};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use super::{host, in_words, no_data};

/// Data sets in the worker.
#[derive(Default)]
pub struct PageSets {
    /// Files by folder and name.
    pub given: GivenFiles,
    fetched: std::cell::Cell<bool>,
}

impl PageSets {
    async fn fetch_subset(&self) -> Result<(), LessonError> {
        if self.fetched.get() {
            return Ok(());
        }
        for name in mnist::FILE_NAMES {
            let name = format!("{name}.gz");
            let bytes = fetch(&format!("data/{MNIST_SUBSET}/{name}")).await?;
            self.given.insert(MNIST_SUBSET, &name, bytes);
        }
        self.fetched.set(true);
        Ok(())
    }
}

impl DataSets for PageSets {
    fn load<'a>(
        &'a self,
        source: Source,
        folder: &'a str,
        seed: u64,
    ) -> LocalFuture<'a, Result<Splits, LessonError>> {
        Box::pin(async move {
            if source == Source::Mnist && folder.is_empty() {
                self.fetch_subset().await?;
            }
            self.given.load(source, folder, seed).await
        })
    }

    fn detect(&self, folder: &str) -> Result<Source, LessonError> {
        self.given.detect(folder)
    }
}

/// A file of this site, by its path beside the worker's own.
async fn fetch(path: &str) -> Result<Vec<u8>, LessonError> {
    const HELP: &str = "the file comes with the page: is the site complete, and still served?";
    let failed = |e: JsValue| {
        no_data(
            format!("{path} could not be fetched: {}", in_words(&e)),
            HELP,
        )
    };
    let response = JsFuture::from(host::scope().fetch_with_str(path))
        .await
        .map_err(failed)?;
    let response: Response = response.dyn_into().map_err(failed)?;
    if !response.ok() {
        return Err(no_data(
            format!(
                "{path} could not be fetched: the server says {}",
                response.status()
            ),
            HELP,
        ));
    }
    let buffer = JsFuture::from(response.array_buffer().map_err(failed)?)
        .await
        .map_err(failed)?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
