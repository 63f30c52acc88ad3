//! `cavi fit --watch`: the page of a fit while it runs, and that nothing which asks for it harms the fit.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{MODEL, cavi, command, scratch, text};

/// A directory with a program and data for it.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let row = |i: usize| (0..30).map(|j| ((i * 7 + j * 13) % 5).to_string()).collect::<Vec<_>>().join(",");
    let csv: String = (0..40).map(|i| row(i) + "\n").collect();
    fs::write(directory.join("x.csv"), csv).unwrap();
    directory
}

/// A fit that is watched, with the address of its page.
struct Watched {
    child: Child,
    /// What it still says.
    stderr: BufReader<ChildStderr>,
    port: u16,
    prefix: String,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // One that has ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Watched {
    /// Begins a fit that would go on for hours, with these options more.
    fn endless(directory: &Path, more: &[&str]) -> Watched {
        let fixed = [
            "fit",
            "m.cavi",
            "--data",
            "x=x.csv",
            "--sweeps",
            "1000000000",
            "--tol",
            "0",
            "--threads",
            "1",
            "--out",
            "o",
            "--progress",
            "none",
            "--watch",
        ];
        let mut child = command(directory, &[&fixed[..], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        while !line.starts_with("watch it at ") {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("it is open") > 0, "the fit ended without an address");
        }
        let address =
            line.trim().strip_prefix("watch it at http://127.0.0.1:").expect("it is on the loopback");
        let (port, path) = address.split_once('/').expect("there is a path");
        Watched { child, stderr, port: port.parse().expect("a port"), prefix: format!("/{path}") }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends bytes, and reads the answer to its end: its status, its headers and its body.
    fn send(&self, bytes: &[u8]) -> (u16, String, String) {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("it is taken");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it is answered");
        let answer = text(&answer);
        let (head, body) =
            answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer of HTTP: {answer}"));
        let status = head.split(' ').nth(1).and_then(|own| own.parse().ok()).expect("a status");
        (status, head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        let prefix = &self.prefix;
        self.send(format!("GET {prefix}{path} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", self.port).as_bytes())
    }

    /// The state of the fit, of a page that has the charts of this version.
    fn data(&self, version: u64) -> Value {
        let (status, head, body) = self.get(&format!("data?page=test&latents={version}"));
        assert_eq!(status, 200, "{head}");
        assert!(head.contains("Content-Type: application/json"), "{head}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.expect("`kill` is there").success());
    }

    /// Waits for the end: the status.
    fn ended(&mut self, within: Duration) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < within {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut said = String::new();
        self.child.kill().expect("it is our child");
        let _ = self.stderr.read_to_string(&mut said);
        panic!("the fit goes on: {said}");
    }
}

/// The last sweep of the trace that a state has.
fn last_sweep(data: &Value) -> Option<f64> {
    data["state"]["drawings"]["0"]["spec"]["data"]["values"].as_array()?.last()?["sweep"].as_f64()
}

/// The files of a posterior with their bytes, and the trace without its seconds.
fn bits(out: &Path) -> Vec<(String, Vec<u8>)> {
    let entries =
        fs::read_dir(out.join("posterior")).expect("a posterior").map(|entry| entry.unwrap().path());
    let mut found: Vec<(String, Vec<u8>)> = entries
        .map(|own| (own.display().to_string().rsplit('/').next().unwrap().to_owned(), fs::read(own).unwrap()))
        .collect();
    found.sort();
    let trace = fs::read_to_string(out.join("trace.csv")).expect("a trace");
    let cells = |line: &str| {
        line.split(',')
            .enumerate()
            .filter(|(place, _)| *place != 3)
            .map(|(_, own)| own.to_owned())
            .collect::<Vec<_>>()
            .join(",")
    };
    found
        .push(("trace.csv".to_owned(), trace.lines().map(cells).collect::<Vec<_>>().join("\n").into_bytes()));
    found
}

#[test]
fn a_watched_fit_has_the_same_bytes() {
    let directory = prepared("watch-bits");
    let fit =
        ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "200", "--restarts", "2", "--quiet", "--out"];
    assert!(cavi(&directory, &[&fit[..], &["alone"]].concat()).status.success());
    let output = cavi(&directory, &[&fit[..], &["watched", "--watch", "--report"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("watch it at http://127.0.0.1:"), "{}", text(&output.stderr));
    assert_eq!(bits(&directory.join("alone")), bits(&directory.join("watched")));
    assert!(directory.join("watched/report.html").is_file());
}

#[test]
fn the_page_follows_the_fit_to_its_end() {
    let directory = prepared("watch-follows");
    let mut watched = Watched::endless(&directory, &["--report"]);
    let (status, head, page) = watched.get("");
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("Content-Type: text/html") && head.contains("X-Frame-Options: DENY"), "{head}");
    assert!(page.contains("<html lang=\"en\" data-watch=\"") && page.contains("connect-src 'self';"));
    assert!(!page.contains("http://") || !page.contains("src=\"http"), "nothing is loaded from elsewhere");

    // The trace grows, and charts of the latents come and change.
    let (begun, mut sweeps, mut versions) = (Instant::now(), Vec::new(), Vec::new());
    let mut version = 0;
    while versions.len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{sweeps:?} {versions:?}");
        let data = watched.data(version);
        assert!(data["ended"].is_null());
        sweeps.extend(last_sweep(&data));
        if let Some(latents) = data["latents"].as_object() {
            version = latents["version"].as_u64().expect("a version");
            let drawings = latents["drawings"].as_object().expect("drawings");
            assert!(!drawings.is_empty() && drawings.keys().all(|own| own.parse::<usize>().unwrap() >= 10));
            let html = latents["html"].as_str().unwrap();
            assert!(html.contains(">w</h3>") && html.contains(">h</h3>"), "{html}");
            versions.push(version);
        }
        // What the page has is not sent again.
        let again = &watched.data(version)["latents"];
        assert!(again.is_null() || again["version"].as_u64() > Some(version), "{again}");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(sweeps.windows(2).all(|pair| pair[0] <= pair[1]) && sweeps.last() > sweeps.first(), "{sweeps:?}");

    // Ctrl-C ends the fit; an open page hears of it, and the file of the page is there.
    watched.interrupt();
    let begun = Instant::now();
    let last = loop {
        assert!(begun.elapsed() < Duration::from_secs(30), "no end is told");
        let data = watched.data(version);
        if data["ended"].is_string() {
            break data;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let said = last["state"]["html"].as_str().unwrap();
    assert!(said.contains("interrupted after"), "{said}");
    assert_eq!(watched.ended(Duration::from_secs(20)), Some(130));
    assert!(directory.join("o/report.html").is_file() && directory.join("o/summary.json").is_file());
}

#[test]
fn what_browsers_do_wrong_is_answered_and_harms_nothing() {
    let directory = prepared("watch-wrong");
    let mut watched = Watched::endless(&directory, &[]);
    let (port, prefix) = (watched.port, watched.prefix.clone());
    let long = format!("GET {prefix} HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    for (request, wanted) in [
        (format!("GET {prefix}data HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"), 403),
        (format!("GET {prefix}data HTTP/1.1\r\n\r\n"), 400),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
        ("GET /data HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 404),
        (format!("GET {prefix}../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404),
        (format!("GET {prefix}m.cavi HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404),
        (format!("POST {prefix}data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"), 405),
        ("hello\r\n\r\n".to_owned(), 400),
        ("\r\n\r\n".to_owned(), 400),
        (long, 431),
    ] {
        let (status, head, _) = watched.send(request.as_bytes());
        assert_eq!(status, wanted, "{}: {head}", request.chars().take(80).collect::<String>());
    }
    assert_eq!(watched.send(b"\xff\xfe\x00\r\n\r\n").0, 400);

    // Who connects and says nothing, or leaves in the middle, takes the place of others for some seconds at most.
    let idle: Vec<TcpStream> = (0..40).map(|_| watched.connect()).collect();
    let mut refused = 0;
    for mut own in idle {
        own.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut answer = [0; 12];
        refused += usize::from(own.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 503");
        let _ = own.shutdown(Shutdown::Both);
    }
    assert!((1..=40).contains(&refused), "{refused}");
    let begun = Instant::now();
    while watched.get("data").0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is answered any more");
        std::thread::sleep(Duration::from_millis(100));
    }

    // The fit has gone on, and ends as it would have.
    let (first, begun) = (last_sweep(&watched.data(0)), Instant::now());
    while last_sweep(&watched.data(0)) <= first {
        assert!(begun.elapsed() < Duration::from_secs(30), "the fit does not go on from {first:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    watched.interrupt();
    assert_eq!(watched.ended(Duration::from_secs(30)), Some(130));
    assert!(directory.join("o/summary.json").is_file());
}

#[test]
fn a_port_that_cannot_be_had_is_said_before_the_fit() {
    let directory = prepared("watch-port");
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let port = format!("--watch={}", taken.local_addr().unwrap().port());
    for (option, status, wanted) in
        [(port.as_str(), 1, "cannot be served"), ("--watch=http", 2, "expected the number of a port")]
    {
        let output =
            cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "3", "--out", "o", option]);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(wanted), "{}", text(&output.stderr));
        assert!(!directory.join("o").exists());
    }
}
