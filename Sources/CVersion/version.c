#include "CVersion.h"

// Package.swift passes the build's environment variable of the same name.
#ifndef GUISE_COMMIT
#define GUISE_COMMIT ""
#endif

const char *guise_commit(void) { return GUISE_COMMIT; }
