//! `brk`, `mmap` and related system calls.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::descriptors::{Device, Open};
use super::errno::{Answer, Errno};
use super::shared::Shared;
use super::stat::Stat;
use super::{Linux, Mapped};
use crate::Core;
use crate::memory::{PAGE, Rights};

/// Maximum number of regions: Linux's default (vm.max_map_count).
const MOST_REGIONS: usize = 65_530;
/// Size of the stack in bytes. All of it is mapped; pages are allocated when touched.
pub const STACK_SIZE: u64 = 8 << 20;

const MAP_SHARED: u64 = 0x01;
const MAP_SHARED_VALIDATE: u64 = 0x03;
const MAP_TYPE: u64 = 0x0f;
const MAP_FIXED: u64 = 0x10;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MREMAP_MAYMOVE: u64 = 1;
const MREMAP_FIXED: u64 = 2;
const MADV_DONTNEED: u64 = 4;

/// Memory layout of a program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Base address of a relocatable program.
    pub program: u64,
    /// Lowest address of mappings.
    pub mappings: u64,
    /// Address after the stack.
    pub stack_top: u64,
    /// Start and end of the heap.
    pub heap: Range<u64>,
    /// Ranges that have had code. A change in one invalidates decoded instructions.
    code: Vec<Range<u64>>,
    /// Pages whose bytes came from files.
    of_files: Vec<Range<u64>>,
}

impl Layout {
    /// Chooses addresses as in Sv39, or in the lower three quarters of RV32's address space.
    pub fn new(is_rv32: bool) -> Self {
        let (program, mappings, stack_top) = if is_rv32 {
            (0x2000_0000, 0x6000_0000, 0xbfff_e000)
        } else {
            (0x2a_aaaa_a000, 0x30_0000_0000, 0x3f_ffff_e000)
        };
        Self { program, mappings, stack_top, heap: 0..0, code: Vec::new(), of_files: Vec::new() }
    }

    /// Returns the lowest address of the stack.
    pub fn stack_bottom(&self) -> u64 {
        self.stack_top - STACK_SIZE
    }

    /// Returns the page of code that signal handlers return to.
    pub fn trampoline(&self) -> u64 {
        self.stack_top
    }

    /// Returns whether `start..start + len` is in the program's address space and consists of whole pages.
    fn allows(&self, start: u64, len: u64) -> bool {
        start.is_multiple_of(PAGE) && start.checked_add(len).is_some_and(|end| end <= self.stack_top)
    }
}

impl Linux {
    /// Implements `brk`: moves the end of the heap and returns it.
    pub(super) fn brk(&mut self, core: &mut Core, to: u64) -> Answer {
        let Range { start, end } = self.layout.heap;
        if to < start || to > self.layout.stack_bottom() {
            return Ok(end);
        }
        let (old, new) = (end.next_multiple_of(PAGE), to.next_multiple_of(PAGE));
        if new > old {
            if core.memory.find_free(old, new - old) != Some(old) {
                return Ok(end);
            }
            self.map(core, old, new - old, Rights::READ | Rights::WRITE);
        } else if new < old {
            self.unmap(core, new, old - new);
        }
        self.layout.heap.end = to;
        Ok(to)
    }

