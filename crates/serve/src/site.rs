//! The folder as a web site: files with their MIME types, the app's own addresses, and the headers.

use std::path::{Path, PathBuf};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use tower_http::services::{ServeDir, ServeFile};

use crate::ServeError;

const INDEX: &str = "index.html";

/// Cross-origin isolation gives the page the finest clock that a browser has (5 us instead of 100 us), and timings are
/// what the page is for. `nosniff` makes a wrong MIME type an error here rather than a riddle elsewhere.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

pub(crate) fn check(folder: &Path) -> Result<PathBuf, ServeError> {
    let index = folder.join(INDEX);
    if index.is_file() {
        Ok(index)
    } else {
        Err(ServeError::NoPage {
            folder: folder.to_owned(),
        })
    }
}

pub(crate) fn router(folder: &Path) -> Result<Router, ServeError> {
    let index = check(folder)?;
    let app =
        Router::new().fallback(move |request: Request| address_of_the_app(index.clone(), request));
    let files = ServeDir::new(folder).fallback(app);
    Ok(Router::new()
        .fallback_service(files)
        .layer(map_response(with_headers)))
}

/// The app draws `/lesson/train` itself, so an address without a file extension is the app's; a missing file with one
/// (`/engine.wasm`) stays missing, or a browser would be told that a page is a module.
async fn address_of_the_app(index: PathBuf, request: Request) -> Response {
    let last = request.uri().path().rsplit('/').next().unwrap_or_default();
    if last.contains('.') {
        return (
            StatusCode::NOT_FOUND,
            format!("{} is not part of this site\n", request.uri().path()),
        )
            .into_response();
    }
    match ServeFile::new(index).try_call(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let html = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    // The page is always fetched anew; the rest may be kept, but is asked for again, since not every name has a hash.
    let cache = if html { "no-store" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    response
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use crate::Server;

    fn get(port: u16, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }

    fn site() -> (tempfile::TempDir, u16) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "no").unwrap();
        let dist = folder.path().join("dist");
        fs::create_dir(&dist).unwrap();
        fs::write(dist.join("index.html"), "<p>the page").unwrap();
        fs::write(dist.join("engine_bg.wasm"), "module").unwrap();
        fs::write(dist.join("engine.js"), "code").unwrap();
        fs::write(dist.join("images.gz"), "data").unwrap();
        let server = Server::bind(0).unwrap();
        let port = server.port();
        server.spawn(&dist).unwrap();
        (folder, port)
    }

    #[test]
    fn files_have_their_types_and_every_answer_its_headers() {
        let (_folder, port) = site();
        for (path, kind, cache) in [
            ("/", "text/html", "no-store"),
            ("/index.html", "text/html", "no-store"),
            ("/engine_bg.wasm", "application/wasm", "no-cache"),
            ("/engine.js", "text/javascript", "no-cache"),
            ("/images.gz", "application/gzip", "no-cache"),
        ] {
            let (head, _) = get(port, path);
            assert!(head.starts_with("http/1.1 200"), "{path}: {head}");
            assert!(
                head.contains(&format!("content-type: {kind}")),
                "{path}: {head}"
            );
            assert!(
                head.contains(&format!("cache-control: {cache}")),
                "{path}: {head}"
            );
            assert!(
                head.contains("cross-origin-opener-policy: same-origin"),
                "{path}: {head}"
            );
            assert!(
                head.contains("cross-origin-embedder-policy: require-corp"),
                "{path}: {head}"
            );
            assert!(!head.contains("content-encoding"), "{path}: {head}");
        }
    }

    #[test]
    fn an_address_of_the_app_is_the_page_and_a_missing_file_is_missing() {
        let (_folder, port) = site();
        let (head, body) = get(port, "/lesson/train?seed=7");
        assert!(
            head.starts_with("http/1.1 200") && head.contains("text/html"),
            "{head}"
        );
        assert!(head.contains("cache-control: no-store"), "{head}");
        assert_eq!(body, "<p>the page");
        let (head, body) = get(port, "/old_bg.wasm");
        assert!(head.starts_with("http/1.1 404"), "{head}");
        assert!(body.contains("/old_bg.wasm"), "{body}");
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let (_folder, port) = site();
        for path in [
            "/../secret",
            "/%2e%2e/secret",
            "/..%2fsecret",
            "//../secret",
        ] {
            let (_, body) = get(port, path);
            assert_ne!(body, "no", "{path}");
        }
    }
}
