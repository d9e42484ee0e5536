//! LLVM's context-sensitive sample profile (CSSPGO) as text: `[main:3 @ sort:7 @ compare]:total:head`, a function for each context.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use super::llvm::{place as at_line, printable, targets};
use super::ranges::whole;
use super::samples::{Body, Discriminators, Location, Path, path};
use crate::contexts::Contexts;
use crate::counts::Place;
use crate::program::Program;
use tracewright_flow::hash::{HashMap, HashSet};

/// A function, preceded by the functions and locations that lead to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Context {
    callers: Vec<(String, Location)>,
    function: String,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    head: u64,
    total: u64,
    body: BTreeMap<Location, Body>,
    /// Set if the function was inlined into its caller.
    is_inlined: bool,
}

/// Attribute of a context whose function was inlined.
const WAS_INLINED: u32 = 1;

/// Writes the counts of all functions that have debug information, by decreasing total.
pub fn write(contexts: &Contexts, program: &Program) -> String {
    let all = collect(contexts, program);
    let mut functions: Vec<_> = all.iter().filter(|(_, counts)| counts.total > 0).collect();
    functions.sort_by_key(|(context, counts)| (Reverse(counts.total), *context));
    let mut text = String::new();
    for (context, counts) in functions {
        text.push('[');
        for (name, location) in &context.callers {
            let _ = write!(text, "{}:{} @ ", printable(name), at_line(*location));
        }
        let _ = writeln!(text, "{}]:{}:{}", printable(&context.function), counts.total, counts.head);
        for (location, body) in &counts.body {
            let _ = writeln!(text, " {}: {}{}", at_line(*location), body.count, targets(body));
        }
        if counts.is_inlined {
            let _ = writeln!(text, " !Attributes: {WAS_INLINED}");
        }
    }
    text
}

fn collect(contexts: &Contexts, program: &Program) -> BTreeMap<Context, Counts> {
    let mut all: BTreeMap<Context, Counts> = BTreeMap::new();
    let mut callers = Callers { contexts, program, known: HashMap::default() };
    let mut instructions: HashMap<(u32, Place), u64> = HashMap::default();
    for (&(context, code), &count) in &contexts.blocks {
        for instruction in program.instructions(&code) {
            let place = Place { address: instruction.address, ..code.start };
            *instructions.entry((context, place)).or_default() += count;
        }
    }
    // Code that did not run is included for functions that ran: that it is cold is useful to know.
    let ran: HashSet<_> = contexts
        .blocks
        .keys()
        .filter_map(|(context, code)| Some((*context, whole(program, code)?)))
        .collect();
    let mut cold = Vec::new();
    for (context, function) in ran {
        for instruction in program.instructions(&function) {
            let place = Place { address: instruction.address, ..function.start };
            cold.extend((!instructions.contains_key(&(context, place))).then_some((context, place)));
        }
    }
    for ((context, place), count) in instructions {
        let (path, copies) = path(program, place, Discriminators::Clang);
        let Some((counts, location)) = callers.at(&mut all, context, &path) else { continue };
        counts.total += count;
        let body = counts.body.entry(location).or_default();
        body.count = body.count.max(count.saturating_mul(copies));
    }
    for (context, place) in cold {
        let (path, _) = path(program, place, Discriminators::Clang);
        if let Some((context, location)) = callers.context(context, &path)
            && let Some(counts) = all.get_mut(&context)
        {
            counts.body.entry(location).or_default();
        }
    }
    for (&(context, site, callee), &count) in &contexts.calls {
        let frames = program.frames(callee);
        let Some(name) = frames.last().and_then(|frame| frame.linkage) else { continue };
        let (path, _) = path(program, site, Discriminators::Clang);
        let Some((counts, location)) = callers.at(&mut all, context, &path) else { continue };
        *counts.body.entry(location).or_default().targets.entry(name.to_owned()).or_default() += count;
    }
    for (&(context, site, callee), &count) in &contexts.calls {
        let frames = program.frames(callee);
        let Some(function) = frames.last().and_then(|frame| frame.linkage) else { continue };
        let callers = callers.through(context, site);
        if let Some(counts) = all.get_mut(&Context { callers, function: function.to_owned() }) {
            counts.head += count;
        }
    }
    count_inlined_calls(&mut all);
    all
}

