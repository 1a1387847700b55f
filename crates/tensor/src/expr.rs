//! One scalar expression, three languages.
//!
//! Elementwise kernels, reductions, casts and copies are written once as an [`Expr`] over the values at one index. The
//! CPU evaluates it in cache-sized blocks (`cpu/`); one C-like printer ([`crate::print`]) turns it into WGSL and CUDA.

use crate::dtype::DType;
use std::ops;
use std::sync::Arc;

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each is the function of that name
pub enum Unary {
    Neg,
    Abs,
    Exp,
    Log,
    Log1p,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tanh,
    Erf,
    Floor,
    Ceil,
    /// To the nearest integer, ties to even.
    Round,
    /// -1, 0 or 1; NaN stays NaN.
    Sign,
    /// Of a bool.
    Not,
    /// By bits, since WGSL may assume that there are none.
    IsNan,
    /// By bits: neither infinite nor NaN.
    IsFinite,
}

/// A function of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Of floats; integers are cast first, as `torch.div` does.
    Div,
    Pow,
    /// The larger; NaN if either is.
    Max,
    /// The smaller; NaN if either is.
    Min,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    /// Of bools.
    And,
    /// Of bools.
    Or,
}

impl Binary {
    /// Whether the result is a bool whatever the operands are.
    pub fn compares(self) -> bool {
        use Binary::*;
        matches!(self, Lt | Le | Gt | Ge | Eq | Ne | And | Or)
    }
}

/// A scalar expression. Cheap to clone; compared and hashed by structure, since compiled kernels are cached by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// Operand `n` of the kernel at this index, in its compute type ([`DType::compute`]).
    Arg(u8),
    /// Run-time number `n` of the launch (a learning rate, say), in this compute type: changing it compiles nothing.
    Scalar(u8, DType),
    /// A literal of this compute type; the bits of an `f64`.
    Const(u64, DType),
    /// A function of one value.
    Unary(Unary, Arc<Expr>),
    /// A function of two values.
    Binary(Binary, Arc<Expr>, Arc<Expr>),
    /// The second where the first (a bool) holds, else the third. Only the chosen one matters: NaN in the other is ignored.
    Select(Arc<Expr>, Arc<Expr>, Arc<Expr>),
    /// Converted to this compute type, as C does: floats truncate to integers, anything non-zero is true.
    Cast(DType, Arc<Expr>),
}

impl Expr {
    /// Operand `n`.
    pub fn arg(n: usize) -> Expr {
        Expr::Arg(n as u8)
    }

    /// A literal of the compute type of `dtype`.
    pub fn lit(value: f64, dtype: DType) -> Expr {
        Expr::Const(value.to_bits(), dtype.compute())
    }

    /// Run-time number `n` in the compute type of `dtype`.
    pub fn scalar(n: usize, dtype: DType) -> Expr {
        Expr::Scalar(n as u8, dtype.compute())
    }

    /// Apply a function of one value.
    pub fn un(self, f: Unary) -> Expr {
        Expr::Unary(f, Arc::new(self))
    }

    /// Apply a function of two values.
    pub fn bin(self, f: Binary, other: Expr) -> Expr {
        Expr::Binary(f, Arc::new(self), Arc::new(other))
    }

    /// `self ? yes : no`.
    pub fn select(self, yes: Expr, no: Expr) -> Expr {
        Expr::Select(Arc::new(self), Arc::new(yes), Arc::new(no))
    }

    /// Convert to the compute type of `dtype`.
    pub fn cast(self, dtype: DType) -> Expr {
        Expr::Cast(dtype.compute(), Arc::new(self))
    }

    /// The compute type of its value, given the element types of the operands.
    pub fn dtype(&self, operands: &[DType]) -> DType {
        match self {
            Expr::Arg(n) => operands
                .get(*n as usize)
                .map_or(DType::F32, |d| d.compute()),
            Expr::Scalar(_, d) | Expr::Const(_, d) | Expr::Cast(d, _) => *d,
            Expr::Unary(Unary::Not | Unary::IsNan | Unary::IsFinite, _) => DType::Bool,
            Expr::Unary(_, x) => x.dtype(operands),
            Expr::Binary(f, _, _) if f.compares() => DType::Bool,
            Expr::Binary(_, a, _) => a.dtype(operands),
            Expr::Select(_, a, _) => a.dtype(operands),
        }
    }

    /// Visit this and every expression below it, parents first.
    pub fn walk(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        match self {
            Expr::Unary(_, x) | Expr::Cast(_, x) => x.walk(visit),
            Expr::Binary(_, a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Expr::Select(c, a, b) => {
                c.walk(visit);
                a.walk(visit);
                b.walk(visit);
            }
            Expr::Arg(_) | Expr::Scalar(..) | Expr::Const(..) => {}
        }
    }

    /// Whether operand `n` is read.
    pub fn reads(&self, n: usize) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= *e == Expr::Arg(n as u8));
        found
    }

    /// How many arithmetic operations one evaluation takes.
    pub fn flops(&self) -> u64 {
        let mut count = 0;
        self.walk(&mut |e| {
            count += u64::from(matches!(
                e,
                Expr::Unary(..) | Expr::Binary(..) | Expr::Select(..)
            ))
        });
        count
    }

    /// The same expression with its operands replaced by `f(n)`.
    pub fn map_args(&self, f: &impl Fn(usize) -> Expr) -> Expr {
        let go = |x: &Arc<Expr>| Arc::new(x.map_args(f));
        match self {
            Expr::Arg(n) => f(*n as usize),
            Expr::Scalar(..) | Expr::Const(..) => self.clone(),
            Expr::Unary(op, x) => Expr::Unary(*op, go(x)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, go(a), go(b)),
            Expr::Select(c, a, b) => Expr::Select(go(c), go(a), go(b)),
            Expr::Cast(d, x) => Expr::Cast(*d, go(x)),
        }
    }

    /// Larger of two values; NaN if either is.
    pub fn max(self, other: Expr) -> Expr {
        self.bin(Binary::Max, other)
    }

    /// Smaller of two values; NaN if either is.
    pub fn min(self, other: Expr) -> Expr {
        self.bin(Binary::Min, other)
    }

    /// `self < other`.
    pub fn lt(self, other: Expr) -> Expr {
        self.bin(Binary::Lt, other)
    }

    /// `self > other`.
    pub fn gt(self, other: Expr) -> Expr {
        self.bin(Binary::Gt, other)
    }

    /// `self == other`.
    pub fn equals(self, other: Expr) -> Expr {
        self.bin(Binary::Eq, other)
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl ops::$trait for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.bin(Binary::$op, other)
            }
        }
    )*};
}
operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

impl ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.un(Unary::Neg)
    }
}
