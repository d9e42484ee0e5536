//! The plugin that QEMU loads.
