//! Events from outside, from the command line or a file.

use std::path::Path;

use tracewright_hart::{Events, Moment};

use tracewright_input::file::read_text;

use crate::Error;
use crate::error::EventAt;

/// Named events, and when each happens.
#[derive(Clone, Debug, Default)]
pub struct EventList {
    names: Vec<String>,
    moments: Vec<(u8, Moment)>,
}

/// Most events that a condition can tell apart.
const MOST: usize = 64;

impl EventList {
    /// Parses the `given` events, and those on the lines of a file.
    pub fn new(given: &[String], file: Option<&Path>) -> Result<Self, Error> {
        let mut list = Self::default();
        for text in given {
            list.add(text).map_err(|problem| Error::Event(EventAt::Text(text.clone()), problem))?;
        }
        if let Some(path) = file {
            let text = read_text(path).map_err(|error| Error::read(path, error))?;
            for (number, line) in text.lines().enumerate() {
                let line = line.split('#').next().unwrap_or_default().trim();
                if !line.is_empty() {
                    let at = EventAt::Line(path.to_owned(), number + 1);
                    list.add(line).map_err(|problem| Error::Event(at, problem))?;
                }
            }
        }
        Ok(list)
    }

    /// Adds an event: `NAME@cycle=N`.
    fn add(&mut self, text: &str) -> Result<(), String> {
        const EXPECTED: &str = "expected NAME@instruction=N or NAME@cycle=N";
        let (name, moment) = text.split_once('@').filter(|(name, _)| !name.is_empty()).ok_or(EXPECTED)?;
        let (unit, number) = moment.split_once('=').ok_or(EXPECTED)?;
        let number = number.parse().map_err(|_| format!("{number:?} is no number"))?;
        let moment = match unit {
            "instruction" => Moment::Instruction(number),
            "cycle" => Moment::Cycle(number),
            _ => return Err(EXPECTED.into()),
        };
        let known = self.names.iter().position(|known| known == name);
        let event = known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        });
        if event >= MOST {
            return Err(format!("there are more than {MOST} events"));
        }
        self.moments.push((event as u8, moment));
        Ok(())
    }

    /// Returns the number of an event.
    pub fn number(&self, name: &str) -> Option<u8> {
        self.names.iter().position(|known| known == name).map(|number| number as u8)
    }

    /// Returns all events, none of which has happened yet.
    pub fn events(&self) -> Events {
        let mut events = Events::new();
        self.moments.iter().for_each(|(event, moment)| events.add(*event, *moment));
        events
    }

    /// Returns the names of all events, as the end of a message.
    pub fn known(&self) -> String {
        match self.names.as_slice() {
            [] => ": say when it happens, with NAME@instruction=N".into(),
            names => format!("; there is {}", names.join(", ")),
        }
    }
}
