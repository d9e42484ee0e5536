//! ETMv3.0 to ETMv3.5 (Arm IHI 0014).
