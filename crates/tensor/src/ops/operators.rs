//! `&a + &b`, `&a * 2.0`, `-&a`: PyTorch's operators, as `Result`s.

use crate::error::Result;
use crate::tensor::Tensor;
use std::ops;

macro_rules! operator {
    ($($trait:ident $method:ident $scalar:ident),*) => {$(
        impl ops::$trait<&Tensor> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                Tensor::$method(self, other)
            }
        }
        impl ops::$trait<f64> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: f64) -> Result<Tensor> {
                self.$scalar(other)
            }
        }
    )*};
}
operator!(Add add add_scalar, Sub sub sub_scalar, Mul mul mul_scalar, Div div div_scalar);

impl ops::Neg for &Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}
