//! Reads a profile from untrusted bytes. Each allocation is bounded by the size of the file.

use tracewright_core::{Crc32, Isa};
use tracewright_flow::hash::HashMap;
use tracewright_image::CodeSegment;

use super::shape::Shape;
use super::varint::Cursor;
use super::{Damage, LARGEST_SUM, MAGIC, Reason, VERSION, tag};
use crate::counts::{Binary, Code, Place, Profile, Runs};

/// Reads a profile file.
///
/// # Errors
/// Returns what is wrong with the file, and at which offset.
pub fn read(bytes: &[u8]) -> Result<Profile, Damage> {
    if !bytes.starts_with(&MAGIC) {
        return Err(Damage { offset: 0, reason: Reason::NoProfile });
    }
    let mut file = Cursor::new(&bytes[MAGIC.len()..], MAGIC.len() as u64);
    let at = file.clone();
    match file.number()? {
        1..=VERSION => {}
        other => return Err(at.damage(Reason::Version(other))),
    }
    let mut reader = Reader::default();
    let mut sections = 0;
    loop {
        let at = file.clone();
        let (tag, mut body) = section(&mut file)?;
        match tag {
            tag::BINARIES if sections == 0 => reader.binaries(&mut body)?,
            tag::FUNNEL if sections == 1 => reader.funnel(&mut body)?,
            tag::SEGMENTS if sections >= 2 => reader.segments(&mut body)?,
            tag::PATHS if sections >= 2 => reader.paths(&mut body)?,
            tag::CODE if sections >= 2 => reader.code(&mut body)?,
            tag::END if sections >= 2 && body.number()? == sections => {
                if !file.bytes.is_empty() {
                    return Err(file.damage(Reason::Follows));
                }
                return Ok(reader.profile);
            }
            tag::BINARIES | tag::FUNNEL | tag::CODE | tag::END => return Err(at.damage(Reason::Order)),
            // Optional sections have a lower-case tag.
            b'a'..=b'z' if sections >= 2 => body = Cursor::new(&[], body.offset),
            _ => return Err(at.damage(Reason::Section(tag))),
        }
        if !body.bytes.is_empty() {
            return Err(body.damage(Reason::Follows));
        }
        sections += 1;
    }
}

/// Returns the tag and body of the next section after checking its checksum.
fn section<'a>(file: &mut Cursor<'a>) -> Result<(u8, Cursor<'a>), Damage> {
    let start = file.clone();
    let tag = file.byte()?;
    let len = file.number()?;
    let offset = file.offset;
    let body = file.take(len)?;
    let whole = &start.bytes[..(file.offset - start.offset) as usize];
    let sum = file.take(4)?;
    if Crc32::of(whole).to_le_bytes() != sum {
        return Err(start.damage(Reason::Checksum));
    }
    Ok((tag, Cursor::new(body, offset)))
}

#[derive(Default)]
struct Reader {
    profile: Profile,
    instructions: u64,
    taken: u64,
    /// Binary of the last code section.
    last_owner: Option<u64>,
    /// Taken count of the branch at each address of the section's binary.
    taken_at: HashMap<u64, u64>,
}

impl Reader {
    fn binaries(&mut self, body: &mut Cursor<'_>) -> Result<(), Damage> {
        for _ in 0..body.number()? {
            let at = body.clone();
            let is_elf = match body.byte()? {
                0 => false,
                1 => true,
                _ => return Err(at.damage(Reason::Number)),
            };
            let len = body.number()?;
            let build_id = body.take(len)?.to_vec();
            // Only ELF files have a build ID. Two binaries with the same one are merged, and the kind must not depend
            // on their order.
            if !is_elf && !build_id.is_empty() {
                return Err(at.damage(Reason::Binary));
            }
            let len = body.number()?;
            let text = body.clone();
            let name = str::from_utf8(body.take(len)?).map_err(|_| text.damage(Reason::Text))?;
            let binary = Binary { name: name.to_owned(), build_id, is_elf, found: None, code: Vec::new() };
            if self.profile.binaries.last().is_some_and(|last| last.key() >= binary.key()) {
                return Err(at.damage(Reason::Unsorted));
            }
            self.profile.binaries.push(binary);
        }
        Ok(())
    }

