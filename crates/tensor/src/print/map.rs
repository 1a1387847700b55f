//! Elementwise kernels in WGSL.
//!
//! Five forms of each. In a *line* all operands are dense in the same order, or one single element; *vectors* are lines
//! of a multiple of four elements that begin at one (`vectors.rs`); *strided* walks up to eight dimensions, and *rows* does
//! that four neighbours at a time; *sets* goes over several sets of dense operands (`sets.rs`). Types narrower
//! than a word are packed: in a line one invocation makes all elements of each 32-bit word it writes, so no two invocations
//! share a word; in the strided form neighbours of a word may belong to different invocations, so a lane is cleared and set
//! by atomic operations, which never touch the other lanes.

use super::describe::describe;
use super::sets::{set_vectors, sets_body, sets_in_a_launch};
use super::text::{Writer, scalar_slots};
use super::vectors::{vector_body, vector_type};
use super::wgsl::Wgsl;
use super::{Printed, Unsupported, library};
use crate::dtype::DType;
use crate::expr::Expr;
use crate::kernel::Map;
use std::fmt::Write;

/// How an elementwise kernel goes over its elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapForm {
    /// Four at a time; for each operand whether one element of it serves all.
    Vectors(Vec<bool>),
    /// One after the other.
    Line,
    /// By the strides of each operand.
    Strided,
    /// By the strides of each operand, four neighbours of the last dimension at a time; for each operand whether one element
    /// of it serves the whole row. Parameters count the last dimension in fours.
    Rows(Vec<bool>),
    /// Over several sets of dense operands, four elements at a time.
    Sets,
}

/// Which variant of an elementwise kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapVariant {
    /// The way over the elements.
    pub form: MapForm,
    /// The binding in which each operand lies; operands that share memory share one.
    pub bindings: Vec<u8>,
    /// Invocations of a workgroup.
    pub group: u32,
}

impl MapVariant {
    /// Every operand in a binding of its own.
    pub fn plain(map: &Map, form: MapForm, group: u32) -> MapVariant {
        MapVariant {
            form,
            bindings: (0..map.operands.len() as u8).collect(),
            group,
        }
    }
}

/// Elements of this type in a 32-bit word; one for types of a word or more.
pub fn lanes(dtype: DType) -> usize {
    4 / dtype.size().min(4)
}

/// Elements that one invocation of a line makes: enough to fill a word of the narrowest output.
pub fn elements_per_invocation(map: &Map) -> usize {
    (0..map.operands.len())
        .filter(|&k| map.writes(k))
        .map(|k| lanes(map.operands[k]))
        .max()
        .unwrap_or(1)
}

/// Where in memory an operand is read or written.
pub(super) struct Place<'a> {
    /// Name of the binding.
    pub name: &'a str,
    /// Element type.
    pub dtype: DType,
    /// Whether the binding holds atomic words.
    pub atomic: bool,
}

impl Place<'_> {
    fn word(&self, index: &str) -> String {
        if self.atomic {
            format!("atomicLoad(&{}[{index}])", self.name)
        } else {
            format!("{}[{index}]", self.name)
        }
    }

    /// The element at `at`, a name, in its compute type.
    pub fn load(&self, at: &str) -> String {
        match self.dtype {
            DType::Bool => format!("byte_at({}, {at}) != 0u", self.word(&format!("{at} >> 2u"))),
            DType::U8 => format!("byte_at({}, {at})", self.word(&format!("{at} >> 2u"))),
            DType::F16 => format!(
                "f32_of_f16(half_at({}, {at}))",
                self.word(&format!("{at} >> 1u"))
            ),
            DType::BF16 => format!(
                "f32_of_bf16(half_at({}, {at}))",
                self.word(&format!("{at} >> 1u"))
            ),
            _ => format!("{}[{at}]", self.name),
        }
    }

    /// Statements that store `value` (of the compute type) at `at`.
    pub fn store(&self, at: &str, value: &str) -> Vec<String> {
        let Some((bits, shift, mask)) = self.packed(value) else {
            return vec![format!("{}[{at}] = {value};", self.name)];
        };
        let lane = if shift == 2 {
            format!("({at} & 3u) * 8u")
        } else {
            format!("({at} & 1u) * 16u")
        };
        vec![
            format!(
                "atomicAnd(&{}[{at} >> {shift}u], ~({mask} << ({lane})));",
                self.name
            ),
            format!(
                "atomicOr(&{}[{at} >> {shift}u], {bits} << ({lane}));",
                self.name
            ),
        ]
    }

    /// For packed types: the value's bits, how many times to halve an index for its word, and a lane's mask.
    fn packed(&self, value: &str) -> Option<(String, u32, &'static str)> {
        Some(match self.dtype {
            DType::Bool => (format!("u32({value})"), 2, "0xffu"),
            DType::U8 if value.contains(' ') => (format!("({value})"), 2, "0xffu"),
            DType::U8 => (value.to_owned(), 2, "0xffu"),
            DType::F16 => (format!("f16_of_f32({value})"), 1, "0xffffu"),
            DType::BF16 => (format!("bf16_of_f32({value})"), 1, "0xffffu"),
            _ => return None,
        })
    }
}

