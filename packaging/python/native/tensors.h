// SPDX-License-Identifier: Apache-2.0
//
// The short way of a product of torch's tensors. It serves what needs no second look, and leaves
// the rest, and all errors in arguments, to the package's Python code.
#pragma once

#include "python.h"

namespace bwgemm_python {

// product(a, b, transa, transb, alpha, beta, c, bias, activation, gate, aux, aux_mode,
// bias_gradient, bias_gradient_of, out, out_type, stream, care): the result, or None if nothing was
// done. Tensors may be None but for a and b, and so may out_type and stream. Numbers are
// enumerators of bwgemm.h. care is a Care.
PyObject* product(PyObject* arguments);

// is_eager(tensors...): whether all are torch's tensors, or None, and no mode of torch is in force.
PyObject* is_eager(PyObject* arguments);

}  // namespace bwgemm_python