    fn funnel(&mut self, body: &mut Cursor<'_>) -> Result<(), Damage> {
        let count = body.number()?;
        let mut known = self.profile.funnel.numbers().into_iter();
        for _ in 0..count {
            let at = body.clone();
            let number = body.number()?;
            if number > LARGEST_SUM {
                return Err(at.damage(Reason::TooMuch));
            }
            // Numbers of newer versions are skipped.
            if let Some(known) = known.next() {
                *known = number;
            }
        }
        Ok(())
    }

    fn segments(&mut self, body: &mut Cursor<'_>) -> Result<(), Damage> {
        for _ in 0..body.number()? {
            let at = body.clone();
            let owner = body.number()?;
            let number = self.binary(owner, &at)?;
            let binaries = &mut self.profile.binaries;
            let binary = binaries.get_mut(number as usize).ok_or_else(|| at.damage(Reason::Binary))?;
            if !binary.code.is_empty() {
                return Err(at.damage(Reason::Unsorted));
            }
            for _ in 0..body.number()? {
                let [address, offset, len] = [body.number()?, body.number()?, body.number()?];
                binary.code.push(CodeSegment { address, offset, len });
            }
        }
        Ok(())
    }

    fn paths(&mut self, body: &mut Cursor<'_>) -> Result<(), Damage> {
        for _ in 0..body.number()? {
            let at = body.clone();
            let owner = body.number()?;
            let number = self.binary(owner, &at)?;
            let binaries = &mut self.profile.binaries;
            let binary = binaries.get_mut(number as usize).ok_or_else(|| at.damage(Reason::Binary))?;
            let len = body.number()?;
            let text = body.clone();
            let path = str::from_utf8(body.take(len)?).map_err(|_| text.damage(Reason::Text))?;
            if binary.found.replace(path.to_owned()).is_some() {
                return Err(at.damage(Reason::Unsorted));
            }
        }
        Ok(())
    }

    /// Converts a binary number of the file.
    fn binary(&self, owner: u64, at: &Cursor<'_>) -> Result<u32, Damage> {
        match owner.checked_sub(1) {
            None => Ok(Place::NOWHERE),
            Some(number) if number < self.profile.binaries.len() as u64 => Ok(number as u32),
            Some(_) => Err(at.damage(Reason::Binary)),
        }
    }

    fn code(&mut self, body: &mut Cursor<'_>) -> Result<(), Damage> {
        let at = body.clone();
        let owner = body.number()?;
        let binary = self.binary(owner, &at)?;
        if self.last_owner.is_some_and(|last| last >= owner) {
            return Err(at.damage(Reason::Unsorted));
        }
        self.last_owner = Some(owner);
        self.taken_at.clear();
        let mut shapes: Vec<Shape> = Vec::new();
        for _ in 0..body.number()? {
            let at = body.clone();
            let mut four = [0; 4];
            four.copy_from_slice(body.take(4)?);
            let shape = Shape(four);
            if shapes.last().is_some_and(|last| *last >= shape) {
                return Err(at.damage(Reason::Unsorted));
            }
            shapes.push(shape);
        }
        self.blocks(body, binary, &shapes)?;
        self.branches(body, binary, owner)
    }

