#pragma once

/// The commit that the program was built from; empty if it is unknown.
const char *guise_commit(void);
