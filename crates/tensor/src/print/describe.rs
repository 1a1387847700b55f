//! An expression as mathematics, for the comment above a generated kernel.

use crate::expr::{Binary, Expr, Unary};

/// The expression with operands `<prefix>0`, `<prefix>1`, and run-time numbers `s0`, `s1`.
pub fn describe(expr: &Expr, prefix: &str) -> String {
    go(expr, prefix, 0)
}

/// Binding strength: 0 anything, 1 comparison, 2 sum, 3 product, 4 prefix.
fn go(expr: &Expr, prefix: &str, outer: u8) -> String {
    let wrap = |level: u8, text: String| {
        if level < outer {
            format!("({text})")
        } else {
            text
        }
    };
    match expr {
        Expr::Arg(n) => format!("{prefix}{n}"),
        Expr::Scalar(n, _) => format!("s{n}"),
        Expr::Const(bits, dtype) => {
            let value = f64::from_bits(*bits);
            if *dtype == crate::DType::F32 {
                format!("{}", value as f32)
            } else {
                format!("{value}")
            }
        }
        Expr::Unary(f, x) => match f {
            Unary::Neg => wrap(4, format!("-{}", go(x, prefix, 5))),
            Unary::Not => wrap(4, format!("!{}", go(x, prefix, 5))),
            _ => format!("{}({})", unary_name(*f), go(x, prefix, 0)),
        },
        Expr::Binary(f, a, b) => {
            let (level, symbol) = match f {
                Binary::Add => (2, "+"),
                Binary::Sub => (2, "-"),
                Binary::Mul => (3, "*"),
                Binary::Div => (3, "/"),
                Binary::Lt => (1, "<"),
                Binary::Le => (1, "<="),
                Binary::Gt => (1, ">"),
                Binary::Ge => (1, ">="),
                Binary::Eq => (1, "=="),
                Binary::Ne => (1, "!="),
                Binary::And => (1, "&&"),
                Binary::Or => (1, "||"),
                Binary::Pow => return format!("pow({}, {})", go(a, prefix, 0), go(b, prefix, 0)),
                Binary::Max => return format!("max({}, {})", go(a, prefix, 0), go(b, prefix, 0)),
                Binary::Min => return format!("min({}, {})", go(a, prefix, 0), go(b, prefix, 0)),
            };
            let left = go(a, prefix, if level == 1 { 2 } else { level });
            wrap(
                level,
                format!("{left} {symbol} {}", go(b, prefix, level + 1)),
            )
        }
        Expr::Select(c, a, b) => wrap(
            0,
            format!(
                "({} ? {} : {})",
                go(c, prefix, 0),
                go(a, prefix, 0),
                go(b, prefix, 0)
            ),
        ),
        Expr::Cast(dtype, x) => format!("{}({})", dtype.name(), go(x, prefix, 0)),
    }
}

fn unary_name(f: Unary) -> &'static str {
    match f {
        Unary::Neg => "-",
        Unary::Not => "!",
        Unary::Abs => "abs",
        Unary::Exp => "exp",
        Unary::Log => "log",
        Unary::Log1p => "log1p",
        Unary::Sqrt => "sqrt",
        Unary::Rsqrt => "rsqrt",
        Unary::Sin => "sin",
        Unary::Cos => "cos",
        Unary::Tanh => "tanh",
        Unary::Erf => "erf",
        Unary::Floor => "floor",
        Unary::Ceil => "ceil",
        Unary::Round => "round",
        Unary::Sign => "sign",
        Unary::IsNan => "isnan",
        Unary::IsFinite => "isfinite",
    }
}
