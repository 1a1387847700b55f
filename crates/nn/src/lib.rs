//! Layers, losses, optimisers and schedulers with PyTorch's names
