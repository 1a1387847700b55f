//! What only the browser knows: why there is no WebGPU, and what its adapter calls itself.

use js_sys::{Function, Promise, Reflect};
use tensor::device::DeviceFacts;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

fn get(object: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(object, &name.into())
        .ok()
        .filter(|v| !v.is_undefined() && !v.is_null())
}

/// `navigator.gpu`, on a page and in a worker.
fn gpu() -> Option<JsValue> {
    get(&get(&js_sys::global(), "navigator")?, "gpu")
}

/// Why no adapter was found, and what to do.
pub(crate) fn why_none() -> (String, String) {
    let secure = get(&js_sys::global(), "isSecureContext")
        .and_then(|v| v.as_bool())
        .unwrap_or(true);
    let (reason, remedy) = match (secure, gpu().is_some()) {
        (false, _) => (
            "browsers offer WebGPU only on secure pages, and this one was loaded over plain http from another machine",
            "open it through https, or on the machine itself as http://localhost",
        ),
        (true, false) => (
            "this browser has no WebGPU",
            "use a current Chrome, Edge, Firefox or Safari; some systems need WebGPU switched on in the browser's settings",
        ),
        (true, true) => (
            "this browser has WebGPU but offers no adapter",
            "update the graphics driver and see chrome://gpu (or about:support) for the reason; hardware acceleration may be off",
        ),
    };
    (reason.into(), remedy.into())
}

/// Ask the default adapter who it is: wgpu passes on its description only, which browsers leave empty.
pub(crate) async fn identify(facts: &mut DeviceFacts) {
    let Some(info) = adapter_info().await else {
        return;
    };
    let text = |name| {
        get(&info, name)
            .and_then(|v| v.as_string())
            .unwrap_or_default()
    };
    let (vendor, architecture, description) =
        (text("vendor"), text("architecture"), text("description"));
    let name = if description.is_empty() {
        format!("{vendor} {architecture}").trim().to_owned()
    } else {
        description
    };
    if !name.is_empty() {
        facts.name = name;
    }
    facts.vendor = vendor;
    facts.driver = architecture.clone();
    let fallback = get(&info, "isFallbackAdapter")
        .and_then(|v| v.as_bool())
        .unwrap_or(false);
    facts.software |= fallback || architecture.contains("swiftshader");
}

async fn adapter_info() -> Option<JsValue> {
    let gpu = gpu()?;
    let request: Function = get(&gpu, "requestAdapter")?.dyn_into().ok()?;
    let promise: Promise = request.call0(&gpu).ok()?.dyn_into().ok()?;
    let adapter = JsFuture::from(promise)
        .await
        .ok()
        .filter(|a| !a.is_null() && !a.is_undefined())?;
    get(&adapter, "info")
}

/// Give the browser a moment for what it still has to say.
pub(crate) async fn turn() {
    const MOMENT_MS: u32 = 50;
    let root = js_sys::global();
    let Some(timer) = get(&root, "setTimeout").and_then(|t| t.dyn_into::<Function>().ok()) else {
        return;
    };
    let moment = Promise::new(&mut |resolve, _| {
        if timer.call2(&root, &resolve, &MOMENT_MS.into()).is_err() {
            let _ = resolve.call0(&root);
        }
    });
    let _ = JsFuture::from(moment).await;
}
