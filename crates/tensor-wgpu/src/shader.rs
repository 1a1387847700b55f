//! Hand-written kernels: the text of `shaders/<stem>.wgsl` made into a module (see `shaders/README.md`).

use std::fmt::Write;
use tensor::kernel::Kernel;
use tensor::print::library;

/// Stem and text of every file in `shaders/`.
pub(crate) static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

/// The forms of a kernel that the device chooses between: the entry points `<name>_<choice>`, or the one `<name>`.
pub fn choices(kernel: &Kernel) -> &'static [&'static str] {
    if kernel.stem == "matmul" {
        &["register", "tile", "small"]
    } else {
        &[""]
    }
}

/// The module of `kernel` and its entry point, or `None` where there is no such file or entry point. `bindings` tells
/// which binding each operand lies in; `choice`, if not empty, names another entry point of the same kernel.
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
    if !text.contains(&format!("fn {entry}(")) {
        return None;
    }
    let storages = bindings.iter().map(|&b| b as usize + 1).max().unwrap_or(0);
    let body = share_bindings(text, &entry, bindings);
    let mut source = library::header(group);
    if calls_raise(&body) {
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

fn calls_raise(text: &str) -> bool {
    text.contains("raise(")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// An operand's declaration: its line's number, binding and name.
struct Declaration {
    line: usize,
    binding: usize,
    name: String,
}

fn declaration(line: usize, text: &str) -> Option<Declaration> {
    let rest = text.trim_start().strip_prefix("@group(0) @binding(")?;
    let (binding, rest) = rest.split_once(')')?;
    let name = rest
        .split_once('>')?
        .1
        .trim_start()
        .split(':')
        .next()?
        .trim();
    Some(Declaration {
        line,
        binding: binding.trim().parse().ok()?,
        name: name.to_owned(),
    })
}

/// Let operands share bindings: the first operand of a binding keeps its declaration, under the binding's number; the
/// others lose theirs and are called by the first one's name. Only the variables that `entry` uses are its operands;
/// other entry points of the file keep theirs.
fn share_bindings(text: &str, entry: &str, bindings: &[u8]) -> String {
    if bindings.iter().enumerate().all(|(k, &b)| k == b as usize) {
        return text.to_owned();
    }
    let start = text.find(&format!("fn {entry}(")).unwrap_or(0);
    let end = text[start..].find("\n}").map_or(text.len(), |e| start + e);
    let own = reachable(text, &text[start..end]);
    let found: Vec<Declaration> = text
        .lines()
        .enumerate()
        .filter_map(|(line, t)| declaration(line, t))
        .filter(|d| own.contains(&d.name))
        .collect();
    let operand = |k: usize| found.iter().find(|d| d.binding == k);
    let mut dropped = Vec::new();
    let mut renamed: Vec<(String, String)> = Vec::new();
    let mut renumbered = Vec::new();
    for (k, &b) in bindings.iter().enumerate() {
        let Some(this) = operand(k) else { continue };
        let first = bindings.iter().position(|&x| x == b).unwrap_or(k);
        if first == k {
            renumbered.push((this.line, k, b));
        } else if let Some(other) = operand(first) {
            dropped.push(this.line);
            renamed.push((this.name.clone(), other.name.clone()));
        }
    }
    let mut out = String::with_capacity(text.len());
    for (line, t) in text.lines().enumerate() {
        if dropped.contains(&line) {
            continue;
        }
        match renumbered.iter().find(|(l, ..)| *l == line) {
            Some((_, from, to)) => {
                out.push_str(&t.replace(&format!("@binding({from})"), &format!("@binding({to})")))
            }
            None => out.push_str(t),
        }
        out.push('\n');
    }
    for (from, to) in renamed {
        out = replace_word(&out, &from, &to);
    }
    out
}

/// Every word of `body`, and of the file's functions that it calls, directly or not.
fn reachable(text: &str, body: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut bodies = vec![body.to_owned()];
    while let Some(body) = bodies.pop() {
        for word in body.split(|c| !is_word(c)).filter(|w| !w.is_empty()) {
            if words.iter().any(|w| w == word) {
                continue;
            }
            words.push(word.to_owned());
            if let Some(start) = text.find(&format!("\nfn {word}(")) {
                let end = text[start + 1..]
                    .find("\n}")
                    .map_or(text.len(), |e| start + 1 + e);
                bodies.push(text[start..end].to_owned());
            }
        }
    }
    words
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
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;

fn part(i: u32) -> f32 {
    return b[i];
}

fn main_(i: u32) {
    out[i] = a[i] * part(i);
}

fn second(i: u32) {
    other[i] = 0u;
}
";

    #[test]
    fn operands_that_share_memory_share_a_binding() {
        let text = share_bindings(TEXT, "main_", &[0, 0, 1]);
        assert!(text.contains("return a[i];"), "{text}");
        assert!(
            text.contains("@binding(1) var<storage, read_write> out"),
            "{text}"
        );
        assert!(
            text.contains("@binding(1) var<storage, read_write> other"),
            "{text}"
        );
        assert!(!text.contains("> b:"), "{text}");
    }

    #[test]
    fn nothing_changes_where_all_are_apart() {
        assert_eq!(share_bindings(TEXT, "main_", &[0, 1, 2]), TEXT);
    }
}
