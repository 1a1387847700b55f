//! An expression as C-like text: fewest parentheses, a name for what is used more than once.

use super::Unsupported;
use crate::dtype::DType;
use crate::expr::{Binary, Expr, Unary};
use std::collections::HashMap;

/// A piece of an expression and how tightly its outermost operator binds.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The source text.
    pub source: String,
    /// The level of its outermost operator.
    pub level: Level,
}

/// How tightly operators bind, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Anything that stands in parentheses whenever it is an operand: `&&`, `||`, comparisons, `&`, `<<`.
    Loose,
    /// `+`, `-`
    Sum,
    /// `*`, `/`
    Product,
    /// `-x`, `!x`
    Prefix,
    /// A name, a literal, a call.
    Atom,
}

impl Text {
    /// A name, literal or call.
    pub fn atom(source: impl Into<String>) -> Text {
        Text {
            source: source.into(),
            level: Level::Atom,
        }
    }

    /// A call of `function`.
    pub fn call(function: &str, arguments: &[&Text]) -> Text {
        let list: Vec<&str> = arguments.iter().map(|a| a.source.as_str()).collect();
        Text::atom(format!("{function}({})", list.join(", ")))
    }

    /// An operator before its operand.
    pub fn prefix(operator: &str, x: &Text) -> Text {
        // `--x` would be read as one token.
        let inner = if x.level < Level::Atom || x.source.starts_with('-') {
            x.parenthesised()
        } else {
            x.source.clone()
        };
        Text {
            source: format!("{operator}{inner}"),
            level: Level::Prefix,
        }
    }

    /// An operator between its operands, left-associative.
    pub fn infix(operator: &str, level: Level, a: &Text, b: &Text) -> Text {
        Text {
            source: format!(
                "{} {operator} {}",
                a.within(level, false),
                b.within(level, true)
            ),
            level,
        }
    }

    fn parenthesised(&self) -> String {
        format!("({})", self.source)
    }

    fn within(&self, level: Level, right: bool) -> String {
        let tight = match level {
            Level::Loose => self.level > Level::Loose,
            _ if right => self.level > level,
            _ => self.level >= level,
        };
        if tight {
            self.source.clone()
        } else {
            self.parenthesised()
        }
    }
}

/// What differs from language to language.
pub trait Dialect {
    /// The type in which values of this compute type are held.
    fn type_name(&self, dtype: DType) -> Result<&'static str, Unsupported>;
    /// A constant.
    fn literal(&self, value: f64, dtype: DType) -> Result<Text, Unsupported>;
    /// The run-time number in place `slot` of the parameter block.
    fn scalar(&self, slot: usize, dtype: DType) -> Result<Text, Unsupported>;
    /// A function of one value of this type.
    fn unary(&self, f: Unary, dtype: DType, x: &Text) -> Result<Text, Unsupported>;
    /// A function of two values of this type.
    fn binary(&self, f: Binary, dtype: DType, a: &Text, b: &Text) -> Result<Text, Unsupported>;
    /// `c ? a : b`.
    fn select(&self, dtype: DType, c: &Text, a: &Text, b: &Text) -> Result<Text, Unsupported>;
    /// A conversion between two different compute types.
    fn cast(&self, from: DType, to: DType, x: &Text) -> Result<Text, Unsupported>;
    /// A statement that names a value.
    fn name(&self, name: &str, dtype: DType, value: &Text) -> Result<String, Unsupported>;
}

/// Run-time numbers in order of first use, each with the type in which it is used.
pub(super) fn scalar_slots<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Vec<(u8, DType)> {
    let mut slots = Vec::new();
    for expr in exprs {
        expr.walk(&mut |e| {
            if let Expr::Scalar(n, dtype) = e
                && !slots.contains(&(*n, *dtype))
            {
                slots.push((*n, *dtype));
            }
        });
    }
    slots
}

