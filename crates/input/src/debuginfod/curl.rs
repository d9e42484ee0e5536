//! `https` by the program `curl`: a TLS library of our own would be larger than the rest of the client.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Fault, Limits};

/// Exit status of curl: the server answered with an error; the file is too large.
const HTTP_ERROR: i32 = 22;
const TOO_LARGE: i32 = 63;

/// Fetches a file. Returns its size.
pub(super) fn get(url: &str, to: &Path, limits: Limits) -> Result<u64, Fault> {
    let seconds = limits.timeout.as_secs().max(1).to_string();
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--location", "--proto", "=https", "--max-redirs", "5"]);
    curl.args(["--connect-timeout", &seconds, "--speed-limit", "1024", "--speed-time", &seconds]);
    curl.arg("--max-filesize").arg(limits.most_bytes.to_string());
    curl.args(["--write-out", "%{http_code}", "--output"]).arg(to).args(["--", url]);
    let done = curl.stdin(Stdio::null()).output();
    let done = done.map_err(|error| Fault::Server(format!("https needs the program curl: {error}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let size = to.metadata().map_or(0, |metadata| metadata.len());
    match done.status.code() {
        Some(0) if size <= limits.most_bytes => Ok(size),
        Some(0 | TOO_LARGE) => {
            Err(Fault::File(format!("larger than {} bytes: not fetched", limits.most_bytes)))
        }
        Some(HTTP_ERROR) if text(&done.stdout) == "404" => Err(Fault::NotFound),
        _ => Err(Fault::Server(text(&done.stderr))),
    }
}
