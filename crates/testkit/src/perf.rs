//! Makes recordings as Linux perf and simpleperf write them (`perf.data`), valid or not.

/// Origin of a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Who {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Time.
    pub time: u64,
    /// CPU.
    pub cpu: u32,
}

/// Returns a process's main thread, at a time, on CPU 0.
pub fn who(pid: u32, time: u64) -> Who {
    Who { pid, tid: pid, time, cpu: 0 }
}

/// A recording under construction.
#[derive(Clone, Debug)]
pub struct Recording {
    records: Vec<Record>,
    features: Vec<(u32, Vec<u8>)>,
    index: Index,
    /// Size of an event in bytes.
    attr: usize,
    /// Whether times are of `CLOCK_MONOTONIC`.
    monotonic: bool,
}

/// Index of the trace (feature 18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Index {
    /// Linux perf: a count, then pairs.
    #[default]
    Counted,
    /// simpleperf: pairs only.
    Pairs,
    /// No index.
    None,
}

/// Form of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// File.
    File,
    /// Pipe: events and features are records.
    Pipe,
    /// Kernel records compressed, as by Linux perf (`-z`).
    Compressed,
    /// Like `Compressed`, with records that have their length.
    Compressed2,
    /// Trace compressed as well, as by simpleperf.
    CompressedTrace,
}

#[derive(Clone, Debug)]
struct Record {
    kind: u32,
    misc: u16,
    body: Vec<u8>,
    /// Bytes that follow.
    payload: Vec<u8>,
}

