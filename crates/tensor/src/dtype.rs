//! Element types, their names, their promotion.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a tensor's elements. Names are PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// `torch.bool`, one byte an element, 0 or 1.
    Bool,
    /// `torch.uint8`.
    U8,
    /// `torch.int32`.
    I32,
    /// `torch.int64`.
    I64,
    /// `torch.float16`.
    F16,
    /// `torch.bfloat16`.
    BF16,
    /// `torch.float32`.
    F32,
    /// `torch.float64`.
    F64,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 8] = [
        DType::Bool,
        DType::U8,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// Whether gradients can flow through this type.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// `bool`, `uint8`, `int32`, `int64`.
    pub const fn is_integral(self) -> bool {
        !self.is_float()
    }

    /// The type in which arithmetic on this type is carried out:
    /// half-width floats compute in f32 and are rounded when stored.
    pub const fn compute(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            other => other,
        }
    }

    /// PyTorch's name, as in `torch.float32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "uint8",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
        }
    }

    /// The C++ scalar name that PyTorch prints in many errors ("expected scalar type Long but found Float").
    pub const fn scalar_name(self) -> &'static str {
        match self {
            DType::Bool => "Bool",
            DType::U8 => "Byte",
            DType::I32 => "Int",
            DType::I64 => "Long",
            DType::F16 => "Half",
            DType::BF16 => "BFloat16",
            DType::F32 => "Float",
            DType::F64 => "Double",
        }
    }

    /// PyTorch's result type of an operation on two tensors that both have dimensions:
    /// the wider of one kind, floats over integers, `float16` with `bfloat16` gives `float32`.
    pub fn promote(self, other: DType) -> DType {
        use DType::*;
        match (self, other) {
            (a, b) if a == b => a,
            (Bool, x) | (x, Bool) => x,
            (F16, BF16) | (BF16, F16) => F32,
            (a, b) if a.is_float() && b.is_float() => a.max(b),
            (a, _) if a.is_float() => a,
            (_, b) if b.is_float() => b,
            (a, b) => a.max(b),
        }
    }

    /// The category by which a zero-dimensional operand may change the result: bool < integer < float.
    pub(crate) const fn category(self) -> u8 {
        match self {
            DType::Bool => 0,
            DType::U8 | DType::I32 | DType::I64 => 1,
            _ => 2,
        }
    }

    /// From PyTorch's name, with or without the `torch.` in front, or the short one (`f32`).
    pub fn parse(text: &str) -> Option<DType> {
        let text = text.strip_prefix("torch.").unwrap_or(text);
        Some(match text {
            "bool" => DType::Bool,
            "uint8" | "u8" => DType::U8,
            "int32" | "int" | "i32" => DType::I32,
            "int64" | "long" | "i64" => DType::I64,
            "float16" | "half" | "f16" => DType::F16,
            "bfloat16" | "bf16" => DType::BF16,
            "float32" | "float" | "f32" => DType::F32,
            "float64" | "double" | "f64" => DType::F64,
            _ => return None,
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that can be an element of a tensor.
pub trait Element: bytemuck::Pod + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its element type.
    const DTYPE: DType;
    /// As a float64, for reading a value of any type.
    fn to_f64(self) -> f64;
    /// From a float64, rounding or truncating as a conversion does.
    fn from_f64(value: f64) -> Self;
}

macro_rules! element {
    ($($type:ty => $dtype:ident),*) => {$(
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            fn to_f64(self) -> f64 { self as f64 }
            fn from_f64(value: f64) -> Self { value as $type }
        }
    )*};
}
element!(f32 => F32, f64 => F64, i32 => I32, i64 => I64, u8 => U8);

impl Element for f16 {
    const DTYPE: DType = DType::F16;
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
    fn from_f64(value: f64) -> Self {
        f16::from_f64(value)
    }
}

impl Element for bf16 {
    const DTYPE: DType = DType::BF16;
    fn to_f64(self) -> f64 {
        bf16::to_f64(self)
    }
    fn from_f64(value: f64) -> Self {
        bf16::from_f64(value)
    }
}

/// A boolean element as it is stored: one byte, 0 or 1.
///
/// Rust's own `bool` cannot be made from arbitrary bytes, so tensors of bools are read and written as this.
#[derive(Clone, Copy, PartialEq, Eq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// The byte for `value`.
    pub const fn new(value: bool) -> Self {
        Bool(value as u8)
    }
    /// The truth of the byte.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl Element for Bool {
    const DTYPE: DType = DType::Bool;
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self.get()))
    }
    fn from_f64(value: f64) -> Self {
        Bool::new(value != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::DType::{self, *};

    #[test]
    fn promotion_follows_pytorch() {
        for (a, b, want) in [
            (Bool, U8, U8),
            (U8, I32, I32),
            (I64, F16, F16),
            (F16, BF16, F32),
            (F16, F32, F32),
            (BF16, F64, F64),
            (I64, F32, F32),
            (Bool, Bool, Bool),
        ] {
            assert_eq!(a.promote(b), want, "{a} with {b}");
            assert_eq!(b.promote(a), want, "{b} with {a}");
        }
    }

    #[test]
    fn names_come_back() {
        for d in DType::ALL {
            assert_eq!(DType::parse(d.name()), Some(d));
            assert_eq!(DType::parse(&format!("torch.{d}")), Some(d));
        }
    }
}
