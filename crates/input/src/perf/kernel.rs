//! Kernel code that changes at run time: functions that come and go (`KSYMBOL`), code of BPF programs, and
//! instructions that are patched (`TEXT_POKE`).
//!
//! Functions are collected in an ELF file of our own. Patches of other code are bytes above the kernel's image. What
//! replaces other code is valid from its time on, as far as somebody looks in between.

use std::collections::BTreeMap;
use std::ops::Range;

use super::bpf::BpfFunction;
use super::made::MadeFile;
use super::record::NO_PROCESS;
use super::timeline::{Maker, Mapped, MappedFile, Memory, Origin, ProcessLine};
use super::walk::{Fields, text};

/// Types of kernel functions: of BPF programs, and out of line.
const BPF: u16 = 1;
const OUT_OF_LINE: u16 = 2;
/// Flag: the function is gone.
const UNREGISTER: u16 = 1;
/// Largest function whose code comes with patches.
const MOST_FUNCTION: u32 = 64 << 10;
/// Most bytes of patches, and most of all versions of functions.
const MOST_PATCHES: usize = 64 << 20;
const MOST_VERSIONS: usize = 256 << 20;
/// Cost of a mapping of a part of a function, in bytes.
const PART: usize = 128;
const AARCH64: u16 = 183;

/// Kernel function that came (KSYMBOL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ksymbol {
    pub address: u64,
    pub len: u32,
    pub kind: u16,
    pub gone: bool,
    pub name: String,
}

impl Ksymbol {
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (address, len) = (fields.u64()?, fields.u32()?);
        let (kind, flags) = (fields.u16()?, fields.u16()?);
        Some(Self { address, len, kind, gone: flags & UNREGISTER != 0, name: text(fields.rest) })
    }
}

/// BPF program that was loaded (`BPF_EVENT`): its ID. `None` for other events.
pub(super) fn loaded_program(body: &[u8]) -> Option<Option<u32>> {
    let mut fields = Fields::new(body);
    let (kind, _flags, id) = (fields.u16()?, fields.u16()?, fields.u32()?);
    Some((kind == 1).then_some(id))
}

/// Change of kernel code (`TEXT_POKE`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Poke {
    pub address: u64,
    /// Bytes before; none for code that is new.
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

impl Poke {
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (address, old_len, new_len) = (fields.u64()?, fields.u16()?, fields.u16()?);
        let (old, new) = (fields.take(old_len.into())?.to_vec(), fields.take(new_len.into())?.to_vec());
        Some(Self { address, old, new })
    }
}

/// Code of the kernel that was made or changed at run time.
#[derive(Debug)]
pub(super) struct KernelCode {
    /// Process that stands for the kernel, once it has such code.
    process: Option<u32>,
    /// Functions with names.
    made: MadeFile,
    /// Bytes of patches, one after another.
    patches: Vec<u8>,
    /// Functions by their start.
    functions: BTreeMap<u64, Function>,
    bpf: Vec<BpfFunction>,
    /// Bytes of versions of functions that may still be kept.
    room: usize,
    /// Whether something did not fit.
    pub is_short: bool,
}

#[derive(Debug)]
struct Function {
    name: String,
    /// Code, zeros where it is unknown.
    code: Vec<u8>,
    /// Offsets of the known code, in order.
    known: Vec<Range<usize>>,
}

impl KernelCode {
    pub fn new(bpf: Vec<BpfFunction>) -> Self {
        let made = MadeFile::new("[kernel code made at run time]".into(), AARCH64);
        let (patches, functions) = (Vec::new(), BTreeMap::new());
        Self { process: None, made, patches, functions, bpf, room: MOST_VERSIONS, is_short: false }
    }

    /// Returns the functions, and the bytes of patches.
    pub fn finish(self) -> (MadeFile, Vec<u8>) {
        (self.made, self.patches)
    }

    /// Returns the function that contains `address`, and its start.
    fn at(&mut self, address: u64) -> Option<(u64, &mut Function)> {
        let (&start, function) = self.functions.range_mut(..=address).next_back()?;
        (address - start < function.code.len() as u64).then_some((start, function))
    }
}