/// Bits of `sample_type`: IP, TID, TIME, ID, CPU, IDENTIFIER.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 16;
/// ID of the only event.
const ID: u64 = 7;
const AUXTRACE: u32 = 71;

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// Creates an empty recording.
    pub fn new() -> Self {
        Self {
            records: Vec::new(),
            features: Vec::new(),
            index: Index::default(),
            attr: 128,
            monotonic: false,
        }
    }

    /// Sets the size of the event: newer kernels have more fields.
    pub fn event_size(&mut self, bytes: usize) -> &mut Self {
        self.attr = bytes;
        self
    }

    /// Says that times are of the clock that jitdump files use (`perf record -k mono`).
    pub fn monotonic(&mut self) -> &mut Self {
        self.monotonic = true;
        self
    }

    /// Sets the index of the trace.
    pub fn index(&mut self, index: Index) -> &mut Self {
        self.index = index;
        self
    }

    /// Adds a feature.
    pub fn feature(&mut self, number: u32, bytes: Vec<u8>) -> &mut Self {
        self.features.push((number, bytes));
        self.features.sort();
        self
    }

    /// Adds any record. Kernel records (types below 64) get the fields of `who`.
    pub fn record(&mut self, kind: u32, misc: u16, mut body: Vec<u8>, who: Who) -> &mut Self {
        if kind < 64 {
            body.extend([who.pid, who.tid].map(u32::to_le_bytes).concat());
            body.extend([who.time, ID].map(u64::to_le_bytes).concat());
            body.extend([who.cpu, 0].map(u32::to_le_bytes).concat());
            body.extend(ID.to_le_bytes());
        }
        self.records.push(Record { kind, misc, body, payload: Vec::new() });
        self
    }

    /// Adds an executable mapping of a file.
    pub fn mmap2(&mut self, who: Who, start: u64, len: u64, offset: u64, path: &str) -> &mut Self {
        self.mmap2_id(who, start, len, offset, path, &[])
    }

    /// Adds an executable mapping of a file with a build ID, if it is not empty.
    pub fn mmap2_id(
        &mut self,
        who: Who,
        start: u64,
        len: u64,
        offset: u64,
        path: &str,
        id: &[u8],
    ) -> &mut Self {
        let mut identity = [0; 24];
        identity[0] = id.len() as u8;
        identity[4..4 + id.len()].copy_from_slice(id);
        let misc = if id.is_empty() { 0 } else { 1 << 14 };
        let mut body = [who.pid, who.tid].map(u32::to_le_bytes).concat();
        body.extend([start, len, offset].map(u64::to_le_bytes).concat());
        body.extend(identity);
        body.extend([5_u32, 2].map(u32::to_le_bytes).concat());
        body.extend(padded(path));
        self.record(10, misc | 2, body, who)
    }

    /// Adds a mapping of the kernel or of a module (MMAP).
    pub fn kernel_mmap(&mut self, start: u64, len: u64, offset: u64, path: &str) -> &mut Self {
        let mut body = [u32::MAX, 0].map(u32::to_le_bytes).concat();
        body.extend([start, len, offset].map(u64::to_le_bytes).concat());
        body.extend(padded(path));
        self.record(1, 1, body, Who::default())
    }

    /// Adds a process name. `exec` means that the process runs another program.
    pub fn comm(&mut self, who: Who, name: &str, exec: bool) -> &mut Self {
        let mut body = [who.pid, who.tid].map(u32::to_le_bytes).concat();
        body.extend(padded(name));
        self.record(3, u16::from(exec) << 13, body, who)
    }

    /// Adds the creation of `who`.
    pub fn fork(&mut self, who: Who, parent: u32) -> &mut Self {
        let mut body = [who.pid, parent, who.tid, parent].map(u32::to_le_bytes).concat();
        body.extend(who.time.to_le_bytes());
        self.record(7, 0, body, who)
    }

    /// Adds the end of `who`.
    pub fn exit(&mut self, who: Who) -> &mut Self {
        let mut body = [who.pid, who.pid, who.tid, who.tid].map(u32::to_le_bytes).concat();
        body.extend(who.time.to_le_bytes());
        self.record(4, 0, body, who)
    }

    /// Adds that `who` runs when tracing begins.
    pub fn itrace_start(&mut self, who: Who) -> &mut Self {
        self.record(12, 0, [who.pid, who.tid].map(u32::to_le_bytes).concat(), who)
    }

    /// Adds a record of trace that the kernel wrote.
    pub fn aux(&mut self, who: Who, offset: u64, size: u64, flags: u64) -> &mut Self {
        self.record(11, 0, [offset, size, flags].map(u64::to_le_bytes).concat(), who)
    }

    /// Adds a function that came into the kernel, or went (`gone`). `kind`: 1 for BPF, 2 for out-of-line code.
    pub fn ksymbol(
        &mut self,
        time: u64,
        address: u64,
        len: u32,
        kind: u16,
        gone: bool,
        name: &str,
    ) -> &mut Self {
        let mut body = address.to_le_bytes().to_vec();
        body.extend(len.to_le_bytes());
        body.extend([kind, gone.into()].map(u16::to_le_bytes).concat());
        body.extend(padded(name));
        self.record(17, 1, body, who(0, time))
    }

    /// Adds the load (`kind` 1) or the end (2) of a BPF program.
    pub fn bpf_event(&mut self, time: u64, kind: u16, id: u32, tag: [u8; 8]) -> &mut Self {
        let mut body = [kind, 0].map(u16::to_le_bytes).concat();
        body.extend(id.to_le_bytes());
        body.extend(tag);
        self.record(18, 1, body, who(0, time))
    }

    /// Adds a change of kernel code.
    pub fn text_poke(&mut self, time: u64, address: u64, old: &[u8], new: &[u8]) -> &mut Self {
        let mut body = address.to_le_bytes().to_vec();
        body.extend([old.len() as u16, new.len() as u16].map(u16::to_le_bytes).concat());
        body.extend([old, new].concat());
        body.resize(body.len().next_multiple_of(8), 0);
        self.record(20, 1, body, who(0, time))
    }

    /// Adds the code of BPF programs (feature 25): the ID, the name, and the address, tag and code of each function.
    pub fn bpf_programs(&mut self, programs: &[BpfProgram<'_>]) -> &mut Self {
        let mut feature = (programs.len() as u32).to_le_bytes().to_vec();
        programs.iter().for_each(|program| feature.extend(program.write()));
        self.feature(25, feature)
    }

    /// Adds the trace ID of a CPU.
    pub fn hardware_id(&mut self, who: Who, word: u64) -> &mut Self {
        self.record(21, 0, word.to_le_bytes().to_vec(), who)
    }

    /// Describes trace units: the version, and the words of each.
    pub fn units(&mut self, version: u64, units: &[Vec<u64>]) -> &mut Self {
        let mut body = [3_u32, 0].map(u32::to_le_bytes).concat();
        let head = [version, 8 << 32 | units.len() as u64, 0];
        body.extend(head.iter().chain(units.iter().flatten()).flat_map(|word| word.to_le_bytes()));
        self.record(70, 0, body, Who::default())
    }

    /// Describes trace units of this kind by any words.
    pub fn units_of(&mut self, kind: u32, words: &[u64]) -> &mut Self {
        let mut body = [kind, 0].map(u32::to_le_bytes).concat();
        body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.record(70, 0, body, Who::default())
    }

    /// Names the kernel's units of measurement (feature 16).
    pub fn unit_names(&mut self, names: &[(u32, &str)]) -> &mut Self {
        let mut feature = (names.len() as u32).to_le_bytes().to_vec();
        for (number, name) in names {
            feature.extend(number.to_le_bytes());
            feature.extend((padded(name).len() as u32).to_le_bytes());
            feature.extend(padded(name));
        }
        self.feature(16, feature)
    }

    /// Adds trace at an offset of a CPU's buffer.
    pub fn trace(&mut self, cpu: u32, offset: u64, bytes: &[u8]) -> &mut Self {
        self.trace_of(cpu, 0, offset, bytes)
    }

    /// Adds trace at an offset of a thread's buffer.
    pub fn thread_trace(&mut self, tid: u32, offset: u64, bytes: &[u8]) -> &mut Self {
        self.trace_of(u32::MAX, tid, offset, bytes)
    }

    fn trace_of(&mut self, cpu: u32, tid: u32, offset: u64, bytes: &[u8]) -> &mut Self {
        let mut body = [bytes.len() as u64, offset, 0].map(u64::to_le_bytes).concat();
        body.extend([0, tid, cpu, 0].map(u32::to_le_bytes).concat());
        self.records.push(Record { kind: AUXTRACE, misc: 0, body, payload: bytes.to_vec() });
        self
    }

    /// Sets the machine (feature 6), such as `aarch64`.
    pub fn machine(&mut self, name: &str) -> &mut Self {
        let mut feature = 64_u32.to_le_bytes().to_vec();
        feature.extend(name.as_bytes());
        feature.resize(68, 0);
        self.feature(6, feature)
    }

    /// Adds files with their build IDs (feature 2).
    pub fn build_ids(&mut self, files: &[(&str, &[u8])]) -> &mut Self {
        let mut feature = Vec::new();
        for (path, id) in files {
            let mut body = u32::MAX.to_le_bytes().to_vec();
            let mut identity = [0; 24];
            identity[..id.len()].copy_from_slice(id);
            identity[20] = id.len() as u8;
            body.extend(identity);
            body.extend(padded(path));
            feature.extend(bytes(&Record { kind: 67, misc: 1 << 15 | 2, body, payload: Vec::new() }));
        }
        self.feature(2, feature)
    }

    /// Writes the recording.
    pub fn write(&self, form: Form) -> Vec<u8> {
        if form == Form::Pipe {
            return self.pipe();
        }
        let attr_at = 104 + 8;
        let data_at = attr_at + self.attr as u64 + 16;
        let (data, traces) = self.data(form);
        let mut features = self.features.clone();
        let indexed = traces.iter().flat_map(|at| [data_at + at, 48]);
        let index: Vec<u64> = match self.index {
            Index::Counted => std::iter::once(traces.len() as u64).chain(indexed).collect(),
            Index::Pairs => indexed.collect(),
            Index::None => Vec::new(),
        };
        if self.index != Index::None {
            features.push((18, index.iter().flat_map(|word| word.to_le_bytes()).collect()));
            features.sort();
        }
        let mut file = b"PERFILE2".to_vec();
        let sections = [(attr_at, self.attr as u64 + 16), (data_at, data.len() as u64), (0, 0)];
        file.extend([104, self.attr as u64 + 16].map(u64::to_le_bytes).concat());
        file.extend(sections.iter().flat_map(|&(at, len)| [at, len]).flat_map(u64::to_le_bytes));
        let mut bits = [0; 32];
        features.iter().for_each(|(number, _)| bits[*number as usize / 8] |= 1 << (number % 8));
        file.extend(bits);
        file.extend(ID.to_le_bytes());
        file.extend(attr(self.attr, self.monotonic));
        file.extend([104, 8_u64].map(u64::to_le_bytes).concat());
        file.extend(data);
        let mut at = file.len() as u64 + 16 * features.len() as u64;
        for (_, bytes) in &features {
            file.extend([at, bytes.len() as u64].map(u64::to_le_bytes).concat());
            at += bytes.len() as u64;
        }
        features.iter().for_each(|(_, bytes)| file.extend(bytes));
        file
    }

    /// Returns the records, and the offsets of those of trace.
    fn data(&self, form: Form) -> (Vec<u8>, Vec<u64>) {
        let (mut data, mut traces, mut packed) = (Vec::new(), Vec::new(), Zstd::default());
        for record in &self.records {
            if record.kind < 64 && form != Form::File {
                // Records are cut anywhere.
                for part in bytes(record).chunks(29) {
                    let part = packed.block(part);
                    if form == Form::Compressed2 {
                        let mut body = (part.len() as u64).to_le_bytes().to_vec();
                        body.extend(&part);
                        body.resize(body.len().next_multiple_of(8), 0xee);
                        data.extend(plain(83, body));
                    } else {
                        data.extend(plain(81, part));
                    }
                }
                continue;
            }
            if record.kind == AUXTRACE {
                traces.push(data.len() as u64);
            }
            if record.kind == AUXTRACE && form == Form::CompressedTrace {
                let mut zstd = Zstd::default();
                let mut payload = zstd.block(&record.payload);
                payload.extend([1, 0, 0]);
                let mut body = record.body.clone();
                body[..8].copy_from_slice(&(payload.len() as u64).to_le_bytes());
                data.extend(bytes(&Record { body, payload, ..record.clone() }));
                continue;
            }
            data.extend(bytes(record));
        }
        (data, traces)
    }

    fn pipe(&self) -> Vec<u8> {
        let mut file = b"PERFILE2".to_vec();
        file.extend(16_u64.to_le_bytes());
        let mut body = attr(self.attr, self.monotonic);
        body.extend(ID.to_le_bytes());
        file.extend(plain(64, body));
        for (number, feature) in &self.features {
            let mut body = u64::from(*number).to_le_bytes().to_vec();
            body.extend(feature);
            file.extend(plain(80, body));
        }
        self.records.iter().for_each(|record| file.extend(bytes(record)));
        file
    }
}

