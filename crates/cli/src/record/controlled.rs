//! Programs of which not all is traced.

use std::time::Instant;

use tracewright_core::control::Plan;
use tracewright_hart::timing::{Model, Timed};
use tracewright_hart::{Hart, Machine};
use tracewright_image::Image;

use super::keep::{Keep, Kept};
use super::pair::Pair;
use super::ring::{Hit, Ringed};
use super::watch::Watch;
use super::{Opts, Ran, xlen};
use crate::control::{Asked, Qualified};
use crate::etrace::{TraceFile, Tracer, WithData};
use crate::output::Error;

/// What is traced, of a program that is known.
pub struct Controls {
    pub asked: Asked,
    pub plan: Plan,
    /// What stops it, some time later.
    trigger: Option<(Asked, Plan)>,
}

impl Controls {
    /// What the options ask for, if they do.
    pub fn new(opts: &Opts, image: &Image) -> Result<Option<Self>, Error> {
        let asked = match (opts.control.asked()?, opts.ring.ring) {
            (Some(asked), _) => asked,
            (None, Some(_)) => Asked::all(),
            (None, None) => return Ok(None),
        };
        let trigger = match &opts.ring.trigger {
            Some(text) => {
                let asked = opts.control.trigger(text)?;
                let plan = asked.plan(image)?;
                Some((asked, plan))
            }
            None => None,
        };
        let plan = asked.plan(image)?;
        Ok(Some(Self { asked, plan, trigger }))
    }
}

/// Runs the program, and traces what qualifies.
pub fn record<M: Machine>(
    opts: &Opts,
    controls: &Controls,
    timing: Option<Model>,
    hart: &mut Hart<M>,
    tracer: Tracer<TraceFile>,
) -> Result<(Ran, Tracer<TraceFile>), Error> {
    let Controls { asked, plan, trigger } = controls;
    let xlen = xlen(&hart.core);
    let limit = opts.max_instructions;
    let start = Instant::now();
    let is_plain = timing.is_none()
        && opts.log.is_none()
        && opts.listing.is_none()
        && !tracer.has_data()
        && opts.ring.ring.is_none();
    let (stop, mut watch, mut qualified, tracer, stats, kept) = if is_plain {
        let mut sink = Pair(Watch::new(), asked.controlled(plan, tracer));
        let stop = hart.run(limit, &mut sink);
        let Pair(watch, controlled) = sink;
        (stop, watch, Qualified::of(&controlled), controlled.inner, None, Kept::of_log(opts, None))
    } else {
        let trigger = trigger.as_ref().map(|(asked, plan)| asked.controlled(plan, Hit::default()));
        let ringed = Ringed::new(&opts.ring, trigger, asked.controlled(plan, WithData(tracer)));
        let mut sink = Pair(Watch::new(), Pair(Keep::new(opts, xlen)?, ringed));
        let (stop, stats) = match timing {
            None => (hart.run(limit, &mut sink), None),
            Some(model) => {
                let mut timed = Timed::new(model, sink);
                let stop = hart.run(limit, &mut timed);
                sink = timed.inner;
                (stop, Some(*timed.model.stats()))
            }
        };
        let Pair(watch, Pair(keep, ringed)) = sink;
        ringed.report(&opts.ring);
        let controlled = ringed.inner;
        let qualified = Qualified::of(&controlled);
        (stop, watch, qualified, controlled.inner.0, stats, keep.finish(opts))
    };
    watch.finish();
    let (instructions, pc) = (hart.core.instret, hart.core.pc);
    // After a trigger it does not look any more.
    qualified.seen = instructions;
    qualified.warn(asked);
    let seconds = start.elapsed().as_secs_f64();
    let ran = Ran {
        stop,
        watch,
        seconds,
        timing: stats,
        kept,
        traced: None,
        qualified: Some(qualified),
        instructions,
        pc,
    };
    Ok((ran, tracer))
}
