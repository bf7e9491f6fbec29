#ifndef GUISE_FUZZER_H
#define GUISE_FUZZER_H
// libFuzzer, which is part of the Swift toolchain, as a library: SwiftPM needs its own main().
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test)(const uint8_t *bytes, size_t count));
#endif
