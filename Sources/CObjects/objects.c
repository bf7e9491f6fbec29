#include "CObjects.h"

_Static_assert(sizeof(struct cobjects_point) == 48, "points are read as they were written");
