//! A server of a few answers to browsers of this machine, on `std::net::TcpListener`.
//!
//! It answers `GET` of paths under a prefix that is drawn anew for each server, on the loopback address alone, and serves no file.
//! Nothing that a client does stops or slows what the server belongs to: each connection has a thread, a size and a time that it may take,
//! and there is a limit to how many there are.
//!
//! - **DNS rebinding.** A page of another site whose name leads to 127.0.0.1 sends its own name as `Host`: only `127.0.0.1`, `localhost`
//!   and `[::1]` are answered, with any port, so that a tunnel works.
//! - **Other users and other pages.** The prefix has 122 random bits, from the keys that the system gives to hash tables: who does not have the
//!   address gets nothing.
//! - **Slow or broken clients.** A request has 8 KiB and 5 seconds, an answer 20 seconds; 16 connections are open at a time, and further ones are
//!   answered with 503.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A request has so many bytes.
const MOST_BYTES: usize = 8 << 10;
/// A request is sent within this time.
const TO_ASK: Duration = Duration::from_secs(5);
/// An answer is taken within this time.
const TO_ANSWER: Duration = Duration::from_secs(20);
/// So many connections are open at a time.
const MOST_OPEN: usize = 16;
/// How often the server looks whether somebody knocks, or whether it is to end.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a read or a write waits before the clock is looked at.
const STEP: Duration = Duration::from_millis(250);
/// So many bytes are written at a time.
const PART: usize = 64 << 10;

/// What is answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub kind: &'static str,
    /// Headers of its own, each with the end of its line.
    pub headers: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A text.
    pub fn text(status: u16, text: &str) -> Answer {
        let body = format!("{text}\n").into_bytes();
        Answer { status, kind: "text/plain; charset=utf-8", headers: String::new(), body }
    }
}

/// Answers a path behind the prefix, and what stands behind its question mark.
pub type Answers = dyn Fn(&str, &str) -> Answer + Send + Sync;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    prefix: String,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at a port of the loopback address, at one that the system chooses where it is 0.
    ///
    /// # Errors
    /// A port that is taken or that this user may not have; no thread.
    pub fn start(port: u16, answers: Arc<Answers>) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let prefix = format!("/{}/", token());
        let stop = Arc::new(AtomicBool::new(false));
        let (own, site) = (Arc::clone(&stop), Site { prefix: prefix.clone(), answers });
        let accept = move || accept(&listener, &Arc::new(site), &own);
        let accepting = thread::Builder::new().name("watch".to_owned()).spawn(accept)?;
        Ok(Server { address, prefix, stop, accepting: Some(accepting) })
    }

    /// Where a browser finds it.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.prefix)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(accepting) = self.accepting.take() {
            // A panic there is no failure here.
            let _ = accepting.join();
        }
    }
}

/// A part of an address that cannot be guessed.
fn token() -> String {
    // The keys of a hash table are random, and each table has others.
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// What connections share.
struct Site {
    prefix: String,
    answers: Arc<Answers>,
}

/// One of the connections that are open.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, site: &Arc<Site>, stop: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::SeqCst) {
        // Nobody there, a connection that went away, or too many open files: all are looked at again later.
        let Ok((mut stream, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        if open.fetch_add(1, Ordering::SeqCst) >= MOST_OPEN {
            open.fetch_sub(1, Ordering::SeqCst);
            let is_set = stream.set_nonblocking(true).is_ok();
            let answer = written(&Answer::text(503, "too many connections"));
            // It fits into the buffer of a new connection, or is lost.
            let _ = is_set && stream.write(&answer).is_ok();
            continue;
        }
        let (own, site) = (Open(Arc::clone(&open)), Arc::clone(site));
        let serve = move || {
            let _own = own;
            // Whatever goes wrong with a client ends its connection.
            let _ = serve(&mut stream, &site);
        };
        // Without a thread there is no answer.
        let _ = thread::Builder::new().name("watch".to_owned()).spawn(serve);
    }
}

fn serve(stream: &mut TcpStream, site: &Site) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(STEP))?;
    stream.set_write_timeout(Some(STEP))?;
    let answer = match head(stream)? {
        Head::Whole(bytes) => site.answer(&bytes),
        Head::TooLong => Answer::text(431, "the request is too long"),
        Head::TooLate => Answer::text(408, "the request takes too long"),
        Head::Gone => return Ok(()),
    };
    write_slowly(stream, &written(&answer))?;
    stream.shutdown(Shutdown::Write)?;
    // What a client still sends is read, or it may lose the answer.
    let (end, mut rest) = (Instant::now() + 2 * STEP, [0; 4096]);
    while Instant::now() < end && matches!(stream.read(&mut rest), Ok(1..)) {}
    Ok(())
}