/// Returns the words of a CPU's ETMv4, as version 1 describes it.
pub fn etm4(cpu: u64, config: u64, id: u64) -> Vec<u64> {
    vec![0x4040_4040_4040_4040, cpu, 7, config, id, 0x2800_0ea1, 0x4100_f403, 0x488, 0, 0xcc]
}

/// BPF program, as the kernel describes it.
#[derive(Clone, Debug)]
pub struct BpfProgram<'a> {
    /// ID.
    pub id: u32,
    /// Name.
    pub name: &'a str,
    /// Address, tag and code of each function.
    pub functions: Vec<(u64, [u8; 8], Vec<u8>)>,
}

impl BpfProgram<'_> {
    fn write(&self) -> Vec<u8> {
        let (mut info, mut data) = (vec![0; 232], Vec::new());
        let functions = &self.functions;
        let arrays: [(u32, usize, usize, Vec<u8>, usize); 4] = [
            (0, 16, 24, functions.iter().flat_map(|function| function.2.clone()).collect(), 1),
            (3, 104, 112, functions.iter().flat_map(|function| function.0.to_le_bytes()).collect(), 8),
            (
                4,
                108,
                120,
                functions.iter().flat_map(|function| (function.2.len() as u32).to_le_bytes()).collect(),
                4,
            ),
            (8, 180, 184, functions.iter().flat_map(|function| function.1).collect(), 8),
        ];
        let mut put = |at: usize, bytes: &[u8]| info[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &6_u32.to_le_bytes());
        put(4, &self.id.to_le_bytes());
        put(8, &functions.first().map_or([0; 8], |function| function.1));
        put(64, self.name.as_bytes());
        let mut bits = 0_u64;
        for (bit, count_at, offset_at, bytes, size) in arrays {
            bits |= 1 << bit;
            put(count_at, &((bytes.len() / size) as u32).to_le_bytes());
            put(offset_at, &(data.len() as u64).to_le_bytes());
            data.extend(bytes);
            data.resize(data.len().next_multiple_of(8), 0);
        }
        let mut all = [info.len() as u32, data.len() as u32].map(u32::to_le_bytes).concat();
        all.extend(bits.to_le_bytes());
        [all, info, data].concat()
    }
}

