//! Files that the learner chose for a parameter. They are kept as handles and read when a run begins.

use std::collections::BTreeMap;

use leptos::prelude::*;
use web_sys::File;

use crate::words;

/// The chosen files by lesson and parameter.
#[derive(Clone, Copy)]
pub struct Chosen {
    files: StoredValue<BTreeMap<(String, String), Vec<File>>, LocalStorage>,
    /// What a form says of them.
    pub labels: RwSignal<BTreeMap<(String, String), String>>,
}

impl Default for Chosen {
    fn default() -> Self {
        Chosen {
            files: StoredValue::new_local(BTreeMap::new()),
            labels: RwSignal::default(),
        }
    }
}

impl Chosen {
    /// Takes the files of an input; an empty choice takes back an earlier one.
    pub fn choose(self, lesson: &str, param: &str, files: Vec<File>) {
        let key = (lesson.to_string(), param.to_string());
        let bytes = files.iter().map(|file| file.size()).sum();
        let label = (!files.is_empty()).then(|| words::files(files.len(), bytes));
        self.files.update_value(|all| {
            all.insert(key.clone(), files);
        });
        self.labels.update(|labels| {
            match label {
                Some(label) => labels.insert(key, label),
                None => labels.remove(&key),
            };
        });
    }

    /// The files of a lesson, by parameter.
    pub fn of(self, lesson: &str) -> BTreeMap<String, Vec<File>> {
        self.files.with_value(|all| {
            let given = all
                .iter()
                .filter(|((of, _), files)| of == lesson && !files.is_empty());
            given
                .map(|((_, param), files)| (param.clone(), files.clone()))
                .collect()
        })
    }
}