/// What came of a request.
enum Head {
    Whole(Vec<u8>),
    TooLong,
    TooLate,
    Gone,
}

/// Reads up to the empty line.
fn head(stream: &mut TcpStream) -> io::Result<Head> {
    let end = Instant::now() + TO_ASK;
    let (mut bytes, mut part) = (Vec::new(), [0; 1024]);
    loop {
        if Instant::now() >= end {
            return Ok(Head::TooLate);
        }
        match stream.read(&mut part) {
            Ok(0) => return Ok(Head::Gone),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if is_pause(&error) => continue,
            Err(error) => return Err(error),
        }
        if let Some(place) = bytes.windows(4).position(|own| own == b"\r\n\r\n") {
            bytes.truncate(place);
            return Ok(Head::Whole(bytes));
        }
        if bytes.len() > MOST_BYTES {
            return Ok(Head::TooLong);
        }
    }
}

fn write_slowly(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let (end, mut rest) = (Instant::now() + TO_ANSWER, bytes);
    while !rest.is_empty() {
        if Instant::now() >= end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match stream.write(&rest[..rest.len().min(PART)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    stream.flush()
}

/// Whether nothing came in the time that a read or a write waits.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl Site {
    /// The answer to a request, the lines before its body.
    fn answer(&self, request: &[u8]) -> Answer {
        let Ok(text) = std::str::from_utf8(request) else {
            return Answer::text(400, "this is no request of HTTP");
        };
        let mut lines = text.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version] = first.as_slice() else {
            return Answer::text(400, "this is no request of HTTP");
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Answer::text(400, "this is no request of HTTP/1.1 for a path");
        }
        let host = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
        };
        let hosts: Vec<String> = lines.filter_map(host).collect();
        match hosts.as_slice() {
            [own] if is_loopback(own) => {}
            [_] => return Answer::text(403, "this server answers to 127.0.0.1 and localhost alone"),
            _ => return Answer::text(400, "a request has one Host"),
        }
        if *method != "GET" {
            let answer = Answer::text(405, "this server answers GET alone");
            return Answer { headers: "Allow: GET\r\n".to_owned(), ..answer };
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path.strip_prefix(self.prefix.as_str()) {
            Some(path) => (self.answers)(path, query),
            None => Answer::text(404, "there is nothing here"),
        }
    }
}

/// Whether a `Host` is the machine itself by a name that no server of names gives, with a port or without.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|own| own.is_ascii_digit()) => name,
        _ => host,
    };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// An answer as bytes.
fn written(answer: &Answer) -> Vec<u8> {
    let Answer { status, kind, headers, body } = answer;
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let mut bytes = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            prefix: "/x/".to_owned(),
            answers: Arc::new(|path, query| Answer::text(200, &format!("{path}|{query}"))),
        }
    }

    fn status(request: &str) -> u16 {
        site().answer(request.as_bytes()).status
    }

    #[test]
    fn only_whole_requests_for_what_is_there_are_answered() {
        assert_eq!(site().answer(b"GET /x/data?a=1 HTTP/1.1\r\nHost: 127.0.0.1:80").body, b"data|a=1\n");
        for (request, wanted) in [
            ("GET /x/ HTTP/1.1\r\nhOST: LOCALHOST", 200),
            ("GET /x/ HTTP/1.1\r\nHost: [::1]:9", 200),
            ("GET /x/ HTTP/1.1", 400),
            ("GET /x/ HTTP/1.1\r\nHost: localhost\r\nHost: localhost", 400),
            ("GET /x/ HTTP/1.1\r\nHost: evil.example", 403),
            ("GET /x/ HTTP/1.1\r\nHost: localhost.evil.example:80", 403),
            ("GET /x/ HTTP/1.1\r\nHost: 127.0.0.1:80:80", 403),
            ("GET / HTTP/1.1\r\nHost: localhost", 404),
            ("GET /x/../../etc/passwd HTTP/1.1\r\nHost: localhost", 200),
            ("GET http://127.0.0.1/x/ HTTP/1.1\r\nHost: localhost", 400),
            ("POST /x/ HTTP/1.1\r\nHost: localhost", 405),
            ("GET /x/ HTTP/2\r\nHost: localhost", 400),
            ("GET /x/", 400),
            ("", 400),
        ] {
            assert_eq!(status(request), wanted, "{request}");
        }
        assert_eq!(site().answer(b"\xff\xfe GET").status, 400);
    }

    #[test]
    fn addresses_cannot_be_guessed_from_each_other() {
        let all: std::collections::BTreeSet<String> = (0..100).map(|_| token()).collect();
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|own| own.len() == 32));
    }
}
