# SPDX-License-Identifier: Apache-2.0
"""A part of dropin_proof.py: calls of cublasLtMatmul as a C program makes them, by ctypes, with the
algorithm that cuBLASLt's heuristic chose. In mode check, cuBLASLt computes each of them too, and
the log says whether the results agree."""

import ctypes
import re

DEFAULT, BIAS, GELU_AUX, GELU_AUX_BIAS, DGELU, DGELU_BGRAD = 1, 4, 160, 164, 192, 208
EPILOGUES = (DEFAULT, 2, BIAS, 6, 32, 36, GELU_AUX, GELU_AUX_BIAS, DGELU, DGELU_BGRAD, 256, 512)
TYPES = {"torch.bfloat16": 14, "torch.float16": 2, "torch.float32": 0}
WORKSPACE = 32 << 20


def loaded_library():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"\S+/libcublasLt\.so\S*", maps.read())
    return ctypes.CDLL(found.group(0))


class Result(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""
    _fields_ = [("algo", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t),
                ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


class Lt:
    def __init__(self, torch, expect):
        self.torch, self.expect, self.library = torch, expect, loaded_library()
        self.handle = self.made("cublasLtCreate")
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        self.expect(status == 0, f"{name}: status {status}")
        return status

    def made(self, name, *arguments):
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def layout(self, tensor, rows, columns, by_rows):
        made = self.made("cublasLtMatrixLayoutCreate", TYPES[str(tensor.dtype)],
                         ctypes.c_uint64(rows), ctypes.c_uint64(columns),
                         ctypes.c_int64(columns if by_rows else rows))
        order = ctypes.c_int32(1 if by_rows else 0)
        self.call("cublasLtMatrixLayoutSetAttribute", made, 1, ctypes.byref(order),
                  ctypes.c_size_t(4))
        return made

    def set(self, desc, attribute, value):
        self.call("cublasLtMatmulDescSetAttribute", desc, attribute, ctypes.byref(value),
                  ctypes.c_size_t(ctypes.sizeof(value)))

    def random(self, dtype, *size):
        return self.torch.randn(*size, device="cuda").to(dtype)

    def multiply(self, epilogue, dtype, out, orders, beta):
        """False if cuBLASLt has no algorithm for it."""
        m, n, k = 256, 128, 512
        a, b = self.random(dtype, m * k), self.random(dtype, k * n)
        c, d = self.random(out, m * n), self.random(out, m * n)
        bias, aux = self.random(out, max(m, n)), self.random(out, m * n)
        desc = self.made("cublasLtMatmulDescCreate", 68, 0)
        self.set(desc, 7, ctypes.c_uint32(epilogue))
        if epilogue & (4 | 16 | 256 | 512):
            self.set(desc, 8, ctypes.c_void_p(bias.data_ptr()))
        if epilogue & 128:
            self.set(desc, 11, ctypes.c_void_p(aux.data_ptr()))
            self.set(desc, 12, ctypes.c_int64(m))
        layouts = [self.layout(tensor, rows, columns, by_rows) for tensor, rows, columns, by_rows in
                   zip((a, b, c, d), (m, k, m, m), (k, n, n, n), orders)]
        preference = self.made("cublasLtMatmulPreferenceCreate")
        size = ctypes.c_size_t(WORKSPACE)
        self.call("cublasLtMatmulPreferenceSetAttribute", preference, 1, ctypes.byref(size),
                  ctypes.c_size_t(8))
        result, count = Result(), ctypes.c_int(0)
        status = self.library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, desc, *layouts, preference, 1, ctypes.byref(result), ctypes.byref(count))
        if status != 0 or count.value == 0:
            return False
        scalars = (ctypes.c_float * 2)(1, beta)
        at = lambda tensor: ctypes.c_void_p(tensor.data_ptr())
        self.torch.cuda.synchronize()
        self.call("cublasLtMatmul", self.handle, desc, ctypes.byref(scalars), at(a), layouts[0],
                  at(b), layouts[1], ctypes.byref(scalars, 4), at(c), layouts[2], at(d), layouts[3],
                  ctypes.byref(result), at(self.workspace), size, ctypes.c_void_p(0))
        self.torch.cuda.synchronize()
        return True


def lt(torch, expect):
    torch.manual_seed(6)
    torch.mm(*(torch.ones(8, 8, device="cuda", dtype=torch.float16),) * 2)  # loads cuBLASLt
    calls = Lt(torch, expect)
    columns, unsupported, done = (False,) * 4, [], 0
    cases = [(epilogue, dtype, out, columns, beta)
             for dtype in (torch.bfloat16, torch.float16) for out in (dtype, torch.float32)
             for epilogue in EPILOGUES for beta in (0, 0.5)]
    cases += [(epilogue, torch.bfloat16, torch.bfloat16,
               tuple(bits >> at & 1 == 1 for at in range(4)), 0.5)
              for epilogue in (DEFAULT, BIAS) for bits in range(1, 16)]
    for case in cases:
        if calls.multiply(*case):
            done += 1
        else:
            orders = "".join(str(int(by_rows)) for by_rows in case[3])
            unsupported.append(f"{case[0]}:{case[1]}:{case[2]}:{orders}")
    expect(done >= 40, f"only {done} kinds of calls were made")
    return {"calls": done, "unsupported": unsupported}
