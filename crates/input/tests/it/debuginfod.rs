//! Programs and debug files from servers, and debug files beside programs. The server is our own, and Debian's where it is
//! installed; `debuginfod-find` shares the cache.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::elf::{self, own_section, program, symbol};
use crate::support::Folder;
use tracewright_core::{Context, MemorySpace, Security};
use tracewright_image::{Image, Moment};
use tracewright_input::debuginfod::{Debuginfod, FetchError, Kind, Progress};
use tracewright_input::{Capture, ImageFile, perf};
use tracewright_testkit::perf::{Form, Recording, etm4, who};
use tracewright_testkit::skip;

const ID: &[u8] = &[0xab, 0xcd, 0xef, 1, 2, 3, 4, 5];
const HEX: &str = "abcdef0102030405";

/// Returns a program with this build ID; without code, its debug file.
fn file(id: &[u8], has_code: bool) -> Vec<u8> {
    let mut elf = match has_code {
        true => program(0x40_0000, vec![0x11; 0x1000], Vec::new()),
        false => program(0x40_0000, vec![0; 0x1000], vec![symbol("main", 0x40_0000, 0x1000, 0x12, 1)]),
    };
    if !has_code {
        elf.segments.clear();
        elf.sections[0].kind = elf::SHT_NOBITS;
    }
    let note = [&[4, id.len() as u32, 3].map(u32::to_le_bytes).concat(), &b"GNU\0"[..], id].concat();
    elf.sections.push(own_section(".note.gnu.build-id", 7, 2, note, 0));
    elf.write()
}

/// Function that answers a request.
type Answer = Box<dyn FnMut(&str, &mut TcpStream) + Send>;

