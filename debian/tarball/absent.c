// Functions of LAPACK, BLAS and OpenGL that OpenCV's archives refer to, and that guise-objects never calls. The
// libraries that have them are 12 MB.
#include <stdlib.h>

#define ABSENT(name) \
    void name(void); \
    void name(void) { abort(); }

ABSENT(cblas_sgemm) ABSENT(cblas_dgemm) ABSENT(cblas_cgemm) ABSENT(cblas_zgemm)
ABSENT(sgels_) ABSENT(sgeqrf_) ABSENT(sgesdd_) ABSENT(sgesv_) ABSENT(sgetrf_) ABSENT(sposv_) ABSENT(spotrf_)
ABSENT(dgels_) ABSENT(dgeqrf_) ABSENT(dgesdd_) ABSENT(dgesv_) ABSENT(dgetrf_) ABSENT(dposv_) ABSENT(dpotrf_)
ABSENT(glXGetProcAddressARB)
