//! Functions and inlined functions by address.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, IncompleteLineProgram, UnitOffset, constants,
};

use super::files::Files;
use super::index::{self, Budget};
use super::{Dwarf, GimliUnit, Lines, MAX_TEXT, Reader};
use crate::pieces::Pieces;
use crate::symbols::demangle;

/// Most entries to follow for a name: the copy, the original, its declaration.
const MAX_STEPS: usize = 8;

/// Most other units to read for the names of one.
const MAX_OTHER_UNITS: usize = 1000;

type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

#[derive(Debug, Default)]
pub(super) struct Functions {
    functions: Vec<Function>,
    names: Vec<Name>,
    /// Innermost function at each address.
    at: Pieces,
    /// Files in which inlined functions are called.
    pub files: Files,
    /// Memory used, in bytes.
    pub memory: usize,
    /// Whether there are more names than are kept.
    is_short: bool,
}

#[derive(Debug)]
struct Function {
    /// Index into the names.
    name: Option<u32>,
    /// Function that it is inlined into, and the call.
    inlined: Option<(u32, Call)>,
    /// Offset in `.debug_info`.
    offset: usize,
    /// Line of its declaration, if its own entry has one.
    declared: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Number of the file.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Number of the call within that line.
    pub discriminator: u32,
}

/// Name and declaration of a function.
#[derive(Debug)]
pub(super) struct Name {
    shown: Box<str>,
    /// Linkage name, if it differs.
    linkage: Option<Box<str>>,
    declared: u32,
}

/// Function at an address.
#[derive(Debug)]
pub(super) struct At<'a> {
    /// Name and linkage name, if known.
    pub names: Option<(&'a str, &'a str)>,
    /// Line of its declaration; 0 if unknown.
    pub declared: u32,
    /// Call, if the function is inlined.
    pub call: Option<Call>,
    /// Offset of its entry in `.debug_info`, if it is inlined; identifies the copy.
    pub copy: Option<usize>,
}

impl Functions {
    /// Reads all functions of `unit`; `lines` knows the other units.
    pub fn new<'a>(dwarf: &Dwarf<'a>, unit: &GimliUnit<'a>, lines: &Lines) -> Self {
        let mut functions = Vec::new();
        let mut claims = Vec::new();
        let mut names =
            Names { dwarf, lines, units: HashMap::new(), known: HashMap::new(), names: Vec::new(), len: 0 };
        let mut budget = Budget::new(dwarf);
        // Enclosing functions of an entry, each with its depth.
        let mut around: Vec<(isize, u32)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let depth = entry.depth();
            while around.pop_if(|(outer, _)| *outer >= depth).is_some() {}
            let inlined = match entry.tag() {
                constants::DW_TAG_subprogram => None,
                constants::DW_TAG_inlined_subroutine => around.last().map(|&(_, outer)| {
                    let number = |name| number(entry, name).unwrap_or(0);
                    let file = match entry.attr_value(constants::DW_AT_call_file) {
                        Some(AttributeValue::FileIndex(file)) => u32::try_from(file).unwrap_or(0),
                        _ => number(constants::DW_AT_call_file),
                    };
                    let line = number(constants::DW_AT_call_line);
                    let discriminator = number(constants::DW_AT_GNU_discriminator);
                    (outer, Call { file, line, discriminator })
                }),
                _ => continue,
            };
            let index = functions.len() as u32;
            around.push((depth, index));
            let before = claims.len();
            let each = |range| claims.push((depth, range, index));
            let _ = index::ranges_of(dwarf, unit, entry, &mut budget, each);
            // A function without an address needs no name.
            let name = if claims.len() > before { names.of(unit, entry) } else { None };
            let declared = number(entry, constants::DW_AT_decl_line);
            let offset = entry.offset().to_debug_info_offset(&unit.header).map_or(0, |offset| offset.0);
            functions.push(Function { name, inlined, declared, offset });
        }
        claims.sort_by_key(|&(depth, _, index)| (Reverse(depth), index));
        let ranges: Vec<_> = claims.iter().map(|(_, range, _)| range.clone()).collect();
        let (mut at, _) = Pieces::new(&ranges);
        at.renumber(|claim| claims[claim as usize].2);
        let calls = functions.iter().filter_map(|function| function.inlined.as_ref());
        let numbers: BTreeSet<_> = calls.map(|(_, call)| call.file).collect();
        let head = unit.line_program.as_ref().map(IncompleteLineProgram::header);
        let files = head.map(|head| Files::new(dwarf, unit, head, &numbers)).unwrap_or_default();
        let index = claims.len() * 2 * size_of::<(u64, u32)>();
        let of_names = names.len + names.names.capacity() * size_of::<Name>();
        let memory = functions.capacity() * size_of::<Function>() + of_names + index + files.memory();
        let is_short = names.len > MAX_TEXT;
        Self { functions, names: names.names, at, files, memory, is_short }
    }

    /// Returns whether all names and files were read.
    pub fn is_whole(&self) -> bool {
        !self.is_short && !self.files.is_short
    }

    /// Returns the addresses around `address` that belong to the same function.
    pub fn extent(&self, address: u64) -> Range<u64> {
        self.at.find_or_gap(address).0
    }

    /// Returns the functions at `address`, the innermost first.
    pub fn at(&self, address: u64) -> impl Iterator<Item = At<'_>> {
        let innermost = self.at.find(address).map(|(_, index)| index);
        let function = |index: &u32| &self.functions[*index as usize];
        let all =
            std::iter::successors(innermost, move |index| function(index).inlined.map(|(outer, ..)| outer));
        all.map(move |index| {
            let function = function(&index);
            let name = function.name.map(|name| &self.names[name as usize]);
            let declared = function.declared.or(name.map(|name| name.declared)).unwrap_or(0);
            let names = name.map(|name| (&*name.shown, name.linkage.as_deref().unwrap_or(&name.shown)));
            let call = function.inlined.map(|(_, call)| call);
            At { names, declared, call, copy: call.map(|_| function.offset) }
        })
    }
}

