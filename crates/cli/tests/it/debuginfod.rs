//! Programs that come from a debuginfod server: by an option, by the usual variable, and never otherwise.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::perf_bad::elf;
use crate::run::{Ran, command, ran, text};
use crate::support::processes::{Made, Running, programs};
use tracewright_etm::Protocol;
use tracewright_testkit::perf::who;
use tracewright_testkit::{Rng, Scratch, skip};

const ID: [u8; 20] = [0x5a; 20];

/// A recording of a program that is not here. Returns the program.
fn recorded(scratch: &Scratch) -> Vec<u8> {
    let mut rng = Rng::new(61);
    let [program, _] = programs(&mut rng);
    let mut made = Made::new(Protocol::Etm4);
    let segment = &program.segments[0];
    let len = segment.bytes.len() as u64;
    made.recording.mmap2_id(who(100, 0), segment.address, len, 0x1000, "/nowhere/app", &ID);
    let mut running = Running::new(&program, 100, &mut rng);
    made.piece(who(100, 10), &running.run(Protocol::Etm4, 1000));
    made.write(scratch);
    elf(&program, &ID)
}

fn path() -> String {
    format!("/buildid/{}/executable", "5a".repeat(20))
}

fn decoded(scratch: &Scratch, options: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = command(format_args!("decode --summary {} {options}", scratch.join("perf.data")));
    command.env("HOME", "/nonexistent").env("DEBUGINFOD_CACHE_PATH", scratch.path().join("cache"));
    ran(command.envs(variables.iter().copied()))
}

#[test]
fn servers_are_asked_where_somebody_says_so() {
    let scratch = Scratch::new("debuginfod");
    let program = recorded(&scratch);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let has_it = lines.next().is_some_and(|line| line.starts_with(&format!("GET {} ", path())));
            lines.find(String::is_empty);
            let (status, body) = if has_it { ("200 OK", &program[..]) } else { ("404 Not Found", &[][..]) };
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
            stream.write_all(body).unwrap();
        }
    });
    let asked = || asked.load(Ordering::SeqCst);
    decoded(&scratch, "", &[]).says("no code of /nowhere/app").says_not("debuginfod server");
    assert_eq!(asked(), 0, "no surprises");
    let fetched = format!("fetched {url}{} (", path());
    decoded(&scratch, &format!("--debuginfod {url}"), &[]).says(&fetched).says_not("no code of").good();
    // The program, and its debug file, which the server has not.
    assert_eq!(asked(), 2);
    decoded(&scratch, "", &[("DEBUGINFOD_URLS", &url)]).says_not("fetched").says_not("no code of").good();
    assert_eq!(asked(), 2, "both are in the cache");
    fs::remove_dir_all(scratch.path().join("cache")).unwrap();
    decoded(&scratch, &format!("--debuginfod {url} -q"), &[]).says_not("fetched").says_not("no code of");
    assert_eq!(asked(), 4, "fetched without a word");
    fs::remove_dir_all(scratch.path().join("cache")).unwrap();
    let dead = decoded(&scratch, "--debuginfod http://127.0.0.1:9", &[]);
    dead.says("http://127.0.0.1:9: warning: ")
        .says("this debuginfod server is not asked")
        .says("no code of /nowhere/app");
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `https` by curl, from OpenSSL's test server.
#[test]
fn https_is_left_to_curl() {
    let scratch = Scratch::new("debuginfod-https");
    let program = recorded(&scratch);
    let file = scratch.path().join(path().trim_start_matches('/'));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, program).unwrap();
    let mut openssl = Command::new("openssl");
    openssl.current_dir(scratch.path()).args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]);
    openssl.args(["-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost"]);
    openssl.args(["-addext", "subjectAltName=DNS:localhost"]);
    let has_curl = Command::new("curl").arg("--version").output().is_ok();
    if !has_curl || !openssl.output().is_ok_and(|done| done.status.success()) {
        return skip("https_is_left_to_curl", "no curl, or no openssl");
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new("openssl");
    server
        .current_dir(scratch.path())
        .args(["s_server", "-WWW", "-key", "key.pem", "-cert", "cert.pem", "-accept"]);
    server.arg(format!("127.0.0.1:{port}")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Killed(server.spawn().unwrap());
    let certificate = scratch.path().join("cert.pem");
    let url = format!("https://localhost:{port}");
    for _ in 0..50 {
        let done =
            decoded(&scratch, &format!("--debuginfod {url}"), &[("CURL_CA_BUNDLE", text(&certificate))]);
        if done.err.contains(&format!("fetched {url}")) {
            done.says_not("no code of").good();
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("nothing was fetched by https");
}
