#ifndef GUISE_LIFELINE_H
#define GUISE_LIFELINE_H
// A pipe by which another process learns at once that this one was killed. The kernel frees the memory of a killed
// process before it closes the descriptors that its threads share, which takes tens of milliseconds. A thread with a
// table of descriptors of its own closes them without waiting for that, unless it is the last thread to end.

/// Makes a pipe whose ends are close-on-exec. Returns 0 or -errno.
int clinux_lifeline_pipe(int *reading, int *writing);
/// Gives the calling thread a table of descriptors of its own, which has nothing but `writing`, writes the byte 1 into
/// it, and sleeps until the end of the process. Returns only if the kernel refuses the table, after writing a 0.
void clinux_lifeline_hold(int writing);
#endif
