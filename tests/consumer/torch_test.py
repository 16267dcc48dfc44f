# SPDX-License-Identifier: Apache-2.0
"""The Python package with PyTorch on a GPU: torch_test.py [wheel, or folder that holds the package].

Not part of ctest, because it needs both. Prints one line per check and PASS at the end; exits with 1
at the first check that fails. Results are compared with products in double precision."""

import itertools
import sys
import tempfile
import threading
import zipfile

if len(sys.argv) > 1:
    path = sys.argv[1]
    if path.endswith(".whl"):
        folder = tempfile.mkdtemp(prefix="bwgemm-")
        zipfile.ZipFile(path).extractall(folder)
        path = folder
    sys.path.insert(0, path)

import torch  # noqa: E402

import bwgemm  # noqa: E402

UNIT = {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11, torch.float32: 2.0 ** -24}


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


def expect(condition, what):
    if not condition:
        print(f"FAIL: {what}")
        sys.exit(1)


def expect_product(got, a, b, what, alpha=1.0, beta=0.0, c=None):
    """Within the bound of bwgemm.h: accumulation, then one rounding to the type of the result."""
    a, b = a.double(), b.double()
    want = alpha * (a @ b) + (beta * c.double() if beta else 0.0)
    magnitude = abs(alpha) * (a.abs() @ b.abs())
    bound = (a.shape[-1] + 16) * 2.0 ** -23 * magnitude + 2 * UNIT[got.dtype] * want.abs() + 1e-6
    excess = ((got.double() - want).abs() - bound).max().item()
    expect(excess <= 0, f"{what}: beyond the bound by {excess}")


def products():
    for dtype, (m, n, k) in itertools.product(
            (torch.bfloat16, torch.float16),
            ((1, 4096, 4096), (128, 256, 512), (1000, 999, 1001), (2048, 2048, 2048), (64, 64, 16384))):
        a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
        for out in (dtype, torch.float32):
            c = bwgemm.matmul(a, b, out_dtype=out)
            expect(c.dtype == out and c.shape == (m, n) and c.is_contiguous(), "the new tensor")
            expect_product(c, a, b, f"{m}x{n}x{k} {dtype} to {out}")


def views():
    a, b = random(300, 520), random(520, 260)
    for transa, transb, transposed_c in itertools.product((False, True), repeat=3):
        x = a.t().contiguous() if transa else a
        y = b.t().contiguous() if transb else b
        c = random(260, 300).t() if transposed_c else random(300, 260)
        before = c.clone()
        returned = bwgemm.gemm(x, y, c, alpha=0.5, beta=2.0, transa=transa, transb=transb)
        expect(returned is c, "c is returned")
        expect_product(c, a, b, f"views {transa} {transb} {transposed_c}", 0.5, 2.0, before)
    expect_product(bwgemm.matmul(a.t().contiguous().t(), b), a, b, "a transposed view")
    wide = random(300, 1040)
    expect_product(bwgemm.matmul(wide[:, 3:523], b), wide[:, 3:523], b, "a slice, displaced")
    try:
        bwgemm.matmul(wide[:, ::2], b)
        expect(False, "strides of 2 are refused")
    except ValueError:
        pass


def batches():
    a, b = random(7, 130, 72), random(7, 72, 88)
    expect_product(bwgemm.matmul(a, b), a, b, "a batch")
    expect_product(bwgemm.matmul(a[0], b), a[0].expand(7, 130, 72), b, "one a for all")
    expect_product(bwgemm.matmul(a, b.transpose(1, 2).contiguous().transpose(1, 2)), a, b, "views")


def streams():
    a, b = random(2048, 2048), random(2048, 2048)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = a
        for _ in range(4):  # each depends on the one before it
            x = bwgemm.matmul(x, b) * 0.02
        c = bwgemm.matmul(x, b)
    stream.synchronize()
    expect_product(c, x, b, "the current stream is used")
    d = bwgemm.matmul(a, b, stream=stream)
    stream.synchronize()
    expect_product(d, a, b, "a stream by argument")


def graphs():
    a, b = random(512, 768), random(768, 640)
    c = torch.empty(512, 640, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bwgemm.matmul(a, b, out=c)
    for _ in range(10):
        a.copy_(random(512, 768))
        graph.replay()
    torch.cuda.synchronize()
    expect_product(c, a, b, "a replayed graph reads its operands anew")


def threads():
    wrong = []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                a, b = random(256, 320), random(320, 192)
                c = bwgemm.matmul(a, b)
                if not torch.allclose(c.float(), (a @ b).float(), rtol=0.02, atol=0.2):
                    wrong.append(1)

    running = [threading.Thread(target=work) for _ in range(6)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    torch.cuda.synchronize()
    expect(not wrong, "many threads")


def refusals():
    a, b = random(64, 64), random(64, 64)
    for wrong, error in (((a.cpu(), b), TypeError), ((a, b.half()), ValueError),
                         ((a.double(), b.double()), TypeError), ((a, random(32, 64)), ValueError),
                         ((a.clone().requires_grad_(), b), TypeError)):
        try:
            bwgemm.matmul(*wrong)
            expect(False, f"refused with {error.__name__}")
        except error:
            pass
    with torch.no_grad():
        bwgemm.matmul(a.clone().requires_grad_(), b)
    try:
        bwgemm.gemm(a, b, torch.empty(64, 64, device="cuda", dtype=torch.float16))
        expect(False, "an output of the other half type is refused")
    except bwgemm.Error as failed:
        expect(failed.name == "BWGEMM_STATUS_NOT_SUPPORTED" and str(failed), "the library's text")


def other_protocols():
    """The same memory as an object with nothing but one of the protocols."""

    class Dlpack:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **named):
            return self.tensor.__dlpack__(**named)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    class Interface:
        def __init__(self, tensor):
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    a, b = random(96, 160, dtype=torch.float16), random(160, 224, dtype=torch.float16)
    for wrapped in (Dlpack, Interface):
        c = torch.empty(96, 224, device="cuda", dtype=torch.float16)
        torch.cuda.synchronize()
        bwgemm.matmul(wrapped(a), wrapped(b), Interface(c))  # DLPack before 1.0 is not written
        torch.cuda.synchronize()
        expect_product(c, a, b, wrapped.__name__)


def explained():
    text = bwgemm.explain(random(512, 512), random(512, 512))
    expect("bwgemm_sm" in text, "an explanation names kernels")


if __name__ == "__main__":
    torch.manual_seed(1)
    print(f"bwgemm {bwgemm.build_info()}; torch {torch.__version__}; "
          f"{torch.cuda.get_device_name()}")
    for check in (products, views, batches, streams, graphs, threads, refusals, other_protocols,
                  explained):
        check()
        print(f"{check.__name__}: right")
    print("PASS")
