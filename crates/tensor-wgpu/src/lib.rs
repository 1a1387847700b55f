//! The WGSL device: WebGPU in the browser, Vulkan, Metal and DX12 natively
