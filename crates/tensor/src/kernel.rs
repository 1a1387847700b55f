//! Kernels as data: what a device is asked to run.
//!
//! A device sees bytes, element types, strides and one of three kinds of work. It knows nothing of gradients or of what
//! a shape means.

use crate::device::Buffer;
use crate::dtype::DType;
use crate::error::Error;
use crate::expr::Expr;
use std::sync::Arc;

/// Most dimensions that a strided kernel loops over, after neighbours have been merged ([`crate::layout::collapse`]).
pub const MAX_RANK: usize = 8;

/// Most operands of one kernel: WebGPU's default limit of storage buffers in a stage.
pub const MAX_OPERANDS: usize = 8;

/// An elementwise kernel: for every index of the launch's shape, evaluate each expression and store it.
///
/// An operand that is both stored to and read is changed in place. Outputs are always written from the values before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// The operation, as the trace shows it: `relu`, `add`, `adam_step`.
    pub name: &'static str,
    /// Element type of each operand, in binding order.
    pub operands: Vec<DType>,
    /// Which operand receives which value. The value is rounded or truncated to the operand's type.
    pub outputs: Vec<(u8, Expr)>,
}

impl Map {
    /// One output, bound last, made from the operands before it.
    pub fn new(name: &'static str, inputs: &[DType], out: DType, expr: Expr) -> Map {
        let mut operands = inputs.to_vec();
        operands.push(out);
        let last = inputs.len() as u8;
        Map {
            name,
            operands,
            outputs: vec![(last, expr)],
        }
    }

    /// Whether operand `n` is stored to.
    pub fn writes(&self, n: usize) -> bool {
        self.outputs.iter().any(|(o, _)| *o as usize == n)
    }

    /// Whether operand `n` is read.
    pub fn reads(&self, n: usize) -> bool {
        self.outputs.iter().any(|(_, e)| e.reads(n))
    }
}

/// How a reduction combines two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Sum, accumulated in f32 or wider.
    Sum,
    /// Product.
    Prod,
    /// Largest; NaN if any is.
    Max,
    /// Smallest; NaN if any is.
    Min,
}

/// A reduction: for every kept index, combine `pre` over all reduced indices, then store `post` of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// The operation, as the trace shows it.
    pub name: &'static str,
    /// Element type of each input; the output is bound after them.
    pub inputs: Vec<DType>,
    /// Element type of the output.
    pub out: DType,
    /// What is combined, over the inputs at one index.
    pub pre: Expr,
    /// How.
    pub combine: Combine,
    /// The compute type in which it accumulates, that of `pre`.
    pub acc: DType,
    /// What is stored: `Arg(0)` is the combined value (of type `acc`); it may read scalars.
    pub post: Expr,
}

/// A kernel written by hand, once a language: `shaders/<stem>.wgsl`, `kernels/<stem>.cu` and `cpu/<stem>.rs` have a
/// function of this name each.
///
/// The files see the operands in order as typed arrays, the element at which each begins, and one parameter block.
#[derive(Debug)]
pub struct Kernel {
    /// Name of the entry point and in the trace.
    pub name: &'static str,
    /// The file's stem in each of the three folders.
    pub stem: &'static str,
    /// What each operand is.
    pub operands: &'static [Slot],
    /// Size of the parameter block in bytes, a multiple of 16.
    pub params: usize,
    /// Whether it checks values and may raise the launch's [`Check`]. The device then binds its fault record after the
    /// operands.
    pub checks: bool,
}

/// How a hand-written kernel uses one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Reads floats: f32, and f64 on devices that have it. Half-width floats are converted before and after.
    Float,
    /// Writes (or updates) floats of that same type.
    FloatOut,
    /// Reads int64.
    Index,
    /// Writes int64.
    IndexOut,
    /// Reads bools.
    Mask,
    /// Reads or writes raw 32-bit words (`u32`).
    Words,
}

impl Slot {
    /// Whether the kernel stores to it.
    pub fn writes(self) -> bool {
        matches!(self, Slot::FloatOut | Slot::IndexOut | Slot::Words)
    }
}

