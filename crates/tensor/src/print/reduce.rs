//! Reductions in WGSL.
//!
//! The reduced elements of an output are dealt out to `chunks` parts like cards, so that neighbouring invocations read
//! neighbouring elements. Two ways to combine a part:
//!
//! - *each*: one invocation walks it alone. No workgroup memory, no barrier: right for short reductions, for many
//!   outputs, and for software adapters, where a barrier costs more than it saves.
//! - *group*: one workgroup walks it together and combines its invocations' results in a tree.
//!
//! With more than one part an output, the parts' results go to a temporary that a second launch reduces. Sums are kept
//! as many partial sums (blocks of 64, invocations, the tree, the second pass), so that the rounding error of 10^7
//! terms stays near that of pairwise summation.

use super::describe::describe;
use super::map::{Place, dim_vectors, lanes, representatives, storage_type, stride_text};
use super::text::{Dialect, Text, Writer, scalar_slots};
use super::vectors::{WIDTH, call, function, vector_type};
use super::wgsl::Wgsl;
use super::{Printed, Unsupported, library};
use crate::dtype::DType;
use crate::expr::{Binary, Expr};
use crate::kernel::{Combine, Reduce};
use std::fmt::Write;

/// How the elements of one part are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// By one invocation.
    Each,
    /// By one workgroup, in a tree.
    Group,
}

/// Which form of a reduction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReduceVariant {
    /// How a part is combined.
    pub way: Way,
    /// Reads four neighbours at a time: there is one reduced dimension, whose elements are neighbours in every input, and
    /// everything begins and ends at a multiple of four. The parameters count in fours.
    pub vectors: bool,
    /// Stores each part's combined value, densely and of the accumulator's type, instead of the final value.
    pub partial: bool,
    /// The binding in which each operand lies (the output is the last).
    pub bindings: Vec<u8>,
    /// Invocations of a workgroup.
    pub group: u32,
}

/// Elements summed before the sum is added to the running one.
const BLOCK: u32 = 64;

/// The value that changes nothing.
pub fn identity(combine: Combine, dtype: DType) -> f64 {
    match (combine, dtype.compute()) {
        (Combine::Sum, _) => 0.0,
        (Combine::Prod, _) => 1.0,
        (Combine::Max, DType::F32 | DType::F64) => f64::NEG_INFINITY,
        (Combine::Min, DType::F32 | DType::F64) => f64::INFINITY,
        (Combine::Max, DType::I32) => f64::from(i32::MIN),
        (Combine::Min, DType::I32) => f64::from(i32::MAX),
        (Combine::Max, DType::I64) => i64::MIN as f64,
        // Rounds up to 2^63, which a conversion to int64 clamps to the largest value.
        (Combine::Min, DType::I64) => i64::MAX as f64,
        (Combine::Max, _) => 0.0,
        (Combine::Min, DType::U8) => 255.0,
        (Combine::Min, _) => 1.0,
    }
}

fn combined(combine: Combine, dtype: DType, a: &str, b: &str) -> Result<String, Unsupported> {
    let f = match combine {
        Combine::Sum => Binary::Add,
        Combine::Prod => Binary::Mul,
        Combine::Max => Binary::Max,
        Combine::Min => Binary::Min,
    };
    Ok(Wgsl
        .binary(f, dtype, &Text::atom(a), &Text::atom(b))?
        .source)
}

fn symbol(combine: Combine) -> &'static str {
    match combine {
        Combine::Sum => "sum",
        Combine::Prod => "prod",
        Combine::Max => "max",
        Combine::Min => "min",
    }
}

