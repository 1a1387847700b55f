//! The dialect of WGSL.
//!
//! Values are held as f32, i32, u32 (uint8, kept below 256), bool and vec2<u32> (int64, low word first). Where WGSL is
//! loose (infinities, NaN, the ends of functions, conversions) a function of `shaders/library.wgsl` does the work.

use super::Unsupported;
use super::text::{Dialect, Level, Text};
use crate::dtype::DType;
use crate::expr::{Binary, Unary};

/// WGSL.
#[derive(Clone, Copy, Debug)]
pub struct Wgsl;

impl Dialect for Wgsl {
    fn type_name(&self, dtype: DType) -> Result<&'static str, Unsupported> {
        Ok(match dtype.compute() {
            DType::Bool => "bool",
            DType::U8 => "u32",
            DType::I32 => "i32",
            DType::I64 => "vec2<u32>",
            DType::F32 => "f32",
            _ => return Err(Unsupported { dtype }),
        })
    }

    fn literal(&self, value: f64, dtype: DType) -> Result<Text, Unsupported> {
        Ok(match dtype.compute() {
            DType::F32 => float(value as f32),
            DType::I32 => integer(value as i32),
            DType::U8 => Text::atom(format!("{}u", (value as i64) as u8)),
            DType::Bool => Text::atom(if value != 0.0 { "true" } else { "false" }),
            DType::I64 => {
                let bits = value as i64 as u64;
                Text::atom(format!("vec2<u32>({}u, {}u)", bits as u32, bits >> 32))
            }
            _ => return Err(Unsupported { dtype }),
        })
    }

    fn scalar(&self, slot: usize, dtype: DType) -> Result<Text, Unsupported> {
        // Two words each, so that an int64 fits: two run-time numbers a vec4.
        let (low, both) = if slot.is_multiple_of(2) {
            ("x", "xy")
        } else {
            ("z", "zw")
        };
        let at = format!("p.scalars[{}]", slot / 2);
        Ok(Text::atom(match dtype.compute() {
            DType::F32 => format!("bitcast<f32>({at}.{low})"),
            DType::I32 => format!("bitcast<i32>({at}.{low})"),
            DType::U8 => format!("{at}.{low}"),
            DType::Bool => format!("bool({at}.{low})"),
            DType::I64 => format!("{at}.{both}"),
            _ => return Err(Unsupported { dtype }),
        }))
    }

    fn unary(&self, f: Unary, dtype: DType, x: &Text) -> Result<Text, Unsupported> {
        let unsupported = Err(Unsupported { dtype });
        Ok(match (dtype.compute(), f) {
            (DType::F32, _) => float_unary(f, x),
            (DType::F64, _) => return unsupported,
            (DType::Bool, Unary::Not) => Text::prefix("!", x),
            (_, Unary::Not) => Text::prefix("!", &self.cast(dtype, DType::Bool, x)?),
            (_, Unary::IsNan) => Text::atom("false"),
            (_, Unary::IsFinite) => Text::atom("true"),
            (_, Unary::Floor | Unary::Ceil | Unary::Round) => x.clone(),
            (DType::Bool, Unary::Neg | Unary::Abs | Unary::Sign) => x.clone(),
            (DType::I32, Unary::Neg) => Text::prefix("-", x),
            (DType::I32, Unary::Abs) => Text::call("abs", &[x]),
            (DType::I32, Unary::Sign) => Text::call("sign", &[x]),
            (DType::U8, Unary::Neg) => byte(Text::infix("-", Level::Sum, &Text::atom("0u"), x)),
            (DType::U8, Unary::Abs) => x.clone(),
            (DType::U8, Unary::Sign) => Text::call("min", &[x, &Text::atom("1u")]),
            (DType::I64, Unary::Neg) => Text::call("i64_neg", &[x]),
            (DType::I64, Unary::Abs) => Text::call("i64_abs", &[x]),
            (DType::I64, Unary::Sign) => Text::call("i64_sign", &[x]),
            _ => return unsupported,
        })
    }

    fn binary(&self, f: Binary, dtype: DType, a: &Text, b: &Text) -> Result<Text, Unsupported> {
        if matches!(f, Binary::And | Binary::Or) {
            let (a, b) = (self.truth(dtype, a)?, self.truth(dtype, b)?);
            return Ok(Text::infix(
                if f == Binary::And { "&&" } else { "||" },
                Level::Loose,
                &a,
                &b,
            ));
        }
        Ok(match dtype.compute() {
            DType::F32 => match f {
                Binary::Pow => Text::call("pow_", &[a, b]),
                Binary::Max => Text::call("max_nan", &[a, b]),
                Binary::Min => Text::call("min_nan", &[a, b]),
                // Drivers are given an ordered !=, which is false for NaN.
                Binary::Ne => Text::prefix("!", &Text::infix("==", Level::Loose, a, b)),
                _ => operator(f, a, b),
            },
            DType::I32 => match f {
                Binary::Pow => Text::call("i32_pow", &[a, b]),
                Binary::Div => Text::call("i32_div", &[a, b]),
                Binary::Max => Text::call("max", &[a, b]),
                Binary::Min => Text::call("min", &[a, b]),
                _ => operator(f, a, b),
            },
            DType::U8 => match f {
                Binary::Pow => Text::call("u8_pow", &[a, b]),
                Binary::Div => Text::call("u8_div", &[a, b]),
                Binary::Max => Text::call("max", &[a, b]),
                Binary::Min => Text::call("min", &[a, b]),
                _ if f.compares() => operator(f, a, b),
                _ => byte(operator(f, a, b)),
            },
            DType::Bool => bool_binary(f, a, b),
            DType::I64 => match f {
                Binary::Add => Text::call("i64_add", &[a, b]),
                Binary::Sub => Text::call("i64_sub", &[a, b]),
                Binary::Mul => Text::call("i64_mul", &[a, b]),
                Binary::Max => Text::call("i64_max", &[a, b]),
                Binary::Min => Text::call("i64_min", &[a, b]),
                Binary::Lt => Text::call("i64_lt", &[a, b]),
                Binary::Gt => Text::call("i64_lt", &[b, a]),
                Binary::Le => Text::prefix("!", &Text::call("i64_lt", &[b, a])),
                Binary::Ge => Text::prefix("!", &Text::call("i64_lt", &[a, b])),
                Binary::Eq => Text::call("all", &[&Text::infix("==", Level::Loose, a, b)]),
                Binary::Ne => Text::call("any", &[&Text::infix("!=", Level::Loose, a, b)]),
                _ => return Err(Unsupported { dtype }),
            },
            _ => return Err(Unsupported { dtype }),
        })
    }

    fn select(&self, dtype: DType, c: &Text, a: &Text, b: &Text) -> Result<Text, Unsupported> {
        self.type_name(dtype)?;
        Ok(Text::call("select", &[b, a, c]))
    }

    fn cast(&self, from: DType, to: DType, x: &Text) -> Result<Text, Unsupported> {
        let (from, to) = (from.compute(), to.compute());
        let zero = self.literal(0.0, from)?;
        self.type_name(to)?;
        Ok(match (from, to) {
            (a, b) if a == b => x.clone(),
            // Not `!= 0`: NaN is true.
            (DType::F32, DType::Bool) => {
                Text::prefix("!", &Text::infix("==", Level::Loose, x, &zero))
            }
            (DType::I64, DType::Bool) => {
                Text::call("any", &[&Text::infix("!=", Level::Loose, x, &zero)])
            }
            (_, DType::Bool) => Text::infix("!=", Level::Loose, x, &zero),
            (DType::F32, DType::I32) => Text::call("i32_of_f32", &[x]),
            (DType::F32, DType::U8) => byte(Text::call("u32", &[&Text::call("i32_of_f32", &[x])])),
            (DType::F32, _) => Text::call("i64_of_f32", &[x]),
            (DType::I64, DType::F32) => Text::call("f32_of_i64", &[x]),
            (DType::I64, DType::I32) => Text::call("i32_of", &[x]),
            (DType::I64, _) => byte(Text::call("u32", &[&Text::call("i32_of", &[x])])),
            (DType::I32, DType::I64) => Text::call("i64_of", &[x]),
            (DType::I32, DType::U8) => byte(Text::call("u32", &[x])),
            (DType::U8, DType::I64) => Text::call("vec2<u32>", &[x, &Text::atom("0u")]),
            (DType::Bool, DType::I64) => {
                Text::call("vec2<u32>", &[&Text::call("u32", &[x]), &Text::atom("0u")])
            }
            (_, DType::F32) => Text::call("f32", &[x]),
            (_, DType::I32) => Text::call("i32", &[x]),
            _ => Text::call("u32", &[x]),
        })
    }

    fn name(&self, name: &str, dtype: DType, value: &Text) -> Result<String, Unsupported> {
        self.type_name(dtype)?;
        Ok(format!("let {name} = {};", value.source))
    }
}

