//! How wide a figure may be, followed as the window changes, so that its text keeps the size of the page's on a phone as on
//! a projector.

use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::ResizeObserver;

struct Watch {
    observer: ResizeObserver,
    _seen: Closure<dyn FnMut()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

/// The size of the page's text over that of a browser that was left as it is.
fn text_size() -> f64 {
    let root = document().document_element();
    let style = root.and_then(|root| window().get_computed_style(&root).ok().flatten());
    let size = style.and_then(|style| style.get_property_value("font-size").ok());
    size.and_then(|size| size.trim_end_matches("px").parse::<f64>().ok())
        .map_or(1.0, |pixels| pixels / 16.0)
}

/// The width of an element, in pixels of a page whose text has the usual size.
pub fn width_of(element: NodeRef<Div>) -> Signal<f64> {
    let (width, set_width) = signal(640.0);
    let watch: StoredValue<Option<Watch>, LocalStorage> = StoredValue::new_local(None);
    Effect::new(move |_| {
        let Some(element) = element.get() else { return };
        let measured = element.clone();
        let seen = Closure::<dyn FnMut()>::new(move || {
            let now = (f64::from(measured.client_width()) / text_size()).floor();
            if now > 0.0 && width.try_get_untracked() != Some(now) {
                let _ = set_width.try_set(now);
            }
        });
        if let Ok(observer) = ResizeObserver::new(seen.as_ref().unchecked_ref()) {
            observer.observe(&element);
            watch.set_value(Some(Watch {
                observer,
                _seen: seen,
            }));
        }
    });
    width.into()
}