/// A jitdump file under construction, as compilers at run time write it.
#[derive(Clone, Debug)]
pub struct JitDump {
    bytes: Vec<u8>,
    pid: u32,
    is_big: bool,
}

impl JitDump {
    /// Creates a file of this process, with numbers of either byte order. `flags`: 1 for times of a counter.
    pub fn new(pid: u32, machine: u32, flags: u64, is_big: bool) -> Self {
        let mut dump = Self { bytes: Vec::new(), pid, is_big };
        let head: Vec<u8> =
            [0x4a69_5444, 1, 40, machine, 0, pid].iter().flat_map(|word| dump.u32(*word)).collect();
        dump.bytes = [head, dump.u64(0).to_vec(), dump.u64(flags).to_vec()].concat();
        dump
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u64(&self, value: u64) -> [u8; 8] {
        if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn record(&mut self, kind: u32, time: u64, body: &[u8]) -> &mut Self {
        let head = [&self.u32(kind)[..], &self.u32(body.len() as u32 + 16), &self.u64(time)].concat();
        self.bytes.extend(head);
        self.bytes.extend(body);
        self
    }

    fn who(&self) -> Vec<u8> {
        [self.u32(self.pid), self.u32(self.pid)].concat()
    }

    /// Adds a function.
    pub fn load(&mut self, time: u64, address: u64, index: u64, name: &str, code: &[u8]) -> &mut Self {
        let words = [address, address, code.len() as u64, index].map(|word| self.u64(word)).concat();
        let body = [&self.who(), &words, name.as_bytes(), &[0], code].concat();
        self.record(0, time, &body)
    }

    /// Moves a function.
    pub fn moved(&mut self, time: u64, from: u64, to: u64, size: u64, index: u64) -> &mut Self {
        let words = [to, from, to, size, index].map(|word| self.u64(word)).concat();
        let body = [self.who(), words].concat();
        self.record(1, time, &body)
    }

    /// Adds the source lines of the function that comes next: address, line and file; an empty file is the one before.
    pub fn lines(&mut self, time: u64, address: u64, lines: &[(u64, u32, &str)]) -> &mut Self {
        let mut body = [self.u64(address), self.u64(lines.len() as u64)].concat();
        for (at, line, file) in lines {
            body.extend(self.u64(*at));
            body.extend([self.u32(*line), self.u32(0)].concat());
            body.extend(if file.is_empty() { &[0xff] } else { file.as_bytes() });
            body.push(0);
        }
        self.record(2, time, &body)
    }

    /// Ends the file.
    pub fn close(&mut self, time: u64) -> &mut Self {
        self.record(3, time, &[])
    }

    /// Returns the file.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

fn attr(size: usize, monotonic: bool) -> Vec<u8> {
    let mut attr = vec![0; size];
    attr[..4].copy_from_slice(&8_u32.to_le_bytes());
    attr[4..8].copy_from_slice(&(size as u32).to_le_bytes());
    attr[24..32].copy_from_slice(&SAMPLE_TYPE.to_le_bytes());
    // As perf does for user code: exclude_kernel, exclude_hv, mmap, comm, task, sample_id_all, mmap2, comm_exec.
    let clock = if monotonic { 1 << 25 } else { 0 };
    attr[40..48].copy_from_slice(&(0x0184_2362_u64 | clock).to_le_bytes());
    if monotonic {
        attr[92] = 1;
    }
    attr
}

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() + 1).next_multiple_of(8), 0);
    bytes
}

fn plain(kind: u32, body: Vec<u8>) -> Vec<u8> {
    bytes(&Record { kind, misc: 0, body, payload: Vec::new() })
}

fn bytes(record: &Record) -> Vec<u8> {
    let Record { kind, misc, body, payload } = record;
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend([*misc, body.len() as u16 + 8].map(u16::to_le_bytes).concat());
    bytes.extend(body);
    bytes.extend(payload);
    bytes
}

/// A zstd stream that compresses nothing and, like perf's, never ends.
#[derive(Default)]
struct Zstd {
    begun: bool,
}

impl Zstd {
    fn block(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut block = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            // The header: a window of 512 KiB.
            block.extend([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x48]);
        }
        for part in bytes.chunks(1 << 17) {
            block.extend(&(part.len() as u32 * 8).to_le_bytes()[..3]);
            block.extend(part);
        }
        block
    }
}