/// Print a reduction.
pub fn print_reduce(reduce: &Reduce, variant: &ReduceVariant) -> Result<Printed, Unsupported> {
    let scalars = scalar_slots([&reduce.pre, &reduce.post]);
    let acc = reduce.acc.compute();
    let acc_type = Wgsl.type_name(acc)?;
    let out_index = reduce.inputs.len();
    let mut operands = reduce.inputs.clone();
    operands.push(if variant.partial { acc } else { reduce.out });
    let bindings = representatives(&variant.bindings);
    let names: Vec<String> = variant
        .bindings
        .iter()
        .map(|&b| format!("x{}", bindings[b as usize]))
        .collect();
    // The output's binding holds atomics where its type is packed.
    let atomic =
        |k: usize| lanes(operands[k]) > 1 && variant.bindings[k] == variant.bindings[out_index];
    let place = |k: usize| Place {
        name: &names[k],
        dtype: operands[k],
        atomic: atomic(k),
    };

    let start = Wgsl.literal(identity(reduce.combine, acc), acc)?.source;
    let used: Vec<usize> = (0..reduce.inputs.len())
        .filter(|&k| reduce.pre.reads(k))
        .collect();
    let mut body = String::new();
    if variant.vectors {
        let outputs = [(out_index, &reduce.pre, reduce.acc)];
        body = function(&reduce.inputs, &used, &scalars, &outputs)?;
    }
    let group = variant.way == Way::Group;
    if group {
        let _ = writeln!(body, "var<workgroup> shared_: array<{acc_type}, WG>;\n");
    }
    body.push_str("@compute @workgroup_size(WG)\nfn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {\n");
    let index = if group {
        "group_index(wid)"
    } else {
        "linear_index(wid, lid)"
    };
    let _ = writeln!(
        body,
        "    let g = {index};\n    if (g >= launch.count) {{ return; }}"
    );
    let vectors = dim_vectors(operands.len());
    // With chunks innermost, the invocations of one output are neighbours; with outputs innermost, those of one chunk.
    body.push_str(
        "    // Which output, and which of its parts; p.parts_first tells which of the two runs faster.
    let output = select(g % p.outputs, g / p.chunks, p.parts_first == 1u);
    let chunk = select(g / p.outputs, g % p.chunks, p.parts_first == 1u);\n",
    );
    for k in 0..operands.len() {
        let _ = writeln!(body, "    var at{k} = off({k}u);");
    }
    let size = |d: &str| {
        if vectors == 1 {
            format!("p.dims[{d}].x")
        } else {
            format!("p.dims[{d} * {vectors}u].x")
        }
    };
    let _ = writeln!(
        body,
        "    var rest = output;
    for (var d = p.kept; d > 0u; ) {{
        d -= 1u;
        let size = {};
        let c = rest % size;
        rest = rest / size;",
        size("d")
    );
    for k in 0..operands.len() {
        let _ = writeln!(
            body,
            "        at{k} += c * {};",
            stride_text("d", vectors, k)
        );
    }
    body.push_str("    }\n");

    let (first, stride) = if group {
        ("chunk * WG + lid", "p.chunks * WG")
    } else {
        ("chunk", "p.chunks")
    };
    let blocked = reduce.combine == Combine::Sum && acc == DType::F32;
    let _ = writeln!(body, "    let stride = {stride};\n    var total = {start};");
    let mut indent = "    ".to_owned();
    if blocked {
        let _ = writeln!(
            body,
            "    for (var from_ = {first}; from_ < p.reduced; from_ += {BLOCK}u * stride) {{
        // A block's sum is small, so it loses little; then it is added as one.
        var block = {start};
        let until = min(p.reduced, from_ + {BLOCK}u * stride);
        for (var r = from_; r < until; r += stride) {{"
        );
        indent.push_str("        ");
    } else {
        let _ = writeln!(
            body,
            "    for (var r = {first}; r < p.reduced; r += stride) {{"
        );
        indent.push_str("    ");
    }
    if variant.vectors {
        four(reduce, &used, &names, &indent, &mut body)?;
    } else {
        element(
            reduce, &used, &scalars, &place, vectors, &size, &indent, &mut body,
        )?;
    }
    let target = if blocked { "block" } else { "total" };
    let _ = writeln!(
        body,
        "{indent}{target} = {};",
        combined(reduce.combine, acc, target, "value")?
    );
    if blocked {
        let _ = writeln!(
            body,
            "        }}\n        total = {};\n    }}",
            combined(reduce.combine, acc, "total", "block")?
        );
    } else {
        body.push_str("    }\n");
    }
    if group {
        let _ = writeln!(
            body,
            "    shared_[lid] = total;
    for (var half = WG / 2u; half > 0u; half /= 2u) {{
        workgroupBarrier();
        if (lid < half) {{ shared_[lid] = {}; }}
    }}
    if (lid != 0u) {{ return; }}
    total = shared_[0];",
            combined(reduce.combine, acc, "shared_[lid]", "shared_[lid + half]")?
        );
    }
    finish(
        reduce,
        variant,
        &scalars,
        &place(out_index),
        out_index,
        &mut body,
    )?;
    body.push_str("}\n");

    let mut source = String::new();
    let inner = describe(&reduce.pre, "x");
    let whole = describe(&reduce.post, "total")
        .replace("total0", &format!("{}({inner})", symbol(reduce.combine)));
    let _ = writeln!(source, "// {}: x{out_index} = {whole}", reduce.name);
    if variant.vectors {
        source.push_str("// Elements are read by fours, and counted in them.\n");
    }
    source.push_str(match variant.way {
        Way::Each => "// One invocation combines each part of an output's elements.\n",
        Way::Group => {
            "// One workgroup combines each part of an output's elements, in a tree at the end.\n"
        }
    });
    if variant.partial {
        source.push_str("// First of two passes: it stores the parts' values.\n");
    }
    source.push('\n');
    source.push_str(&library::header(variant.group));
    source.push_str(
        "
struct Params {
    outputs: u32,
    reduced: u32,     // elements combined into each output
    rank: u32,        // dimensions, the kept ones first
    kept: u32,        // how many are kept
    chunks: u32,      // parts of an output's elements
    parts_first: u32, // whether the parts of one output are neighbours in the grid
    pad0: u32,
    pad1: u32,
",
    );
    if !scalars.is_empty() {
        let _ = writeln!(
            source,
            "    scalars: array<vec4<u32>, {}>, // run-time numbers, two words each",
            scalars.len().div_ceil(2)
        );
    }
    let _ = writeln!(
        source,
        "    dims: array<vec4<u32>, {}>, // of each dimension: its size, then each operand's stride",
        8 * vectors
    );
    source.push_str("}\n@group(1) @binding(1) var<uniform> p: Params;\n");
    for (b, &k) in bindings.iter().enumerate() {
        let kind = if variant.vectors && k != out_index {
            vector_type(operands[k])
        } else {
            storage_type(operands[k], atomic(k))?
        };
        let _ = writeln!(
            source,
            "@group(0) @binding({b}) var<storage, read_write> x{k}: array<{kind}>;"
        );
    }
    source.push('\n');
    source.push_str(&library::functions_for(&body));
    source.push_str(&body);
    Ok(Printed { source, scalars })
}

/// Statements that make `value`: what is combined at reduced index `r`.
#[allow(clippy::too_many_arguments)] // one call site, in whose midst it stands
fn element<'p>(
    reduce: &Reduce,
    used: &[usize],
    scalars: &[(u8, DType)],
    place: &dyn Fn(usize) -> Place<'p>,
    vectors: usize,
    size: &dyn Fn(&str) -> String,
    indent: &str,
    body: &mut String,
) -> Result<(), Unsupported> {
    if !used.is_empty() {
        for &k in used {
            let _ = writeln!(body, "{indent}var e{k} = at{k};");
        }
        // The outermost reduced dimension needs no division: what is left is its index.
        let _ = writeln!(
            body,
            "{indent}var left = r;
{indent}for (var d = p.rank - 1u; d > p.kept; d -= 1u) {{
{indent}    let size = {};
{indent}    let c = left % size;
{indent}    left = left / size;",
            size("d")
        );
        for &k in used {
            let _ = writeln!(
                body,
                "{indent}    e{k} += c * {};",
                stride_text("d", vectors, k)
            );
        }
        let _ = writeln!(body, "{indent}}}");
        for &k in used {
            let _ = writeln!(
                body,
                "{indent}e{k} += left * {};",
                stride_text("p.kept", vectors, k)
            );
            let _ = writeln!(
                body,
                "{indent}let a{k} = {};",
                place(k).load(&format!("e{k}"))
            );
        }
    }
    let mut writer = Writer::new(
        &Wgsl,
        &reduce.inputs,
        scalars,
        |n| format!("a{n}"),
        [&reduce.pre],
    );
    let value = writer.print_as(&reduce.pre, reduce.acc)?;
    for statement in &writer.statements {
        let _ = writeln!(body, "{indent}{statement}");
    }
    let _ = writeln!(body, "{indent}let value = {};", value.source);
    Ok(())
}

/// Statements that make `value`: four neighbours, from the `r`th on, combined.
fn four(
    reduce: &Reduce,
    used: &[usize],
    names: &[String],
    indent: &str,
    body: &mut String,
) -> Result<(), Unsupported> {
    for &k in used {
        let _ = writeln!(
            body,
            "{indent}let a{k} = {}[at{k} / {WIDTH}u + r];",
            names[k]
        );
    }
    let single = vec![false; reduce.inputs.len()];
    for c in 0..WIDTH {
        let call = call(&reduce.inputs, used, &single, c);
        let _ = writeln!(body, "{indent}let m{c} = {call};");
    }
    let acc = reduce.acc.compute();
    let low = combined(reduce.combine, acc, "m0", "m1")?;
    let high = combined(reduce.combine, acc, "m2", "m3")?;
    let _ = writeln!(body, "{indent}let low = {low};\n{indent}let high = {high};");
    let value = combined(reduce.combine, acc, "low", "high")?;
    let _ = writeln!(body, "{indent}let value = {value};");
    Ok(())
}

/// Statements that store the final value, or the part's.
fn finish(
    reduce: &Reduce,
    variant: &ReduceVariant,
    scalars: &[(u8, DType)],
    place: &Place<'_>,
    out_index: usize,
    body: &mut String,
) -> Result<(), Unsupported> {
    if variant.partial {
        let at = format!("slot{out_index}");
        let _ = writeln!(
            body,
            "    let {at} = off({out_index}u) + output * p.chunks + chunk;"
        );
        for statement in place.store(&at, "total") {
            let _ = writeln!(body, "    {statement}");
        }
        return Ok(());
    }
    let acc = [reduce.acc];
    let mut writer = Writer::new(&Wgsl, &acc, scalars, |_| "total".to_owned(), [&reduce.post]);
    let value = writer.print_as(&reduce.post, reduce.out)?;
    for statement in &writer.statements {
        let _ = writeln!(body, "    {statement}");
    }
    let _ = writeln!(body, "    let result = {};", value.source);
    for statement in place.store(&format!("at{out_index}"), "result") {
        let _ = writeln!(body, "    {statement}");
    }
    Ok(())
}

/// The second pass of a reduction in parts: combines the stored values of `reduce` and finishes them.
pub fn second_pass(reduce: &Reduce) -> Reduce {
    Reduce {
        name: reduce.name,
        inputs: vec![reduce.acc.compute()],
        out: reduce.out,
        pre: Expr::Arg(0),
        combine: reduce.combine,
        acc: reduce.acc,
        post: reduce.post.clone(),
    }
}
