# SPDX-License-Identifier: Apache-2.0
"""The parts of dropin_proof.py, which runs each in a process of its own. A part prints one line of
JSON: "skipped", or "failures" and what was measured."""

import json
import os
import sys
import threading
import time

import lt_part

failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def the_torch():
    """torch, where it has a GPU that bwgemm serves."""
    try:
        import torch
    except ImportError:
        return skip("torch is not installed")
    if not torch.cuda.is_available():
        return skip("torch sees no GPU")
    if torch.cuda.get_device_capability()[0] not in (9, 10):
        return skip("the GPU is not of 9.0 or 10.x")
    return torch


def skip(why):
    print(json.dumps({"skipped": why}))
    sys.exit(0)


# ---- operations ----------------------------------------------------------------------------------
UNIT = {"torch.bfloat16": 2.0 ** -8, "torch.float16": 2.0 ** -11, "torch.float32": 2.0 ** -24}


def check_product(torch, what, got, a, b, add=None, activation=None):
    """got = activation(a b + add), within bounds that cuBLAS's 16-bit partial sums keep too."""
    a, b = a.double(), b.double()
    exact = torch.matmul(a, b)
    size = torch.matmul(a.abs(), b.abs())
    if add is not None:
        exact = exact + add
        size = size + add.abs()
    if activation is not None:
        exact = activation(exact)
    unit = UNIT[str(got.dtype)]
    bound = (unit * 1.01 * exact.abs() + (a.shape[-1] + 16) * 2.0 ** -23 * size
             + 16 * unit * size / max(1, a.shape[-1]) ** 0.5 + 2.0 ** -24)
    if activation is not None:
        bound = 1.2 * bound + 2.0 ** -9 * exact.abs() + 2.0 ** -9
    if got.numel() == 0:
        expect(got.shape == exact.shape, f"{what}: shape {tuple(got.shape)}")
        return
    over = ((got.double() - exact).abs() / bound).max().item()
    expect(over <= 1, f"{what}: off by {over:.2f} of its bound")


def layouts(torch, rows, columns, dtype):
    """Matrices of a size with every kind of strides."""
    make = lambda r, c: torch.randn(r, c, device="cuda", dtype=torch.float32).to(dtype)
    yield "dense", make(rows, columns)
    yield "transposed", make(columns, rows).t()
    yield "slice", make(rows + 3, columns + 24)[2:rows + 2, 8:columns + 8]
    yield "unaligned", make(rows, columns + 3)[:, 1:columns + 1]
    yield "transposed slice", make(columns + 5, rows + 9).t()[3:rows + 3, 2:columns + 2]


def operations():
    torch = the_torch()
    torch.manual_seed(1)
    sizes = ((128, 256, 512), (37, 53, 61), (1, 512, 1024), (513, 1, 96), (1024, 1024, 4096))
    for dtype in (torch.bfloat16, torch.float16):
        for m, n, k in sizes:
            for kind_a, a in layouts(torch, m, k, dtype):
                for kind_b, b in layouts(torch, k, n, dtype):
                    name = f"{dtype} {m}x{n}x{k} {kind_a} {kind_b}"
                    check_product(torch, "mm " + name, torch.mm(a, b), a, b)
        fused(torch, dtype)
        batches(torch, dtype)
        zero_sizes(torch, dtype)
        gradients(torch, dtype)
    torch.cuda.synchronize()


def fused(torch, dtype):
    random = lambda *size: torch.randn(*size, device="cuda").to(dtype)
    tanh_gelu = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    for m, n, k in ((256, 512, 768), (33, 96, 128), (512, 136, 72)):
        a, b, bias, c = random(m, k), random(n, k), random(n), random(m, n)
        name = f"{dtype} {m}x{n}x{k}"
        check_product(torch, "linear " + name, torch.nn.functional.linear(a, b, bias), a, b.t(),
                      bias.double())
        unaligned = torch.cat((bias[:1], bias))[1:]
        check_product(torch, "linear, unaligned bias " + name,
                      torch.nn.functional.linear(a, b, unaligned), a, b.t(), bias.double())
        check_product(torch, "addmm of a vector " + name, torch.addmm(bias, a, b.t()), a, b.t(),
                      bias.double())
        check_product(torch, "addmm of a matrix " + name, torch.addmm(c, a, b.t(), beta=0.5), a,
                      b.t(), 0.5 * c.double())
        out = c.clone()
        torch.addmm(out, a, b.t(), out=out)
        check_product(torch, "addmm in place " + name, out, a, b.t(), c.double())
        check_product(torch, "addmm, alpha 2 " + name, torch.addmm(c, a, b.t(), alpha=2), 2 * a,
                      b.t(), c.double())
        for use_gelu in (False, True):
            got = torch._addmm_activation(bias, a, b.t(), use_gelu=use_gelu)
            check_product(torch, f"addmm with {'gelu' if use_gelu else 'relu'} {name}", got, a,
                          b.t(), bias.double(), tanh_gelu if use_gelu else torch.relu)
        layer = torch.nn.functional.linear(a, b, bias)
        expect(torch.isfinite(tanh_gelu(layer)).all().item(), "gelu of linear " + name)
        try:
            check_product(torch, "mm to float32 " + name,
                          torch.mm(a, b.t(), out_dtype=torch.float32), a, b.t())
        except (TypeError, NotImplementedError):
            pass  # an older torch


