use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;
use crate::idx::tests::gzip;

/// How a server answers the next request.
#[derive(Clone)]
enum Answer {
    /// As it should, ranges included.
    Well(Vec<u8>),
    /// The whole file whatever range was asked for.
    WithoutRanges(Vec<u8>),
    /// Claims the whole length, then hangs up after so many bytes.
    CutAfter(usize, Vec<u8>),
    /// Only a status.
    Status(u16),
    /// Bytes without end, in chunks.
    Endless,
}

/// A server on the loopback that gives one answer per request, the last one for ever, and notes the ranges asked for.
struct Server {
    address: String,
    ranges: Arc<Mutex<Vec<Option<usize>>>>,
}

impl Server {
    fn start(answers: Vec<Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&ranges);
        // Ends with the test program: the listener has no other owner.
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let answer = answers[at.min(answers.len() - 1)].clone();
                let range = answer_one(stream.unwrap(), answer);
                seen.lock().unwrap().push(range);
            }
        });
        Server { address, ranges }
    }

    fn ranges(&self) -> Vec<Option<usize>> {
        self.ranges.lock().unwrap().clone()
    }
}

/// Answers one request and returns the start of the range that it asked for.
fn answer_one(mut stream: TcpStream, answer: Answer) -> Option<usize> {
    let mut range = None;
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let line = line.unwrap().to_lowercase();
        if let Some(value) = line.strip_prefix("range: bytes=") {
            range = Some(value.trim_end_matches('-').parse().unwrap());
        }
        if line.is_empty() {
            break;
        }
    }
    let reply = |status: &str, headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    };
    let length = |bytes: &[u8]| format!("Content-Length: {}\r\n", bytes.len());
    let bytes = match (answer, range) {
        (Answer::Status(status), _) => reply(&format!("{status} No"), "Content-Length: 0\r\n", &[]),
        (Answer::WithoutRanges(file) | Answer::Well(file), None) => {
            reply("200 OK", &length(&file), &file)
        }
        (Answer::WithoutRanges(file), Some(_)) => reply("200 OK", &length(&file), &file),
        (Answer::CutAfter(count, file), _) => reply("200 OK", &length(&file), &file[..count]),
        (Answer::Well(file), Some(start)) if start >= file.len() => {
            let headers = format!(
                "Content-Range: bytes */{}\r\nContent-Length: 0\r\n",
                file.len()
            );
            reply("416 Range Not Satisfiable", &headers, &[])
        }
        (Answer::Well(file), Some(start)) => {
            let range = format!(
                "Content-Range: bytes {start}-{}/{}\r\n",
                file.len() - 1,
                file.len()
            );
            reply(
                "206 Partial Content",
                &(range + &length(&file[start..])),
                &file[start..],
            )
        }
        (Answer::Endless, _) => {
            let mut bytes = reply("200 OK", "Transfer-Encoding: chunked\r\n", &[]);
            for _ in 0..64 {
                bytes.extend_from_slice(b"400\r\n");
                bytes.extend_from_slice(&[b'x'; 0x400]);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes
        }
    };
    // The client may have hung up on purpose.
    let _ = stream.write_all(&bytes);
    range
}

/// A file that does not shrink when packed, so that cutting it leaves something to continue.
fn content(name: &str) -> Vec<u8> {
    let mut block = Sha256::digest(name).to_vec();
    while block.len() < 20_000 {
        let next = Sha256::digest(&block[block.len() - 32..]);
        block.extend_from_slice(&next);
    }
    block
}

fn wanted(name: &str) -> Wanted {
    let content = content(name);
    Wanted {
        name: name.to_owned(),
        bytes: content.len() as u64,
        sha256: hex(&Sha256::digest(&content)),
    }
}

fn plan(files: &[&str], servers: &[&Server]) -> Plan {
    Plan {
        files: files.iter().map(|name| wanted(name)).collect(),
        addresses: servers
            .iter()
            .map(|server| server.address.clone())
            .collect(),
        agent: http::agent(None),
        npm: npm::Package {
            program: "no-such-program-anywhere".into(),
            package: "none@0".to_owned(),
        },
    }
}

