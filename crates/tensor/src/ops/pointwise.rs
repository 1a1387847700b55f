//! The machinery of elementwise operations: promotion, broadcasting, one launch forward, one per gradient.
//!
//! An operation is a [`Pointwise`] value: its forward expression and a gradient expression per input. What backward needs
//! to keep follows from which operands the gradient expressions read. The table of operations is `elementwise.rs`.

use super::launch;
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::kernel::Map;
use crate::layout::broadcast;
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// What forward and gradient expressions are written in.
pub struct Terms {
    /// Compute type of the operation.
    pub dtype: DType,
    arity: usize,
}

impl Terms {
    /// Input `n`, converted to the operation's type.
    pub fn x(&self, n: usize) -> Expr {
        Expr::arg(n)
    }
    /// The result (in gradients).
    pub fn y(&self) -> Expr {
        Expr::arg(self.arity)
    }
    /// The gradient of the result (in gradients).
    pub fn g(&self) -> Expr {
        Expr::arg(self.arity + 1)
    }
    /// A literal.
    pub fn lit(&self, value: f64) -> Expr {
        Expr::lit(value, self.dtype)
    }
    /// Run-time number `n`.
    pub fn s(&self, n: usize) -> Expr {
        Expr::scalar(n, self.dtype)
    }
}

/// How the result's type follows from that of the (promoted) inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultType {
    /// The promoted type.
    Same,
    /// The promoted type, which may not be bool.
    Number,
    /// A float: integers and bools become float32, as in `torch.exp`.
    Float,
    /// A bool.
    Bool,
}

/// An elementwise operation.
pub struct Pointwise {
    /// Its name in PyTorch.
    pub name: &'static str,
    /// PyTorch's name of its node.
    pub node: &'static str,
    /// Type of the result.
    pub result: ResultType,
    /// The value.
    pub forward: fn(&Terms) -> Expr,
    /// The gradient with respect to each input; empty if it has none.
    pub grads: &'static [fn(&Terms) -> Expr],
}

/// Compiled-once kernels, by operation, which gradient (or forward), and operand types.
type Key = (&'static str, Option<usize>, Vec<DType>);
static KERNELS: LazyLock<RwLock<HashMap<Key, Arc<Prepared>>>> = LazyLock::new(Default::default);

struct Prepared {
    map: Arc<Map>,
    /// Which of inputs, result and gradient (numbered in that order) the kernel binds.
    reads: Vec<usize>,
}

fn prepare(key: Key, build: impl FnOnce() -> Prepared) -> Arc<Prepared> {
    if let Some(found) = KERNELS
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&key)
    {
        return found.clone();
    }
    let made = Arc::new(build());
    KERNELS
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(key, made.clone());
    made
}

impl Pointwise {
    /// Apply it. `scalars` are its run-time numbers.
    pub fn apply(&'static self, inputs: &[&Tensor], scalars: &[f64]) -> Result<Tensor> {
        let common = result_type(inputs);
        let moved = to_one_device(self.name, inputs, common)?;
        let inputs: Vec<&Tensor> = inputs
            .iter()
            .zip(&moved)
            .map(|(t, m)| m.as_ref().unwrap_or(t))
            .collect();
        if self.result == ResultType::Number && common == DType::Bool {
            return Err(Error::BoolNotSupported { op: self.name });
        }
        let math = match common {
            DType::Bool if self.result == ResultType::Same => DType::U8,
            int if self.result == ResultType::Float && !int.is_float() => DType::F32,
            other => other,
        };
        let stored = match self.result {
            ResultType::Bool => DType::Bool,
            ResultType::Same | ResultType::Number => common,
            ResultType::Float => math,
        };
        let mut shape = inputs[0].shape().to_vec();
        for t in &inputs[1..] {
            shape = broadcast(&shape, t.shape())?;
        }
        let out = Tensor::uninit(&shape, stored, inputs[0].device(), self.name)?;
        let terms = Terms {
            dtype: math.compute(),
            arity: inputs.len(),
        };

        let mut key: Vec<DType> = inputs.iter().map(|t| t.dtype()).collect();
        key.push(stored);
        key.push(math);
        let ready = prepare((self.name, None, key), || {
            let types: Vec<DType> = inputs.iter().map(|t| t.dtype()).collect();
            let expr = (self.forward)(&terms).map_args(&|n| cast(Expr::arg(n), types[n], math));
            Prepared {
                map: Arc::new(Map::new(self.name, &types, stored, expr)),
                reads: Vec::new(),
            }
        });
        let mut operands = inputs.clone();
        operands.push(&out);
        launch::map(&ready.map, &operands, scalars)?;
        if self.grads.is_empty() {
            return Ok(out);
        }
        let keep = self.kept(&terms, &inputs);
        let everything: Vec<&Tensor> = inputs.iter().copied().chain([&out]).collect();
        let saved: Vec<&Tensor> = keep.iter().map(|&n| everything[n]).collect();
        let saved_alias: Vec<Tensor> = saved.iter().map(|t| t.alias()).collect();
        let saved: Vec<&Tensor> = saved_alias.iter().collect();
        let like: Vec<(Vec<usize>, DType)> = inputs
            .iter()
            .map(|t| (t.shape().to_vec(), t.dtype()))
            .collect();
        let scalars = scalars.to_vec();
        let recorded_inputs: Vec<&Tensor> = inputs.to_vec();
        record(out, self.node, &recorded_inputs, &saved, move |flow| {
            let mut grads = Vec::with_capacity(like.len());
            for (n, (shape, dtype)) in like.iter().enumerate() {
                grads.push(flow.for_input(n, || {
                    self.gradient(n, &terms, math, &keep, flow.saved, flow.grad, &scalars)?
                        .sum_to(shape)?
                        .to_dtype(*dtype)
                })?);
            }
            Ok(grads)
        })
    }

