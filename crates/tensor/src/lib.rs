//! Tensors, layouts, autograd and the CPU device
