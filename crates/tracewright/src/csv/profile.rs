//! Profiles as comma-separated values: rows of one kind. Columns do not depend on the capture.

use std::borrow::Cow;

use tracewright_core::{Class, Flow, Role};
use tracewright_profile::{Code, Place, Profile, Program, branches};

use super::{Cell, Csv};
use crate::profile::Report;

/// Kind of the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// A function: calls, instructions and cycles, of its own and with what it calls.
    #[default]
    Functions,
    /// A loop: how often it was entered, and how often it turned.
    Loops,
    /// A block: how often it ran, and how it ended.
    Blocks,
    /// A branch: how often it was taken, and to how many places.
    Branches,
    /// A way from a branch to where execution went on, taken or not. Where that is not known (before a gap), to_address is empty.
    Edges,
    /// Calls of one function by another: how often, and what ran in them.
    CallEdges,
    /// A function on one path of calls; parent is the number of its caller's row.
    CallTree,
    /// Events of one number at one block.
    Events,
    /// Events of one number in one function.
    FunctionEvents,
}

impl Rows {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Functions,
        Self::Loops,
        Self::Blocks,
        Self::Branches,
        Self::Edges,
        Self::CallEdges,
        Self::CallTree,
        Self::Events,
        Self::FunctionEvents,
    ];

    /// Returns the name of the kind: `call-edges`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Loops => "loops",
            Self::Blocks => "blocks",
            Self::Branches => "branches",
            Self::Edges => "edges",
            Self::CallEdges => "call-edges",
            Self::CallTree => "call-tree",
            Self::Events => "events",
            Self::FunctionEvents => "function-events",
        }
    }

    /// Returns whether a [`Report`] has these rows, for [`of_report`]. Others are of [`counted`], and of a call tree.
    pub fn are_of_report(self) -> bool {
        !matches!(self, Self::Blocks | Self::Branches | Self::Edges | Self::CallTree)
    }

    /// Returns whether the rows need the order of execution.
    pub fn need_order(self) -> bool {
        matches!(self, Self::Events | Self::FunctionEvents | Self::CallEdges | Self::CallTree)
    }
}

/// A header that begins with the columns of a place.
macro_rules! columns {
    ($more:literal) => {
        concat!("binary,build_id,address,function,file,line,", $more)
    };
}

/// A row that begins with the cells of a place.
macro_rules! row {
    ($places:expr, $place:expr, $($more:expr),*) => {{
        let [binary, build_id, address, function, file, line] = $places.cells($place);
        [binary, build_id, address, function, file, line, $(Cell::from($more)),*]
    }};
}

/// Names and lines of places.
struct Places<'a> {
    profile: &'a Profile,
    program: &'a Program,
}

impl<'a> Places<'a> {
    fn cells(&self, place: impl Into<Option<Place>>) -> [Cell<'a>; 6] {
        let Some(place) = place.into() else { return [(); 6].map(|()| Cell::Nothing) };
        let binary = self.profile.binaries.get(place.binary as usize);
        let source = self.program.source(place).filter(|source| source.line > 0);
        [
            binary.map(|binary| binary.name.as_str()).into(),
            binary.map(tracewright_profile::Binary::build_id_hex).into(),
            Cell::address(place.address),
            self.program.function_name(place).map(Cow::into_owned).into(),
            source.map(|source| source.file).into(),
            source.map(|source| source.line).into(),
        ]
    }
}

/// Returns the rows of blocks, branches or edges of a profile; rows of a report and of a call tree are not here.
pub fn counted(rows: Rows, profile: &Profile, program: &Program) -> String {
    let places = Places { profile, program };
    match rows {
        Rows::Branches => of_branches(&places),
        Rows::Edges => edges(&places),
        _ => blocks(&places),
    }
}

/// Returns the rows of a report.
pub fn of_report(rows: Rows, report: &Report<'_>, profile: &Profile) -> String {
    let places = Places { profile, program: report.program };
    match rows {
        Rows::Loops => loops(report, &places),
        Rows::CallEdges => call_edges(report),
        Rows::Events => events(report, &places),
        Rows::FunctionEvents => events_of_functions(report),
        _ => functions(report, &places),
    }
}

fn functions(report: &Report<'_>, places: &Places<'_>) -> String {
    let mut csv = Csv::new(columns!(
        "calls,calls_estimated,instructions,inclusive_instructions,cycles,inclusive_cycles"
    ));
    for (number, of) in &report.functions {
        let function = &report.calls.functions.list()[*number as usize];
        let binary = function.file.and_then(|file| report.program.binary_of(file));
        let binary = binary.unwrap_or(Place::NOWHERE);
        let start = function.start.map(|address| Place { binary, address });
        let cycles = |cycles: u64| report.calls.has_cycles.then_some(cycles);
        let [_, _, address, _, file, line] = places.cells(start);
        // What has no symbol is known by its file.
        let [name, build_id, ..] = places.cells(Place { binary, address: 0 });
        csv.row([
            name,
            build_id,
            address,
            function.name.as_str().into(),
            file,
            line,
            of.calls.into(),
            report.estimated.contains(number).into(),
            of.own.instructions.into(),
            report.is_ordered.then_some(of.inclusive.instructions).into(),
            cycles(of.own.cycles).into(),
            cycles(of.inclusive.cycles).into(),
        ]);
    }
    csv.finish()
}