    /// Which inputs (and, last, the result) the needed gradients read.
    fn kept(&self, terms: &Terms, inputs: &[&Tensor]) -> Vec<usize> {
        let wanted: Vec<Expr> = self
            .grads
            .iter()
            .zip(inputs)
            .filter(|(_, t)| t.requires_grad())
            .map(|(f, _)| f(terms))
            .collect();
        (0..=inputs.len())
            .filter(|&n| wanted.iter().any(|e| e.reads(n)))
            .collect()
    }

    #[allow(clippy::too_many_arguments)] // one call site; a struct would only rename the list
    fn gradient(
        &self,
        n: usize,
        terms: &Terms,
        math: DType,
        keep: &[usize],
        saved: &[Tensor],
        grad: &Tensor,
        scalars: &[f64],
    ) -> Result<Tensor> {
        let expr = (self.grads[n])(terms);
        if expr == terms.g() {
            return Ok(grad.alias());
        }
        let find = |m: usize| {
            if m == terms.arity + 1 {
                Some(grad)
            } else {
                keep.iter().position(|&k| k == m).map(|i| &saved[i])
            }
        };
        let mut key: Vec<DType> = (0..=terms.arity + 1)
            .filter_map(find)
            .map(Tensor::dtype)
            .collect();
        key.push(math);
        let ready = prepare((self.name, Some(n), key), || {
            let reads: Vec<usize> = (0..=terms.arity + 1).filter(|&m| expr.reads(m)).collect();
            let types: Vec<DType> = reads
                .iter()
                .filter_map(|&m| find(m))
                .map(Tensor::dtype)
                .collect();
            let bound = expr.map_args(&|m| {
                let at = reads.iter().position(|&r| r == m).unwrap_or(0);
                cast(Expr::arg(at), types[at], math)
            });
            Prepared {
                map: Arc::new(Map::new(self.node, &types, math, bound)),
                reads,
            }
        });
        let out = Tensor::uninit(grad.shape(), math, grad.device(), self.node)?;
        let mut operands: Vec<&Tensor> = ready.reads.iter().filter_map(|&m| find(m)).collect();
        operands.push(&out);
        launch::map(&ready.map, &operands, scalars)?;
        Ok(out)
    }
}

fn cast(x: Expr, from: DType, to: DType) -> Expr {
    if from.compute() == to.compute() {
        x
    } else {
        x.cast(to)
    }
}

/// PyTorch's result type: tensors without dimensions yield to those with, unless their kind is higher.
fn result_type(inputs: &[&Tensor]) -> DType {
    let join = |dims: bool| {
        inputs
            .iter()
            .filter(|t| (t.rank() > 0) == dims)
            .map(|t| t.dtype())
            .reduce(DType::promote)
    };
    match (join(true), join(false)) {
        (Some(d), Some(z)) if z.category() > d.category() => z,
        (Some(d), _) => d,
        (None, Some(z)) => z,
        (None, None) => DType::F32,
    }
}

/// Zero-dimensional CPU tensors may meet tensors of any device in elementwise operations: those are copied over.
/// One whose type the device lacks goes over in the operation's, which it may not change. `None` where an input can stay
/// as it is.
fn to_one_device(
    op: &'static str,
    inputs: &[&Tensor],
    common: DType,
) -> Result<Vec<Option<Tensor>>> {
    let home = inputs
        .iter()
        .find(|t| t.rank() > 0 || !t.device().is_cpu())
        .unwrap_or(&inputs[0]);
    inputs
        .iter()
        .map(|t| {
            if t.device().same(home.device()) {
                Ok(None)
            } else if t.rank() == 0 && t.device().is_cpu() {
                let known = home.device().backend().supports(t.dtype());
                let fitting = if known {
                    t.alias()
                } else {
                    t.to_dtype(common)?
                };
                fitting.to_device(home.device()).map(Some)
            } else {
                let (a, b) = if std::ptr::eq(*t, inputs[0]) {
                    (*t, *home)
                } else {
                    (inputs[0], *t)
                };
                let (a, b) = if a.device().same(b.device()) {
                    (*home, *t)
                } else {
                    (a, b)
                };
                Err(launch::mismatch(op, ("self", a), ("other", b)))
            }
        })
        .collect()
}
