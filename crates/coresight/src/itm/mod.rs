//! ITM and DWT of Armv7-M and Armv8-M (Arm DDI 0403, DDI 0553).
