//! Looking at the browser from inside a page or a worker.

use js_sys::{Reflect, global};

use super::checks::Sight;

/// What can be seen.
pub fn look() -> Sight {
    let root = global();
    let secure = Reflect::get(&root, &"isSecureContext".into())
        .ok()
        .and_then(|v| v.as_bool());
    let navigator = Reflect::get(&root, &"navigator".into()).ok();
    let gpu = navigator.and_then(|n| Reflect::get(&n, &"gpu".into()).ok());
    Sight {
        browser: true,
        secure_context: secure,
        webgpu_api: Some(gpu.is_some_and(|g| !g.is_undefined() && !g.is_null())),
        ..Sight::default()
    }
}

/// What the browser calls itself.
pub fn user_agent() -> Option<String> {
    let navigator = Reflect::get(&global(), &"navigator".into()).ok()?;
    Reflect::get(&navigator, &"userAgent".into())
        .ok()?
        .as_string()
}

/// Hardware threads that the browser admits to.
pub fn cores() -> Option<u32> {
    let navigator = Reflect::get(&global(), &"navigator".into()).ok()?;
    Some(
        Reflect::get(&navigator, &"hardwareConcurrency".into())
            .ok()?
            .as_f64()? as u32,
    )
}

/// Memory of the engine's instance, in bytes; it grows and never shrinks.
pub fn process_memory() -> Option<u64> {
    Some(core::arch::wasm32::memory_size(0) as u64 * 65536)
}