fn go_on(_: &Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_fetched_unpacked_and_reported() {
    let server = Server::start(vec![Answer::Well(gzip(&content("a")))]);
    let dir = tempfile::tempdir().unwrap();
    let mut last = None;
    let fetched = plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut |progress| {
            last = Some((progress.done, progress.total));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), content("a"));
    assert_eq!(names_in(dir.path()), ["a"]);
    assert_eq!(fetched[0].from, Some(format!("{}a.gz", server.address)));
    let size = gzip(&content("a")).len() as u64;
    assert_eq!(last, Some((size, Some(size))));

    // A second time nothing is asked for.
    let again = plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap();
    assert_eq!(again[0].from, None);
    assert_eq!(server.ranges(), [None]);
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let file = gzip(&content("a"));
    let server = Server::start(vec![
        Answer::CutAfter(5000, file.clone()),
        Answer::Well(file),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(&["a"], &[&server]);
    let error = plan.carry_out(dir.path(), &mut go_on).unwrap_err();
    assert!(
        error.to_string().contains("broke off after 5000"),
        "{error}"
    );
    assert_eq!(names_in(dir.path()), ["a.gz.part"]);

    plan.carry_out(dir.path(), &mut go_on).unwrap();
    assert_eq!(server.ranges(), [None, Some(5000)]);
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), content("a"));
    assert_eq!(names_in(dir.path()), ["a"]);
}

#[test]
fn the_next_address_goes_on_where_the_first_stopped() {
    let file = gzip(&content("a"));
    let first = Server::start(vec![Answer::CutAfter(700, file.clone())]);
    let second = Server::start(vec![Answer::Well(file)]);
    let dir = tempfile::tempdir().unwrap();
    plan(&["a"], &[&first, &second])
        .carry_out(dir.path(), &mut go_on)
        .unwrap();
    assert_eq!(second.ranges(), [Some(700)]);
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), content("a"));
}

#[test]
fn a_server_that_ignores_ranges_starts_again() {
    let server = Server::start(vec![Answer::WithoutRanges(gzip(&content("a")))]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.gz.part"), [0; 99]).unwrap();
    plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap();
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), content("a"));
}

