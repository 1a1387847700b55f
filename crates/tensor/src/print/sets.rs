//! The form of generated kernels that goes over several sets of operands: one launch for all parameters of an optimiser.
//!
//! All operands are dense and of float32. The parameter block tells of each set where its share of the work begins, how
//! long it is, and where its operands begin; an invocation finds its set there and takes four elements of it.

use super::map::PlaceOf;
use super::vectors::{PARTS, WIDTH, call, function, vector};
use super::{PARAMS_BYTES, Unsupported};
use crate::dtype::DType;
use crate::expr::Expr;
use crate::kernel::Map;
use std::fmt::Write;

/// Vectors of four that describe one set: its first four, its length, and where each operand begins.
pub(super) fn set_vectors(operands: usize) -> usize {
    (2 + operands).div_ceil(4)
}

/// Sets that one launch's parameters have room for, beside this many run-time numbers.
pub fn sets_in_a_launch(operands: usize, scalars: usize) -> usize {
    let vectors = PARAMS_BYTES / 16 - 1 - scalars.div_ceil(2);
    vectors / set_vectors(operands)
}

/// The component of a set's description that holds word `n`.
fn word(operands: usize, n: usize) -> String {
    let plus = match n / 4 {
        0 => String::new(),
        v => format!(" + {v}u"),
    };
    let vectors = set_vectors(operands);
    format!("p.sets[s * {vectors}u{plus}].{}", PARTS[n % 4])
}

/// The function that makes one element, and the body that finds a set and calls it for four elements.
pub(super) fn sets_body(
    map: &Map,
    scalars: &[(u8, DType)],
    place: &PlaceOf<'_, '_>,
) -> Result<(String, String), Unsupported> {
    if let Some(&dtype) = map.operands.iter().find(|d| **d != DType::F32) {
        return Err(Unsupported { dtype });
    }
    let count = map.operands.len();
    let read: Vec<usize> = (0..count).filter(|&k| map.reads(k)).collect();
    let outputs: Vec<(usize, &Expr, DType)> = map
        .outputs
        .iter()
        .map(|(k, e)| (*k as usize, e, map.operands[*k as usize]))
        .collect();
    let function = function(&map.operands, &read, scalars, &outputs)?;
    let vectors = set_vectors(count);
    let mut body = format!(
        "    // The last set that begins at i or before it.
    var s = 0u;
    while (s + 1u < p.count && p.sets[(s + 1u) * {vectors}u].x <= i) {{ s += 1u; }}
    let first = (i - {}) * {WIDTH}u;
    // What lies after a set's last element is loaded, since blocks of memory end at vectors, but not stored.
    let left = {} - first;
",
        word(count, 0),
        word(count, 1)
    );
    for k in (0..count).filter(|&k| map.reads(k) || map.writes(k)) {
        let _ = writeln!(
            body,
            "    let at{k} = ({} + first) / {WIDTH}u;",
            word(count, 2 + k)
        );
    }
    for &k in &read {
        let _ = writeln!(body, "    let a{k} = {}[at{k}];", place(k).name);
    }
    let single = vec![false; count];
    for c in 0..WIDTH {
        let call = call(&map.operands, &read, &single, c);
        let _ = writeln!(body, "    let m{c} = {call};");
    }
    let value = |c: usize, k: usize| match outputs.len() {
        1 => format!("m{c}"),
        _ => format!("m{c}.v{k}"),
    };
    let _ = writeln!(body, "    if (left >= {WIDTH}u) {{");
    for (k, _, dtype) in &outputs {
        let values: Vec<String> = (0..WIDTH).map(|c| value(c, *k)).collect();
        let (name, values) = (place(*k).name, vector(*dtype, &values));
        let _ = writeln!(body, "        {name}[at{k}] = {values};");
    }
    body.push_str("        return;\n    }\n");
    for (k, ..) in &outputs {
        let name = place(*k).name;
        for (c, part) in PARTS[..WIDTH - 1].iter().enumerate() {
            let value = value(c, *k);
            let _ = writeln!(
                body,
                "    if (left > {c}u) {{ {name}[at{k}].{part} = {value}; }}"
            );
        }
    }
    Ok((function, body))
}
