//! Consumers without their types: what decodes for them is compiled once, not for each consumer.

use std::any::Any;

use tracewright_flow as flow;

use crate::consumer::{Consumer, WantedBlocks};
use crate::delivery::{Deliver, Delivery, Part, Setting};

/// A consumer's output, with its type hidden.
pub type AnyOutput = dyn Any + Send + Sync;

/// A [`Consumer`] without its types.
pub trait AnyConsumer: Sync {
    /// Creates the state of a source.
    fn receiver<'c>(&'c self) -> Box<dyn Receiver + 'c>;
    /// Creates an empty output.
    fn output(&self) -> Box<AnyOutput>;
    /// See [`Consumer::BLOCKS`].
    fn blocks(&self) -> WantedBlocks;
    /// See [`Consumer::needs_all`].
    fn needs_all(&self) -> bool;
    /// See [`Consumer::counted`].
    fn counted(&self, output: &mut AnyOutput, counts: flow::BlockCounts);
    /// See [`Consumer::merge`].
    fn merge(&self, into: &mut AnyOutput, later: Box<AnyOutput>);
    /// See [`Consumer::len`].
    fn len(&self, output: &AnyOutput) -> usize;
    /// See [`Consumer::size`].
    fn size(&self, output: &AnyOutput) -> usize;
    /// See [`Consumer::clear`].
    fn clear(&self, output: &mut AnyOutput);
}

/// A consumer's state of one source.
pub trait Receiver: Send + Sync {
    /// Runs `f` with a delivery to the consumer. Returns the delivered part.
    fn with(&mut self, setting: Setting<'_, '_>, f: &mut dyn FnMut(&mut dyn Deliver)) -> Part;
    /// See [`Consumer::memory`].
    fn memory(&self) -> usize;
}

/// Why a downcast of an output succeeds.
pub const OWN: &str = "a consumer is given its own outputs";

impl<C: Consumer> AnyConsumer for C {
    fn receiver<'c>(&'c self) -> Box<dyn Receiver + 'c> {
        Box::new(SourceReceiver { consumer: self, state: C::State::default() })
    }

    fn output(&self) -> Box<AnyOutput> {
        Box::new(C::Output::default())
    }

    fn blocks(&self) -> WantedBlocks {
        C::BLOCKS
    }

    fn needs_all(&self) -> bool {
        Consumer::needs_all(self)
    }

    fn counted(&self, output: &mut AnyOutput, counts: flow::BlockCounts) {
        Consumer::counted(self, output.downcast_mut().expect(OWN), counts);
    }

    fn merge(&self, into: &mut AnyOutput, later: Box<AnyOutput>) {
        Consumer::merge(self, into.downcast_mut().expect(OWN), *later.downcast().expect(OWN));
    }

    fn len(&self, output: &AnyOutput) -> usize {
        Consumer::len(self, output.downcast_ref().expect(OWN))
    }

    fn size(&self, output: &AnyOutput) -> usize {
        Consumer::size(self, output.downcast_ref().expect(OWN))
    }

    fn clear(&self, output: &mut AnyOutput) {
        Consumer::clear(self, output.downcast_mut().expect(OWN));
    }
}

struct SourceReceiver<'c, C: Consumer> {
    consumer: &'c C,
    state: C::State,
}

impl<C: Consumer> Receiver for SourceReceiver<'_, C> {
    fn with(&mut self, setting: Setting<'_, '_>, f: &mut dyn FnMut(&mut dyn Deliver)) -> Part {
        let mut delivery = Delivery::new(self.consumer, &mut self.state, setting);
        f(&mut delivery);
        delivery.finish()
    }

    fn memory(&self) -> usize {
        self.consumer.memory(&self.state)
    }
}
