//! Tests in which a thread plays the plugin.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::format::{
    CHUNK_HEADER, COUNT_AT, ChunkHeader, ChunkKind, ChunkState, HEADER_SIZE, Header, Record, Target,
};
use tracewright_testkit::{Rng, Scratch};

const CHUNK: usize = 4096;

fn receiver() -> Receiver {
    Receiver::new(&[std::env::temp_dir()], 1 << 16).unwrap()
}

/// The plugin's side.
struct Peer {
    stream: UnixStream,
    file: File,
}

impl Peer {
    fn connect(receiver: &Receiver, slots: u32) -> Self {
        Self::with_path(receiver, slots, receiver.log().to_owned())
    }

    fn with_path(receiver: &Receiver, slots: u32, path: PathBuf) -> Self {
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let header = Header { chunk_size: CHUNK as u32, ..Header::new(Target::Aarch64) };
        file.write_all_at(&header.to_bytes(), 0).unwrap();
        file.set_len((HEADER_SIZE + CHUNK * slots as usize) as u64).unwrap();
        let mut stream = UnixStream::connect(receiver.socket()).unwrap();
        stream.write_all(&Hello { pid: 5, slots, path }.to_bytes()).unwrap();
        Self { stream, file }
    }

    fn put(&self, slot: u32, at: usize, bytes: &[u8]) {
        self.file.write_all_at(bytes, (HEADER_SIZE + CHUNK * slot as usize + at) as u64).unwrap();
    }

    fn chunk(&self, slot: u32, kind: ChunkKind, sequence: u32, state: ChunkState, bytes: &[u8]) {
        self.put(slot, CHUNK_HEADER, bytes);
        let head = ChunkHeader { state, ..ChunkHeader::open(kind, sequence).finished(bytes, 0) };
        self.put(slot, 0, &head.to_bytes());
    }

    fn done(&self, slot: u32, kind: ChunkKind, sequence: u32, bytes: &[u8]) {
        self.chunk(slot, kind, sequence, ChunkState::Done, bytes);
    }

    fn open(&self, slot: u32, kind: ChunkKind, sequence: u32, bytes: &[u8]) {
        self.chunk(slot, kind, sequence, ChunkState::Open, bytes);
    }

    fn say(&mut self, slot: u32) {
        self.stream.write_all(&slot.to_le_bytes()).unwrap();
    }

    fn freed(&mut self) -> u32 {
        let mut slot = [0; 4];
        self.stream.read_exact(&mut slot).unwrap();
        let slot = u32::from_le_bytes(slot);
        let mut bytes = [1; CHUNK];
        self.file.read_exact_at(&mut bytes, (HEADER_SIZE + CHUNK * slot as usize) as u64).unwrap();
        assert_eq!(bytes, [0; CHUNK], "slot {slot} was given back with something in it");
        slot
    }
}

fn notes(texts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    texts.iter().for_each(|text| Record::Note(text).write(&mut bytes));
    bytes
}