impl Wgsl {
    fn truth(&self, dtype: DType, x: &Text) -> Result<Text, Unsupported> {
        if dtype == DType::Bool {
            Ok(x.clone())
        } else {
            self.cast(dtype, DType::Bool, x)
        }
    }
}

fn float_unary(f: Unary, x: &Text) -> Text {
    let function = match f {
        Unary::Neg => return Text::prefix("-", x),
        Unary::Not => return Text::infix("==", Level::Loose, x, &Text::atom("0.0")),
        Unary::Abs => "abs",
        Unary::Exp => "exp_",
        Unary::Log => "log_",
        Unary::Log1p => "log1p_",
        Unary::Sqrt => "sqrt_",
        Unary::Rsqrt => "rsqrt_",
        Unary::Sin => "sin_",
        Unary::Cos => "cos_",
        Unary::Tanh => "tanh_",
        Unary::Erf => "erf_",
        Unary::Floor => "floor",
        Unary::Ceil => "ceil",
        Unary::Round => "round",
        Unary::Sign => "sign_nan",
        Unary::IsNan => "is_nan",
        Unary::IsFinite => "is_finite",
    };
    Text::call(function, &[x])
}

fn bool_binary(f: Binary, a: &Text, b: &Text) -> Text {
    let infix = |operator, a: &Text, b: &Text| Text::infix(operator, Level::Loose, a, b);
    let not = |x: &Text| Text::prefix("!", x);
    match f {
        Binary::Mul | Binary::Min | Binary::And => infix("&&", a, b),
        Binary::Sub | Binary::Ne => infix("!=", a, b),
        Binary::Eq => infix("==", a, b),
        Binary::Lt => infix("&&", &not(a), b),
        Binary::Gt => infix("&&", a, &not(b)),
        Binary::Le => infix("||", &not(a), b),
        Binary::Ge => infix("||", a, &not(b)),
        _ => infix("||", a, b),
    }
}

