//! Client of debuginfod servers, which have programs and debug files by build ID.
//!
//! Nothing is fetched unless a caller makes a [`Debuginfod`]. Files are kept in a cache with the layout of elfutils, so
//! that gdb, `debuginfod-find` and others share it. Plain `http` needs nothing else; `https` is left to `curl`.

mod cache;
mod curl;
mod http;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracewright_image::Facts;

use crate::problem::Problem;
use crate::program::{hex, map_file};
use cache::{Cache, Kept};

/// Time without progress after which a server is given up; elfutils' default.
const TIMEOUT: Duration = Duration::from_secs(90);
/// Largest file that is fetched.
const MOST_BYTES: u64 = 4 << 30;

/// Kind of a file that servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Program or library, with its code.
    Executable,
    /// Debug file of a program: symbols and source lines.
    DebugInfo,
}

impl Kind {
    /// Returns the name that servers and caches use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::DebugInfo => "debuginfo",
        }
    }
}

/// Error of [`Debuginfod::fetch`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchError {
    /// No server has the file.
    NotFound,
    /// A server failed, and no other has the file. The text says which one and why.
    Failed(String),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no debuginfod server has it"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for FetchError {}

/// Progress of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// So many bytes came so far.
    Received {
        /// Address of the file.
        url: &'a str,
        /// Bytes that came.
        bytes: u64,
        /// Bytes of the whole file, if the server told.
        total: Option<u64>,
    },
    /// The file is complete, and in the cache.
    Fetched {
        /// Address of the file.
        url: &'a str,
        /// Size in bytes.
        bytes: u64,
    },
}

type Watch = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// Servers to ask for programs and debug files, and the cache of what they had.
#[derive(Clone)]
pub struct Debuginfod {
    urls: Vec<String>,
    cache: Cache,
    timeout: Duration,
    most_bytes: u64,
    watch: Option<Watch>,
    /// Servers that failed and are not asked again, with the reason.
    down: Arc<Mutex<HashMap<String, String>>>,
}

