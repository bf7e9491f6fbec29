#ifndef GUISE_CLINUX_H
#define GUISE_CLINUX_H
#include "guard.h"    // a placeholder on the device after a crash
#include "lifeline.h" // tells the camera service that this process was killed
#include "local.h"    // the control socket
#include "packet.h"   // the camera service
#include "process.h"  // child processes
// Parts of the kernel's and the C library's headers that Swift's Glibc module lacks. Each line says what it is for.
#include <linux/videodev2.h>  // V4L2 structures
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>   // waking the frame loop
#include <sys/file.h>      // flock
#include <sys/inotify.h>   // masks that are edited while they are in use
#include <sys/signalfd.h>  // SIGINT and SIGTERM as a descriptor

// V4L2 ioctl numbers, which are function-like macros that Swift doesn't import.
static const unsigned long clinux_querycap = VIDIOC_QUERYCAP;
static const unsigned long clinux_enum_fmt = VIDIOC_ENUM_FMT;
static const unsigned long clinux_enum_framesizes = VIDIOC_ENUM_FRAMESIZES;
static const unsigned long clinux_enum_frameintervals = VIDIOC_ENUM_FRAMEINTERVALS;
static const unsigned long clinux_g_fmt = VIDIOC_G_FMT;
static const unsigned long clinux_s_fmt = VIDIOC_S_FMT;
static const unsigned long clinux_s_parm = VIDIOC_S_PARM;
static const unsigned long clinux_reqbufs = VIDIOC_REQBUFS;
static const unsigned long clinux_querybuf = VIDIOC_QUERYBUF;
static const unsigned long clinux_qbuf = VIDIOC_QBUF;
static const unsigned long clinux_dqbuf = VIDIOC_DQBUF;
static const unsigned long clinux_streamon = VIDIOC_STREAMON;
static const unsigned long clinux_streamoff = VIDIOC_STREAMOFF;
static const unsigned long clinux_subscribe_event = VIDIOC_SUBSCRIBE_EVENT;
static const unsigned long clinux_unsubscribe_event = VIDIOC_UNSUBSCRIBE_EVENT;
static const unsigned long clinux_dqevent = VIDIOC_DQEVENT;
static const unsigned long clinux_queryctrl = VIDIOC_QUERYCTRL;
static const unsigned long clinux_g_ctrl = VIDIOC_G_CTRL;
static const unsigned long clinux_s_ctrl = VIDIOC_S_CTRL;

/// An item of a V4L2 control's menu: its name, which ends with a zero, or its value in a menu of numbers.
struct clinux_menu_item {
    char name[32];
    int64_t value;
};

/// Queries an item of a menu (VIDIOC_QUERYMENU, whose packed structure Swift doesn't import). Returns 0 or errno.
int clinux_query_menu(int descriptor, uint32_t control, uint32_t index, struct clinux_menu_item *item);

/// Loads a cache line by reading a byte of it. The result is not used, so several loads are in flight at once.
/// (Prefetch instructions are not as good: with them, landmarks take 1.4 times as long to load their leaves.)
static inline void clinux_touch(const void *address) { (void)*(const volatile char *)address; }

/// flock(2), whose name is taken by a structure in Swift. Returns 0, or -1 with errno.
int clinux_flock(int descriptor, int operation);

/// Names the calling thread; names longer than 15 bytes are cut.
void clinux_name_thread(const char *name);

/// Creates an anonymous file in memory (memfd_create), close-on-exec. Returns a descriptor or -errno.
int clinux_memory_file(const char *name);
#endif