    /// Implements `mmap`. `offset` is in bytes.
    pub(super) fn mmap(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [hint, len, protection, flags, fd, offset] = arguments;
        let rights = rights(protection);
        let len = len.checked_next_multiple_of(PAGE).ok_or(Errno::ENOMEM)?;
        Errno::EINVAL.when(len == 0 || !offset.is_multiple_of(PAGE))?;
        let is_shared = matches!(flags & MAP_TYPE, MAP_SHARED | MAP_SHARED_VALIDATE);
        let source = if flags & MAP_ANONYMOUS != 0 { None } else { self.source(fd as i32)? };
        let is_shared = is_shared && source.is_some() && rights.has(Rights::WRITE);
        // O_RDWR
        Errno::EACCES.when(is_shared && self.descriptors.get(fd as i32)?.flags & 3 != 2)?;
        self.write_back_all(core)?;

        Errno::ENOMEM.when(core.memory.regions() >= MOST_REGIONS)?;
        let address = self.choose(core, hint, len, flags)?;
        self.map(core, address, len, rights);
        if let Some(file) = source {
            let mut at = 0;
            let mut bytes = vec![0; 1 << 16];
            while at < len {
                let want = bytes.len().min((len - at) as usize);
                let count = file.read_at(&mut bytes[..want], offset + at)?;
                if count == 0 {
                    break;
                }
                core.memory.load(address + at, &bytes[..count])?;
                at += count as u64;
            }
            if let Ok(path) = self.descriptors.path(fd as i32) {
                self.layout.of_files.push(address..address + at.next_multiple_of(PAGE));
                let identity = Stat::of_file(&file)?.identity();
                let mapped = Mapped { address, len: at, path, offset, rights, identity };
                if self.mapped.len() < MOST_REGIONS && !self.mapped.contains(&mapped) {
                    self.mapped.push(mapped);
                }
            }
            if is_shared {
                self.shared.push(Shared { pages: address..address + len, file, offset });
            }
        }
        Ok(address)
    }

    /// Returns the file of a descriptor to map; `None` for `/dev/zero`.
    fn source(&mut self, fd: i32) -> Result<Option<Arc<File>>, Errno> {
        match &self.descriptors.get(fd)?.open {
            Open::File(file) => Ok(Some(Arc::clone(file))),
            Open::Device(Device::Zero) => Ok(None),
            _ => Err(Errno::ENODEV),
        }
    }

