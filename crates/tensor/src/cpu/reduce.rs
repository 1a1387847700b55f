//! Reductions.

use super::map::advance;
use super::operand::Operand;
use super::scalar::{Value, binary, evaluate};
use crate::dtype::DType;
use crate::error::Result;
use crate::expr::Binary;
use crate::kernel::{Binding, Combine, Reduce};

fn identity(combine: Combine, acc: DType) -> Value {
    let of = |x| Value::of(x, acc);
    match combine {
        Combine::Sum => of(0.0),
        Combine::Prod => of(1.0),
        Combine::Max if acc == DType::Bool => of(0.0),
        Combine::Max => of(f64::NEG_INFINITY),
        Combine::Min => of(f64::INFINITY),
    }
}

/// Combine `pre` over the dimensions from `kept` on; store `post` of the result.
pub(crate) fn run(
    reduce: &Reduce,
    shape: &[usize],
    kept: usize,
    scalars: &[f64],
    bindings: &[Binding<'_>],
) -> Result<()> {
    let (out, inputs) = bindings
        .split_last()
        .ok_or_else(|| super::operand::failure(reduce.name, "no output".into()))?;
    let inputs = inputs
        .iter()
        .map(|b| Operand::new(reduce.name, b, shape))
        .collect::<Result<Vec<_>>>()?;
    let out = Operand::new(reduce.name, out, &shape[..kept])?;
    // Sums of floats accumulate in f64.
    let wide = if reduce.acc == DType::F32 {
        DType::F64
    } else {
        reduce.acc
    };
    let combine = match reduce.combine {
        Combine::Sum => Binary::Add,
        Combine::Prod => Binary::Mul,
        Combine::Max => Binary::Max,
        Combine::Min => Binary::Min,
    };
    let mut index = vec![0usize; shape.len()];
    for _ in 0..shape[..kept].iter().product() {
        let at = |o: &Operand, index: &[usize]| {
            let step: isize = index
                .iter()
                .zip(&o.strides)
                .map(|(i, s)| *i as isize * s)
                .sum();
            o.at.wrapping_offset(step * o.dtype.size() as isize)
        };
        let mut acc = identity(reduce.combine, wide);
        for _ in 0..shape[kept..].iter().product() {
            // SAFETY: every index of the shape was checked to lie inside the buffers.
            let args: Vec<Value> = inputs
                .iter()
                .map(|o| unsafe { Value::load(at(o, &index), o.dtype) })
                .collect();
            acc = binary(
                combine,
                acc,
                evaluate(&reduce.pre, &args, scalars).cast(wide),
            );
            advance(&mut index[kept..], &shape[kept..]);
        }
        let value = evaluate(&reduce.post, &[acc.cast(reduce.acc)], scalars);
        // SAFETY: as above.
        unsafe { value.store(at(&out, &index[..kept]), out.dtype) };
        advance(&mut index[..kept], &shape[..kept]);
    }
    Ok(())
}