/// The WGSL type of a binding's elements.
pub(super) fn storage_type(dtype: DType, atomic: bool) -> Result<&'static str, Unsupported> {
    Ok(match dtype {
        DType::F32 => "f32",
        DType::I32 => "i32",
        DType::I64 => "vec2<u32>",
        DType::F64 => return Err(Unsupported { dtype }),
        _ if atomic => "atomic<u32>",
        _ => "u32",
    })
}

/// The first operand of each binding, in order of bindings.
pub(super) fn representatives(bindings: &[u8]) -> Vec<usize> {
    let count = bindings.iter().map(|&b| b as usize + 1).max().unwrap_or(0);
    (0..count)
        .map(|b| bindings.iter().position(|&x| x as usize == b).unwrap_or(0))
        .collect()
}

/// Print an elementwise kernel.
pub fn print_map(map: &Map, variant: &MapVariant) -> Result<Printed, Unsupported> {
    let exprs: Vec<&Expr> = map.outputs.iter().map(|(_, e)| e).collect();
    let scalars = scalar_slots(exprs.iter().copied());
    let bindings = representatives(&variant.bindings);
    let strided = variant.form == MapForm::Strided;
    let walks = strided || matches!(variant.form, MapForm::Rows(_));
    // A binding holds atomics in the strided form if anything packed in it is written.
    let atomic = |k: usize| {
        strided
            && lanes(map.operands[k]) > 1
            && (0..map.operands.len())
                .any(|o| variant.bindings[o] == variant.bindings[k] && map.writes(o))
    };
    let names: Vec<String> = variant
        .bindings
        .iter()
        .map(|&b| format!("x{}", bindings[b as usize]))
        .collect();
    let place = |k: usize| Place {
        name: &names[k],
        dtype: map.operands[k],
        atomic: atomic(k),
    };

    let (mut function, mut inner) = (String::new(), String::new());
    match &variant.form {
        MapForm::Vectors(single) => {
            (function, inner) = vector_body(map, &scalars, &place, single, false)?;
        }
        MapForm::Rows(single) => {
            let vectors;
            (function, vectors) = vector_body(map, &scalars, &place, single, true)?;
            walk(map, &mut inner);
            inner.push_str(&vectors);
        }
        MapForm::Sets => (function, inner) = sets_body(map, &scalars, &place)?,
        MapForm::Line => line_body(map, &scalars, &place, &mut inner)?,
        MapForm::Strided => strided_body(map, &scalars, &place, &mut inner)?,
    }
    let body = format!(
        "{function}@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {{
    let i = linear_index(wid, lid);
    if (i >= launch.count) {{ return; }}
{inner}}}
"
    );

    let mut source = String::new();
    for (out, expr) in &map.outputs {
        let _ = writeln!(source, "// {}: x{out} = {}", map.name, describe(expr, "x"));
    }
    source.push_str(match variant.form {
        MapForm::Vectors(_) => "// All operands are dense in the same order, or a single element. One invocation makes four elements.\n\n",
        MapForm::Line => "// All operands are dense in the same order, or a single element.\n\n",
        MapForm::Strided => "// Each operand is walked by its own strides.\n\n",
        MapForm::Sets => "// All operands of a set are dense. One invocation makes four elements of one set.\n\n",
        MapForm::Rows(_) => "// Each operand is walked by its own strides, four neighbours at a time.\n\n",
    });
    source.push_str(&library::header(variant.group));
    let sets = variant.form == MapForm::Sets;
    source.push_str("\nstruct Params {\n    n: u32,    // elements\n");
    source.push_str(match sets {
        true => "    count: u32, // sets\n",
        false => "    rank: u32, // dimensions\n",
    });
    source.push_str("    pad0: u32,\n    pad1: u32,\n");
    if !scalars.is_empty() {
        let _ = writeln!(
            source,
            "    scalars: array<vec4<u32>, {}>, // run-time numbers, two words each",
            scalars.len().div_ceil(2)
        );
    }
    if walks {
        let rows = 8 * dim_vectors(map.operands.len());
        let _ = writeln!(
            source,
            "    dims: array<vec4<u32>, {rows}>, // of each dimension: its size, then each operand's stride"
        );
    } else if sets {
        let room = sets_in_a_launch(map.operands.len(), scalars.len());
        let rows = room * set_vectors(map.operands.len());
        let _ = writeln!(
            source,
            "    sets: array<vec4<u32>, {rows}>, // of each: its first four, its length, where each operand begins"
        );
    } else if variant.form == MapForm::Line {
        source.push_str("    step: array<vec4<u32>, 2>, // per operand: 1, or 0 where a single element serves all\n");
    }
    source.push_str("}\n@group(1) @binding(1) var<uniform> p: Params;\n");
    for (b, &k) in bindings.iter().enumerate() {
        let kind = match &variant.form {
            MapForm::Vectors(single) | MapForm::Rows(single) if !single[k] => {
                vector_type(map.operands[k])
            }
            MapForm::Sets => vector_type(map.operands[k]),
            _ => storage_type(map.operands[k], atomic(k))?,
        };
        let also: Vec<String> = (0..map.operands.len())
            .filter(|&o| o != k && variant.bindings[o] as usize == b)
            .map(|o| format!("x{o}"))
            .collect();
        let also = if also.is_empty() {
            String::new()
        } else {
            format!(" // and {}", also.join(", "))
        };
        let _ = writeln!(
            source,
            "@group(0) @binding({b}) var<storage, read_write> x{k}: array<{kind}>;{also}"
        );
    }
    source.push('\n');
    source.push_str(&library::functions_for(&body));
    source.push_str(&body);
    Ok(Printed { source, scalars })
}

