//! Read, explain and make processor traces: the library.