fn call_edges(report: &Report<'_>) -> String {
    let mut csv =
        Csv::new("caller,callee,inlined,calls,calls_estimated,inclusive_instructions,inclusive_cycles");
    for (caller, callee, of) in &report.edges {
        csv.row([
            report.calls.functions.name(*caller).into(),
            report.calls.functions.name(*callee).into(),
            of.is_inlined.into(),
            of.calls.into(),
            of.is_estimate.into(),
            of.inclusive.instructions.into(),
            report.calls.has_cycles.then_some(of.inclusive.cycles).into(),
        ]);
    }
    csv.finish()
}

fn loops(report: &Report<'_>, places: &Places<'_>) -> String {
    let mut csv = Csv::new(columns!("depth,irreducible,entries,trips,trips_least,trips_most,instructions"));
    for (of, trips) in &report.loops {
        let range = trips.range.filter(|_| report.is_ordered);
        csv.row(row!(
            places,
            report.header(of),
            of.depth,
            of.irreducible,
            trips.entries,
            trips.trips,
            range.map(|(fewest, _)| fewest),
            range.map(|(_, most)| most),
            trips.instructions
        ));
    }
    csv.finish()
}

fn events(report: &Report<'_>, places: &Places<'_>) -> String {
    let mut csv = Csv::new(columns!("event,count,timed,within_cycles,within_cycles_most"));
    for (event, place, of) in &report.events {
        let event = u32::from(*event);
        csv.row(row!(places, *place, event, of.count, of.timed, of.cycles, of.most));
    }
    csv.finish()
}

fn events_of_functions(report: &Report<'_>) -> String {
    let mut csv = Csv::new("function,event,count,timed,within_cycles,within_cycles_most");
    for (event, name, of) in report.events_of_functions() {
        let event = u32::from(event);
        csv.row([
            name.into(),
            event.into(),
            of.count.into(),
            of.timed.into(),
            of.cycles.into(),
            of.most.into(),
        ]);
    }
    csv.finish()
}

/// All blocks, by place.
fn sorted(profile: &Profile) -> Vec<&Code> {
    let mut blocks: Vec<_> = profile.blocks.keys().collect();
    blocks.sort_by_key(|code| (code.start, code.len));
    blocks
}

fn blocks(places: &Places<'_>) -> String {
    let mut csv = Csv::new(columns!("bytes,block_instructions,count,taken,not_taken,through"));
    for code in sorted(places.profile) {
        let runs = places.profile.blocks[code];
        csv.row(row!(
            places,
            code.start,
            code.len,
            code.count,
            runs.all(),
            runs.taken,
            runs.not_taken,
            runs.through
        ));
    }
    csv.finish()
}

fn of_branches(places: &Places<'_>) -> String {
    let mut csv = Csv::new(columns!("kind,taken,not_taken,targets"));
    for of in branches(places.profile) {
        let targets = of.targets.len() as u64;
        csv.row(row!(places, of.place, kind(of.class), of.taken, of.not_taken, targets));
    }
    csv.finish()
}

fn edges(places: &Places<'_>) -> String {
    let mut csv =
        Csv::new(columns!("kind,outcome,count,to_binary,to_build_id,to_address,to_function,to_file,to_line"));
    for of in branches(places.profile) {
        let mut targets: Vec<_> = of.targets.iter().map(|&(to, count)| (Some(to), "taken", count)).collect();
        // What comes after a branch that was not taken is what comes after it in memory.
        targets.push((Some(of.place.plus(of.len.into())), "not taken", of.not_taken));
        // Where a branch went before a gap is not known.
        let known: u64 = of.targets.iter().map(|(_, count)| count).sum();
        targets.push((None, "taken", of.taken.saturating_sub(known)));
        for (to, outcome, count) in targets.into_iter().filter(|(_, _, count)| *count > 0) {
            let [to_binary, to_id, to_address, to_function, to_file, to_line] = places.cells(to);
            csv.row(row!(
                places,
                of.place,
                kind(of.class),
                outcome,
                count,
                to_binary,
                to_id,
                to_address,
                to_function,
                to_file,
                to_line
            ));
        }
    }
    csv.finish()
}

/// What a branch is for, in words.
fn kind(class: Class) -> String {
    let what = match class.role {
        Role::Jump => "jump",
        Role::Call => "call",
        Role::Return => "return",
        Role::Swap => "swap",
        Role::ExceptionReturn => "exception return",
        Role::LoopEnd => "loop end",
    };
    let is_plain = matches!(class.role, Role::Jump | Role::Call);
    let how = if is_plain && class.flow == Flow::Indirect { "indirect " } else { "" };
    format!("{}{how}{what}", if class.conditional { "conditional " } else { "" })
}
