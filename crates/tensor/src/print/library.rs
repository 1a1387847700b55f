//! The functions that WGSL kernels share (`shaders/library.wgsl`), of which each kernel gets those that it names.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// A function with the comment above it.
struct Function {
    name: &'static str,
    text: &'static str,
}

fn functions() -> &'static [Function] {
    static FUNCTIONS: OnceLock<Vec<Function>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        include_str!("../../../../shaders/library.wgsl")
            .split("\n\n")
            .filter_map(|text| {
                let start = if text.starts_with("fn ") {
                    0
                } else {
                    text.find("\nfn ")? + 1
                };
                let name = text[start + 3..].split('(').next()?;
                Some(Function {
                    name,
                    text: text.trim_end(),
                })
            })
            .collect()
    })
}

/// The launch's header as every kernel declares it, and the group size.
pub fn header(group: u32) -> String {
    format!(
        "const WG: u32 = {group}u;

struct Launch {{
    offset: array<vec4<u32>, 2>, // element at which each operand begins in its binding
    count: u32,                  // where the work ends
    row: u32,                    // workgroups in a row of the grid
    check: u32,                  // which check a bad value belongs to
    first: u32,                  // where this part of the work begins
    inf: u32,
    nan: u32,
    pad0: u32,
    pad1: u32,
}}
@group(1) @binding(0) var<uniform> launch: Launch;
"
    )
}

/// The functions that `body` calls, and those that they call, in the order of the library.
pub fn functions_for(body: &str) -> String {
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    let mut texts = vec![body];
    while let Some(text) = texts.pop() {
        for (i, function) in functions().iter().enumerate() {
            if !wanted.contains(&i) && calls(text, function.name) {
                wanted.insert(i);
                texts.push(function.text);
            }
        }
    }
    wanted
        .iter()
        .map(|&i| format!("{}\n\n", functions()[i].text))
        .collect()
}

/// Whether `text` calls `name`: the name as a whole word, followed by a parenthesis, and not being defined there.
fn calls(text: &str, name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = &text[..at];
        !before.ends_with(word)
            && !before.ends_with("fn ")
            && text[at + name.len()..].starts_with('(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_called_comes_along() {
        let text = functions_for("let y = tanh_(x);");
        assert!(text.contains("fn tanh_("));
        assert!(text.contains("fn exp_("), "tanh_ calls exp_");
        assert!(text.contains("fn scale2("), "exp_ calls scale2");
        assert!(!text.contains("fn log_("));
    }

    #[test]
    fn every_block_of_the_library_is_a_function() {
        let blocks = include_str!("../../../../shaders/library.wgsl")
            .split("\n\n")
            .count();
        assert_eq!(
            functions().len(),
            blocks - 1,
            "all but the file's own comment"
        );
    }
}