/// A server that gives each request to a function, with the stream to answer to.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(mut answer: impl FnMut(&str, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let request = lines.next().unwrap().unwrap();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                count.fetch_add(1, Ordering::SeqCst);
                answer(request.split(' ').nth(1).unwrap(), &mut stream);
            }
        });
        Self { url, asked }
    }

    /// A server that has these files.
    fn with(files: Vec<(String, Vec<u8>)>) -> Self {
        Self::new(move |path, stream| match files.iter().find(|(name, _)| name == path) {
            Some((_, bytes)) => respond(stream, "200 OK", "", bytes),
            None => respond(stream, "404 Not Found", "", b"no"),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn client(&self, folder: &Folder) -> Debuginfod {
        Debuginfod::new([self.url.clone()])
            .cache(folder.path().join("cache"))
            .timeout(Duration::from_millis(500))
    }
}

fn respond(stream: &mut TcpStream, status: &str, more: &str, body: &[u8]) {
    let len = body.len();
    // A client that has seen enough goes away.
    let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {len}\r\n{more}\r\n");
    let _ = stream.write_all(body);
}

fn of_path(kind: &str) -> String {
    format!("/buildid/{HEX}/{kind}")
}

#[test]
fn files_are_fetched_once() {
    let folder = Folder::new();
    let server = Server::with(vec![(of_path("debuginfo"), file(ID, false))]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let client = server.client(&folder).watch(move |progress| {
        if let Progress::Fetched { url, bytes } = progress {
            tell.lock().unwrap().push((url.to_owned(), bytes));
        }
    });
    let path = client.fetch(ID, Kind::DebugInfo).unwrap();
    assert_eq!(path, folder.path().join("cache").join(HEX).join("debuginfo"));
    assert_eq!(fs::read(&path).unwrap(), file(ID, false));
    assert_eq!(
        *told.lock().unwrap(),
        [(server.url.clone() + &of_path("debuginfo"), file(ID, false).len() as u64)]
    );
    assert_eq!((client.fetch(ID, Kind::DebugInfo), server.asked()), (Ok(path), 1));
    // What no server has is not asked for again.
    assert_eq!(client.fetch(ID, Kind::Executable), Err(FetchError::NotFound));
    assert_eq!(client.fetch(ID, Kind::Executable), Err(FetchError::NotFound));
    assert_eq!(server.asked(), 2);
    assert_eq!(client.problems(), []);
}

#[test]
fn wrong_answers_are_not_kept() {
    let good = file(ID, false);
    let fetched = |answer: Answer| {
        let folder = Folder::new();
        let server = Server::new(answer);
        let client = server.client(&folder).most_bytes(1 << 20);
        let result = client.fetch(ID, Kind::DebugInfo).map(|_| ());
        let left = fs::read_dir(folder.path().join("cache").join(HEX)).unwrap().count();
        assert_eq!(left, usize::from(result.is_ok() || result == Err(FetchError::NotFound)));
        let problems: Vec<_> = client.problems().iter().map(|problem| problem.message.clone()).collect();
        let text = result
            .map_err(|error| error.to_string().replace(&server.url, "SERVER"))
            .err()
            .unwrap_or_default();
        (text, problems.concat())
    };
    let other = file(&[7; 8], false);
    let wrong = "SERVER: the build ID of what came is 0707070707070707, not abcdef0102030405: not used";
    let answer = fetched(Box::new(move |_, stream| respond(stream, "200 OK", "", &other)));
    assert_eq!(answer, (wrong.into(), String::new()));
    let answer = fetched(Box::new(|_, stream| respond(stream, "200 OK", "", b"<html>")));
    assert_eq!(answer.0, "SERVER: what came is no ELF file: not used");
    let large = "SERVER: larger than 1048576 bytes: not fetched";
    let answer = fetched(Box::new(|_, stream| respond(stream, "200 OK", "", &vec![1; 2 << 20])));
    assert_eq!(answer.0, large);
    let answer = fetched(Box::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
        while stream.write_all(&[7; 4096]).is_ok() {}
    }));
    assert_eq!(answer.0, large, "without a length");
    let (cut, len) = (good[..good.len() / 2].to_vec(), good.len());
    let answer = fetched(Box::new(move |_, stream| {
        let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {len}\r\n\r\n");
        let _ = stream.write_all(&cut);
    }));
    assert_eq!(answer.0, format!("SERVER: {} bytes came of {len}: not used", len / 2));
    let down = "it answers with status 500: this debuginfod server is not asked";
    let answer = fetched(Box::new(|_, stream| respond(stream, "500 Oh", "", b"")));
    assert_eq!(answer, ("SERVER: it answers with status 500".into(), down.into()));
    let answer = fetched(Box::new(|_, _| std::thread::sleep(Duration::from_secs(5))));
    assert_eq!(answer.0, "SERVER: it does not answer in time");
    // A byte now and then is no progress.
    let answer = fetched(Box::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }));
    assert_eq!(answer.0, "SERVER: it does not answer in time");
    let around = "SERVER: it redirects again and again";
    let answer =
        fetched(Box::new(|path, stream| respond(stream, "302 Found", &format!("Location: {path}\r\n"), b"")));
    assert_eq!(answer.0, around);
    let answer = fetched(Box::new(move |path, stream| match path {
        "/there" => respond(stream, "200 OK", "", &good),
        _ => respond(stream, "302 Found", "Location: /there\r\n", b""),
    }));
    assert_eq!(answer, (String::new(), String::new()), "elsewhere");
}

#[test]
fn a_server_that_is_down_is_asked_once_and_others_answer() {
    let folder = Folder::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::with(vec![(of_path("executable"), file(ID, true))]);
    let urls = [format!("http://{closed}"), "ftp://x".into(), server.url.clone()];
    let client = Debuginfod::new(urls).cache(folder.path().join("cache"));
    assert!(client.fetch(ID, Kind::Executable).is_ok());
    assert_eq!(client.fetch(ID, Kind::DebugInfo), Err(FetchError::NotFound));
    let problems: Vec<_> = client.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2);
    assert!(
        problems[0].contains("refused") && problems[0].ends_with("this debuginfod server is not asked"),
        "{problems:?}"
    );
    assert_eq!(
        problems[1],
        "ftp://x: warning: not an address of http or https: this debuginfod server is not asked"
    );
    let alone = Debuginfod::new([format!("http://{closed}")]).cache(folder.path().join("other"));
    assert!(matches!(alone.fetch(ID, Kind::Executable), Err(FetchError::Failed(_))));
    assert_eq!(alone.fetch(ID, Kind::Executable), Err(FetchError::NotFound));
    assert!(!folder.path().join("other").join(HEX).join("executable").exists(), "nobody was asked");
}