/// A tensor's place in a launch.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// Memory it lies in.
    pub buffer: &'a Buffer,
    /// Element type.
    pub dtype: DType,
    /// Element of the buffer at which it begins.
    pub offset: usize,
    /// First and one past the last element that may be touched.
    pub span: (usize, usize),
    /// Strides of the launch's (merged) dimensions; empty for hand-written kernels, whose operands are dense from
    /// `offset` unless their parameters say otherwise.
    pub strides: &'a [isize],
}

/// What to run.
#[derive(Clone, Debug)]
pub enum Work<'a> {
    /// An elementwise kernel over `shape` (merged dimensions, at most [`MAX_RANK`]).
    Map {
        /// The kernel.
        map: &'a Arc<Map>,
        /// Index space.
        shape: &'a [usize],
        /// Its run-time numbers.
        scalars: &'a [f64],
    },
    /// An elementwise kernel over several sets of dense operands: bindings are those of the first set, then of the
    /// second, and so on.
    Maps {
        /// The kernel.
        map: &'a Arc<Map>,
        /// Elements of each set.
        lengths: &'a [usize],
        /// Its run-time numbers, the same for all sets.
        scalars: &'a [f64],
    },
    /// A reduction over the dimensions from `kept` on. The output's strides cover the kept dimensions only.
    Reduce {
        /// The kernel.
        reduce: &'a Arc<Reduce>,
        /// Index space: kept dimensions, then reduced ones.
        shape: &'a [usize],
        /// How many are kept.
        kept: usize,
        /// Its run-time numbers.
        scalars: &'a [f64],
    },
    /// A hand-written kernel.
    Kernel {
        /// Which.
        kernel: &'static Kernel,
        /// Its parameter block.
        params: &'a [u8],
        /// How many invocations it wants.
        grid: Grid,
        /// What to raise when it finds a bad value.
        check: Option<Check>,
    },
}

/// The size of a hand-written kernel's launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// This many independent invocations; the device picks the group size and folds past its limit.
    Invocations(usize),
    /// This many workgroups of the size that the kernel's source declares (one a row, one a tile).
    Groups([u32; 3]),
}

/// A condition on values that only the device sees: the error to raise, given the offending value.
///
/// Devices that run at once raise it from `launch`; others note value and check, and raise it at the next await.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// A class index outside `0..classes`.
    Target {
        /// Number of classes.
        classes: usize,
    },
    /// An index outside `0..size`.
    Index {
        /// The operation that indexes.
        op: &'static str,
        /// Size of the indexed dimension.
        size: usize,
    },
    /// A NaN, in anomaly mode.
    Nan {
        /// The operation or backward node that made it.
        function: &'static str,
        /// Whether it appeared in the backward pass.
        backward: bool,
        /// Which of its outputs.
        output: usize,
    },
}

impl Check {
    /// The error for this offending value.
    pub fn error(self, value: i64) -> Error {
        match self {
            Check::Target { classes } => Error::TargetOutOfBounds {
                target: value,
                classes,
            },
            Check::Index { op, size } => Error::IndexValue {
                op,
                index: value,
                size,
            },
            Check::Nan {
                function,
                backward,
                output,
            } => Error::AnomalyNan {
                function,
                backward,
                output,
            },
        }
    }
}

/// One launch: work, operands, and what it is reckoned to cost.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// What to run.
    pub work: Work<'a>,
    /// Its operands in order.
    pub bindings: &'a [Binding<'a>],
    /// Bytes that must move at least.
    pub bytes: u64,
    /// Arithmetic operations.
    pub flops: u64,
}

impl Launch<'_> {
    /// The name that the trace shows.
    pub fn name(&self) -> &'static str {
        match &self.work {
            Work::Map { map, .. } | Work::Maps { map, .. } => map.name,
            Work::Reduce { reduce, .. } => reduce.name,
            Work::Kernel { kernel, .. } => kernel.name,
        }
    }
}