fn operator(f: Binary, a: &Text, b: &Text) -> Text {
    let (symbol, level) = match f {
        Binary::Add => ("+", Level::Sum),
        Binary::Sub => ("-", Level::Sum),
        Binary::Mul => ("*", Level::Product),
        Binary::Div => ("/", Level::Product),
        Binary::Lt => ("<", Level::Loose),
        Binary::Le => ("<=", Level::Loose),
        Binary::Gt => (">", Level::Loose),
        Binary::Ge => (">=", Level::Loose),
        Binary::Eq => ("==", Level::Loose),
        _ => ("!=", Level::Loose),
    };
    Text::infix(symbol, level, a, b)
}

/// The low byte: uint8 arithmetic wraps.
fn byte(x: Text) -> Text {
    Text::infix("&", Level::Loose, &x, &Text::atom("0xffu"))
}

fn float(value: f32) -> Text {
    if value.is_nan() {
        return Text::atom("nan()");
    }
    if value.is_infinite() {
        let inf = Text::atom("inf()");
        return if value > 0.0 {
            inf
        } else {
            Text::prefix("-", &inf)
        };
    }
    let source = format!("{value:?}");
    // `1e-5` and `1.5` are read as abstract floats; a plain `3` never comes from {:?}.
    Text {
        level: if source.starts_with('-') {
            Level::Prefix
        } else {
            Level::Atom
        },
        source: format!("{source}f"),
    }
}

fn integer(value: i32) -> Text {
    if value == i32::MIN {
        // The literal's digits alone would not fit.
        return Text::atom("i32(-2147483648)");
    }
    Text {
        level: if value < 0 {
            Level::Prefix
        } else {
            Level::Atom
        },
        source: format!("{value}i"),
    }
}