/// A recording of a program that is not here, nor is its debug file.
#[test]
fn programs_of_recordings_come_from_servers() {
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    let program = file(ID, true);
    let at = program.windows(64).position(|bytes| bytes == [0x11; 64]).unwrap() as u64;
    recording.mmap2_id(who(7, 0), 0x7000_0000, 0x1000, at, "/nowhere/app", ID);
    recording.aux(who(7, 1), 0, 16, 0).trace(0, 0, &[0; 16]);
    let folder = Folder::new().with("perf.data", recording.write(Form::File));
    let server =
        Server::with(vec![(of_path("executable"), program), (of_path("debuginfo"), file(ID, false))]);
    let capture = perf::open(&folder.path().join("perf.data"), &[]).unwrap();
    let seen = |capture: &Capture| {
        let (image, problems) = capture.image(&[]);
        let security = Security::NonSecure;
        let context = Context { level: 0, security, is_64bit: true, vmid: None, context_id: Some(7) };
        let space = image.space(&context, &Moment::LAST);
        let name = image.symbols().symbol(0x7000_0010, space).map(|symbol| symbol.name.to_owned());
        (image.read(0x7000_0010, space).first().copied(), name, problems.len())
    };
    assert_eq!((seen(&capture), server.asked()), ((None, None, 1), 0), "nobody is asked unasked");
    let capture = Capture { debuginfod: Some(server.client(&folder)), ..capture };
    assert_eq!(seen(&capture), (Some(0x11), Some("main".into()), 0));
    let found =
        perf::find_binary("/nowhere/app", ID, &[], Path::new("x"), capture.debuginfod.as_ref()).unwrap();
    assert!(found.path.ends_with("executable") && found.debug.is_some());
    let missing =
        perf::find_binary("/nowhere/app", &[9; 8], &[], Path::new("y/x"), capture.debuginfod.as_ref());
    let text = missing.unwrap_err().to_string();
    assert!(text.contains("debuginfod (executable) (no debuginfod server has it)"), "{text}");
    assert!(text.contains(", and looked in ") && text.contains("y"), "{text}");
}

/// Runs `debuginfod-find`. Returns the path that it prints; `None` if it finds nothing.
fn find(cache: &Path, url: &str, kind: &str, id: &str) -> Option<PathBuf> {
    let mut find = Command::new("debuginfod-find");
    find.env("DEBUGINFOD_URLS", url).env("DEBUGINFOD_CACHE_PATH", cache).env("DEBUGINFOD_TIMEOUT", "5");
    let done = find.args([kind, id]).stderr(Stdio::null()).output().unwrap();
    done.status.success().then(|| String::from_utf8(done.stdout).unwrap().trim().into())
}

