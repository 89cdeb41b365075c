// Everything an extension may include of torch. Which parts it gets is said in a file written for its source.
#pragma once

#include "foretell_prelude.h"

#include "foretell/tensor.h"
#ifdef FORETELL_DISPATCH
#include "foretell/dispatch.h"
#endif
#ifdef FORETELL_ACCESSORS
#include "foretell/accessor.h"
#endif
#ifdef FORETELL_INDEXING
#include "foretell/indexing.h"
#endif
#include "foretell/module.h"
#ifdef FORETELL_CUDA
#include "foretell/device.h"
#ifdef FORETELL_CUBLAS
#include "foretell/cublas.h"
#endif
#endif