/// Finder of names; it reads each name once.
struct Names<'d, 'a> {
    dwarf: &'d Dwarf<'a>,
    lines: &'d Lines,
    /// Other units that were needed, by number.
    units: HashMap<usize, Option<GimliUnit<'a>>>,
    /// Names by the offset of their entry.
    known: HashMap<usize, Option<u32>>,
    names: Vec<Name>,
    /// Total length of all names.
    len: usize,
}

impl<'a> Names<'_, 'a> {
    /// Returns the index of a function's name: its own, or that of its origin.
    fn of(&mut self, unit: &GimliUnit<'a>, entry: &Entry<'a>) -> Option<u32> {
        let origin = origin(unit, entry);
        if let Some(name) = name(self.dwarf, unit, entry) {
            let own = number(entry, constants::DW_AT_decl_line);
            let declared = own.or_else(|| self.find(unit, origin?).1);
            return self.keep(name.slice(), declared);
        }
        let origin = origin?;
        if let Some(known) = self.known.get(&origin.0) {
            return *known;
        }
        let (name, declared) = self.find(unit, origin);
        let name = name.and_then(|name| self.keep(name.slice(), declared));
        self.known.insert(origin.0, name);
        name
    }

    /// Returns the name of the function at `offset` and the line of its declaration, its own or those of its
    /// origin.
    fn find(&mut self, unit: &GimliUnit<'a>, offset: DebugInfoOffset) -> (Option<Reader<'a>>, Option<u32>) {
        let dwarf = self.dwarf;
        let (mut found, mut declared) = (None, None);
        let mut next = Some(offset);
        for _ in 0..MAX_STEPS {
            let Some(offset) = next.filter(|_| found.is_none() || declared.is_none()) else { break };
            let entry_unit = match offset.to_unit_offset(unit) {
                Some(_) => Some(unit),
                None => self.unit_with(offset),
            };
            let Some(entry_unit) = entry_unit else { break };
            let at: Option<UnitOffset> = offset.to_unit_offset(entry_unit);
            let Some(entry) = at.and_then(|at| entry_unit.entry(at).ok()) else { break };
            declared = declared.or_else(|| number(&entry, constants::DW_AT_decl_line));
            found = found.or_else(|| name(dwarf, entry_unit, &entry));
            next = origin(entry_unit, &entry);
        }
        (found, declared)
    }

    fn unit_with(&mut self, offset: DebugInfoOffset) -> Option<&GimliUnit<'a>> {
        let number = self.lines.unit_with(offset.0)?;
        let (dwarf, start) = (self.dwarf, self.lines.units[number].offset);
        if self.units.len() >= MAX_OTHER_UNITS {
            return self.units.get(&number)?.as_ref();
        }
        let read = || {
            let header = dwarf.unit_header(DebugInfoOffset(start)).ok()?;
            index::without_lines(dwarf, header, dwarf.abbreviations(&header).ok()?)
        };
        self.units.entry(number).or_insert_with(read).as_ref()
    }

    fn keep(&mut self, name: &[u8], declared: Option<u32>) -> Option<u32> {
        let shown = demangle(name);
        let linkage: Option<Box<str>> =
            (shown.as_bytes() != name).then(|| String::from_utf8_lossy(name).into());
        self.len += shown.len() + linkage.as_deref().map_or(0, str::len);
        if self.len > MAX_TEXT {
            return None;
        }
        self.names.push(Name { shown, linkage, declared: declared.unwrap_or(0) });
        Some(self.names.len() as u32 - 1)
    }
}

/// Returns a small number that `entry` itself has.
fn number(entry: &Entry<'_>, name: constants::DwAt) -> Option<u32> {
    entry.attr_value(name)?.udata_value().and_then(|number| u32::try_from(number).ok())
}

/// Returns the name that `entry` itself has. The linkage name comes first, because it includes the scope.
fn name<'a>(dwarf: &Dwarf<'a>, unit: &GimliUnit<'a>, entry: &Entry<'a>) -> Option<Reader<'a>> {
    let attributes =
        [constants::DW_AT_linkage_name, constants::DW_AT_MIPS_linkage_name, constants::DW_AT_name];
    let value = attributes.iter().find_map(|&name| entry.attr_value(name))?;
    dwarf.attr_string(unit, value).ok()
}

/// Returns the entry that `entry` is a copy or the definition of.
fn origin(unit: &GimliUnit<'_>, entry: &Entry<'_>) -> Option<DebugInfoOffset> {
    let attributes = [constants::DW_AT_abstract_origin, constants::DW_AT_specification];
    match attributes.iter().find_map(|&name| entry.attr_value(name))? {
        AttributeValue::UnitRef(offset) => offset.to_debug_info_offset(&unit.header),
        AttributeValue::DebugInfoRef(offset) => Some(offset),
        _ => None,
    }
}
