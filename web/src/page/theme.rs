//! Light and dark: as the system has it, until the reader says otherwise.

use leptos::prelude::*;

use crate::words;

const KEY: &str = "tensorscope-theme";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    fn name(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    /// The other of light and dark; the system's own where that is what it is.
    fn toggled(self) -> Self {
        match !self.is_dark() {
            dark if dark == system_is_dark() => Theme::System,
            true => Theme::Dark,
            false => Theme::Light,
        }
    }

    fn is_dark(self) -> bool {
        match self {
            Theme::System => system_is_dark(),
            Theme::Light => false,
            Theme::Dark => true,
        }
    }

    /// The theme chosen on an earlier visit. Storage may be switched off; then it is asked anew.
    fn kept() -> Self {
        let kept = window()
            .local_storage()
            .ok()
            .flatten()
            .and_then(|s| s.get_item(KEY).ok().flatten());
        [Theme::Light, Theme::Dark]
            .into_iter()
            .find(|t| kept.as_deref() == Some(t.name()))
            .unwrap_or(Theme::System)
    }

    fn apply(self) {
        if let Some(root) = document().document_element() {
            let _ = match self {
                Theme::System => root.remove_attribute("data-theme"),
                _ => root.set_attribute("data-theme", self.name()),
            };
        }
        if let Ok(Some(storage)) = window().local_storage() {
            let _ = match self {
                Theme::System => storage.remove_item(KEY),
                _ => storage.set_item(KEY, self.name()),
            };
        }
    }
}

fn system_is_dark() -> bool {
    window()
        .match_media("(prefers-color-scheme: dark)")
        .ok()
        .flatten()
        .is_some_and(|query| query.matches())
}

/// The button that changes between light and dark.
#[component]
pub fn ThemeButton() -> impl IntoView {
    let theme = RwSignal::new(Theme::kept());
    theme.get_untracked().apply();
    let change = move |_| {
        theme.update(|t| *t = t.toggled());
        theme.get_untracked().apply();
    };
    let label = move || {
        if theme.get().is_dark() {
            words::TO_LIGHT
        } else {
            words::TO_DARK
        }
    };
    let sign = move || {
        if theme.get().is_dark() {
            "\u{2600}"
        } else {
            "\u{263e}"
        }
    };
    view! {
        <button class="quiet theme" type="button" on:click=change aria-label=label title=label>
            <span aria-hidden="true">{sign}</span>
        </button>
    }
}
