//! The log while it is written: the plugin hands chunks over, the recorder hands their slots back.

mod protocol;

pub use self::protocol::{HELLO_MAGIC, Hello, MOST_PATH, MOST_SLOTS, NoHello, PROTOCOL, SLOTS, read_slot};
