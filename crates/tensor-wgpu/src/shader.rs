//! Hand-written kernels: the text of `shaders/<stem>.wgsl` made into a module (see `shaders/README.md`).

use std::fmt::Write;
use tensor::kernel::Kernel;
use tensor::print::library;

/// Stem and text of every file in `shaders/`.
pub(crate) static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// The forms of a kernel that the device chooses between: the entry points `<name>_<choice>`, or the one `<name>`.
pub fn choices(kernel: &Kernel) -> &'static [&'static str] {
    if kernel.name == "max_pool2d_grad" {
        return &["apart", "overlapping"];
    }
    match kernel.stem {
        "matmul" => &[
            "register",
            "register8",
            "vectors_kn",
            "vectors_kk",
            "vectors_mn",
            "vectors_mk",
            "tile",
            "small",
        ],
        "conv2d" => &["sliding", "stepping"],
        _ => &[""],
    }
}

/// The module of `kernel` and its entry point, or `None` where there is no such file or entry point. `bindings` tells
/// which binding each operand lies in; `choice`, if not empty, names another entry point of the same kernel.
///
/// Of the file comes what the entry point uses, so that a learner reads one kernel, not a family.
pub fn assemble(
    kernel: &Kernel,
    bindings: &[u8],
    choice: &str,
    group: u32,
) -> Option<(String, String)> {
    let (_, text) = FILES.iter().find(|(stem, _)| *stem == kernel.stem)?;
    let entry = if choice.is_empty() {
        kernel.name.to_owned()
    } else {
        format!("{}_{choice}", kernel.name)
    };
    let body = share_bindings(&only_used(text, &entry)?, bindings);
    let storages = bindings.iter().map(|&b| b as usize + 1).max().unwrap_or(0);
    let mut source = library::header(group);
    if kernel.checks {
        let _ = writeln!(
            source,
            "@group(0) @binding({storages}) var<storage, read_write> fault: array<atomic<u32>, 4>;"
        );
    }
    source.push('\n');
    source.push_str(&library::functions_for(&body));
    source.push_str(&body);
    Some((source, entry))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|w| !w.is_empty())
}

/// A declaration at the top of a file, with the comment and the attributes above it.
struct Item<'a> {
    name: &'a str,
    text: String,
}

fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The comment at a file's head, and its declarations.
fn items(text: &str) -> (String, Vec<Item<'_>>) {
    let (mut head, mut items) = (String::new(), Vec::new());
    let mut pending = String::new();
    let (mut depth, mut name) = (0isize, None);
    for line in text.lines() {
        let code = code(line).trim();
        if code.is_empty() && depth == 0 {
            if line.trim().is_empty() {
                // A comment that nothing follows at once belongs to the file.
                head.push_str(&std::mem::take(&mut pending));
            } else {
                pending.push_str(line);
                pending.push('\n');
            }
            continue;
        }
        if depth == 0 && name.is_none() {
            name = declared(code);
        }
        pending.push_str(line);
        pending.push('\n');
        depth += code.matches('{').count() as isize - code.matches('}').count() as isize;
        if depth == 0 && (code.ends_with('}') || code.ends_with(';')) {
            items.push(Item {
                name: name.take().unwrap_or_default(),
                text: std::mem::take(&mut pending),
            });
        }
    }
    (head, items)
}

/// The name that a line declares, after its attributes: of a function, a structure, a constant or a variable.
fn declared(code: &str) -> Option<&str> {
    let mut rest = code;
    for keyword in ["fn ", "struct ", "const ", "override ", "alias "] {
        if let Some(at) = rest.find(keyword) {
            return words(&rest[at + keyword.len()..]).next();
        }
    }
    rest = &rest[rest.find("var")? + 3..];
    if rest.starts_with('<') {
        rest = &rest[rest.find('>')? + 1..];
    }
    words(rest).next()
}

/// The file's head comment and those of its declarations that `entry` uses, directly or not.
fn only_used(text: &str, entry: &str) -> Option<String> {
    let (head, items) = items(text);
    let mut used = vec![false; items.len()];
    let mut left = vec![items.iter().position(|i| i.name == entry)?];
    while let Some(at) = left.pop() {
        used[at] = true;
        let plain: String = items[at]
            .text
            .lines()
            .map(|l| format!("{}\n", code(l)))
            .collect();
        for word in words(&plain) {
            left.extend((0..items.len()).filter(|&i| !used[i] && items[i].name == word));
        }
    }
    let mut out = head;
    let mut after_function = true;
    for item in items
        .iter()
        .zip(&used)
        .filter(|(_, used)| **used)
        .map(|(i, _)| i)
    {
        let function = item.text.contains("fn ") || item.text.contains("struct ");
        if function || after_function {
            out.push('\n');
        }
        after_function = item.text.contains("fn ");
        out.push_str(&item.text);
    }
    Some(out)
}

/// Let operands share bindings: the first operand of a binding keeps its declaration, under the binding's number; the
/// others lose theirs and are called by the first one's name.
fn share_bindings(text: &str, bindings: &[u8]) -> String {
    if bindings.iter().enumerate().all(|(k, &b)| k == b as usize) {
        return text.to_owned();
    }
    let attribute = |k: usize| format!("@group(0) @binding({k})");
    let name = |k: usize| {
        text.lines()
            .find(|l| l.trim_start().starts_with(&attribute(k)))
            .and_then(|l| declared(code(l)))
    };
    let mut out = String::with_capacity(text.len());
    'lines: for line in text.lines() {
        for (k, &b) in bindings.iter().enumerate() {
            if !line.trim_start().starts_with(&attribute(k)) {
                continue;
            }
            if bindings[..k].contains(&b) {
                continue 'lines;
            }
            out.push_str(&line.replace(&attribute(k), &attribute(b as usize)));
            out.push('\n');
            continue 'lines;
        }
        out.push_str(line);
        out.push('\n');
    }
    for (k, b) in bindings.iter().enumerate() {
        let first = bindings.iter().position(|x| x == b).unwrap_or(k);
        if let (true, Some(from), Some(to)) = (first != k, name(k), name(first)) {
            out = replace_word(&out, from, to);
        }
    }
    out
}

fn replace_word(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let end = at + from.len();
        let whole = !rest[..at].ends_with(is_word) && !rest[end..].starts_with(is_word);
        out.push_str(&rest[..at]);
        out.push_str(if whole { to } else { from });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
// A family.

@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>; // the right one
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;

// Part of it.
fn part(i: u32) -> f32 {
    if (i > 0u) { return b[i]; }
    return 0.0;
}

@compute @workgroup_size(WG)
fn product(i: u32) {
    out[i] = a[i] * part(i); // not other
}

fn second(i: u32) {
    other[i] = 0u;
}
";

    #[test]
    fn a_kernel_comes_with_what_it_uses() {
        let text = only_used(TEXT, "product").unwrap();
        assert!(text.starts_with("// A family."));
        assert!(
            text.contains("// Part of it.\nfn part(")
                && text.contains("@compute @workgroup_size(WG)\nfn product(")
        );
        assert!(
            !text.contains("second") && !text.contains("> other:"),
            "{text}"
        );
        assert_eq!(only_used(TEXT, "third"), None);
    }

    #[test]
    fn operands_that_share_memory_share_a_binding() {
        let text = share_bindings(&only_used(TEXT, "product").unwrap(), &[0, 0, 1]);
        assert!(text.contains("return a[i];"), "{text}");
        assert!(
            text.contains("@binding(1) var<storage, read_write> out"),
            "{text}"
        );
        assert!(!text.contains("> b:"), "{text}");
    }
}
