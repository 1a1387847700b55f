//! The likely cause on these tensors, and the repair in one line.

use super::Error;

impl Error {
    /// What probably happened and the one change that repairs it.
    pub fn help(&self) -> String {
        use Error::*;
        match self {
            Broadcast { left, right, dim, .. } => format!(
                "shapes {left:?} and {right:?} are aligned at their last dimensions and disagree at dimension {dim}; unsqueeze or expand one of them there, or check which dimension is the batch"
            ),
            BroadcastTo { out, shape, .. } => format!(
                "an in-place operation cannot grow its tensor from {out:?} to {shape:?}; use the form that returns a new tensor"
            ),
            DimOutOfRange { rank, .. } => format!(
                "the tensor has {rank} dimension(s), numbered 0 to {} or -{rank} to -1",
                rank - 1
            ),
            DuplicateDim { .. } => "name each dimension once".into(),
            PermuteRank { rank, .. } => format!("list all {rank} dimensions, each once"),
            NarrowStart { size, .. } | NarrowLength { size, .. } => {
                format!("the dimension has {size} elements; start + length may not pass that")
            }
            IndexOutOfBounds { size, .. } if *size == 0 => "the dimension is empty".into(),
            IndexOutOfBounds { size, .. } => format!(
                "valid indices are 0 to {} or -{size} to -1; is the loop one step too long?",
                size - 1
            ),
            ZeroDim { .. } => "a 0-dim tensor is one number: read it with item(), or unsqueeze(0) it first".into(),
            NumelOverflow { shape } => format!("the shape {shape:?} has more elements than memory has addresses"),
            SliceStep => "steps run forwards; use flip to walk backwards".into(),
            Expand { dim, .. } => format!(
                "only dimensions of size 1 can be expanded; use repeat to copy, or unsqueeze a dimension of size 1 at {dim}"
            ),
            ExpandRank { .. } => "give at least as many sizes as the tensor has dimensions".into(),
            ExpandNegative { .. } => "-1 keeps an existing size; a new leading dimension needs a number".into(),
            InvalidShape { numel, target } => {
                let product: i128 = target.iter().map(|&n| n as i128).filter(|&n| n >= 0).product();
                format!("the shape holds {product} elements per -1, the tensor {numel}; let one dimension be -1 to have it computed")
            }
            NegativeShape { .. } => "sizes are 0 or more; a single -1 is inferred".into(),
            TwoInferred => "leave at most one -1".into(),
            InferFromEmpty { .. } => "give every size of an empty tensor".into(),
            ViewIncompatible { shape, stride, target } => format!(
                "shape {shape:?} with strides {stride:?} cannot be walked as {target:?} without moving elements; reshape({target:?}) copies when it must, contiguous().view(...) says so aloud"
            ),
            DataLength { numel, shape } => format!(
                "{numel} values were given, shape {shape:?} needs {}",
                shape.iter().product::<usize>()
            ),
            TooManyDims { .. } => "make the operands contiguous first, so that their dimensions merge".into(),
            MatmulShape { left, right } => format!(
                "the last dimension of the left ({}) must equal the first of the right ({}); transpose one of them, or correct the layer's input size",
                left.last().copied().unwrap_or(0),
                right.first().copied().unwrap_or(0)
            ),
            BatchedMatmulShape { .. } => "batched matrices are multiplied pairwise: [.., n, k] by [.., k, m]".into(),
            MatmulScalar { .. } => "multiply a scalar with mul".into(),
            VectorLength { .. } => "both vectors need the same length".into(),
            CatSize { dim, .. } => format!("only dimension {dim} may differ; pad or crop the others"),
            CatRank { .. } => "unsqueeze the smaller tensor first, or use stack".into(),
            StackSize { .. } => "images of unequal size cannot form a batch: resize or pad them first".into(),
            EmptyList { .. } => "give at least one tensor".into(),
            ShapeMismatch { rule, .. } => (*rule).into(),
            EmptyReduction { .. } => "an empty tensor has no largest or smallest element; check the data before reducing".into(),
            TopkRange { k, size } => format!("k = {k}, but the dimension has only {size} elements"),
            NotScalar { .. } => "reduce it first (mean, sum), select one element, or read all with to_vec".into(),
            ConvChannels { expected, .. } => format!(
                "the layer wants {expected} channels in dimension 1; grey images have 1, colour images 3, and images stored height x width x channel need permute first"
            ),
            ConvRank { .. } => "give [batch, channels, height, width], or [channels, height, width] for one image".into(),
            ConvKernel { .. } => "the image has shrunk below the kernel: add padding, use a smaller kernel or fewer pooling layers".into(),
            PoolRank { .. } => "give [batch, channels, height, width]".into(),
            PoolPadding { .. } => "use padding of at most half the kernel".into(),
            PoolOutput { .. } => "the input is smaller than the pooling window".into(),
            NormOneValue { .. } => "batch statistics need two values or more: use a batch above 1 (drop_last for a last batch of one), or eval()".into(),
            NormShape { .. } => "normalized_shape lists the input's last dimensions".into(),
            TargetOutOfBounds { target, classes } => {
                let start = if *target == *classes as i64 { "; labels that start at 1 must be lowered by 1" } else { "" };
                format!("the {classes} classes are 0 to {}{start}", *classes as i64 - 1)
            }
            BatchSize { .. } => "inputs and targets of one batch must come in pairs; was the batch flattened with the wrong dimension first?".into(),
            IndexValue { size, .. } => format!("valid indices are 0 to {}", *size as i64 - 1),
            MatmulDType { left, .. } | LinearDType { left, .. } => format!(
                "convert one side: x.to_dtype({left}) (NumPy arrays are float64 unless told otherwise)"
            ),
            ConvDType { parameter, .. } => format!(
                "convert the input to the layer's type: x.to_dtype({parameter}) (NumPy arrays are float64 unless told otherwise)"
            ),
            ExpectedDType { expected, .. } => format!("convert with to_dtype({expected})"),
            DTypeNotFloat { .. } => "convert first, for example to_dtype(float32)".into(),
            BoolNotSupported { .. } => "convert the mask to a number type first".into(),
            ResultCast { .. } => "use the form that returns a new tensor, or convert the operand".into(),
            UnsupportedDType { dtype, .. } => match dtype {
                crate::DType::F64 => "WGSL has no 64-bit floats: use float32 here, or the CPU".into(),
                crate::DType::I64 => "WGSL has no 64-bit integers beyond copying, comparing, adding and indexing: use int32 here, or the CPU".into(),
                _ => "convert to float32, or run this step on the CPU".into(),
            },
            ElementType { found, .. } => format!("read it as {found}, or convert with to_dtype first"),
            DeviceMismatch { op, left, right } => format!(
                "{op}: {} {:?} is on {}, {} {:?} is on {}; move one: {}.to({})",
                left.name, left.shape, left.device, right.name, right.shape, right.device, left.name, right.device
            ),
            DeviceString { .. } => "a device is cpu, cuda:N or wgpu:N with N counted from 0, without leading zeros".into(),
            DeviceType { text } if text.starts_with("gpu") => {
                "\"gpu\" is no device type: say cuda:0 for NVIDIA, wgpu:0 for WebGPU/Vulkan/Metal".into()
            }
            DeviceType { .. } => "say cpu, cuda:0 or wgpu:0".into(),
            DeviceMissing { remedy, .. } => remedy.clone(),
            ReadBackIsAsync { .. } => "await to(cpu), item() or to_vec()".into(),
            DeviceLost { .. } => "open the device again and upload what you need; work that takes seconds in one launch is the usual reason".into(),
            OutOfMemory { .. } => "in this order: does something else hold the device; is validation outside no_grad; are losses or outputs kept in a list; only then halve the batch".into(),
            DeviceFailure { .. } => "this is a fault in the device's driver or in the engine: `tensorscope doctor` shows the versions to report".into(),
            BindingTooLarge { .. } => "split the tensor, or run this step on the CPU".into(),
            KernelMissing { .. } => "run this operation on the CPU".into(),
            BackwardTwice => "run the forward pass again before each backward, or ask the first one to retain the graph".into(),
            BackwardNonScalar { shape } => format!("the tensor has shape {shape:?}: reduce it with mean() or sum(), or give the gradient to backward_with"),
            NoGradFn => "nothing upstream requires grad: was it made under no_grad, detached, or are all parameters frozen?".into(),
            GradShape { .. } => "the gradient needs the output's shape".into(),
            InplaceModified { .. } => "use the form that returns a new tensor instead of the one with a trailing underscore".into(),
            InplaceLeaf => "update parameters under no_grad, as optimisers do, or work on a clone".into(),
            InplaceView { .. } => "use the form that returns a new tensor".into(),
            InplaceOverlap { .. } => "an expanded tensor stores each value once: make it contiguous() first".into(),
            RequiresGradDType { dtype } => format!("{dtype} values have no gradient: convert to float32 first"),
            RequiresGradNonLeaf => "use detach() to cut it out of the graph".into(),
            ReadRequiresGrad => "read x.detach(), which shares the values without the graph".into(),
            AnomalyNan { function, .. } => format!("look at the inputs of {function}: a logarithm or root of 0 or less, a division by 0, or an overflow"),
            InvalidArgument { remedy, .. } => (*remedy).into(),
            OptimizerEmpty => "pass model.parameters(); an iterator that was used up is empty".into(),
            OptimizerValue { name, .. } => format!("{name} must be 0 or more"),
            StateDict { .. } => "the checkpoint comes from another architecture: compare the names and shapes above with the model's".into(),
            Format { .. } => "the file is damaged or of another kind".into(),
        }
    }
}
