//! `decode --no-image` as JSON.

use tracewright::targets::{EventName, Row, RowWriter};
use tracewright_core::Element;
use tracewright_engine::{At, Line};

use super::json;

/// Rows as JSON objects: the fields that elements have in all of `decode`, and their cycle.
pub struct JsonRows {
    /// The buffer's name, quoted.
    pub buffer: String,
    pub events: Vec<EventName>,
}

impl RowWriter for JsonRows {
    fn row(&self, line: &mut Line, at: &At<'_>, element: &Element, row: Row) {
        line.text(r#"{"buffer":"#).text(&self.buffer);
        line.text(r#","offset":"#).decimal(at.place.offset).text(r#","id":"#).decimal(at.source.id.into());
        match row.cycle {
            Some(cycle) => line.text(r#","cycle":"#).decimal(cycle),
            None => line.text(r#","cycle":null"#),
        };
        match row.event {
            Some(number) => {
                let name = self.events.iter().find(|event| event.number == number);
                let name = serde_json::to_string(&name.map(|event| &event.name)).unwrap_or_default();
                line.text(r#","kind":"event","event":"#).decimal(number.into());
                line.text(r#","name":"#).text(&name);
            }
            None => {
                let _ = json::fields(line, at, element);
            }
        }
        line.text("}\n");
    }
}
