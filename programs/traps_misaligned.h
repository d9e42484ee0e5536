#pragma once
#include "runtime/bare.h"

// Does the uncompressed load or store that trapped, byte by byte. False where it is something else.
int do_misaligned(frame *f);

// Loads and stores at every offset: what the machine does must be what do_misaligned does.
u32 try_misaligned(u32 checksum);