impl Maker<'_> {
    /// Takes what is known before anything changes: the code that the first change at each address replaced, and BPF
    /// programs that no record tells of.
    pub fn before_changes<'e>(
        &mut self,
        pokes: impl Iterator<Item = &'e Poke>,
        is_told: impl Fn(&BpfFunction) -> bool,
    ) {
        let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
        for poke in pokes {
            let len = poke.old.len().max(poke.new.len()) as u64;
            let end = poke.address.saturating_add(len);
            let before = seen.range(..end).next_back();
            let is_new = before.is_none_or(|(_, before)| *before <= poke.address);
            let furthest = before.map_or(end, |(_, before)| end.max(*before));
            seen.insert(poke.address, furthest);
            if is_new && !poke.old.is_empty() {
                self.patch(0, poke.address, &poke.old);
            }
        }
        let untold: Vec<_> = self.kernel.bpf.iter().filter(|bpf| !is_told(bpf)).cloned().collect();
        untold.into_iter().for_each(|bpf| self.bpf_function(0, bpf));
    }

    pub fn ksymbol(&mut self, time: u64, ksymbol: Ksymbol) {
        let Ksymbol { address, len, kind, gone, name } = ksymbol;
        // Code that is gone does not run; what comes to its place replaces it.
        if gone || len == 0 {
            return;
        }
        if kind == BPF {
            let mut same = self.kernel.bpf.iter().filter(|bpf| bpf.address == address);
            // Of several at one address, one after another, the tag in the name tells which.
            let bpf = same.clone().find(|bpf| name.contains(&bpf.tag)).or_else(|| same.next()).cloned();
            match bpf {
                Some(bpf) => self.bpf_function(time, BpfFunction { name, ..bpf }),
                None => self.without_code(time, address..address.saturating_add(len.into()), name),
            }
            return;
        }
        if kind == OUT_OF_LINE {
            self.without_code(time, address..address.saturating_add(len.into()), name.clone());
        }
        let code = vec![0; len.min(MOST_FUNCTION) as usize];
        self.kernel.functions.insert(address, Function { name, code, known: Vec::new() });
    }

    /// Maps the functions of a BPF program that have no names yet.
    pub fn bpf_loaded(&mut self, time: u64, program: u32) {
        let is_new = |bpf: &&BpfFunction| {
            let known = self.kernel.functions.get(&bpf.address);
            bpf.program == program && known.is_none_or(|known| !known.name.contains(&bpf.tag))
        };
        let new: Vec<_> = self.kernel.bpf.iter().filter(is_new).cloned().collect();
        new.into_iter().for_each(|bpf| self.bpf_function(time, bpf));
    }

    fn bpf_function(&mut self, time: u64, bpf: BpfFunction) {
        let code = bpf.code.as_slice().to_vec();
        let known = std::iter::once(0..code.len()).collect();
        self.kernel.functions.insert(bpf.address, Function { name: bpf.name, code, known });
        self.map_function(time, bpf.address);
    }

    /// Takes a change of code: of a function with a name, or of the kernel's own code.
    pub fn poke(&mut self, time: u64, Poke { address, new, .. }: &Poke) {
        let Some((start, function)) = self.kernel.at(*address) else {
            return self.patch(time, *address, new);
        };
        let from = (address - start) as usize;
        let len = new.len().min(function.code.len() - from);
        function.code[from..from + len].copy_from_slice(&new[..len]);
        function.known.push(from..from + len);
        function.known.sort_by_key(|range| range.start);
        function.known.dedup_by(|next, last| {
            let joins = next.start <= last.end;
            last.end = if joins { last.end.max(next.end) } else { last.end };
            joins
        });
        self.map_function(time, start);
    }

    /// Maps the known code of a function.
    fn map_function(&mut self, time: u64, start: u64) {
        let kernel = &mut self.kernel;
        let Some(function) = kernel.functions.get(&start) else { return };
        let known = function.known.clone();
        let room = kernel.room.checked_sub(function.code.len() + PART * known.len());
        let Some(room) = room.filter(|_| !function.code.is_empty()) else {
            kernel.is_short |= room.is_none();
            return;
        };
        kernel.room = room;
        let added = kernel.made.add(function.name.clone(), function.code.clone().into(), Vec::new());
        let Some(at) = added else {
            kernel.is_short = true;
            return;
        };
        let path = kernel.made.name.clone();
        let file = self.file(MappedFile { path, build_id: None, origin: Origin::KernelFunctions });
        for Range { start: from, end } in known {
            let (from, end) = (from as u64, end as u64);
            let mapped = Mapped { end: start.saturating_add(end), offset: at + from, file };
            self.map_kernel(time, start.saturating_add(from), mapped);
        }
    }

    /// Maps a function whose code is not in the recording.
    fn without_code(&mut self, time: u64, range: Range<u64>, name: String) {
        let file = self.file(MappedFile { path: name, build_id: None, origin: Origin::NoCode });
        self.map_kernel(time, range.start, Mapped { end: range.end, offset: 0, file });
    }

    fn patch(&mut self, time: u64, address: u64, bytes: &[u8]) {
        let patches = &mut self.kernel.patches;
        if patches.len() + bytes.len() > MOST_PATCHES {
            self.kernel.is_short = true;
            return;
        }
        let offset = patches.len() as u64;
        patches.extend(bytes);
        let path = "[kernel code changed at run time]".to_owned();
        let file = self.file(MappedFile { path, build_id: None, origin: Origin::KernelPatches });
        let end = address.saturating_add(bytes.len() as u64);
        if address < end {
            self.map_kernel(time, address, Mapped { end, offset, file });
        }
    }

    fn map_kernel(&mut self, time: u64, start: u64, mapped: Mapped) {
        let process = match self.kernel.process {
            Some(process) => process,
            None => {
                let process = self.timeline.processes.len() as u32;
                self.timeline.processes.push(ProcessLine { pid: NO_PROCESS, ..ProcessLine::default() });
                self.kernel.process = Some(process);
                // The kernel's own code is below, so that its names are found under patches.
                let below = self.give(0, process, Memory::default());
                let _ = below.map(|before| self.give(0, process, Memory { before, ..Memory::default() }));
                self.timeline.run_time_kernel = Some(process);
                process
            }
        };
        self.map(time, process, start, mapped);
    }
}
