//! STM: System Trace Protocol version 2 as CoreSight STM uses it (Arm IHI 0054).
