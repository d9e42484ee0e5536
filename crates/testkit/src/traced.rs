use tracewright_core::{Context, Element};
use tracewright_etm::{Protocol, Registers, field};

/// Returns what a perfect decoder returns of an execution, when a trace unit with these registers has traced it.
///
/// Cycle counts, timestamps and IDs that are not enabled are removed, and so are repeated contexts. In an ETE that marks what its
/// timestamps refer to (TRCIDR0.TSMARK), a timestamp before the first mark refers to nothing and is removed.
pub fn traced(registers: &Registers, elements: impl IntoIterator<Item = Element>) -> Vec<Element> {
    let on = |bit| field(registers.trcconfigr, bit, bit) == 1;
    let context_ids = on(6) && field(registers.trcidr2, 9, 5) != 0;
    let vmids = on(7) && field(registers.trcidr2, 14, 10) != 0;
    let (cycle_counts, timestamps) = (on(4), on(11));
    let markers = timestamps && field(registers.trcidr0, 23, 23) == 1;
    let mut marked = !markers || registers.protocol == Protocol::Etm4;
    let filtered = elements.into_iter().filter_map(|element| match element {
        Element::Cycles(_) if !cycle_counts => None,
        Element::TimestampMarker => {
            marked = true;
            markers.then_some(element)
        }
        Element::Timestamp { .. } if !timestamps || !marked => None,
        Element::Timestamp { value, cycles } => {
            Some(Element::Timestamp { value, cycles: cycles.filter(|_| cycle_counts) })
        }
        Element::Context(context, isa) => {
            let context_id = context.context_id.filter(|_| context_ids);
            let vmid = context.vmid.filter(|_| vmids);
            Some(Element::Context(Context { context_id, vmid, ..context }, isa))
        }
        other => Some(other),
    });
    without_repeated_contexts(filtered)
}

/// Removes repeated contexts.
pub fn without_repeated_contexts(elements: impl Iterator<Item = Element>) -> Vec<Element> {
    let mut last = None;
    let news = |element: &Element| match element {
        Element::Context(context, _) => last.replace(*context) != Some(*context),
        _ => true,
    };
    elements.filter(news).collect()
}