/// Vectors of four that one dimension's size and strides take.
pub(super) fn dim_vectors(operands: usize) -> usize {
    (1 + operands).div_ceil(4)
}

/// `p.dims` component that holds operand `k`'s stride of the dimension whose first vector is `row`.
pub(super) fn stride_text(row: &str, vectors: usize, k: usize) -> String {
    let component = ["x", "y", "z", "w"][(k + 1) % 4];
    if vectors == 1 {
        format!("p.dims[{row}].{component}")
    } else {
        let vector = (k + 1) / 4;
        let plus = if vector == 0 {
            String::new()
        } else {
            format!(" + {vector}u")
        };
        format!("p.dims[{row} * {vectors}u{plus}].{component}")
    }
}

pub(super) type PlaceOf<'f, 'p> = dyn Fn(usize) -> Place<'p> + 'f;

/// Loads of every operand that is read, then the outputs' values: `(operand, text)`.
fn values(
    map: &Map,
    scalars: &[(u8, DType)],
    place: &PlaceOf<'_, '_>,
    at: &dyn Fn(usize) -> String,
    indent: &str,
    body: &mut String,
) -> Result<Vec<(usize, String)>, Unsupported> {
    for (k, &dtype) in map.operands.iter().enumerate() {
        storage_type(dtype, false)?;
        if !map.reads(k) {
            continue;
        }
        let mut index = at(k);
        if lanes(dtype) > 1 && index.contains(' ') {
            let _ = writeln!(body, "{indent}let at{k} = {index};");
            index = format!("at{k}");
        }
        let _ = writeln!(body, "{indent}let a{k} = {};", place(k).load(&index));
    }
    let mut writer = Writer::new(
        &Wgsl,
        &map.operands,
        scalars,
        |n| format!("a{n}"),
        map.outputs.iter().map(|(_, e)| e),
    );
    let mut out = Vec::new();
    for (k, expr) in &map.outputs {
        let text = writer.print_as(expr, map.operands[*k as usize])?;
        out.push((*k as usize, text.source));
    }
    for statement in &writer.statements {
        let _ = writeln!(body, "{indent}{statement}");
    }
    // Values that are stored one after another must all be made before the first store.
    if out.len() > 1 {
        for (k, text) in &mut out {
            let _ = writeln!(body, "{indent}let v{k} = {text};");
            *text = format!("v{k}");
        }
    }
    Ok(out)
}

