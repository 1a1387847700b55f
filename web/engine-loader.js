// Starts the engine in its worker. What goes wrong before Rust can speak is said from here.
const stopped = (what) => postMessage(JSON.stringify({ type: "crashed", what: String(what) }));
self.addEventListener("unhandledrejection", (event) => stopped(event.reason));
importScripts("engine.js");
wasm_bindgen({ module_or_path: "engine_bg.wasm" }).catch(stopped);