/// Formats a piece: `D1+8 a b` (chunk 1 of definitions, from byte 8 on), `T2.0 7` (words of thread 2), `!` if it is done.
fn told(piece: Piece<'_>) -> String {
    let mark = |head: ChunkHeader| if head.state == ChunkState::Done { "!" } else { "" };
    match piece {
        Piece::Definitions { head, at, mut bytes } => {
            let mut text = format!("D{}+{at}{}", head.sequence, mark(head));
            while let Some((record, len)) = Record::read(bytes).unwrap() {
                let Record::Note(note) = record else { panic!("{record:?}") };
                text += &format!(" {note}");
                bytes = &bytes[len..];
            }
            text
        }
        Piece::Words { thread, head, bytes } => {
            let words = bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word));
            let words: Vec<_> = words.take_while(|&word| word != 0).map(|word| format!(" {word}")).collect();
            format!("T{thread}.{}{}{}", head.sequence, mark(head), words.concat())
        }
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Collects everything up to the end, or the error.
fn all(receiver: &Receiver) -> (Vec<String>, Result<(), Broken>) {
    let mut connection = match receiver.accept().unwrap().unwrap().open() {
        Ok(connection) => connection,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut pieces = Vec::new();
    loop {
        match connection.step(|piece| pieces.push(told(piece))) {
            Ok(Step::Ended) => return (pieces, Ok(())),
            Ok(_) => {}
            Err(error) => return (pieces, Err(error)),
        }
    }
}

use ChunkKind::{Definitions, Thread};

#[test]
fn definitions_come_before_the_words_that_need_them() {
    let receiver = receiver();
    let mut peer = Peer::connect(&receiver, 4);
    let plugin = thread::spawn(move || {
        peer.open(2, Definitions, 0, &notes(&["a", "b"]));
        peer.done(0, Thread(0), 0, &words(&[1, 2]));
        peer.say(0);
        assert_eq!(peer.freed(), 0);
        // Two chunks of definitions: the first is done, but is announced after a thread's chunk.
        peer.done(2, Definitions, 0, &notes(&["a", "b", "c"]));
        peer.open(3, Definitions, 1, &notes(&["d"]));
        peer.done(0, Thread(1), 0, &words(&[3]));
        peer.say(0);
        peer.say(2);
        assert_eq!((peer.freed(), peer.freed()), (0, 2));
        peer.done(1, Thread(0), 1, &words(&[4]));
        peer.say(1);
        assert_eq!(peer.freed(), 1);
    });
    let (pieces, ended) = all(&receiver);
    plugin.join().unwrap();
    ended.unwrap();
    assert_eq!(pieces, ["D0+0 a b", "T0.0! 1 2", "D0+24! c", "D1+0 d", "T1.0! 3", "T0.1! 4"]);
}

#[test]
fn nothing_is_lost_when_it_dies() {
    let receiver = receiver();
    let mut peer = Peer::connect(&receiver, 8);
    peer.done(7, Definitions, 0, &notes(&["a"]));
    peer.open(6, Definitions, 1, &notes(&["b"]));
    peer.done(0, Thread(0), 0, &words(&[1]));
    peer.say(0);
    // Not announced, in another order, and one with nothing but its header.
    peer.open(1, Thread(0), 2, &words(&[3]));
    peer.done(2, Thread(0), 1, &words(&[2]));
    peer.open(3, Thread(1), 0, &[]);
    // Dies within a word.
    peer.stream.write_all(&[2, 0]).unwrap();
    drop(peer);
    let (pieces, ended) = all(&receiver);
    ended.unwrap();
    assert_eq!(pieces, ["D0+0! a", "D1+0 b", "T0.0! 1", "T0.1! 2", "T0.2 3", "T1.0"]);
}

/// The plugin waits while nothing is read.
#[test]
fn a_slow_reader_holds_it_up() {
    let receiver = receiver();
    let mut peer = Peer::connect(&receiver, 2);
    let written = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut free = vec![0, 1];
            for sequence in 0..10 {
                let slot = free.pop().unwrap_or_else(|| peer.freed());
                peer.done(slot, Thread(0), sequence, &words(&[sequence + 1]));
                peer.say(slot);
                written.fetch_add(1, Ordering::SeqCst);
            }
            drop(peer);
        });
        let mut connection = receiver.accept().unwrap().unwrap().open().unwrap();
        let mut pieces = Vec::new();
        for read in 0..10 {
            thread::sleep(Duration::from_millis(20));
            let written = written.load(Ordering::SeqCst);
            assert!(written <= read + 2, "{written} chunks are written, {read} are read");
            assert_eq!(connection.step(|piece| pieces.push(told(piece))).unwrap(), Step::Read);
        }
        while connection.step(|piece| panic!("{piece:?}")).unwrap() != Step::Ended {}
        let expected: Vec<_> = (0..10).map(|number| format!("T0.{number}! {}", number + 1)).collect();
        assert_eq!(pieces, expected);
    });
}

/// A forked process may keep the socket open for as long as it likes.
#[test]
fn quiet_is_not_the_end() {
    let receiver = receiver();
    let peer = Peer::connect(&receiver, 2);
    let mut connection = receiver.accept().unwrap().unwrap().open().unwrap();
    peer.open(1, Thread(0), 0, &words(&[9]));
    assert_eq!(connection.step(|piece| panic!("{piece:?}")).unwrap(), Step::Quiet);
    let mut pieces = Vec::new();
    connection.finish(|piece| pieces.push(told(piece))).unwrap();
    assert_eq!(pieces, ["T0.0 9"]);
}

/// The header counts how far the program came, up to the end.
#[test]
fn the_header_is_read_again_at_the_end() {
    let receiver = receiver();
    let peer = Peer::connect(&receiver, 1);
    let mut connection = receiver.accept().unwrap().unwrap().open().unwrap();
    peer.file.write_all_at(&7u64.to_le_bytes(), COUNT_AT as u64).unwrap();
    assert_eq!(connection.header().checkpoints, 0);
    drop(peer);
    assert_eq!(connection.step(|piece| panic!("{piece:?}")).unwrap(), Step::Ended);
    assert_eq!(connection.header().checkpoints, 7);
}