#[test]
fn the_cache_is_shared_with_elfutils() {
    if Command::new("debuginfod-find").arg("--version").output().is_err() {
        return skip("the_cache_is_shared_with_elfutils", "no debuginfod-find");
    }
    let folder = Folder::new();
    let cache = folder.path().join("cache");
    let server =
        Server::with(vec![(of_path("debuginfo"), file(ID, false)), (of_path("executable"), file(ID, true))]);
    let client = server.client(&folder);
    // What we fetched is found without asking, and what it fetched by us.
    let ours = client.fetch(ID, Kind::DebugInfo).unwrap();
    assert_eq!((find(&cache, &server.url, "debuginfo", HEX), server.asked()), (Some(ours), 1));
    let theirs = find(&cache, &server.url, "executable", HEX);
    assert_eq!((client.fetch(ID, Kind::Executable).ok(), server.asked()), (theirs, 2));
    // The same with what is missing.
    let other = "0909090909090909";
    assert_eq!(client.fetch(&[9; 8], Kind::DebugInfo), Err(FetchError::NotFound));
    assert_eq!((find(&cache, &server.url, "debuginfo", other), server.asked()), (None, 3));
    assert_eq!((find(&cache, &server.url, "executable", other), server.asked()), (None, 4));
    assert_eq!((client.fetch(&[9; 8], Kind::Executable), server.asked()), (Err(FetchError::NotFound), 4));
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Compiles a program in a folder. Returns whether there is a compiler.
fn compiled(folder: &Folder, options: &[&str]) -> bool {
    fs::write(
        folder.path().join("a.c"),
        "int twice(int x) { return 2 * x; }\nint main(void) { return twice(0); }\n",
    )
    .unwrap();
    let mut cc = Command::new("cc");
    cc.current_dir(folder.path()).args(["-g", "-O0", "a.c", "-o", "a"]).args(options);
    cc.status().is_ok_and(|status| status.success())
}

/// Runs a program in a folder.
fn ran(folder: &Folder, program: &str, arguments: &[&str]) {
    let done = Command::new(program).current_dir(folder.path()).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Returns the line of a function of a program in a folder.
fn line(capture: &Capture, program: &Path) -> Option<String> {
    let (image, _): (Image, _) = capture.image(&[ImageFile { path: program.into(), at: None }]);
    let symbols = image.symbols();
    let at = symbols.resolve("twice").map_or(0, |range| range.start);
    symbols.source(at, MemorySpace::ANY).map(|line| line.to_string().rsplit('/').next().unwrap().to_owned())
}

#[test]
fn debian_serves_us() {
    let test = "debian_serves_us";
    let folder = Folder::new();
    if !compiled(&folder, &["-Wl,--build-id"]) {
        return skip(test, "no C compiler");
    }
    fs::create_dir(folder.path().join("store")).unwrap();
    ran(&folder, "cp", &["a", "store/a.debug"]);
    ran(&folder, "strip", &["a"]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new("debuginfod");
    server.args(["-F", "-d", ":memory:", "-p", &port.to_string(), "store"]).current_dir(folder.path());
    let Ok(server) = server.env("HOME", folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    else {
        return skip(test, "no debuginfod");
    };
    let _server = Killed(server);
    let program = folder.path().join("a");
    for attempt in 0..100 {
        // A new cache each time: the server may not have seen the file yet.
        let cache = folder.path().join(format!("cache{attempt}"));
        let servers = Debuginfod::new([format!("http://127.0.0.1:{port}")]).cache(cache);
        let capture = Capture { debuginfod: Some(servers), ..Capture::default() };
        if line(&capture, &program).is_some_and(|line| line == "a.c:1") {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no debug file from debuginfod");
}

/// Debug files as packages have them: linked by name and checksum, where there is no build ID.
#[test]
fn linked_debug_files_are_found() {
    let folder = Folder::new();
    if !compiled(&folder, &["-Wl,--build-id=none"]) {
        return skip("linked_debug_files_are_found", "no C compiler");
    }
    let program = folder.path().join("a");
    let found = || line(&Capture::default(), &program);
    let expected = Some("a.c:1".to_owned());
    assert_eq!(found(), expected);
    ran(&folder, "objcopy", &["--only-keep-debug", "--compress-debug-sections=zlib", "a", "a.dbg"]);
    ran(&folder, "strip", &["a"]);
    assert_eq!(found(), None);
    ran(&folder, "objcopy", &["--add-gnu-debuglink=a.dbg", "a"]);
    assert_eq!(found(), expected);
    fs::create_dir(folder.path().join(".debug")).unwrap();
    fs::rename(folder.path().join("a.dbg"), folder.path().join(".debug/a.dbg")).unwrap();
    assert_eq!(found(), expected);
    fs::OpenOptions::new()
        .append(true)
        .open(folder.path().join(".debug/a.dbg"))
        .unwrap()
        .write_all(b"x")
        .unwrap();
    assert_eq!(found(), None, "of another build");
}