    fn choose(&self, core: &Core, hint: u64, len: u64, flags: u64) -> Result<u64, Errno> {
        let is_fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) != 0;
        Errno::EINVAL.when(is_fixed && !hint.is_multiple_of(PAGE))?;
        let is_free = |at| core.memory.find_free(at, len) == Some(at);
        if is_fixed {
            Errno::ENOMEM.when(!self.layout.allows(hint, len) || hint < PAGE)?;
            Errno::EEXIST.when(flags & MAP_FIXED_NOREPLACE != 0 && !is_free(hint))?;
            return Ok(hint);
        }
        let hint = hint / PAGE * PAGE;
        if hint >= 16 * PAGE && self.layout.allows(hint, len) && is_free(hint) {
            return Ok(hint);
        }
        let at = core.memory.find_free(self.layout.mappings, len).ok_or(Errno::ENOMEM)?;
        if at + len <= self.layout.stack_bottom() { Ok(at) } else { Err(Errno::ENOMEM) }
    }

    pub(super) fn munmap(&mut self, core: &mut Core, start: u64, len: u64) -> Answer {
        Errno::EINVAL.when(len == 0 || !self.layout.allows(start, len))?;
        self.unmap(core, start, len);
        Ok(0)
    }

    pub(super) fn mprotect(&mut self, core: &mut Core, start: u64, len: u64, protection: u64) -> Answer {
        Errno::EINVAL.when(!start.is_multiple_of(PAGE))?;
        Errno::ENOMEM.when(!self.layout.allows(start, len))?;
        self.changes(core, start, len);
        let rights = rights(protection);
        core.memory.protect(start, len, rights).map_err(|_| Errno::ENOMEM)?;
        self.note_code(start, len, rights);
        Ok(0)
    }

    pub(super) fn mremap(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [old, old_len, new_len, flags, to, _] = arguments;
        let (Some(old_len), Some(new_len)) =
            (old_len.checked_next_multiple_of(PAGE), new_len.checked_next_multiple_of(PAGE))
        else {
            return Err(Errno::EINVAL.into());
        };
        Errno::EINVAL.when(old_len == 0 || new_len == 0 || !self.layout.allows(old, old_len))?;
        core.memory.check_mapped(old, old_len)?;
        let rights = core.memory.rights(old).ok_or(Errno::EFAULT)?;
        let is_fixed = flags & MREMAP_FIXED != 0;
        if new_len <= old_len && !is_fixed {
            if new_len < old_len {
                self.unmap(core, old + new_len, old_len - new_len);
            }
            return Ok(old);
        }
        let more = new_len.saturating_sub(old_len);
        if !is_fixed
            && !self.is_shared(&(old..old + old_len))
            && self.layout.allows(old, new_len)
            && core.memory.find_free(old + old_len, more) == Some(old + old_len)
        {
            self.map(core, old + old_len, more, rights);
            return Ok(old);
        }
        // Shared memory is not moved.
        if flags & MREMAP_MAYMOVE == 0 || self.is_shared(&(old..old + old_len)) {
            return Err(if is_fixed { Errno::EINVAL } else { Errno::ENOMEM }.into());
        }
        let overlaps = to < old + old_len && old < to.saturating_add(new_len);
        Errno::EINVAL.when(is_fixed && (!self.layout.allows(to, new_len) || overlaps))?;
        let new = if is_fixed { to } else { self.choose(core, 0, new_len, 0)? };
        self.map(core, new, new_len, rights);
        core.memory.move_pages(old, old_len.min(new_len), new);
        self.unmap(core, old, old_len);
        Ok(new)
    }

    /// Implements `madvise`, as far as it changes memory.
    pub(super) fn madvise(&mut self, core: &mut Core, start: u64, len: u64, advice: u64) -> Answer {
        Errno::EINVAL.when(!self.layout.allows(start, len))?;
        if advice == MADV_DONTNEED && len > 0 {
            let len = len.next_multiple_of(PAGE);
            // Pages of files keep their bytes, since they would be read again.
            let of_file = |pages: &Range<u64>| pages.start < start + len && start < pages.end;
            if !self.layout.of_files.iter().any(of_file) {
                self.changes(core, start, len);
                core.memory.discard(start, len);
            }
        }
        Ok(0)
    }

    /// Maps zeros over whatever is there.
    fn map(&mut self, core: &mut Core, start: u64, len: u64, rights: Rights) {
        self.unmap(core, start, len);
        core.memory.map(start, len, rights);
        self.note_code(start, len, rights);
    }

    fn unmap(&mut self, core: &mut Core, start: u64, len: u64) {
        self.end_shared(core, &(start..start.saturating_add(len)));
        self.changes(core, start, len);
        core.memory.unmap(start, len);
        let end = start.saturating_add(len.next_multiple_of(PAGE));
        take_away(&mut self.layout.of_files, &(start..end));
        take_away(&mut self.layout.code, &(start..end));
    }

    /// Invalidates what the hart has cached of a range.
    fn changes(&mut self, core: &mut Core, start: u64, len: u64) {
        core.tlb.flush();
        let end = start.saturating_add(len);
        core.code_changed |= self.layout.code.iter().any(|code| start < code.end && code.start < end);
    }

    fn note_code(&mut self, start: u64, len: u64, rights: Rights) {
        let end = start + len.next_multiple_of(PAGE);
        let is_known = |code: &Range<u64>| code.start <= start && end <= code.end;
        if rights.has(Rights::EXECUTE) && !self.layout.code.iter().any(is_known) {
            self.layout.code.push(start..end);
        }
    }

    /// Notes the code that the loader mapped.
    pub(super) fn note_loaded_code(&mut self) {
        let code = self.mapped.iter().filter(|mapped| mapped.rights.has(Rights::EXECUTE));
        let pages = |mapped: &Mapped| {
            mapped.address / PAGE * PAGE..(mapped.address + mapped.len).next_multiple_of(PAGE)
        };
        self.layout.code.extend(code.map(pages));
        self.layout.of_files.extend(self.mapped.iter().map(pages));
    }
}

/// Removes `gone` from `ranges`.
fn take_away(ranges: &mut Vec<Range<u64>>, gone: &Range<u64>) {
    for i in (0..ranges.len()).rev() {
        let range = ranges[i].clone();
        if range.end <= gone.start || gone.end <= range.start {
            continue;
        }
        ranges.swap_remove(i);
        let rest = [range.start..gone.start, gone.end..range.end];
        ranges.extend(rest.into_iter().filter(|rest| rest.start < rest.end));
    }
}

/// Converts PROT_READ and so on.
fn rights(protection: u64) -> Rights {
    let mut rights = Rights((protection & 7) as u8);
    // RISC-V pages cannot be writable or executable without being readable.
    if rights != Rights::NONE {
        rights = rights | Rights::READ;
    }
    rights
}