def batches(torch, dtype):
    random = lambda *size: torch.randn(*size, device="cuda").to(dtype)
    for batch, m, n, k in ((8, 64, 96, 128), (3, 33, 17, 65), (16, 1, 128, 64)):
        a, b, c = random(batch, m, k), random(batch, k, n), random(batch, m, n)
        name = f"{dtype} {batch}x{m}x{n}x{k}"
        check_product(torch, "bmm " + name, torch.bmm(a, b), a, b)
        other = random(batch, n, k).transpose(1, 2)
        check_product(torch, "bmm, transposed " + name, torch.bmm(a, other), a, other)
        same = random(k, n).expand(batch, k, n)
        check_product(torch, "bmm, one B " + name, torch.bmm(a, same), a, same)
        check_product(torch, "baddbmm " + name, torch.baddbmm(c, a, b, beta=0.5), a, b,
                      0.5 * c.double())


def zero_sizes(torch, dtype):
    empty = lambda *size: torch.ones(*size, device="cuda", dtype=dtype)
    for m, n, k in ((0, 8, 8), (8, 0, 8), (8, 8, 0)):
        name = f"{dtype} {m}x{n}x{k}"
        a, b = empty(m, k), empty(k, n)
        check_product(torch, "mm " + name, torch.mm(a, b), a, b)
        check_product(torch, "linear " + name, torch.nn.functional.linear(a, b.t(), empty(n)), a, b,
                      empty(n).double())
        check_product(torch, "bmm " + name, torch.bmm(a[None], b[None]), a[None], b[None])
        check_product(torch, "bmm of none " + name, torch.bmm(empty(0, m, k), empty(0, k, n)),
                      empty(0, m, k), empty(0, k, n))


def gradients(torch, dtype):
    """Of a linear layer, against the same in float64."""
    x = torch.randn(96, 128, device="cuda").to(dtype).requires_grad_()
    w = torch.randn(64, 128, device="cuda").to(dtype).requires_grad_()
    bias = torch.randn(64, device="cuda").to(dtype).requires_grad_()
    upstream = torch.randn(96, 64, device="cuda").to(dtype)
    torch.nn.functional.linear(x, w, bias).backward(upstream)
    check_product(torch, f"gradient of x {dtype}", x.grad, upstream, w.detach())
    check_product(torch, f"gradient of w {dtype}", w.grad, upstream.t(), x.detach())
    off = (bias.grad.double() - upstream.double().sum(0)).abs().max().item()
    expect(off <= 96 * UNIT[str(dtype)], f"gradient of the bias {dtype}: off by {off}")


# ---- graphs, streams, threads --------------------------------------------------------------------
def graphs():
    torch = the_torch()
    torch.manual_seed(2)
    for dtype in (torch.bfloat16, torch.float16):
        capture(torch, dtype, is_warm=True)
        capture(torch, dtype, is_warm=False)
        threads(torch, dtype)


def network(torch, x, w, v, bias):
    hidden = torch._addmm_activation(bias, x, w, use_gelu=True)
    return torch.mm(hidden, v) + torch.bmm(x[None], w[None] @ v[None])[0]


def capture(torch, dtype, is_warm):
    random = lambda *size: (torch.randn(*size, device="cuda") / 8).to(dtype)
    width = 256 if is_warm else 320  # sizes of which no call was made before
    x, w, v, bias = random(64, width), random(width, 384), random(384, 72), random(384)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        warm = (x, w, v, bias) if is_warm else (x[:8, :64], w[:64, :64], v[:64, :8], bias[:64])
        for _ in range(3):
            network(torch, *(each.contiguous() for each in warm))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = network(torch, x, w, v, bias)
    for _ in range(3):
        x.copy_(random(64, width))
        graph.replay()
        eager = network(torch, x, w, v, bias)
        torch.cuda.synchronize()
        off = (captured.double() - eager.double()).abs().max().item()
        most = 4 * UNIT[str(dtype)] * eager.double().abs().max().item()
        expect(off <= most, f"{dtype} graph{'' if is_warm else ', not warm'}: off by {off}")


def threads(torch, dtype):
    """Threads on two streams each get the bits that one thread gets."""
    problems = []
    for m, n, k in ((128, 128, 256), (64, 192, 320), (33, 65, 127), (256, 64, 1024)):
        a, b = (torch.randn(*size, device="cuda").to(dtype) for size in ((m, k), (k, n)))
        bias = torch.randn(n, device="cuda").to(dtype)
        problems.append((a, b, bias, torch.mm(a, b), torch.addmm(bias, a, b)))
    torch.cuda.synchronize()
    wrong = []

    def work(a, b, bias, product, sum_):
        streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        seen = []
        for turn in range(50):
            with torch.cuda.stream(streams[turn % 2]):
                seen.append((torch.mm(a, b), torch.addmm(bias, a, b)))
        torch.cuda.synchronize()
        for one, other in seen:
            if not (torch.equal(one, product) and torch.equal(other, sum_)):
                wrong.append(tuple(a.shape))

    running = [threading.Thread(target=work, args=problem) for problem in problems]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    expect(not wrong, f"{dtype} threads: other bits for {sorted(set(wrong))}")


