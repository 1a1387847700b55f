//! What only a browser can say: why it shows no adapter.

use js_sys::{JsString, Reflect, global};

/// Why there is no adapter, and what to do about it.
pub(crate) fn why_none() -> (String, String) {
    let property = |of: &js_sys::Object, name: &str| Reflect::get(of, &JsString::from(name)).ok();
    let root = global();
    let secure = property(&root, "isSecureContext").and_then(|v| v.as_bool());
    let navigator = property(&root, "navigator").map(js_sys::Object::from);
    let gpu = navigator.and_then(|n| property(&n, "gpu"));
    let has_api = gpu.is_some_and(|gpu| !gpu.is_undefined() && !gpu.is_null());
    let (reason, remedy) = match (secure, has_api) {
        (Some(false), _) => (
            "the page came over plain http from another machine, and browsers hide WebGPU there",
            "open the page on localhost or over https",
        ),
        (_, false) => (
            "this browser has no WebGPU",
            "use a current Chrome, Edge, Safari or Firefox, or switch WebGPU on in its settings",
        ),
        (_, true) => (
            "the browser has WebGPU but found no adapter",
            "switch hardware acceleration on in the browser's settings and update the graphics driver",
        ),
    };
    (reason.into(), remedy.into())
}