/// Statements that find the place of element `i` in every operand: `at0`, `at1`...
fn walk(map: &Map, body: &mut String) {
    let vectors = dim_vectors(map.operands.len());
    let used: Vec<usize> = (0..map.operands.len())
        .filter(|&k| map.reads(k) || map.writes(k))
        .collect();
    for &k in &used {
        let _ = writeln!(body, "    var at{k} = off({k}u);");
    }
    let size = if vectors == 1 {
        "p.dims[d].x".to_owned()
    } else {
        format!("p.dims[d * {vectors}u].x")
    };
    let _ = writeln!(
        body,
        "    var rest = i;
    for (var d = p.rank; d > 0u; ) {{
        d -= 1u;
        let size = {size};
        let c = rest % size;
        rest = rest / size;"
    );
    for &k in &used {
        let _ = writeln!(
            body,
            "        at{k} += c * {};",
            stride_text("d", vectors, k)
        );
    }
    body.push_str("    }\n");
}

fn strided_body(
    map: &Map,
    scalars: &[(u8, DType)],
    place: &PlaceOf<'_, '_>,
    body: &mut String,
) -> Result<(), Unsupported> {
    walk(map, body);
    let out = values(map, scalars, place, &|k| format!("at{k}"), "    ", body)?;
    for (k, text) in out {
        for statement in place(k).store(&format!("at{k}"), &text) {
            let _ = writeln!(body, "    {statement}");
        }
    }
    Ok(())
}

fn line_body(
    map: &Map,
    scalars: &[(u8, DType)],
    place: &PlaceOf<'_, '_>,
    body: &mut String,
) -> Result<(), Unsupported> {
    let per = elements_per_invocation(map);
    let step = |k: usize| format!("p.step[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4]);
    if per == 1 {
        let at = |k: usize| format!("off({k}u) + i * {}", step(k));
        let out = values(map, scalars, place, &at, "    ", body)?;
        for (k, text) in out {
            let _ = writeln!(body, "    {}[off({k}u) + i] = {text};", place(k).name);
        }
        return Ok(());
    }
    // Packed outputs: gather their words, then store each whole, or merged with what stands after the last element.
    let packed: Vec<usize> = (0..map.operands.len())
        .filter(|&k| map.writes(k) && lanes(map.operands[k]) > 1)
        .collect();
    let _ = writeln!(
        body,
        "    let first = i * {per}u;\n    let end = min(first + {per}u, p.n);"
    );
    for &k in &packed {
        let words = per / lanes(map.operands[k]);
        if words == 1 {
            let _ = writeln!(body, "    var word{k} = 0u;");
        } else {
            let _ = writeln!(body, "    var word{k} = array<u32, {words}>();");
        }
    }
    body.push_str("    for (var e = first; e < end; e += 1u) {\n");
    let at = |k: usize| format!("off({k}u) + e * {}", step(k));
    let out = values(map, scalars, place, &at, "        ", body)?;
    for (k, text) in out {
        let width = 32 / lanes(map.operands[k]);
        match place(k).packed(&text) {
            None => {
                let _ = writeln!(body, "        {}[off({k}u) + e] = {text};", place(k).name);
            }
            Some((bits, ..)) if per == lanes(map.operands[k]) => {
                let _ = writeln!(
                    body,
                    "        word{k} |= {} << ((e - first) * {width}u);",
                    bits
                );
            }
            Some((bits, ..)) => {
                let n = lanes(map.operands[k]);
                let _ = writeln!(
                    body,
                    "        word{k}[(e - first) / {n}u] |= {} << (((e - first) % {n}u) * {width}u);",
                    bits
                );
            }
        }
    }
    body.push_str("    }\n");
    for &k in &packed {
        let n = lanes(map.operands[k]);
        let name = place(k).name.to_owned();
        for w in 0..per / n {
            let value = if per == n {
                format!("word{k}")
            } else {
                format!("word{k}[{w}]")
            };
            store_word(body, &name, k, n, w, &value);
        }
    }
    Ok(())
}

/// Store word `w` of those that this invocation made for operand `k`: whole, or merged at the end of the data.
fn store_word(body: &mut String, name: &str, k: usize, lanes: usize, w: usize, value: &str) {
    let width = 32 / lanes;
    let start = if w == 0 {
        "first".to_owned()
    } else {
        format!("(first + {}u)", w * lanes)
    };
    let at = format!(
        "(off({k}u) + {}) / {lanes}u",
        start.trim_matches(['(', ')'])
    );
    let _ = writeln!(
        body,
        "    if ({start} + {lanes}u <= end) {{
        {name}[{at}] = {value};
    }} else if ({start} < end) {{
        let kept = 0xffffffffu << ((end - {start}) * {width}u);
        {name}[{at}] = ({name}[{at}] & kept) | {value};
    }}"
    );
}
