//! Words with code in them.

use leptos::prelude::*;

/// Text in which what stands between backticks is code.
pub fn with_code(text: &str) -> Vec<AnyView> {
    text.split('`')
        .enumerate()
        .map(|(i, part)| {
            let part = part.to_string();
            if i % 2 == 1 {
                view! { <code>{part}</code> }.into_any()
            } else {
                part.into_any()
            }
        })
        .collect()
}