/// Prints expressions of one kernel; remembers which values have been given a name.
pub(super) struct Writer<'a, D: Dialect> {
    dialect: &'a D,
    operands: &'a [DType],
    slots: &'a [(u8, DType)],
    argument: fn(u8) -> String,
    uses: HashMap<&'a Expr, usize>,
    named: HashMap<&'a Expr, Text>,
    /// Statements that must stand before the expressions returned so far.
    pub statements: Vec<String>,
}

impl<'a, D: Dialect> Writer<'a, D> {
    /// For `exprs` over `operands`, of which number `n` is read as `argument(n)`.
    pub fn new(
        dialect: &'a D,
        operands: &'a [DType],
        slots: &'a [(u8, DType)],
        argument: fn(u8) -> String,
        exprs: impl IntoIterator<Item = &'a Expr>,
    ) -> Self {
        let mut writer = Writer {
            dialect,
            operands,
            slots,
            argument,
            uses: HashMap::new(),
            named: HashMap::new(),
            statements: vec![],
        };
        for expr in exprs {
            writer.count(expr);
        }
        writer
    }

    fn count(&mut self, expr: &'a Expr) {
        let uses = self.uses.entry(expr).or_insert(0);
        *uses += 1;
        if *uses > 1 {
            return;
        }
        match expr {
            Expr::Unary(_, x) | Expr::Cast(_, x) => self.count(x),
            Expr::Binary(_, a, b) => {
                self.count(a);
                self.count(b);
            }
            Expr::Select(c, a, b) => {
                self.count(c);
                self.count(a);
                self.count(b);
            }
            Expr::Arg(_) | Expr::Scalar(..) | Expr::Const(..) => {}
        }
    }

    /// The text of `expr` in its own compute type.
    pub fn print(&mut self, expr: &'a Expr) -> Result<Text, Unsupported> {
        if let Some(text) = self.named.get(expr) {
            return Ok(text.clone());
        }
        let dtype = expr.dtype(self.operands);
        let dialect = self.dialect;
        let text = match expr {
            Expr::Arg(n) => return Ok(Text::atom((self.argument)(*n))),
            Expr::Const(bits, d) => return dialect.literal(f64::from_bits(*bits), *d),
            Expr::Scalar(n, d) => {
                let slot = self.slots.iter().position(|s| s == &(*n, *d)).unwrap_or(0);
                return dialect.scalar(slot, *d);
            }
            Expr::Unary(f, x) => {
                let text = self.print(x)?;
                dialect.unary(*f, x.dtype(self.operands), &text)?
            }
            Expr::Binary(f, a, b) => {
                let kind = a.dtype(self.operands);
                let (left, right) = (self.print(a)?, self.print_as(b, kind)?);
                dialect.binary(*f, kind, &left, &right)?
            }
            Expr::Select(c, a, b) => {
                let (cond, yes) = (self.print_as(c, DType::Bool)?, self.print(a)?);
                let no = self.print_as(b, dtype)?;
                dialect.select(dtype, &cond, &yes, &no)?
            }
            Expr::Cast(to, x) => self.print_as(x, *to)?,
        };
        let plain = text.level == Level::Atom && !text.source.contains('(');
        if !plain && self.uses.get(expr).is_some_and(|&n| n > 1) {
            let name = format!("t{}", self.named.len());
            self.statements.push(dialect.name(&name, dtype, &text)?);
            let text = Text::atom(name);
            self.named.insert(expr, text.clone());
            return Ok(text);
        }
        Ok(text)
    }

    /// The text of `expr`, converted where its type is another.
    pub fn print_as(&mut self, expr: &'a Expr, dtype: DType) -> Result<Text, Unsupported> {
        let text = self.print(expr)?;
        let from = expr.dtype(self.operands);
        let to = dtype.compute();
        if from == to {
            Ok(text)
        } else {
            self.dialect.cast(from, to, &text)
        }
    }
}