/// Adds the calls of inlined functions, which are no branches, as llvm-profgen does: as often as a function's first location ran. Callees
/// come first, since the first location may be such a call.
fn count_inlined_calls(all: &mut BTreeMap<Context, Counts>) {
    let inlined = all.iter().filter(|(_, counts)| counts.is_inlined).map(|(context, _)| context.clone());
    let mut inlined: Vec<_> = inlined.collect();
    inlined.sort_by_key(|context| Reverse(context.callers.len()));
    for Context { mut callers, function } in inlined {
        let callee = all.get(&Context { callers: callers.clone(), function: function.clone() });
        let count = callee.and_then(|counts| counts.body.values().next()).map_or(0, |body| body.count);
        let Some((caller, location)) = callers.pop() else { continue };
        if count > 0 {
            let counts = all.entry(Context { callers, function: caller }).or_default();
            counts.total += count;
            let body = counts.body.entry(location).or_default();
            body.count += count;
            *body.targets.entry(function).or_default() += count;
        }
    }
}

/// Call sites of contexts as source locations.
struct Callers<'a> {
    contexts: &'a Contexts,
    program: &'a Program,
    known: HashMap<u32, Vec<(String, Location)>>,
}

impl Callers<'_> {
    /// Returns the functions and locations that lead to a context.
    fn of(&mut self, context: u32) -> Vec<(String, Location)> {
        if let Some(known) = self.known.get(&context) {
            return known.clone();
        }
        let mut callers = Vec::new();
        for site in self.contexts.sites(context) {
            self.extend(&mut callers, site);
        }
        self.known.insert(context, callers.clone());
        callers
    }

    /// Returns the functions and locations that lead to what is called at `site` in a context. A recursive call is no longer chain.
    fn through(&mut self, context: u32, site: Place) -> Vec<(String, Location)> {
        let sites = self.contexts.sites(context);
        if let Some(at) = sites.iter().position(|known| *known == site) {
            let mut callers = Vec::new();
            sites[..=at].iter().for_each(|site| self.extend(&mut callers, *site));
            return callers;
        }
        let mut callers = self.of(context);
        self.extend(&mut callers, site);
        callers
    }

    fn extend(&self, callers: &mut Vec<(String, Location)>, site: Place) {
        let (path, _) = path(self.program, site, Discriminators::Clang);
        if path.is_empty() {
            // A stub leads on to what its caller calls. Through other code without lines, nobody knows who called.
            if !self.program.linkage(site).is_some_and(|linkage| linkage.plt) {
                callers.clear();
            }
            return;
        }
        callers.extend(path.into_iter().map(|(name, location)| (name.to_owned(), location)));
    }

    /// Returns the counts of the innermost function of a path in a context, and the location there.
    fn at<'c>(
        &mut self,
        all: &'c mut BTreeMap<Context, Counts>,
        context: u32,
        path: &Path<'_>,
    ) -> Option<(&'c mut Counts, Location)> {
        let (context, location) = self.context(context, path)?;
        let counts = all.entry(context).or_default();
        counts.is_inlined |= path.len() > 1;
        Some((counts, location))
    }

    /// Returns the innermost function of a path in a context, and the location there.
    fn context(&mut self, context: u32, path: &Path<'_>) -> Option<(Context, Location)> {
        let ((function, location), inlined_into) = path.split_last()?;
        let mut callers = self.of(context);
        callers.extend(inlined_into.iter().map(|(name, location)| ((*name).to_owned(), *location)));
        Some((Context { callers, function: (*function).to_owned() }, *location))
    }
}
