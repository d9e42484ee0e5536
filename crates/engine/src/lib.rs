//! From a capture's buffers to packets and elements, on all cores.