#[test]
fn a_part_of_something_else_is_thrown_away_once() {
    let file = gzip(&content("a"));
    // Shorter than the file: continued, refused by its checksum, fetched afresh.
    let server = Server::start(vec![Answer::Well(file.clone())]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.gz.part"), [7; 99]).unwrap();
    plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap();
    assert_eq!(server.ranges(), [Some(99), None]);

    // Longer than the file: the server has nothing to add, and it is not the file.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.gz.part"), vec![7; file.len() + 5]).unwrap();
    plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap();

    // Whole, but never put in place: only unpacked.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.gz.part"), &file).unwrap();
    plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap();
    assert_eq!(server.ranges().last(), Some(&Some(file.len())));
}

#[test]
fn a_file_with_the_wrong_content_is_not_put_in_place() {
    let mut changed = content("a");
    changed[12] ^= 1;
    let server = Server::start(vec![Answer::Well(gzip(&changed))]);
    let dir = tempfile::tempdir().unwrap();
    let error = plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap_err();
    assert!(error.to_string().contains("SHA-256"), "{error}");
    assert!(names_in(dir.path()).is_empty());

    let short = Server::start(vec![Answer::Well(gzip(&content("a")[..100]))]);
    let error = plan(&["a"], &[&short])
        .carry_out(dir.path(), &mut go_on)
        .unwrap_err();
    assert!(
        error.to_string().contains("expected 20000 unpacked bytes"),
        "{error}"
    );
}

#[test]
fn every_attempt_is_told_and_the_help_names_the_folder() {
    let gone = Server::start(vec![Answer::Status(404)]);
    let endless = Server::start(vec![Answer::Endless]);
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(&["a", "b"], &[&gone, &endless]);
    // A port that nobody listens on: tried for the first file, not for the second.
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    plan.addresses.push(format!("http://{nobody}/"));
    let error = plan.carry_out(dir.path(), &mut go_on).unwrap_err();
    let DataError::Download {
        file,
        attempts,
        folder,
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(file, "a");
    assert_eq!(*folder, dir.path().display().to_string());
    let reasons = |address: &str| -> Vec<&str> {
        let of_address = attempts.iter().filter(|(from, _)| from.contains(address));
        of_address.map(|(_, reason)| reason.as_str()).collect()
    };
    assert_eq!(reasons(&gone.address), ["the server answered 404"; 2]);
    assert_eq!(reasons(&endless.address), ["sent more than 21224 bytes"; 2]);
    assert_eq!(reasons(&nobody.to_string()).len(), 1);
    assert_eq!(
        reasons("npm"),
        ["npm is not installed (it comes with Node.js)"]
    );
    assert!(error.help().contains(folder), "{}", error.help());
}

#[test]
fn a_stopped_download_keeps_what_has_come() {
    let file = gzip(&content("a"));
    let server = Server::start(vec![
        Answer::CutAfter(5000, file.clone()),
        Answer::Well(file),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(&["a"], &[&server]);
    plan.carry_out(dir.path(), &mut go_on).unwrap_err();
    let stopped = plan
        .carry_out(dir.path(), &mut |_| ControlFlow::Break(()))
        .unwrap_err();
    assert_eq!(
        stopped,
        DataError::Cancelled {
            file: "a".to_owned()
        }
    );
    let part = std::fs::read(dir.path().join("a.gz.part")).unwrap();
    assert_eq!(part.len(), 5000);
    plan.carry_out(dir.path(), &mut go_on).unwrap();
}

#[test]
fn a_file_of_the_persons_own_is_neither_used_nor_replaced() {
    let server = Server::start(vec![Answer::Well(gzip(&content("a")))]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), content("b")).unwrap();
    let error = plan(&["a"], &[&server])
        .carry_out(dir.path(), &mut go_on)
        .unwrap_err();
    assert!(matches!(error, DataError::Checksum { .. }), "{error}");
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), content("b"));
}

/// A stand-in for npm: a script that leaves an archive where it is run, as `npm pack` does.
#[cfg(unix)]
fn npm_that(script: &str, dir: &Path) -> npm::Package {
    use std::os::unix::fs::PermissionsExt;

    let program = dir.join("npm-stand-in");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    npm::Package {
        program: program.into(),
        package: "pack@1".to_owned(),
    }
}

#[cfg(unix)]
#[test]
fn npm_is_the_last_resort_and_its_files_are_checked_too() {
    let place = tempfile::tempdir().unwrap();
    let archive = |files: &[(&str, Vec<u8>)]| {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            let path = format!("package/data/{name}");
            builder
                .append_data(&mut header, path, content.as_slice())
                .unwrap();
        }
        let path = place.path().join("pack.tgz");
        std::fs::write(&path, gzip(&builder.into_inner().unwrap())).unwrap();
        format!("cp '{}' pack-1.tgz", path.display())
    };
    let gone = Server::start(vec![Answer::Status(404)]);
    let run = |script: &str| {
        let dir = tempfile::tempdir().unwrap();
        let mut plan = plan(&["a", "b"], &[&gone]);
        plan.npm = npm_that(script, place.path());
        let outcome = plan.carry_out(dir.path(), &mut go_on);
        (
            outcome.map_err(|error| error.to_string()),
            names_in(dir.path()),
        )
    };

    let (outcome, names) = run(&archive(&[("a", content("a")), ("b", content("b"))]));
    assert!(
        outcome
            .unwrap()
            .iter()
            .all(|done| done.from.as_deref() == Some("npm pack pack@1"))
    );
    assert_eq!(names, ["a", "b"]);

    let (outcome, _) = run(&archive(&[("a", content("a"))]));
    assert!(outcome.unwrap_err().contains("the package lacks b"));
    let (outcome, names) = run(&archive(&[("a", content("b")), ("b", content("b"))]));
    assert!(outcome.unwrap_err().contains("SHA-256"));
    assert!(names.is_empty(), "{names:?}");
    let (outcome, _) = run("echo 'npm error code E404' >&2; exit 1");
    assert!(outcome.unwrap_err().contains("npm error code E404"));
    let (outcome, _) = run("true");
    assert!(outcome.unwrap_err().contains("left no archive"));
}