/// With more threads than slots, the plugin adds some.
#[test]
fn a_log_can_grow() {
    let receiver = receiver();
    let mut peer = Peer::connect(&receiver, 1);
    peer.open(0, Thread(0), 0, &words(&[1]));
    peer.file.set_len((HEADER_SIZE + 4 * CHUNK) as u64).unwrap();
    peer.done(3, Thread(1), 0, &words(&[2]));
    peer.open(2, Definitions, 0, &notes(&["a"]));
    peer.say(3);
    assert_eq!((peer.file.metadata().unwrap().len() as usize - HEADER_SIZE) / CHUNK, 4);
    drop(peer);
    let (pieces, ended) = all(&receiver);
    ended.unwrap();
    assert_eq!(pieces, ["D0+0 a", "T1.0! 2", "T0.0 1"]);
}

#[test]
fn who_breaks_the_protocol_is_found_out() {
    let check = |slot: u32, what: fn(&mut Peer), expected: fn(&Broken) -> bool| {
        let receiver = receiver();
        let mut peer = Peer::connect(&receiver, 2);
        what(&mut peer);
        peer.say(slot);
        let (_, ended) = all(&receiver);
        let error = ended.unwrap_err();
        assert!(expected(&error), "{error}");
    };
    check(2, |_| {}, |error| matches!(error, Broken::Slot(2)));
    check(u32::MAX, |_| {}, |error| matches!(error, Broken::Slot(u32::MAX)));
    check(1, |_| {}, |error| matches!(error, Broken::Slot(1)));
    check(1, |peer| peer.open(1, Thread(0), 0, &[]), |error| matches!(error, Broken::Slot(1)));
    let order = |error: &Broken| matches!(error, Broken::Order { thread: 3, expected: 0, found: 1 });
    check(1, |peer| peer.done(1, Thread(3), 1, &[]), order);
    let definitions = |error: &Broken| matches!(error, Broken::Definitions { expected: 0, found: 4 });
    check(1, |peer| peer.done(1, Definitions, 4, &[]), definitions);
    let changed = |peer: &mut Peer| {
        peer.done(1, Thread(0), 0, &words(&[1]));
        peer.put(1, CHUNK_HEADER, &[2]);
    };
    check(1, changed, |error| matches!(error, Broken::Checksum(0x2040)));
    let too_long = |peer: &mut Peer| {
        peer.done(1, Thread(0), 0, &words(&[1]));
        peer.put(1, 16, &u32::MAX.to_le_bytes());
    };
    check(1, too_long, |error| matches!(error, Broken::Slot(1)));
    let no_record = |peer: &mut Peer| {
        peer.open(0, Definitions, 0, &words(&[0x0500_0002, 0, 0x05ff_ffff]));
        peer.done(1, Thread(0), 0, &[]);
    };
    check(1, no_record, |error| matches!(error, Broken::Record(0x1048)));
    // Fewer slots than announced.
    check(0, |peer| peer.file.set_len(5000).unwrap(), |error| matches!(error, Broken::Slot(1)));
}

/// Truncating a file while it is read gives an error, no signal.
#[test]
fn a_log_that_is_cut_off_is_an_error() {
    let receiver = receiver();
    let mut peer = Peer::connect(&receiver, 2);
    let mut connection = receiver.accept().unwrap().unwrap().open().unwrap();
    peer.file.set_len(5000).unwrap();
    peer.say(1);
    assert!(matches!(connection.step(|piece| panic!("{piece:?}")), Err(Broken::Io(_))));
    assert!(matches!(connection.finish(|piece| panic!("{piece:?}")), Err(Broken::Io(_))));
}

#[test]
fn a_log_that_is_none_is_refused() {
    let receiver = receiver();
    let check = |bytes: &[u8], path: PathBuf| {
        fs::write(&path, bytes).unwrap();
        let mut stream = UnixStream::connect(receiver.socket()).unwrap();
        stream.write_all(&Hello { pid: 1, slots: 1, path }.to_bytes()).unwrap();
        receiver.accept().unwrap().unwrap().open().unwrap_err()
    };
    let log = receiver.log();
    assert!(matches!(check(b"short", log.to_owned()), Broken::Io(_)));
    assert!(matches!(check(&[0; 10_000], log.to_owned()), Broken::Log(_)));
    let scratch = Scratch::new("elsewhere");
    let elsewhere = scratch.path().join("log");
    assert!(matches!(check(&[0; 10_000], elsewhere.clone()), Broken::Place(_)));
    assert!(elsewhere.exists(), "what is elsewhere is not ours to remove");
    let mut stream = UnixStream::connect(receiver.socket()).unwrap();
    stream.write_all(&[0; 100]).unwrap();
    assert!(matches!(receiver.accept().unwrap().unwrap().open(), Err(Broken::Magic(0))));
    receiver.close().unwrap();
    assert!(matches!(receiver.accept().unwrap().unwrap().open(), Err(Broken::Silent(_))));
}

