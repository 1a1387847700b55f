//! What crosses crates: golden values, conformance over all devices, the browser.
