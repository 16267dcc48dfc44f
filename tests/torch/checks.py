# SPDX-License-Identifier: Apache-2.0
"""What run.py checks on a GPU. References are torch's, in double precision, of the same operands."""

import contextlib
import shutil

import torch
from torch.nn import functional

import bwgemm
import bwgemm.torch
from bwgemm import _native
from bwgemm.torch import _operators

UNIT = {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11}
ACTIVATIONS = {None: lambda x: x, "relu": functional.relu, "gelu": functional.gelu,
               "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"), "silu": functional.silu,
               "sigmoid": torch.sigmoid}


def random(*shape, dtype=torch.bfloat16, scale=1.0, grad=False):
    made = (torch.randn(*shape, device="cuda") * scale).to(dtype)
    return made.requires_grad_(grad)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def near(got, want, what, units=4):
    """In the norm of all elements, by so many units of rounding of the type of got."""
    expect(tuple(got.shape) == tuple(want.shape), f"{what}: {tuple(got.shape)}, not {tuple(want.shape)}")
    if want.numel() == 0:
        return
    error = (got.double() - want.double()).norm().item()
    bound = units * UNIT.get(got.dtype, 2.0 ** -20) * want.double().norm().item() + 1e-12
    expect(error <= bound, f"{what}: off by {error:.3g} of at most {bound:.3g}")


def gated(z, gate):
    first, second = z.chunk(2, -1) if gate == "stacked" else (z[..., 0::2], z[..., 1::2])
    return functional.silu(first) * second


@contextlib.contextmanager
def served():
    """The list of calls that bwgemm served, of which product() alone is counted."""
    real, calls = _native.product, []

    def counted(*arguments):
        result = real(*arguments)
        if result is not None:
            calls.append(arguments)
        return result

    _native.product = counted
    try:
        yield calls
    finally:
        _native.product = real


def products():
    for dtype in UNIT:
        for m, n, k in ((1, 1024, 512), (128, 256, 512), (333, 257, 129), (64, 64, 4096)):
            a, b, c = (random(*shape, dtype=dtype) for shape in ((m, k), (k, n), (m, n)))
            what = f"{m}x{n}x{k} {dtype}"
            near(bwgemm.torch.mm(a, b), a.double() @ b.double(), what)
            near(torch.ops.bwgemm.mm(a, b), a.double() @ b.double(), f"{what}, operator")
            for alpha, beta in ((1, 1), (0.5, 2), (1, 0)):
                for input in (c, c[0], c[:, :1], c[:1]):
                    want = torch.addmm(*(x.double() for x in (input, a, b)), beta=beta, alpha=alpha)
                    near(bwgemm.torch.addmm(input, a, b, beta=beta, alpha=alpha), want, f"{what}, added")
        a, b = random(5, 130, 72, dtype=dtype), random(5, 72, 88, dtype=dtype)
        near(bwgemm.torch.bmm(a, b), a.double() @ b.double(), "a batch")


def layers():
    for dtype in UNIT:
        x, w, v = (random(*shape, dtype=dtype) for shape in ((4, 65, 96), (200, 96), (200,)))
        for activation, reference in ACTIVATIONS.items():
            for bias in (None, v):
                want = reference(functional.linear(
                    x.double(), w.double(), None if bias is None else bias.double()))
                near(bwgemm.torch.linear(x, w, bias, activation), want, f"linear {activation} {dtype}")
        for gate in ("stacked", "interleaved"):
            want = gated(functional.linear(x.double(), w.double(), v.double()), gate)
            near(bwgemm.torch.swiglu_linear(x, w, v, gate), want, f"swiglu {gate} {dtype}")