/// A connected plugin is accepted even if nobody waits any longer.
#[test]
fn nobody_is_forgotten_at_the_end() {
    let receiver = receiver();
    let peer = Peer::connect(&receiver, 1);
    peer.open(0, Thread(0), 0, &words(&[9]));
    drop(peer);
    receiver.close().unwrap();
    let (pieces, ended) = all(&receiver);
    ended.unwrap();
    assert_eq!(pieces, ["T0.0 9"]);
    assert!(matches!(receiver.accept().unwrap().unwrap().open(), Err(Broken::Silent(_))));
    assert!(receiver.accept().unwrap().is_none());
}

/// A waiting thread is woken up.
#[test]
fn waiting_ends() {
    let receiver = receiver();
    thread::scope(|scope| {
        let accepting = scope.spawn(|| while receiver.accept().unwrap().is_some() {});
        thread::sleep(Duration::from_millis(20));
        receiver.close().unwrap();
        accepting.join().unwrap();
    });
}

#[test]
fn several_processes_at_the_same_time() {
    let receiver = receiver();
    let mut parent = Peer::connect(&receiver, 1);
    let mut first = receiver.accept().unwrap().unwrap().open().unwrap();
    let mut child = Peer::with_path(&receiver, 1, receiver.log().with_extension("6"));
    let mut second = receiver.accept().unwrap().unwrap().open().unwrap();
    let mut pieces = Vec::new();
    for (peer, word) in [(&mut parent, 1), (&mut child, 2)] {
        peer.done(0, Thread(0), 0, &words(&[word]));
        peer.say(0);
    }
    for connection in [&mut second, &mut first] {
        assert_eq!(connection.step(|piece| pieces.push(told(piece))).unwrap(), Step::Read);
    }
    assert_eq!(pieces, ["T0.0! 2", "T0.0! 1"]);
}

#[test]
fn the_folder_is_private_and_goes_away() {
    let receiver = receiver();
    let folder = receiver.socket().parent().unwrap().to_owned();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let peer = Peer::connect(&receiver, 1);
    let connection = receiver.accept().unwrap().unwrap().open().unwrap();
    assert!(!receiver.log().exists(), "the log has no name once it is open");
    drop((receiver, peer, connection));
    assert!(!folder.exists());
}

#[test]
fn places_that_do_not_serve_are_passed_over() {
    let scratch = Scratch::new("places");
    let temp = scratch.path();
    let long = temp.join("x".repeat(80));
    fs::create_dir(&long).unwrap();
    let receiver = Receiver::new(&[temp.join("no/such/place"), long.clone(), temp.to_owned()], 0).unwrap();
    assert!(!receiver.socket().starts_with(&long));
    assert!(Receiver::new(&[], 0).is_err());
    let error = Receiver::new(std::slice::from_ref(&long), 0).unwrap_err().to_string();
    assert!(error.contains("too long for a socket"), "{error}");
    assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
}

/// Any contents of slots, and any messages: no panic, and an end.
#[test]
fn any_bytes_are_survived() {
    let mut rng = Rng::new(7);
    let mut random = |below: u32| rng.below(below.into()) as u32;
    for _ in 0..300 {
        let receiver = receiver();
        let mut peer = Peer::connect(&receiver, 3);
        for slot in 0..3 {
            // Headers that are nearly right get further.
            let bytes: Vec<u8> = (0..64).flat_map(|_| (random(4) << 24 | random(20)).to_le_bytes()).collect();
            let kind = if random(2) == 0 { Definitions } else { Thread(random(2)) };
            let state = if random(2) == 0 { ChunkState::Open } else { ChunkState::Done };
            peer.chunk(slot, kind, random(2), state, &bytes);
            if random(2) == 0 {
                peer.put(slot, 4 * random(30) as usize, &random(u32::MAX).to_le_bytes());
            }
        }
        for _ in 0..random(5) {
            let slot = random(4);
            peer.say(slot);
        }
        drop(peer);
        let mut connection = receiver.accept().unwrap().unwrap().open().unwrap();
        while matches!(connection.step(|_| {}), Ok(Step::Read)) {}
        let _ = connection.finish(|_| {});
    }
}
