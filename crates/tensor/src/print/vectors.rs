//! The vector form of generated kernels: one invocation takes four elements, and loads and stores them together.
//!
//! Four neighbours cost little more than one: a GPU moves them by one instruction, and a software adapter, which checks
//! the bounds of every access, needs a third of the time.

use super::Unsupported;
use super::map::PlaceOf;
use super::text::{Dialect, Writer};
use super::wgsl::Wgsl;
use crate::dtype::DType;
use crate::expr::Expr;
use crate::kernel::Map;
use std::fmt::Write;

/// Elements of one invocation.
pub const WIDTH: usize = 4;

pub(super) const PARTS: [&str; WIDTH] = ["x", "y", "z", "w"];

/// Whether there are vectors of all operands' types.
pub fn has_vectors(map: &Map) -> bool {
    map.operands.iter().all(|d| d.size() <= 4)
}

/// What four elements of this type are stored as.
pub(super) fn vector_type(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "vec4<f32>",
        DType::I32 => "vec4<i32>",
        DType::F16 | DType::BF16 => "vec2<u32>",
        _ => "u32",
    }
}

/// Element `c` of the vector `name`, in its compute type.
fn element(dtype: DType, name: &str, c: usize) -> String {
    let half = || format!("half_at({name}.{}, {}u)", PARTS[c / 2], c % 2);
    match dtype {
        DType::Bool => format!("byte_at({name}, {c}u) != 0u"),
        DType::U8 => format!("byte_at({name}, {c}u)"),
        DType::F16 => format!("f32_of_f16({})", half()),
        DType::BF16 => format!("f32_of_bf16({})", half()),
        _ => format!("{name}.{}", PARTS[c]),
    }
}

/// Four values as they are stored.
pub(super) fn vector(dtype: DType, values: &[String]) -> String {
    let word = |values: &[String], width: usize, bits: &dyn Fn(&str) -> String| {
        let part = |(c, v): (usize, &String)| match c {
            0 => bits(v),
            _ => format!("{} << {}u", bits(v), c * width),
        };
        let parts: Vec<String> = values.iter().enumerate().map(part).collect();
        parts.join(" | ")
    };
    let halves = |f: &str| {
        let bits = |v: &str| format!("{f}({v})");
        let (low, high) = (word(&values[..2], 16, &bits), word(&values[2..], 16, &bits));
        format!("vec2<u32>({low}, {high})")
    };
    match dtype {
        DType::Bool => word(values, 8, &|v| format!("u32({v})")),
        DType::U8 => word(values, 8, &str::to_owned),
        DType::F16 => halves("f16_of_f32"),
        DType::BF16 => halves("bf16_of_f32"),
        _ => format!("{}({})", vector_type(dtype), values.join(", ")),
    }
}

/// The function `made`, which makes one element of every output (its operand, its value, its type) from one of each
/// operand that is read.
pub(super) fn function(
    operands: &[DType],
    read: &[usize],
    scalars: &[(u8, DType)],
    outputs: &[(usize, &Expr, DType)],
) -> Result<String, Unsupported> {
    let mut writer = Writer::new(
        &Wgsl,
        operands,
        scalars,
        |n| format!("a{n}"),
        outputs.iter().map(|(_, e, _)| *e),
    );
    let mut fields = Vec::new();
    let mut values = Vec::new();
    for (k, expr, dtype) in outputs {
        fields.push((k, Wgsl.type_name(dtype.compute())?));
        values.push(writer.print_as(expr, *dtype)?.source);
    }
    let mut out = String::new();
    let several = outputs.len() > 1;
    if several {
        out.push_str("struct Made {\n");
        for (k, kind) in &fields {
            let _ = writeln!(out, "    v{k}: {kind},");
        }
        out.push_str("}\n\n");
    }
    let mut arguments = Vec::new();
    for &k in read {
        let kind = Wgsl.type_name(operands[k].compute())?;
        arguments.push(format!("a{k}: {kind}"));
    }
    let (arguments, values) = (arguments.join(", "), values.join(", "));
    let kind = if several { "Made" } else { fields[0].1 };
    let _ = writeln!(out, "// One element.\nfn made({arguments}) -> {kind} {{");
    for statement in &writer.statements {
        let _ = writeln!(out, "    {statement}");
    }
    let value = if several {
        format!("Made({values})")
    } else {
        values
    };
    let _ = writeln!(out, "    return {value};\n}}\n");
    Ok(out)
}

/// `made` of element `c` of the vectors `a0`, `a1`...; of the single value itself where `single` says so.
pub(super) fn call(operands: &[DType], read: &[usize], single: &[bool], c: usize) -> String {
    let arguments: Vec<String> = read
        .iter()
        .map(|&k| match single[k] {
            true => format!("a{k}"),
            false => element(operands[k], &format!("a{k}"), c),
        })
        .collect();
    format!("made({})", arguments.join(", "))
}

/// The function that makes one element, and the body that calls it for four. `single` tells for each operand whether one
/// element of it serves all four; `walked`, whether the place of each was found before, as `at0`, `at1`...
pub(super) fn vector_body(
    map: &Map,
    scalars: &[(u8, DType)],
    place: &PlaceOf<'_, '_>,
    single: &[bool],
    walked: bool,
) -> Result<(String, String), Unsupported> {
    let at = |k: usize| match walked {
        true => format!("at{k} / {WIDTH}u"),
        false => format!("off({k}u) / {WIDTH}u + i"),
    };
    let read: Vec<usize> = (0..map.operands.len()).filter(|&k| map.reads(k)).collect();
    let outputs: Vec<(usize, &Expr, DType)> = map
        .outputs
        .iter()
        .map(|(k, e)| (*k as usize, e, map.operands[*k as usize]))
        .collect();
    let function = function(&map.operands, &read, scalars, &outputs)?;
    let mut body = String::new();
    for &k in &read {
        let _ = if single[k] {
            let load = place(k).load(&format!("at{k}"));
            if !walked {
                let _ = writeln!(body, "    let at{k} = off({k}u);");
            }
            writeln!(body, "    let a{k} = {load};")
        } else {
            let name = place(k).name;
            writeln!(body, "    let a{k} = {name}[{}];", at(k))
        };
    }
    for c in 0..WIDTH {
        let call = call(&map.operands, &read, single, c);
        let _ = writeln!(body, "    let m{c} = {call};");
    }
    for (k, _, dtype) in &outputs {
        let part = |c| match outputs.len() {
            1 => format!("m{c}"),
            _ => format!("m{c}.v{k}"),
        };
        let value = vector(*dtype, &(0..WIDTH).map(part).collect::<Vec<_>>());
        let name = place(*k).name;
        let _ = writeln!(body, "    {name}[{}] = {value};", at(*k));
    }
    Ok((function, body))
}