def strides():
    base, b = random(520, 1040), random(520, 260)
    operands = {"transposed": base.t()[:300, :520], "a slice": base[:300, 3:523],
                "every second column": base[:300, ::2], "every second row": base[::2, :520],
                "a row for all": base[:1, :520].expand(300, 520), "one column": base[:, :1].t(),
                "reversed dimensions": random(520, 7, 11).permute(2, 1, 0)[3]}
    for name, a in operands.items():
        near(bwgemm.torch.mm(a, b[:a.shape[1]]), a.double() @ b[:a.shape[1]].double(), name)
        near(bwgemm.torch.mm(b[:a.shape[1]].t(), a.t()), (a.double() @ b[:a.shape[1]].double()).t(),
             f"{name}, as b")
        with bwgemm.torch.enabled():
            near(torch.mm(a, b[:a.shape[1]]), a.double() @ b[:a.shape[1]].double(), f"{name}, routed")
    batch = random(64, 5, 48).transpose(0, 1)
    near(bwgemm.torch.bmm(batch, batch.transpose(1, 2)), batch.double() @ batch.double().transpose(1, 2),
         "a batch in the middle")
    near(bwgemm.torch.bmm(batch[:1].expand(5, 64, 48), batch.transpose(1, 2)),
         batch[:1].double() @ batch.double().transpose(1, 2), "one matrix for all")


def zero_sizes():
    def both(function, reference, *shapes):
        for operands in ([random(*shape) for shape in shapes],
                         [random(*shape, grad=True) for shape in shapes]):
            got, want = function(*operands), reference(*(x.detach().double() for x in operands))
            near(got, want, f"{shapes}")
            if got.requires_grad:
                got.sum().backward()

    for m, n, k in ((0, 5, 6), (5, 0, 6), (5, 6, 0), (0, 0, 0)):
        for mm in (bwgemm.torch.mm, torch.mm):
            with bwgemm.torch.enabled():
                both(mm, torch.mm, (m, k), (k, n))
        both(bwgemm.torch.bmm, torch.bmm, (3, m, k), (3, k, n))
        both(bwgemm.torch.addmm, torch.addmm, (m, n), (m, k), (k, n))
        both(lambda x, w, b: bwgemm.torch.linear(x, w, b, "gelu"),
             lambda x, w, b: functional.gelu(functional.linear(x, w, b)), (m, k), (n, k), (n,))
    both(bwgemm.torch.bmm, torch.bmm, (0, 4, 5), (0, 5, 6))


def derived(function, operands, order, dtype):
    """The result and its gradients, or, of the order 2, the gradients of those. What comes from above is
    of that type, the same for every type of the operands."""
    result = function(*operands)
    torch.manual_seed(3)
    above = torch.randn_like(result.to(dtype)).to(result.dtype)
    first = torch.autograd.grad(result, operands, above, create_graph=order == 2)
    if order == 1:
        return result, *first
    total = sum((gradient.float() * torch.randn(gradient.shape, device="cuda")).sum()
                for gradient in first)
    return torch.autograd.grad(total, operands, allow_unused=True)


def compared(function, reference, operands, what, order):
    """Results and gradients against those in double precision."""
    doubles = tuple(x.detach().double().requires_grad_() for x in operands)
    dtype = operands[0].dtype
    for i, (got, want) in enumerate(zip(derived(function, operands, order, dtype),
                                        derived(reference, doubles, order, dtype))):
        expect((got is None) == (want is None), f"{what}, {i}: one is None")
        if got is not None:
            near(got, want, f"{what}, result {i}", units=6)


def gradients(order=1):
    for dtype in UNIT:
        def grads(*shapes):
            return tuple(random(*shape, dtype=dtype, scale=0.5, grad=True) for shape in shapes)

        compared(bwgemm.torch.mm, torch.mm, grads((40, 24), (24, 56)), "mm", order)
        compared(bwgemm.torch.bmm, torch.bmm, grads((3, 40, 24), (3, 24, 56)), "bmm", order)
        for shape in ((56,), (40, 56), (40, 1)):
            compared(lambda *x: bwgemm.torch.addmm(*x, beta=2, alpha=0.5),
                     lambda *x: torch.addmm(*x, beta=2, alpha=0.5),
                     grads(shape, (40, 24), (24, 56)), f"addmm {shape}", order)
        for activation, reference in ACTIVATIONS.items():
            if activation == "relu" and order == 2:
                continue  # which side of 0 an element is on depends on rounding
            compared(lambda *x: bwgemm.torch.linear(*x, activation=activation),
                     lambda *x: reference(functional.linear(*x)),
                     grads((2, 20, 24), (56, 24), (56,)), f"linear {activation} {dtype}", order)
        for gate in ("stacked", "interleaved"):
            compared(lambda *x: bwgemm.torch.swiglu_linear(*x, gate=gate),
                     lambda *x: gated(functional.linear(*x), gate),
                     grads((40, 24), (56, 24), (56,)), f"swiglu {gate} {dtype}", order)


