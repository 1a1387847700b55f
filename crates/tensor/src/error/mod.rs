//! Errors as values: what was asked, both sides of the disagreement, PyTorch's wording, and a repair.
//!
//! `Display` speaks as PyTorch does, since that is the text that people meet and search for; [`Error::help`] adds the
//! likely cause on these very tensors and the one-line repair.

mod display;
mod help;

use crate::device::DeviceId;
use crate::dtype::DType;

/// What every fallible function of the engine returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Which operand of an operation, and where it lives: one side of a device mismatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Its name in the operation's signature, such as `weight`.
    pub name: &'static str,
    /// Where it lives.
    pub device: DeviceId,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// Why an operation cannot be done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the two sides that the message of each variant names
pub enum Error {
    // Shapes and layouts.
    Broadcast {
        a: usize,
        b: usize,
        dim: usize,
        left: Vec<usize>,
        right: Vec<usize>,
    },
    BroadcastTo {
        op: &'static str,
        out: Vec<usize>,
        shape: Vec<usize>,
    },
    DimOutOfRange {
        dim: isize,
        rank: usize,
    },
    DuplicateDim {
        op: &'static str,
        dim: usize,
    },
    PermuteRank {
        rank: usize,
        dims: Vec<isize>,
    },
    NarrowStart {
        start: isize,
        size: usize,
    },
    NarrowLength {
        start: usize,
        length: usize,
        size: usize,
    },
    IndexOutOfBounds {
        index: isize,
        dim: usize,
        size: usize,
    },
    SliceStep,
    ZeroDim {
        op: &'static str,
    },
    NumelOverflow {
        shape: Vec<usize>,
    },
    Expand {
        want: usize,
        have: usize,
        dim: usize,
        target: Vec<isize>,
        shape: Vec<usize>,
    },
    ExpandRank {
        target: Vec<isize>,
        shape: Vec<usize>,
    },
    ExpandNegative {
        dim: usize,
        target: Vec<isize>,
    },
    InvalidShape {
        target: Vec<isize>,
        numel: usize,
    },
    NegativeShape {
        dim: isize,
        target: Vec<isize>,
    },
    TwoInferred,
    InferFromEmpty {
        target: Vec<isize>,
    },
    ViewIncompatible {
        shape: Vec<usize>,
        stride: Vec<isize>,
        target: Vec<usize>,
    },
    DataLength {
        numel: usize,
        shape: Vec<usize>,
    },
    TooManyDims {
        op: &'static str,
        rank: usize,
        max: usize,
    },
    MatmulShape {
        left: Vec<usize>,
        right: Vec<usize>,
    },
    BatchedMatmulShape {
        left: Vec<usize>,
        right: Vec<usize>,
    },
    MatmulScalar {
        left: usize,
        right: usize,
    },
    VectorLength {
        left: usize,
        right: usize,
    },
    CatSize {
        dim: usize,
        expected: usize,
        got: usize,
        number: usize,
    },
    CatRank {
        expected: usize,
        got: usize,
    },
    StackSize {
        first: Vec<usize>,
        other: Vec<usize>,
        number: usize,
    },
    EmptyList {
        op: &'static str,
    },
    ShapeMismatch {
        op: &'static str,
        left: Vec<usize>,
        right: Vec<usize>,
        rule: &'static str,
    },
    EmptyReduction {
        op: &'static str,
        /// The dimension that has no elements; `None` when all are reduced together.
        dim: Option<usize>,
    },
    TopkRange {
        k: usize,
        size: usize,
    },
    NotScalar {
        numel: usize,
    },
    // Convolution, pooling, normalisation, losses.
    ConvChannels {
        groups: usize,
        weight: Vec<usize>,
        input: Vec<usize>,
        expected: usize,
    },
    ConvRank {
        shape: Vec<usize>,
    },
    ConvKernel {
        padded: (usize, usize),
        kernel: (usize, usize),
    },
    PoolRank {
        op: &'static str,
        shape: Vec<usize>,
    },
    PoolPadding {
        padding: (usize, usize),
        kernel: (usize, usize),
    },
    PoolOutput {
        input: Vec<usize>,
        output: (isize, isize),
    },
    NormOneValue {
        shape: Vec<usize>,
    },
    NormShape {
        normalized: Vec<usize>,
        input: Vec<usize>,
    },
    TargetOutOfBounds {
        target: i64,
        classes: usize,
    },
    BatchSize {
        input: usize,
        target: usize,
    },
    IndexValue {
        op: &'static str,
        index: i64,
        size: usize,
    },
    // Element types.
    MatmulDType {
        left: DType,
        right: DType,
    },
    LinearDType {
        left: DType,
        right: DType,
    },
    ConvDType {
        name: &'static str,
        input: DType,
        parameter: DType,
    },
    ExpectedDType {
        expected: DType,
        found: DType,
    },
    DTypeNotFloat {
        op: &'static str,
        found: DType,
    },
    BoolNotSupported {
        op: &'static str,
    },
    ResultCast {
        from: DType,
        to: DType,
    },
    UnsupportedDType {
        op: &'static str,
        dtype: DType,
        device: DeviceId,
    },
    ElementType {
        asked: DType,
        found: DType,
    },
    // Devices.
    DeviceMismatch {
        op: &'static str,
        left: Box<Operand>,
        right: Box<Operand>,
    },
    DeviceString {
        text: String,
    },
    DeviceType {
        text: String,
    },
    DeviceMissing {
        device: DeviceId,
        reason: String,
        remedy: String,
    },
    ReadBackIsAsync {
        device: DeviceId,
    },
    DeviceLost {
        device: DeviceId,
        reason: String,
    },
    OutOfMemory {
        device: DeviceId,
        detail: Box<crate::memory::OutOfMemory>,
    },
    DeviceFailure {
        device: DeviceId,
        operation: String,
        message: String,
    },
    BindingTooLarge {
        device: DeviceId,
        op: String,
        bytes: usize,
        limit: usize,
    },
    KernelMissing {
        device: DeviceId,
        kernel: &'static str,
    },
    // Autograd.
    BackwardTwice,
    BackwardNonScalar {
        shape: Vec<usize>,
    },
    NoGradFn,
    GradShape {
        expected: Vec<usize>,
        got: Vec<usize>,
    },
    InplaceModified {
        dtype: DType,
        device: DeviceId,
        shape: Vec<usize>,
        producer: Option<&'static str>,
        version: u32,
        expected: u32,
    },
    InplaceLeaf,
    InplaceView {
        op: &'static str,
    },
    InplaceOverlap {
        op: &'static str,
        shape: Vec<usize>,
        stride: Vec<isize>,
    },
    RequiresGradDType {
        dtype: DType,
    },
    RequiresGradNonLeaf,
    ReadRequiresGrad,
    AnomalyNan {
        function: &'static str,
        backward: bool,
        output: usize,
    },
    // Parameters of layers, optimisers, checkpoints.
    InvalidArgument {
        op: &'static str,
        message: String,
        remedy: &'static str,
    },
    OptimizerEmpty,
    OptimizerValue {
        name: &'static str,
        value: f64,
    },
    StateDict {
        module: String,
        lines: Vec<String>,
    },
    Format {
        what: String,
        detail: String,
    },
}

impl Error {
    /// Shorthand for [`Error::InvalidArgument`].
    pub fn argument(op: &'static str, message: impl Into<String>, remedy: &'static str) -> Error {
        Error::InvalidArgument {
            op,
            message: message.into(),
            remedy,
        }
    }

    /// The exception class that PyTorch raises for it.
    pub fn class(&self) -> &'static str {
        match self {
            Error::DimOutOfRange { .. }
            | Error::IndexOutOfBounds { .. }
            | Error::IndexValue { .. }
            | Error::ZeroDim { op: "select" }
            | Error::TargetOutOfBounds { .. } => "IndexError",
            Error::BatchSize { .. }
            | Error::NormOneValue { .. }
            | Error::OptimizerEmpty
            | Error::OptimizerValue { .. }
            | Error::InvalidArgument { .. } => "ValueError",
            Error::OutOfMemory { .. } => "OutOfMemoryError",
            _ => "RuntimeError",
        }
    }
}

impl std::error::Error for Error {}