    fn blocks(&mut self, body: &mut Cursor<'_>, binary: u32, shapes: &[Shape]) -> Result<(), Damage> {
        let mut last = None;
        let mut end = 0_u64;
        let blocks = body.number()?;
        // Each block takes at least five bytes.
        let room = usize::try_from(blocks).unwrap_or(usize::MAX).min(body.bytes.len() / 5);
        self.profile.blocks.reserve(room);
        self.taken_at.reserve(room);
        for _ in 0..blocks {
            let at = body.clone();
            let wrong = |reason| at.damage(reason);
            let address = end.wrapping_add(body.signed()? as u64);
            let len: u32 = body.small()?;
            let short = body.signed()?;
            let number = body.number()?;
            let shape = usize::try_from(number >> 3).ok().and_then(|number| shapes.get(number)).copied();
            let shape = shape.ok_or_else(|| wrong(Reason::Instruction))?;
            let (isa, class) = shape.isa().zip(shape.class()).ok_or_else(|| wrong(Reason::Instruction))?;
            let count = count(len, isa, short).ok_or_else(|| wrong(Reason::Number))?;
            let last_len = shape.last_len();
            if u32::from(last_len) > len {
                return Err(wrong(Reason::Instruction));
            }
            end = address.checked_add(len.into()).ok_or_else(|| wrong(Reason::Number))?;
            let key = (address, len, count, shape);
            if last.is_some_and(|last| last >= key) {
                return Err(wrong(Reason::Unsorted));
            }
            last = Some(key);
            let mut counts = [0; 3];
            for (_, slot) in counts.iter_mut().enumerate().filter(|(i, _)| number >> i & 1 == 1) {
                *slot = counted(body)?;
                let instructions = u64::from(count).checked_mul(*slot);
                let sum = instructions.and_then(|more| self.instructions.checked_add(more));
                self.instructions =
                    sum.filter(|&sum| sum <= LARGEST_SUM).ok_or_else(|| wrong(Reason::TooMuch))?;
            }
            let [taken, not_taken, through] = counts;
            if counts == [0; 3] {
                return Err(wrong(Reason::Number));
            }
            let start = Place { binary, address };
            let code = Code { start, len, count, isa, last_len, class };
            // This cannot overflow: it is at most the sum of instructions.
            *self.taken_at.entry(code.last().address).or_default() += taken;
            self.profile.blocks.insert(code, Runs { taken, not_taken, through });
        }
        Ok(())
    }

    fn branches(&mut self, body: &mut Cursor<'_>, binary: u32, owner: u64) -> Result<(), Damage> {
        let mut last: Option<u64> = None;
        let branches = body.number()?;
        // Each branch takes at least four bytes.
        let room = usize::try_from(branches).unwrap_or(usize::MAX).min(body.bytes.len() / 4);
        self.profile.branches.reserve(room);
        for _ in 0..branches {
            let at = body.clone();
            let more = body.number()?;
            let address = last.unwrap_or(0).checked_add(more).ok_or_else(|| at.damage(Reason::Number))?;
            if last == Some(address) {
                return Err(at.damage(Reason::Unsorted));
            }
            last = Some(address);
            let from = Place { binary, address };
            let (further, stays) = {
                let number = body.number()?;
                (number >> 1, number & 1 == 1)
            };
            let mut last_target = None;
            let mut left = self.taken_at.get(&address).copied().unwrap_or(0);
            for number in 0..=further {
                let at = body.clone();
                let in_binary = if stays { owner } else { body.number()? };
                let target = address.wrapping_add(body.signed()? as u64);
                if last_target.is_some_and(|last| last >= (in_binary, target)) {
                    return Err(at.damage(Reason::Unsorted));
                }
                last_target = Some((in_binary, target));
                let to = Place { binary: self.binary(in_binary, &at)?, address: target };
                // 0 stands for the rest of the taken count.
                let count = match body.number()? {
                    0 if number == further && left > 0 => left,
                    0 => return Err(at.damage(Reason::Number)),
                    count => count,
                };
                left = left.saturating_sub(count);
                let sum = self.taken.checked_add(count).filter(|&sum| sum <= LARGEST_SUM);
                self.taken = sum.ok_or_else(|| at.damage(Reason::TooMuch))?;
                self.profile.branches.insert((from, to), count);
            }
        }
        Ok(())
    }
}

/// Reads a count, which must not be 0.
fn counted(body: &mut Cursor<'_>) -> Result<u64, Damage> {
    let at = body.clone();
    match body.number()? {
        0 => Err(at.damage(Reason::Number)),
        count => Ok(count),
    }
}

/// Returns the number of instructions in `len` bytes, given the correction `short`.
fn count(len: u32, isa: Isa, short: i64) -> Option<u32> {
    let count = i64::from(len / u32::from(isa.shortest())).checked_sub(short)?;
    u32::try_from(count).ok().filter(|&count| count > 0 && count <= len)
}
