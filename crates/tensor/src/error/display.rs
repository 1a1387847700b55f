//! PyTorch's wording of each error.

use super::Error;
use crate::dtype::DType;
use std::fmt;

/// `[3, 4]`, as Python prints a list.
struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, x) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{x}")?;
        }
        f.write_str("]")
    }
}

/// `3x4`, as PyTorch prints the two sides of a product.
fn cross(shape: &[usize]) -> String {
    shape
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join("x")
}

/// The C name of an element type in lower case, as the product's dtype error has it.
fn c_name(dtype: DType) -> String {
    match dtype {
        DType::BF16 => "c10::BFloat16".into(),
        DType::F16 => "c10::Half".into(),
        DType::U8 => "unsigned char".into(),
        DType::I64 => "int64_t".into(),
        other => other.scalar_name().to_lowercase(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Error::*;
        match self {
            Broadcast { a, b, dim, .. } => write!(
                f,
                "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
            ),
            BroadcastTo { out, shape, .. } => write!(
                f,
                "output with shape {} doesn't match the broadcast shape {}",
                List(out),
                List(shape)
            ),
            DimOutOfRange { dim, rank } => write!(
                f,
                "Dimension out of range (expected to be in range of [-{rank}, {}], but got {dim})",
                *rank as isize - 1
            ),
            DuplicateDim { op: "permute", .. } => {
                write!(f, "permute(): duplicate dims are not allowed.")
            }
            DuplicateDim {
                op: "diagonal",
                dim,
            } => {
                write!(f, "diagonal dimensions cannot be identical {dim}, {dim}")
            }
            DuplicateDim { dim, .. } => {
                write!(f, "dim {dim} appears multiple times in the list of dims")
            }
            PermuteRank { rank, dims } => write!(
                f,
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {}",
                dims.len()
            ),
            NarrowStart { start, size } => write!(
                f,
                "start out of range (expected to be in range of [-{size}, {size}], but got {start})"
            ),
            NarrowLength {
                start,
                length,
                size,
            } => {
                write!(
                    f,
                    "start ({start}) + length ({length}) exceeds dimension size ({size})."
                )
            }
            IndexOutOfBounds { index, dim, size } => {
                write!(
                    f,
                    "index {index} is out of bounds for dimension {dim} with size {size}"
                )
            }
            ZeroDim { op } => write!(f, "{op}() cannot be applied to a 0-dim tensor."),
            NumelOverflow { .. } => write!(f, "numel: integer multiplication overflow"),
            SliceStep => write!(f, "slice step must be positive"),
            Expand {
                want,
                have,
                dim,
                target,
                shape,
            } => write!(
                f,
                "The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton dimension {dim}.  Target sizes: {}.  Tensor sizes: {}",
                List(target),
                List(shape)
            ),
            ExpandRank { target, shape } => write!(
                f,
                "expand(): the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({})",
                target.len(),
                shape.len()
            ),
            ExpandNegative { dim, target } => write!(
                f,
                "The expanded size of the tensor ({}) isn't allowed in a leading, non-existing dimension {dim}",
                target.get(*dim).copied().unwrap_or(-1)
            ),
            InvalidShape { target, numel } => {
                write!(
                    f,
                    "shape '{}' is invalid for input of size {numel}",
                    List(target)
                )
            }
            NegativeShape { dim, .. } => write!(f, "invalid shape dimension {dim}"),
            TwoInferred => write!(f, "only one dimension can be inferred"),
            InferFromEmpty { target } => write!(
                f,
                "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any value and is ambiguous",
                List(target)
            ),
            ViewIncompatible { .. } => write!(
                f,
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            ),
            DataLength { numel, shape } => write!(
                f,
                "shape '{}' is invalid for input of size {numel}",
                List(shape)
            ),
            TooManyDims { op, rank, max } => {
                write!(
                    f,
                    "{op}: tensors of more than {max} separate dimensions are not supported, got {rank}"
                )
            }
            MatmulShape { left, right } => write!(
                f,
                "mat1 and mat2 shapes cannot be multiplied ({} and {})",
                cross(left),
                cross(right)
            ),
            BatchedMatmulShape { left, right } => write!(
                f,
                "Expected size for first two dimensions of batch2 tensor to be: {} but got: {}.",
                List(left),
                List(right)
            ),
            MatmulScalar { left, right } => write!(
                f,
                "both arguments to matmul need to be at least 1D, but they are {left}D and {right}D"
            ),
            VectorLength { left, right } => write!(
                f,
                "inconsistent tensor size, expected tensor [{left}] and src [{right}] to have the same number of elements, but got {left} and {right} elements respectively"
            ),
            CatSize {
                dim,
                expected,
                got,
                number,
            } => write!(
                f,
                "Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got size {got} for tensor number {number} in the list."
            ),
            CatRank { expected, got } => {
                write!(
                    f,
                    "Tensors must have same number of dimensions: got {expected} and {got}"
                )
            }
            StackSize {
                first,
                other,
                number,
            } => write!(
                f,
                "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {number}",
                List(first),
                List(other)
            ),
            EmptyList { op } => write!(f, "{op}(): expected a non-empty list of Tensors"),
            ShapeMismatch {
                op,
                left,
                right,
                rule,
            } => {
                write!(
                    f,
                    "{op}: {rule}, but got {} and {}",
                    List(left),
                    List(right)
                )
            }
            EmptyReduction { op, dim: Some(dim) } => write!(
                f,
                "{op}(): Expected reduction dim {dim} to have non-zero size."
            ),
            EmptyReduction { op, dim: None } => write!(
                f,
                "{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            ),
            TopkRange { .. } => write!(f, "selected index k out of range"),
            NotScalar { numel } => {
                write!(
                    f,
                    "a Tensor with {numel} elements cannot be converted to Scalar"
                )
            }
            ConvChannels {
                groups,
                weight,
                input,
                expected,
            } => write!(
                f,
                "Given groups={groups}, weight of size {}, expected input{} to have {expected} channels, but got {} channels instead",
                List(weight),
                List(input),
                input.get(1).copied().unwrap_or(0)
            ),
            ConvRank { shape } => write!(
                f,
                "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: {}",
                List(shape)
            ),
            ConvKernel { padded, kernel } => write!(
                f,
                "Calculated padded input size per channel: ({} x {}). Kernel size: ({} x {}). Kernel size can't be greater than actual input size",
                padded.0, padded.1, kernel.0, kernel.1
            ),
            PoolRank { op, shape } => write!(
                f,
                "{op}: Expected 3D or 4D (batch mode) tensor for input, but got: {}",
                List(shape)
            ),
            PoolPadding { padding, kernel } => write!(
                f,
                "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation=1",
                padding.0.max(padding.1),
                kernel.0.min(kernel.1)
            ),
            PoolOutput { input, output } => write!(
                f,
                "Given input size: ({}). Calculated output size: ({}x{}). Output size is too small",
                cross(input),
                output.0,
                output.1
            ),
            NormOneValue { shape } => write!(
                f,
                "Expected more than 1 value per channel when training, got input size torch.Size({})",
                List(shape)
            ),
            NormShape { normalized, input } => write!(
                f,
                "Given normalized_shape={}, expected input with shape [*, {}], but got input of size{}",
                List(normalized),
                normalized
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
                List(input)
            ),
            TargetOutOfBounds { target, .. } => write!(f, "Target {target} is out of bounds."),
            BatchSize { input, target } => write!(
                f,
                "Expected input batch_size ({input}) to match target batch_size ({target})."
            ),
            IndexValue {
                op: "embedding", ..
            } => write!(f, "index out of range in self"),
            IndexValue { op: "one_hot", .. } => {
                write!(f, "Class values must be smaller than num_classes.")
            }
            IndexValue { index, size, .. } => {
                write!(
                    f,
                    "index {index} is out of bounds for dimension with size {size}"
                )
            }
            MatmulDType { left, right } => write!(
                f,
                "expected m1 and m2 to have the same dtype, but got: {} != {}",
                c_name(*left),
                c_name(*right)
            ),
            LinearDType { left, right } => write!(
                f,
                "mat1 and mat2 must have the same dtype, but got {} and {}",
                left.scalar_name(),
                right.scalar_name()
            ),
            ConvDType {
                name,
                input,
                parameter,
            } => write!(
                f,
                "Input type ({}) and {name} type ({}) should be the same",
                c_name(*input),
                c_name(*parameter)
            ),
            ExpectedDType { expected, found } => write!(
                f,
                "expected scalar type {} but found {}",
                expected.scalar_name(),
                found.scalar_name()
            ),
            DTypeNotFloat {
                op: op @ "mean",
                found,
            } => write!(
                f,
                "{op}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {}",
                found.scalar_name()
            ),
            DTypeNotFloat { op, found } => {
                write!(f, "\"{op}\" not implemented for '{}'", found.scalar_name())
            }
            BoolNotSupported { op: "neg" } => write!(
                f,
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
            ),
            BoolNotSupported { op: "sub" } => write!(
                f,
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
            ),
            BoolNotSupported { op } => write!(f, "Boolean inputs not supported for {op}"),
            ResultCast { from, to } => write!(
                f,
                "result type {} can't be cast to the desired output type {}",
                from.scalar_name(),
                to.scalar_name()
            ),
            UnsupportedDType { op, dtype, device } => {
                write!(
                    f,
                    "{op}: unsupported dtype on this device: {dtype} on {device}"
                )
            }
            ElementType { asked, found } => write!(
                f,
                "expected scalar type {} but found {}",
                asked.scalar_name(),
                found.scalar_name()
            ),
            DeviceMismatch {
                op: "conv2d",
                left,
                right,
            } => write!(
                f,
                "Input type ({}) and weight type ({}) should be the same",
                left.device.tensor_type(left.dtype),
                right.device.tensor_type(right.dtype)
            ),
            DeviceMismatch {
                op: op @ ("linear" | "matmul"),
                left,
                right,
            } => write!(
                f,
                "Expected all tensors to be on the same device, but got {} is on {}, different from other tensors on {} (when checking argument in method {op})",
                left.name, left.device, right.device
            ),
            DeviceMismatch { left, right, .. } => write!(
                f,
                "Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                left.device, right.device
            ),
            DeviceString { text } => write!(f, "Invalid device string: '{text}'"),
            DeviceType { text } => write!(
                f,
                "Expected one of cpu, cuda, wgpu device type at start of device string: {text}"
            ),
            DeviceMissing { reason, .. } => f.write_str(reason),
            ReadBackIsAsync { device } => write!(
                f,
                "a tensor on {device} cannot be read at once: its values are still being computed there"
            ),
            DeviceLost { device, reason } => write!(f, "{device}: device lost: {reason}"),
            OutOfMemory { device, detail } => write!(f, "{device}: {detail}"),
            DeviceFailure {
                device,
                operation,
                message,
            } => {
                write!(f, "{device}: {operation} failed: {message}")
            }
            BindingTooLarge {
                device,
                op,
                bytes,
                limit,
            } => write!(
                f,
                "{op}: an operand of {bytes} bytes cannot be bound on {device}, whose limit is {limit} bytes"
            ),
            KernelMissing { device, kernel } => write!(f, "{device} has no kernel named {kernel}"),
            BackwardTwice => write!(
                f,
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
            ),
            BackwardNonScalar { .. } => {
                write!(f, "grad can be implicitly created only for scalar outputs")
            }
            NoGradFn => write!(
                f,
                "element 0 of tensors does not require grad and does not have a grad_fn"
            ),
            GradShape { expected, got } => write!(
                f,
                "Mismatch in shape: grad_output[0] has a shape of torch.Size({}) and output[0] has a shape of torch.Size({}).",
                List(got),
                List(expected)
            ),
            InplaceModified {
                dtype,
                device,
                shape,
                producer,
                version,
                expected,
            } => {
                write!(
                    f,
                    "one of the variables needed for gradient computation has been modified by an inplace operation: [{} {}]",
                    device.tensor_type(*dtype),
                    List(shape)
                )?;
                if let Some(name) = producer {
                    write!(f, ", which is output 0 of {name},")?;
                }
                write!(
                    f,
                    " is at version {version}; expected version {expected} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
                )
            }
            InplaceLeaf => write!(
                f,
                "a leaf Variable that requires grad is being used in an in-place operation."
            ),
            InplaceView { op } => write!(
                f,
                "{op}: in-place change of a view whose gradient is recorded is not supported"
            ),
            InplaceOverlap { .. } => write!(
                f,
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation."
            ),
            RequiresGradDType { .. } => {
                write!(
                    f,
                    "only Tensors of floating point dtype can require gradients"
                )
            }
            RequiresGradNonLeaf => write!(
                f,
                "you can only change requires_grad flags of leaf variables."
            ),
            ReadRequiresGrad => write!(
                f,
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            ),
            AnomalyNan {
                function,
                backward: true,
                output,
            } => write!(
                f,
                "Function '{function}' returned nan values in its {output}th output."
            ),
            AnomalyNan { function, .. } => {
                write!(
                    f,
                    "'{function}' made the first nan value in its forward pass."
                )
            }
            InvalidArgument { op, message, .. } => write!(f, "{op}: {message}"),
            OptimizerEmpty => write!(f, "optimizer got an empty parameter list"),
            OptimizerValue { name, value } => write!(f, "Invalid {name}: {value:?}"),
            StateDict { module, lines } => {
                write!(f, "Error(s) in loading state_dict for {module}:")?;
                lines.iter().try_for_each(|l| write!(f, "\n\t{l}"))
            }
            Format { what, detail } => write!(f, "{what}: {detail}"),
        }
    }
}