impl fmt::Debug for Debuginfod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debuginfod")
            .field("urls", &self.urls)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl Debuginfod {
    /// Creates a client that asks these servers in order. The cache is that of elfutils: `DEBUGINFOD_CACHE_PATH`, or
    /// `debuginfod_client` among the user's caches. `DEBUGINFOD_TIMEOUT` (seconds) and `DEBUGINFOD_MAXSIZE` (bytes)
    /// set limits.
    pub fn new(urls: impl IntoIterator<Item = String>) -> Self {
        let number = |name: &str| std::env::var(name).ok()?.trim().parse().ok().filter(|number| *number > 0);
        Self {
            urls: urls.into_iter().collect(),
            cache: Cache::of_user(),
            timeout: number("DEBUGINFOD_TIMEOUT").map_or(TIMEOUT, Duration::from_secs),
            most_bytes: number("DEBUGINFOD_MAXSIZE").unwrap_or(MOST_BYTES),
            watch: None,
            down: Arc::default(),
        }
    }

    /// Creates a client of the servers in `DEBUGINFOD_URLS`. Returns `None` if that is not set or empty.
    pub fn of_environment() -> Option<Self> {
        let urls = std::env::var("DEBUGINFOD_URLS").ok()?;
        let urls: Vec<_> = urls.split_whitespace().map(str::to_owned).collect();
        (!urls.is_empty()).then(|| Self::new(urls))
    }

    /// Uses another folder as the cache.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Cache::new(folder.into());
        self
    }

    /// Gives up a server after this time without progress.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Fetches no file that is larger.
    #[must_use]
    pub fn most_bytes(mut self, most: u64) -> Self {
        self.most_bytes = most;
        self
    }

    /// Calls `watch` while files are fetched.
    #[must_use]
    pub fn watch(mut self, watch: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.watch = Some(Arc::new(watch));
        self
    }

    /// Returns the path of the file with this build ID, from the cache or from the first server that has it.
    ///
    /// # Errors
    /// Fails if no server has the file, or if servers cannot be asked. A server that cannot be reached is not asked
    /// again.
    pub fn fetch(&self, build_id: &[u8], kind: Kind) -> Result<PathBuf, FetchError> {
        // Servers know no shorter ones.
        if build_id.len() < 2 {
            return Err(FetchError::NotFound);
        }
        let id = hex(build_id);
        match self.cache.find(&id, kind) {
            Some(Kept::File(path)) => return Ok(path),
            Some(Kept::Missing) => return Err(FetchError::NotFound),
            None => {}
        }
        let mut failed = None;
        for server in &self.urls {
            if self.down.lock().is_ok_and(|down| down.contains_key(server)) {
                continue;
            }
            match self.fetch_from(server, build_id, &id, kind) {
                Ok(path) => return Ok(path),
                Err(Fault::NotFound) => {}
                Err(Fault::File(why)) => failed = Some(format!("{server}: {why}")),
                Err(Fault::Server(why)) => {
                    failed = Some(format!("{server}: {why}"));
                    let _ = self.down.lock().map(|mut down| down.insert(server.clone(), why));
                }
            }
        }
        match failed {
            Some(why) => Err(FetchError::Failed(why)),
            None => {
                let is_asked = self.down.lock().is_ok_and(|down| down.len() < self.urls.len());
                if is_asked {
                    self.cache.note_missing(&id, kind);
                }
                Err(FetchError::NotFound)
            }
        }
    }

    fn fetch_from(&self, server: &str, build_id: &[u8], id: &str, kind: Kind) -> Result<PathBuf, Fault> {
        let url = format!("{}/buildid/{id}/{}", server.trim_end_matches('/'), kind.name());
        let (temporary, file) =
            self.cache.create(id, kind).map_err(|error| Fault::File(error.to_string()))?;
        let received = |bytes, total| self.tell(Progress::Received { url: &url, bytes, total });
        let limits = Limits { timeout: self.timeout, most_bytes: self.most_bytes };
        let got = match server.split_once("://") {
            Some(("http", _)) => http::get(&url, file, limits, &received),
            Some(("https", _)) => curl::get(&url, temporary.path(), limits),
            _ => Err(Fault::Server("not an address of http or https".into())),
        };
        let bytes = got?;
        check(temporary.path(), build_id)?;
        let path = temporary.keep().map_err(|error| Fault::File(error.to_string()))?;
        self.tell(Progress::Fetched { url: &url, bytes });
        Ok(path)
    }

    fn tell(&self, progress: Progress<'_>) {
        if let Some(watch) = &self.watch {
            watch(progress);
        }
    }

    /// Returns a warning for each server that could not be asked, in their order.
    pub fn problems(&self) -> Vec<Problem> {
        let Ok(down) = self.down.lock() else { return Vec::new() };
        let problem = |server: &String| {
            let why = down.get(server)?;
            Some(Problem::memory_warning(
                Path::new(server),
                format!("{why}: this debuginfod server is not asked"),
            ))
        };
        self.urls.iter().filter_map(problem).collect()
    }
}

/// Limits of one fetch.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Longest time without progress.
    timeout: Duration,
    most_bytes: u64,
}

/// Fault of one fetch.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    NotFound,
    /// Something is wrong with this file.
    File(String),
    /// Something is wrong with the server.
    Server(String),
}

/// Checks that a file has this build ID.
fn check(path: &Path, build_id: &[u8]) -> Result<(), Fault> {
    let bytes = map_file(path).map_err(|problem| Fault::File(problem.message))?;
    let found = Facts::of(bytes.as_slice())
        .ok_or_else(|| Fault::File("what came is no ELF file: not used".into()))?;
    match found.build_id {
        Some(found) if found == build_id => Ok(()),
        found => {
            let found = found.map_or("none".to_owned(), hex);
            Err(Fault::File(format!("the build ID of what came is {found}, not {}: not used", hex(build_id))))
        }
    }
}
