// SPDX-License-Identifier: Apache-2.0
// The products of the double of cuBLAS, with 32-bit sizes and with 64-bit ones:
// each hands its arguments on.
#include "dropin/fake_product.h"

using bwgemm::test::product;

#define SIZE int
#define SIZED(name) name
#include "dropin/fake_products.inc"
#define SIZE std::int64_t
#define SIZED(name) name##_64
#include "dropin/fake_products.inc"
