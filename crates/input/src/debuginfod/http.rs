//! HTTP without TLS, as much as it takes to fetch a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Instant;

use super::{Fault, Limits};

/// Most bytes of the head of an answer.
const MOST_HEAD: u64 = 64 << 10;
/// Most redirections that are followed.
const MOST_REDIRECTIONS: usize = 5;
/// Bytes that must come within the timeout; elfutils want as many.
const LEAST: u64 = 100 << 10;

/// Fetches a file, and tells `received` how much came. Returns its size.
pub(super) fn get(
    url: &str,
    mut to: File,
    limits: Limits,
    received: &dyn Fn(u64, Option<u64>),
) -> Result<u64, Fault> {
    let mut url = url.to_owned();
    for _ in 0..=MOST_REDIRECTIONS {
        let (mut stream, answer) = ask(&url, limits)?;
        match (answer.status, answer.location) {
            (200, _) => return copy(&mut stream, &mut to, answer.len, limits, received),
            (404, _) => return Err(Fault::NotFound),
            (301 | 302 | 303 | 307 | 308, Some(location)) => url = absolute(&url, &location),
            (status, _) => return Err(Fault::Server(format!("it answers with status {status}"))),
        }
    }
    Err(Fault::Server("it redirects again and again".into()))
}

/// Head of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    status: u16,
    len: Option<u64>,
    location: Option<String>,
}

/// Returns the server and the path of an address.
fn parts(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let at = rest.find('/').unwrap_or(rest.len());
    let (server, path) = rest.split_at(at);
    let is_plain = |byte: u8| matches!(byte, b'!'..=b'~');
    (!server.is_empty() && url.bytes().all(is_plain))
        .then_some((server, if path.is_empty() { "/" } else { path }))
}

fn absolute(url: &str, location: &str) -> String {
    match (location.starts_with('/'), parts(url)) {
        (true, Some((server, _))) => format!("http://{server}{location}"),
        _ => location.to_owned(),
    }
}

/// Asks for a file. Returns the stream, from which its bytes can be read, and the head of the answer.
fn ask(url: &str, limits: Limits) -> Result<(BufReader<TcpStream>, Answer), Fault> {
    let (server, path) = parts(url)
        .ok_or_else(|| Fault::Server(format!("{url:?} is no address of http: it leads elsewhere")))?;
    let has_port =
        server.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let address = if has_port { server.to_owned() } else { format!("{server}:80") };
    let down = |error: io::Error| Fault::Server(words(&error));
    let mut last = io::Error::other("the server's name has no address");
    for address in address.to_socket_addrs().map_err(down)? {
        match TcpStream::connect_timeout(&address, limits.timeout) {
            Ok(mut stream) => {
                stream.set_read_timeout(Some(limits.timeout)).map_err(down)?;
                stream.set_write_timeout(Some(limits.timeout)).map_err(down)?;
                // With version 1.0, servers send the file as it is, up to the end of the connection.
                let agent = concat!("tracewright/", env!("CARGO_PKG_VERSION"));
                write!(
                    stream,
                    "GET {path} HTTP/1.0\r\nHost: {server}\r\nUser-Agent: {agent}\r\nAccept: */*\r\n\r\n"
                )
                .map_err(down)?;
                let mut stream = BufReader::new(stream);
                let answer = head(&mut stream, limits).map_err(down)?;
                return Ok((stream, answer));
            }
            Err(error) => last = error,
        }
    }
    Err(down(last))
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not answer in time".into(),
        _ => error.to_string(),
    }
}

/// Reads the head of an answer.
fn head(stream: &mut impl BufRead, limits: Limits) -> io::Result<Answer> {
    let wrong = || io::Error::other("its answer is not of HTTP");
    let start = Instant::now();
    let mut stream = stream.take(MOST_HEAD);
    let mut line = Vec::new();
    let mut answer = Answer::default();
    loop {
        line.clear();
        stream.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") || start.elapsed() > limits.timeout {
            return Err(wrong());
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if answer.status == 0 {
            let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
            answer.status = status.ok_or_else(wrong)?;
            continue;
        }
        if text.is_empty() {
            return Ok(answer);
        }
        let Some((name, value)) = text.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => answer.len = value.trim().parse().ok(),
            "location" => answer.location = Some(value.trim().to_owned()),
            // Not asked for: it would not be the file as it is.
            "transfer-encoding" | "content-encoding" if value.trim() != "identity" => return Err(wrong()),
            _ => {}
        }
    }
}

/// Copies a file. Returns its size.
fn copy(
    stream: &mut impl Read,
    to: &mut File,
    len: Option<u64>,
    limits: Limits,
    received: &dyn Fn(u64, Option<u64>),
) -> Result<u64, Fault> {
    let too_large = || Fault::File(format!("larger than {} bytes: not fetched", limits.most_bytes));
    if len.is_some_and(|len| len > limits.most_bytes) {
        return Err(too_large());
    }
    let mut chunk = vec![0; 64 << 10];
    let (mut total, mut mark) = (0, (Instant::now(), 0));
    loop {
        let count = stream.read(&mut chunk).map_err(|error| Fault::Server(words(&error)))?;
        if count == 0 {
            break;
        }
        total += count as u64;
        if total > limits.most_bytes {
            return Err(too_large());
        }
        to.write_all(&chunk[..count]).map_err(|error| Fault::File(error.to_string()))?;
        received(total, len);
        if mark.0.elapsed() > limits.timeout {
            if total - mark.1 < LEAST {
                return Err(Fault::Server("it does not answer in time".into()));
            }
            mark = (Instant::now(), total);
        }
    }
    match len {
        Some(len) if len != total => Err(Fault::File(format!("{total} bytes came of {len}: not used"))),
        _ => Ok(total),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<Answer, String> {
        let limits = Limits { timeout: Duration::from_secs(9), most_bytes: 99 };
        head(&mut text.as_bytes(), limits).map_err(|error| error.to_string())
    }

    #[test]
    fn heads_of_answers() {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX: y\r\n\r\nbody";
        assert_eq!(read(good), Ok(Answer { status: 200, len: Some(12), location: None }));
        let moved = "HTTP/1.0 302 Found\nlocation:  /there \n\n";
        assert_eq!(read(moved), Ok(Answer { status: 302, len: None, location: Some("/there".into()) }));
        let wrong = Err("its answer is not of HTTP".to_owned());
        for text in
            ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 ok\r\n\r\n", &"x".repeat(1 << 17)]
        {
            assert_eq!(read(text), wrong);
        }
        assert_eq!(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), wrong);
        assert_eq!(read(&format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(1 << 14))), wrong);
    }

    #[test]
    fn addresses() {
        assert_eq!(parts("http://a:80/b/c"), Some(("a:80", "/b/c")));
        assert_eq!(parts("http://[::1]:80"), Some(("[::1]:80", "/")));
        assert_eq!([parts("https://a/"), parts("http:///b"), parts("http://a/ b\r\n")], [None; 3]);
        assert_eq!(absolute("http://a:1/b", "/c"), "http://a:1/c");
        assert_eq!(absolute("http://a:1/b", "http://d/c"), "http://d/c");
    }
}