def second_gradients():
    gradients(2)


def operators():
    x, w, b, z = random(8, 16, grad=True), random(24, 16, grad=True), random(24, grad=True), random(8, 24)
    for operator, arguments in (
            (_operators.mm, (x, w.detach().t())), (_operators.bmm, (random(2, 8, 16), random(2, 16, 8))),
            (_operators.addmm, (b, x, w.detach().t())), (_operators.linear, (x, w, b, "silu")),
            (_operators.linear_kept, (x, w, b, "gelu")), (_operators.swiglu_linear, (x, w, b, "stacked")),
            (_operators.swiglu_linear_kept, (x, w, b, "interleaved")),
            (_operators.activation_gradient, (z, z, "gelu_tanh")),
            (_operators.weight_gradients, (z, x.detach()))):
        torch.library.opcheck(operator, arguments)


def block(x, w, b, v):
    y = bwgemm.torch.linear(x, w, b, "gelu")
    return bwgemm.torch.mm(bwgemm.torch.swiglu_linear(y, v), w[:v.shape[0] // 2])


def compiled():
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        return "left out: no C compiler for Inductor"
    operands = tuple(random(*shape, scale=0.3, grad=True)
                     for shape in ((64, 48), (96, 48), (96,), (64, 96)))
    result = block(*operands)
    torch.manual_seed(5)
    g = torch.randn_like(result)
    want = (result, *torch.autograd.grad(result, operands, g))
    for options in ({}, {"mode": "reduce-overhead"}):
        run = torch.compile(block, fullgraph=True, **options)
        for _ in range(3):
            torch.compiler.cudagraph_mark_step_begin()
            got = run(*operands)
            near(got.clone(), want[0].double(), f"compiled {options}")
            for x, y in zip(torch.autograd.grad(got, operands, g), want[1:]):
                near(x.clone(), y.double(), f"compiled gradients {options}")
    return None


def captured():
    x, w, b = random(64, 96), random(200, 96, grad=True), random(200, grad=True)
    g, side = random(64, 200), torch.cuda.Stream()

    def step():
        w.grad = b.grad = None
        result = bwgemm.torch.linear(x, w, b, "gelu")
        result.backward(g)
        with bwgemm.torch.enabled():
            return result.detach(), torch.mm(x, w.detach().t())

    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    for _ in range(3):
        x.copy_(random(64, 96))
        graph.replay()
        y = functional.gelu(functional.linear(x.double(), w.detach().double(), b.detach().double()))
        near(results[0], y, "replayed")
        near(results[1], x.double() @ w.detach().double().t(), "replayed route")
        dz = torch.ops.aten.gelu_backward(g.double(), functional.linear(
            x.double(), w.detach().double(), b.detach().double()))
        near(w.grad, dz.t() @ x.double(), "replayed gradient", 6)
        near(b.grad, dz.sum(0), "replayed gradient of the bias", 6)


def streams():
    a, b = random(1024, 1024), random(1024, 1024, scale=0.03)
    torch.cuda.synchronize()
    for mm in (bwgemm.torch.mm, torch.ops.bwgemm.mm, bwgemm.matmul, torch.mm):
        stream, x, y = torch.cuda.Stream(), a, a.double()
        with torch.cuda.stream(stream), bwgemm.torch.enabled():
            for _ in range(4):  # each depends on the one before it
                x = mm(x, b)
        stream.synchronize()
        for _ in range(4):
            y = y @ b.double()
        near(x, y, f"{mm} on a stream", 8)


def autocast():
    x, w, b = (torch.randn(*shape, device="cuda", requires_grad=True)
               for shape in ((40, 24), (56, 24), (56,)))
    for dtype in UNIT:
        with torch.autocast("cuda", dtype=dtype):
            got = bwgemm.torch.linear(x, w, b, "silu")
            product = bwgemm.torch.mm(x, w.t())
            mixed = bwgemm.torch.mm(x.to(torch.bfloat16), w.t())
        expect(got.dtype == product.dtype == mixed.dtype == dtype, f"autocast to {dtype}")
        near(product, x.double() @ w.double().t(), "autocast")
        gradients_ = torch.autograd.grad(got.sum(), (x, w, b))
        expect(all(g.dtype == torch.float32 for g in gradients_), "gradients are of the operands' type")
    try:
        bwgemm.torch.mm(x, w.t())
    except TypeError as error:
        expect("float32" in str(error), str(error))
    else:
        expect(False, "float32 is refused without autocast")
    with torch.autocast("cuda", dtype=torch.bfloat16), bwgemm.torch.enabled(), served() as calls:
        functional.linear(x, w, b)
        expect(len(calls) == 1, "autocast and routes")


def routed():
    a, b, c = random(96, 64), random(64, 80), random(96, 80)
    v, w, batch = random(80), random(80, 64), (random(3, 96, 64), random(3, 64, 80))
    cases = {"mm": lambda: torch.mm(a, b), "matmul": lambda: a @ b,
             "linear": lambda: functional.linear(a, w, v), "linear of 3": lambda: functional.linear(
                 batch[0], w, v), "linear without bias": lambda: functional.linear(batch[0], w),
             "addmm": lambda: torch.addmm(c, a, b, beta=0.5, alpha=2), "bmm": lambda: torch.bmm(*batch),
             "addmm of a row": lambda: torch.addmm(v, a, b),
             "baddbmm": lambda: torch.baddbmm(c.expand(3, 96, 80), *batch, beta=0.5),
             "mm into a tensor": lambda: torch.mm(a, b, out=torch.empty_like(c)),
             "addmm into a tensor": lambda: torch.addmm(c, a, b, out=torch.empty_like(c)),
             "a gradient": lambda: torch.autograd.grad((a.requires_grad_() @ b).sum(), a)[0]}
    for name, case in cases.items():
        want = case()
        with bwgemm.torch.enabled(), served() as calls:
            got = case()
        a.requires_grad_(False)
        expect(calls, f"{name} was not served")
        near(got, want.double(), name)
    with bwgemm.torch.enabled(), served() as calls:
        near(torch.mm(a.float(), b.float()), a.double() @ b.double(), "float32", 2 ** 12)
        near(torch.addmm(v[:1], a, b), v[:1].double() + a.double() @ b.double(), "a scalar added")
        for wrong in (lambda: torch.mm(a, b, out=torch.empty(96, 80, device="cuda")),
                      lambda: torch.mm(a, a), lambda: torch.mm(a, b.half()), lambda: torch.bmm(a, b)):
            try:
                wrong()
                expect(False, "refused")
            except RuntimeError as error:
                expect("bwgemm" not in str(error), str(error))
        expect(not calls, "what is not served is left alone")


def trained():
    """A small network learns the same with and without, in torch's own layers."""
    def losses():
        torch.manual_seed(7)
        model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 16))
        model.to("cuda")
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        x, y = torch.randn(512, 64, device="cuda"), torch.randn(512, 16, device="cuda")
        for _ in range(30):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    want = losses()
    with bwgemm.torch.enabled(), served() as calls:
        got = losses()
    expect(abs(got - want) < 0.01 * want, f"a loss of {got}, not {want}")
    expect(len(calls) >= 30 * 5, f"{len(calls)} products were served")


def freed():
    """Results are freed with their last reference, and belong to torch's own allocator."""
    a, b, g = random(256, 256), random(256, 256, grad=True), random(256, 256)
    calls = (lambda: bwgemm.matmul(a, a), lambda: bwgemm.torch.mm(a, a),
             lambda: torch.ops.bwgemm.mm(a, a), lambda: bwgemm.torch.linear(a, b, None, "gelu").backward(g))
    for call in calls:
        counts = []
        for _ in range(3):
            call()
            b.grad = None
            counts.append((torch.cuda.memory_allocated(), torch.cuda.memory_stats()["active.all.current"]))
        expect(counts[0] == counts[1] == counts[2], f"memory in use grows: {counts}")
    result = bwgemm.matmul(a, a)
    result.record_stream(torch.cuda.Stream())
    expect(result.is_contiguous() and not result.requires_grad and result.untyped_storage().resizable(),
           "a tensor like torch's own")


ALL = (products, layers, strides, zero_sizes, gradients, second_gradients, operators, captured, streams,
       autocast, routed, trained, freed, compiled)
