#include "CArt.h"