# ---- training ------------------------------------------------------------------------------------
def train(steps=50, width=512, length=256, batch=16):
    torch = the_torch()
    nudge = float(os.environ.get("PROOF_NUDGE", 0))
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = nudge == 0
    torch.manual_seed(3)
    words = 1024
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, "gelu", batch_first=True,
                                             norm_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(words, width),
                                torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False),
                                torch.nn.Linear(width, words)).cuda()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + nudge)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, fused=True)
    tokens = torch.randint(0, words, (8, batch, length + 1), device="cuda")
    tokens[:, :, 1::2] = tokens[:, :, :-1:2]  # half of the text can be learned
    losses, times = [], []
    for step in range(steps):
        text = tokens[step % 8]
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(
                model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    expect(all(loss == loss for loss in losses), "the loss is not a number")
    expect(losses[-1] < losses[0], "the loss does not fall")
    late = sorted(times[steps // 3:])
    return {"losses": losses, "step_ms": 1e3 * late[len(late) // 2], **host(torch)}


def short_train():
    """Small, because mode check copies every matrix to the host."""
    return {"losses": train(4, 256, 64, 4)["losses"]}


# ---- host time -----------------------------------------------------------------------------------
def host(torch):
    a = torch.randn(16, 64, device="cuda", dtype=torch.bfloat16)
    b, bias, out = a.new_ones(64, 64), a[0].clone(), torch.empty_like(a)
    measured = {}
    for name, call in (("mm_us", lambda: torch.mm(a, b, out=out)),
                       ("linear_us", lambda: torch.addmm(bias, a, b, out=out))):
        best = 1e9
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                call()
            best = min(best, (time.perf_counter() - begin) / 200)
        measured[name] = 1e6 * best
    return measured


def lt():
    return lt_part.lt(the_torch(), expect)


# ---- other frameworks ----------------------------------------------------------------------------
def check_against_numpy(numpy, what, got, a, b, unit):
    exact, size = a @ b, abs(a) @ abs(b)
    bound = unit * 1.01 * abs(exact) + ((a.shape[-1] + 16) * 2.0 ** -23 + 2 * unit) * size
    over = numpy.max(abs(numpy.asarray(got, dtype=numpy.float64) - exact) / bound)
    expect(over <= 1, f"{what}: off by {over:.2f} of its bound")


def jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # Otherwise XLA may use its own kernels.
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = flags + " --xla_gpu_enable_triton_gemm=false"
    try:
        import jax as framework
        import jax.numpy as jnp
        import numpy
        if framework.default_backend() != "gpu":
            skip("JAX sees no GPU")
    except (ImportError, RuntimeError) as error:
        skip(f"JAX: {str(error)[:60]}")
    random = numpy.random.default_rng(4)
    for dtype, unit in ((jnp.bfloat16, 2.0 ** -8), (jnp.float16, 2.0 ** -11)):
        for m, n, k in ((256, 512, 1024), (33, 96, 72), (1024, 1024, 1024)):
            a = jnp.asarray(random.standard_normal((m, k)), dtype)
            b = jnp.asarray(random.standard_normal((k, n)), dtype)
            bias = jnp.asarray(random.standard_normal(n), dtype)
            exact_a, exact_b = (numpy.asarray(each, dtype=numpy.float64) for each in (a, b))
            name = f"{dtype.__name__} {m}x{n}x{k}"
            check_against_numpy(numpy, "jit matmul " + name,
                                framework.jit(jnp.matmul)(a, b), exact_a, exact_b, unit)
            layer = framework.jit(lambda x, w, v: framework.nn.relu(x @ w + v))
            expect(bool(jnp.isfinite(layer(a, b, bias)).all()), "jit layer " + name)


def cupy():
    try:
        import cupy as framework
        import numpy
        framework.zeros(1)
    except Exception as error:  # CuPy has its own kinds
        skip(f"CuPy: {str(error)[:60]}")
    random = numpy.random.default_rng(5)
    for m, n, k in ((256, 512, 1024), (33, 96, 72), (8, 8, 8)):
        a, b = (random.standard_normal(size).astype(numpy.float16) for size in ((m, k), (k, n)))
        got = framework.asnumpy(framework.matmul(framework.asarray(a), framework.asarray(b)))
        check_against_numpy(numpy, f"matmul {m}x{n}x{k}", got, a.astype(numpy.float64),
                            b.astype(numpy.float64), 2.0 ** -11)


PARTS = {part.__name__: part
         for part in (operations, graphs, train, short_train, lt, jax, cupy)}

if __name__ == "__main__":
    measured_ = PARTS[sys.argv[1]]() or {}
    print(json.dumps({"failures": failures, **measured_}))
